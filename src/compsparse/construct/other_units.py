"""Explicit networks of other units than ReLUs: hard thresholds for circuits, squared ReLUs for splines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from compsparse.checks import check_list, check_numbers
from compsparse.errors import ConfigError, GraphError
from compsparse.graph.function_graph import FunctionGraph, check_graph
from compsparse.representations.boolean.bits import check_bits
from compsparse.text import in_a_line

_MOST_PARENTS = 12

# ---- thresholds --------------------------------------------------------------------------------------


@in_a_line
@dataclass(frozen=True, eq=False)
class ThresholdNetwork:
    """A circuit whose every unit answers 1 where a weighted sum is positive, and 0 elsewhere.

    Attributes:
        units: of each node in order, the units it takes: weights on its parents, and a bias.
        constants: of each node, what is added to the sum of its units, which count +1 or -1.
    """

    graph: FunctionGraph
    units: tuple[tuple[np.ndarray, np.ndarray], ...]
    constants: tuple[tuple[int, int], ...]

    @property
    def n_units(self) -> int:
        """Thresholds in all."""
        return sum(len(bias) for _, bias in self.units)

    def __call__(self, X: Any) -> np.ndarray:
        """The outputs for rows of 0 and 1."""
        bits = check_bits("X", X, self.graph.n_inputs).astype(float)
        values = dict(zip(self.graph.inputs, bits.T, strict=True))
        for node, (W, bias), (constant, sign) in zip(self.graph.nodes, self.units, self.constants, strict=True):
            read = np.stack([values[p] for p in node.parents], axis=1)
            values[node.name] = constant + sign * (read @ W.T + bias > 0).sum(1)
        return np.stack([values[name] for name in self.graph.outputs], axis=1)


def compile_thresholds(graph: FunctionGraph) -> ThresholdNetwork:
    """The network of hard thresholds that equals a graph of Boolean functions on all inputs of 0 and 1.

    A node of d parents takes a unit for each row of its table that has the rarer value, at most 2^(d-1): the unit is
    positive on that row alone.

    >>> from compsparse.tasks import parity_tree
    >>> network = compile_thresholds(parity_tree(4).graph)
    >>> network.n_units, network([[1, 1, 1, 0], [1, 1, 0, 0]]).ravel().tolist()
    (6, [1, 0])
    """
    units, constants = [], []
    for node in check_graph("graph", graph).nodes:
        d = len(node.parents)
        if node.constituent is None or d > _MOST_PARENTS:
            raise GraphError(f"node {node.name!r} has no function, or more than {_MOST_PARENTS} parents")
        rows = np.array(list(product((0.0, 1.0), repeat=d)))
        table = np.asarray(node.constituent(*rows.T)) * np.ones(len(rows))
        if not np.isin(table, (0.0, 1.0)).all():
            raise GraphError(f"node {node.name!r} is no Boolean function: it has other values than 0 and 1")
        rarer = float(table.mean() <= 0.5)
        chosen = rows[table == rarer]
        units.append((2 * chosen - 1, 0.5 - chosen.sum(1)))
        constants.append((0, 1) if rarer else (1, -1))
    return ThresholdNetwork(graph, tuple(units), tuple(constants))


# ---- squared ReLUs -----------------------------------------------------------------------------------


@in_a_line
@dataclass(frozen=True, eq=False)
class SquaredReLU:
    """Layers of units (w x + b)_+^2, and a linear output."""

    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    output: np.ndarray

    @property
    def n_units(self) -> int:
        """Units in all."""
        return sum(len(bias) for _, bias in self.layers)

    def __call__(self, X: ArrayLike) -> np.ndarray:
        """The values at points (n, d)."""
        hidden = check_numbers("X", X, shape=(None, self.layers[0][0].shape[1]))
        for W, bias in self.layers:
            hidden = np.maximum(hidden @ W.T + bias, 0) ** 2
        answers: np.ndarray = hidden @ self.output
        return answers


def tensor_spline(coefficients: ArrayLike, knots: Sequence[ArrayLike]) -> SquaredReLU:
    """The tensor-product spline of degree 2 of two variables, exactly: sum c_ij B_i(x) B_j(y).

    A B-spline of degree 2 is a sum of four units (x - t)_+^2 of its knots, and a product of two numbers is
    ((u + v)^2 - (u - v)^2)/4, where every square takes two units.

    Args:
        coefficients: (m, k), as many as there are B-splines: three fewer than knots.
        knots: increasing places, for each variable.

    >>> spline = tensor_spline(np.ones((1, 1)), [[0, 1, 2, 3], [0, 1, 2, 3]])
    >>> float(spline([[1.5, 1.5]])[0])  # the product of the two peaks of 3/4
    0.5625
    """
    c = check_numbers("coefficients", coefficients, shape=(None, None), error=ConfigError)
    places = [check_numbers("knots", t, shape=(None,), error=ConfigError) for t in check_list("knots", knots)]
    if len(places) != 2 or any((np.diff(t) <= 0).any() for t in places):
        raise ConfigError("knots must be increasing places for each of two variables")
    if c.shape != tuple(len(t) - 3 for t in places):
        raise ConfigError(f"{len(places[0])} and {len(places[1])} knots have {[len(t) - 3 for t in places]} splines")
    first_W = np.concatenate([np.tile([1.0, 0.0], (len(places[0]), 1)), np.tile([0.0, 1.0], (len(places[1]), 1))])
    first_b = -np.concatenate(places)
    x, y = (_truncated_powers(t) for t in places)
    rows, signs = [], []
    for i, j in product(range(c.shape[0]), range(c.shape[1])):
        for sign in (1.0, -1.0):
            both = np.concatenate([x[i], sign * y[j]])
            rows += [both, -both]
            signs += [sign * c[i, j] / 4] * 2
    second_W = np.array(rows)
    return SquaredReLU(((first_W, first_b), (second_W, np.zeros(len(second_W)))), np.array(signs))


def _truncated_powers(t: np.ndarray) -> np.ndarray:
    """Of every B-spline of degree 2, its weights on (x - t)_+^2: divided differences, times the length of its support.

    With t_0 < … < t_3 they are (t_3 - t_0) / prod (t_k - t_l), up to a sign that makes the spline positive.
    """
    found = np.zeros((len(t) - 3, len(t)))
    for i in range(len(t) - 3):
        mine = t[i : i + 4]
        for k in range(4):
            found[i, i + k] = -(mine[3] - mine[0]) / np.prod(np.delete(mine[k] - mine, k))
    return found
