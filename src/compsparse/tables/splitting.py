"""A table split into rows to learn from and rows to test on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import RandomState, check_number, generator_from
from compsparse.errors import DataError
from compsparse.tables.coded import coded_table
from compsparse.tables.columns import rows_of
from compsparse.tables.copies import copies_in, shuffled
from compsparse.tables.targets import Target, read_target

_FEWEST_ROWS = 10
_FEWEST_TO_SPARE, _MOST_TO_SPARE = 20, 5000
"""Rows below which all of them train; spared rows beyond which more tell restarts apart no better, and every look at
them would cost more than the steps between."""


@dataclass(frozen=True, eq=False)
class SplitTable:
    """Inputs and targets of the rows to learn from, and of the rows to test on.

    Attributes:
        X, y: tables of the rows to learn from; ``X_test``, ``y_test`` of those to test on.
        target, target_test: their targets as numbers, or as class numbers.
        na: words that mean, in every column, that a cell is missing.
        notes: what was done to rows, in sentences.
    """

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    target: Target
    target_test: Target
    na: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels, or None for numbers."""
        return self.target.classes


def spared_rows(n: int, share: float, seed: int) -> np.ndarray | None:
    """Rows that a fit does not learn from, by a seed; None where there are too few to spare some."""
    held_out = min(int(n * share), _MOST_TO_SPARE)
    if n < _FEWEST_TO_SPARE or held_out < 2:
        return None
    return np.random.default_rng(seed).permutation(n)[:held_out]


def split_table(
    X: Any,
    y: Any,
    *,
    classification: bool | None = None,
    na: Sequence[str] = (),
    test_share: float = 1 / 3,
    random_state: RandomState = None,
) -> SplitTable:
    """Checks a table as a whole, so that rows are named as they stand in it, and then splits it.

    Args:
        classification: whether the target holds classes; texts and booleans do by default.
        na: words that mean, in every column, that a cell is missing.
        test_share: share of the rows to test on; of every class the same, and never its last row.
    """
    check_number("test_share", test_share, above=0, below=1)
    generator = generator_from(random_state)
    if hasattr(y, "iloc") and y.ndim == 2 and y.shape[1] == 1:
        y = y.iloc[:, 0]
    table = coded_table(X, y, classification=classification, na=na, leaves_out=True)
    notes: tuple[str, ...] = ()
    if table.n_without_target:
        has_target = ~read_target(y, classification, na).missing
        X, y = rows_of(X, has_target), rows_of(y, has_target)
        n_gone = table.n_without_target
        notes = (f"{n_gone:,} row{'s' * (n_gone > 1)} without a target {'were' if n_gone > 1 else 'was'} left out",)
    target, n = table.target, len(table.X)
    if n < _FEWEST_ROWS:
        raise DataError(f"{n} rows are too few to learn from and to test: at least {_FEWEST_ROWS} are needed")
    labels = None if target.classes is None else target.values
    test = held_out_rows(labels, copies_in(table.X, target.values), test_share, generator)
    if not test.any():
        raise DataError("there are too few different rows to hold some of every class out for the test")
    return SplitTable(
        rows_of(X, ~test),
        rows_of(y, ~test),
        rows_of(X, test),
        rows_of(y, test),
        target.rows(~test),
        target.rows(test),
        tuple(na),
        notes,
    )


def held_out_rows(
    labels: np.ndarray | None, same: np.ndarray, share: float, random_state: RandomState = None
) -> np.ndarray:
    """Which rows to hold out for the test; of every label the same share, and never its last row.

    Args:
        same: a number for each row; rows with equal numbers stay on one side.
    """
    chosen = np.zeros(len(same), dtype=bool)
    generator = generator_from(random_state)
    every = np.arange(len(same))
    groups = [every] if labels is None else [np.flatnonzero(labels == value) for value in np.unique(labels)]
    for rows in groups:
        chosen[rows[shuffled(same[rows], generator).first(int(share * len(rows)))]] = True
    return chosen
