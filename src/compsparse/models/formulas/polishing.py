"""Constants of a formula by least squares on the target, their standard errors, and round values where those allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from compsparse.graph.formula import Argument, Constant, Formula, substitute, walk
from compsparse.models.formulas.algebra import Algebra, Freed, Sum, freed, with_numbers
from compsparse.models.formulas.calculus import value_and_slopes, value_of

_MOST_STEPS = 60
_FAR = 1e6


@dataclass(frozen=True, eq=False)
class Polished:
    """A formula whose constants fit the target.

    Attributes:
        form: over the variables, and the constants behind them.
        values, errors: of the constants, with standard errors.
        is_exponent: which constants are exponents.
        squares: sum of the squared residuals.
        n_rows: rows it was fitted to.
    """

    form: Formula
    values: tuple[float, ...]
    errors: tuple[float, ...]
    is_exponent: tuple[bool, ...]
    squares: float
    n_rows: int

    @property
    def score(self) -> float:
        """Smaller is better, see :func:`score_of`."""
        return score_of(self.form, len(self.values), self.squares, self.n_rows)


def score_of(form: Formula, n_constants: int, squares: float, n: int) -> float:
    """What is left and what constants cost (Schwarz 1978); a part of a formula counts as a tenth of a constant."""
    parts = sum(1 for _ in walk(form))
    return float(n * np.log(squares / n + 1e-300) + np.log(n) * (n_constants + 0.1 * parts))


def polished(start: Freed, variables: Sequence[np.ndarray], y: np.ndarray) -> Polished | None:
    """Least squares by Levenberg and Marquardt; None where the formula is not defined at some row."""
    m, scale = len(start.values), float(y.std()) or 1.0

    def residuals(constants: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            rest = (value_of(start.formula, variables, constants) - y) / scale
        return np.where(np.isfinite(rest), np.clip(rest, -_FAR, _FAR), _FAR)

    def jacobian(constants: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            _, slopes = value_and_slopes(start.formula, variables, constants)
            columns = np.stack([slopes.get(j, np.zeros(len(y))) for j in range(m)], axis=1) / scale
        return np.where(np.isfinite(columns), np.clip(columns, -1e12, 1e12), 0.0)

    values = np.array(start.values, dtype=float)
    if m:
        if len(y) <= m:
            return None
        values = least_squares(
            residuals, values, jacobian, method="lm", x_scale="jac", max_nfev=_MOST_STEPS, ftol=1e-10, xtol=1e-10
        ).x
    rest = residuals(values)
    if np.abs(rest).max() >= _FAR:
        return None
    squares = float((rest**2).sum()) * scale**2
    errors = _errors(jacobian(values), float((rest**2).sum()) / max(len(y) - m, 1)) if m else ()
    return Polished(start.formula, tuple(values.tolist()), errors, start.is_exponent, squares, len(y))


def _errors(jacobian: np.ndarray, variance: float) -> tuple[float, ...]:
    """Standard errors; infinite for what the rows do not tell."""
    sizes = np.linalg.norm(jacobian, axis=0)
    scaled = jacobian / np.where(sizes > 0, sizes, 1.0)
    _, s, right = np.linalg.svd(scaled, full_matrices=False)
    told = s > 1e-7 * s[0]
    hidden = (right[~told] ** 2).sum(0) > 1e-3 if not told.all() else np.zeros(len(sizes), bool)
    with np.errstate(all="ignore"):
        spread = ((right[told] / s[told, None]) ** 2).sum(0)
        errors = np.sqrt(variance * spread) / sizes
    return tuple(np.where(hidden | (sizes == 0), np.inf, errors).tolist())


def free_form(formula: Formula, variables: Sequence[np.ndarray], fixed: Sequence[float] = ()) -> tuple[Sum, Freed]:
    """A formula without free constants in the one form, and that form with its numbers free."""
    algebra = Algebra(variables)
    normal = algebra.normal(formula)
    return normal, freed(normal, len(variables), algebra.is_positive, fixed)


# ---- rounding ---------------------------------------------------------------------------------

_WITHIN, _COSTS = 3.0, 9.0
"""Standard errors within which a round value is tried, and by how much it may raise the squares, in variances."""


def rounded(found: Polished, variables: Sequence[np.ndarray], y: np.ndarray) -> Polished:
    """Constants set to round values one after the other, exponents first, the others fitted anew each time."""
    current, limit = found, found.squares
    refused: set[int] = set()
    while True:
        candidates = _round_values(current, refused)
        if not candidates:
            return current
        _, _, place, value = candidates[0]
        tried = polished(_with_fixed(current, place, value, len(variables)), variables, y)
        variance = limit / max(len(y) - len(found.values), 1)
        if tried is not None and tried.squares <= current.squares + _COSTS * variance and (
            tried.squares <= limit + 3 * _COSTS * variance
        ):  # fmt: skip
            refused = {j - (j > place) for j in refused}
            current = tried
        else:
            refused.add(place)


def _round_values(found: Polished, refused: set[int]) -> list[tuple[bool, float, int, float]]:
    """(no exponent, how unround, place, value) of constants that a round value may replace."""
    candidates = []
    for j, (value, error) in enumerate(zip(found.values, found.errors, strict=True)):
        if j in refused or not np.isfinite(error):
            continue
        options = _round_exponents(value) if found.is_exponent[j] else _round_numbers(value, error)
        near = [
            (cost, option) for cost, option in options if abs(option - value) <= _WITHIN * error + 1e-9 * abs(value)
        ]
        if near:
            cost, option = min(near, key=lambda pair: (pair[0], abs(pair[1] - value)))
            candidates.append((not found.is_exponent[j], cost + abs(option - value) / (error + 1e-12) / 10, j, option))
    return sorted(candidates)


_SURE = 0.012
"""A value is rounded to a grid only if its error is so small a share of the spacing that chance seldom hits one."""
_MOST_STEPS_OF = {2.0: 20, 3.0: 9, 3.1: 4, 3.2: 5, 4.0: 8, 4.1: 3}
"""How far the grids go, in steps."""


def _round_exponents(value: float) -> list[tuple[float, float]]:
    return [(float(q), round(value * q) / q) for q in (1, 2, 3, 4)]


def _round_numbers(value: float, error: float) -> list[tuple[float, float]]:
    """Whole numbers, simple fractions and simple multiples of pi, where the error is small enough to tell them."""
    options = [(0.0, 0.0)] if abs(value) < _WITHIN * error else []
    size = abs(value)
    if error < 0.1 * size:
        options.append((1.0, float(np.sign(value))))
    for cost, spacing in ((2.0, 1.0), (3.0, 0.5), (3.1, 1 / 3), (3.2, 0.25), (4.0, np.pi), (4.1, np.pi / 2)):
        near = spacing * round(value / spacing)
        if error < _SURE * spacing and near and abs(near) <= _MOST_STEPS_OF[cost] * spacing:
            options.append((cost, float(near)))
    return [(cost, option) for cost, option in options if option or cost == 0]


def _with_fixed(found: Polished, place: int, value: float, n_variables: int) -> Freed:
    """The form with one constant set."""
    arguments: list[Formula] = [Argument(i) for i in range(n_variables)]
    for j in range(len(found.values)):
        arguments.append(Constant(value) if j == place else Argument(n_variables + j - (j > place)))
    kept = [j for j in range(len(found.values)) if j != place]
    return Freed(
        substitute(found.form, arguments),
        tuple(found.values[j] for j in kept),
        tuple(found.is_exponent[j] for j in kept),
    )


def simplified(found: Polished, variables: Sequence[np.ndarray], y: np.ndarray) -> Polished:
    """The formula in its one form after rounding, constants fitted once more; round numbers stay as they are."""
    n = len(variables)
    numbers = {p.value for p in walk(found.form) if isinstance(p, Constant)}
    normal = Algebra(variables).normal(with_numbers(found.form, n, found.values))
    algebra = Algebra(variables)
    again = polished(freed(normal, n, algebra.is_positive, sorted(numbers)), variables, y)
    if again is None or again.squares > found.squares * 1.02 or len(again.values) > len(found.values):
        return found
    return again
