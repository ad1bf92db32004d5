"""Evidence in sentences, for pages and terminals."""

from __future__ import annotations

from collections.abc import Iterable

from compsparse.discovery import Discovery, Evidence
from compsparse.graph import FunctionGraph

_MOST_NAMES = 40
_KINDS = {
    "prime": "its parts act together, and no smaller group separates",
    "complete": "its parts combine as in a sum or a product",
}


def listed(names: Iterable[str]) -> str:
    """Names with commas between them; the rest counted where there are very many."""
    names = list(names)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def inputs_below(graph: FunctionGraph, name: str) -> tuple[str, ...]:
    """The inputs a node is made of."""
    below = graph.ancestors(name) | {name}
    return tuple(i for i in graph.inputs if i in below)


def outputs_using(graph: FunctionGraph, name: str) -> tuple[str, ...]:
    """The outputs that depend on a node or input; an output uses itself."""
    above = graph.descendants(name) | {name}
    return tuple(o for o in graph.outputs if o in above)


def kind_text(graph: FunctionGraph, name: str) -> str:
    """How the parts of a node combine; of fewer than three parts there is nothing to say."""
    node = graph[name]
    return _KINDS.get(node.kind or "", "") if node.arity > 2 else ""


def node_evidence(found: Discovery, name: str) -> list[str]:
    """What speaks for the module of a node."""
    users = set(outputs_using(found.graph, name))
    entries = [e for e in found.evidence_for(set(inputs_below(found.graph, name))) if users & set(e.outputs)]
    return [f"{e.confidence.value}: {e.sentence}" for e in entries]


def evidence_by_node(found: Discovery) -> dict[str, list[str]]:
    """What speaks for the module of every node."""
    return {node.name: node_evidence(found, node.name) for node in found.graph.nodes}


def confidence_labels(found: Discovery) -> dict[str, str]:
    """For the boxes of nodes without a formula: the name, and below an output how sure the module is."""
    labels = {}
    for node in found.graph.nodes:
        entries = found.evidence_for(set(inputs_below(found.graph, node.name)))
        if entries and node.label == node.name and node.name not in found.graph.outputs:
            labels[node.name] = f"{node.name}: {entries[0].confidence.value}"
    return labels


def evidence_line(found: Discovery, evidence: Evidence) -> str:
    """A line of its own: how sure, members, what was seen."""
    outputs = f" for {listed(evidence.outputs)}" if len(found.graph.outputs) > 1 else ""
    members = "{" + listed(sorted(evidence.members)) + "}"
    return f"{evidence.confidence.value}: {members}{outputs} {evidence.sentence}"
