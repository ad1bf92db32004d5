"""Compiled kernels on the Gram matrix of a dictionary: a Cholesky factor, matching pursuit.

The factor of the active Gram matrix gains and loses atoms, one at a time. ``R'R = G_AA`` is stored by rows in the
upper triangle, so that every inner loop runs along memory: an addition appends a column, a removal rotates rows. A
vector ``y = R^-T rhs`` is carried along.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from compsparse.compilation import compiled

Array = np.ndarray
_FAST = {"reassoc", "contract", "nsz", "arcp", "nnan"}
DEPENDENT = 1e-10  # squared distance from the span, relative to the atom, below which it is in it
_EDITION = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:10]


def gram_kernel(function: Any) -> Any:
    """Compiled; sums may be reordered.

    What is kept on disk is checked against the function's own file only, so its name there holds a digest of this
    file, whose kernels those of other files call.
    """
    return _compiled(function, _FAST)


def sum_kernel(function: Any) -> Any:
    """The same for what must see NaN and infinite numbers."""
    return _compiled(function, {"reassoc", "contract"})


def exact_kernel(function: Any) -> Any:
    """The same with every operation in the order written, as bounds on rounding errors need it."""
    return _compiled(function, set())


def _compiled(function: Any, fast: set[str]) -> Any:
    function.__qualname__ = f"{function.__qualname__}_{_EDITION}"
    return compiled(function, fast)


# loops start at zero, on slices: the compiler then knows that no index is negative, and vectorises them


@gram_kernel
def solve_transposed(R: Array, n: int, rhs: Array, out: Array) -> None:
    """out = R^-T rhs, four rows of R at a time."""
    for i in range(n):
        out[i] = rhs[i]
    k = 0
    while k + 4 <= n:
        r0, r1, r2, r3 = R[k, k:n], R[k + 1, k:n], R[k + 2, k:n], R[k + 3, k:n]
        o = out[k:n]
        v0 = o[0] / r0[0]
        v1 = (o[1] - v0 * r0[1]) / r1[1]
        v2 = (o[2] - v0 * r0[2] - v1 * r1[2]) / r2[2]
        v3 = (o[3] - v0 * r0[3] - v1 * r1[3] - v2 * r2[3]) / r3[3]
        for i in range(n - k):
            o[i] -= v0 * r0[i] + v1 * r1[i] + v2 * r2[i] + v3 * r3[i]
        o[0], o[1], o[2], o[3] = v0, v1, v2, v3
        k += 4
    while k < n:
        row, o = R[k, k:n], out[k:n]
        v0 = o[0] / row[0]
        for i in range(n - k):
            o[i] -= v0 * row[i]
        o[0] = v0
        k += 1


@gram_kernel
def solve(R: Array, n: int, rhs: Array, out: Array) -> None:
    """out = R^-1 rhs, four rows of R at a time."""
    k = n
    while k >= 4:
        r0, r1, r2, r3, o = R[k - 4, k:n], R[k - 3, k:n], R[k - 2, k:n], R[k - 1, k:n], out[k:n]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for i in range(n - k):
            v = o[i]
            t0 += r0[i] * v
            t1 += r1[i] * v
            t2 += r2[i] * v
            t3 += r3[i] * v
        v3 = (rhs[k - 1] - t3) / R[k - 1, k - 1]
        v2 = (rhs[k - 2] - t2 - R[k - 2, k - 1] * v3) / R[k - 2, k - 2]
        v1 = (rhs[k - 3] - t1 - R[k - 3, k - 1] * v3 - R[k - 3, k - 2] * v2) / R[k - 3, k - 3]
        v0 = rhs[k - 4] - t0 - R[k - 4, k - 1] * v3 - R[k - 4, k - 2] * v2 - R[k - 4, k - 3] * v1
        out[k - 4], out[k - 3], out[k - 2], out[k - 1] = v0 / R[k - 4, k - 4], v1, v2, v3
        k -= 4
    while k > 0:
        k -= 1
        row, o, total = R[k, k + 1 : n], out[k + 1 : n], 0.0
        for i in range(n - k - 1):
            total += row[i] * o[i]
        out[k] = (rhs[k] - total) / R[k, k]


@gram_kernel
def combine(H: Array, active: Array, n: int, u: Array, out: Array) -> None:
    """out = H[:, active] u, four rows of H at a time; single precision stays single."""
    m = out.shape[0]
    for j in range(m):
        out[j] = 0
    i = 0
    while i + 4 <= n:
        g0, g1, g2, g3 = H[active[i]], H[active[i + 1]], H[active[i + 2]], H[active[i + 3]]
        u0, u1, u2, u3 = u[i], u[i + 1], u[i + 2], u[i + 3]
        for j in range(m):
            out[j] += u0 * g0[j] + u1 * g1[j] + u2 * g2[j] + u3 * g3[j]
        i += 4
    while i < n:
        g0, u0 = H[active[i]], u[i]
        for j in range(m):
            out[j] += u0 * g0[j]
        i += 1


@gram_kernel
def remove(R: Array, n: int, p: int, y: Array, active: Array, sign: Array, z: Array) -> None:
    """Drops position p from the factor (Givens rotations of rows), from y = R^-T rhs, and from the lists."""
    for k in range(p):
        row = R[k, p:n]
        for i in range(n - 1 - p):
            row[i] = row[i + 1]
    for k in range(p, n - 1):
        a, b = R[k, k + 1], R[k + 1, k + 1]
        r = np.sqrt(a * a + b * b)
        c, s = a / r, b / r
        carry = y[k]
        y[k] = c * carry + s * y[k + 1]
        y[k + 1] = c * y[k + 1] - s * carry
        top, low = R[k, k + 1 : n], R[k + 1, k + 1 : n]
        for i in range(n - k - 1):
            upper, lower = top[i], low[i]
            top[i] = c * upper + s * lower
            low[i] = c * lower - s * upper
        # the rotated row moves left by one, over the column that was dropped
        moved = R[k, k:n]
        for i in range(n - k - 1):
            moved[i] = moved[i + 1]
    for k in range(p, n - 1):
        active[k], sign[k], z[k] = active[k + 1], sign[k + 1], z[k + 1]


@gram_kernel
def project(G: Array, R: Array, active: Array, n: int, j: int, g: Array, column: Array) -> float:
    """column = R^-T G_Aj; returns the squared distance of atom j from the span of the active ones."""
    row = G[j]
    for i in range(n):
        g[i] = row[active[i]]
    solve_transposed(R, n, g, column)
    rest: float = row[j]
    for i in range(n):
        rest -= column[i] * column[i]
    return rest


@gram_kernel
def append(R: Array, n: int, column: Array, rest: float, rhs: float, y: Array) -> None:
    """Appends one column to the factor and the matching entry to y = R^-T rhs."""
    rho = np.sqrt(rest)
    total = 0.0
    for i in range(n):
        R[i, n] = column[i]
        total += column[i] * y[i]
    R[n, n] = rho
    y[n] = (rhs - total) / rho


@sum_kernel
def column_squares(W: Array) -> Array:
    """|w|^2 of every column, in double precision."""
    d, m = W.shape
    out = np.zeros(m)
    if W.strides[0] <= W.strides[1]:
        for j in range(m):
            column, total = W[:, j], 0.0
            for t in range(d):
                total += np.float64(column[t]) * column[t]
            out[j] = total
    else:
        for t in range(d):
            row = W[t]
            for j in range(m):
                out[j] += np.float64(row[j]) * row[j]
    return out


@sum_kernel
def sizes_of(X: Array, W: Array) -> tuple[Array, float, float, float]:
    """|x|^2 of every signal and their sum; the least |w|^2 of a column, and the largest, or NaN where one is NaN."""
    squares, columns = column_squares(X.T), column_squares(W)
    least, largest, total = columns[0], columns[0], 0.0
    for value in columns:
        least, largest, total = min(least, value), max(largest, value), total + value
    return squares, np.sum(squares), least, largest + 0 * total


# ---- orthogonal matching pursuit ---------------------------------------------------------


@gram_kernel
def _best_atom(c: Array, G: Array, free: Array) -> int:
    """The free atom whose direction correlates most with the residual."""
    best, atom = 0.0, -1
    for j in range(c.shape[0]):
        value = abs(c[j])
        if free[j] and value > 0 and value * value > best * G[j, j]:
            best, atom = value * value / G[j, j], j
    return atom


@gram_kernel
def pursue(
    G: Array, B: Array, norms: Array, most: int, noise: Array, codes: Array, counts: Array, squares: Array
) -> None:
    """At most ``most`` atoms, or until |r|^2 is at most ``noise``; writes codes, their sizes, and |r|^2.

    The residual after each atom is orthogonal to all chosen: with R'R = G_AA and R'y = b_A,
    z_A = R^-1 y and |r|^2 = |x|^2 - |y|^2.
    """
    m = G.shape[0]
    R, active = np.zeros((most, most + 8)), np.zeros(most + 1, np.int64)
    y, z, g, column = np.zeros(most + 1), np.zeros(most + 1), np.zeros(most + 1), np.zeros(most + 1)
    a, c, free = np.zeros(m), np.zeros(m), np.ones(m, np.bool_)
    for i in range(B.shape[0]):
        c[:], free[:], n, rr = B[i], True, 0, norms[i]
        while n < most and rr > noise[i] and rr > 1e-28 * norms[i]:
            atom = _best_atom(c, G, free)
            if atom < 0:
                break
            free[atom] = False
            rest = project(G, R, active, n, atom, g, column)
            if rest <= DEPENDENT * G[atom, atom]:
                continue
            append(R, n, column, rest, B[i, atom], y)
            active[n] = atom
            rr = max(rr - y[n] * y[n], 0.0)
            n += 1
            solve(R, n, y, z)
            combine(G, active, n, z, a)
            for j in range(m):
                c[j] = B[i, j] - a[j]
        codes[i] = 0.0
        for k in range(n):
            codes[i, active[k]] = z[k]
        counts[i], squares[i] = n, rr
