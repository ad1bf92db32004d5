r"""Kolmogorov's superposition, in numbers: inner functions are built, outer functions follow from the function.

.. math:: f(x_1, \dots, x_n) \approx c + \sum_{q=1}^{Q} g_q\Bigl(\sum_{p=1}^n \lambda_p \psi(x_p + q a)\Bigr)

At each level, g_q takes on the image of a cube the residual at the cube's middle, divided by Q - n. A point misses
the cubes of at most n of the Q families, so the residual falls by the factor n/(Q - n), and by no more, if it hardly
varies on cubes. Kolmogorov's Q = 2n + 1 gives n/(n+1); more families (Sprecher) give less. The next level has to see
what the last one left in the gaps, which is why levels must become finer so fast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import RandomState, check_count, check_kind, check_numbers, generator_from
from compsparse.errors import DataError
from compsparse.representations.classical.inner_function import InnerFunction, Level
from compsparse.representations.tensors.grid import function_values
from compsparse.text import in_a_line

_AT_ONCE = 200_000


@in_a_line
@dataclass(frozen=True, eq=False)
class OuterFunction:
    """A function of one variable in straight pieces: flat on the images of cubes, straight between them."""

    knots: np.ndarray
    values: np.ndarray

    def __call__(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(np.interp(z, self.knots, self.values))

    @property
    def variation(self) -> float:
        """How far it goes up and down in all."""
        return float(np.abs(np.diff(self.values)).sum())


@in_a_line
@dataclass(frozen=True, eq=False)
class Superposition:
    """A function of several variables as sums of functions of one.

    Attributes:
        inner: the one function that all inputs pass through, shifted and scaled.
        constant: the middle of the function's range.
        outer: by level, one function for each family; the outer function of a family is their sum over the levels.
        errors: largest error that was seen after each level, as a share of the function's range.
        error: the last of them; the true one can only be larger.
        outside: share of the points checked at which some family is in a gap, by level.
    """

    inner: InnerFunction
    constant: float
    outer: tuple[tuple[OuterFunction, ...], ...]
    errors: tuple[float, ...]
    error: Certificate
    outside: tuple[float, ...]

    def __call__(self, X: Any) -> np.ndarray:
        """Values at the rows of X, in the unit cube."""
        points = check_numbers("X", X, shape=(None, self.inner.n_inputs))
        if len(points) and not 0 <= points.min() <= points.max() <= 1:
            raise DataError("a superposition is defined on the unit cube: the points must lie between 0 and 1")
        parts = np.array_split(points, max(1, -(-len(points) // _AT_ONCE)))
        return np.concatenate([_value(self.inner, self.constant, self.outer, part) for part in parts])

    @property
    def n_units(self) -> int:
        """ReLU units that hold all inner and outer functions: one for each straight piece."""
        inside = self.inner.n_inputs * self.inner.n_families * self.inner.n_pieces
        return inside + sum(len(g.knots) - 1 for family in self.outer for g in family)

    @property
    def variation(self) -> float:
        """How far the outer functions of the last level go up and down, the median family."""
        return float(np.median([g.variation for g in self.outer[-1]]))


def superpose(
    function: Callable[[np.ndarray], Any],
    inner: InnerFunction,
    n_checked: int = 20_000,
    random_state: RandomState = None,
) -> Superposition:
    """The superposition of a function on the unit cube, level by level.

    Args:
        function: maps rows of points in the unit cube to one number each.
        inner: the inner function; its levels are used one after the other.
        n_checked: random points at which errors are seen.

    >>> psi = InnerFunction(n_inputs=2, n_families=20, base=21, n_levels=1)
    >>> found = superpose(lambda X: X[:, 0] * X[:, 1], psi, n_checked=2000, random_state=0)
    >>> found.error.value < 2 / (20 - 2)
    True
    """
    check_kind("inner", inner, InnerFunction)
    n_checked = check_count("n_checked", n_checked, least=10, most=10**7)
    points = generator_from(random_state).random((n_checked, inner.n_inputs))
    values = function_values(function, points)
    low, high = float(values.min()), float(values.max())
    constant, extent = (low + high) / 2, (high - low) or 1.0
    outer: list[tuple[OuterFunction, ...]] = []
    errors, outside = [], []
    for level in inner.levels:
        outer.append(_next_level(function, inner, level, constant, outer))
        off = np.abs(_value(inner, constant, outer, points) - values)
        errors.append(float(off.max()) / extent)
        outside.append(float(_in_some_gap(inner, level, points).mean()))
    error = Certificate(
        "largest error of the superposition, as a share of the range", errors[-1], errors[-1], np.inf, Rigour.ESTIMATED,
        obtained=f"{n_checked} random points",
    )  # fmt: skip
    return Superposition(inner, constant, tuple(outer), tuple(errors), error, tuple(outside))


def _next_level(
    function: Callable[[np.ndarray], Any],
    inner: InnerFunction,
    level: Level,
    constant: float,
    outer: list[tuple[OuterFunction, ...]],
) -> tuple[OuterFunction, ...]:
    cells = np.stack(np.unravel_index(np.arange(level.n_cells**inner.n_inputs), (level.n_cells,) * inner.n_inputs), 1)
    images = sum(f * level.starts[cells[:, p]] for p, f in enumerate(inner.factors))
    order = np.argsort(images)
    left = np.asarray(images)[order]
    knots = np.stack([left, left + level.rise * inner.factors.sum()], axis=1).reshape(-1)
    middles = (cells[order] + (1 - inner.gap) / 2) * level.length
    found = []
    for q in range(inner.n_families):
        # cubes that stick out are read at the nearest point of the unit cube
        inside = np.clip(middles - q * inner.shift, 0, 1)
        residual = function_values(function, inside) - _value(inner, constant, outer, inside)
        found.append(OuterFunction(knots, np.repeat(residual / (inner.n_families - inner.n_inputs), 2)))
    return tuple(found)


def _value(inner: InnerFunction, constant: float, outer: Any, points: np.ndarray) -> np.ndarray:
    total = np.full(len(points), constant)
    if outer:
        for q in range(inner.n_families):
            z = inner.sums(points, q)
            for level in outer:
                total += level[q](z)
    return total


def _in_some_gap(inner: InnerFunction, level: Level, points: np.ndarray) -> np.ndarray:
    shifts = inner.shift * np.arange(inner.n_families)
    place = (points[:, :, None] + shifts) / level.length % 1
    return np.asarray((place > 1 - inner.gap).any(axis=(1, 2)))
