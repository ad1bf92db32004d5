"""Sums of products in twice the working precision, with a bound on the error that is left.

Certificates rest on them: a sum whose terms cancel says nothing unless its rounding error is known. The products and
sums are split into their rounded value and the error of the rounding (Dekker 1971; Ogita, Rump and Oishi 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2
"""The relative error of one operation in double precision."""
_SPLITTER = 2.0**27 + 1


@dataclass(frozen=True)
class BoundedSum:
    """Numbers that were summed up, and how far the exact ones can be from them."""

    value: np.ndarray
    error: np.ndarray

    @property
    def upper(self) -> np.ndarray:
        """Not below the exact sums."""
        return np.asarray(np.nextafter(self.value + self.error, np.inf))

    @property
    def lower(self) -> np.ndarray:
        """Not above the exact sums."""
        return np.asarray(np.nextafter(self.value - self.error, -np.inf))


def bounded_product(A: np.ndarray, B: np.ndarray, A_error: np.ndarray | float = 0.0) -> BoundedSum:
    """``A @ B`` of (m, k) and (k, r), where the entries of A may themselves be off by ``A_error``.

    >>> bounded_product(np.array([[1e16, 1.0, -1e16]]), np.ones((3, 1))).value.tolist()
    [[1.0]]
    """
    m, r = len(A), B.shape[1]
    total, rest, size = np.zeros((m, r)), np.zeros((m, r)), np.zeros((m, r))
    for k in range(A.shape[1]):
        product, lost = two_product(A[:, k, None], B[None, k])
        total, dropped = two_sum(total, product)
        rest += lost + dropped
        size += np.abs(product)
    terms = A.shape[1] + 2
    value = total + rest
    doubled = 4 * (terms * UNIT_ROUNDOFF) ** 2 * size
    inherited = 2 * np.abs(np.broadcast_to(A_error, A.shape)) @ np.abs(B)
    return BoundedSum(value, 2 * UNIT_ROUNDOFF * np.abs(value) + doubled + inherited)


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``a + b`` as rounded, and what the rounding lost, exactly."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``a * b`` as rounded, and what the rounding lost, exactly unless it is too small or large for a double."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _halves(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``a`` as the sum of two numbers of half the digits."""
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
