"""The memorisation problem: checked data, the charts in which its neurons are cones of directions, and their costs.

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
_NO_SIZE = 1e-13  # eigenvalues below this share of the largest are zero
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
        near = places.sparse_distance_matrix(places, _CLOSE, output_type="ndarray")
        if not near["v"].any():
            return one
        forest = minimum_spanning_tree(sparse.csr_array((near["v"], (near["i"], near["j"])), shape=(self.n, self.n)))
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


# ---- what a neuron costs: norm(R_s u) in the cell s --------------------------------------
# Weight decay: R_s = I. Label noise: with Sigma_s = (1/n) sum_{i in s} x~_i x~_i^T, the penalty
# (1/n) sum_i norm(grad f(x_i))^2 of neurons c (w.x~)_+ is w^T Sigma_s w + c^2 tr Sigma_s; at fixed
# u = |c| w its least value over the scale of c is 2 sqrt(tr Sigma_s) sqrt(u^T Sigma_s u) (Blanc et al. 2020).


def factors(chart: Chart, patterns: np.ndarray, norm: Norm) -> tuple[np.ndarray, np.ndarray]:
    """R_s of each pattern, (S, p, p), and its pseudo-inverse transposed.

    With rank k the last k rows of R_s count and the others are zero.
    """
    S, p = len(patterns), chart.Z.shape[1]
    if norm == "weight-decay":
        inverse = np.broadcast_to(chart.whitening.T, (S, p, p))
        return np.broadcast_to(chart.metric, (S, p, p)), inverse
    outer = (chart.Z[:, :, None] * chart.Z[:, None, :]).reshape(len(chart.Z), -1)
    sigma = (patterns.astype(np.float64) @ outer).reshape(S, p, p) / len(chart.Z)
    e, v = np.linalg.eigh(sigma)
    e = np.where(e > _NO_SIZE * np.maximum(e[:, -1:], 1e-300), e, 0.0)
    scale = 2 * np.sqrt(patterns @ chart.squares / len(chart.Z))
    size = scale[:, None] * np.sqrt(e)
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    across = v.transpose(0, 2, 1)
    return size[:, :, None] * across, inverse[:, :, None] * across


def costs(chart: Chart, patterns: np.ndarray, u: np.ndarray, norm: Norm) -> np.ndarray:
    """The cost of each neuron u (K, p) in its cell."""
    if norm == "weight-decay":
        return np.asarray(np.linalg.norm(u @ chart.metric.T, axis=1))
    n = len(chart.Z)
    trace = patterns @ chart.squares / n
    square = (patterns * (u @ chart.Z.T) ** 2).sum(1) / n
    return np.asarray(2 * np.sqrt(trace * square))


def neuron_costs(theta: np.ndarray, bias: Bias) -> np.ndarray:
    """norm(w, b) of each neuron (K, d+1), or norm(w) if the bias is free."""
    return np.asarray(np.linalg.norm(theta if bias == "penalised" else theta[:, :-1], axis=1))


def label_noise_penalty(X: np.ndarray, theta: np.ndarray, c: np.ndarray) -> float:
    """(1/n) sum_i norm(grad f(x_i))^2 of the network with inner weights theta (M, d+1) and outer c."""
    theta, c = _checked_network(theta, c)
    outputs, inputs = _moments(X, theta)
    return float((outputs + c**2 * inputs).sum())


def balanced_label_noise_penalty(X: np.ndarray, theta: np.ndarray, c: np.ndarray) -> float:
    """The least penalty among the rescalings (a w_j, c_j / a) that leave the function as it is."""
    theta, c = _checked_network(theta, c)
    outputs, inputs = _moments(X, theta)
    return float(2 * (np.abs(c) * np.sqrt(outputs * inputs)).sum())


def _checked_network(theta: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inner = check_numbers("theta", theta, shape=(None, None))
    if not inner.shape[1]:
        raise DataError("theta must have a column for the bias")
    return inner, check_numbers("c", c, shape=(len(inner),))


def _moments(X: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w^T Sigma_s w and tr Sigma_s of each neuron."""
    points = with_one(check_numbers("X", X, shape=(None, theta.shape[1] - 1)))
    if not len(points):
        raise DataError("X has no rows")
    values = points @ theta.T
    active = values > 0
    outputs = np.where(active, values, 0.0) ** 2
    return outputs.mean(0), (active * (points**2).sum(1)[:, None]).mean(0)
