"""How far the direction of (f_i, f_j) turns, in units of the error with which it is known.

For gradients a and b at two points the turn of the pair (i, j) is D = a_i b_j - a_j b_i, and z is D
over its standard error. Where the two points differ in x_k alone and i, j belong to a module without
k, D is zero. The ratio is free of the inputs' and the derivatives' scales.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from compsparse.discovery.queries.design import Sheet
from compsparse.discovery.queries.gradients import Slopes

_MOST = 25.0


def turns(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """D for all pairs of the last axis."""
    product = a[..., :, None] * b[..., None, :]
    return product - product.swapaxes(-1, -2)


def turn_errors(a: np.ndarray, b: np.ndarray, error_a: np.ndarray, error_b: np.ndarray) -> np.ndarray:
    """Standard error of D to first order, and of products of errors where both gradients vanish."""
    a, b, error_a, error_b = a**2, b**2, error_a**2, error_b**2
    half = error_a[..., :, None] * (b + error_b)[..., None, :] + a[..., :, None] * error_b[..., None, :]
    return np.sqrt(half + half.swapaxes(-1, -2))


def largest_turns(slopes: Slopes, sheet: Sheet) -> np.ndarray:
    """Largest z over the swaps of every input, ``(k, d, d, d)`` with the swapped input last."""
    gradients, errors = slopes.gradients[0], slopes.errors
    _, k, d = gradients.shape
    largest = np.zeros((k, d, d, d), dtype=np.float32)
    for swapped, p, q in _by_input(sheet):
        a, b = gradients[p], gradients[q]
        with np.errstate(invalid="ignore"):  # 0/0 where neither gradient moves
            z = np.abs(turns(a, b)) / turn_errors(a, b, errors[p], errors[q])
        largest[..., swapped] = np.nan_to_num(z).max(axis=0)
    return largest


def shared_turns(slopes: Slopes, sheet: Sheet) -> tuple[np.ndarray, np.ndarray]:
    """Sum of z1 z2 of two independent readings over the swaps of every input, and how many.

    Noise makes E z^2 > 0 without a turn, but leaves E z1 z2 = 0. No swap counts for more than some
    dozens: one place of high curvature must not decide.
    """
    first, second = slopes.gradients
    mean = slopes.gradients.mean(axis=0)
    _, k, d = mean.shape
    sums, counts = np.zeros((k, d, d, d)), np.zeros((k, d, d, d))
    for swapped, p, q in _by_input(sheet):
        variance = turn_errors(mean[p], mean[q], slopes.errors[p], slopes.errors[q]) ** 2
        product = turns(first[p], first[q]) * turns(second[p], second[q]) / variance
        product = product.clip(-_MOST, _MOST)
        sums[..., swapped] = np.nansum(product, axis=0)
        counts[..., swapped] = np.isfinite(product).sum(axis=0)
    return sums, counts


def _by_input(sheet: Sheet) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    for swapped in sheet.inputs:
        edges = sheet.edges[sheet.edges[:, 2] == swapped]
        yield swapped, edges[:, 0], edges[:, 1]
