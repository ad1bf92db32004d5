"""Lowers a graph to a plan: which nodes run together, and where they read their inputs.

Nodes of one level that read equally many numbers form a group; a group runs as one batched
product per layer. So the cost of a network follows the graph's edges and the number of kernels
follows its depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from compsparse.checks import brief, check_choice, check_count
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph
from compsparse.graph.function_graph import check_graph
from compsparse.sizes import check_work
from compsparse.text import in_a_line

Sharing = Literal["none", "level", "all"]
"""Which nodes share their weights; see :func:`make_plan`."""


_MOST_WIRES = 20_000_000
"""Most numbers that nodes may read, all together."""


@dataclass(frozen=True)
class Read:
    """Rows of earlier buffers: buffer 0 holds the inputs, buffer i + 1 the outputs of group i.

    Attributes:
        buffers: the buffers to read, one after the other.
        rows: rows of their concatenation; None when all rows are read in order.
    """

    buffers: tuple[int, ...]
    rows: tuple[int, ...] | None


@dataclass(frozen=True)
class Group:
    """Nodes that run together. A shared group has one set of weights for all its nodes."""

    nodes: tuple[str, ...]
    read: Read
    block: int
    shared: bool


@dataclass(frozen=True)
class WeightBlock:
    """Weights of ``count`` node networks that map ``fan_in`` numbers to ``channels``."""

    count: int
    fan_in: int
    channels: int


@in_a_line
@dataclass(frozen=True)
class NetworkPlan:
    """What runs in which order, with which weights, and where the outputs are read.

    Attributes:
        groups: in the order in which they run.
        blocks: the weights; groups name theirs by its place here.
        output: the rows that are the network's outputs.
    """

    groups: tuple[Group, ...]
    blocks: tuple[WeightBlock, ...]
    output: Read
    n_outputs: int


def make_plan(
    graph: FunctionGraph,
    channels: int = 1,
    out_channels: int = 1,
    share: Sharing | Mapping[str, object] = "none",
) -> NetworkPlan:
    """The plan of a graph; plans of equal graphs are made once.

    Args:
        channels: width of the wires of nodes that declare only one.
        out_channels: width of the output nodes' wires.
        share: ``none``, ``level`` (all nodes of a level that read equally many numbers), ``all``
            (across levels too), or labels by node: nodes with one label that read equally
            many numbers share one set of weights.
    """
    check_graph("graph", graph)
    channels, out_channels = check_count("channels", channels), check_count("out_channels", out_channels)
    widest = max([channels, *(n.channels for n in graph.nodes)])
    wires = graph.n_edges * widest + len(graph.outputs) * out_channels
    check_work("the number of wires", wires, _MOST_WIRES, "take fewer channels")
    if isinstance(share, str):
        labels: tuple[tuple[str, object], ...] | str = check_choice("share", share, get_args(Sharing))
    elif not isinstance(share, Mapping):
        raise ConfigError(f"share must be 'none', 'level', 'all' or a mapping from nodes to labels, got {brief(share)}")
    else:
        unknown = [name for name in share if name not in graph or name in graph.inputs]
        if unknown:
            raise ConfigError(f"share names {unknown[0]!r}, which is no node of the graph")
        labels = tuple(sorted(share.items(), key=lambda item: item[0]))
        try:
            hash(labels)
        except TypeError:
            raise ConfigError("the labels of share must be texts or numbers") from None
    return _make_plan(graph, channels, out_channels, labels)


@lru_cache(maxsize=256)
def _make_plan(
    graph: FunctionGraph, channels: int, out_channels: int, share: str | tuple[tuple[str, object], ...]
) -> NetworkPlan:
    width = dict.fromkeys(graph.inputs, 1)
    for node in graph.nodes:
        width[node.name] = out_channels if node.name in graph.outputs else max(node.channels, channels)
    label = _labels(graph, share)
    members: dict[tuple[int, int, int, object], list[str]] = {}
    for node in graph.nodes:
        fan_in = sum(width[p] for p in node.parents)
        key = (graph.levels[node.name], fan_in, width[node.name], label.get(node.name))
        members.setdefault(key, []).append(node.name)

    place: dict[str, tuple[int, int]] = {name: (0, i) for i, name in enumerate(graph.inputs)}
    rows_in = {0: len(graph.inputs)}
    blocks: dict[tuple[object, ...], WeightBlock] = {}
    block_index: dict[tuple[object, ...], int] = {}
    groups: list[Group] = []
    for key in sorted(members, key=lambda k: (k[0], k[1], k[2])):
        names = members[key]
        _, fan_in, node_channels, shared_label = key
        block_key: tuple[object, ...] = ("shared", *key[1:]) if shared_label is not None else ("own", *key)
        blocks.setdefault(block_key, WeightBlock(1 if shared_label is not None else len(names), fan_in, node_channels))
        block_index.setdefault(block_key, len(block_index))
        wires = [wire for name in names for p in graph[name].parents for wire in _wires(place[p], width[p])]
        groups.append(Group(tuple(names), _read(wires, rows_in), block_index[block_key], shared_label is not None))
        for i, name in enumerate(names):
            place[name] = (len(groups), i * node_channels)
        rows_in[len(groups)] = len(names) * node_channels
    wires = [wire for name in graph.outputs for wire in _wires(place[name], width[name])]
    return NetworkPlan(tuple(groups), tuple(blocks.values()), _read(wires, rows_in), len(wires))


def _labels(graph: FunctionGraph, share: str | tuple[tuple[str, object], ...]) -> dict[str, object]:
    if not isinstance(share, str):
        return {name: ("label", value) for name, value in share}
    if share == "level":
        return {n.name: ("level", graph.levels[n.name]) for n in graph.nodes}
    return dict.fromkeys((n.name for n in graph.nodes), "all") if share == "all" else {}


def _wires(place: tuple[int, int], width: int) -> list[tuple[int, int]]:
    buffer, first = place
    return [(buffer, first + i) for i in range(width)]


def _read(wires: list[tuple[int, int]], rows_in: Mapping[int, int]) -> Read:
    buffers = tuple(sorted({buffer for buffer, _ in wires}))
    offset, total = {}, 0
    for buffer in buffers:
        offset[buffer] = total
        total += rows_in[buffer]
    rows = tuple(offset[buffer] + row for buffer, row in wires)
    return Read(buffers, None if rows == tuple(range(total)) else rows)
