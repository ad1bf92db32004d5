"""A table as everything here reads it: columns of equal length, with their names where they have any."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compsparse.checks import check_names
from compsparse.errors import DataError
from compsparse.tables.values import blanked, categories, even_array, plain_values
from compsparse.text import in_a_line

SEPARATOR = "\x1f"
"""Marks names that are ours alone; no column carries it."""


@in_a_line
@dataclass(frozen=True, eq=False)
class Table:
    """Named columns; pandas and polars tables and arrays all become one of these.

    Attributes:
        names: of the columns; None for a plain array, whose columns go by their place.
        columns: one array each.
        n_rows: how long they are.
    """

    names: tuple[str, ...] | None
    columns: tuple[np.ndarray, ...]
    n_rows: int

    @classmethod
    def of(cls, X: Any, names: Sequence[str] | None = None) -> Table:
        """The columns of a pandas or polars table or of an array; ``names`` are used instead of its own.

        Raises:
            DataError: it is no table, or two of its columns have one name.
            ConfigError: the names given are not as many different texts as there are columns.
        """
        if isinstance(X, Table):
            found = X
        elif isinstance(X, (str, Path)):
            raise DataError(f"X must be a table, got {str(X)!r}; compsparse.tables.read_table reads a file")
        elif hasattr(X, "column_names") and hasattr(X, "to_pandas"):  # a table of pyarrow
            found = cls.of(X.to_pandas())
        elif hasattr(X, "columns") and hasattr(X, "shape"):
            own = _checked_names([str(name) for name in X.columns])
            found = cls(own, tuple(_cells(X[name]) for name in X.columns), len(X))
        else:
            array = even_array(X, "X")
            if array.ndim != 2:
                raise DataError(f"X must be a table of rows and columns, got an array of shape {array.shape}")
            found = cls(None, tuple(plain_values(column) for column in array.T), len(array))
        if not found.columns:
            raise DataError("X has no columns")
        return found if names is None else found.named(names)

    def named(self, names: Sequence[str]) -> Table:
        """The same columns under other names."""
        return Table(_checked_names(check_names(names, len(self.columns), "input")), self.columns, self.n_rows)

    def without(self, words: Collection[str]) -> Table:
        """The table in which cells that read as one of the words hold nothing."""
        columns = tuple(blanked(column, words) for column in self.columns) if words else self.columns
        return Table(self.names, columns, self.n_rows)

    def chosen(self, places: Sequence[int]) -> Table:
        """Some of the columns, in the order of their places."""
        names = None if self.names is None else tuple(self.names[i] for i in places)
        return Table(names, tuple(self.columns[i] for i in places), self.n_rows)

    def rows(self, kept: np.ndarray) -> Table:
        """The rows for which ``kept`` is true, or those of the places it holds."""
        if kept.dtype == bool and kept.all():
            return self
        n = int(kept.sum()) if kept.dtype == bool else len(kept)
        return Table(self.names, tuple(column[kept] for column in self.columns), n)

    def places(self, names: Sequence[str], needed_by: str) -> list[int]:
        """Where the columns stand that something needs, as in "the graph"."""
        there = {name: i for i, name in enumerate(self.names or ())}
        missing = [name for name in names if name not in there]
        if missing:
            which = "it" if len(missing) == 1 else "them"
            raise DataError(f"{no_such_columns(missing, list(there))} ({needed_by} needs {which})")
        return [there[name] for name in names]


def _cells(column: Any) -> np.ndarray:
    """A column of a pandas or a polars table; categories as such, times as the clock of their zone shows them."""
    dtype = getattr(column, "dtype", None)
    if str(dtype).lower().startswith(("category", "categorical", "enum")):
        return categories(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if getattr(dtype, "kind", "") == "M" and hasattr(column, "dt"):
        return np.asarray((column if column.dt.tz is None else column.dt.tz_localize(None)).astype("datetime64[us]"))
    if getattr(dtype, "time_zone", None):
        return np.asarray(column.dt.replace_time_zone(None))
    return plain_values(column)


def rows_of(table: Any, kept: np.ndarray) -> Any:
    """The rows of an array, of a pandas or a polars table for which ``kept`` is true."""
    if isinstance(table, Table):
        return table.rows(kept)
    if hasattr(table, "loc"):
        return table[kept]
    if hasattr(table, "filter") and hasattr(table, "columns"):
        return table.filter(kept)
    return even_array(table, "the table")[kept]


def no_such_columns(names: Sequence[str], columns: Sequence[str]) -> str:
    """What to say of columns that are not there."""
    what = "there is no column" if len(names) == 1 else "there are no columns"
    return f"{what} {', '.join(map(repr, names))}; the columns are {', '.join(columns)}"


def _checked_names(names: Sequence[str]) -> tuple[str, ...]:
    for i, name in enumerate(names):
        if not name or SEPARATOR in name:
            raise DataError(f"column {i + 1} (counted from 1) needs a name that is a non-empty text, got {name!r}")
        if name in names[:i]:
            raise DataError(f"the table has two columns named {name!r}")
    return tuple(names)
