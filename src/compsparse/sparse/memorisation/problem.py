"""The memorisation problem: checked data, and the charts in which its neurons are cones of directions.

With x~ = (x, 1), a neuron is a direction theta = (w, b) and costs its norm. If the bias is penalised,
all directions live in one chart, the span of the x~_i. If it is free, g(b) = sum_i lam_i (w.x_i + b)_+
is piecewise linear in b, so best kinks pass through data points: one chart for each point x_k, in
which the neurons are (w.(x - x_k))_+, and a constant that costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from compsparse.checks import check_choice, check_numbers, row_text
from compsparse.errors import ConfigError, DataError

Norm = Literal["weight-decay", "label-noise"]
Bias = Literal["penalised", "free"]
Goal = Literal["interpolate", "margin"]
_RANK_TOLERANCE = 1e-11


@dataclass(frozen=True)
class Chart:
    """Neurons (z_i . u)_+, u in R^p, at the data.

    Attributes:
        Z: (n, p) what the neurons see; a row of zeros is a point every kink of the chart passes through.
        lift: (p, d+1); ``u @ lift`` is the neuron (w, b).
    """

    Z: np.ndarray
    lift: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The points that define a hyperplane."""
        return np.flatnonzero(np.linalg.norm(self.Z, axis=1) > 0)


@dataclass(frozen=True)
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
    return table, target


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
    basis = _row_space(with_one(X))
    return Chart(with_one(X) @ basis.T, basis)


def _free(X: np.ndarray) -> tuple[Chart, ...]:
    basis = _row_space(X - X.mean(0))
    if len(basis) == 0:
        return ()
    coordinates = (X - X.mean(0)) @ basis.T
    charts = []
    for k in range(len(X)):
        Z = coordinates - coordinates[k]
        Z[k] = 0.0
        charts.append(Chart(Z, np.column_stack([basis, -basis @ X[k]])))
    return tuple(charts)


def _row_space(A: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span the rows of A: directions across it change nothing and only cost."""
    _, s, basis = np.linalg.svd(A, full_matrices=False)
    return np.asarray(basis[s > _RANK_TOLERANCE * max(s[0], 1e-300) * max(A.shape)])
