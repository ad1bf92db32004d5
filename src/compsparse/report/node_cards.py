"""Cards of a graph's nodes: shown in a list, and beside the graph when a node is pointed at."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import Any

from compsparse.discovery import Discovery
from compsparse.models.constituents import MOST_PICTURES, LearnedNodes
from compsparse.report.evidence import inputs_below, kind_text, listed, node_evidence, outputs_using
from compsparse.report.page import environment
from compsparse.report.pictures import picture_svg
from compsparse.tables.coding import TextColumn


def hover_texts(found: Discovery) -> dict[str, str]:
    """A few plain lines about every node and input, for where there are no cards."""
    return {name: "\n".join([name, *_facts(found, name).values()]) for name in found.graph.index}


def node_cards(found: Discovery, table: Any = None) -> str:
    """The cards with their style and script; ``table`` gives the range of the pictures.

    The card of the i-th entry of ``graph.index`` has the id ``node-i``: an element of the page with
    that name in ``data-card`` shows it when pointed at.
    """
    learned = None if found.model is None or table is None else LearnedNodes(found.model, table)
    inputs, modules = [], []
    for name, i in found.graph.index.items():
        facts = _facts(found, name)
        if name in found.graph.inputs:
            inputs.append({"id": f"node-{i}", "html": _card(name, "input", {**facts, **_range(found, name, table)})})
            continue
        pictures = [] if learned is None else learned.pictures(name)
        hidden = found.graph[name].arity - len(pictures) if len(pictures) == MOST_PICTURES else 0
        if hidden > 0:
            facts["shown"] = f"the {MOST_PICTURES} parents along which it moves most, of {found.graph[name].arity}"
        role = "output" if name in found.graph.outputs else "module"
        html = _card(name, role, facts, [picture_svg(p) for p in pictures], pictures[0].note if pictures else "")
        modules.append({"id": f"node-{i}", "html": html, "wide": len(pictures) > 1})
    template = resources.files("compsparse.report").joinpath("node_cards.html").read_text(encoding="utf-8")
    return environment(autoescape=False).from_string(template).render(inputs=inputs, modules=modules)


def _facts(found: Discovery, name: str) -> dict[str, str]:
    graph = found.graph
    if name in graph.inputs:
        if name in graph.inert:
            return {"inert": "no output depends on it"}
        return {"read by": f"read by {listed(graph.consumers[name])}", **_users(found, name)}
    facts = {"made of": f"{{{listed(inputs_below(graph, name))}}}", "kind": kind_text(graph, name)}
    if tuple(graph[name].parents) != inputs_below(graph, name):
        facts["reads"] = f"reads {listed(graph[name].parents)}"
    evidence = node_evidence(found, name)
    if evidence:
        facts["evidence"] = "; ".join(evidence)
    return {key: text for key, text in {**facts, **_users(found, name)}.items() if text}


def _users(found: Discovery, name: str) -> dict[str, str]:
    outputs = [o for o in outputs_using(found.graph, name) if o != name]
    return {"used by": f"used by {listed(outputs)}"} if outputs else {}


def _range(found: Discovery, name: str, table: Any) -> dict[str, str]:
    if table is None or found.model is None:
        return {}
    column = next(c for c in found.model.code.inputs if c.name == name)
    if isinstance(column, TextColumn):
        return {"levels": f"levels {listed(column.levels)}"}
    low, high = (
        (table[name].min(), table[name].max())
        if hasattr(table, "columns")
        else (table[:, found.graph.index[name]].min(), table[:, found.graph.index[name]].max())
    )
    return {"range": f"from {float(low):.6g} to {float(high):.6g} in the data"}


def _card(name: str, role: str, facts: dict[str, str], pictures: list[str] | None = None, note: str = "") -> str:
    lines = "".join(f"<p>{escape(text)}</p>" for text in facts.values())
    figures = "".join(f"<figure>{svg}</figure>" for svg in pictures or [])
    shown = f'<div class="pics">{figures}</div>' if figures else ""
    return f"<h3>{escape(name)} <small>{role}</small></h3>{lines}{shown}" + (f"<p>{escape(note)}</p>" if note else "")
