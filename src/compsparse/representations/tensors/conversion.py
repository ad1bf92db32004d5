"""A hierarchical Tucker tensor as a function graph: its transfer tensors are the constituents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from compsparse.checks import check_kind, check_names, input_names, kept_apart
from compsparse.graph import Constituent, FunctionGraph, Node
from compsparse.graph.formula import Apply, Argument, Constant, Formula
from compsparse.representations.tensors.dimension_tree import DimensionTree
from compsparse.representations.tensors.grid import Grid, chebyshev_coefficients
from compsparse.representations.tensors.hierarchical_tucker import HierarchicalTucker
from compsparse.representations.tensors.tensor_train import needs_grid


def tensor_graph(tensor: HierarchicalTucker, names: Sequence[str] | None = None) -> FunctionGraph:
    """The function of a hierarchical Tucker tensor as a graph, with a node for every channel of every part.

    A leaf of rank r becomes r functions of one input (a Chebyshev sum, or straight pieces), an inner part r bilinear
    forms of its children's channels. The graph evaluates on numpy and torch, and outside the box it extrapolates.

    >>> import numpy as np
    >>> from compsparse.representations.tensors import tucker_from_function
    >>> grid = Grid.of([(0, 1)] * 2, 5)
    >>> tensor = tucker_from_function(lambda X: X[:, 0] * X[:, 1] + 1, grid, random_state=0).tensor
    >>> graph = tensor_graph(tensor, ["a", "b"])
    >>> graph.size, round(float(graph(np.array([[0.5, 0.3]]))[0]), 6)
    (5, 1.15)
    """
    check_kind("tensor", tensor, HierarchicalTucker)
    grid = needs_grid(tensor.grid)
    d = tensor.tree.n_inputs
    inputs = input_names(d) if names is None else check_names(names, d, "input")
    prefix = kept_apart(("u",), [name.split("_")[0] for name in inputs])[0]
    nodes: list[Node] = []
    wires: list[list[str]] = []
    for part, frame in zip(tensor.tree.bottom_up(), tensor.frames, strict=True):
        label = "_".join([prefix, *map(str, part.members)])
        if part.is_leaf:
            parents, made = [inputs[part.members[0]]], _leaf_functions(part, frame, grid)
        else:
            right, left = wires.pop(), wires.pop()
            parents, made = [*left, *right], _forms(frame)
        channels = [f"{label}_c{k}" for k in range(frame.shape[-1])]
        nodes += [Node(name, tuple(parents), c) for name, c in zip(channels, made, strict=True)]
        wires.append(channels)
    return FunctionGraph(inputs, nodes, wires[0])


def _leaf_functions(part: DimensionTree, frame: np.ndarray, grid: Grid) -> Iterator[Constituent]:
    direction = part.members[0]
    low, high = grid.bounds[direction]
    for k, values in enumerate(frame.T):
        if grid.rule == "chebyshev":
            function, smoothness = _chebyshev_sum(chebyshev_coefficients(len(values)) @ values, low, high), np.inf
        else:
            function, smoothness = _straight_pieces(grid.points(direction), values), 1.0
        yield Constituent.from_callable(function, 1, name=f"u{k}", smoothness=smoothness)


def _chebyshev_sum(coefficients: np.ndarray, low: float, high: float) -> Callable[[Any], Any]:
    terms = coefficients.tolist()

    def clenshaw(x: Any) -> Any:
        t = (2 * x - (low + high)) / (high - low)
        later, last = 0 * t, 0 * t
        for c in reversed(terms[1:]):
            last, later = 2 * t * last - later + c, last
        return t * last - later + terms[0]

    return clenshaw


def _straight_pieces(points: np.ndarray, values: np.ndarray) -> Callable[[Any], Any]:
    """Straight pieces as a sum of absolute values, which numpy and torch both know."""
    slopes = np.diff(values) / np.diff(points)
    middle = (slopes[0] + slopes[-1]) / 2
    kinks = list(zip(points[1:-1].tolist(), (np.diff(slopes) / 2).tolist(), strict=True))
    start = float(values[0] - sum(c * abs(points[0] - p) for p, c in kinks))

    def pieces(x: Any) -> Any:
        total = start + middle * (x - float(points[0]))
        for p, c in kinks:
            total = total + c * abs(x - p)
        return total

    return pieces


def _forms(frame: np.ndarray) -> Iterator[Constituent]:
    """One bilinear form for each channel; the left child's channels come first among the arguments."""
    r_left, r_right, r = frame.shape
    for k in range(r):
        rows = []
        for i in range(r_left):
            terms = [Apply("mul", (Constant(float(frame[i, j, k])), Argument(r_left + j))) for j in range(r_right)]
            rows.append(Apply("mul", (Argument(i), _total(terms))))
        yield Constituent.from_formula(_total(rows), r_left + r_right, name=f"b{k}")


def _total(terms: Sequence[Formula]) -> Formula:
    """A sum that nests no deeper than the logarithm of its length."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return Apply("add", (_total(terms[:half]), _total(terms[half:])))
