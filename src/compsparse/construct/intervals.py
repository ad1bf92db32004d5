"""Interval arithmetic on arrays, rounded outwards: the exact result always lies between the two bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.arithmetic import two_product, two_sum

_ULPS = 8
"""By how many units in the last place elementary functions of numpy and scipy may be off; they promise four."""


def _down(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.nextafter(x, -np.inf))


def _up(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.nextafter(x, np.inf))


def _is_short(x: np.ndarray) -> np.ndarray:
    """Whether products with it are not rounded: zero and powers of two."""
    return np.asarray((x == 0) | (np.abs(np.frexp(x)[0]) == 0.5))


def _sum_below(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Not above a + b; the sum itself where it is not rounded, so that 1 - 1 stays 0 and a root of it defined."""
    total, lost = two_sum(a, b)
    return np.where((lost < 0) | ~np.isfinite(lost), _down(total), total)


@dataclass(frozen=True, eq=False)
class IntervalArray:
    """Arrays of closed intervals; bounds may be infinite, and then say nothing on that side.

    >>> product = IntervalArray.of(-0.1, 2.0) * IntervalArray.of(3.0, 4.0)  # 4 times 0.1 and 2 are not rounded
    >>> product.total()
    (-0.4, 8.0)
    >>> thirds = IntervalArray.of(1.0) * IntervalArray.of(3.0).reciprocal()
    >>> bool(3 * thirds.lower < 1) and bool(thirds.width > 0)
    True
    """

    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, lower: Any, upper: Any = None) -> IntervalArray:
        """From numbers or arrays; a point where no upper bound is given."""
        low = np.asarray(lower, dtype=float)
        return cls(low, low if upper is None else np.asarray(upper, dtype=float))

    @classmethod
    def around(cls, value: Any) -> IntervalArray:
        """A number, such as pi or a third, that the double next to it stands for."""
        return cls.of(np.nextafter(float(value), -np.inf), np.nextafter(float(value), np.inf))

    def __add__(self, other: IntervalArray) -> IntervalArray:
        return _tidy(_sum_below(self.lower, other.lower), -_sum_below(-self.upper, -other.upper))

    def __sub__(self, other: IntervalArray) -> IntervalArray:
        return self + (-other)

    def __neg__(self) -> IntervalArray:
        return IntervalArray(-self.upper, -self.lower)

    def __mul__(self, other: IntervalArray) -> IntervalArray:
        ends = [(x, _is_short(x)) for x in (self.lower, self.upper)]
        others = [(y, _is_short(y)) for y in (other.lower, other.upper)]
        low, high = np.array(np.inf), np.array(-np.inf)
        with np.errstate(invalid="ignore", over="ignore"):
            for x, x_short in ends:
                for y, y_short in others:
                    p, exact = x * y, x_short | y_short
                    # zero times nothing known is zero: whatever the number is, it is finite
                    p = np.where(np.isnan(p), 0.0, p)
                    low = np.minimum(low, np.where(exact, p, _down(p)))
                    high = np.maximum(high, np.where(exact, p, _up(p)))
        return IntervalArray(np.asarray(low), np.asarray(high))

    def scaled(self, factor: float) -> IntervalArray:
        """Times a number; a power of two costs no rounding."""
        low, high = factor * self.lower, factor * self.upper
        if factor < 0:
            low, high = high, low
        if abs(np.frexp(factor)[0]) == 0.5:
            return IntervalArray(low, high)
        return IntervalArray(_down(low), _up(high))

    def square(self) -> IntervalArray:
        """Tighter than the product with itself: no square is negative."""
        least, most = self.mignitude, self.magnitude
        high, lost = two_product(most, most)
        exact = (lost == 0) & ((high == 0) | (high > 1e-290))
        return IntervalArray(np.maximum(_down(least * least), 0.0), np.where(exact, high, _up(most * most)))

    def power(self, n: int) -> IntervalArray:
        """A whole power n >= 0."""
        if n == 0:
            return IntervalArray.of(np.ones_like(self.lower))
        if n == 1:
            return self
        if n == 2:
            return self.square()
        if n % 2 == 0:
            return self.absolute().monotone(lambda x: x**n, least=0.0)
        return self.monotone(lambda x: x**n)

    def absolute(self) -> IntervalArray:
        """Where the absolute value lies."""
        return IntervalArray(self.mignitude, self.magnitude)

    def reciprocal(self) -> IntervalArray:
        """1/x; nothing is known where x may be zero."""
        apart = (self.lower > 0) | (self.upper < 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = _down(1 / self.upper), _up(1 / self.lower)
        return IntervalArray(np.where(apart, low, -np.inf), np.where(apart, high, np.inf))

    def monotone(
        self,
        function: Callable[[np.ndarray], np.ndarray],
        *,
        falls: bool = False,
        least: float = -np.inf,
        most: float = np.inf,
    ) -> IntervalArray:
        """Image under a monotone function that numpy computes to a few units in the last place."""
        with np.errstate(all="ignore"):
            low, high = function(self.lower), function(self.upper)
        if falls:
            low, high = high, low
        return IntervalArray(np.clip(_off(low, -1), least, most), np.clip(_off(high, 1), least, most))

    def hull(self, other: IntervalArray) -> IntervalArray:
        """The smallest interval that holds both."""
        return IntervalArray(np.minimum(self.lower, other.lower), np.maximum(self.upper, other.upper))

    def meet(self, other: IntervalArray) -> IntervalArray:
        """What lies in both; at least one point of the first stays where they do not meet."""
        low, high = np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        return IntervalArray(np.minimum(low, self.upper), np.maximum(high, self.lower))

    def where(self, condition: np.ndarray, other: IntervalArray) -> IntervalArray:
        """This one where the condition holds, the other elsewhere."""
        return IntervalArray(np.where(condition, self.lower, other.lower), np.where(condition, self.upper, other.upper))

    def only(self, condition: np.ndarray) -> IntervalArray:
        """This one where the condition holds; elsewhere nothing is known."""
        return self.where(condition, EVERYTHING)

    def at_least(self, bound: float) -> IntervalArray:
        """This one, of which it is known that it is not below the bound."""
        return IntervalArray(np.maximum(self.lower, bound), self.upper)

    def spread(self, shape: tuple[int, ...]) -> IntervalArray:
        """An interval for each entry of an array of this shape."""
        return IntervalArray(np.broadcast_to(self.lower, shape), np.broadcast_to(self.upper, shape))

    @property
    def magnitude(self) -> np.ndarray:
        """The largest absolute value."""
        return np.asarray(np.maximum(np.abs(self.lower), np.abs(self.upper)))

    @property
    def mignitude(self) -> np.ndarray:
        """The smallest absolute value."""
        return np.asarray(np.maximum(np.maximum(self.lower, -self.upper), 0.0))

    @property
    def width(self) -> np.ndarray:
        """How far apart the bounds are."""
        return _up(self.upper - self.lower)

    @property
    def known(self) -> np.ndarray:
        """Whether both bounds are finite."""
        return np.asarray(np.isfinite(self.lower) & np.isfinite(self.upper))

    def total(self) -> tuple[float, float]:
        """The hull over all entries."""
        return float(np.min(self.lower)), float(np.max(self.upper))


def _tidy(low: np.ndarray, high: np.ndarray) -> IntervalArray:
    """Infinite bounds of opposite sign add up to nothing known."""
    return IntervalArray(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


def _off(x: np.ndarray, direction: int) -> np.ndarray:
    """Moved by the error that an elementary function may have; NaN becomes infinite."""
    step = _ULPS * np.spacing(np.abs(np.where(np.isfinite(x), x, 0.0)))
    return np.where(np.isnan(x), direction * np.inf, x + direction * step)


EVERYTHING = IntervalArray.of(-np.inf, np.inf)
"""Nothing is known."""
