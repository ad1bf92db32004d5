"""Evaluates function graphs on numpy and torch arrays, one vectorised call per node."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from compsparse.checks import check_numbers, check_unmasked
from compsparse.errors import DataError, GraphError
from compsparse.graph.function_graph import FunctionGraph, Node
from compsparse.graph.operations import is_torch


@dataclass(frozen=True, slots=True)
class _Step:
    """One node: which slots it reads, which it fills, and which nobody reads after it."""

    function: Callable[..., Any]
    reads: tuple[int, ...]
    fills: int
    frees: tuple[int, ...]


def evaluate(graph: FunctionGraph, X: Any) -> Any:
    """Values of the graph's outputs at the rows of ``X``.

    Returns:
        Shape ``(n,)`` for one output, ``(n, k)`` for k; torch in, torch out (differentiable).
    """
    torch = is_torch(X)
    X = X if torch else _array(X)
    if X.ndim != 2 or X.shape[1] != graph.n_inputs:
        some = ", ".join(graph.inputs[:8]) + ", …" * (graph.n_inputs > 8)
        raise DataError(
            f"the graph has {graph.n_inputs} inputs ({some}): "
            f"expected an array of shape (n, {graph.n_inputs}), got {tuple(X.shape)}"
        )
    if torch:
        columns = X if X.is_floating_point() else X.double()
        columns = columns.T.contiguous()
    else:
        columns = X if np.issubdtype(X.dtype, np.floating) else X.astype(float)
        columns = np.ascontiguousarray(columns.T)
    try:
        values = _run(graph, columns, torch)
    except RecursionError:
        raise GraphError("a formula of the graph nests too deep to be evaluated: expanded(graph) can be") from None
    if len(values) == 1:
        return values[0]
    return sys.modules["torch"].stack(values, dim=1) if torch else np.stack(values, axis=1)


def _array(X: Any) -> np.ndarray:
    """As it is where it holds floats, so that single precision stays single."""
    check_unmasked("X", X)
    if isinstance(X, np.ndarray) and np.issubdtype(X.dtype, np.floating):
        return X
    return check_numbers("X", X, finite=False)


def _run(graph: FunctionGraph, columns: Any, torch: bool) -> list[Any]:
    slots: list[Any] = [*columns, *[None] * graph.size]
    for step in _program(graph, torch):
        slots[step.fills] = step.function(*[slots[i] for i in step.reads])
        for i in step.frees:
            slots[i] = None
    return [_as_float(slots[graph.index[name]], columns, torch) for name in graph.outputs]


@lru_cache(maxsize=64)
def _program(graph: FunctionGraph, torch: bool) -> tuple[_Step, ...]:
    index = graph.index
    last_reader = {p: n.name for n in graph.nodes for p in n.parents}
    steps = []
    for node in graph.nodes:
        frees = [p for p in node.parents if last_reader[p] == node.name and p not in graph.outputs]
        steps.append(
            _Step(
                _function(node, torch),
                tuple(index[p] for p in node.parents),
                index[node.name],
                tuple(index[p] for p in frees),
            )
        )
    return tuple(steps)


def _function(node: Node, torch: bool) -> Callable[..., Any]:
    if node.constituent is None:
        raise GraphError(f"node {node.name!r} has no constituent function: the graph is structure alone")
    function = node.constituent.compiled(torch=torch)
    return function if node.constituent.formula is not None else _checked(function, node.name)


def _checked(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A user's own function is held to the contract; formulas keep it by construction."""

    def call(*arguments: Any) -> Any:
        value = function(*arguments)
        if getattr(value, "shape", None) != arguments[0].shape:
            raise GraphError(
                f"the function of node {name!r} must map arrays of shape {tuple(arguments[0].shape)} to one "
                f"of that shape, got {getattr(value, 'shape', type(value).__name__)}"
            )
        return value

    return call


def _as_float(value: Any, columns: Any, torch: bool) -> Any:
    # a copy: an output that is an input must not be a view of the caller's array
    return value.to(columns.dtype, copy=True) if torch else np.array(value, dtype=columns.dtype)
