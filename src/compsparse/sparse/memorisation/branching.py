r"""The largest price of any neuron, by branch and bound: no list of cells is needed, and nothing is left out.

The price of a unit direction u is h(u) = sum_i lam_i (z_i . u)_+. Terms with lam_i < 0 are concave, so only the others
are branched on: a node says for some of those whether z_i . u is positive or negative. With signs s_i for these, and a
chord over the interval [l_i, u_i] that z_i . u can have for those left open, every choice of

    c_i >= lam_i (positive), c_i <= 0 (negative), c_i = lam_i u_i / (u_i - l_i) (open), lam_i <= c_i <= 0 (concave)

bounds the node by :math:`\| \sum_i c_i z_i \| + \sum_{open} c_i (-l_i)`; coordinate descent looks for a good one. The
bound holds for any choice, also where a node is empty or thinner than rounding, so no cell has to be told from its
neighbours. Rounding errors of the bound are bounded in turn and added to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

from compsparse.arithmetic import UNIT_ROUNDOFF
from compsparse.sparse.kernels import Array, exact_kernel

_ANY = 1e300  # larger than any coefficient: no bound
_SWEEPS, _LEAF_SWEEPS, _REACH_SWEEPS = 100, 3000, 12
_SPLITTER = 2.0**27 + 1
_MOST_AT_ONCE = 2000
_WORK_AT_ONCE = 2e8
_MOST_SHARPENED = 200


@exact_kernel
def _norm(w: Array) -> Any:
    total = 0.0
    for k in range(len(w)):
        total += w[k] * w[k]
    return np.sqrt(total)


@exact_kernel
def _lower_norm(Z: Array, square: Array, c: Array, lo: Array, hi: Array, w: Array, sweeps: int, enough: float) -> None:
    """Lowers the norm of w = sum_i c_i z_i over the box, until it is ``enough`` or hardly falls."""
    n, p = Z.shape
    last = _ANY
    for sweep in range(sweeps):
        for i in range(n):
            if hi[i] > lo[i]:
                slope = 0.0
                for k in range(p):
                    slope += Z[i, k] * w[k]
                new = min(max(c[i] - slope / square[i], lo[i]), hi[i])
                step = new - c[i]
                if step != 0.0:
                    c[i] = new
                    for k in range(p):
                        w[k] += step * Z[i, k]
        norm = _norm(w)
        if norm <= enough or (sweep >= 4 and (last - norm) * 4 * sweeps < norm - enough):
            return
        last = norm


@exact_kernel
def _combined(Z: Array, length: Array, c: Array, w: Array) -> Any:
    """Makes w = sum_i c_i z_i anew and returns a bound on its error."""
    n, p = Z.shape
    size = 0.0
    for k in range(p):
        w[k] = 0.0
    for i in range(n):
        size += abs(c[i]) * length[i]
        for k in range(p):
            w[k] += c[i] * Z[i, k]
    return 2.0 * (n + p + 4) * UNIT_ROUNDOFF * size


@exact_kernel
def _combined_twice(Z: Array, length: Array, c: Array, w: Array) -> Any:
    """The same in twice the precision, for terms that cancel."""
    n, p = Z.shape
    size = 0.0
    for i in range(n):
        size += abs(c[i]) * length[i]
    for k in range(p):
        total, rest = 0.0, 0.0
        for i in range(n):
            a, b = c[i], Z[i, k]
            product = a * b
            big = _SPLITTER * a
            a_high = big - (big - a)
            big = _SPLITTER * b
            b_high = big - (big - b)
            a_low, b_low = a - a_high, b - b_high
            lost = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
            new = total + product
            shadow = new - total
            rest += ((total - (new - shadow)) + (product - shadow)) + lost
            total = new
        w[k] = total + rest
    norm = _norm(w)
    return 4.0 * (p + 4) * UNIT_ROUNDOFF * norm + 4.0 * ((n + 4) * UNIT_ROUNDOFF) ** 2 * size


@exact_kernel
def _bound(Z: Array, length: Array, c: Array, w: Array, constant: float, target: float) -> Any:
    """A bound that holds whatever the rounding, in twice the precision if the target asks for it."""
    error = _combined(Z, length, c, w)
    norm = _norm(w)
    first = (constant + norm + error) * (1 + 8 * UNIT_ROUNDOFF)
    if first <= target or error < 1e-12 * target or constant + norm > 2 * target + 4 * error:
        return first
    error = _combined_twice(Z, length, c, w)
    return min(first, (constant + _norm(w) + error) * (1 + 8 * UNIT_ROUNDOFF))


@exact_kernel
def _reach(Z: Array, square: Array, length: Array, i: int, side: float, status: Array, m: Array, v: Array) -> Any:
    """A bound on the largest side * z_i . u in the node: the norm of side * z_i + sum_j m_j s_j z_j, m >= 0."""
    n, p = Z.shape
    for k in range(p):
        v[k] = side * Z[i, k]
    for j in range(n):
        m[j] = 0.0
    last = _ANY
    for _ in range(_REACH_SWEEPS):
        for j in range(n):
            if status[j] != 0:
                slope = 0.0
                for k in range(p):
                    slope += Z[j, k] * v[k]
                new = max(m[j] - status[j] * slope / square[j], 0.0)
                step = (new - m[j]) * status[j]
                if step != 0.0:
                    m[j] = new
                    for k in range(p):
                        v[k] += step * Z[j, k]
        norm = _norm(v)
        if norm > 0.99 * last:
            break
        last = norm
    for j in range(n):
        m[j] = m[j] * status[j]
    m[i] = side
    error = _combined(Z, length, m, v)
    return _norm(v) + error


@exact_kernel
def _box(lam: Array, length: Array, status: Array, low: Array, high: Array, c: Array, lo: Array, hi: Array) -> Any:
    """The box of the node's coefficients; returns the constant of its chords and how many points are open."""
    constant, n_open = 0.0, 0
    for i in range(len(lam)):
        if lam[i] < 0:
            lo[i], hi[i] = lam[i], 0.0
        elif status[i] == 1:
            lo[i], hi[i] = lam[i], _ANY
        elif status[i] == -1:
            lo[i], hi[i] = -_ANY, 0.0
        else:
            chord, offset = 0.0, max(high[i], 0.0)
            if low[i] >= -1e-13 * length[i]:
                chord, offset = 1.0, max(-low[i], 0.0)
            elif high[i] > 1e-13 * length[i]:
                chord = high[i] / (high[i] - low[i])
                # both ends of the chord, so that rounding its slope does not lower it
                offset = max(-chord * low[i], (1.0 - chord) * high[i]) * (1 + 4 * UNIT_ROUNDOFF)
                n_open += 1
            lo[i] = hi[i] = chord * lam[i]
            constant += lam[i] * offset * (1 + 4 * UNIT_ROUNDOFF) + 2 * UNIT_ROUNDOFF * lam[i] * length[i]
        c[i] = min(max(c[i], lo[i]), hi[i])
    return constant * (1 + len(lam) * 2 * UNIT_ROUNDOFF), n_open


@exact_kernel
def _worst_chord(Z: Array, lam: Array, length: Array, status: Array, low: Array, high: Array, w: Array) -> Any:
    """The open point whose chord is farthest above its kink at the direction w, and the side that w is on."""
    norm = max(_norm(w), 1.0 / _ANY)
    best, most, side = -1, -_ANY, 1
    for i in range(len(lam)):
        if lam[i] > 0 and status[i] == 0 and low[i] < -1e-13 * length[i] and high[i] > 1e-13 * length[i]:
            t = 0.0
            for k in range(len(w)):
                t += Z[i, k] * w[k] / norm
            above = lam[i] * (high[i] * (t - low[i]) / (high[i] - low[i]) - max(t, 0.0))
            if above > most:
                best, most, side = i, above, 1 if t > 0 else -1
    return best, side


@exact_kernel
def _expand(
    Z: Array, lam: Array, target: float, stack: Any, top: int, n_nodes: int, leaves: Array, bounds: Array, n_leaves: int
) -> Any:
    """Goes on with a stack of open nodes, depth first, for so many nodes or until there is no room for leaves.

    Nodes whose bound is at most the target are closed; leaves (no point open) whose bound is not are kept: their
    coefficients with the box of these in ``leaves``, the bound with the constant that is part of it in ``bounds``.
    Returns how many nodes are open and leaves kept.
    """
    statuses, coefficients, lows, highs = stack
    n, p = Z.shape
    square = (Z * Z).sum(1)
    length = np.sqrt(square) * (1 + 4 * UNIT_ROUNDOFF)
    lo, hi, m, w, v = np.empty(n), np.empty(n), np.empty(n), np.empty(p), np.empty(p)
    visited = 0
    while top > 0 and visited < n_nodes and n_leaves < len(leaves):
        top -= 1
        visited += 1
        status, c = statuses[top].copy(), coefficients[top].copy()
        low, high = lows[top].copy(), highs[top].copy()
        bound, constant, n_open = _ANY, 0.0, 1
        for tightened in range(2):
            constant, n_open = _box(lam, length, status, low, high, c, lo, hi)
            _combined(Z, length, c, w)
            sweeps = 5 if constant >= target else _SWEEPS if n_open else _LEAF_SWEEPS
            _lower_norm(Z, square, c, lo, hi, w, sweeps, max(target - constant, 0.0) * (1 - 1e-12))
            bound = _bound(Z, length, c, w, constant, target)
            if bound <= target or n_open == 0 or tightened:
                break
            for i in range(n):
                if lam[i] > 0 and status[i] == 0 and high[i] > 0 and low[i] < 0:
                    high[i] = min(high[i], _reach(Z, square, length, i, 1.0, status, m, v))
                    low[i] = max(low[i], -_reach(Z, square, length, i, -1.0, status, m, v))
        if bound <= target:
            continue
        i, side = _worst_chord(Z, lam, length, status, low, high, w)
        if i < 0:
            leaves[n_leaves, 0], leaves[n_leaves, 1], leaves[n_leaves, 2] = c, lo, hi
            bounds[n_leaves, 0], bounds[n_leaves, 1] = bound, constant
            n_leaves += 1
            continue
        for sign in (-side, side):  # the likelier side on top, to be looked at next
            statuses[top], coefficients[top], lows[top], highs[top] = status, c, low, high
            statuses[top, i] = sign
            top += 1
    return top, n_leaves


# ---- the search --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LargestPrice:
    """What branch and bound found over the unit directions of one chart.

    Attributes:
        upper: no direction has a larger price; infinite if the search was cut short.
        directions: (K, p) unit directions whose price is above the target, dearest first.
        signs: (K,) +1 or -1, the sign of the multipliers that gives that price.
    """

    upper: float
    directions: np.ndarray
    signs: np.ndarray


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
        return LargestPrice(target, np.zeros((0, Z.shape[1])), np.zeros(0))
    # powers of two change no digit
    scale = 2.0 ** -math.frexp(float(np.abs(Z[kept]).max()))[1]
    points, weights = np.ascontiguousarray(scale * Z[kept]), lam[kept] / scale
    upper, directions, prices, signs = target, [], [], []
    for sign in (1, -1):
        bound, found = _one_sign(points, sign * weights, target, is_late, most_leaves)
        upper = max(upper, bound)
        directions += list(found)
        prices += list(np.maximum(found @ points.T, 0.0) @ (sign * weights))
        signs += [sign] * len(found)
    order = np.argsort(-np.array(prices))
    return LargestPrice(upper, np.array(directions).reshape(-1, Z.shape[1])[order], np.array(signs, dtype=float)[order])


def _one_sign(
    Z: np.ndarray, lam: np.ndarray, target: float, is_late: Callable[[], bool], most_leaves: int
) -> tuple[float, np.ndarray]:
    """Bound and directions above the target for one sign of the multipliers."""
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
    top, n_leaves, at_once = 1, 0, nodes_at_once(Z)
    while top > 0 and n_leaves < most_leaves and not is_late():
        top, n_leaves = _expand(Z, lam, target, stack, top, at_once, leaves, bounds, n_leaves)
    leaves, bounds = leaves[:n_leaves], bounds[:n_leaves]
    directions = _directions(Z, lam, leaves[:, 0], target)
    if top > 0:
        return math.inf, directions
    return max([target, *_sharpened(Z, leaves, bounds)]), directions


def _directions(Z: np.ndarray, lam: np.ndarray, leaves: np.ndarray, target: float) -> np.ndarray:
    """The directions of the leaves at which the price itself is above the target."""
    w = leaves @ Z
    u = w / np.maximum(np.linalg.norm(w, axis=1, keepdims=True), 1e-300)
    return np.asarray(u[np.maximum(u @ Z.T, 0.0) @ lam > target])


def _sharpened(Z: np.ndarray, leaves: np.ndarray, bounds: np.ndarray) -> list[float]:
    """Bounds of leaves: where coordinate descent was slow, an active-set method may find better coefficients."""
    result = [float(bound) for bound in bounds[:, 0]]
    length, w = np.linalg.norm(Z, axis=1) * (1 + 1e-15 * Z.shape[1]), np.empty(Z.shape[1])
    for at in np.argsort(-bounds[:, 0])[:_MOST_SHARPENED]:
        _, lo, hi = leaves[at]
        free, lo, hi = lo < hi, np.where(lo < -_ANY / 2, -np.inf, lo), np.where(hi > _ANY / 2, np.inf, hi)
        try:
            with np.errstate(all="ignore"):  # of steps that are lost in rounding; any answer gives a bound
                answer = lsq_linear(Z[free].T, -(lo[~free] @ Z[~free]), (lo[free], hi[free]), method="bvls")
        except (np.linalg.LinAlgError, ValueError):
            continue
        c = np.where(free, 0.0, lo)
        c[free] = np.clip(answer.x, lo[free], hi[free])
        error = _combined_twice(Z, length, c, w)
        result[at] = min(result[at], (float(np.linalg.norm(w)) + error + bounds[at, 1]) * (1 + 1e-14))
    return result
