"""Figures in the characters of a terminal: one line a row, with a mark where the value lies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from compsparse.checks import check_count, check_kind
from compsparse.report.charts import drawable
from compsparse.report.figure import Figure
from compsparse.text import printable

_LEAST_SCALE, _LONGEST_SCALE, _LONGEST_LABEL = 5, 40, 24


def text_chart(figure: Figure, width: int = 79, most_rows: int = 12) -> list[str]:
    """The figure as lines of at most ``width`` characters.

    Values lie on the figure's own scale, logarithmic where its axis is. Of a series with many rows some are shown, at
    equal distances in their order. Clouds of points and heat maps need a page: their number of rows is said.

    >>> rows = ({"n": 1, "error": 1.0}, {"n": 2, "error": 0.1}, {"n": 3, "error": 0.01})
    >>> print("\\n".join(text_chart(Figure("Error", rows, "n", "error", log_y=True), width=40)))
    Error (error, from 0.01 to 1, log)
      n 1 |┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄●| 1
      n 2 |┄┄┄┄┄┄┄┄┄┄┄┄┄●┄┄┄┄┄┄┄┄┄┄┄┄┄| 0.1
      n 3 |●┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄| 0.01
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
    shown = {name: _spaced(members, most_rows) for name, members in _series(figure, rows).items()}
    kept = [row for members in shown.values() for row in members]
    widest = max(len(_label(figure, row, width)) for row in kept)
    room = width - widest - max(len(_short(row[figure.y])) for row in kept) - 6
    cells = min(max(_LEAST_SCALE, room), _LONGEST_SCALE)
    for name, members in shown.items():
        lines += [f"  {_cut(name, width - 2)}"] if name else []
        lines += [f"  {_label(figure, row, width):<{widest}} {_scale(figure, row, values, cells)}" for row in members]
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


def _label(figure: Figure, row: dict[str, Any], width: int) -> str:
    prefix = "" if figure.mark in ("dots", "bars") else f"{printable(figure.x_title or figure.x)} "
    return _cut(f"{prefix}{_short(row[figure.x])}", min(_LONGEST_LABEL, width // 3))


def _scale(figure: Figure, row: dict[str, Any], values: Sequence[float], cells: int) -> str:
    """The mark at its place between the smallest and the largest value, and the value."""
    place, low, high = (_place(figure, v) or 0.0 for v in (row[figure.y], min(values), max(values)))
    at = round((place - low) / ((high - low) or 1.0) * (cells - 1))
    return f"|{'┄' * at}●{'┄' * (cells - 1 - at)}| {_short(row[figure.y])}"


def _place(figure: Figure, value: Any) -> float | None:
    """Where a value of a drawable figure lies on the axis; None where it has no place there."""
    if not isinstance(value, (int, float)):
        return None
    return math.log10(value) if figure.log_y else float(value)


def _short(value: Any) -> str:
    is_long = isinstance(value, int) and abs(value) >= 10**7
    return f"{value:.3g}" if is_long or isinstance(value, float) else printable(value)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
