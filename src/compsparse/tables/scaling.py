"""Centres and scales that do not depend on the unit: the same structure comes out in metres and in light years."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_CONSTANT = 1e-12
"""Spread over size up to which a column counts as constant: a few thousand roundings."""


@dataclass(frozen=True)
class Scale:
    """Where a column of numbers lies and how far it spreads.

    Attributes:
        centre: its mean.
        spread: its standard deviation; 1 where the column is constant.
        is_constant: whether it spreads no further than rounding does.
    """

    centre: float
    spread: float
    is_constant: bool = False

    def standardised(self, values: np.ndarray) -> np.ndarray:
        """The values with mean 0 and standard deviation 1; no difference of finite values overflows."""
        exponent = _exponent(max(abs(self.centre), self.spread))
        shifted = np.ldexp(values, -exponent) - np.ldexp(self.centre, -exponent)
        return np.asarray(shifted / np.ldexp(self.spread, -exponent))

    def restored(self, values: np.ndarray) -> np.ndarray:
        """From standardised values back to the column's own unit."""
        return np.asarray(values * self.spread + self.centre)


def scale_of(values: np.ndarray, sample_weight: np.ndarray | None = None) -> Scale:
    """Mean and standard deviation of finite numbers.

    They are computed on the values divided by a power of two near the largest, which is exact: squares neither
    overflow nor vanish, and in any unit the same digits come out.

    >>> scale_of(np.array([1e-200, 3e-200]))
    Scale(centre=2e-200, spread=1e-200, is_constant=False)
    """
    largest = float(np.abs(values).max(initial=0.0))
    exponent = _exponent(largest)
    small = np.ldexp(values, -exponent)
    centre = float(np.average(small, weights=sample_weight))
    spread = float(np.sqrt(np.average((small - centre) ** 2, weights=sample_weight)))
    if not spread > _CONSTANT * float(np.ldexp(largest, -exponent)):
        return Scale(float(np.ldexp(centre, exponent)), 1.0, is_constant=True)
    return Scale(float(np.ldexp(centre, exponent)), float(np.ldexp(spread, exponent)))


def near_one(values: np.ndarray) -> np.ndarray:
    """The values divided by a power of two near the largest, which is exact."""
    return np.asarray(np.ldexp(values, -_exponent(float(np.abs(values).max(initial=0.0)))))


def _exponent(size: float) -> int:
    """The power of two next to a size; 0 for 0."""
    return int(np.frexp(size)[1])
