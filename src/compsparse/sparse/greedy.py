"""Compiled orthogonal matching pursuit on the Gram matrix, many signals at once."""

from __future__ import annotations

import numpy as np

from compsparse.sparse.factor import Array, append, combine, compiled, project, solve

_DEPENDENT = 1e-10


@compiled
def _best_atom(c: Array, G: Array, free: Array) -> int:
    """The free atom whose direction correlates most with the residual."""
    best, atom = 0.0, -1
    for j in range(c.shape[0]):
        value = abs(c[j])
        if free[j] and value > 0 and value * value > best * G[j, j]:
            best, atom = value * value / G[j, j], j
    return atom


@compiled
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
            if rest <= _DEPENDENT * G[atom, atom]:
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
