"""Dates and times: read from texts, and taken apart into calendar parts."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from compsparse.tables.notation import NEARLY_ALL, NOTHING

ORDERS = ("ymd", "dmy", "mdy")
"""Which of year, month and day comes first, second and third in a text."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_OTHER_MONTHS = {"mrz": 3, "mär": 3, "mai": 5, "okt": 10, "dez": 12}
_TIME = r"(?:[T ]\s*(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?P<f>[.,]\d+)?)?\s*(?P<z>Z|UTC|[-+]\d{2}:?\d{2})?)?"
_PARTS = {"y": r"(?P<y>\d{4})", "m": r"(?P<m>\d{1,2}|[A-Za-zä]{3,9}\.?)", "d": r"(?P<d>\d{1,2})"}
_BY, _SAME = r"(?P<by>[-./ ]|\. )", "(?P=by)"
_TEXTS = {
    order: re.compile(_PARTS[order[0]] + _BY + _PARTS[order[1]] + _SAME + _PARTS[order[2]] + _TIME) for order in ORDERS
}
_COMPACT = re.compile(r"(?P<y>(?:19|20)\d{2})(?P<m>\d{2})(?P<d>\d{2})" + _TIME)

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
ROUNDS = {"month": 366.0, "weekday": 7.0, "hour": 1.0}
"""Days after which a calendar part comes round; a part is an input where the rows span more."""


def date_of(name: str, columns: Collection[str]) -> str:
    """The column of which an input is a calendar part by its name; the name itself where there is none.

    >>> date_of("when_month", ["when", "x"]), date_of("weekday", ["when"])
    ('when', 'weekday')
    """
    column, _, part = name.rpartition("_")
    return column if part in ROUNDS and column in columns else name


def is_date(cell: Any) -> bool:
    """A date or a time of the standard library, of numpy or of pandas, or a period of pandas."""
    return isinstance(cell, (datetime.date, np.datetime64)) or hasattr(cell, "start_time")


def as_dates(cells: Iterable[Any]) -> np.ndarray:
    """Cells that are dates, or nothing, as numpy keeps them; those with a zone as their own clock shows them."""
    return np.array([_plain(cell) for cell in cells], dtype="datetime64[us]")


def _plain(cell: Any) -> Any:
    if not is_date(cell):
        return np.datetime64("NaT")
    cell = getattr(cell, "start_time", cell)
    return cell.replace(tzinfo=None) if isinstance(cell, datetime.datetime) else cell


def order_of(texts: Collection[str]) -> str:
    """The order in which nearly all texts are dates, "" if there is none; days come first where both would do.

    >>> order_of(["31.12.2024", "01.02.2025 08:30"]), order_of(["12/31/2024"]), order_of(["nothing"])
    ('dmy', 'mdy', '')
    """
    said = [text for text in texts if text.strip().lower() not in NOTHING]
    if not said:
        return ""
    right = {order: sum(date_in(text, order) is not None for text in said) for order in ORDERS}
    best = max(right, key=lambda order: right[order])
    return best if right[best] >= NEARLY_ALL * len(said) else ""


def date_in(text: str, order: str) -> np.datetime64 | None:
    """The date that a text holds, by the order of its parts; None if it holds none."""
    text = text.strip()
    found = _TEXTS[order].fullmatch(text) or (_COMPACT.fullmatch(text) if order == "ymd" else None)
    if found is None:
        return None
    month = _month(found["m"])
    clock = (
        f"{int(found['H'] or 0):02}:{found['M'] or '00'}:{found['S'] or '00'}{(found['f'] or '').replace(',', '.')[:7]}"
    )
    try:
        return np.datetime64(f"{found['y']}-{month:02}-{int(found['d']):02}T{clock}", "us")
    except ValueError:
        return None


def _month(text: str) -> int:
    if text.isdigit():
        return int(text)
    short = text[:3].lower()
    return _MONTHS.index(short) + 1 if short in _MONTHS else _OTHER_MONTHS.get(short, 0)


def dates_in(texts: Sequence[str | None], order: str, missing: Collection[str] = ()) -> tuple[np.ndarray, list[int]]:
    """The dates, and the places of the texts that hold none."""
    known: dict[str | None, np.datetime64 | None] = {word: np.datetime64("NaT") for word in (*missing, None)}
    found, bad = [], []
    for place, text in enumerate(texts):
        if text not in known:
            is_nothing = text is not None and text.strip().lower() in NOTHING
            known[text] = np.datetime64("NaT") if is_nothing else date_in(str(text), order)
        value = known[text]
        if value is None:
            bad.append(place)
        found.append(np.datetime64("NaT") if value is None else value)
    return np.array(found, dtype="datetime64[us]"), bad


def days(dates: np.ndarray) -> np.ndarray:
    """Days since 1970, with their fraction; NaN where there is no date."""
    found = dates.astype("datetime64[us]").astype(float) / 86_400e6
    found[np.isnat(dates)] = np.nan
    return np.asarray(found)


def calendar_part(dates: np.ndarray, part: str) -> np.ndarray:
    """One part of dates as numbers: days, month 1 to 12, weekday 0 to 6 from Monday, hour 0 to 24 with its fraction.

    >>> calendar_part(np.array(["2024-02-29T18:30"], dtype="datetime64[us]"), "weekday")
    array([3.])
    """
    elapsed = days(dates)
    if part == "weekday":
        return np.asarray((np.floor(elapsed) + 3) % 7)
    if part == "hour":
        return np.asarray((elapsed - np.floor(elapsed)) * 24)
    if part == "month":
        month = dates.astype("datetime64[M]").astype(int) % 12 + 1.0
        month[np.isnat(dates)] = np.nan
        return np.asarray(month)
    return elapsed
