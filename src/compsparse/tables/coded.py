"""A table and its target as numbers, checked together: what a fit and a search start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compsparse.checks import check_name_list, check_unmasked, input_names
from compsparse.errors import DataError
from compsparse.tables.coding import TableCode, fitted_code
from compsparse.tables.columns import Table
from compsparse.tables.copies import copies_in
from compsparse.tables.looking import Treatment
from compsparse.tables.problems import Problems
from compsparse.tables.targets import Target, TargetCells, read_target, target_for
from compsparse.tables.values import even_array
from compsparse.text import in_a_line


@in_a_line
@dataclass(frozen=True, eq=False)
class CodedTable:
    """Rows to learn from, as numbers.

    Attributes:
        code: how the columns became numbers.
        X: (rows, encoded columns).
        target: what is to be predicted.
        sample_weight: one positive number per row, or None.
        n_copies: rows that were left out because another says the same, with their weight.
        n_without_target: rows that were left out because they have no target.
    """

    code: TableCode
    X: np.ndarray
    target: Target
    sample_weight: np.ndarray | None = None
    n_copies: int = 0
    n_without_target: int = 0

    def without_copies(self) -> CodedTable:
        """Every row once, with the weight of all its copies: no split can then put one on either side."""
        same = copies_in(self.X, self.target.values)
        _, first, row = np.unique(same, return_index=True, return_inverse=True)
        if len(first) == len(same):
            return self
        order = np.argsort(first)
        weight = np.bincount(row, weights=self.sample_weight)[order]
        kept = first[order]
        is_even = self.sample_weight is None and bool(np.ptp(weight) == 0)
        target = replace(self.target, values=self.target.values[kept])
        return replace(
            self,
            X=self.X[kept],
            target=target,
            sample_weight=None if is_even else weight,
            n_copies=len(same) - len(kept),
        )

    def rows(self, chosen: np.ndarray) -> CodedTable:
        """Some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[chosen]
        return replace(self, X=self.X[chosen], target=self.target.rows(chosen), sample_weight=weight)

    def only(self, names: Sequence[str]) -> CodedTable:
        """Some of the inputs, in the order of their names."""
        own, place = {}, 0
        for column in self.code.inputs:
            own[column.name] = list(range(place, place + column.width))
            place += column.width
        code = self.code.only(names)
        return replace(self, code=code, X=self.X[:, [i for name in names for i in own[name]]])


def coded_table(
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    sample_weight: Any = None,
    classification: bool | None = None,
    na: Sequence[str] = (),
    leaves_out: bool = False,
) -> CodedTable:
    """Checks and codes a table and its target; rows of weight zero and rows without a target are left out.

    Args:
        X: a pandas, polars or pyarrow table, or an array; texts become categorical inputs, dates calendar parts.
        y: one target per row or several, or the name of a column of X; texts and booleans are classes unless
            ``classification`` says otherwise.
        names, outputs: of the columns and of the targets, instead of their own.
        na: words that mean, in every column, that a cell is missing.
        leaves_out: whether constants, copies of other columns, identifiers and indices are left out.

    Raises:
        DataError: names the columns and the rows that cannot be used, all at once.
    """
    X, y = with_its_target(X, y)
    na = check_name_list("na", na)
    table = Table.of(X, names).without(na)
    _check_lengths(table, y)
    weight = _checked_weight(sample_weight, table.n_rows)
    cells = read_target(y, classification, na)
    has_weight = np.ones(table.n_rows, dtype=bool) if weight is None else weight > 0
    kept = has_weight & ~cells.missing
    n_gone = int((has_weight & cells.missing).sum())
    if not kept.any():
        raise DataError(f"{_called(cells)} is missing in every row")
    weight = None if weight is None else weight[kept]
    try:
        made = _coded(table.rows(kept), cells.rows(kept), outputs, weight, na, leaves_out)
    except DataError:
        # once more with all rows in their places, so that they are counted as they stand in the table
        place = np.where(kept, np.arange(table.n_rows), np.argmax(kept))
        _coded(table.rows(place), cells.rows(place), outputs, None, na, leaves_out)
        raise
    told = Treatment(", ".join(made.target.outputs), (), _about_target(made.target, n_gone))
    return replace(made, code=replace(made.code, treatments=(*made.code.treatments, told)), n_without_target=n_gone)


def _coded(
    table: Table,
    cells: TargetCells,
    outputs: Sequence[str] | None,
    weight: np.ndarray | None,
    na: Sequence[str],
    leaves_out: bool,
) -> CodedTable:
    """The rows as numbers.

    Raises:
        DataError: all that is wrong with the columns and the target.
    """
    problems = Problems()
    target, coded = None, None
    with problems.noted():
        target = target_for(cells, table.names or input_names(len(table.columns)), outputs)
    with problems.noted():
        z = np.zeros((table.n_rows, 1)) if target is None else target.standardised
        coded = fitted_code(table, z, sample_weight=weight, leaves_out=leaves_out, na=na)
    problems.told()
    assert target is not None
    assert coded is not None
    code, X = coded
    return CodedTable(code, X, target, weight)


def rows_without_target(n: int, of: str = "") -> str:
    """What is told of rows that were left out; ``of`` says which rows they are among.

    >>> rows_without_target(1, " of the test")
    '1 row of the test without a target was left out'
    """
    return f"{n:,} row{'s' * (n > 1)}{of} without a target {'were' if n > 1 else 'was'} left out"


def _about_target(target: Target, n_gone: int) -> str:
    what = "the target" if target.classes is None else f"the target, {len(target.classes)} classes"
    return f"{what}; {rows_without_target(n_gone)}" if n_gone else what


def _called(cells: TargetCells) -> str:
    return f"target {(cells.names or ['y'])[0]!r}"


def _check_lengths(table: Table, y: Any) -> None:
    n_targets = _length(y)
    if n_targets != table.n_rows:
        raise DataError(f"X has {_rows(table.n_rows)} but y has {n_targets:,}")
    if table.n_rows < 2:
        samples = "1 sample" if table.n_rows else "0 samples"
        raise DataError(f"found {_rows(table.n_rows)} ({samples}): at least 2 are needed")


def with_its_target(X: Any, y: Any) -> tuple[Any, Any]:
    """The other columns of a data frame and the one that y names; what was given where y is no name."""
    if not isinstance(y, str) or isinstance(X, Table) or not hasattr(X, "columns"):
        return X, y
    table = Table.of(X)
    (place,) = table.places([y], "the target")
    others = [i for i in range(len(table.columns)) if i != place]
    if not others:
        raise DataError(f"the table has no column beside the target {y!r} to learn from")
    return table.chosen(others), X[list(X.columns)[place]]


def _length(y: Any) -> int:
    array = even_array(y, "y")
    if not array.shape:
        hint = f": of a data frame give X.drop(columns={str(y)!r}) and X[{str(y)!r}]"
        raise DataError(
            f"y must hold one value, or one row of values, per row of X; got {array.item()!r}"
            + (hint if array.dtype.kind == "U" else "")
        )
    return len(array)


def _rows(n: int) -> str:
    return f"{n:,} row{'s' * (n != 1)}"


def _checked_weight(weight: Any, n: int) -> np.ndarray | None:
    if weight is None:
        return None
    check_unmasked("sample_weight", weight)
    try:
        values = np.asarray(weight, dtype=float)
    except (TypeError, ValueError):
        raise DataError("sample_weight must hold numbers") from None
    if values.ndim == 0:
        values = np.full(n, float(values))
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise DataError(f"sample_weight must hold one number >= 0 per row ({n}), not all of them zero")
    return values
