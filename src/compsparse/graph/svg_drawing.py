"""Graphs drawn as SVG, for notebooks and pages; colours follow the reader's light or dark theme."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import pairwise
from typing import Literal

from compsparse.checks import brief, check_choice, check_mapping
from compsparse.errors import ConfigError
from compsparse.graph.function_graph import FunctionGraph, Node, check_graph
from compsparse.graph.layout import coordinates
from compsparse.graph.text_drawing import shortened

_CHARACTER = 7.2
_KEY_CHARACTER = 6.8
_BOX_HEIGHT = 28
_LONGEST_LABEL = 28
_MARGIN = 24
_MOST_BOXES = 400
"""Boxes beyond which nobody reads a drawing; the rest is counted."""

_STYLE = """
.cs-graph { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; --ink: #1f2937; --soft: #6b7280;
  --fill: #f8fafc; --prime: #2563eb; --complete: #c2410c; --input: #059669; }
@media (prefers-color-scheme: dark) { .cs-graph { --ink: #e5e7eb; --soft: #9ca3af; --fill: #111827;
  --prime: #60a5fa; --complete: #fb923c; --input: #34d399; } }
.cs-graph text { fill: var(--ink); text-anchor: middle; dominant-baseline: central; }
.cs-graph .edge { stroke: var(--soft); fill: none; stroke-width: 1.3; }
.cs-graph rect { fill: var(--fill); stroke: var(--prime); stroke-width: 1.5; }
.cs-graph .complete rect { stroke: var(--complete); }
.cs-graph .input rect { stroke: var(--input); }
.cs-graph .inert { opacity: 0.45; } .cs-graph .inert rect { stroke-dasharray: 3 3; }
.cs-graph .output > rect { stroke-width: 3; }
.cs-graph .key { fill: var(--soft); text-anchor: start; font-size: 11px; }
"""


def draw_svg(
    graph: FunctionGraph,
    *,
    direction: Literal["right", "up"] = "up",
    labels: Mapping[str, str] | None = None,
    hover: Mapping[str, str] | None = None,
) -> str:
    """The graph as a self-contained SVG element.

    Args:
        direction: ``up`` puts inputs at the bottom, ``right`` at the left.
        labels: text to show instead of a node's formula.
        hover: text a browser shows when the pointer rests on a node; by default its definition.
    """
    check_choice("direction", direction, ("right", "up"))
    labels, hover = _texts("labels", labels), _texts("hover", hover)
    if len(check_graph("graph", graph).index) > _MOST_BOXES:
        graph, labels, hover = _nearest_the_outputs(graph, labels, hover)
    text = {name: _shortened(labels.get(name) or _label(graph, name)) for name in graph.index}
    width = {name: max(26.0, _CHARACTER * len(t) + 16) for name, t in text.items()}
    centre, canvas_width, canvas_height = _place(graph, width, direction)
    key = _key(graph)
    canvas_width = max(canvas_width, 2 * _MARGIN + _KEY_CHARACTER * len(key))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cs-graph" role="img" width="{canvas_width:.0f}" '
        f'height="{canvas_height + 24:.0f}" viewBox="0 0 {canvas_width:.0f} {canvas_height + 24:.0f}" '
        f'style="max-width:100%;height:auto">',
        f"<title>{escape(repr(graph))}</title>",
        f"<style>{_STYLE}</style>",
    ]
    for node in graph.nodes:
        lines += [_edge(centre[p], centre[node.name], direction) for p in node.parents]
    for name in graph.index:
        tip = hover.get(name) or _definition(graph, name)
        lines.append(_box(centre[name], width[name], text[name], tip, _classes(graph, name)))
    lines.append(f'<text class="key" x="{_MARGIN}" y="{canvas_height + 10:.1f}">{escape(key)}</text>')
    return "\n".join([*lines, "</svg>"])


def _texts(what: str, texts: Mapping[str, str] | None) -> dict[str, str]:
    found = {} if texts is None else dict(check_mapping(what, texts))
    for name, text in found.items():
        if not isinstance(text, str):
            raise ConfigError(f"{what} must be texts, got {brief(text)} for {brief(name)}")
    return found


def _nearest_the_outputs(
    graph: FunctionGraph, labels: dict[str, str], hover: dict[str, str]
) -> tuple[FunctionGraph, dict[str, str], dict[str, str]]:
    """A graph of few boxes: what is nearest to the outputs, and for the rest of a node's parents their number."""
    kept, waiting = set(graph.outputs[:_MOST_BOXES]), list(graph.outputs[:_MOST_BOXES])
    for name in waiting:
        parents = graph[name].parents if graph.levels[name] else ()
        for parent in parents[: max(0, _MOST_BOXES - len(kept))]:
            if parent not in kept:
                kept.add(parent)
                waiting.append(parent)
    stubs, nodes = [], []
    for node in graph.nodes:
        if node.name not in kept:
            continue
        drawn = [p for p in node.parents if p in kept]
        if len(drawn) < node.arity:
            stubs.append(f"… {node.arity - len(drawn):,} more of {node.name}")
            drawn.append(stubs[-1])
        nodes.append(Node(node.name, tuple(drawn), kind=node.kind, channels=node.channels))
        labels.setdefault(node.name, node.label)
        hover.setdefault(node.name, shortened(_definition(graph, node.name), node.arity))
    rest = len(graph.index) - len(kept)
    left_out = f"{rest:,} of {len(graph.index):,} inputs and nodes are not drawn"
    inputs = [*(name for name in graph.inputs if name in kept), *stubs, left_out]
    return FunctionGraph(inputs, nodes, [o for o in graph.outputs if o in kept]), labels, hover


def _label(graph: FunctionGraph, name: str) -> str:
    return graph[name].label if graph.levels[name] else name


def _definition(graph: FunctionGraph, name: str) -> str:
    if not graph.levels[name]:
        return f"{name}: input{' (inert)' if name in graph.inert else ''}"
    node = graph[name]
    kind = f" ({node.kind})" if node.kind else ""
    return f"{name} = {node.label}{kind}, from {', '.join(node.parents)}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"


def _classes(graph: FunctionGraph, name: str) -> str:
    kind = _input_class(graph, name) if not graph.levels[name] else graph[name].kind or "plain"
    return f"node {kind}{' output' if name in graph.outputs else ''}"


def _input_class(graph: FunctionGraph, name: str) -> str:
    return "input inert" if name in graph.inert else "input"


def _place(
    graph: FunctionGraph, width: Mapping[str, float], direction: str
) -> tuple[dict[str, tuple[float, float]], float, float]:
    spot = coordinates(graph)
    left = min(across for across, _ in spot.values())
    if direction == "right":
        column = [0.0] * (graph.depth + 1)
        for name, (_, level) in spot.items():
            column[int(level)] = max(column[int(level)], width[name])
        start = [_MARGIN + sum(column[:i]) + 56 * i + column[i] / 2 for i in range(len(column))]
        centre = {n: (start[int(level)], _MARGIN + 20 + (across - left) * 40) for n, (across, level) in spot.items()}
    else:
        step = _least_step(spot, width)
        first = _MARGIN + max(width.values()) / 2
        centre = {
            n: (first + (across - left) * step, _MARGIN + 20 + (graph.depth - level) * 72)
            for n, (across, level) in spot.items()
        }
    canvas_width = max(x + width[n] / 2 for n, (x, _) in centre.items()) + _MARGIN
    canvas_height = max(y for _, y in centre.values()) + _BOX_HEIGHT / 2 + _MARGIN
    return centre, canvas_width, canvas_height


def _least_step(spot: Mapping[str, tuple[float, float]], width: Mapping[str, float]) -> float:
    """The smallest horizontal unit at which no two boxes of a level touch."""
    step = 30.0
    by_level: dict[float, list[tuple[float, float]]] = {}
    for name, (across, level) in spot.items():
        by_level.setdefault(level, []).append((across, width[name]))
    for row in by_level.values():
        row.sort()
        for (a, wa), (b, wb) in pairwise(row):
            step = max(step, ((wa + wb) / 2 + 14) / (b - a))
    return step


def _edge(start: tuple[float, float], end: tuple[float, float], direction: str) -> str:
    (x0, y0), (x1, y1) = start, end
    if direction == "right":
        middle = (x0 + x1) / 2
        path = f"M{x0:.1f},{y0:.1f} C{middle:.1f},{y0:.1f} {middle:.1f},{y1:.1f} {x1:.1f},{y1:.1f}"
    else:
        middle = (y0 + y1) / 2
        path = f"M{x0:.1f},{y0:.1f} C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
    return f'<path class="edge" d="{path}"/>'


def _box(centre: tuple[float, float], width: float, text: str, tip: str, classes: str) -> str:
    x, y = centre
    rounding = 14 if "input" in classes else 5
    outline = (
        f'<rect x="{x - width / 2:.1f}" y="{y - _BOX_HEIGHT / 2}" width="{width:.1f}" '
        f'height="{_BOX_HEIGHT}" rx="{rounding}"/>'
    )
    if "complete" in classes:  # a double outline, so that the mark does not rest on colour alone
        outline += (
            f'<rect x="{x - width / 2 + 3:.1f}" y="{y - _BOX_HEIGHT / 2 + 3}" width="{width - 6:.1f}" '
            f'height="{_BOX_HEIGHT - 6}" rx="3"/>'
        )
    return (
        f'<g class="{classes}"><title>{escape(tip)}</title>{outline}'
        f'<text x="{x:.1f}" y="{y:.1f}">{escape(text)}</text></g>'
    )


def _key(graph: FunctionGraph) -> str:
    parts = ["thick: output"]
    if any(n.kind == "complete" for n in graph.nodes):
        parts.append("double: combines as in a sum or a product")
    if graph.inert:
        parts.append("dashed: inert")
    return " · ".join(parts)
