"""Numbers as people write them in cells: decimal commas, thousands, percent, currencies, units, hours and minutes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

NOTHING = frozenset(
    {"", "-", "--", "?", ".", "/", "na", "n/a", "n.a.", "#n/a", "nan", "<na>", "nat", "null", "none", "nil", "k.a."}
)
"""What stands in a column of numbers or of dates where there is nothing; in a column of texts these are texts."""
DECIMALS = (".", ",", ":")
"""Decimal signs of a column; the last stands for hours and minutes."""
NEARLY_ALL = 0.9
"""Share of the cells from which a column is one of numbers or of dates, and its other cells are mistakes."""
_GAPS = " \u00a0\u2009\u202f'\u2019"
_CURRENCY = r"(?:[$€£¥₹]|CHF|EUR|USD|GBP|JPY)"
_MOST_OF_A_UNIT = 8
_NUMBER = {
    ".": re.compile(
        rf"(?P<sign>[-+]?)(?P<whole>\d{{1,3}}(?:[,{_GAPS}]\d{{3}})+|\d*)(?P<rest>(?:\.\d*)?(?:[eE][-+]?\d+)?)"
    ),
    ",": re.compile(
        rf"(?P<sign>[-+]?)(?P<whole>\d{{1,3}}(?:[.{_GAPS}]\d{{3}})+|\d*)(?P<rest>(?:,\d*)?(?:[eE][-+]?\d+)?)"
    ),
}
_PREFIX = re.compile(rf"(?P<minus>[-+]?)\s*(?P<prefix>{_CURRENCY})\s*")
_UNIT = re.compile(r"[^\d\s.,;:<>+-](?:\D*\d?)")
_CODE = re.compile(r"[-+]?0\d")
_CLOCK = re.compile(r"([-+]?)(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")


@dataclass(frozen=True)
class Notation:
    """How the numbers of a column are written.

    Attributes:
        decimal: "." or ","; ":" where hours and minutes are written.
        unit: what stands beside the numbers, such as "%" or "€".
    """

    decimal: str = "."
    unit: str = ""

    def number(self, text: str) -> float:
        """What a cell says, NaN where it says nothing.

        Raises:
            ValueError: it is no number in this notation.

        >>> Notation(",", "%").number("1.234,5 %"), Notation(":").number("08:30")
        (1234.5, 8.5)
        """
        text = text.strip().replace("\u2212", "-")
        if text.lower() in NOTHING:
            return float("nan")
        if self.decimal == ":":
            return _hours(text)
        value, unit = _value_and_unit(text, self.decimal)
        if unit not in ("", self.unit):
            raise ValueError(text)
        return value

    def numbers(self, texts: Iterable[str], missing: Collection[str] = ()) -> tuple[np.ndarray, list[int]]:
        """The numbers, and the places of the cells that hold none."""
        known: dict[str, float | None] = {word: float("nan") for word in missing}
        found, bad = [], []
        for place, text in enumerate(texts):
            if text not in known:
                try:
                    known[text] = self.number(text)
                except ValueError:
                    known[text] = None
            value = known[text]
            if value is None:
                bad.append(place)
            found.append(float("nan") if value is None else value)
        return np.array(found), bad

    @property
    def told(self) -> str:
        """What is unusual about it, such as "decimal commas, % left off"."""
        marks = {",": ["decimal commas"], ":": ["hours and minutes"]}.get(self.decimal, [])
        return ", ".join([*marks, *[f"{self.unit} left off"] * bool(self.unit)])


def notation_of(counts: Mapping[str, int], decimal: str | None = None) -> Notation | None:
    """The notation in which nearly all cells are numbers; None if there is none.

    Codes with leading zeros are no numbers. What both notations read, as in "1,234", is read with a decimal point
    unless the other reads more cells.

    Args:
        counts: how often each text stands in the column.
        decimal: the only one to look at.

    >>> notation_of({"12,5 %": 1, "7,25 %": 2}), notation_of({"007": 1, "12": 1})
    (Notation(decimal=',', unit='%'), None)
    """
    said = {text.strip().replace("\u2212", "-"): n for text, n in counts.items() if text.strip().lower() not in NOTHING}
    if not said or any(_CODE.match(text) and text.lstrip("+-").isdigit() for text in said):
        return None
    read = [_best_unit(said, mark) for mark in (DECIMALS if decimal is None else (decimal, ":"))]
    n, best = max(read, key=lambda one: one[0])
    return best if n >= NEARLY_ALL * sum(said.values()) else None


def _best_unit(said: Mapping[str, int], decimal: str) -> tuple[int, Notation]:
    """The unit that most of the cells carry, with how many of them can be read with it or without one."""
    units: dict[str, int] = {}
    for text, n in said.items():
        try:
            unit = "" if decimal == ":" and _hours(text) is not None else _value_and_unit(text, decimal)[1]
        except ValueError:
            continue
        units[unit] = units.get(unit, 0) + n
    bare = units.pop("", 0)
    unit = max(units, key=lambda one: units[one], default="")
    return bare + units.get(unit, 0), Notation(decimal, unit)


def _value_and_unit(text: str, decimal: str) -> tuple[float, str]:
    if before := _PREFIX.match(text):
        unit, text = before["prefix"], before["minus"] + text[before.end() :]
    else:
        unit = ""
    found = _NUMBER[decimal].match(text)
    assert found is not None
    if not any(c.isdecimal() for c in found[0]):
        raise ValueError(text)
    after = text[found.end() :].strip()
    if after and (unit or len(after) > _MOST_OF_A_UNIT or not _UNIT.fullmatch(after)):
        raise ValueError(text)
    whole = "".join(c for c in found["whole"] if c.isdecimal())
    return float(found["sign"] + (whole or "0") + found["rest"].replace(",", ".")), unit or after


def _hours(text: str) -> float:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise ValueError(text)
    hours = int(found[2]) + int(found[3]) / 60 + float(found[4] or 0) / 3600
    return -hours if found[1] == "-" else hours
