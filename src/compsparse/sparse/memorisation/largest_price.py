"""The largest price that multipliers give any neuron, with neurons whose price is above a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import lsq_linear

_MOST_AT_ONCE = 2000
_WORK_AT_ONCE = 2e8
_MOST_SHARPENED = 200


@dataclass(frozen=True, eq=False)
class LargestPrice:
    """What branch and bound found over the unit directions of one chart.

    Attributes:
        upper: no direction has a larger price; infinite if the search was cut short.
        directions: (K, p) unit directions whose price is above the target, dearest first.
        signs: (K,) +1 or -1, the sign of the multipliers that gives that price.
        n_nodes: how many nodes were looked at.
    """

    upper: float
    directions: np.ndarray
    signs: np.ndarray
    n_nodes: int


def nodes_at_once(Z: np.ndarray) -> int:
    """How many nodes are expanded between two looks at the clock: less than a second of them."""
    return int(np.clip(_WORK_AT_ONCE / (24.0 * len(Z) * Z.size), 1, _MOST_AT_ONCE))


def largest_price(
    Z: np.ndarray, lam: np.ndarray, target: float, *, is_late: Callable[[], bool], most_leaves: int = 400
) -> LargestPrice:
    """Bounds max over unit u of abs(sum_i lam_i (z_i . u)_+) from above.

    Args:
        Z: (n, p) what the neurons see of the data, exactly.
        target: prices up to it need not be told apart; the bound that is returned is never below it.
        is_late: asked now and then; if it says so the search is cut short.
        most_leaves: the search is also cut short after so many directions above the target, of each sign.
    """
    kept = np.flatnonzero((np.linalg.norm(Z, axis=1) > 0) & (lam != 0))
    if not len(kept):
        return LargestPrice(target, np.zeros((0, Z.shape[1])), np.zeros(0), 0)
    # powers of two change no digit
    scale = 2.0 ** -math.frexp(float(np.abs(Z[kept]).max()))[1]
    points, weights = np.ascontiguousarray(scale * Z[kept]), lam[kept] / scale
    upper, directions, prices, signs, nodes = target, [], [], [], 0
    for sign in (1, -1):
        bound, found, visited = _one_sign(points, sign * weights, target, is_late, most_leaves)
        upper, nodes = max(upper, bound), nodes + visited
        directions += list(found)
        prices += list(np.maximum(found @ points.T, 0.0) @ (sign * weights))
        signs += [sign] * len(found)
    order = np.argsort(-np.array(prices))
    return LargestPrice(
        upper, np.array(directions).reshape(-1, Z.shape[1])[order], np.array(signs, dtype=np.float64)[order], nodes
    )


def _one_sign(
    Z: np.ndarray, lam: np.ndarray, target: float, is_late: Callable[[], bool], most_leaves: int
) -> tuple[float, np.ndarray, int]:
    """Bound, directions above the target, and nodes visited for one sign of the multipliers."""
    from compsparse.sparse.memorisation.branching import expand_nodes

    n, p = Z.shape
    length = np.linalg.norm(Z, axis=1) * (1 + 1e-15 * p)
    depth = int((lam > 0).sum()) + 2
    stack = (
        np.zeros((depth, n), dtype=np.int8),
        np.tile(lam / 2, (depth, 1)),
        np.tile(-length, (depth, 1)),
        np.tile(length, (depth, 1)),
    )
    leaves, bounds = np.zeros((most_leaves, 3, n)), np.zeros((most_leaves, 2))
    top, visited, n_leaves, at_once = 1, 0, 0, nodes_at_once(Z)
    while top > 0 and n_leaves < most_leaves and not is_late():
        top, more, n_leaves = expand_nodes(Z, lam, target, stack, top, at_once, leaves, bounds, n_leaves)
        visited += more
    leaves, bounds = leaves[:n_leaves], bounds[:n_leaves]
    directions = _directions(Z, lam, leaves[:, 0], target)
    if top > 0:
        return math.inf, directions, visited
    return max([target, *_sharpened(Z, leaves, bounds)]), directions, visited


def _directions(Z: np.ndarray, lam: np.ndarray, leaves: np.ndarray, target: float) -> np.ndarray:
    """The directions of the leaves at which the price itself is above the target."""
    w = leaves @ Z
    u = w / np.maximum(np.linalg.norm(w, axis=1, keepdims=True), 1e-300)
    return np.asarray(u[np.maximum(u @ Z.T, 0.0) @ lam > target])


def _sharpened(Z: np.ndarray, leaves: np.ndarray, bounds: np.ndarray) -> list[float]:
    """Bounds of leaves: where coordinate descent was slow, an active-set method may find better coefficients."""
    from compsparse.sparse.memorisation.branching import ANY, combined_twice

    result = [float(bound) for bound in bounds[:, 0]]
    length, w = np.linalg.norm(Z, axis=1) * (1 + 1e-15 * Z.shape[1]), np.empty(Z.shape[1])
    for at in np.argsort(-bounds[:, 0])[:_MOST_SHARPENED]:
        _, lo, hi = leaves[at]
        free, lo, hi = lo < hi, np.where(lo < -ANY / 2, -np.inf, lo), np.where(hi > ANY / 2, np.inf, hi)
        try:
            answer = lsq_linear(Z[free].T, -(lo[~free] @ Z[~free]), (lo[free], hi[free]), method="bvls")
        except (np.linalg.LinAlgError, ValueError):
            continue
        c = np.where(free, 0.0, lo)
        c[free] = np.clip(answer.x, lo[free], hi[free])
        error = combined_twice(Z, length, c, w)
        result[at] = min(result[at], (float(np.linalg.norm(w)) + error + bounds[at, 1]) * (1 + 1e-14))
    return result
