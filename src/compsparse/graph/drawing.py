"""Graphs drawn: with characters for terminals, as SVG for notebooks and pages, for Graphviz and Mermaid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from statistics import fmean
from typing import Literal

from compsparse.checks import brief, check_choice, check_count, check_mapping
from compsparse.errors import ConfigError
from compsparse.graph.function_graph import FunctionGraph, Node, check_graph

# ---- where to draw nodes: one layer per level, few crossings within it ------------------------------


_SWEEPS = 6


def layers(graph: FunctionGraph) -> list[list[str]]:
    """Names by level, each level ordered by the mean position of its neighbours."""
    rows: list[list[str]] = [[] for _ in range(graph.depth + 1)]
    for name, level in graph.levels.items():
        rows[level].append(name)
    parents = {n.name: n.parents for n in graph.nodes}
    _order_inputs_depth_first(graph, rows)
    place = {name: at for row in rows for name, at in _places(row)}
    for sweep in range(_SWEEPS):
        downward = sweep % 2 == 0
        neighbours = parents if downward else graph.consumers
        for row in rows if downward else reversed(rows):
            row.sort(key=lambda name: _barycentre(name, neighbours, place))
            place.update(_places(row))
    return rows


def _order_inputs_depth_first(graph: FunctionGraph, rows: list[list[str]]) -> None:
    """On a tree this order alone has no crossings."""
    order: dict[str, None] = {}
    waiting = list(reversed(graph.outputs))
    while waiting:
        name = waiting.pop()
        if name in order:
            continue
        order[name] = None
        if graph.levels[name]:
            waiting.extend(reversed(graph[name].parents))
    for name in graph.index:
        order.setdefault(name)
    rank = {name: i for i, name in enumerate(order)}
    for row in rows:
        row.sort(key=rank.__getitem__)


def _places(row: list[str]) -> Iterator[tuple[str, float]]:
    """Positions across, the row spread over the unit interval."""
    return ((name, (i + 0.5) / len(row)) for i, name in enumerate(row))


def _barycentre(name: str, neighbours: Mapping[str, Sequence[str]], place: Mapping[str, float]) -> float:
    around = neighbours.get(name, ())
    return fmean(place[n] for n in around) if around else place[name]


def coordinates(graph: FunctionGraph) -> dict[str, tuple[float, float]]:
    """(across, along) of every name: along is the level, across is centred over the parents."""
    rows = layers(graph)
    across: dict[str, float] = {name: float(i) for i, name in enumerate(rows[0])}
    for row in rows[1:]:
        wanted = [fmean(across[p] for p in graph[name].parents) for name in row]
        for name, x in zip(row, _spread(wanted), strict=True):
            across[name] = x
    return {name: (across[name], float(graph.levels[name])) for name in graph.index}


def _spread(wanted: list[float], gap: float = 1.0) -> list[float]:
    """The closest positions to the wanted ones that keep order and a gap (isotonic regression)."""
    blocks: list[list[float]] = []  # [sum of wanted - offset, count]
    for i, x in enumerate(wanted):
        blocks.append([x - i * gap, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    flat = [total / count for total, count in blocks for _ in range(int(count))]
    return [x + i * gap for i, x in enumerate(flat)]


# ---- characters -------------------------------------------------------------------------------------


_LONGEST_LABEL = 400
_DEEPEST = 3 * 150
"""Characters of indentation beyond which a drawing goes no deeper."""
_MARK = {"complete": " ⊕", "prime": "", None: ""}


def draw_text(graph: FunctionGraph, most_lines: int = 200) -> str:
    """Each output as a tree of what it is made of; a node met again is named, not repeated.

    Complete nodes carry the mark ⊕.
    """
    check_graph("graph", graph)
    most_lines = check_count("most_lines", most_lines)
    lines: list[str] = []
    drawn: set[str] = set()
    left_out = 0
    # last in, first out: (name, prefix of its line, prefix of its children's lines)
    waiting = [(name, "", "") for name in reversed(graph.outputs)]
    while waiting:
        name, prefix, below = waiting.pop()
        if len(lines) >= most_lines:
            left_out += 1
            continue
        lines.append(prefix + _line(graph, name, name in drawn))
        if graph.levels[name] == 0 or name in drawn:
            continue
        drawn.add(name)
        parents = graph[name].parents
        if len(below) > _DEEPEST:
            lines.append(f"{below}… and what these are made of")
            continue
        # what lies beyond the last line is counted, not drawn
        for i, parent in reversed(list(enumerate(parents[: most_lines + 1]))):
            last = i == len(parents) - 1
            waiting.append((parent, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))
    if left_out:
        lines.append(f"… and {graph.size - len(drawn)} more nodes")
    if graph.inert:
        lines.append(f"inert: {shortened(', '.join(graph.inert), len(graph.inert))}")
    if unknown := [name for name in graph.inputs if name in graph.not_looked_at]:
        lines.append(f"not looked at: {shortened(', '.join(unknown), len(unknown))}")
    return "\n".join(lines)


def shortened(text: str, n_names: int) -> str:
    """A text of many names that fits on a line, with their number."""
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}… ({n_names:,} names)"


def _line(graph: FunctionGraph, name: str, again: bool) -> str:
    if graph.levels[name] == 0:
        return name
    node = graph[name]
    if again:
        return f"{name} (above)"
    channels = f" [{node.channels} channels]" if node.channels > 1 else ""
    label = "" if node.label == name else f" = {shortened(node.label, node.arity)}"
    return f"{name}{label}{_MARK[node.kind]}{channels}"


# ---- SVG, whose colours follow the reader's light or dark theme -------------------------------------


_CHARACTER = 7.2
_KEY_CHARACTER = 6.8
_BOX_HEIGHT = 28
_LONGEST_IN_A_BOX = 28
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
.cs-graph .unknown { opacity: 0.45; } .cs-graph .unknown rect { stroke-dasharray: 1 3; }
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
    text = {}
    for name in graph.index:
        label = labels.get(name) or (graph[name].label if graph.levels[name] else name)
        text[name] = label if len(label) <= _LONGEST_IN_A_BOX else label[: _LONGEST_IN_A_BOX - 1] + "…"
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
    outputs = [o for o in graph.outputs if o in kept]
    return FunctionGraph(inputs, nodes, outputs, not_looked_at=graph.not_looked_at & kept), labels, hover


def _definition(graph: FunctionGraph, name: str) -> str:
    if not graph.levels[name]:
        return f"{name}: input{_unread_words(graph, name)}"
    node = graph[name]
    kind = f" ({node.kind})" if node.kind else ""
    return f"{name} = {node.label}{kind}, from {', '.join(node.parents)}"


def _unread_words(graph: FunctionGraph, name: str) -> str:
    if name in graph.not_looked_at:
        return " (not looked at)"
    return " (inert)" if name in graph.inert else ""


def _classes(graph: FunctionGraph, name: str) -> str:
    inert = " inert" * (name in graph.inert) + " unknown" * (name in graph.not_looked_at)
    kind = (graph[name].kind or "plain") if graph.levels[name] else f"input{inert}"
    return f"node {kind}{' output' if name in graph.outputs else ''}"


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
    if graph.not_looked_at:
        parts.append("dotted: not looked at")
    return " · ".join(parts)


# ---- for other tools ----------------------------------------------------------------------------


def to_dot(graph: FunctionGraph) -> str:
    """Graphviz source, inputs at the bottom."""
    check_graph("graph", graph)
    lines = ["digraph {", "  rankdir=BT;", '  node [fontname="Helvetica"];']
    for name in graph.inputs:
        lines.append(f"  {_quoted(name)} [shape=plaintext];")
    for node in graph.nodes:
        shape = "doublecircle" if node.kind == "complete" else "box"
        bold = ", penwidth=2" if node.name in graph.outputs else ""
        lines.append(f"  {_quoted(node.name)} [shape={shape}, label={_quoted(node.label)}{bold}];")
        lines += [f"  {_quoted(parent)} -> {_quoted(node.name)};" for parent in node.parents]
    return "\n".join([*lines, "}"])


def to_mermaid(graph: FunctionGraph) -> str:
    """Mermaid source, as GitHub and many notebooks draw it."""
    check_graph("graph", graph)
    key = {name: f"n{i}" for name, i in graph.index.items()}
    lines = ["flowchart BT"]
    lines += [f'  {key[name]}(["{_escaped(name)}"])' for name in graph.inputs]
    for node in graph.nodes:
        left, right = ("(((", ")))") if node.kind == "complete" else ("[", "]")
        lines.append(f'  {key[node.name]}{left}"{_escaped(node.label)}"{right}')
        lines += [f"  {key[parent]} --> {key[node.name]}" for parent in node.parents]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
