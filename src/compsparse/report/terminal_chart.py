"""Figures in the characters of a terminal: one line a row, with a mark where the value lies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from compsparse.checks import check_count, check_kind
from compsparse.report.charts import drawable
from compsparse.report.figure import Figure
from compsparse.text import printable

_LEAST_SCALE, _LONGEST_LABEL = 10, 24


def text_chart(figure: Figure, width: int = 79, most_rows: int = 12) -> list[str]:
    """The figure as lines of at most ``width`` characters.

    Values lie on the figure's own scale, logarithmic where its axis is. Of a series with many rows some are shown, at
    equal distances in their order. Clouds of points and heat maps need a page: their number of rows is said.

    >>> rows = ({"n": 1, "error": 1.0}, {"n": 2, "error": 0.1}, {"n": 3, "error": 0.01})
    >>> print("\\n".join(text_chart(Figure("Error", rows, "n", "error", log_y=True), width=40)))
    Error (error, from 0.01 to 1, log)
      n 1 |························●| 1
      n 2 |············●············| 0.1
      n 3 |●························| 0.01
    """
    figure = drawable(check_kind("figure", figure, Figure))
    width, most_rows = check_count("width", width, least=30), check_count("most_rows", most_rows)
    title, named = printable(figure.title), printable(figure.y_title or figure.y)
    rows = [row for row in figure.rows if _place(figure, row[figure.y]) is not None]
    if figure.mark in ("points", "heat") or not rows:
        return [_cut(f"{title}: {len(figure.rows):,} rows, drawn on the page", width)]
    values = [float(row[figure.y]) for row in rows]
    scale = f"from {min(values):.3g} to {max(values):.3g}{', log' if figure.log_y else ''}"
    head = [f"{title} ({named}, {scale})"]
    lines = [_cut(line, width) for line in (head if len(head[0]) <= width else [title, f"{named}, {scale}"])]
    places = [float(_place(figure, v) or 0.0) for v in values]
    ends = min(places), max(places)
    for name, members in _series(figure, rows).items():
        lines += [f"  {_cut(name, width - 2)}"] if name else []
        lines += _drawn(figure, _spaced(members, most_rows), ends, width)
    return lines


def _series(figure: Figure, rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        name = "" if figure.series is None or row[figure.series] is None else printable(row[figure.series])
        found.setdefault(name, []).append(row)
    return found


def _spaced(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    if len(rows) <= most:
        return rows
    return [rows[round(i * (len(rows) - 1) / max(most - 1, 1))] for i in range(most)]


def _drawn(figure: Figure, rows: list[dict[str, Any]], ends: tuple[float, float], width: int) -> list[str]:
    prefix = "" if figure.mark in ("dots", "bars") else f"{printable(figure.x_title or figure.x)} "
    labels = [_cut(f"{prefix}{_short(row[figure.x])}", min(_LONGEST_LABEL, width // 3)) for row in rows]
    values = [_short(row[figure.y]) for row in rows]
    widest = max(map(len, labels))
    cells = max(_LEAST_SCALE, width - widest - max(map(len, values)) - 7)
    cells = min(cells, 25 if width <= 40 else 40)
    lines = []
    for row, label, value in zip(rows, labels, values, strict=True):
        share = (float(_place(figure, row[figure.y]) or 0.0) - ends[0]) / ((ends[1] - ends[0]) or 1.0)
        at = round(share * (cells - 1))
        lines.append(f"  {label:<{widest}} |{'·' * at}●{'·' * (cells - 1 - at)}| {value}")
    return lines


def _place(figure: Figure, value: Any) -> float | None:
    """Where a value of a drawable figure lies on the axis; None where it has no place there."""
    if not isinstance(value, (int, float)):
        return None
    return math.log10(value) if figure.log_y else float(value)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else printable(value)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
