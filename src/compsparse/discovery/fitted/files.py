"""Files of fitted models: formats that are safe to open, and pickles where their reader says that they trust them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from compsparse.checks import check_flag
from compsparse.errors import ConfigError, DataError
from compsparse.optional import needs

_PICKLES = (".pkl", ".pickle", ".joblib")


def read_model(path: str | Path, *, trust_pickle: bool = False) -> Any:
    """A model from a file, to be explained: ``.json`` of compsparse, ``.onnx``, or a pickle.

    Args:
        trust_pickle: whether a pickle may be opened; it can run any program while it is read.

    Raises:
        ConfigError: the format is not known, or is a pickle that nobody said is trusted.
        DataError: the file cannot be read.
    """
    check_flag("trust_pickle", trust_pickle)
    path = Path(path)
    if path.suffix == ".json":
        from compsparse.models import FittedGraph

        return FittedGraph.load(path)
    if path.suffix == ".onnx":
        return OnnxModel(path)
    if path.suffix not in _PICKLES:
        raise ConfigError(f"{path} is no model that can be read: the suffix must be .json, .onnx or {_PICKLES}")
    if not trust_pickle:
        raise ConfigError(
            f"{path} is a pickle, which can run any program while it is read: add --trust-pickle "
            "(trust_pickle=True) if you know who made it, or export the model to ONNX"
        )
    try:
        if path.suffix == ".joblib":
            return needs("joblib", "models in joblib files", "report").load(path)
        with path.open("rb") as file:
            return pickle.load(file)
    except Exception as error:
        raise DataError(f"cannot read a model from {path}: {type(error).__name__}: {error}") from None


class OnnxModel:
    """An ONNX model of one table of numbers, (rows, columns), as a callable."""

    def __init__(self, path: Path):
        if not path.is_file():
            raise DataError(f"cannot read an ONNX model from {path}: there is no such file")
        runtime = needs("onnxruntime", "models in ONNX files", "export")
        try:
            self._session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except Exception as error:
            first_line = (str(error).strip().splitlines() or [""])[0]
            raise DataError(f"cannot read an ONNX model from {path}: {first_line}") from None
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or inputs[0].type not in ("tensor(float)", "tensor(double)"):
            raise DataError(f"{path} takes {len(inputs)} inputs; a model of one table of numbers is needed")
        self._input = inputs[0].name
        self._kind = np.float32 if inputs[0].type == "tensor(float)" else np.float64
        numbers = [o.name for o in self._session.get_outputs() if o.type in ("tensor(float)", "tensor(double)")]
        if not numbers:
            raise DataError(f"{path} answers with no array of numbers")
        self._output = numbers[0]

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Its first answer that is an array of numbers, (rows,) or (rows, outputs)."""
        (answer,) = self._session.run([self._output], {self._input: rows.astype(self._kind)})
        values: np.ndarray = np.asarray(answer, dtype=float)
        return values
