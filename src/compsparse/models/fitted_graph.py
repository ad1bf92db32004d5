"""A fitted graph: a mirrored network with the coding of its table, in one self-contained record."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from compsparse.checks import RandomState
from compsparse.errors import DataError
from compsparse.files import read_text, write_text
from compsparse.graph import FunctionGraph
from compsparse.networks import NetworkSize, count
from compsparse.networks.mirroring import MirrorNetwork
from compsparse.surroundings import usual_settings
from compsparse.tables.coding import TableCode
from compsparse.tables.targets import labels_as_array
from compsparse.text import in_a_line, notebook_html
from compsparse.training import TrainingStatus

if TYPE_CHECKING:
    from compsparse.models.row_explanation import RowExplanation


@in_a_line
@dataclass(frozen=True, kw_only=True, eq=False)
class FittedGraph:
    """Predicts from tables like the one it was fitted on.

    Attributes:
        graph: over the inputs of the table.
        code: how the table becomes numbers.
        network: mirrors the graph over the encoded columns; its replicas are averaged.
        targets: names of what is predicted.
        centre, scale: what outputs are multiplied by and what is added then: numbers in their own units, or
            calibrated log odds of classes.
        classes: labels in the order of the outputs, or None for numbers.
        status: how the fit ended.
        seconds: what the fit took.
        validation_loss: loss of the mean over replicas on the rows held out, in standardised units; NaN without them.
        n_iter: training steps of the longest restart.
    """

    graph: FunctionGraph
    code: TableCode
    network: MirrorNetwork
    targets: tuple[str, ...]
    centre: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    classes: tuple[Any, ...] | None = None
    status: TrainingStatus = TrainingStatus.FINISHED
    seconds: float = 0.0
    validation_loss: float = math.nan
    n_iter: int = 0

    @property
    def unread(self) -> frozenset[str]:
        """Inputs that the graph does not read."""
        return frozenset(self.graph.unread)

    @property
    def size(self) -> NetworkSize:
        """Parameters and multiplications of one of the networks."""
        return count(self.network)

    def _repr_html_(self) -> str:
        return notebook_html(self, "fitted_html")

    # ---- predicting ----------------------------------------------------------------------

    @usual_settings()
    def outputs(self, X: Any) -> np.ndarray:
        """What the ensemble says, (rows, outputs): numbers in their own units; logits for classes.

        A table with names needs the columns that the graph reads, and no others; an array needs all.
        """
        with torch.no_grad():
            codes = torch.as_tensor(self.code.encoded(X, self.graph.unread))
            mean: np.ndarray = self.network(codes).mean(0).numpy()
        return np.asarray(mean * np.array(self.scale) + np.array(self.centre))

    def predict(self, X: Any) -> np.ndarray:
        """Numbers, flat where there is one target; or the likeliest class of each row."""
        outputs = self.outputs(X)
        if self.classes is not None:
            labels: np.ndarray = labels_as_array(self.classes)[outputs.argmax(1)]
            return labels
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class, (rows, classes)."""
        if self.classes is None:
            raise DataError("the model predicts numbers, not classes")
        return torch.softmax(torch.as_tensor(self.outputs(X)), -1).numpy()

    def explain_row(self, row: Any, X: Any, *, target: Any = None, random_state: RandomState = None) -> RowExplanation:
        """Why the model predicts what it predicts for one row: see :func:`compsparse.models.explain_row`."""
        from compsparse.models.explaining_rows import explain_row

        return explain_row(self, row, X, target=target, random_state=random_state)

    # ---- files ---------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as one JSON text; the file appears whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), allow_nan=False))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FittedGraph:
        """Reads what :meth:`save` wrote, or the model inside a discovery that was written as JSON.

        Raises:
            DataError: there is no such file, or it holds no model.
        """
        from compsparse.models.json_format import model_from_text

        return model_from_text(read_text(path), str(path))

    def to_dict(self) -> dict[str, Any]:
        """The model as JSON values; weights as base64, nothing pickled."""
        from compsparse.models.json_format import model_to_dict

        return model_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FittedGraph:
        """Reads what :meth:`to_dict` made.

        Raises:
            DataError: the values are damaged or incomplete, were changed, or are of a format that is not known.
        """
        from compsparse.models.json_format import model_from_dict

        return model_from_dict(data)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Writes the whole model for other programs, scaling and mean over replicas included.

        The model takes ``x`` (rows, inputs) in double precision, the columns in the order of ``code.names``, NaN where
        a cell is missing (columns that were left out may hold anything), and answers ``y`` (rows, targets), or
        (rows, classes) probabilities.

        Raises:
            ConfigError: a column holds categories or dates; ONNX models take numbers alone.
        """
        from compsparse.models.export import model_to_onnx

        model_to_onnx(self, path)


def over_columns(graph: FunctionGraph, code: TableCode) -> FunctionGraph:
    """The graph over the encoded columns: a node reads all columns of its inputs."""
    columns = code.columns
    nodes = []
    for node in graph.nodes:
        parents = tuple(c for p in node.parents for c in columns.get(p, (p,)))
        # a formula of the inputs is none of their indicators
        constituent = node.constituent if len(parents) == node.arity else None
        nodes.append(replace(node, parents=parents, constituent=constituent))
    return FunctionGraph([c for own in columns.values() for c in own], nodes, graph.outputs)
