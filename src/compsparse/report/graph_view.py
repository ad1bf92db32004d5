"""A function graph on a page: the drawing, and a card for every node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from compsparse.graph import FunctionGraph, draw_svg
from compsparse.models.pictures import LearnedNodes
from compsparse.report.evidence import listed
from compsparse.report.node_cards import hover_texts, node_cards
from compsparse.report.page import Section

_MOST_UNREAD_DRAWN = 4
_ROOM, _ROOM_ON_A_PHONE = 700, 350
"""Pixels beyond which inputs stand below each other and not side by side."""
_SMALLEST_SCALE, _LARGEST_SCALE = 0.72, 1.5
"""How far a wide graph is made smaller before it scrolls, and how far a small one is enlarged."""


def graph_sections(
    graph: FunctionGraph,
    learned: LearnedNodes | None,
    evidence: Mapping[str, Sequence[str]],
    about: str = "",
    labels: Mapping[str, str] | None = None,
) -> list[Section]:
    """The drawing and the cards.

    Args:
        evidence: sentences by node.
        about: trusted HTML below the drawing.
        labels: what stands in the boxes of nodes, where it is not their formula.
    """
    return [
        Section("The function graph", _graph_view(graph, evidence, labels) + about),
        Section("What each module learned", _about_modules(learned) + node_cards(graph, learned, evidence)),
    ]


def _graph_view(graph: FunctionGraph, evidence: Mapping[str, Sequence[str]], labels: Mapping[str, str] | None) -> str:
    """The drawing, and beside it the place where the card of a node is shown."""
    drawn, hover = without_many_unread(graph), hover_texts(graph, evidence)
    up, right = (draw_svg(drawn, direction=way, labels=labels, hover=hover) for way in ("up", "right"))
    usual = up if _width(up) <= _ROOM else right
    drawings = [(usual, "drawing")]
    if usual is up and _width(up) > _ROOM_ON_A_PHONE:
        drawings = [(up, "drawing wide"), (right, "drawing narrow")]
    unknown = [name for name in graph.inputs if name in graph.not_looked_at]
    aside = _set_aside(graph.inert, "inert inputs (no effect of them was seen)")
    aside += _set_aside(unknown, "inputs that were not looked at (nothing is known of them)")
    shown = "".join(_drawing(graph, drawn, svg, kind) for svg, kind in drawings)
    hint = "Point at a node, tap it, or reach it with the Tab key: here you see what it is made of and what it learned."
    card = f'<aside id="float" class="card node-card" aria-label="A node" aria-live="polite"><p>{hint}</p></aside>'
    return f'<div class="graph-view"><div class="graph">{shown}</div>{card}</div>{aside}'


def _drawing(graph: FunctionGraph, drawn: FunctionGraph, svg: str, kind: str) -> str:
    """A drawing whose nodes can be reached by mouse, finger and keyboard, and know their cards."""
    names = iter(drawn.index)
    nodes = re.sub(
        '<g class="node',
        lambda m: f'<g tabindex="0" role="button" data-card="node-{graph.index[next(names)]}" {m[0][3:]}',
        svg.replace('role="img"', 'role="group"', 1),
    )
    least, most = (_width(svg) * scale for scale in (_SMALLEST_SCALE, _LARGEST_SCALE))
    return f'<div class="{kind}" style="min-width:{least:.0f}px;max-width:{most:.0f}px">{nodes}</div>'


def _set_aside(names: Sequence[str], what: str) -> str:
    if not names:
        return ""
    is_open = " open" if len(names) <= _MOST_UNREAD_DRAWN else ""
    return f"<details{is_open}><summary>{len(names):,} {what}</summary><p>{escape(listed(names))}.</p></details>"


def _width(svg: str) -> float:
    found = re.search(r'width="(\d+)"', svg)
    return float(found[1]) if found else 0.0


def without_many_unread(graph: FunctionGraph) -> FunctionGraph:
    """The graph for a drawing: many inputs without a place would crowd out the ones that act."""
    if len(graph.unread) <= _MOST_UNREAD_DRAWN:
        return graph
    return FunctionGraph([name for name in graph.inputs if name not in graph.unread], graph.nodes, graph.outputs)


def _about_modules(learned: LearnedNodes | None) -> str:
    text = (
        "A module passes its inputs on as one number. That number is learned up to a change of scale, so it is "
        "shown with mean 0 and spread 1, rising with the output. White dots are rows of data."
    )
    if learned is not None and learned.n_networks > 1:
        text += f" Pictures show the best of the {learned.n_networks} networks that predict together."
    return f"<p>{text}</p>"
