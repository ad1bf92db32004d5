"""A table and its target as numbers, checked together: what a fit and a search start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compsparse.checks import check_unmasked
from compsparse.errors import DataError
from compsparse.sizes import check_size
from compsparse.tables.coding import TableCode, code_for
from compsparse.tables.columns import Table, rows_of
from compsparse.tables.copies import copies_in
from compsparse.tables.targets import Target, target_for
from compsparse.tables.values import even_array
from compsparse.text import in_a_line

_COPIES = 8
"""How often a table stands in memory at the most, as numbers: while equal rows are looked for."""


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
    """

    code: TableCode
    X: np.ndarray
    target: Target
    sample_weight: np.ndarray | None = None
    n_copies: int = 0

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
        return CodedTable(self.code, self.X[kept], target, None if is_even else weight, len(same) - len(kept))


def coded_table(
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    sample_weight: Any = None,
    classification: bool | None = None,
) -> CodedTable:
    """Checks and codes a table and its target; rows of weight zero are left out.

    Args:
        X: a pandas or polars table, or an array; texts become categorical inputs.
        y: one target per row or several, or the name of a column of X; texts and booleans are classes unless
            ``classification`` says otherwise.
        names, outputs: of the columns and of the targets, instead of their own.

    Raises:
        DataError: names the column and the row that cannot be used.
    """
    X, y = with_its_target(X, y)
    table = Table.of(X, names)
    n_targets = _length(y)
    if n_targets != table.n_rows:
        raise DataError(f"X has {_rows(table.n_rows)} but y has {n_targets:,}")
    if table.n_rows < 2:
        samples = "1 sample" if table.n_rows else "0 samples"
        raise DataError(f"found {_rows(table.n_rows)} ({samples}): at least 2 are needed")
    weight = _checked_weight(sample_weight, table.n_rows)
    if weight is not None and not weight.all():
        kept = weight > 0
        table, y, weight = table.rows(kept), rows_of(y, kept), weight[kept]
    code = code_for(table, sample_weight=weight)
    width = sum(column.width for column in code.inputs)
    check_size(
        f"{_rows(table.n_rows)} of {width:,} encoded columns",
        table.n_rows * width * _COPIES,
        "give a random part of the rows, or fewer columns",
    )
    return CodedTable(code, code.encoded(table), target_for(y, code.names, outputs, classification), weight)


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
