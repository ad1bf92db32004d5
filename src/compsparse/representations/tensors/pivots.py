"""Rows and columns of a matrix whose crossing is far from singular."""

from __future__ import annotations

import numpy as np

_MOST_SWAPS = 200
_GROWTH = 1.1
"""Rows are exchanged while an entry of the interpolation factor is larger than this (a quasi-maximal volume)."""


def cross_pivots(matrix: np.ndarray, cutoff: float, max_rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns by elimination, the largest entry left over first, until none is above ``cutoff``.

    At least one of each is returned; the rows are then exchanged towards the largest volume.

    >>> rows, columns = cross_pivots(np.array([[1.0, 2.0], [2.0, 4.0]]), 1e-9, 5)
    >>> rows.tolist(), columns.tolist()
    ([1], [1])
    """
    rest = matrix.copy()
    rows: list[int] = []
    columns: list[int] = []
    for _ in range(min(*matrix.shape, max_rank)):
        i, j = np.unravel_index(np.argmax(np.abs(rest)), rest.shape)
        pivot = rest[i, j]
        if rows and abs(pivot) <= cutoff:
            break
        rows.append(int(i))
        columns.append(int(j))
        if pivot == 0:
            break
        rest -= np.outer(rest[:, j] / pivot, rest[i])
        rest[i], rest[:, j] = 0.0, 0.0  # what rounding leaves must not be chosen again
    chosen = np.array(columns)
    return _exchanged(matrix[:, chosen], np.array(rows)), chosen


def interpolation_factor(columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The matrix that gives all rows from the chosen ones: ``columns @ inv(columns[rows])``, by orthonormal columns."""
    q, _ = np.linalg.qr(columns)
    return np.asarray(np.linalg.lstsq(q[rows].T, q.T, rcond=None)[0].T)


def _exchanged(columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    if len(rows) == len(columns):
        return rows
    factor = interpolation_factor(columns, rows)
    for _ in range(_MOST_SWAPS):
        i, j = np.unravel_index(np.argmax(np.abs(factor)), factor.shape)
        if abs(factor[i, j]) <= _GROWTH:
            break
        # row i takes the place of the j-th chosen row: a change of rank one
        step = factor[i].copy()
        step[j] -= 1
        factor -= np.outer(factor[:, j] / factor[i, j], step)
        rows[j] = i
    return rows
