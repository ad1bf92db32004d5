"""Compiled homotopy: the Lasso's piecewise-linear path, many signals against one Gram matrix.

The minimiser of ``1/2 z'Gz - b'z + lam |z|_1`` is followed while ``lam`` falls from ``lam_max`` (Osborne, Presnell,
Turlach 2000; Efron et al. 2004). The steps of a path are also those of :mod:`~compsparse.sparse.candidates`, where
``lam`` falls at rate ``slope`` and the correlations move along ``drift``.

An atom that lies in the span of the active ones is exchanged for one of them, so that repeated columns never make the
factor singular.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from compsparse.sparse.kernels import (
    DEPENDENT,
    Array,
    append,
    combine,
    gram_kernel,
    project,
    remove,
    solve,
    solve_transposed,
)

_DEPENDENT_IN_SINGLE = 1e-5
_PARALLEL = 32.0  # units of rounding: a bound met at a slower rate is never met
_STUCK = 30  # steps of length zero in a row that may be due to ties


class Space(NamedTuple):
    """Working arrays of one thread, for up to ``rank`` active of all atoms."""

    R: Array
    active: Array
    sign: Array
    z: Array
    y: Array
    u: Array
    u_short: Array
    column: Array
    rhs: Array
    work: Array
    c: Array
    drift: Array
    a: Array
    above: Array
    below: Array
    steps: Array
    shut: Array  # infinite for atoms that may not enter


@gram_kernel
def new_space(R: Array, atoms: int, rank: int, like: Array) -> Space:
    def short() -> Array:
        return np.zeros(rank + 1)

    def wide() -> Array:
        return np.zeros(atoms, like.dtype)

    return Space(
        R, np.zeros(rank + 1, np.int64), short(), short(), short(), short(), np.zeros(rank + 1, like.dtype), short(),
        short(), short(), np.zeros(atoms), wide(), wide(), wide(), wide(), wide(), wide(),
    )  # fmt: skip


@gram_kernel
def _smallest(values: Array) -> tuple[float, int]:
    """The least value and its place, by eight minima at a time, which the compiler does not do by itself."""
    m = values.shape[0]
    a = b = c = d = e = f = g = h = values[0]
    for q in range(m // 8):
        part = values[8 * q : 8 * q + 8]
        a, b, c, d = min(a, part[0]), min(b, part[1]), min(c, part[2]), min(d, part[3])
        e, f, g, h = min(e, part[4]), min(f, part[5]), min(g, part[6]), min(h, part[7])
    least = min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h)))  # noqa: PLW3301
    for j in range(m - m % 8, m):
        least = min(least, values[j])
    place = 0
    while values[place] != least:
        place += 1
    return least, place


@gram_kernel
def first_bound(s: Space, slope: float, lam: float, positive: bool) -> tuple[float, int, float]:
    """The inactive atom whose correlation first meets +-lam: (step, atom, sign).

    The search divides in the precision of ``a``; the step of the atom it finds is double.
    """
    c, a, drift, shut, above, below, steps = s.c, s.a, s.drift, s.shut, s.above, s.below, s.steps
    kind = steps.dtype.type
    slope_, far, slow = kind(slope), kind(np.inf), kind(_PARALLEL * np.finfo(steps.dtype).eps)
    barrier = far if positive else kind(0)
    for j in range(c.shape[0]):
        above[j] = lam - c[j]
        below[j] = lam + c[j]
    for j in range(c.shape[0]):
        rate = drift[j] - a[j]
        up, down = slope_ + rate, slope_ - rate
        rise, fall = above[j] / up, below[j] / down
        rise = rise if up > slow else far
        fall = fall + barrier if down > slow else far
        steps[j] = (rise if rise < fall else fall) + shut[j]
    first, j = _smallest(steps)
    if first == far:
        return np.inf, -1, 1.0
    rate = np.float64(drift[j]) - a[j]
    up = (lam - c[j]) / (slope + rate) if slope + rate > slow else np.inf
    down = (lam + c[j]) / (slope - rate) if slope - rate > slow and not positive else np.inf
    return max(min(up, down), 0.0), j, 1.0 if up <= down else -1.0


@gram_kernel
def first_zero(s: Space, n: int) -> tuple[float, int]:
    """The active atom whose coefficient first meets zero: (step, position)."""
    first, position = np.inf, -1
    for i in range(n):
        if s.u[i] * s.sign[i] < 0:
            step = -s.z[i] / s.u[i]
            if step < first:
                first, position = step, i
    return max(first, 0.0), position


@gram_kernel
def step_along(s: Space, n: int, step: float) -> None:
    """One step along the path: coefficients and correlations."""
    for i in range(n):
        s.z[i] += step * s.u[i]
    for j in range(s.c.shape[0]):
        s.c[j] += step * (s.drift[j] - s.a[j])


@gram_kernel
def _drop(s: Space, n: int, p: int, lam: float) -> None:
    atom = s.active[p]
    s.c[atom] = lam * s.sign[p]
    s.shut[atom] = 0
    remove(s.R, n, p, s.y, s.active, s.sign, s.z)


@gram_kernel
def leave(s: Space, n: int, p: int, lam: float, stuck: int) -> int:
    """Makes an atom inactive after ``stuck`` steps of length zero; returns the new count."""
    atom = s.active[p]
    _drop(s, n, p, lam)
    if stuck < _STUCK:
        reopen(s, n - 1)
    else:  # ties can make atoms enter and leave for ever: who leaves stays out until the path moves
        s.shut[atom] = np.inf
    return n - 1


@gram_kernel
def _exchange(s: Space, n: int, side: float) -> tuple[int, float]:
    """Moves weight onto a dependent atom along (-v, 1), v = G_AA^-1 G_Aj, until an active one is spent.

    Neither the residual nor lam changes. Returns the position of the spent atom (-1: none) and the weight.
    """
    solve(s.R, n, s.column, s.work)
    most, position = np.inf, -1
    for i in range(n):
        fall = side * s.work[i]
        if abs(fall) > 1e-9 and fall * s.sign[i] > 0:
            step = max(s.z[i] / fall, 0.0)
            if step < most:
                most, position = step, i
    if position >= 0:
        for i in range(n):
            s.z[i] -= most * side * s.work[i]
    return position, most


@gram_kernel
def enter(G: Array, s: Space, n: int, atom: int, side: float, lam: float, slope: float) -> int:
    """Makes an atom active, for another one if it depends on the active ones; returns the new count.

    The atom stays shut, though not active, if neither is possible.
    """
    s.shut[atom] = np.inf
    weight = 0.0
    least = (DEPENDENT if np.finfo(G.dtype).eps < 1e-10 else _DEPENDENT_IN_SINGLE) * G[atom, atom]
    rest = project(G, s.R, s.active, n, atom, s.rhs, s.column)
    if n == s.R.shape[0] or rest <= least:
        position, weight = _exchange(s, n, side)
        if position < 0:
            return n
        _drop(s, n, position, lam)
        n -= 1
        rest = project(G, s.R, s.active, n, atom, s.rhs, s.column)
        if rest <= 1e-3 * least:
            return n
    append(s.R, n, s.column, rest, slope * side + s.drift[atom], s.y)
    s.active[n], s.sign[n], s.z[n] = atom, side, side * weight
    return n + 1


@gram_kernel
def reopen(s: Space, n: int) -> None:
    s.shut[:] = 0
    for i in range(n):
        s.shut[s.active[i]] = np.inf


@gram_kernel
def _write(G: Array, b: Array, lam: float, s: Space, n: int, out: Array) -> None:
    """out = the minimiser on the active set, G_AA z = b_A - lam s, refined once against rounding."""
    for i in range(n):
        s.rhs[i] = b[s.active[i]] - lam * s.sign[i]
    solve_transposed(s.R, n, s.rhs, s.work)
    solve(s.R, n, s.work, s.z)
    for i in range(n):
        row, total = G[s.active[i]], s.rhs[i]
        for k in range(n):
            total -= row[s.active[k]] * s.z[k]
        s.work[i] = total
    solve_transposed(s.R, n, s.work, s.rhs)
    solve(s.R, n, s.rhs, s.work)
    out[:] = 0.0
    for i in range(n):
        s.z[i] += s.work[i]
        out[s.active[i]] = s.z[i] if s.z[i] * s.sign[i] > 0 else 0.0


@gram_kernel
def _follow(
    G: Array, b: Array, square: float, noise: float, stops: Array, positive: bool, most_steps: int, s: Space,
    codes: Array, ends: Array, log: Array,
) -> tuple[int, int]:  # fmt: skip
    """Follows one path; writes codes and lam at every stop. Returns steps taken and rows of the log written."""
    s.c[:] = b
    s.shut[:] = 0
    lam = np.max(b) if positive else np.max(np.abs(b))
    rr, n, stop, last, logged, stuck = square, 0, 0, stops.shape[0] - 1, 0, 0
    for count in range(most_steps):
        end = 0.0 if noise > 0 and rr <= noise else lam - stops[stop]
        join, atom, side, out, position, q = np.inf, -1, 1.0, np.inf, -1, 0.0
        if end > 0:
            solve(s.R, n, s.y, s.u)  # dz/dt = u = G_AA^-1 sign
            combine(G, s.active, n, s.u, s.a)  # dc/dt = -a, a = G_.A u
            join, atom, side = first_bound(s, 1.0, lam, positive)
            out, position = first_zero(s, n)
            for i in range(n):
                q += s.y[i] * s.y[i]
            if noise > 0 and q * lam * lam > rr - noise:
                # |r|^2 falls by q (2 lam - t) t along the segment, q = |W_A u|^2
                end = min(end, lam - np.sqrt(lam * lam - (rr - noise) / q))
        step = min(join, out)
        # towards lam = 0 all correlations fall together: by rounding any atom may seem to meet its bound before
        finished = end <= step * (1 + (1e-5 if stops[stop] == 0 else 1e-12))
        step = max(end, 0.0) if finished else step
        stuck = 0 if step > 1e-12 * lam else stuck + 1
        if step > 0:
            step_along(s, n, step)
            rr = max(rr - step * q * (2 * lam - step), 0.0)
            lam -= step
            if logged < log.shape[0]:
                log[logged, 0] = lam
                for i in range(n):
                    log[logged, 1 + s.active[i]] = s.z[i]
                logged += 1
        if finished:
            _write(G, b, lam, s, n, codes[stop])
            ends[stop] = lam
            stop += 1
            if stop > last:
                return count, logged
        elif out < join:
            n = leave(s, n, position, lam, stuck)
        else:
            n = enter(G, s, n, atom, side, lam, 1.0)
    for k in range(stop, last + 1):
        _write(G, b, lam, s, n, codes[k])
        ends[k] = lam
    return most_steps, logged


@gram_kernel
def follow_paths(
    G: Array, B: Array, squares: Array, stops: Array, noise: Array, positive: bool, rank: int, most_steps: int,
    codes: Array, ends: Array, counts: Array, log: Array,
) -> int:  # fmt: skip
    """Paths from lam_max. Row i of B is W'x_i; stops (n, P) fall; codes (n, P, atoms) are written.

    A path ends where |r|^2 falls to ``noise``, if that is positive.
    """
    s = new_space(np.zeros((rank, rank + 8)), G.shape[0], rank, G)
    logged = 0
    for i in range(B.shape[0]):
        counts[i], logged = _follow(
            G, B[i], squares[i], noise[i], stops[i], positive, most_steps, s, codes[i], ends[i], log
        )
    return logged
