"""Comparing graphs: equality up to renaming, and how well one structure matches another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compsparse.checks import check_flag, suggests_options
from compsparse.errors import GraphError
from compsparse.graph.function_graph import FunctionGraph, check_graph
from compsparse.graph.tracing import AnyGraph, as_graph

if TYPE_CHECKING:
    import networkx


@suggests_options
def equivalent(a: AnyGraph, b: AnyGraph, *, rename_inputs: bool = False) -> bool:
    """Whether two graphs differ in the names of their nodes alone (and of inputs, if allowed).

    >>> import math
    >>> equivalent("tanh(a*b) + c", lambda a, b, c: math.tanh(a * b) + c)
    True
    """
    a, b = as_graph("a", a), as_graph("b", b)
    check_flag("rename_inputs", rename_inputs)
    if (a.n_inputs, a.size, a.n_edges, len(a.outputs)) != (b.n_inputs, b.size, b.n_edges, len(b.outputs)):
        return False
    if not rename_inputs:
        if a.inputs != b.inputs:
            return False
        numbers: dict[object, int] = {}
        return _numbered(a, numbers) == _numbered(b, numbers)
    from networkx.algorithms.isomorphism import DiGraphMatcher

    def same_node(u: dict[str, Any], v: dict[str, Any]) -> bool:
        keys = ("role", "constituent", "kind", "channels", "output")
        return all(u.get(key) == v.get(key) for key in keys)

    matcher = DiGraphMatcher(
        to_networkx(a), to_networkx(b), node_match=same_node, edge_match=lambda s, t: s["position"] == t["position"]
    )
    return bool(matcher.is_isomorphic())


def _numbered(graph: FunctionGraph, numbers: dict[object, int]) -> tuple[list[int], list[int]]:
    """Outputs and nodes as numbers that stand for what they compute, so that names drop out."""
    of = {name: numbers.setdefault(name, len(numbers)) for name in graph.inputs}
    for node in graph.nodes:
        computes = (node.constituent, node.kind, node.channels, tuple(of[p] for p in node.parents))
        of[node.name] = numbers.setdefault(computes, len(numbers))
    return [of[o] for o in graph.outputs], sorted(of[n.name] for n in graph.nodes)


def to_networkx(graph: FunctionGraph) -> networkx.DiGraph:
    """A networkx graph; nodes carry ``role``, ``constituent``, ``kind``, edges their ``position``."""
    check_graph("graph", graph)
    import networkx

    result = networkx.DiGraph()
    for name in graph.inputs:
        result.add_node(name, role="input", output=_output_place(graph, name))
    for node in graph.nodes:
        result.add_node(
            node.name,
            role="node",
            constituent=node.constituent,
            kind=node.kind,
            channels=node.channels,
            output=_output_place(graph, node.name),
        )
        for position, parent in enumerate(node.parents):
            result.add_edge(parent, node.name, position=position)
    return result


def _output_place(graph: FunctionGraph, name: str) -> int | None:
    """Which output a name is, if it is one."""
    return graph.outputs.index(name) if name in graph.outputs else None


@dataclass(frozen=True)
class GraphComparison:
    """How the strong modules of one graph match those of the true one.

    Attributes:
        exact: same modules, same kinds where they matter, same inert inputs.
        precision, recall, f1: over module sets; 1 where there is nothing to find or to get wrong.
        kind_accuracy: share of common modules of three or more parts whose kind agrees; None if
            there are none.
        missing, extra: modules of the truth that were not found, and found ones that are false.
        inert_missing, inert_extra: the same for inert inputs; of those that were not looked at nothing is claimed.
    """

    exact: bool
    precision: float
    recall: float
    f1: float
    kind_accuracy: float | None
    missing: frozenset[frozenset[str]]
    extra: frozenset[frozenset[str]]
    inert_missing: frozenset[str]
    inert_extra: frozenset[str]


@suggests_options
def compare_graphs(found: AnyGraph, true: AnyGraph) -> GraphComparison:
    """Compares the canonical module trees of two graphs over the same inputs.

    >>> found = FunctionGraph.from_groups([["a", "b"], "c", "d"])
    >>> true = FunctionGraph.from_groups([["a", "b"], ["c", "d"]])
    >>> result = compare_graphs(found, true)
    >>> result.exact, result.precision, result.recall
    (False, 1.0, 0.5)
    """
    found, true = as_graph("found", found), as_graph("true", true)
    if set(found.inputs) != set(true.inputs):
        odd = sorted(set(found.inputs) ^ set(true.inputs))
        raise GraphError(f"graphs over different inputs cannot be compared: {odd[:8]} stand in one of them only")
    common = found.modules & true.modules
    precision = len(common) / len(found.modules) if found.modules else 1.0
    recall = len(common) / len(true.modules) if true.modules else 1.0
    agreements = _kind_agreements(found, true)
    inert_missing = frozenset(true.inert) - frozenset(found.inert) - found.not_looked_at
    inert_extra = frozenset(found.inert) - frozenset(true.inert)
    return GraphComparison(
        exact=found.modules == true.modules and all(agreements) and not inert_missing and not inert_extra,
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        kind_accuracy=sum(agreements) / len(agreements) if agreements else None,
        missing=true.modules - found.modules,
        extra=found.modules - true.modules,
        inert_missing=inert_missing,
        inert_extra=inert_extra,
    )


def _kind_agreements(found: FunctionGraph, true: FunctionGraph) -> list[bool]:
    kinds = {m.members: m.kind for m in found.module_tree.inner if len(m.children) >= 3}
    return [m.kind == kinds[m.members] for m in true.module_tree.inner if len(m.children) >= 3 and m.members in kinds]
