"""Masks and function graphs, both ways: what a sparse network is wired like, and masks that a graph asks for."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from compsparse.checks import brief, check_count, check_input_and_output_names, check_kind, check_number
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph
from compsparse.graph.function_graph import Node, check_graph
from compsparse.networks.masked import MaskedNetwork
from compsparse.sizes import check_size
from compsparse.surroundings import usual_settings


@torch.no_grad()
def graph_of(
    network: MaskedNetwork,
    replica: int = 0,
    names: Sequence[str] | None = None,
    *,
    outputs: Sequence[str] | str | None = None,
    tol: float = 0.0,
) -> FunctionGraph:
    """The graph of a masked network: one node a unit, one edge a weight that is not masked and not zero.

    Units that no path joins to an input and to an output are left out.

    Args:
        names, outputs: of the inputs and of the outputs; by default x0, x1, … and y or y0, y1, …
        tol: weights of at most this size count as zero.

    Raises:
        ConfigError: an output depends on no input.

    >>> from compsparse.graph import balanced_tree
    >>> graph = balanced_tree(4).structure()
    >>> graph_of(MaskedNetwork(*masks_of(graph), random_state=0)).modules == graph.modules
    True
    """
    check_kind("network", network, MaskedNetwork)
    replica = check_count("replica", replica, least=0, most=network.n_replicas - 1)
    tol = check_number("tol", tol, least=0)
    inputs, ends = check_input_and_output_names(names, outputs, network.n_inputs, network.n_outputs)
    known: dict[int, str] = dict(enumerate(inputs))
    nodes: list[Node] = []
    taken = {*inputs, *ends}
    for layer, weight in enumerate(network.effective()):
        is_last = layer == network.n_layers - 1
        read = (weight[replica].abs() > tol).cpu()
        level: dict[int, str] = {}
        for unit, row in enumerate(read):
            parents = tuple(known[i] for i in row.nonzero().flatten().tolist() if i in known)
            if not parents:
                continue
            level[unit] = ends[unit] if is_last else _free(f"h{layer}_{unit}", taken)
            nodes.append(Node(level[unit], parents))
        known = level
    lost = [name for unit, name in enumerate(ends) if unit not in known]
    if lost:
        raise ConfigError(f"output {lost[0]!r} depends on no input: too many weights are zero")
    return FunctionGraph(inputs, nodes, ends).pruned()


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


@usual_settings()
def masks_of(graph: FunctionGraph, width: int = 1) -> tuple[list[Tensor], list[Tensor]]:
    """Masks and active units of a :class:`MaskedNetwork` in which every node of the graph has ``width`` units.

    Every level of the graph is a layer. A unit reads all units of its node's parents; what later levels need is
    carried past a layer by linear units. Outputs have one unit each, and are linear.

    >>> from compsparse.graph import balanced_tree
    >>> masks, active = masks_of(balanced_tree(4), width=3)
    >>> [tuple(m.shape) for m in masks], int(masks[0].sum())
    ([(6, 4), (1, 6)], 12)
    """
    graph, width = check_graph("graph", graph).pruned(), check_count("width", width)
    if not graph.size:
        raise ConfigError(f"the graph has no nodes to make masks of: its outputs are inputs, {brief(graph.outputs)}")
    widest = float(width) * (graph.size + graph.n_inputs)
    check_size(f"masks of {graph.size} nodes with {width} units each", graph.depth * widest**2, "take fewer units")
    last_use = {name: max((graph.levels[c] for c in users), default=0) for name, users in graph.consumers.items()}
    before = [(name, 1) for name in graph.inputs]
    masks, active = [], []
    for level in range(1, graph.depth + 1):
        here = [n.name for n in graph.nodes if graph.levels[n.name] == level]
        carried = [(name, n) for name, n in before if last_use[name] > level or name in graph.outputs]
        units = [(name, 1 if name in graph.outputs else width) for name in here] + carried
        if level == graph.depth:
            units = [(name, dict(units)[name]) for name in graph.outputs]
        masks.append(_layer_mask(graph, units, before, set(here)))
        is_active = [name in here and name not in graph.outputs for name, n in units for _ in range(n)]
        active.append(torch.tensor(is_active))
        before = units
    return masks, active


def _layer_mask(
    graph: FunctionGraph, units: list[tuple[str, int]], before: list[tuple[str, int]], here: set[str]
) -> Tensor:
    columns: dict[str, slice] = {}
    at = 0
    for name, n in before:
        columns[name] = slice(at, at + n)
        at += n
    mask = torch.zeros(sum(n for _, n in units), at)
    row = 0
    for name, n in units:
        if name in here:
            for parent in graph[name].parents:
                mask[row : row + n, columns[parent]] = 1
        else:
            mask[row : row + n, columns[name]] = torch.eye(n)
        row += n
    return mask
