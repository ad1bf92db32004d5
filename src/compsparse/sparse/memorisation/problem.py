"""The memorisation problem: checked data, and the charts in which its neurons are cones of directions.

With x~ = (x, 1), a neuron is a direction theta = (w, b) and costs its norm. If the bias is penalised,
all directions live in one chart, the span of the x~_i. If it is free, g(b) = sum_i lam_i (w.x_i + b)_+
is piecewise linear in b, so best kinks pass through data points: one chart for each point x_k, in
which the neurons are (w.(x - x_k))_+, and a constant that costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree
from scipy.spatial import cKDTree

from compsparse.checks import check_choice, check_numbers, row_text
from compsparse.errors import ConfigError, DataError
from compsparse.sizes import check_size

Norm = Literal["weight-decay", "label-noise"]
Bias = Literal["penalised", "free"]
Goal = Literal["interpolate", "margin"]
_RANK_TOLERANCE = 1e-14
_CLOSE = 1e-3


@dataclass(frozen=True, eq=False)
class Chart:
    """Neurons (z_i . u)_+, u in R^p, at the data, in coordinates that are centred and scaled for the solvers.

    Attributes:
        Z: (n, p) what the neurons see; a row of zeros is a point every kink of the chart passes through.
        metric: (p, p); norm(metric @ u) is the norm of the neuron's weights.
        embed: (d+1, p); ``theta @ embed`` is the neuron (w, b) in the chart.
        lift: (p, d+1); ``u @ lift`` is the neuron (w, b) of least norm that has the values of u at the data.
        squares: (n,) norm(x~_i)^2.
    """

    Z: np.ndarray
    metric: np.ndarray
    embed: np.ndarray
    lift: np.ndarray
    squares: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The points that define a hyperplane."""
        return np.flatnonzero(np.linalg.norm(self.Z, axis=1) > 0)

    @cached_property
    def whitening(self) -> np.ndarray:
        """(p, p); u = whitening @ v has norm(v)."""
        return np.linalg.inv(self.metric)

    @cached_property
    def white(self) -> np.ndarray:
        """(n, p) what neurons see whose directions v are measured by their Euclidean norm."""
        return np.asarray(self.Z @ self.whitening)


@dataclass(frozen=True, eq=False)
class Problem:
    """min sum_j cost(neuron_j) subject to f(x_i) = y_i, or y_i f(x_i) >= 1 for margins."""

    X: np.ndarray
    y: np.ndarray
    norm: Norm
    bias: Bias
    goal: Goal
    charts: tuple[Chart, ...]

    @property
    def n(self) -> int:
        """How many points there are."""
        return len(self.y)

    @property
    def has_constant(self) -> bool:
        """Whether the network has a constant that costs nothing."""
        return self.bias == "free"

    @cached_property
    def unit_cost(self) -> float:
        """What a neuron of size one costs, to scale programs by."""
        if not self.charts:
            return 1.0
        typical = float(np.exp(np.log(np.abs(np.diagonal(self.charts[0].metric))).mean()))
        factor = 2 * float(self.charts[0].squares.mean()) if self.norm == "label-noise" else 1.0
        return typical * factor

    @cached_property
    def differences(self) -> sparse.csr_array:
        """(n, n) sparse matrix that takes equations f(x_i) = y_i to others of the same size.

        Of points close to each other, which f can hardly tell apart, one keeps its equation and the others are
        replaced by divided differences to a neighbour.
        """
        one = sparse.eye_array(self.n, format="csr")
        if self.goal == "margin" or not self.charts:
            return one
        places = cKDTree(self.charts[0].Z)
        near = places.sparse_distance_matrix(places, _CLOSE, output_type="coo_matrix")
        if not near.data.any():
            return one
        forest = minimum_spanning_tree(sparse.csr_array(near))
        child, parent = _oriented(forest)
        apart = np.linalg.norm(places.data[child] - places.data[parent], axis=1)
        scale = np.ones(self.n)
        scale[child] = 1 / apart
        away = sparse.csr_array((np.ones(len(child)), (child, parent)), shape=(self.n, self.n))
        return sparse.csr_array(sparse.diags_array(scale) @ (one - away))


def _oriented(forest: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Each node of a forest that is not the first of its tree, and its parent."""
    label = connected_components(forest, directed=False)[1]
    parents = np.full(len(label), -1)
    for root in np.unique(label, return_index=True)[1]:
        order, found = breadth_first_order(forest, root, directed=False)
        parents[order[1:]] = found[order[1:]]
    child = np.flatnonzero(parents >= 0)
    return child, parents[child]


_DIGITS = {"X": 20, "y": 140}
_LARGEST = {name: 10.0**digits for name, digits in _DIGITS.items()}


def make_problem(X: object, y: object, norm: Norm, bias: Bias, goal: Goal) -> Problem:
    """Checks data and settings, and merges repeated points."""
    check_choice("norm", norm, get_args(Norm))
    check_choice("bias", bias, get_args(Bias))
    check_choice("goal", goal, get_args(Goal))
    if norm == "label-noise" and bias == "free":
        raise ConfigError("label noise acts on biases as on weights: norm='label-noise' needs bias='penalised'")
    table, target = checked_points(X, y)
    if goal == "margin" and not np.isin(target, (-1.0, 1.0)).all():
        raise DataError("goal='margin' needs labels -1 and +1")
    table, target = _merged(table, target)
    if bias == "free":
        check_size(
            f"the {len(table):,} charts of a free bias",
            4.0 * len(table) ** 2 * min(table.shape),
            "take bias='penalised', or fewer points",
        )
    charts = (penalised_chart(table),) if bias == "penalised" else _free(table)
    return Problem(table, target, norm, bias, goal, charts)


def checked_points(X: object, y: object) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels as float64, if there is a label for every point."""
    table, target = check_numbers("X", X, finite=False), check_numbers("y", y, finite=False)
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(f"X must be a table of at least one row and one column, got shape {table.shape}")
    if target.shape != (len(table),):
        raise DataError(f"y must hold one number for each of the {len(table)} rows of X, got shape {target.shape}")
    for name, values in (("X", table), ("y", target[:, None])):
        bad = np.flatnonzero(~np.isfinite(values).all(1))
        if len(bad):
            raise DataError(f"{name} holds NaN or infinite values, first in {row_text(bad[0])}")
        _check_size_of_numbers(name, values)
    return table, target


def _check_size_of_numbers(name: str, values: np.ndarray) -> None:
    """Costs and gradients are products of several of them, and a bound that overflowed is none."""
    largest = float(np.abs(values).max())
    if largest and not 1 / _LARGEST[name] <= largest <= _LARGEST[name]:
        raise DataError(
            f"the largest number of {name} is {largest:.3g} in size, and memorisation computes with "
            f"1e-{_DIGITS[name]} to 1e{_DIGITS[name]}: choose other units"
        )


def _merged(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    clash = np.flatnonzero(y != y[first][group])
    if len(clash):
        a, b = sorted((int(first[group[clash[0]]]), int(clash[0])))
        labels = f"{y[a]:g} and {y[b]:g}"
        raise DataError(f"rows {a + 1} and {b + 1} (counted from 1) are the same point with two labels, {labels}")
    kept = np.sort(first)
    return X[kept], y[kept]


def with_one(X: np.ndarray) -> np.ndarray:
    """The points x~ = (x, 1)."""
    return np.column_stack([X, np.ones(len(X))])


def penalised_chart(X: np.ndarray) -> Chart:
    """The one chart of neurons whose bias is penalised."""
    centre, scale = _centre_and_scale(X)
    basis = _row_space((X - centre) / scale)
    Z = with_one(((X - centre) / scale) @ basis.T)
    back = np.block([[basis * scale, np.zeros((len(basis), 1))], [centre[None], np.ones((1, 1))]])
    return _chart(Z, back, (X**2).sum(1) + 1)


def _free(X: np.ndarray) -> tuple[Chart, ...]:
    centre, scale = _centre_and_scale(X)
    basis = _row_space((X - centre) / scale)
    if len(basis) == 0:
        return ()
    charts = []
    for k in range(len(X)):
        chart = _chart(((X - X[k]) / scale) @ basis.T, basis * scale, (X**2).sum(1))
        embed = np.concatenate([chart.embed, np.zeros((1, len(basis)))])
        charts.append(replace(chart, embed=embed, lift=np.column_stack([chart.lift, -chart.lift @ X[k]])))
    return tuple(charts)


def _chart(Z: np.ndarray, back: np.ndarray, squares: np.ndarray) -> Chart:
    """The points are z @ back, so a neuron u is any theta with back @ theta = u."""
    least = np.linalg.inv(back) if back.shape[0] == back.shape[1] else np.linalg.pinv(back, rcond=1e-300)
    return Chart(Z, metric=np.asarray(np.linalg.qr(least, mode="r")), embed=back.T, lift=least.T, squares=squares)


def _centre_and_scale(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """So that coordinates are of size one whatever the units and the origin of the data."""
    centre = X.mean(0)
    spread = X.std(0)
    return centre, np.where(spread > 0, spread, 1.0)


def _row_space(A: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span the rows of A: directions across it change nothing and only cost."""
    if not A.any():
        return np.zeros((0, A.shape[1]))
    _, s, basis = np.linalg.svd(A, full_matrices=False)
    basis = basis[s > _RANK_TOLERANCE * s[0] * max(A.shape)]
    return np.eye(A.shape[1]) if len(basis) == A.shape[1] else np.asarray(basis)
