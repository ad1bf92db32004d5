"""How a table becomes numbers: numbers standardised, texts as indicator columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import input_names
from compsparse.errors import DataError
from compsparse.tables.columns import SEPARATOR, Table
from compsparse.tables.scaling import Scale, scale_of
from compsparse.tables.values import finite_numbers, is_numeric, reads_as_numbers, texts_in
from compsparse.text import in_a_line

MOST_LEVELS = 50
"""Different texts in a column beyond which it is taken for an identifier."""


@dataclass(frozen=True)
class NumberColumn:
    """A numeric input, standardised."""

    name: str
    mean: float
    scale: float

    @property
    def width(self) -> int:
        """Encoded columns: one."""
        return 1

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """The column as (rows, 1) numbers."""
        numbers = finite_numbers(values, f"column {self.name!r}")
        return Scale(self.mean, self.scale).standardised(numbers)[:, None]


@dataclass(frozen=True)
class TextColumn:
    """A categorical input: a sign for two levels, else one indicator per level; a level never seen has none."""

    name: str
    levels: tuple[str, ...]

    @property
    def width(self) -> int:
        """Encoded columns."""
        return len(self.levels) if len(self.levels) > 2 else 1

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """The column as (rows, width) numbers."""
        texts = texts_in(values, f"column {self.name!r}")
        is_level = np.stack([texts == level for level in self.levels], axis=1)
        # signs of -1 and 1 keep the scale of standardised numbers
        signs: np.ndarray = (
            is_level @ np.array([-1.0, 1.0])[: len(self.levels), None] if self.width == 1 else 2.0 * is_level - 1.0
        )
        return signs

    def new_levels(self, values: np.ndarray) -> tuple[str, ...]:
        """Texts of a column that are no level."""
        return tuple(sorted(set(texts_in(values, f"column {self.name!r}").tolist()) - set(self.levels)))


@in_a_line
@dataclass(frozen=True)
class TableCode:
    """How a table becomes numbers; the same for fitting and for predicting."""

    inputs: tuple[NumberColumn | TextColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(column.name for column in self.inputs)

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Names of the encoded columns of every input."""
        return {
            c.name: (c.name,) if c.width == 1 else tuple(f"{c.name}{SEPARATOR}{i}" for i in range(c.width))
            for c in self.inputs
        }

    def encoded(self, X: Any, unused: Collection[str] = ()) -> np.ndarray:
        """The table as numbers, (rows, encoded columns); columns are found by name where there are names.

        Args:
            unused: columns that nobody reads: they may be missing or hold anything, and become zeros.
        """
        table = self.chosen(X, unused)
        found = dict(zip(table.names or (), table.columns, strict=True))
        parts = [
            column.encoded(found[column.name]) if column.name in found else np.zeros((table.n_rows, column.width))
            for column in self.inputs
        ]
        return np.concatenate(parts, axis=1)

    def chosen(self, X: Any, unused: Collection[str] = ()) -> Table:
        """The columns of a table that are the inputs, in their order, without those that are ``unused``."""
        table = Table.of(X)
        if not table.n_rows:
            raise DataError("the table has no rows")
        kept = [i for i, name in enumerate(self.names) if name not in unused]
        if table.names is not None:
            return table.chosen(table.places([self.names[i] for i in kept], "the model"))
        if len(table.columns) != len(self.inputs):
            raise DataError(
                f"the table has {len(table.columns)} columns, but the model was fitted on {len(self.inputs)}"
            )
        return table.named(self.names).chosen(kept)

    def new_levels(self, X: Any, unused: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
        """Texts that were never seen, by column; they are coded as none of the known levels."""
        table = self.chosen(X, unused)
        values = dict(zip(table.names or (), table.columns, strict=True))
        found = {
            column.name: column.new_levels(values[column.name])
            for column in self.inputs
            if isinstance(column, TextColumn) and column.name in values
        }
        return {name: levels for name, levels in found.items() if levels}


def code_for(X: Any, names: Sequence[str] | None = None, sample_weight: np.ndarray | None = None) -> TableCode:
    """Looks at every column of a table.

    Raises:
        DataError: names the column that cannot be used, and why.
    """
    table = Table.of(X, names)
    if not table.n_rows:
        raise DataError("the table has no rows")
    named = zip(table.names or input_names(len(table.columns)), table.columns, strict=True)
    return TableCode(tuple(_look_at(name, column, sample_weight) for name, column in named))


def _look_at(name: str, values: np.ndarray, weight: np.ndarray | None) -> NumberColumn | TextColumn:
    what = f"column {name!r}"
    if is_numeric(values) or values.dtype.kind in "Mmc":
        scale = scale_of(finite_numbers(values, what), weight)
        return NumberColumn(name, scale.centre, scale.spread)
    levels = tuple(sorted(set(texts_in(values, what).tolist())))
    if len(levels) > MOST_LEVELS:
        if reads_as_numbers(levels):
            # says which cell is no number, where there is one
            finite_numbers(values, what)
        raise DataError(
            f"{what} holds {len(levels):,} different texts in {len(values):,} rows, more than {MOST_LEVELS}: "
            "if it is an identifier leave it out, otherwise group its levels"
        )
    return TextColumn(name, levels)
