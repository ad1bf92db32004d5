"""Rows that stand in a table more than once: they stay together in every split, or the test would know its answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_BY_CHANCE = 0.01
"""Equal pairs that chance would give, as a share of those there are, up to which they are copies."""


@dataclass(frozen=True)
class ShuffledRows:
    """Rows in random order, copies next to each other.

    Attributes:
        order: the rows.
        rank: for each place of the order, which of the different rows stands there.
    """

    order: np.ndarray
    rank: np.ndarray

    def first(self, n: int) -> np.ndarray:
        """About n rows from the start of the order: no row's copies are cut apart, and some rows remain."""
        if n <= 0:
            return self.order[:0]
        last = min(int(self.rank[min(n, len(self.rank)) - 1]), int(self.rank[-1]) - 1)
        return np.asarray(self.order[self.rank <= last])

    def fold(self, k: int, n_folds: int) -> np.ndarray:
        """The k-th of so many parts, each of about as many different rows."""
        return np.asarray(self.order[self.rank % n_folds == k])

    @property
    def n_different(self) -> int:
        """How many different rows there are."""
        return int(self.rank[-1]) + 1 if len(self.rank) else 0


def same_rows(*columns: np.ndarray) -> np.ndarray:
    """A number for each row; rows with equal entries in all columns have equal numbers.

    >>> first, second, third = same_rows(np.array([[3.0, 2.0], [1.0, 2.0], [3.0, 2.0]]), np.zeros(3))
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    tables = [column.reshape(len(column), -1).astype(float) for column in columns]
    table = np.ascontiguousarray(np.concatenate(tables, axis=1)) + 0.0  # -0.0 is 0.0
    as_bytes = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, number = np.unique(as_bytes, return_inverse=True)
    return np.asarray(number)


def copies_in(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A number for each row; rows have equal numbers if one is a copy of the other, not equal by chance.

    Where inputs take few values, as answers to a questionnaire do, equal rows are observations of their own. So rows
    count as copies only if columns that were drawn independently would give far fewer equal pairs.
    """
    n = len(X)
    same = same_rows(X, y)
    different = X[np.unique(same, return_index=True)[1]]
    if len(different) == n:
        return same
    chance = np.prod([_chance_of_equal(column) for column in np.unique(different, axis=1).T])
    return same if n * (n - 1) / 2 * float(chance) <= _BY_CHANCE * _equal_pairs(same) else np.arange(n)


def _equal_pairs(number: np.ndarray) -> float:
    counts = np.unique(number, return_counts=True)[1].astype(float)
    return float((counts * (counts - 1)).sum() / 2)


def _chance_of_equal(column: np.ndarray) -> float:
    """How often two different rows agree in a column."""
    return _equal_pairs(column) / max(len(column) * (len(column) - 1) / 2, 1)


def shuffled(same: np.ndarray, rng: np.random.Generator) -> ShuffledRows:
    """The rows in random order, those with equal numbers moved to the first of them."""
    n = len(same)
    order = rng.permutation(n)
    first = np.full(int(same.max(initial=-1)) + 1, n)
    np.minimum.at(first, same[order], np.arange(n))
    place = first[same[order]]
    together = np.argsort(place, kind="stable")
    rank = np.cumsum(np.diff(place[together], prepend=-1) > 0) - 1
    return ShuffledRows(order[together], rank)


def n_copies(same: np.ndarray) -> int:
    """How many rows repeat one that stands elsewhere."""
    return len(same) - len(np.unique(same))
