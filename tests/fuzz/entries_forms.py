"""Public entry points of tensors, superpositions, ridge powers and hat compositions, called tiny."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from odd import Entry

from compsparse import construct, tasks
from compsparse.graph import FunctionGraph
from compsparse.representations import classical, tensors

ENTRIES: list[Entry] = []


def add(
    name: str, call: Callable[..., Any], arguments: Callable[[], Mapping[str, Any]], *, own: tuple[str, ...] = ()
) -> None:
    ENTRIES.append(Entry(name, call, arguments, frozenset(own)))


def _sum(X: np.ndarray) -> np.ndarray:
    return np.asarray(X.sum(axis=1) + 1)


_BOUNDS = [(0.0, 1.0)] * 3
_GRID = tensors.Grid.of(_BOUNDS, 4)
_TREE = tensors.DimensionTree.balanced(3)
_GRAPH = FunctionGraph.from_expression("a*b + sin(c)")
_TENSOR = tensors.tucker_from_array(_GRID.sample(_sum), _TREE, grid=_GRID).tensor
_TRAIN = tensors.train_from_array(_GRID.sample(_sum), grid=_GRID).tensor

# ---- tensors ------------------------------------------------------------------------------------

add("Grid", tensors.Grid, lambda: {"bounds": _BOUNDS, "shape": (3, 3, 4), "rule": "linear"})
add("Grid.of", tensors.Grid.of, lambda: {"bounds": _BOUNDS, "n_points": 4, "rule": "chebyshev"})
add("Grid.at", _GRID.at, lambda: {"indices": [[0, 1, 2]]})
add("Grid.points", _GRID.points, lambda: {"direction": 1})
add("Grid.weights", _GRID.weights, lambda: {"direction": 1})
add("Grid.basis", _GRID.basis, lambda: {"direction": 1, "x": [0.5]})
add("Grid.sample", _GRID.sample, lambda: {"function": _sum}, own=("function",))
add("DimensionTree", tensors.DimensionTree, lambda: {"members": (0,), "children": ()})
add("DimensionTree.from_nested", tensors.DimensionTree.from_nested, lambda: {"groups": ((0, 1), 2)})
add("DimensionTree.balanced", tensors.DimensionTree.balanced, lambda: {"n_inputs": 3})
add("DimensionTree.linear", tensors.DimensionTree.linear, lambda: {"n_inputs": 3})
add("DimensionTree.from_graph", tensors.DimensionTree.from_graph, lambda: {"graph": _GRAPH})
add("DimensionTree.join", tensors.DimensionTree.join, lambda: {"left": _TREE, "right": tensors.DimensionTree.leaf(3)})
add("TensorTrain", tensors.TensorTrain, lambda: {"cores": _TRAIN.cores, "grid": _GRID})
add("HierarchicalTucker", tensors.HierarchicalTucker, lambda: {"tree": _TREE, "frames": _TENSOR.frames, "grid": _GRID})
for made in (_TRAIN, _TENSOR):
    kind = type(made).__name__
    add(f"{kind}.at", made.at, lambda: {"indices": [[0, 1, 2]]})
    add(f"{kind}.call", made.__call__, lambda: {"X": [[0.5, 0.5, 0.5]]})
    add(f"{kind}.inner", made.inner, lambda made=made: {"other": made})
    add(f"{kind}.add", made.__add__, lambda made=made: {"other": made})
    add(f"{kind}.mul", made.__mul__, lambda: {"factor": 2.0})
    add(f"{kind}.rounded", made.rounded, lambda: {"tol": 1e-3, "max_rank": 2})
add("train_from_array", tensors.train_from_array, lambda: {"array": np.ones((4, 4, 4)), "tol": 0.1, "max_rank": 2,
                                                           "grid": _GRID})  # fmt: skip
add(
    "tucker_from_array",
    tensors.tucker_from_array,
    lambda: {"array": np.ones((4, 4, 4)), "tree": _TREE, "tol": 0.1, "max_rank": 2, "grid": _GRID},
)
_CROSS = {"function": _sum, "grid": _GRID, "tol": 0.1, "max_rank": 3, "max_evaluations": 2000, "random_state": 0}
add("train_from_function", tensors.train_from_function, lambda: _CROSS, own=("function",))
add("tucker_from_function", tensors.tucker_from_function, lambda: {**_CROSS, "tree": _TREE}, own=("function",))
add(
    "cut_ranks",
    tensors.cut_ranks,
    lambda: {"function": _sum, "bounds": _BOUNDS, "cuts": [[0, 1]], "tol": 0.1, "n_samples": 20, "random_state": 0},
    own=("function",),
)
add(
    "module_ranks",
    tensors.module_ranks,
    lambda: {"graph": _GRAPH, "bounds": _BOUNDS, "tol": 0.1, "n_samples": 20, "random_state": 0},
)
add("tensor_graph", tensors.tensor_graph, lambda: {"tensor": _TENSOR, "names": ["a", "b", "c"]})

# ---- classical forms ----------------------------------------------------------------------------

_INNER = classical.InnerFunction(2, 5, 6, 1)
add(
    "InnerFunction",
    lambda **given: classical.InnerFunction(**given).levels,
    lambda: {"n_inputs": 2, "n_families": 5, "base": 11, "n_levels": 1, "gap_cells": 2},
)
add("InnerFunction.sums", _INNER.sums, lambda: {"X": [[0.5, 0.5]], "family": 1})
add("InnerFunction.call", _INNER.__call__, lambda: {"x": [0.5]})
add("InnerFunction.lipschitz_parameter", _INNER.lipschitz_parameter, lambda: {"x": [0.5]})
add(
    "superpose",
    classical.superpose,
    lambda: {"function": _sum, "inner": _INNER, "n_checked": 20, "random_state": 0},
    own=("function",),
)
add("Superposition.call", classical.superpose(_sum, _INNER, 20, 0).__call__, lambda: {"X": [[0.5, 0.5]]})
for counted in ("ridge_count", "monomials", "ridge_directions"):
    add(counted, getattr(classical, counted), lambda: {"n_inputs": 2, "degree": 2})
for matrix in ("ridge_matrix", "ridge_rank"):
    add(matrix, getattr(classical, matrix), lambda: {"directions": np.eye(2), "degree": 2})
add("ridge_form", classical.ridge_form, lambda: {"polynomial": {(1, 0): 1.0}, "directions": np.eye(2)})
add(
    "ridge_value",
    classical.ridge_value,
    lambda: {"form": {1: np.ones(2)}, "directions": np.eye(2), "X": [[0.5, 0.5]]},
)
add(
    "power_by_differences",
    classical.power_by_differences,
    lambda: {"activation": np.exp, "degree": 2, "bias": 0.0, "step": 0.1},
    own=("activation",),
)

# ---- hats ---------------------------------------------------------------------------------------

add("StraightPieces", construct.StraightPieces, lambda: {"knots": [0, 1], "values": [0, 1]})
add("hat_network", construct.hat_network, lambda: {"n_compositions": 2})
add("takagi_network", construct.takagi_network, lambda: {"coefficients": [0.5, 0.25]})
add(
    "self_similar_network",
    construct.self_similar_network,
    lambda: {"psi": construct.HAT, "coefficients": [0.5, 0.25], "g": construct.HAT},
)
add("takagi_coefficients", tasks.takagi_coefficients, lambda: {"n_terms": 3, "ratio": 0.5})
add("takagi_sum", tasks.takagi_sum, lambda: {"n_terms": 3, "ratio": 0.5, "noise": 0.0})
add("hats", tasks.hats, lambda: {"coefficients": [0.5], "noise": 0.0})
add("hat_sum", tasks.hat_sum, lambda: {"x": 0.5, "coefficients": [0.5]})
