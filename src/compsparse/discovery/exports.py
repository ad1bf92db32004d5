"""What a discovery knows, in the words of other tools."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from compsparse.checks import check_count, check_kind
from compsparse.discovery.record import Discovery
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph
from compsparse.graph.function_graph import check_graph

if TYPE_CHECKING:
    from compsparse.models import Importances

_LARGEST_GROUP = 3


def to_ebm_interactions(found: Discovery, most: int = 10, *, largest: int = 2) -> list[tuple[str, ...]]:
    """The terms of several inputs for an explainable boosting machine: ``interactions=`` of ``interpret``.

    Pairs that act together, the strongest first. Without such terms the machine has to guess them among all pairs.

    Args:
        found: a discovery that carries importances.
        most: terms at most.
        largest: 3 also gives every group of three inputs in which all act together, before its pairs. The machine
            needs minutes for such a term unless its ``max_interaction_bins`` is about 16.

    Raises:
        ConfigError: the discovery carries no importances.
    """
    check_count("most", most)
    check_count("largest", largest, least=2, most=_LARGEST_GROUP)
    pairs = [pair.pair for pair in _influence(found).together]
    strengths = {frozenset(pair): i for i, pair in enumerate(pairs)}
    terms: list[tuple[str, ...]] = list(pairs)
    for members in sorted(found.modules, key=sorted):
        if len(members) == largest == _LARGEST_GROUP:
            inside = [strengths[p] for p in strengths if p <= members]
            if len(inside) == _LARGEST_GROUP:
                terms.insert(terms.index(pairs[min(inside)]), tuple(sorted(members)))
    return terms[:most]


def _influence(found: Discovery) -> Importances:
    check_kind("found", found, Discovery)
    if found.influence is None:
        raise ConfigError(
            "which inputs act together is not known: discover in a table of 64 rows or more, or with n_runs of a "
            "simulator"
        )
    return found.influence


def to_pysr_template(found: Discovery | FunctionGraph) -> dict[str, object]:
    """The structure as a template for PySR: ``TemplateExpressionSpec(**to_pysr_template(found))``.

    Every node becomes an expression to be found, of its own parents alone; inputs without an effect are left out, so
    the table for PySR has the columns ``variable_names`` in that order.

    Raises:
        ConfigError: there are several outputs, a node passes on several numbers, or a name is no name in Julia.
    """
    graph = check_graph("found", found.graph if isinstance(found, Discovery) else found).pruned()
    if len(graph.outputs) != 1:
        raise ConfigError(f"a template has one output, and the graph has {len(graph.outputs)}: discover each by itself")
    wide = [node.name for node in graph.nodes if node.channels > 1]
    if wide:
        raise ConfigError(f"{wide[0]!r} passes on several numbers, which a template cannot hold")
    inputs = [name for name in graph.inputs if name not in graph.unread]
    for name in inputs:
        if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
            raise ConfigError(f"{name!r} cannot be a name in a template: rename the column, as in x1 or flow_rate")
    functions = _function_names(len(graph.nodes), inputs)
    called = {name: name for name in inputs}
    for node, function in zip(graph.nodes, functions, strict=True):
        called[node.name] = f"{function}({', '.join(called[parent] for parent in node.parents)})"
    return {"combine": called[graph.outputs[0]], "expressions": functions, "variable_names": inputs}


def _function_names(n: int, taken: Sequence[str]) -> list[str]:
    mark = "f"
    while any(name.startswith(mark) and name[len(mark) :].isdigit() for name in taken):
        mark += "_"
    return [f"{mark}{i + 1}" for i in range(n)]


def independent_groups(found: Discovery) -> list[tuple[str, ...]]:
    """Groups of inputs so that no input of one was seen to act together with one of another.

    The function adds up over them. Inputs of one module stay together, and so do pairs that were not asked about.

    Raises:
        ConfigError: the discovery carries no importances.
    """
    influence = _influence(found)
    graph = found.graph
    group = {name: {name} for name in graph.inputs if name not in graph.unread}
    joined = [*(pair.pair for pair in influence.together), *influence.pairs_not_asked]
    joined += [pair for module in found.modules for pair in pairwise(sorted(module))]
    for a, b in joined:
        if a in group and b in group and group[a] is not group[b]:
            group[a] |= group[b]
            for name in group[b]:
                group[name] = group[a]
    seen = {id(members): members for members in group.values()}
    return [tuple(name for name in graph.inputs if name in members) for members in seen.values()]
