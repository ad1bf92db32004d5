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

_MOST_INERT_DRAWN = 4
_MANY_INPUTS = 16
_SMALLEST_SCALE = 0.72
"""How far a wide graph is made smaller before it scrolls."""


def graph_sections(
    graph: FunctionGraph, learned: LearnedNodes | None, evidence: Mapping[str, Sequence[str]], about: str = ""
) -> list[Section]:
    """The drawing and the cards; ``evidence`` has sentences by node, ``about`` is trusted HTML below the drawing."""
    return [
        Section("The function graph", _drawing(graph, evidence) + about),
        Section("What each module learned", _about_modules(learned) + node_cards(graph, learned, evidence)),
    ]


def _drawing(graph: FunctionGraph, evidence: Mapping[str, Sequence[str]]) -> str:
    drawn = without_many_inert(graph)
    hover = hover_texts(graph, evidence)
    svg = draw_svg(drawn, direction="right" if drawn.n_inputs > _MANY_INPUTS else "up", hover=hover)
    names = iter(drawn.index)
    svg = re.sub(
        '<g class="node', lambda m: f'<g tabindex="0" data-card="node-{graph.index[next(names)]}" {m[0][3:]}', svg
    )
    found = re.search(r'width="(\d+)"', svg)
    width = float(found[1]) if found else 0.0
    inert = (
        f"<details{' open' if len(graph.inert) <= _MOST_INERT_DRAWN else ''}><summary>{len(graph.inert)} inert inputs "
        f"(no effect of them was seen)</summary><p>{escape(listed(graph.inert))}.</p></details>"
    )
    return (
        "<p>Point at a node, or tap it, to see what it is made of and what it learned.</p>"
        f'<div class="graph"><div style="min-width:{width * _SMALLEST_SCALE:.0f}px">{svg}</div></div>'
        f"{inert if graph.inert else ''}"
    )


def without_many_inert(graph: FunctionGraph) -> FunctionGraph:
    """The graph for a drawing: many inert inputs would crowd out the ones that act."""
    if len(graph.inert) <= _MOST_INERT_DRAWN:
        return graph
    return FunctionGraph([name for name in graph.inputs if name not in graph.inert], graph.nodes, graph.outputs)


def _about_modules(learned: LearnedNodes | None) -> str:
    text = (
        "A module passes its inputs on as one number. That number is learned up to a change of scale, so it is "
        "shown with mean 0 and spread 1, rising with the output. White dots are rows of data."
    )
    if learned is not None and learned.n_networks > 1:
        text += f" Pictures show the best of the {learned.n_networks} networks that predict together."
    return f"<p>{text}</p>"
