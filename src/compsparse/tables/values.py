"""The cells of a column: which are missing, infinite or no numbers, said in one place and in one way."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np

from compsparse.checks import brief, check_unmasked, row_text
from compsparse.errors import CellError, DataError

_NOTHING = ("NAType", "NaTType")
"""What pandas puts where there is nothing."""


def plain_values(values: Any) -> np.ndarray:
    """A column as an array; objects that are all numbers, or all of them true or false, become an array of those."""
    column = np.asarray(unmasked(values))
    if column.dtype != object:
        return column
    cells = column.ravel().tolist()
    if cells and all(isinstance(cell, (bool, np.bool_)) for cell in cells):
        return column.astype(bool)
    if cells and all(_is_number(cell) for cell in cells):
        whole = all(isinstance(cell, (int, np.integer)) and abs(int(cell)) < 2**63 for cell in cells)
        with suppress(OverflowError):  # a whole number beyond the largest float
            return column.astype(np.int64 if whole else float)
    return column


def unmasked(values: Any) -> Any:
    """A masked array as one in which nothing stands where it was masked; anything else as it is."""
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return values
    cells = np.array(values.data, dtype=object)
    cells[np.ma.getmaskarray(values)] = None
    return cells


def even_array(values: Any, what: str) -> np.ndarray:
    """An array of the values, cells of a list in their own types; rows of different lengths are refused."""
    is_list = isinstance(values, (list, tuple))
    if is_list:
        check_unmasked(what, values)
    try:
        array = np.asarray(unmasked(values))
        # numpy would make texts of the numbers beside texts
        return np.asarray(values, dtype=object) if is_list and array.dtype.kind in "US" else array
    except ValueError:
        raise DataError(f"{what} must have rows of one length") from None


def is_numeric(values: np.ndarray) -> bool:
    """Whether a column holds numbers, or values that are true or false."""
    return values.dtype.kind in "iufb"


def holds_numbers(values: np.ndarray) -> bool:
    """Whether a column can be read as numbers, but for the cells where something is missing."""
    if values.dtype != object:
        return is_numeric(values)
    return all(
        _is_missing(cell) or isinstance(cell, (bool, np.bool_)) or (_is_number(cell) and _reads_as_number(cell))
        for cell in values.ravel()
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


def check_kinds(values: np.ndarray, what: str) -> None:
    """Refuses a cell that is neither number nor text: a date, a list, bytes."""
    for row, cell in enumerate(values.tolist() if values.dtype.kind in "OSV" else ()):
        if not (isinstance(cell, (str, bool, np.bool_)) or _is_number(cell)):
            raise CellError(
                f"{what} holds {brief(cell)} in {row_text(row)}: each cell of this argument must be a string or a "
                "number, so turn such cells into one of the two first"
            )


def finite_numbers(values: np.ndarray, what: str) -> np.ndarray:
    """A column as finite floats.

    Raises:
        DataError: names the first row that holds something else.
    """
    if values.dtype.kind in "Mmc":
        raise DataError(f"{what} holds {values.dtype} values; turn them into numbers first")
    check_cells(values, what)
    check_kinds(values, what)
    try:
        found = values.astype(float)
    except (TypeError, ValueError, OverflowError):
        row = next(i for i, cell in enumerate(values.tolist()) if not _reads_as_number(cell))
        raise DataError(f"{what} must hold numbers, got {brief(values.tolist()[row])} in {row_text(row)}") from None
    check_cells(found, what)
    return found


def texts_in(values: np.ndarray, what: str) -> np.ndarray:
    """A column as texts, none of them missing.

    Raises:
        DataError: names the first row that holds no text, and no number that a float can hold.
    """
    check_cells(values, what)
    check_kinds(values, what)
    if values.dtype == object and all(map(_is_number, values.tolist())):
        finite_numbers(values, what)  # says which is too large
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
    return isinstance(cell, (numbers.Real, Decimal)) and not isinstance(cell, bool)


def _is_missing(cell: Any) -> bool:
    is_nan = isinstance(cell, (float, np.floating)) and np.isnan(cell)
    return cell is None or cell is np.ma.masked or is_nan or type(cell).__name__ in _NOTHING


def _is_infinite(cell: Any) -> bool:
    return isinstance(cell, (float, np.floating)) and bool(np.isinf(cell))


def _reads_as_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
