"""Cards of a graph's nodes: shown in a list, and beside the graph when a node is pointed at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources

from compsparse.graph import FunctionGraph
from compsparse.models.pictures import MOST_PICTURES, LearnedNodes
from compsparse.report.evidence import inputs_below, kind_text, listed, outputs_using
from compsparse.report.page import environment
from compsparse.report.pictures import picture_svg


def hover_texts(graph: FunctionGraph, evidence: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """A few plain lines about every node and input, for where there are no cards."""
    return {name: "\n".join([name, *_facts(graph, evidence, name).values()]) for name in graph.index}


def node_cards(
    graph: FunctionGraph, learned: LearnedNodes | None = None, evidence: Mapping[str, Sequence[str]] | None = None
) -> str:
    """The cards with their style and script, with what the nodes learned and what speaks for them.

    The card of the i-th entry of ``graph.index`` has the id ``node-i``: an element of the page with
    that name in ``data-card`` shows it when pointed at.
    """
    inputs, modules = [], []
    for name, i in graph.index.items():
        facts = _facts(graph, evidence or {}, name)
        if name in graph.inputs:
            inputs.append({"id": f"node-{i}", "html": _card(name, "input", {**facts, **_range(learned, name)})})
            continue
        pictures = () if learned is None else learned.pictures.get(name, ())
        hidden = graph[name].arity - len(pictures) if len(pictures) == MOST_PICTURES else 0
        if hidden > 0:
            facts["shown"] = f"the {MOST_PICTURES} parents along which it moves most, of {graph[name].arity}"
        role = "output" if name in graph.outputs else "module"
        html = _card(name, role, facts, [picture_svg(p) for p in pictures], pictures[0].note if pictures else "")
        modules.append({"id": f"node-{i}", "html": html, "wide": len(pictures) > 1})
    template = resources.files("compsparse.report").joinpath("node_cards.html").read_text(encoding="utf-8")
    cards: str = environment(autoescape=False).from_string(template).render(inputs=inputs, modules=modules)
    return cards


def _facts(graph: FunctionGraph, evidence: Mapping[str, Sequence[str]], name: str) -> dict[str, str]:
    if name in graph.inputs:
        if name in graph.inert:
            return {"inert": "inert: no effect of it was seen"}
        if name in graph.not_looked_at:
            return {"inert": "not looked at: the search says nothing of it"}
        return _users(graph, name)
    facts = {"made of": f"{{{listed(inputs_below(graph, name))}}}", "kind": kind_text(graph, name)}
    if tuple(graph[name].parents) != inputs_below(graph, name):
        facts["reads"] = f"reads {listed(graph[name].parents)}"
    facts["evidence"] = "; ".join(evidence.get(name, ()))
    return {key: text for key, text in {**facts, **_users(graph, name)}.items() if text}


def _users(graph: FunctionGraph, name: str) -> dict[str, str]:
    """What reads it, and where there are several outputs, which of them it reaches."""
    outputs = [o for o in outputs_using(graph, name) if o != name]
    read = {"read by": f"read by {listed(graph.consumers[name])}"} if graph.consumers.get(name) else {}
    return read | ({"reaches": f"reaches {listed(outputs)}"} if outputs and len(graph.outputs) > 1 else {})


def _range(learned: LearnedNodes | None, name: str) -> dict[str, str]:
    if learned is not None and name in learned.levels:
        return {"levels": f"levels {listed(learned.levels[name])}"}
    if learned is not None and name in learned.ranges:
        low, high = learned.ranges[name]
        return {"range": f"from {low:.6g} to {high:.6g} in the data"}
    return {}


def _card(name: str, role: str, facts: dict[str, str], pictures: list[str] | None = None, note: str = "") -> str:
    lines = "".join(f"<p>{escape(text)}</p>" for text in facts.values())
    figures = "".join(f"<figure>{svg}</figure>" for svg in pictures or [])
    shown = f'<div class="pics">{figures}</div>' if figures else ""
    return f"<h3>{escape(name)} <small>{role}</small></h3>{lines}{shown}" + (f"<p>{escape(note)}</p>" if note else "")
