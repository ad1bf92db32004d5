"""What a network and multipliers prove, checked after the fact: from the data alone, with rounding errors bounded.

Nothing here uses the coordinates, the tolerances or the answers of the solvers: a network is taken as numbers whose
values at the data are summed up in twice the precision, and multipliers as a guess whose largest price is bounded over
all directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from compsparse.arithmetic import UNIT_ROUNDOFF, BoundedSum, bounded_product
from compsparse.sparse.memorisation.problem import Problem, with_one
from compsparse.sparse.memorisation.stopping import never

_LINES = 24
_DIGITS = 45
_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False)
class DualBound:
    """What multipliers prove.

    Attributes:
        most: no neuron has a larger price; infinite if the search was cut short.
        neurons: (K, d+1) neurons (w, b) whose price is above the target.
        through: (K,) for free biases the point that the kink passes through, else 0.
        signs: (K,) the sign of each in the network.
    """

    most: float
    neurons: np.ndarray
    through: np.ndarray
    signs: np.ndarray

    @property
    def is_complete(self) -> bool:
        """Whether every direction was accounted for."""
        return math.isfinite(self.most)


def dual_bound(problem: Problem, lam: np.ndarray, tol: float, is_late: Callable[[], bool]) -> DualBound:
    """The largest price that multipliers give neurons whose cost is the norm of their weights.

    Prices up to 1 + tol need not be told apart.
    """
    from compsparse.sparse.memorisation.branching import largest_price

    most, neurons, through, signs = 1.0, [], [], []
    for k, points in enumerate(_points(problem)):
        found = largest_price(points, lam, 1.0 + tol, is_late=is_late)
        rounding = 0.0
        if problem.has_constant:  # the points are differences, each rounded once
            rounding = 4 * UNIT_ROUNDOFF * float(np.abs(lam) @ np.linalg.norm(points, axis=1))
        most = max(most, found.upper + rounding)
        for u, sign in zip(found.directions, found.signs, strict=True):
            neurons.append(np.append(u, -u @ problem.X[k]) if problem.has_constant else u)
            through.append(k if problem.has_constant else 0)
            signs.append(sign)
        if is_late():
            most = math.inf
            break
    found_neurons = np.array(neurons).reshape(-1, problem.X.shape[1] + 1)
    return DualBound(most, found_neurons, np.array(through, dtype=int), np.array(signs))


def lower_bound(problem: Problem, lam: np.ndarray, most: float) -> float:
    """lam . y / max(1, m), m the largest price of admissible multipliers: no network that fits costs less."""
    if not (np.isfinite(lam).all() and math.isfinite(most)):
        return 0.0
    gain = float(bounded_product(lam[None], problem.y[:, None]).lower[0, 0])
    return max(0.0, gain / max(1.0, most) * (1 - 4 * UNIT_ROUNDOFF))


def lipschitz_bound(problem: Problem, is_late: Callable[[], bool] = never) -> float:
    """The steepest slope between two labels: no network is steeper than the sum of its neurons' costs.

    A bound of weight decay that needs no program to be solved, and that holds for any pairs there was time for.
    """
    if problem.norm != "weight-decay":
        return 0.0
    most = 0.0
    for i in range(1, problem.n):
        if is_late():
            break
        apart = np.linalg.norm(problem.X[:i] - problem.X[i], axis=1)
        differ = np.abs(problem.y[:i] - problem.y[i])
        most = max(most, float((differ / np.maximum(apart, 1e-300)).max()))
    return float(most * (1 - 1e-14 * problem.X.shape[1]))


def _points(problem: Problem) -> list[np.ndarray]:
    """What neurons of unit norm see: x~, or x - x_k for each point that a free kink can pass through."""
    if not problem.has_constant:
        return [with_one(problem.X)]
    return [problem.X - centre for centre in problem.X]


def admissible(problem: Problem, lam: np.ndarray) -> np.ndarray:
    """The nearest multipliers with the signs and the zero sum that the dual asks for, exactly.

    Margins need lam_i y_i >= 0; a free constant needs sum_i lam_i = 0.
    """
    if problem.goal == "margin":
        lam = np.where(lam * problem.y > 0, lam, 0.0)
    if not problem.has_constant:
        return lam
    if problem.goal == "interpolate":
        return _of_zero_sum(lam - lam.mean())
    above, below = lam[lam > 0].sum(), -lam[lam < 0].sum()
    if min(above, below) == 0:
        return np.zeros_like(lam)
    middle = (above + below) / 2
    return _of_zero_sum(np.where(lam > 0, lam * (middle / above), lam * (middle / below)))


def _of_zero_sum(lam: np.ndarray) -> np.ndarray:
    """Rounded to a grid on which sums are exact, with the rest taken from the largest."""
    largest = float(np.abs(lam).max())
    if largest == 0 or not math.isfinite(largest):
        return np.zeros_like(lam)
    grid = 2.0 ** (math.frexp(largest)[1] - _DIGITS)
    steps = np.rint(lam / grid)
    rest = steps.sum()
    at = int(np.argmax(np.abs(steps)))
    steps[at] -= rest
    return np.asarray(steps * grid)


# ---- the network -------------------------------------------------------------------------


class PrimalBound(NamedTuple):
    """What a network proves.

    Attributes:
        residual: at most this far is it from what the data ask for.
        upper: the least cost is not above this: the network's cost, and what it costs to mend its residual.
    """

    residual: float
    upper: float


def primal_bound(problem: Problem, theta: np.ndarray, z: np.ndarray, constant: float, value: float) -> PrimalBound:
    """Sums up the network at the data in twice the precision."""
    with np.errstate(all="ignore"):
        f = _network_values(problem, theta, z, constant)
        cost = value * (1 + 4 * (len(z) + theta.shape[1]) * UNIT_ROUNDOFF)
        if problem.goal == "margin":
            least = float((np.where(problem.y > 0, f.lower, -f.upper)).min())
            enlarged = cost / least if 0 < least < 1 else cost if least >= 1 else math.inf
            return PrimalBound(_not_nan(max(0.0, 1 - least)), _not_nan(enlarged))
        off = np.maximum(np.abs(f.upper), np.abs(f.lower))
        return PrimalBound(_not_nan(float(off.max())), _not_nan(cost + mending_cost(problem, off)))


def _not_nan(number: float) -> float:
    return math.inf if math.isnan(number) else number


def _network_values(problem: Problem, theta: np.ndarray, z: np.ndarray, constant: float) -> BoundedSum:
    """f(x_i) for margins, f(x_i) - y_i otherwise; some rows at a time, for each has a number for every neuron."""
    label = np.zeros(problem.n) if problem.goal == "margin" else problem.y
    at_once = max(1, _AT_ONCE // max(len(z), 1))
    rows = [slice(first, first + at_once) for first in range(0, problem.n, at_once)]
    parts = [_values_of_rows(problem.X[a], label[a], theta, z, constant) for a in rows]
    return BoundedSum(np.concatenate([p.value for p in parts]), np.concatenate([p.error for p in parts]))


def _values_of_rows(X: np.ndarray, label: np.ndarray, theta: np.ndarray, z: np.ndarray, constant: float) -> BoundedSum:
    before = bounded_product(with_one(X), theta.T)
    terms = np.column_stack([np.maximum(before.value, 0.0), np.ones(len(X)), label])
    errors = np.column_stack([before.error, np.zeros((len(X), 2))])
    found = bounded_product(terms, np.concatenate([z, [constant, -1.0]])[:, None], errors)
    return BoundedSum(found.value[:, 0], found.error[:, 0])


def mending_cost(problem: Problem, off: np.ndarray) -> float:
    """Upper bound on the cost of a network whose values at the data are given up to their sign.

    Along a line on which the points are apart, kinks at them make any values: the slopes between neighbours are at
    most (off_k + off_l) / distance. The best of several lines counts.
    """
    if not off.any():
        return 0.0
    # of label noise a neuron costs at most 2 <norm(x~)^2> times its norm
    factor = 2 * float(1 + (problem.X**2).sum(1).mean()) if problem.norm == "label-noise" else 1.0
    return factor * min(_cost_along(problem, line, off) for line in some_lines(problem.X))


def some_lines(X: np.ndarray) -> np.ndarray:
    """Unit vectors along the axes and at random, on some of which different points are apart."""
    spread = np.ptp(X, axis=0)
    random = np.random.default_rng(0).normal(size=(_LINES, X.shape[1])) / np.where(spread > 0, spread, 1.0)
    lines = np.concatenate([np.eye(X.shape[1]), random])
    return np.asarray(lines / np.linalg.norm(lines, axis=1, keepdims=True))


def _cost_along(problem: Problem, line: np.ndarray, off: np.ndarray) -> float:
    at = bounded_product(problem.X, line[:, None])
    order = np.argsort(at.value[:, 0])
    place, error, off = at.value[order, 0], at.error[order, 0], off[order]
    apart = np.diff(place) * (1 - 2 * UNIT_ROUNDOFF) - error[1:] - error[:-1]
    if len(apart) and apart.min() <= 0:
        return math.inf
    slopes = np.concatenate([[0.0], (off[1:] + off[:-1]) / apart]) if len(apart) else np.zeros(1)
    turns = slopes + np.append(slopes[1:], 0.0)  # at each point from the slope before it to that after it
    kinks = 1.0 + 1e-12 if problem.bias == "free" else np.sqrt(1 + (np.abs(place) + error) ** 2) * (1 + 1e-12)
    constant = 0.0 if problem.has_constant else float(off[0])
    return float((turns[:-1] * np.broadcast_to(kinks, turns.shape)[:-1]).sum()) * (1 + 1e-12) + constant
