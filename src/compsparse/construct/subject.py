"""What is compiled: the graph, its box, and the ways in which its owner calls the function itself."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from compsparse.boxes import Bounds, n_sides
from compsparse.checks import brief
from compsparse.construct.continuity import without_choices
from compsparse.construct.fitted import fitted_graph_formulas, model_graph, network_graph
from compsparse.errors import ConfigError, GraphError, TraceError
from compsparse.graph import Constituent, FunctionGraph, Node, trace
from compsparse.models import FittedGraph
from compsparse.networks import MirrorNetwork

Call = Callable[[np.ndarray], np.ndarray]
"""Rows of points to rows of values."""


@runtime_checkable
class HoldsFunction(Protocol):
    """Something that was found and holds a function, such as a discovery."""

    @property
    def function(self) -> FunctionGraph | FittedGraph:
        """What is compiled."""


@dataclass(frozen=True)
class Subject:
    """A function graph that stands for a function.

    Attributes:
        calls: how the function is called, by words that name the way; the graph itself where there is no other.
        by_point: the ways among them that take one point at a time, which is slow.
        jump: the largest jump that was closed, between sides of a choice that meet up to rounding.
    """

    graph: FunctionGraph
    calls: dict[str, Call]
    by_point: frozenset[str] = frozenset()
    jump: float = 0.0


def subject_of(function: Any, bounds: Bounds, declared: Collection[str] = (), *, estimate: bool = False) -> Subject:
    """What stands for the function, without choices whose sides provably meet.

    Args:
        declared: nodes whose bounds were declared; with ``f`` among them a Python function is that node and not traced.
        estimate: a Python function that cannot be traced may be a node whose bounds are estimated.
    """
    found = _subject(function, bounds, declared, estimate)
    graph, jump = without_choices(found.graph)
    return replace(found, graph=graph.pruned(), jump=jump)


def _subject(function: Any, bounds: Bounds, declared: Collection[str], estimate: bool) -> Subject:
    if isinstance(function, HoldsFunction):
        function = function.function
    if isinstance(function, FittedGraph):
        model = replace(function, network=copy.deepcopy(function.network).double())
        return Subject(fitted_graph_formulas(function), {"its predictions": _rows(model.predict)})
    if isinstance(function, MirrorNetwork):
        network = copy.deepcopy(function).double()
        return Subject(network_graph(function), {"the network in double precision": _rows(_replica(network))})
    if isinstance(function, (FunctionGraph, str)):
        graph = function if isinstance(function, FunctionGraph) else FunctionGraph.from_expression(function)
        return Subject(graph, {"the graph": _rows(graph)})
    fitted = model_graph(function, n_sides(bounds))
    if fitted is not None:
        return Subject(fitted, _model_calls(function) or {"the graph": _rows(fitted)})
    if not callable(function):
        raise ConfigError(f"expected a function graph, an expression or a function, got {brief(function)}")
    return _of_callable(function, bounds, is_node="f" in declared, may_be_node=estimate)


def _of_callable(function: Callable[..., Any], bounds: Bounds, *, is_node: bool, may_be_node: bool) -> Subject:
    names = list(bounds) if isinstance(bounds, Mapping) else None
    inputs: Any = names if names is not None else n_sides(bounds)
    try:
        if not is_node:
            traced = trace(function, inputs if names is not None or _takes_one(function) else None, fuse=True)
            return Subject(traced, _calls(function, traced.n_inputs), frozenset({_BY_POINT, _BY_ROW}))
    except TraceError as error:
        if not may_be_node:
            raise GraphError(
                f"{error}; a function that cannot be traced needs declared bounds, or estimate=True for an estimate"
            ) from None
    count = inputs if isinstance(inputs, int) else len(names or [])
    own = names or [f"x{i}" for i in range(count or len(inspect.signature(function).parameters))]
    by_columns = len(own) > 1 and _takes_one(function)
    called = (lambda *columns: function(np.stack(columns, axis=-1))) if by_columns else function
    graph = FunctionGraph(own, [Node("f", tuple(own), Constituent.from_callable(called, len(own), name="f"))])
    return Subject(graph, {"the function": _rows(graph)})


# ---- ways to call it ----------------------------------------------------------------------------

_BY_POINT, _BY_ROW = "one point at a time, with floats", "one point at a time, with an array"


def _rows(function: Callable[..., Any]) -> Call:
    return lambda x: np.asarray(function(x), dtype=float).reshape(len(x), -1)


def _replica(network: MirrorNetwork) -> Call:
    def call(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            answers = network(torch.from_numpy(x))
        return np.asarray((answers[0] if answers.ndim > 2 else answers).numpy())

    return call


def _model_calls(model: Any) -> dict[str, Call]:
    """How a fitted model of torch or scikit-learn answers; nothing for classifiers that know no logits."""
    if isinstance(model, torch.nn.Module):
        network = copy.deepcopy(model).double().eval()
        return {"the module in double precision": _rows(lambda x: network(torch.from_numpy(x)).detach().numpy())}
    if hasattr(model, "classes_"):
        return {"its decision function": _rows(model.decision_function)} if hasattr(model, "decision_function") else {}
    return {"its predictions": _rows(model.predict)}


def _calls(function: Callable[..., Any], n_inputs: int) -> dict[str, Call]:
    """The forms in which people call a Python function of several numbers."""
    found: dict[str, Call] = {}
    if n_inputs == 1 or not _takes_one(function):
        found["with arrays"] = _answers(function, lambda x: tuple(x.T))
        found["with tensors"] = _answers(function, lambda x: tuple(torch.from_numpy(x.T)))
        found[_BY_POINT] = _one_by_one(lambda row: function(*row))
    else:
        found["with an array of columns"] = _answers(function, lambda x: (np.ascontiguousarray(x.T),))
        found["with tensors"] = _answers(function, lambda x: (torch.from_numpy(x.T),))
    if _takes_one(function):
        found["with an array of rows"] = _answers(function, lambda x: (x,))
        found[_BY_ROW] = _one_by_one(lambda row: function(np.array(row)))
    return found


def _answers(function: Callable[..., Any], arguments: Callable[[np.ndarray], tuple[Any, ...]]) -> Call:
    def call(x: np.ndarray) -> np.ndarray:
        found = function(*arguments(np.array(x)))
        columns = list(found) if isinstance(found, (tuple, list)) else [found]
        return np.concatenate([np.asarray(c, dtype=float).reshape(len(c), -1) for c in columns], axis=1)

    return call


def _one_by_one(function: Callable[..., Any]) -> Call:
    def value(row: list[float]) -> np.ndarray:
        found = function(row)
        parts = found if isinstance(found, (tuple, list)) else [found]
        return np.concatenate([np.asarray(part, dtype=float).ravel() for part in parts])

    return lambda x: np.array([value(row) for row in x.tolist()])


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        return len(inspect.signature(function).parameters) == 1
    except (TypeError, ValueError):
        return False
