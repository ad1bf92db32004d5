"""A table split into rows to learn from and rows to test on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from compsparse.checks import RandomState, check_number, generator_from, row_text
from compsparse.errors import DataError
from compsparse.tables.coded import coded_table, rows_without_target
from compsparse.tables.columns import rows_of
from compsparse.tables.copies import copies_in, shuffled
from compsparse.tables.looking import read_moments
from compsparse.tables.targets import Target, read_target, target_for, target_values
from compsparse.tables.values import is_missing, plain_values, text_of
from compsparse.text import in_a_line

_FEWEST_ROWS = 10
_FEWEST_TO_SPARE, _MOST_TO_SPARE = 20, 5000
"""Rows below which all of them train; spared rows beyond which more tell restarts apart no better, and every look at
them would cost more than the steps between."""


@in_a_line
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
    groups: Any = None,
    times: Any = None,
    test_share: float = 1 / 3,
    random_state: RandomState = None,
) -> SplitTable:
    """Checks a table as a whole, so that rows are named as they stand in it, and then splits it.

    Args:
        classification: whether the target holds classes; texts and booleans do by default.
        na: words that mean, in every column, that a cell is missing.
        groups: one value per row, such as a patient; rows of one group stay on one side.
        times: one date or number per row; the last rows are for the test.
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
        groups, times = (None if v is None else np.asarray(v)[has_target] for v in (groups, times))
        notes = (rows_without_target(table.n_without_target),)
    target, n = table.target, len(table.X)
    if n < _FEWEST_ROWS:
        raise DataError(f"{n} rows are too few to learn from and to test: at least {_FEWEST_ROWS} are needed")
    same = copies_in(table.X, target.values)
    if times is not None:
        test = _last_rows(times, same, test_share)
    elif groups is not None:
        test = held_out_rows(None, _joined(same, _numbered(groups, n)), test_share, generator)
    else:
        test = held_out_rows(None if target.classes is None else target.values, same, test_share, generator)
    _check_sides(target, test)
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


def given_split(
    X: Any, y: Any, X_test: Any, y_test: Any, *, classification: bool | None = None, na: Sequence[str] = ()
) -> SplitTable:
    """Rows to learn from and rows to test on, as somebody split them; checked as a table is, a class is known to both.

    Raises:
        DataError: what is wrong with the rows, or a class of the test that the others do not have.
    """
    learned = split_table(X, y, classification=classification, na=na, random_state=0)  # for its checks alone
    is_classes = learned.classes is not None
    notes, sides = [], []
    for what, (rows, cells) in {"": (X, y), " of the test": (X_test, y_test)}.items():
        there = ~read_target(cells, is_classes, na).missing
        if not there.all():
            notes.append(rows_without_target(int((~there).sum()), what))
        sides.append((rows_of(rows, there), rows_of(cells, there)))
    (X, y), (X_test, y_test) = sides
    target = target_for(read_target(y, is_classes, na), ())
    values = target_values(y_test, target, na)
    tested = Target(values, target.outputs, target.classes)
    return SplitTable(X, y, X_test, y_test, target, tested, tuple(na), tuple(notes))


def _check_sides(target: Target, test: np.ndarray) -> None:
    """Some rows for the test, two for the fit, and every class among those."""
    if not test.any() or (~test).sum() < 2:
        raise DataError("there are too few different rows to hold some of every class out for the test")
    if target.classes is not None and (gone := set(target.values.tolist()) - set(target.values[~test].tolist())):
        label = target.classes[min(gone)]
        raise DataError(f"class {label!r} has rows in the test alone: the split leaves none to learn it from")


def _last_rows(times: Any, same: np.ndarray, share: float) -> np.ndarray:
    """The rows after a moment; copies of them go along."""
    values = plain_values(np.asarray(times))
    moments = read_moments(values, "the column of times")
    if (gone := np.flatnonzero(np.isnan(moments))).size:
        raise DataError(f"the column of times has a missing cell in {row_text(int(gone[0]))}: leave its row out")
    late = moments > np.quantile(moments, 1 - share, method="lower")
    return np.asarray(np.isin(same, same[late]))


def _numbered(groups: Any, n: int) -> np.ndarray:
    """A number for each group; a row whose group is missing is one by itself."""
    values = np.asarray(groups)
    if values.shape != (n,):
        raise DataError(f"groups must hold one value per row ({n:,}), got shape {values.shape}")
    texts = [f"{i}" if is_missing(cell) else f"={text_of(cell)}" for i, cell in enumerate(values.tolist())]
    return np.asarray(np.unique(texts, return_inverse=True)[1])


def _joined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A number for each row, equal where rows are linked by equal numbers of either kind."""
    n, rows = len(first), np.arange(len(first))
    first, second = (np.unique(v, return_inverse=True)[1] for v in (first, second))
    ends = np.concatenate([n + first, n + first.max() + 1 + second])
    size = int(ends.max()) + 1
    links = coo_array((np.ones(2 * n), (np.concatenate([rows, rows]), ends)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1][:n])


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
