"""Sheets: where to ask, and how far directions turn along the swaps of one input that a sheet is made of.

For gradients a and b at two points the turn of the pair (i, j) is D = a_i b_j - a_j b_i, and z is D
over its standard error. Where the two points differ in x_k alone and i, j belong to a module without
k, D is zero. The ratio is free of the inputs' and the derivatives' scales.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from compsparse.discovery.queries.gradients import Slopes
from compsparse.discovery.queries.limits import MOST_PER_SWAP, NEAR_THE_END, SWAPPED_TOGETHER


@dataclass(frozen=True)
class Sheet:
    """Points around one base; edge (p, q, k) joins points that differ in input k alone.

    The inputs are dealt into blocks of four. A block's points take, in every combination, the
    base's value or another one: 15 new points with 32 swaps, where swapping one input at a time
    gives 4 points with 4 swaps.

    Attributes:
        points: ``(n, d)`` in the unit cube.
        edges: ``(e, 3)``.
        inputs: the inputs that are swapped.
    """

    points: np.ndarray
    edges: np.ndarray
    inputs: np.ndarray


def n_points(n_inputs: int) -> int:
    """Points of one sheet that swaps so many inputs."""
    whole, rest = divmod(n_inputs, SWAPPED_TOGETHER)
    return whole * ((1 << SWAPPED_TOGETHER) - 1) + (1 << rest)


def swaps_per_input(n_inputs: int) -> int:
    """Swaps of every input in one sheet."""
    return int(2 ** (min(n_inputs, SWAPPED_TOGETHER) - 1))


def random_points(n: int, margin: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points of the unit cube, ``margin`` away from its faces."""
    points: np.ndarray = margin + rng.random((n, len(margin))) * (1 - 2 * margin)
    return points


def draw_sheet(inputs: np.ndarray, base: np.ndarray, margin: np.ndarray, rng: np.random.Generator) -> Sheet:
    """A sheet that swaps ``inputs`` of the base for values near the far end of their range.

    Long swaps carry an input past the values at which a maximum or a kink changes hands.
    """
    to_the_end = margin + NEAR_THE_END * (1 - 2 * margin) * rng.random(len(base))
    other = np.where(base < 0.5, 1 - to_the_end, to_the_end)
    order = rng.permutation(inputs)
    points, edges = [base[None]], []
    for start in range(0, len(order), SWAPPED_TOGETHER):
        block = order[start : start + SWAPPED_TOGETHER]
        corners = np.arange(2 ** len(block))
        chosen = (corners[:, None] >> np.arange(len(block))) & 1
        corner_points = np.repeat(base[None], len(corners), axis=0)
        corner_points[:, block] = np.where(chosen == 1, other[block], base[block])
        number = np.r_[0, sum(map(len, points)) + corners[:-1]]
        points.append(corner_points[1:])
        for position, k in enumerate(block):
            without = np.flatnonzero(chosen[:, position] == 0)
            edges.append(np.c_[number[without], number[without | 1 << position], np.full(len(without), k)])
    return Sheet(np.concatenate(points), np.concatenate(edges), np.sort(inputs))


# ---- how far directions turn ---------------------------------------------------------------------


def turns(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """D for all pairs of the last axis."""
    product = a[..., :, None] * b[..., None, :]
    turn: np.ndarray = product - product.swapaxes(-1, -2)
    return turn


def turn_errors(a: np.ndarray, b: np.ndarray, error_a: np.ndarray, error_b: np.ndarray) -> np.ndarray:
    """Standard error of D to first order, and of products of errors where both gradients vanish."""
    a, b, error_a, error_b = a**2, b**2, error_a**2, error_b**2
    half = error_a[..., :, None] * (b + error_b)[..., None, :] + a[..., :, None] * error_b[..., None, :]
    error: np.ndarray = np.sqrt(half + half.swapaxes(-1, -2))
    return error


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
        product = product.clip(-MOST_PER_SWAP, MOST_PER_SWAP)
        sums[..., swapped] = np.nansum(product, axis=0)
        counts[..., swapped] = np.isfinite(product).sum(axis=0)
    return sums, counts


def _by_input(sheet: Sheet) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    for swapped in sheet.inputs:
        edges = sheet.edges[sheet.edges[:, 2] == swapped]
        yield swapped, edges[:, 0], edges[:, 1]
