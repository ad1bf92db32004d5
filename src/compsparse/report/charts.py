"""Vega-Altair charts of figures."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

from compsparse.optional import needs
from compsparse.report.figure import Figure
from compsparse.text import printable

_WIDTH, _HEIGHT = 500, 290
_MOST_NUMBER = 10**300  # what is beyond is not finite in a browser
_ROOM_FOR_LETTERS = 60
_STEP, _LONGEST_NAME = 26, 170
COLOURS = ["#2563eb", "#c2410c", "#059669", "#7c3aed", "#db2777", "#0891b2", "#ca8a04", "#4b5563"]


def chart_of(figure: Figure) -> Any:
    """The layered chart of a figure: spread below, marks above."""
    alt = needs("altair", "charts", "report")
    figure = drawable(figure)
    if figure.mark == "dots":
        names = {row[figure.x] for row in figure.rows}
        return _finished(_dots(alt, figure), figure).properties(height=_STEP * max(1, len(names)))
    if figure.mark == "heat":
        return _finished(_heat(alt, figure), figure).properties(height=_HEIGHT)
    base = alt.Chart(alt.Data(values=list(figure.rows)))
    encoding = _encoding(alt, figure)
    layers = []
    if figure.diagonal:
        layers.append(_diagonal(alt, figure))
    layers.append(_marks(alt, base, figure, encoding))
    if figure.low and figure.high:
        # a band goes below its line, error bars above their marks
        layers.insert(0 if figure.mark == "line" else len(layers), _spread(alt, base, figure, encoding))
    return _finished(alt.layer(*layers), figure).properties(height=_HEIGHT)


def drawable(figure: Figure) -> Figure:
    """The figure with plain values: what is not finite, or not above 0 on a logarithmic axis, is a gap.

    Rows without a place across (or, in a heat map, up) are left out.
    """
    on_log = {c for c, log in ((figure.x, figure.log_x), (figure.y, figure.log_y)) if log}
    on_log |= {c for c in (figure.low, figure.high) if c is not None and figure.log_y}
    rows = [{c: _value(v, c in on_log) for c, v in row.items()} for row in figure.rows]
    places = (figure.x, figure.y) if figure.mark == "heat" else (figure.x,)
    return replace(figure, rows=tuple(row for row in rows if all(row[c] is not None for c in places)))


def _value(value: Any, on_log: bool) -> Any:
    plain = value.item() if getattr(value, "size", 0) == 1 and hasattr(value, "item") else value
    if not isinstance(plain, (int, float)) and plain is not None:
        return printable(plain)  # a control character would end the process that turns charts into pictures
    if isinstance(plain, int) and abs(plain) > _MOST_NUMBER:
        return None
    if isinstance(plain, float) and not math.isfinite(plain):
        return None
    if on_log and isinstance(plain, (int, float)) and not isinstance(plain, bool) and plain <= 0:
        return None
    return plain


def _field(column: str) -> str:
    """How Vega names a column whose name has signs of its own meaning."""
    return re.sub(r"([.\[\]\\'\"])", r"\\\1", column)


def _title(text: str | None) -> str | None:
    """A title without the signs that Vega-Lite would copy into its expressions as they are."""
    return None if text is None else printable(text).replace("\\", "\u29f5").replace('"', "\u201d")


def _of(column: str, kind: str = "quantitative") -> dict[str, str]:
    """A channel's column: by field and type, since the shorthand would read signs in the name."""
    return {"field": _field(column), "type": kind}


def _tooltips(alt: Any, figure: Figure, columns: list[str]) -> list[Any]:
    kinds = {c: "quantitative" if _is_number(figure, c) else "nominal" for c in columns}
    return [alt.Tooltip(**_of(c, kind), title=_title(c)) for c, kind in kinds.items()]


def _finished(chart: Any, figure: Figure) -> Any:
    chart = chart.properties(title=printable(figure.title), width=_WIDTH)
    return chart.configure_view(strokeWidth=0).configure_axis(gridOpacity=0.4)


def _dots(alt: Any, figure: Figure) -> Any:
    base = alt.Chart(alt.Data(values=list(figure.rows)))
    scale = alt.Scale(type="log", nice=False, padding=18) if figure.log_y else alt.Scale(zero=False)
    across = {"title": _title(figure.y_title or figure.y), "scale": scale, "axis": alt.Axis(format=".3~g", tickCount=4)}
    names = alt.Axis(labelLimit=_LONGEST_NAME, grid=True)
    down = alt.Y(**_of(figure.x, "nominal"), sort=None, title=_title(figure.x_title), axis=names)
    tooltip = _tooltips(alt, figure, _columns(figure))
    layers = []
    if figure.low and figure.high:
        ends = {"x": alt.X(**_of(figure.low), **across), "x2": alt.X2(field=_field(figure.high))}
        layers.append(base.mark_rule(strokeWidth=2, color="#6b7280").encode(y=down, **ends))
    marks = base.mark_circle(size=90, opacity=1, color=COLOURS[0])
    return alt.layer(*layers, marks.encode(y=down, x=alt.X(**_of(figure.y), **across), tooltip=tooltip))


def _heat(alt: Any, figure: Figure) -> Any:
    """Cells that reach half way to their neighbours, and the curve over them."""
    rows = list(figure.rows)
    across, up = (_cell_edges(sorted({row[c] for row in rows})) for c in (figure.x, figure.y))
    cells = [
        {**row, "_left": across[row[figure.x]][0], "_right": across[row[figure.x]][1], "_foot": up[row[figure.y]][0],
         "_top": up[row[figure.y]][1]}
        for row in rows
    ]  # fmt: skip
    tight = alt.Scale(zero=False, nice=False)
    x_title, y_title = _title(figure.x_title or figure.x), _title(figure.y_title or figure.y)
    assert figure.value is not None
    colour = alt.Color(
        **_of(figure.value),
        scale=alt.Scale(scheme="viridis"),
        legend=alt.Legend(title=_title(figure.value), orient="right"),
    )
    layers = [
        alt.Chart(alt.Data(values=cells))
        .mark_rect(stroke=None)
        .encode(
            x=alt.X("_left:Q", title=x_title, scale=tight),
            x2="_right:Q",
            y=alt.Y("_foot:Q", title=y_title, scale=tight),
            y2="_top:Q",
            color=colour,
            tooltip=_tooltips(alt, figure, [figure.x, figure.y, figure.value]),
        )
    ]
    if figure.curve:
        heights = {row[figure.x]: row[figure.curve] for row in rows}
        points = [{figure.x: x, figure.curve: y} for x, y in sorted(heights.items())]
        line = alt.Chart(alt.Data(values=points)).mark_line(color="#ffffff", strokeWidth=2.5, strokeDash=[6, 3])
        layers.append(line.encode(x=alt.X(**_of(figure.x)), y=alt.Y(**_of(figure.curve))))
    return alt.layer(*layers)


def _cell_edges(places: list[float]) -> dict[float, tuple[float, float]]:
    """The interval of each place: half way to the next on either side."""
    gaps = [b - a for a, b in pairwise(places)] or [1.0]
    before, after = [gaps[0], *gaps], [*gaps, gaps[-1]]
    return {p: (p - a / 2, p + b / 2) for p, a, b in zip(places, before, after, strict=False)}


def _is_number(figure: Figure, column: str) -> bool:
    return all(row[column] is None or isinstance(row[column], (int, float)) for row in figure.rows)


def _encoding(alt: Any, figure: Figure) -> dict[str, Any]:
    x_kind = "quantitative" if _is_number(figure, figure.x) and figure.mark != "bars" else "nominal"
    x_options: dict[str, Any] = {"title": _title(figure.x_title or figure.x)}
    if x_kind == "quantitative":
        x_options["scale"] = alt.Scale(type="log", nice=False) if figure.log_x else alt.Scale(zero=False)
        places = sorted({row[figure.x] for row in figure.rows})
        if figure.mark == "line" and len(places) <= 8 and all(float(p).is_integer() for p in places):
            x_options["axis"] = alt.Axis(values=places, format="~g")
    else:
        x_options["sort"] = None
        letters = sum(len(str(value)) for value in {row[figure.x] for row in figure.rows})
        x_options["axis"] = alt.Axis(labelAngle=0 if letters < _ROOM_FOR_LETTERS else -35, labelLimit=180)
    y_scale = alt.Scale(type="log") if figure.log_y else alt.Scale(zero=figure.mark == "bars")
    y_title = _title(figure.y_title or figure.y)
    encoding = {
        "x": alt.X(**_of(figure.x, x_kind), **x_options),
        "y": alt.Y(**_of(figure.y), title=y_title, scale=y_scale, axis=alt.Axis(format=".6~g")),
        "tooltip": _tooltips(alt, figure, _columns(figure)),
    }
    if figure.series:
        names = dict.fromkeys(row[figure.series] for row in figure.rows)
        order = [name for name in names if name is not None]
        encoding["color"] = alt.Color(
            **_of(figure.series, "nominal"),
            scale=alt.Scale(domain=order, range=COLOURS[: len(order)]),
            legend=alt.Legend(title=None, orient="bottom", columns=2, labelLimit=260, symbolOpacity=1),
        )
        if figure.mark == "bars":  # side by side: stacked bars would show sums that mean nothing
            encoding["xOffset"] = alt.XOffset(**_of(figure.series, "nominal"), sort=order)
    return encoding


def _columns(figure: Figure) -> list[str]:
    return [c for c in (figure.series, figure.x, figure.y, figure.low, figure.high) if c is not None]


def _marks(alt: Any, base: Any, figure: Figure, encoding: dict[str, Any]) -> Any:
    single = {} if figure.series else {"color": COLOURS[0]}
    if figure.mark == "line":
        return base.mark_line(point=alt.OverlayMarkDef(size=45, filled=True), strokeWidth=2, **single).encode(
            **encoding
        )
    if figure.mark == "points":
        return base.mark_circle(size=18, opacity=0.45, **single).encode(**encoding)
    bars = dict(encoding)
    if figure.log_y:  # bars on a logarithmic axis have no natural foot; a tick does not need one
        return base.mark_tick(thickness=4, size=36, **single).encode(**bars)
    width = {} if figure.series else {"size": 30}
    return base.mark_bar(**width, **single).encode(**bars)


def _spread(alt: Any, base: Any, figure: Figure, encoding: dict[str, Any]) -> Any:
    assert figure.low is not None
    assert figure.high is not None
    ends = {
        "y": alt.Y(**_of(figure.low), title=_title(figure.y_title or figure.y), scale=encoding["y"]["scale"]),
        "y2": alt.Y2(field=_field(figure.high)),
    }
    shared = ("x", "xOffset") if figure.mark == "bars" else ("x", "color")  # a rule in its bar's colour would not show
    others = {key: encoding[key] for key in shared if key in encoding}
    if figure.mark == "line":
        return base.mark_area(opacity=0.18).encode(**others, **ends)
    return base.mark_rule(strokeWidth=2, color="#6b7280").encode(**others, **ends)


def _diagonal(alt: Any, figure: Figure) -> Any:
    values = [float(row[c]) for row in figure.rows for c in (figure.x, figure.y) if row[c] is not None]
    ends = [{figure.x: v, figure.y: v} for v in (min(values), max(values))] if values else []
    return (
        alt.Chart(alt.Data(values=ends))
        .mark_line(strokeDash=[4, 4], color="#9ca3af")
        .encode(x=alt.X(**_of(figure.x)), y=alt.Y(**_of(figure.y)))
    )
