"""How one input of a model is read from a column of a table: fitted once, the same for every later table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from compsparse.errors import DataError
from compsparse.tables.dates import WEEKDAYS, as_dates, calendar_part, dates_in, is_date
from compsparse.tables.notation import Notation
from compsparse.tables.scaling import Scale
from compsparse.tables.values import check_kinds, is_missing, no_number, numbers_in, texts_in

_LARGEST = sys.float_info.max
RARE, MISSING = "(rare)", "(missing)"
"""How the levels are shown that rare texts and missing cells make."""


@dataclass(frozen=True)
class NumberColumn:
    """A numeric input, standardised.

    A missing cell takes the mean. Where many were missing in the fit, a second column marks them (-1 there, 1 missing):
    the first layer of the network then learns a value for them.

    Attributes:
        marks_missing: whether there is that second column.
        low, high: the ends of the numbers of the fit; infinite cells are moved there.
        decimal, unit: how the numbers are written where they stand in texts.
        knots: standardised numbers; further columns say how far a number has come from each to the next.
        clips: whether all numbers beyond the ends are moved there.
    """

    name: str
    mean: float
    scale: float
    marks_missing: bool = False
    low: float = -_LARGEST
    high: float = _LARGEST
    decimal: str = "."
    unit: str = ""
    knots: tuple[float, ...] = field(default=(), repr=False)
    clips: bool = False

    @property
    def column(self) -> str:
        """The column of the table that it reads."""
        return self.name

    @property
    def width(self) -> int:
        """Encoded columns."""
        return 1 + self.marks_missing + max(0, len(self.knots) - 1)

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """The column in its own units, NaN where cells are missing."""
        found = numbers_in(values, f"column {self.name!r}", Notation(self.decimal, self.unit))
        moved = np.isfinite(found) & self.clips | np.isinf(found)
        return np.where(moved, np.clip(found, self.low, self.high), found) if moved.any() else found

    def is_outside(self, values: np.ndarray) -> np.ndarray:
        """Which cells lie beyond the numbers of the fit."""
        found = numbers_in(values, f"column {self.name!r}", Notation(self.decimal, self.unit))
        return np.asarray((found < self.low) | (found > self.high))

    def codes(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers in their own units as (rows, width)."""
        gone = np.isnan(numbers)
        standardised = Scale(self.mean, self.scale).standardised(np.where(gone, self.mean, numbers))
        marks = [np.where(gone, 1.0, -1.0)] if self.marks_missing else []
        return np.column_stack([standardised, *marks, *between_knots(standardised, self.knots)])

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """The column as (rows, width) numbers."""
        return self.codes(self.numbers(values))

    def surprise(self, values: np.ndarray) -> str:
        """What new rows hold that the rows of the fit did not, as a clause; "" if nothing."""
        found = numbers_in(values, f"column {self.name!r}", Notation(self.decimal, self.unit))
        told = []
        if not self.marks_missing and (n := int(np.isnan(found).sum())):
            told.append(f"has {n:,} missing cell{'s' * (n > 1)}, which take the mean")
        if n := int(np.isinf(found).sum()):
            told.append(f"has {n:,} infinite cell{'s' * (n > 1)}, moved to the ends of the numbers of the fit")
        return " and ".join(told)


def between_knots(standardised: np.ndarray, knots: Sequence[float]) -> list[np.ndarray]:
    """How far numbers have come from each knot to the next, from -1 to 1: functions of one input are linear in these.

    The piecewise linear encoding of Gorishniy, Rubachev and Babenko (2022).
    """
    return [np.clip(2 * (standardised - a) / (b - a) - 1, -1.0, 1.0) for a, b in pairwise(knots)]


@dataclass(frozen=True)
class TextColumn:
    """A categorical input: a sign for two levels, else one indicator per level; a level never seen has none.

    Attributes:
        pools_rare: whether there is one more level, for all texts that are not among ``levels``.
        keeps_missing: whether missing cells are a level.
    """

    name: str
    levels: tuple[str, ...]
    pools_rare: bool = False
    keeps_missing: bool = False

    @property
    def column(self) -> str:
        """The column of the table that it reads."""
        return self.name

    @property
    def shown(self) -> tuple[str, ...]:
        """All levels by name, those of rare texts and of missing cells last."""
        return (*self.levels, *[RARE] * self.pools_rare, *[MISSING] * self.keeps_missing)

    @property
    def width(self) -> int:
        """Encoded columns."""
        return len(self.shown) if len(self.shown) > 2 else 1

    def codes(self, places: np.ndarray) -> np.ndarray:
        """Places among ``shown`` as (rows, width) numbers; -1 is none of them."""
        is_level = places[:, None] == np.arange(len(self.shown))
        # signs of -1 and 1 keep the scale of standardised numbers
        signs: np.ndarray = (
            is_level @ np.array([-1.0, 1.0])[: len(self.shown), None] if self.width == 1 else 2.0 * is_level - 1.0
        )
        return signs

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """The column as (rows, width) numbers."""
        return self.codes(self.places(values))

    def places(self, values: np.ndarray) -> np.ndarray:
        """Where every cell stands among ``shown``; -1 where it is none of them."""
        place: dict[str | None, int] = {level: i for i, level in enumerate(self.levels)}
        other = len(self.levels) if self.pools_rare else -1
        place[None] = len(self.shown) - 1 if self.keeps_missing else -1
        return np.array([place.get(text, other) for text in texts_in(values, f"column {self.name!r}")], dtype=int)

    def new_levels(self, values: np.ndarray) -> tuple[str, ...]:
        """Texts of a column that are no level."""
        return _new(values, self.levels, self.name)

    def surprise(self, values: np.ndarray) -> str:
        """What new rows hold that the rows of the fit did not, as a clause; "" if nothing."""
        if self.pools_rare:
            return ""
        return _new_texts(self.new_levels(values))


@dataclass(frozen=True)
class MeanColumn:
    """A categorical input of many levels: each is coded by what the target does at it, drawn towards its mean.

    With few rows at a level its mean is mostly noise, so level l of n_l rows is coded by the sum of its targets over
    n_l + s, where s is the variance within levels over the variance between them (Micci-Barreca, 2001). The rows of
    the fit have codes from other rows alone, see :func:`~compsparse.tables.levels.honest_codes`.

    Attributes:
        means: for each level a code for each target, or for each class.
        rare, missing: the codes of texts that are no level, and of missing cells.
    """

    name: str
    levels: tuple[str, ...]
    means: tuple[tuple[float, ...], ...] = field(repr=False)
    rare: tuple[float, ...]
    missing: tuple[float, ...]

    @property
    def column(self) -> str:
        """The column of the table that it reads."""
        return self.name

    @property
    def width(self) -> int:
        """Encoded columns: one for each target, or for each class."""
        return len(self.rare)

    @cached_property
    def _place(self) -> dict[str | None, int]:
        return {**{level: i for i, level in enumerate(self.levels)}, None: len(self.levels) + 1}

    def places(self, values: np.ndarray) -> np.ndarray:
        """Where every cell stands among the levels; rare texts stand behind them, then missing cells."""
        other = len(self.levels)
        texts = texts_in(values, f"column {self.name!r}")
        return np.array([self._place.get(text, other) for text in texts], dtype=int)

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """The column as (rows, width) numbers."""
        codes: np.ndarray = np.array([*self.means, self.rare, self.missing])[self.places(values)]
        return codes

    def new_levels(self, values: np.ndarray) -> tuple[str, ...]:
        """Texts of a column that are no level."""
        return _new(values, self.levels, self.name)

    def surprise(self, values: np.ndarray) -> str:
        """Nothing: a text that was never seen is a rare one."""
        return ""


@dataclass(frozen=True)
class DateColumn:
    """A part of a date as an input: the days since the first, the month, the weekday or the hour.

    Attributes:
        column: of the table.
        part: ``days``, ``month``, ``weekday`` or ``hour``.
        order: of year, month and day where dates stand in texts, such as ``dmy``.
        start: the day from which days are counted, in days since 1970.
        coded: how the part becomes numbers.
    """

    name: str
    column: str
    part: str
    order: str
    start: float
    coded: NumberColumn | TextColumn

    @property
    def width(self) -> int:
        """Encoded columns."""
        return self.coded.width

    def part_of(self, values: np.ndarray) -> np.ndarray:
        """The part in its own units: numbers, or the names of weekdays."""
        found = calendar_part(dates_of(values, self.order, f"column {self.column!r}"), self.part)
        if self.part == "days":
            return found - self.start
        if self.part != "weekday":
            return found
        return np.array([None if np.isnan(day) else WEEKDAYS[int(day)] for day in found], dtype=object)

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """The part as (rows, width) numbers."""
        return self.coded.encoded(self.part_of(values))

    def surprise(self, values: np.ndarray) -> str:
        """What new rows hold that the rows of the fit did not, as a clause; "" if nothing."""
        return self.coded.surprise(self.part_of(values)) if self.part == "days" else ""


@dataclass(frozen=True)
class LeftOutColumn:
    """A column that no model reads.

    Attributes:
        why: as a clause about the column, such as "is constant".
    """

    name: str
    why: str

    @property
    def column(self) -> str:
        """The column of the table."""
        return self.name

    @property
    def width(self) -> int:
        """Encoded columns: none."""
        return 0

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """(rows, 0) numbers."""
        return np.zeros((len(values), 0))

    def surprise(self, values: np.ndarray) -> str:
        """Nothing: nobody reads it."""
        return ""


Input = NumberColumn | TextColumn | MeanColumn | DateColumn | LeftOutColumn


def readable(column: Input) -> Input:
    """What an input is once dates are taken apart: a number or a category."""
    return column.coded if isinstance(column, DateColumn) else column


def changed_numbers(column: Input, change: Callable[[NumberColumn], NumberColumn]) -> Input:
    """The input with another reading of its numbers; others as they are."""
    if isinstance(column, DateColumn) and isinstance(column.coded, NumberColumn):
        return replace(column, coded=change(column.coded))
    return change(column) if isinstance(column, NumberColumn) else column


def dates_of(values: np.ndarray, order: str, what: str) -> np.ndarray:
    """A column as dates, NaT where cells are missing.

    Raises:
        DataError: names the first row that holds no date.
    """
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]")
    cells = values.tolist()
    if not any(isinstance(cell, str) for cell in cells):
        if bad := [row for row, cell in enumerate(cells) if not (is_date(cell) or is_missing(cell))]:
            raise DataError(no_number(cells, bad, what, "dates"))
        return as_dates(cells)
    check_kinds(values, what)
    found, bad = dates_in([None if is_missing(cell) else str(cell) for cell in cells], order or "ymd")
    if bad:
        raise DataError(no_number(cells, bad, what, "dates"))
    return found


def _new(values: np.ndarray, levels: tuple[str, ...], name: str) -> tuple[str, ...]:
    texts = set(texts_in(values, f"column {name!r}").tolist()) - set(levels) - {None}
    return tuple(sorted(texts))


def _new_texts(levels: tuple[str, ...]) -> str:
    shown = ", ".join(levels[:5]) + (", …" if len(levels) > 5 else "")
    return f"holds levels never seen: {shown}" if levels else ""
