"""Compiled homotopy: the Lasso's piecewise-linear path, many signals against one Gram matrix.

One kernel follows the minimiser of ``1/2 z'Gz - b(t)'z + lam(t) |z|_1`` while ``lam`` falls at
rate ``slope`` and ``b`` moves along ``drift``. The Lasso path from ``lam_max`` has slope 1 and no
drift (Osborne, Presnell, Turlach 2000; Efron et al. 2004). A warm start has slope 0 and the drift
that turns the problem solved by the start into the one asked for.

An atom that lies in the span of the active ones is exchanged for one of them, so that repeated
columns never make the factor singular. Correlations of inactive atoms may be followed in single
precision (``H``): an error in them moves the duality gap only to second order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from compsparse.sparse.kernels import Array, append, combine, gram_kernel, project, remove, solve, solve_transposed

_DEPENDENT = 1e-10  # squared distance from the span, relative to the atom, below which it is in it
_DEPENDENT_IN_SINGLE = 1e-5
_PARALLEL = 32.0  # units of rounding: a bound met at a slower rate is never met
_STUCK = 30  # steps of length zero in a row that may be due to ties
REACHED, STEPS = 0, 1


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


class Course(NamedTuple):
    """How one path runs: where it starts, where it stops."""

    lam: float
    slope: float
    square: float  # |x|^2
    noise: float  # stop where |r|^2 falls to this
    tol: float  # stop where the relative gap, as an answer at the last stop, is this
    positive: bool
    most_steps: int


@gram_kernel
def _space(atoms: int, rank: int, like: Array) -> Space:
    def short() -> Array:
        return np.zeros(rank + 1)

    def wide() -> Array:
        return np.zeros(atoms, like.dtype)

    R = np.zeros((rank, rank + 8))
    active, u_short = np.zeros(rank + 1, np.int64), np.zeros(rank + 1, like.dtype)
    return Space(
        R, active, short(), short(), short(), short(), u_short, short(), short(), short(),
        np.zeros(atoms), wide(), wide(), wide(), wide(), wide(), wide(),
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
def drop(s: Space, n: int, p: int, lam: float) -> None:
    atom = s.active[p]
    s.c[atom] = lam * s.sign[p]
    s.shut[atom] = 0
    remove(s.R, n, p, s.y, s.active, s.sign, s.z)


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
    least = (_DEPENDENT if np.finfo(G.dtype).eps < 1e-10 else _DEPENDENT_IN_SINGLE) * G[atom, atom]
    rest = project(G, s.R, s.active, n, atom, s.rhs, s.column)
    if n == s.R.shape[0] or rest <= least:
        position, weight = _exchange(s, n, side)
        if position < 0:
            return n
        drop(s, n, position, lam)
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
def _good_enough(course: Course, lam: float, end: float, rr: float, last: bool) -> bool:
    """Whether |r|^2 is the noise, or the minimiser at lam answers for the last stop, lam - end.

    Its relative gap there is (1 - lam_stop/lam)^2 |r|^2 / |x|^2.
    """
    if course.noise > 0:
        return rr <= course.noise
    return last and course.tol > 0 and end * end * rr <= 0.9 * course.tol * course.square * lam * lam


@gram_kernel
def _follow(  # noqa: PLR0912 (the cases of one step of the path)
    G: Array, H: Array, b: Array, course: Course, stops: Array, s: Space, n: int, codes: Array, ends: Array, log: Array
) -> tuple[int, int, int]:
    """Follows the path from a solved problem with n active atoms; writes codes and lam at every stop.

    Returns (REACHED or STEPS, steps taken, rows of the log that were written).
    """
    lam, slope, xx = course.lam, course.slope, course.square
    m, last = b.shape[0], stops.shape[0] - 1
    rr, time, stop, logged, stuck = xx, 0.0, 0, 0, 0
    codes[:] = 0.0
    for count in range(course.most_steps):
        end = lam - stops[stop] if slope > 0 else 1.0 - time
        end = 0.0 if slope > 0 and _good_enough(course, lam, end, rr, stop == last) else end
        join, atom, side, leave, position, q = np.inf, -1, 1.0, np.inf, -1, 0.0
        if end > 0:
            solve(s.R, n, s.y, s.u)  # dz/dt = u = G_AA^-1 (slope sign + drift_A)
            s.u_short[:n] = s.u[:n]
            combine(H, s.active, n, s.u_short, s.a)  # dc/dt = drift - a, a = G_.A u
            join, atom, side = first_bound(s, slope, lam, course.positive)
            leave, position = first_zero(s, n)
            for i in range(n):
                q += s.y[i] * s.y[i]
            if course.noise > 0 and q * lam * lam > rr - course.noise:
                # |r|^2 falls by q (2 lam - t) t along the segment, q = |W_A u|^2
                end = min(end, lam - np.sqrt(lam * lam - (rr - course.noise) / q))
        step = min(join, leave)
        # towards lam = 0 all correlations fall together: by rounding any atom may seem to meet its bound before
        finished = end <= step * (1 + (1e-5 if slope > 0 and stops[stop] == 0 else 1e-12))
        step = max(end, 0.0) if finished else step
        stuck = 0 if step > 1e-12 * (lam if slope > 0 else 1.0) else stuck + 1
        if step > 0:
            for i in range(n):
                s.z[i] += step * s.u[i]
            for j in range(m):
                s.c[j] += step * (s.drift[j] - s.a[j])
            rr = max(rr - step * q * (2 * lam - step), 0.0)
            lam -= slope * step
            time += step
            if logged < log.shape[0]:
                log[logged, 0] = lam
                for i in range(n):
                    log[logged, 1 + s.active[i]] = s.z[i]
                logged += 1
        if finished:
            _write(G, b, lam, s, n, codes[stop])
            ends[stop] = lam
            stop += 1
            if stop > last or slope == 0:
                return REACHED, count, logged
        elif leave < join:
            atom = s.active[position]
            drop(s, n, position, lam)
            n -= 1
            if stuck < _STUCK:
                reopen(s, n)
            else:  # ties can make atoms enter and leave for ever: who leaves stays out until the path moves
                s.shut[atom] = np.inf
        else:
            n = enter(G, s, n, atom, side, lam, slope)
    for k in range(stop, last + 1):
        _write(G, b, lam, s, n, codes[k])
        ends[k] = lam
    return STEPS, course.most_steps, logged


@gram_kernel
def follow_paths(
    G: Array, H: Array, B: Array, norms: Array, stops: Array, noise: Array, tol: Array, positive: bool, rank: int,
    most_steps: int, codes: Array, ends: Array, status: Array, counts: Array, log: Array,
) -> int:  # fmt: skip
    """Paths from lam_max. Row i of B is W'x_i; stops (n, P) fall; codes (n, P, atoms) are written."""
    s = _space(G.shape[0], rank, H)
    logged = 0
    for i in range(B.shape[0]):
        b = B[i]
        s.c[:] = b
        s.shut[:] = 0
        lam = np.max(b) if positive else np.max(np.abs(b))
        course = Course(lam, 1.0, norms[i], noise[i], tol[i], positive, most_steps)
        status[i], counts[i], logged = _follow(G, H, b, course, stops[i], s, 0, codes[i], ends[i], log)
    return logged


@gram_kernel
def _load(G: Array, start: Array, s: Space, positive: bool) -> int:
    """Makes the independent atoms of a start active; the others lose their weight."""
    n = 0
    for j in range(G.shape[0]):
        if start[j] == 0.0 or n == s.R.shape[0] or (positive and start[j] < 0):
            continue
        rest = project(G, s.R, s.active, n, j, s.rhs, s.column)
        if rest > _DEPENDENT * G[j, j]:
            append(s.R, n, s.column, rest, 0.0, s.y)
            s.active[n], s.sign[n], s.z[n] = j, np.sign(start[j]), start[j]
            n += 1
    return n


@gram_kernel
def follow_starts(
    G: Array, B: Array, lams: Array, starts: Array, positive: bool, rank: int,
    most_steps: int, codes: Array, status: Array, counts: Array,
) -> None:  # fmt: skip
    """From the problem that each start solves to the one asked for; codes (n, 1, atoms) are written.

    The start solves the problem with b + e in place of b; e falls to zero along the path. The
    correlations that e leaves to inactive atoms differ a little, so that no two atoms enter at once.
    """
    m = G.shape[0]
    s = _space(m, rank, G)
    log, stop, end = np.zeros((0, 1)), np.zeros(1), np.zeros(1)
    for i in range(B.shape[0]):
        b, lam = B[i], lams[i]
        n = _load(G, starts[i], s, positive)
        combine(G, s.active, n, s.z, s.a)
        for j in range(m):
            c = b[j] - s.a[j]
            inside = lam * (1 - 0.02 * ((j * 0.6180339887498949) % 1.0))
            s.c[j] = min(max(c, -inside), inside) if not positive else min(c, inside)
            s.drift[j] = c - s.c[j]
        for k in range(n):
            j = s.active[k]
            s.drift[j] = b[j] - s.a[j] - lam * s.sign[k]
            s.c[j] = lam * s.sign[k]
            s.rhs[k] = s.drift[j]
        solve_transposed(s.R, n, s.rhs, s.y)
        reopen(s, n)
        course = Course(lam, 0.0, 1.0, 0.0, 0.0, positive, most_steps)
        status[i], counts[i], _ = _follow(G, G, b, course, stop, s, n, codes[i], end, log)
