"""Files of compiled networks, read back: what they say of their network is checked against a new search."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compsparse.certificate import Certificate
from compsparse.checks import RandomState, check_count
from compsparse.construct.explicit_files import read_explicit, read_onnx_statement
from compsparse.construct.record import PRECISIONS, Precision
from compsparse.construct.refutation import Answering, LargestError, at, search
from compsparse.construct.subject import subject_of
from compsparse.errors import CompsparseError, ConfigError, DataError
from compsparse.files import check_place
from compsparse.graph import FunctionGraph
from compsparse.graph.json_format import from_dict as graph_from_dict
from compsparse.networks.tensor_files import is_tensor_file
from compsparse.optional import needs
from compsparse.surroundings import usual_settings
from compsparse.text import in_a_line

_MOST_POINTS = 100_000_000


@in_a_line
@dataclass(frozen=True)
class Verification:
    """What a file says of its network, and what a search saw.

    Attributes:
        path: the file.
        graph: the function that the network stands for.
        domain, tol, dtype, certificate: as the file states them.
        observed: where the search saw the largest difference from the function as it is called.
        at_least: how far the network is from the function in exact arithmetic at that point, at least.
    """

    path: str
    graph: FunctionGraph
    domain: tuple[tuple[float, float], ...]
    tol: float
    dtype: Precision
    certificate: Certificate
    observed: LargestError
    at_least: float

    @property
    def holds(self) -> bool:
        """Whether nothing that was seen contradicts the statement."""
        return self.at_least <= self.certificate.upper

    def __str__(self) -> str:
        seen = f"{self.observed.value:.4g} at {at(self.graph, self.observed.point)}"
        if not self.holds:
            return f"Refuted: the file states {self.certificate.upper:.4g}, and the network is off by {seen}."
        if self.observed.value > self.certificate.upper:
            seen += ", of which the rounding of the function itself may be the cause"
        return (
            f"Not contradicted: of {self.observed.n_points:,} points none is off by more than {seen}; the file states "
            f"{self.certificate.upper:.4g} ({self.certificate.rigour.value}).\n{self.certificate}"
        )


@usual_settings()
def verify(
    path: str | os.PathLike[str],
    function: FunctionGraph | Callable[..., Any] | str | None = None,
    *,
    n_points: int = 100_000,
    random_state: RandomState = None,
) -> Verification:
    """Reads a compiled network from an ONNX or safetensors file, checks its digest, and searches for its error again.

    Args:
        path: what :meth:`Compiled.to_onnx` or :meth:`Compiled.save` wrote.
        function: the function itself; needed where a node has no formula, since a file cannot hold it.
        n_points: points at which the file's network is compared with the function.

    Raises:
        DataError: the file has no statement, or it or the network was changed.
    """
    source = check_place("path", path)
    check_count("n_points", n_points, most=_MOST_POINTS)
    network, statement = _read(source)
    if statement is None:
        raise DataError(f"{source} says nothing of its network: compsparse compile writes files that do")
    try:
        domain = tuple((float(low), float(high)) for low, high in statement["domain"])
        graph = graph_from_dict(statement["function"])
        tol, dtype = float(statement["tol"]), statement["dtype"]
        certificate = Certificate.from_dict(statement["certificate"])
        kind = PRECISIONS[dtype]
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, CompsparseError) and not isinstance(error, DataError):
            raise
        raise DataError(f"the statement in {source} is damaged or incomplete") from None
    subject = subject_of(graph if function is None else function, domain, estimate=True)
    if function is None and any(n.constituent is None or n.constituent.formula is None for n in graph.nodes):
        raise ConfigError(f"{source} stands for a function without a formula, which no file holds: give the function")
    if subject.graph.n_inputs != len(domain) or len(subject.graph.outputs) != len(graph.outputs):
        raise ConfigError(f"the function must have {len(domain)} inputs and {len(graph.outputs)} outputs, as the file")
    seen = search(network, subject, domain, n_points=n_points, random_state=random_state, dtype=kind)
    return Verification(os.fspath(source), subject.graph, domain, tol, dtype, certificate, seen.largest, seen.at_least)


def _read(source: Path) -> tuple[Answering, dict[str, Any] | None]:
    if is_tensor_file(source):
        return read_explicit(source)
    model, statement = read_onnx_statement(source)
    return _called(model), statement


def _called(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The model as ONNX programs run it, by onnxruntime where that is installed."""
    kind = np.float32 if model.graph.input[0].type.tensor_type.elem_type == 1 else np.float64
    try:
        import onnxruntime

        run = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run
    except ImportError:
        run = needs("onnx.reference", "ONNX models", "export").ReferenceEvaluator(model).run

    def call(x: np.ndarray) -> np.ndarray:
        parts = [run(None, {"x": part.astype(kind)})[0] for part in np.array_split(x, -(-len(x) // _AT_ONCE))]
        return np.concatenate(parts).astype(float)

    return call


_AT_ONCE = 20_000
