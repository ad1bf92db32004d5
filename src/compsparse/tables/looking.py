"""Looking at a column for the first time: what it holds, and how a model is to read it."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from compsparse.checks import brief
from compsparse.errors import DataError
from compsparse.tables.dates import ROUNDS, calendar_part, date_in, days, is_date, order_of
from compsparse.tables.inputs import (
    DateColumn,
    Input,
    LeftOutColumn,
    MeanColumn,
    NumberColumn,
    TextColumn,
    dates_of,
)
from compsparse.tables.levels import MOST_LEVELS, common_levels, mean_column, text_column
from compsparse.tables.notation import NOTHING, Notation, notation_of
from compsparse.tables.scaling import scale_of
from compsparse.tables.values import Categories, check_kinds, is_missing, numbers_in, texts_in

_FEWEST_TO_MARK, _SHARE_TO_MARK = 10, 0.01
"""Missing cells, and their share, from which they are marked; of fewer nothing can be learned."""
_AS_THEY_ARE = "numbers"
_FEWEST_TO_SUSPECT = 20
_MOSTLY_DIFFERENT = 0.95
_FEWEST_DIFFERENT = 20
_SERIAL = re.compile(
    r"unnamed: ?\d+|index|idx|#|id|nr\.?|no\.|uuid|guid|laufnummer|(?:lfd|serial)[ _.-]*(?:nr|no|number)\.?"
    r"|(?:row|sample|item)[ _.-]*(?:id|nr|no|number)\.?|.*[ _.-]id|id[ _.-].*|(?-i:[A-Za-z]*[a-z]I[dD])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Treatment:
    """What was done to a column of a table.

    Attributes:
        inputs: the inputs of the model that come from it; none where it was left out.
        sentence: what was done, without a subject.
    """

    column: str
    inputs: tuple[str, ...]
    sentence: str

    def __str__(self) -> str:
        return f"{self.column}: {self.sentence}"

    @property
    def is_worth_telling(self) -> bool:
        """Whether more was done than to take numbers, or the target, as they are."""
        return self.sentence not in (_AS_THEY_ARE, "the target")


@dataclass(frozen=True, eq=False)
class Rows:
    """What is known of the rows of a fit beside their columns.

    Attributes:
        z: the target, standardised, a column for each output or class; None where there is none.
        weight: one positive number per row, 1 on average.
        leaves_out: whether identifiers are left out.
        taken: names that no part of a date may take.
    """

    n: int
    z: np.ndarray | None = None
    weight: np.ndarray | None = None
    leaves_out: bool = False
    taken: Collection[str] = field(default=())


def look_at(name: str, values: np.ndarray, rows: Rows) -> tuple[tuple[Input, ...], Treatment]:
    """The inputs that a column becomes, and what was done to it.

    Raises:
        DataError: names the cell that cannot be used, and what to do.
    """
    kind, how = _kind(values, f"column {name!r}")
    if kind == "date":
        return _dates(name, values, how, rows)
    if kind == "number":
        return _numbers(name, values, how, rows)
    return _texts(name, values, rows)


# ---- what it is ---------------------------------------------------------------------------------


def _kind(values: np.ndarray, what: str) -> tuple[str, str | Notation]:
    """Numbers with their notation, dates with the order of their parts, or texts."""
    if values.dtype.kind == "M":
        return "date", ""
    if values.dtype.kind not in "OUSV":
        return "number", Notation()
    cells = [cell for cell in values.tolist() if not is_missing(cell)]
    if cells and all(is_date(cell) for cell in cells):
        return "date", ""
    if cells and all(isinstance(cell, (datetime.time, datetime.timedelta)) for cell in cells):
        return "number", Notation()
    check_kinds(values, what)
    if isinstance(values, Categories) or not cells:
        return "text", ""
    return _kind_of_texts(cells)


def _kind_of_texts(cells: Sequence[object]) -> tuple[str, str | Notation]:
    counts = Counter(cell for cell in cells if isinstance(cell, str))
    others = [cell for cell in cells if not isinstance(cell, (str, bool, np.bool_))]
    found = notation_of({**counts, **({"0": len(others)} if others else {})})
    if found is not None and _are_values(counts, len(others), found):
        return "number", found
    if not others and (order := order_of(counts)):
        wrong = sum(
            n for text, n in counts.items() if text.strip().lower() not in NOTHING and date_in(text, order) is None
        )
        if not wrong or len(counts) > _FEWEST_DIFFERENT:
            return "date", order
    return "text", ""


def _are_values(counts: Counter[str], n_others: int, notation: Notation) -> bool:
    """Whether texts are numbers with a few mistakes, not levels of which most look like numbers."""
    right = wrong = 0
    for text in counts:
        try:
            notation.number(text)
            right += text.strip().lower() not in NOTHING
        except ValueError:
            wrong += 1
    return not wrong or right + n_others > _FEWEST_DIFFERENT


def read_numbers(values: np.ndarray, what: str) -> np.ndarray | None:
    """A column as floats, NaN where something is missing; None where it holds texts or dates."""
    kind, how = _kind(values, what)
    if kind != "number":
        return None
    return numbers_in(values, what, how if isinstance(how, Notation) else None)


def read_moments(values: np.ndarray, what: str) -> np.ndarray:
    """A column of dates or of numbers as numbers that rise with time, NaN where something is missing.

    Raises:
        DataError: it holds neither.
    """
    kind, how = _kind(values, what)
    if kind == "date":
        return days(dates_of(values, str(how), what))
    numbers = read_numbers(values, what)
    if numbers is None:
        raise DataError(f"{what} must hold dates or numbers, got texts such as {brief(values.tolist()[0])}")
    return numbers


# ---- numbers ------------------------------------------------------------------------------------


def _numbers(name: str, values: np.ndarray, how: str | Notation, rows: Rows) -> tuple[tuple[Input, ...], Treatment]:
    notation = how if isinstance(how, Notation) else Notation()
    numbers = numbers_in(values, f"column {name!r}", notation)
    if rows.leaves_out and _is_serial(name, numbers):
        return _left_out(name, "numbers the rows")
    column = replace(number_column(name, numbers, rows), decimal=notation.decimal, unit=notation.unit)
    told = [_AS_THEY_ARE, notation.told, *_seconds(values), _about_gaps(column, numbers)]
    if n := int(np.isinf(numbers).sum()):
        told.append(f"{_cells(n)} infinite, moved to the ends of the others")
    return (column,), Treatment(name, (name,), "; ".join(filter(None, told)))


def number_column(name: str, numbers: np.ndarray, rows: Rows) -> NumberColumn:
    """How numbers are standardised, by those that are there and finite."""
    there = np.isfinite(numbers)
    weight = None if rows.weight is None else rows.weight[there]
    scale = scale_of(numbers[there], weight) if there.any() else scale_of(np.zeros(1))
    n_gone = int(np.isnan(numbers).sum())
    marks = there.any() and n_gone >= max(_FEWEST_TO_MARK, _SHARE_TO_MARK * rows.n)
    low, high = (float(numbers[there].min()), float(numbers[there].max())) if there.any() else (0.0, 0.0)
    return NumberColumn(name, scale.centre, scale.spread, bool(marks), low, high)


def _is_serial(name: str, numbers: np.ndarray) -> bool:
    """Whether whole numbers that are all different bear the name of an index."""
    if len(numbers) < _FEWEST_TO_SUSPECT or not _SERIAL.fullmatch(name.strip()) or not np.isfinite(numbers).all():
        return False
    return bool((numbers == np.round(numbers)).all()) and len(np.unique(numbers)) == len(numbers)


def _seconds(values: np.ndarray) -> list[str]:
    if values.dtype.kind == "m":
        return ["durations in seconds"]
    first = next((cell for cell in values.tolist() if not is_missing(cell)), None) if values.dtype == object else None
    if isinstance(first, datetime.timedelta):
        return ["durations in seconds"]
    return ["times of day in hours"] * isinstance(first, datetime.time)


def _about_gaps(column: NumberColumn, numbers: np.ndarray) -> str:
    n = int(np.isnan(numbers).sum())
    if not n:
        return ""
    how = "take the mean, and a column marks them" if column.marks_missing else "take the mean"
    return f"{n:,} missing cell{'s' * (n > 1)} {how if n > 1 else how.replace('take', 'takes').replace('them', 'it')}"


def _cells(n: int) -> str:
    return f"{n:,} cell{'s' * (n > 1)}"


# ---- texts --------------------------------------------------------------------------------------


def _texts(name: str, values: np.ndarray, rows: Rows) -> tuple[tuple[Input, ...], Treatment]:
    texts = [text for text in texts_in(values, f"column {name!r}").tolist() if text is not None]
    different, common = len(set(texts)), len(common_levels([*texts, *[None] * (len(values) - len(texts))]))
    if rows.leaves_out and _is_identifier(len(texts), different, rows.n):
        return _left_out(name, f"looks like an identifier ({different:,} different texts in {len(texts):,} rows)")
    column: TextColumn | MeanColumn
    if common > MOST_LEVELS and rows.z is not None:
        weight = np.ones(rows.n) if rows.weight is None else rows.weight
        column = mean_column(name, values, rows.z, weight)
        told = [f"{different:,} levels, each coded by what the target does there in other rows"]
    else:
        column = text_column(name, values, MOST_LEVELS)
        told = [f"{different:,} level{'s' * (different != 1)}"]
    if n := different - len(column.levels):
        told.append(f"{n:,} rare one{'s' * (n > 1)} of them together")
    if n := len(values) - len(texts):
        told.append(f"{n:,} missing cell{'s are' if n > 1 else ' is'} a level")
    return (column,), Treatment(name, (name,), "; ".join(told))


def _is_identifier(n_said: int, n_different: int, n_rows: int) -> bool:
    is_frequent = n_said >= max(_FEWEST_TO_SUSPECT, n_rows / 2)
    return is_frequent and n_different >= _MOSTLY_DIFFERENT * n_said


def _left_out(name: str, why: str) -> tuple[tuple[Input, ...], Treatment]:
    return (LeftOutColumn(name, why),), left_out_treatment(name, why)


def left_out_treatment(name: str, why: str) -> Treatment:
    """What is told of a column that was left out."""
    return Treatment(name, (), f"{why} and was left out")


# ---- dates --------------------------------------------------------------------------------------


def _dates(name: str, values: np.ndarray, how: str | Notation, rows: Rows) -> tuple[tuple[Input, ...], Treatment]:
    """Days since the first date, and the calendar parts that come round in the rows."""
    order = str(how)
    dates = dates_of(values, order, f"column {name!r}")
    elapsed = days(dates)
    there = np.isfinite(elapsed)
    start = float(np.floor(elapsed[there].min())) if there.any() else 0.0
    span = float(np.ptp(elapsed[there])) if there.any() else 0.0
    made: list[Input] = [DateColumn(name, name, "days", order, start, number_column(name, elapsed - start, rows))]
    for part, length in ROUNDS.items():
        numbers = calendar_part(dates, part)
        if span > length and np.ptp(numbers[there]) > 0:
            called = f"{name}_{part}"
            while called in rows.taken:
                called += "_"
            empty = DateColumn(called, name, part, order, start, NumberColumn(called, 0.0, 1.0))
            coded = (
                text_column(called, empty.part_of(values))
                if part == "weekday"
                else number_column(called, numbers, rows)
            )
            made.append(replace(empty, coded=coded))
    told = [f"dates from {_day(dates, there, 'min')} to {_day(dates, there, 'max')}" if there.any() else "dates"]
    inputs = tuple(column.name for column in made)
    told.append(f"read as days since the first ({name})" + "".join(f", {part}" for part in inputs[1:]))
    first = made[0]
    if isinstance(first, DateColumn) and isinstance(first.coded, NumberColumn):
        told.append(_about_gaps(first.coded, elapsed))
    return tuple(made), Treatment(name, inputs, "; ".join(filter(None, told)))


def _day(dates: np.ndarray, there: np.ndarray, end: str) -> str:
    chosen = dates[there].min() if end == "min" else dates[there].max()
    return str(chosen.astype("datetime64[D]"))
