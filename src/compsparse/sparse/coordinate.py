"""Compiled coordinate descent on the Gram matrix: slower than the homotopy, and indifferent to ties."""

from __future__ import annotations

import numpy as np

from compsparse.sparse.factor import Array, compiled


@compiled
def _shrink(value: float, lam: float, positive: bool) -> float:
    if value > lam:
        return value - lam
    return value + lam if value < -lam and not positive else 0.0


@compiled
def _sweep(G: Array, lam: float, positive: bool, z: Array, c: Array, moved: Array, only_moved: bool) -> float:
    """One pass over all atoms, or those that moved in the last full one; the largest change in units of c."""
    largest = 0.0
    for j in range(G.shape[0]):
        if only_moved and not moved[j]:
            continue
        row, square = G[j], G[j, j]
        change = _shrink(c[j] + square * z[j], lam, positive) / square - z[j]
        if change != 0.0:
            z[j] += change
            for i in range(G.shape[0]):
                c[i] -= change * row[i]
            largest = max(largest, abs(change) * square)
        if not only_moved:
            moved[j] = z[j] != 0.0
    return largest


@compiled
def descend(
    G: Array, B: Array, lams: Array, accuracy: Array, positive: bool, most_sweeps: int, codes: Array, counts: Array
) -> None:
    """Coordinate descent from the given codes, until a full pass moves every correlation less than ``accuracy``."""
    moved = np.zeros(G.shape[0], np.bool_)
    for i in range(B.shape[0]):
        z = codes[i]
        c = B[i] - G @ z
        sweeps = 0
        while sweeps < most_sweeps:
            if _sweep(G, lams[i], positive, z, c, moved, False) <= accuracy[i]:
                break
            sweeps += 1
            while sweeps < most_sweeps and _sweep(G, lams[i], positive, z, c, moved, True) > 0.3 * accuracy[i]:
                sweeps += 1
        counts[i] += sweeps
