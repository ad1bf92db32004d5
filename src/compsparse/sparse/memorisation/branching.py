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

from typing import Any

import numpy as np

from compsparse.arithmetic import UNIT_ROUNDOFF
from compsparse.sparse.kernels import Array, exact_kernel

ANY = 1e300
"""Larger than any coefficient: no bound."""
_SWEEPS, _LEAF_SWEEPS, _REACH_SWEEPS = 100, 3000, 12
_SPLITTER = 2.0**27 + 1


@exact_kernel
def _norm(w: Array) -> Any:
    total = 0.0
    for k in range(len(w)):
        total += w[k] * w[k]
    return np.sqrt(total)


@exact_kernel
def least_norm(Z: Array, square: Array, c: Array, lo: Array, hi: Array, w: Array, n_sweeps: int, enough: float) -> None:
    """Lowers the norm of w = sum_i c_i z_i over the box, until it is ``enough`` or hardly falls."""
    n, p = Z.shape
    last = ANY
    for sweep in range(n_sweeps):
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
        if norm <= enough or (sweep >= 4 and (last - norm) * 4 * n_sweeps < norm - enough):
            return
        last = norm


@exact_kernel
def combined(Z: Array, length: Array, c: Array, w: Array) -> Any:
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
def combined_twice(Z: Array, length: Array, c: Array, w: Array) -> Any:
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
    error = combined(Z, length, c, w)
    norm = _norm(w)
    first = (constant + norm + error) * (1 + 8 * UNIT_ROUNDOFF)
    if first <= target or error < 1e-12 * target or constant + norm > 2 * target + 4 * error:
        return first
    error = combined_twice(Z, length, c, w)
    return min(first, (constant + _norm(w) + error) * (1 + 8 * UNIT_ROUNDOFF))


@exact_kernel
def _reach(Z: Array, square: Array, length: Array, i: int, side: float, status: Array, m: Array, v: Array) -> Any:
    """A bound on the largest side * z_i . u in the node: the norm of side * z_i + sum_j m_j s_j z_j, m >= 0."""
    n, p = Z.shape
    for k in range(p):
        v[k] = side * Z[i, k]
    for j in range(n):
        m[j] = 0.0
    last = ANY
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
    error = combined(Z, length, m, v)
    return _norm(v) + error


@exact_kernel
def _box(lam: Array, length: Array, status: Array, low: Array, high: Array, c: Array, lo: Array, hi: Array) -> Any:
    """The box of the node's coefficients; returns the constant of its chords and how many points are open."""
    constant, n_open = 0.0, 0
    for i in range(len(lam)):
        if lam[i] < 0:
            lo[i], hi[i] = lam[i], 0.0
        elif status[i] == 1:
            lo[i], hi[i] = lam[i], ANY
        elif status[i] == -1:
            lo[i], hi[i] = -ANY, 0.0
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
    norm = max(_norm(w), 1.0 / ANY)
    best, most, side = -1, -ANY, 1
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
def expand_nodes(
    Z: Array, lam: Array, target: float, stack: Any, top: int, n_nodes: int, leaves: Array, bounds: Array, n_leaves: int
) -> Any:
    """Goes on with a stack of open nodes, depth first, for so many nodes or until there is no room for leaves.

    Nodes whose bound is at most the target are closed; leaves (no point open) whose bound is not are kept: their
    coefficients with the box of these in ``leaves``, the bound with the constant that is part of it in ``bounds``.
    Returns how many nodes are open, visited, and leaves kept.
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
        bound, constant, n_open = ANY, 0.0, 1
        for tightened in range(2):
            constant, n_open = _box(lam, length, status, low, high, c, lo, hi)
            combined(Z, length, c, w)
            sweeps = 5 if constant >= target else _SWEEPS if n_open else _LEAF_SWEEPS
            least_norm(Z, square, c, lo, hi, w, sweeps, max(target - constant, 0.0) * (1 - 1e-12))
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
    return top, visited, n_leaves
