"""Vega-Altair charts of figures."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from compsparse.optional import needs
from compsparse.report.figure import Figure

_WIDTH, _HEIGHT = 500, 290
_ROOM_FOR_LETTERS = 60
_STEP, _LONGEST_NAME = 26, 170
COLOURS = ["#2563eb", "#c2410c", "#059669", "#7c3aed", "#db2777", "#0891b2", "#ca8a04", "#4b5563"]


def chart_of(figure: Figure) -> Any:
    """The layered chart of a figure: spread below, marks above."""
    alt = needs("altair", "charts", "report")
    if figure.mark == "dots":
        names = {row[figure.x] for row in figure.rows}
        return _finished(_dots(alt, figure), figure).properties(height=_STEP * len(names))
    if figure.mark == "heat":
        return _finished(_heat(alt, figure), figure).properties(height=_HEIGHT)
    base = alt.Chart(alt.Data(values=[_plain(row) for row in figure.rows]))
    encoding = _encoding(alt, figure)
    layers = []
    if figure.diagonal:
        layers.append(_diagonal(alt, figure))
    layers.append(_marks(alt, base, figure, encoding))
    if figure.low and figure.high:
        # a band goes below its line, error bars above their marks
        layers.insert(0 if figure.mark == "line" else len(layers), _spread(alt, base, figure, encoding))
    return _finished(alt.layer(*layers), figure).properties(height=_HEIGHT)


def _finished(chart: Any, figure: Figure) -> Any:
    chart = chart.properties(title=figure.title, width=_WIDTH)
    return chart.configure_view(strokeWidth=0).configure_axis(gridOpacity=0.4)


def _dots(alt: Any, figure: Figure) -> Any:
    base = alt.Chart(alt.Data(values=[_plain(row) for row in figure.rows]))
    scale = alt.Scale(type="log", nice=False, padding=18) if figure.log_y else alt.Scale(zero=False)
    across = {"title": figure.y_title or figure.y, "scale": scale, "axis": alt.Axis(format=".3~g", tickCount=4)}
    names = alt.Axis(labelLimit=_LONGEST_NAME, grid=True)
    down = alt.Y(f"{figure.x}:N", sort=None, title=figure.x_title, axis=names)
    tooltip = [alt.Tooltip(f"{c}:{'Q' if _is_number(figure, c) else 'N'}") for c in _columns(figure)]
    layers = []
    if figure.low and figure.high:
        ends = {"x": alt.X(f"{figure.low}:Q", **across), "x2": f"{figure.high}:Q"}
        layers.append(base.mark_rule(strokeWidth=2, color="#6b7280").encode(y=down, **ends))
    marks = base.mark_circle(size=90, opacity=1, color=COLOURS[0])
    return alt.layer(*layers, marks.encode(y=down, x=alt.X(f"{figure.y}:Q", **across), tooltip=tooltip))


def _heat(alt: Any, figure: Figure) -> Any:
    """Cells that reach half way to their neighbours, and the curve over them."""
    rows = [_plain(row) for row in figure.rows]
    across, up = (_cell_edges(sorted({row[c] for row in rows})) for c in (figure.x, figure.y))
    cells = [
        {**row, "_left": across[row[figure.x]][0], "_right": across[row[figure.x]][1], "_foot": up[row[figure.y]][0],
         "_top": up[row[figure.y]][1]}
        for row in rows
    ]  # fmt: skip
    tight = alt.Scale(zero=False, nice=False)
    x_title, y_title = figure.x_title or figure.x, figure.y_title or figure.y
    colour = alt.Color(
        f"{figure.value}:Q", scale=alt.Scale(scheme="viridis"), legend=alt.Legend(title=figure.value, orient="right")
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
            tooltip=[alt.Tooltip(f"{c}:Q") for c in (figure.x, figure.y, figure.value)],
        )
    ]
    if figure.curve:
        heights = {row[figure.x]: row[figure.curve] for row in rows}
        points = [{figure.x: x, figure.curve: y} for x, y in sorted(heights.items())]
        line = alt.Chart(alt.Data(values=points)).mark_line(color="#ffffff", strokeWidth=2.5, strokeDash=[6, 3])
        layers.append(line.encode(x=alt.X(f"{figure.x}:Q"), y=alt.Y(f"{figure.curve}:Q")))
    return alt.layer(*layers)


def _cell_edges(places: list[float]) -> dict[float, tuple[float, float]]:
    """The interval of each place: half way to the next on either side."""
    gaps = [b - a for a, b in pairwise(places)] or [1.0]
    before, after = [gaps[0], *gaps], [*gaps, gaps[-1]]
    return {p: (p - a / 2, p + b / 2) for p, a, b in zip(places, before, after, strict=False)}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value.item() if hasattr(value, "item") else value for key, value in row.items()}


def _is_number(figure: Figure, column: str) -> bool:
    return all(isinstance(_plain(row)[column], (int, float)) for row in figure.rows)


def _encoding(alt: Any, figure: Figure) -> dict[str, Any]:
    x_kind = "Q" if _is_number(figure, figure.x) and figure.mark != "bars" else "N"
    x_options: dict[str, Any] = {"title": figure.x_title or figure.x}
    if x_kind == "Q":
        x_options["scale"] = alt.Scale(type="log", nice=False) if figure.log_x else alt.Scale(zero=False)
        places = sorted({_plain(row)[figure.x] for row in figure.rows})
        if figure.mark == "line" and len(places) <= 8 and all(float(p).is_integer() for p in places):
            x_options["axis"] = alt.Axis(values=places, format="~g")
    else:
        x_options["sort"] = None
        letters = sum(len(str(value)) for value in {row[figure.x] for row in figure.rows})
        x_options["axis"] = alt.Axis(labelAngle=0 if letters < _ROOM_FOR_LETTERS else -35, labelLimit=180)
    y_scale = alt.Scale(type="log") if figure.log_y else alt.Scale(zero=figure.mark == "bars")
    encoding = {
        "x": alt.X(f"{figure.x}:{x_kind}", **x_options),
        "y": alt.Y(f"{figure.y}:Q", title=figure.y_title or figure.y, scale=y_scale, axis=alt.Axis(format=".6~g")),
        "tooltip": [alt.Tooltip(f"{c}:{'Q' if _is_number(figure, c) else 'N'}") for c in _columns(figure)],
    }
    if figure.series:
        order = list(dict.fromkeys(row[figure.series] for row in figure.rows))
        encoding["color"] = alt.Color(
            f"{figure.series}:N",
            scale=alt.Scale(domain=order, range=COLOURS[: len(order)]),
            legend=alt.Legend(title=None, orient="bottom", columns=2, labelLimit=260, symbolOpacity=1),
        )
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
    return base.mark_bar(size=30, **single).encode(**bars)


def _spread(alt: Any, base: Any, figure: Figure, encoding: dict[str, Any]) -> Any:
    ends = {
        "y": alt.Y(f"{figure.low}:Q", title=figure.y_title or figure.y, scale=encoding["y"]["scale"]),
        "y2": f"{figure.high}:Q",
    }
    others = {key: encoding[key] for key in ("x", "color") if key in encoding}
    if figure.mark == "line":
        return base.mark_area(opacity=0.18).encode(**others, **ends)
    return base.mark_rule(strokeWidth=2, color="#6b7280").encode(**others, **ends)


def _diagonal(alt: Any, figure: Figure) -> Any:
    values = [float(row[c]) for row in figure.rows for c in (figure.x, figure.y)]
    ends = [{figure.x: v, figure.y: v} for v in (min(values), max(values))]
    return (
        alt.Chart(alt.Data(values=ends))
        .mark_line(strokeDash=[4, 4], color="#9ca3af")
        .encode(x=alt.X(f"{figure.x}:Q"), y=alt.Y(f"{figure.y}:Q"))
    )
