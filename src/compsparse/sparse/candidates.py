"""Compiled homotopy on candidates: the Lasso without the whole Gram matrix.

The path of a signal is followed in blocks. Within a block only the candidates are known, the atoms whose correlation
is near the bound; at its end the residual's correlations with all atoms are computed anew. An atom that was missing
and now lies beyond its bound becomes a candidate, and the next block draws it back while lam falls on: the problem
that the block starts from has that atom's correlation clipped, and the difference fades along the block. So nothing
is followed twice, and rounding is taken back at every block.

Gram rows of active atoms exist over the candidates alone. They are copied from the Gram matrix where there is one
(many signals), and multiplied out where there is none (few signals, wide dictionaries).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from compsparse.sparse.homotopy import Space, enter, first_bound, first_zero, leave, reopen, step_along
from compsparse.sparse.kernels import Array, combine, gram_kernel, solve, solve_transposed

_FALL = 0.3  # of lam at the end of a block over its start, where no atom was missed in the last one
_FEWEST = 16  # candidates that a block may add, and as many as are active
_ROOM = 96
_NEAR = 0.8  # atoms whose correlation is this share of the block's last lam become candidates


class Slot(NamedTuple):
    """What is kept of one signal between blocks."""

    R: Array
    L: Array  # Gram rows of candidates over candidates
    V: Array  # columns of candidates, where no Gram matrix is there
    filled: Array  # how many entries of each row of L are known
    atoms: Array  # candidates, in the order they became so
    free: Array  # 0 for candidates, 1 for other atoms
    active: Array
    sign: Array
    z: Array
    y: Array
    counts: Array  # candidates, active, steps, rounds without progress, candidates before the last of them
    state: Array  # lam, least gap so far


@gram_kernel
def new_slot(like: Array, d: int, m: int, rank: int, most: int, whole: bool) -> Slot:
    """An empty slot; its tables begin small, because fresh memory is slow, and grow with the candidates."""
    room = min(most, _ROOM)
    kept, active = 0 if whole else room, min(rank, room)
    return Slot(
        np.empty((active, active + 8)), np.empty((room, room), like.dtype), np.empty((kept, d), like.dtype),
        np.zeros(most, np.int64), np.zeros(most, np.int64), np.ones(m, like.dtype), np.zeros(rank + 1, np.int64),
        np.zeros(rank + 1), np.zeros(rank + 1), np.zeros(rank + 1), np.zeros(5, np.int64), np.zeros(2),
    )  # fmt: skip


@gram_kernel
def with_room(slot: Slot) -> Slot:
    """The slot, or a copy with larger tables where the candidates of the next block may not fit."""
    room, most, rank = slot.L.shape[0], slot.atoms.shape[0], slot.z.shape[0] - 1
    size, n = slot.counts[0], slot.counts[1]
    wanted = size + _FEWEST + n
    if wanted <= room or room == most:
        return slot
    room = min(most, max(wanted, 2 * room))
    active, d, kept = min(rank, room), slot.V.shape[1], room if slot.V.shape[0] else 0
    R, L = np.empty((active, active + 8)), np.empty((room, room), slot.L.dtype)
    V = np.empty((kept, d), slot.V.dtype)
    R[:n, :n] = slot.R[:n, :n]
    L[:size, :size] = slot.L[:size, :size]
    if kept:
        V[:size] = slot.V[:size]
    return Slot(
        R, L, V, slot.filled, slot.atoms, slot.free, slot.active, slot.sign, slot.z, slot.y, slot.counts, slot.state
    )


@gram_kernel
def _view(slot: Slot, s: Space, size: int) -> Space:
    """The working arrays, as long as there are candidates, with the factor of this signal."""
    return Space(
        slot.R, slot.active, slot.sign, slot.z, slot.y, s.u, s.u_short, s.column, s.rhs, s.work, s.c[:size],
        s.drift[:size], s.a[:size], s.above[:size], s.below[:size], s.steps[:size], s.shut[:size],
    )  # fmt: skip


# ---- candidates --------------------------------------------------------------------------


@gram_kernel
def top_of(c: Array, free: Array, positive: bool) -> float:
    """The largest correlation of atoms that are no candidates; eight at a time, as the compiler would not by itself."""
    m, none = c.shape[0], c.dtype.type(0)
    t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = none
    for q in range(m // 8):
        v, f = c[8 * q : 8 * q + 8], free[8 * q : 8 * q + 8]
        if positive:
            t0, t1, t2, t3 = max(t0, v[0] * f[0]), max(t1, v[1] * f[1]), max(t2, v[2] * f[2]), max(t3, v[3] * f[3])
            t4, t5, t6, t7 = max(t4, v[4] * f[4]), max(t5, v[5] * f[5]), max(t6, v[6] * f[6]), max(t7, v[7] * f[7])
        else:
            t0, t1 = max(t0, abs(v[0]) * f[0]), max(t1, abs(v[1]) * f[1])
            t2, t3 = max(t2, abs(v[2]) * f[2]), max(t3, abs(v[3]) * f[3])
            t4, t5 = max(t4, abs(v[4]) * f[4]), max(t5, abs(v[5]) * f[5])
            t6, t7 = max(t6, abs(v[6]) * f[6]), max(t7, abs(v[7]) * f[7])
    top = max(max(max(t0, t1), max(t2, t3)), max(max(t4, t5), max(t6, t7)))  # noqa: PLW3301
    for j in range(m - m % 8, m):
        top = max(top, (c[j] if positive else abs(c[j])) * free[j])
    return np.float64(top)


@gram_kernel
def _count_beyond(c: Array, free: Array, bound: float, positive: bool) -> int:
    """How many atoms that are no candidates have a correlation beyond a bound."""
    count, least, one, none = np.int32(0), c.dtype.type(bound), np.int32(1), np.int32(0)
    if positive:
        for j in range(c.shape[0]):
            count += one if c[j] * free[j] > least else none
    else:
        for j in range(c.shape[0]):
            count += one if abs(c[j]) * free[j] > least else none
    return int(count)


@gram_kernel
def _forget(slot: Slot) -> None:
    """Active atoms alone stay candidates, in the order they became so."""
    n = slot.counts[1]
    for k in range(slot.counts[0]):
        slot.free[slot.atoms[k]] = 1
    for place, i in enumerate(np.argsort(slot.active[:n])):
        k = slot.active[i]
        slot.atoms[place], slot.filled[place], slot.free[slot.atoms[k]] = slot.atoms[k], 0, 0
        if slot.V.shape[0]:
            slot.V[place] = slot.V[k]
        slot.active[i] = place
    slot.counts[0] = n


@gram_kernel
def _widen(W: Array, c: Array, bound: float, most: int, positive: bool, slot: Slot) -> None:
    """Atoms beyond a bound become candidates, at most about so many, those of largest correlation."""
    if slot.counts[0] + most > slot.L.shape[0]:
        _forget(slot)
    most = min(most, slot.L.shape[0] - slot.counts[0])
    count = _count_beyond(c, slot.free, bound, positive)
    largest = top_of(c, slot.free, positive) if count > most else 0.0
    while count > most and largest > bound * (1 + 1e-12):
        bound += 0.5 * (largest - bound)
        count = _count_beyond(c, slot.free, bound, positive)
    if count == 0:
        return
    size = first = slot.counts[0]
    for j in range(c.shape[0]):
        value = (c[j] if positive else abs(c[j])) * slot.free[j]
        if value > bound and size - first < most:
            slot.atoms[size], slot.filled[size], slot.free[j] = j, 0, 0
            if slot.V.shape[0]:
                slot.V[size] = W[:, j]
            size += 1
    slot.counts[0] = size


@gram_kernel
def _fill(G: Array, slot: Slot, k: int) -> None:
    """Row k of the candidates' Gram matrix, as far as there are candidates."""
    size, known = slot.counts[0], slot.filled[k]
    if known == size:
        return
    row = slot.L[k]
    if slot.V.shape[0]:
        np.dot(slot.V[known:size], slot.V[k], row[known:size])
    else:
        source = G[slot.atoms[k]]
        for i in range(known, size):
            row[i] = source[slot.atoms[i]]
    slot.filled[k] = size


# ---- one block ---------------------------------------------------------------------------


@gram_kernel
def _prepare(c: Array, lam: float, length: float, slope: float, positive: bool, slot: Slot, s: Space) -> None:
    """Correlations and drifts of the candidates: what is beyond the bound is clipped, and fades along the block."""
    n = slot.counts[1]
    for k in range(s.c.shape[0]):
        value = np.float64(c[slot.atoms[k]])
        inside = lam * (1 - 0.02 * ((slot.atoms[k] * 0.6180339887498949) % 1.0))
        s.c[k] = min(max(value, -inside), inside) if not positive else min(value, inside)
        s.drift[k] = (value - s.c[k]) / length
    for i in range(n):
        k = s.active[i]
        rest = (np.float64(c[slot.atoms[k]]) - lam * s.sign[i]) / length
        s.drift[k], s.c[k], s.rhs[i] = rest, lam * s.sign[i], slope * s.sign[i] + rest
    solve_transposed(s.R, n, s.rhs, s.y)
    reopen(s, n)


@gram_kernel
def _block(G: Array, c: Array, lam_next: float, positive: bool, most_steps: int, slot: Slot, scratch: Space) -> bool:
    """Follows the minimiser on the candidates down to lam_next; False if the steps were used up."""
    lam, size, n = slot.state[0], slot.counts[0], slot.counts[1]
    slope = 1.0 if lam > lam_next else 0.0
    length = lam - lam_next if lam > lam_next else 1.0
    s = _view(slot, scratch, size)
    for i in range(n):
        _fill(G, slot, slot.active[i])
    _prepare(c, lam, length, slope, positive, slot, s)
    left, stuck = length, 0
    while slot.counts[2] < most_steps:
        solve(s.R, n, s.y, s.u)
        s.u_short[:n] = s.u[:n]
        combine(slot.L, s.active, n, s.u_short, s.a)
        join, atom, side = first_bound(s, slope, lam, positive)
        out, position = first_zero(s, n)
        step = min(join, out)
        finished = left <= step * (1 + 1e-12)
        step = left if finished else step
        stuck = 0 if step > 1e-12 * length else stuck + 1
        if step > 0:
            step_along(s, n, step)
            lam -= slope * step
            left -= step
        if finished:
            break
        slot.counts[2] += 1
        if out < join:
            n = leave(s, n, position, lam, stuck)
        else:
            _fill(G, slot, atom)
            n = enter(slot.L, s, n, atom, side, lam, slope)
    slot.counts[1], slot.state[0] = n, lam_next if slope > 0 and left <= 1e-12 * length else lam
    return bool(slot.counts[2] < most_steps)


@gram_kernel
def advance(
    G: Array, W: Array, c: Array, lam: float, positive: bool, most_steps: int, slot: Slot, scratch: Space
) -> bool:
    """One block: new candidates, then down to the next lam."""
    now = slot.state[0]
    n = slot.counts[1]
    beyond = _count_beyond(c, slot.free, now, positive)
    fall = _FALL + 0.6 * beyond / (beyond + 8 + 0.25 * n)
    following = fall * now if fall * now > 1.2 * lam else lam
    _widen(W, c, (_NEAR if now > lam else 0.95) * following, _FEWEST + n, positive, slot)
    return bool(_block(G, c, following, positive, most_steps, slot, scratch))
