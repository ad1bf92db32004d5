"""The cells of a column: which are missing, infinite or no numbers, said in one place and in one way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compsparse.checks import row_text
from compsparse.errors import DataError

_NOTHING = ("NAType", "NaTType")
"""What pandas puts where there is nothing."""


def plain_values(values: Any) -> np.ndarray:
    """A column as an array; objects that are all numbers, or all of them true or false, become an array of those."""
    column = np.asarray(values)
    if column.dtype != object:
        return column
    cells = column.ravel().tolist()
    if cells and all(isinstance(cell, (bool, np.bool_)) for cell in cells):
        return column.astype(bool)
    if cells and all(_is_number(cell) for cell in cells):
        whole = all(isinstance(cell, (int, np.integer)) and abs(int(cell)) < 2**63 for cell in cells)
        return column.astype(np.int64 if whole else float)
    return column


def even_array(values: Any, what: str) -> np.ndarray:
    """An array of the values; rows of different lengths are refused."""
    try:
        return np.asarray(values)
    except ValueError:
        raise DataError(f"{what} must have rows of one length") from None


def is_numeric(values: np.ndarray) -> bool:
    """Whether a column holds numbers, or values that are true or false."""
    return values.dtype.kind in "iufb"


def holds_text(values: np.ndarray) -> bool:
    """Whether some cell of a column is a text."""
    return values.dtype.kind in "US" or (
        values.dtype == object and any(isinstance(cell, str) for cell in values.ravel().tolist())
    )


def check_cells(values: np.ndarray, what: str) -> None:
    """Refuses missing and infinite cells; ``what`` names the column in errors, as in "column 'x'"."""
    if values.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(values))
    elif values.dtype == object:
        cells = values.tolist()
        bad = np.array([i for i, cell in enumerate(cells) if _is_missing(cell) or _is_infinite(cell)], dtype=int)
    else:
        return
    if len(bad):
        raise DataError(_bad_cell(values, bad.tolist(), what))


def finite_numbers(values: np.ndarray, what: str) -> np.ndarray:
    """A column as finite floats.

    Raises:
        DataError: names the first row that holds something else.
    """
    if values.dtype.kind in "Mmc":
        raise DataError(f"{what} holds {values.dtype} values; turn them into numbers first")
    check_cells(values, what)
    try:
        numbers = values.astype(float)
    except (TypeError, ValueError, OverflowError):
        row = next(i for i, cell in enumerate(values.tolist()) if not _reads_as_number(cell))
        raise DataError(f"{what} must hold numbers, got {values.tolist()[row]!r} in {row_text(row)}") from None
    check_cells(numbers, what)
    return numbers


def texts_in(values: np.ndarray, what: str) -> np.ndarray:
    """A column as texts, none of them missing."""
    check_cells(values, what)
    return values.astype(str)


def reads_as_numbers(texts: Sequence[str]) -> bool:
    """Whether more than half of the texts can be read as numbers."""
    return sum(_reads_as_number(text) for text in texts) > len(texts) / 2


def _bad_cell(values: np.ndarray, rows: list[int], what: str) -> str:
    problem = "a missing value (NaN)" if _is_missing(values.tolist()[rows[0]]) else "an infinite value (inf)"
    more = len(rows) - 1
    others = f" and in {more:,} more row{'s' * (more > 1)}" if more else ""
    return f"{what} has {problem} in {row_text(rows[0])}{others}: fill in such values, or leave their rows out"


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool)


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and np.isnan(cell)) or type(cell).__name__ in _NOTHING


def _is_infinite(cell: Any) -> bool:
    return isinstance(cell, float) and bool(np.isinf(cell))


def _reads_as_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
