"""Tables as discovery reads them: named inputs, text turned into indicator columns, everything checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.errors import DataError
from compsparse.graph import input_names

SEPARATOR = "\x1f"
"""Marks names that are ours alone; no column carries it."""
_NOTHING = ("NAType", "NaTType")
"""What pandas puts where there is nothing."""
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
        return 1

    def encoded(self, values: np.ndarray) -> np.ndarray:
        return ((finite_numbers(values, f"column {self.name!r}") - self.mean) / self.scale)[:, None]


@dataclass(frozen=True)
class TextColumn:
    """A categorical input: a sign for two levels, else one indicator per level; a level never seen has none."""

    name: str
    levels: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.levels) if len(self.levels) > 2 else 1

    def encoded(self, values: np.ndarray) -> np.ndarray:
        texts = _texts(values, self.name)
        is_level = np.stack([texts == level for level in self.levels], axis=1)
        if self.width == 1:
            return is_level.astype(float) @ np.array([-1.0, 1.0])[: len(self.levels), None]
        # indicators of -1 and 1 keep the scale of standardised numbers
        return 2.0 * is_level - 1.0


@dataclass(frozen=True)
class TableCode:
    """How a table becomes numbers; the same for fitting and for predicting."""

    inputs: tuple[NumberColumn | TextColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.inputs)

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Names of the encoded columns of every input."""
        return {
            c.name: (c.name,) if c.width == 1 else tuple(f"{c.name}{SEPARATOR}{i}" for i in range(c.width))
            for c in self.inputs
        }

    def encoded(self, X: Any) -> np.ndarray:
        """The table as numbers, (rows, encoded columns); columns are found by name where there are names."""
        names, values = columns_of(X)
        if names is None:
            if len(values) != len(self.inputs):
                raise DataError(f"the table has {len(values)} columns, but the model was fitted on {len(self.inputs)}")
            chosen = values
        else:
            missing = [c.name for c in self.inputs if c.name not in names]
            if missing:
                raise DataError(f"the table has no column {missing[0]!r}, which the model needs")
            chosen = [values[names.index(c.name)] for c in self.inputs]
        return np.concatenate([c.encoded(v) for c, v in zip(self.inputs, chosen, strict=True)], axis=1)


def columns_of(X: Any) -> tuple[list[str] | None, list[np.ndarray]]:
    """Names (None for plain arrays) and columns of a pandas or polars table, or of an array."""
    if hasattr(X, "columns") and hasattr(X, "shape"):
        names = [str(name) for name in X.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"the table has two columns named {twice!r}")
        return names, [np.asarray(X[name]) for name in X.columns]
    array = np.asarray(X)
    if array.ndim != 2:
        raise DataError(f"X must be a table of rows and columns, got an array of shape {array.shape}")
    return None, list(array.T)


def code_for(X: Any, names: Sequence[str] | None = None, weight: np.ndarray | None = None) -> TableCode:
    """Looks at every column of a table.

    Raises:
        DataError: names the column that cannot be used, and why.
    """
    found, values = columns_of(X)
    if not values:
        raise DataError("X has no columns")
    if names is not None and len(names) != len(values):
        raise DataError(f"{len(values)} columns need as many names, got {len(names)}")
    names = tuple(names or found or input_names(len(values)))
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name or SEPARATOR in name:
            raise DataError(f"column {i} needs a name that is a non-empty text, got {name!r}")
        if name in names[:i]:
            raise DataError(f"two columns are named {name!r}")
    return TableCode(tuple(_look_at(name, column, weight) for name, column in zip(names, values, strict=True)))


def _look_at(name: str, values: np.ndarray, weight: np.ndarray | None) -> NumberColumn | TextColumn:
    if is_numeric(values) or holds_numbers(values) or values.dtype.kind in "Mmc":
        numbers = finite_numbers(values, f"column {name!r}")
        mean = float(np.average(numbers, weights=weight))
        scale = float(np.sqrt(np.average((numbers - mean) ** 2, weights=weight)))
        return NumberColumn(name, mean, scale if scale > 1e-12 * max(1.0, abs(mean)) else 1.0)
    levels = tuple(sorted(set(_texts(values, name).tolist())))
    if len(levels) > MOST_LEVELS:
        raise DataError(
            f"column {name!r} holds {len(levels):,} different texts in {len(values):,} rows, more than {MOST_LEVELS}: "
            "if it is an identifier leave it out, otherwise group its levels"
        )
    return TextColumn(name, levels)


def holds_numbers(values: np.ndarray) -> bool:
    """Whether a column of objects holds nothing but numbers."""
    return values.dtype == object and all(
        isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in values.ravel().tolist()
    )


def is_numeric(values: np.ndarray) -> bool:
    return values.dtype.kind in "iufb"


def finite_numbers(values: np.ndarray, what: str) -> np.ndarray:
    """A column as floats; ``what`` names it in errors, as in "column 'x'"."""
    if values.dtype.kind in "Mmc":
        raise DataError(f"{what} holds {values.dtype} values; turn them into numbers first")
    try:
        numbers = values.astype(float)
    except (TypeError, ValueError):
        raise DataError(f"{what} must hold numbers, got {values.dtype} values") from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        problem = "a missing value (NaN)" if np.isnan(numbers[bad[0]]) else "an infinite value (inf)"
        raise DataError(f"{what} has {problem} in row {bad[0]}")
    return numbers


def _texts(values: np.ndarray, name: str) -> np.ndarray:
    missing = first_missing(values)
    if missing is not None:
        raise DataError(f"column {name!r} has a missing value in row {missing}")
    return values.astype(str)


def first_missing(values: np.ndarray) -> int | None:
    """The first entry that is None or NaN."""
    for i, value in enumerate(values.tolist()):
        if value is None or (isinstance(value, float) and np.isnan(value)) or type(value).__name__ in _NOTHING:
            return i
    return None
