"""Layerwise training: learn the lower levels of a graph under a free upper part, level by level.

Stage l keeps the nodes up to level l and puts one dense node per output in place of everything
above. That problem is easier than the whole graph, and what its lower nodes learn carries over.
"""

from __future__ import annotations

import torch

from compsparse.checks import check_count, check_kind
from compsparse.graph import FunctionGraph, Node
from compsparse.graph.function_graph import check_graph
from compsparse.networks.mirroring import MirrorNetwork


def lower_part(graph: FunctionGraph, level: int) -> FunctionGraph:
    """The graph up to a level, with a dense node per output on top of what the rest reads.

    >>> from compsparse.graph import balanced_tree
    >>> [(n.name, n.arity) for n in lower_part(balanced_tree(8), 1).nodes]
    [('h0', 2), ('h1', 2), ('h2', 2), ('h3', 2), ('rest_h6', 4)]
    """
    check_graph("graph", graph)
    level = check_count("level", level, least=0)
    kept = [n for n in graph.nodes if graph.levels[n.name] <= level]
    known = {*graph.inputs, *(n.name for n in kept)}
    nodes, outputs = list(kept), []
    for output in graph.outputs:
        if output in known:
            outputs.append(output)
            continue
        above = {output, *(a for a in graph.ancestors(output) if a not in known)}
        frontier = dict.fromkeys(p for n in graph.nodes if n.name in above for p in n.parents if p in known)
        name = f"rest_{output}"
        while name in graph:
            name += "_"
        nodes.append(Node(name, tuple(frontier)))
        outputs.append(name)
    return FunctionGraph(graph.inputs, nodes, outputs)


@torch.no_grad()
def copy_nodes(source: MirrorNetwork, target: MirrorNetwork) -> list[str]:
    """Copies the weights of nodes that stand in both networks with the same shape; returns their names."""
    check_kind("source", source, MirrorNetwork)
    check_kind("target", target, MirrorNetwork)
    there = _places(source)
    copied = []
    for name, (block, own) in _places(target).items():
        if name not in there:
            continue
        from_block, from_own = there[name]
        mine, theirs = list(source.blocks[from_block].parameters()), list(target.blocks[block].parameters())
        pairs = list(zip(mine, theirs, strict=False))
        if len(mine) == len(theirs) and all(a[:, from_own].shape == b[:, own].shape for a, b in pairs):
            for a, b in pairs:
                b[:, own] = a[:, from_own]
            copied.append(name)
    return copied


def _places(network: MirrorNetwork) -> dict[str, tuple[int, int]]:
    """Which block holds each node's weights, and where in it."""
    return {
        name: (group.block, 0 if group.shared else i)
        for group in network.plan.groups
        for i, name in enumerate(group.nodes)
    }
