"""The cells of a column: which are missing, infinite or no numbers, said in one place and in one way."""

from __future__ import annotations

import datetime
import numbers
import shlex
from collections.abc import Collection, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np

from compsparse.checks import brief, check_unmasked, row_text
from compsparse.errors import CellError, DataError
from compsparse.tables.notation import Notation

_NOTHING = ("NAType", "NaTType")
"""What pandas puts where there is nothing."""


def plain_values(values: Any) -> np.ndarray:
    """A column as an array; objects that are all numbers, or all of them true or false, become an array of those.

    Where some are missing, it is an array of floats with NaN in their places.
    """
    column = np.asarray(unmasked(values))
    if column.dtype != object:
        return column
    cells = column.ravel().tolist()
    said = [cell for cell in cells if not is_missing(cell)]
    is_full = len(said) == len(cells) and bool(cells)
    are_flags = all(isinstance(cell, (bool, np.bool_)) for cell in said)
    if is_full and are_flags:
        return column.astype(bool)
    if are_flags or all(_is_number(cell) for cell in said):
        whole = is_full and all(isinstance(cell, (int, np.integer)) and abs(int(cell)) < 2**63 for cell in said)
        with suppress(OverflowError):  # a whole number beyond the largest float
            if whole:
                return column.astype(np.int64)
            found = [np.nan if is_missing(cell) else float(cell) for cell in cells]
            return np.array(found).reshape(column.shape)
    return column


class Categories(np.ndarray):
    """Cells whose type says that they are categories, whatever the texts look like."""


def categories(values: Any) -> np.ndarray:
    """Cells as texts that are categories, None where something is missing."""
    cells = np.array([None if is_missing(cell) else text_of(cell) for cell in values], dtype=object)
    found: np.ndarray = cells.view(Categories)
    return found


def missing_cells(values: np.ndarray) -> np.ndarray:
    """Which cells of a column hold nothing."""
    if values.dtype.kind in "fc":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "Mm":
        return np.asarray(np.isnat(values))
    if values.dtype == object:
        return np.array([is_missing(cell) for cell in values.tolist()], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def blanked(values: np.ndarray, words: Collection[str]) -> np.ndarray:
    """A column in which cells that read as one of the words hold nothing."""
    if values.dtype.kind in "iuf":
        said = [float(word) for word in words if _reads_as_number(word)]
        gone = np.isin(values, said)
        return np.where(gone, np.nan, values) if gone.any() else values
    if values.dtype.kind not in "OU":
        return values
    gone = np.array([isinstance(cell, str) and cell.strip() in words for cell in values.tolist()], dtype=bool)
    if not gone.any():
        return values
    found = values.astype(object).view(type(values))
    found[gone] = None
    return plain_values(found) if type(found) is np.ndarray else found


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


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, NaT, pandas' NA, a masked cell, an empty text."""
    is_nan = isinstance(cell, (float, np.floating)) and np.isnan(cell)
    is_nat = isinstance(cell, (np.datetime64, np.timedelta64)) and np.isnat(cell)
    is_blank = isinstance(cell, str) and not cell.strip()
    return cell is None or cell is np.ma.masked or is_nan or is_nat or is_blank or type(cell).__name__ in _NOTHING


def is_numeric(values: np.ndarray) -> bool:
    """Whether a column holds numbers, or values that are true or false."""
    return values.dtype.kind in "iufb"


def holds_numbers(values: np.ndarray) -> bool:
    """Whether a column can be read as numbers, but for the cells where something is missing."""
    if values.dtype != object:
        return is_numeric(values)
    return all(
        is_missing(cell) or isinstance(cell, (bool, np.bool_)) or (_is_number(cell) and _reads_as_number(cell))
        for cell in values.ravel()
    )


def check_cells(values: np.ndarray, what: str) -> None:
    """Refuses missing and infinite cells; ``what`` names the column in errors, as in "column 'x'"."""
    if values.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(values))
    elif values.dtype == object:
        cells = values.tolist()
        bad = np.array([i for i, cell in enumerate(cells) if is_missing(cell) or _is_infinite(cell)], dtype=int)
    else:
        return
    if len(bad):
        raise DataError(_bad_cell(values, bad.tolist(), what))


def check_kinds(values: np.ndarray, what: str) -> None:
    """Refuses a cell that is neither number nor text: a list, bytes, a date among numbers."""
    for row, cell in enumerate(values.tolist() if values.dtype.kind in "OSV" else ()):
        if not (isinstance(cell, (str, bool, np.bool_)) or _is_number(cell) or is_missing(cell)):
            raise CellError(
                f"{what} holds {brief(cell)} in {row_text(row)}: each cell of this argument must be a string or a "
                "number, so turn such cells into one of the two first"
            )


def numbers_in(values: np.ndarray, what: str, notation: Notation | None = None) -> np.ndarray:
    """A column as floats, NaN where something is missing; durations in seconds, times of day in hours.

    Args:
        notation: of the numbers in texts.

    Raises:
        DataError: names the first row that holds something else.
    """
    kind = values.dtype.kind
    if kind in "iufb":
        return values.astype(float)
    if kind == "m":
        return np.where(np.isnat(values), np.nan, values.astype("timedelta64[us]").astype(float) / 1e6)
    if kind in "Mc":
        raise DataError(f"{what} holds {values.dtype} values; turn them into numbers first")
    cells = [_amount(cell) for cell in values.tolist()]
    check_kinds(np.array([*cells, None], dtype=object)[:-1], what)
    texts = [(row, cell) for row, cell in enumerate(cells) if isinstance(cell, str)]
    found, bad = np.full(len(cells), np.nan), []
    for row, cell in enumerate(cells):
        if not (isinstance(cell, str) or is_missing(cell)):
            try:
                found[row] = float(cell)
            except OverflowError:
                bad.append(row)
    if texts:
        read, unread = (notation or Notation()).numbers([text for _, text in texts])
        found[[row for row, _ in texts]] = read
        bad += [texts[k][0] for k in unread]
    if bad:
        raise DataError(no_number(cells, sorted(bad), what))
    return found


def no_number(cells: Sequence[Any], bad: Sequence[int], what: str, wanted: str = "numbers") -> str:
    """What to say of cells that cannot be read."""
    cell, more = cells[bad[0]], len(bad) - 1
    others = f" and in {more:,} more row{'s' * (more > 1)}" if more else ""
    told = f"{what} must hold {wanted}, got {brief(cell)} in {row_text(bad[0])}{others}"
    if not isinstance(cell, str):
        return told
    return f"{told}: correct such cells, or say that they are missing (na=[{brief(cell)}], --na {shlex.quote(cell)})"


def _amount(cell: Any) -> Any:
    """A time of day in hours, a duration in seconds; anything else as it is."""
    if isinstance(cell, datetime.time):
        return cell.hour + cell.minute / 60 + (cell.second + cell.microsecond / 1e6) / 3600
    return cell.total_seconds() if isinstance(cell, datetime.timedelta) and not is_missing(cell) else cell


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
    """A column as texts, None where something is missing.

    Raises:
        DataError: names the first row that holds neither a text nor a number.
    """
    check_kinds(values, what)
    return np.array([None if is_missing(cell) else text_of(cell) for cell in values.tolist()], dtype=object)


def text_of(cell: Any) -> str:
    """A cell as the name of a level; 2 and 2.0 are one."""
    is_whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell)) if is_whole else str(cell)


def _bad_cell(values: np.ndarray, rows: list[int], what: str) -> str:
    problem = "a missing value (NaN)" if is_missing(values.tolist()[rows[0]]) else "an infinite value (inf)"
    more = len(rows) - 1
    others = f" and in {more:,} more row{'s' * (more > 1)}" if more else ""
    return f"{what} has {problem} in {row_text(rows[0])}{others}: fill in such values, or leave their rows out"


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (numbers.Real, Decimal)) and not isinstance(cell, bool)


def _is_infinite(cell: Any) -> bool:
    return isinstance(cell, (float, np.floating)) and bool(np.isinf(cell))


def _reads_as_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
