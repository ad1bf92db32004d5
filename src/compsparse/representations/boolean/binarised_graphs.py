r"""Function graphs on bits: every wire is coded by b bits, every node becomes b Boolean nodes of \(d_v b\) parents.

A compositionally sparse real function is so approximated by a sparse Boolean one (Poggio 2023, Section 6.3.1): the
graph keeps its shape, and where a table of the whole function has \(2^{db}\) values those of the nodes have
\(2^{d_v b}\) each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.boxes import Bounds, read_box
from compsparse.certificate import Certificate, Rigour
from compsparse.checks import RandomState, check_count, check_numbers, generator_from
from compsparse.errors import ConfigError, DataError, GraphError
from compsparse.graph.constituent import Constituent
from compsparse.graph.function_graph import FunctionGraph, Node, check_graph
from compsparse.representations.boolean.gates import Lookup
from compsparse.representations.boolean.packed import boolean_program
from compsparse.representations.boolean.reading import all_rows

_MOST_NODE_BITS = 16
_DRAWN = 20_000
_MARGIN = 0.01
"""Share of its range by which a node's values are allowed to pass what the sample showed."""


@dataclass(frozen=True, eq=False)
class BinarisedGraph:
    """A function graph as a Boolean one.

    Attributes:
        graph: the Boolean graph; the bits of input or node v are v.0, v.1, …, the highest first.
        bounds: (low, high) of each input.
        ranges: (low, high) of each output, in the order of the graph's outputs.
        n_bits: bits of each wire.
        certificate: the largest error that was seen at random points; nothing bounds it from above.
    """

    graph: FunctionGraph
    bounds: tuple[tuple[float, float], ...]
    ranges: tuple[tuple[float, float], ...]
    n_bits: int
    certificate: Certificate

    @property
    def n_table_values(self) -> int:
        """Values in the tables of all nodes, one table for each node of the real graph."""
        return sum(1 << node.arity for node in self.graph.nodes) // self.n_bits

    def __call__(self, X: Any) -> npt.NDArray[np.float64]:
        """The middle of the cell that the Boolean graph names; shape (n,), or (n, outputs) where there are several."""
        points = check_numbers("X", X, shape=(None, len(self.bounds)))
        low, high = np.array(self.bounds).T
        if ((points < low) | (points > high)).any():
            raise DataError("X holds points outside the bounds")
        cells = _cells(points, low, high, self.n_bits)
        bits = (cells[:, :, None] >> np.arange(self.n_bits)[::-1] & 1).reshape(len(points), -1)
        found = boolean_program(self.graph)(bits).reshape(len(points), len(self.ranges), self.n_bits)
        codes = found.astype(np.int64) @ (1 << np.arange(self.n_bits)[::-1])
        bottom, top = np.array(self.ranges).T
        values = bottom + (codes + 0.5) / (1 << self.n_bits) * (top - bottom)
        return np.asarray(values[:, 0] if len(self.ranges) == 1 else values)


def binarise_graph(
    graph: FunctionGraph, bounds: Bounds, n_bits: int, *, random_state: RandomState = 0
) -> BinarisedGraph:
    """A graph of real functions as a graph of Boolean ones, with as many nodes for each as a wire has bits.

    Ranges of nodes are taken from a random sample of the inputs, so that the error is an estimate.

    Args:
        bounds: (low, high) of each input, in order or by name, or one pair for all.
        n_bits: bits of each wire; a node of d parents has tables of 2^(d n_bits) values, at most 2^16.

    >>> real = FunctionGraph.from_expression("tanh(a*b + sin(c*d))")
    >>> boolean = binarise_graph(real, [(-1, 1)] * 4, 6)
    >>> boolean.graph.size, boolean.graph.max_arity, boolean.n_table_values  # the whole table has 2^24 values
    (18, 12, 12288)
    """
    check_graph("graph", graph)
    box = read_box(bounds, graph.inputs)
    n_bits = check_count("n_bits", n_bits)
    for node in graph.nodes:
        if node.arity * n_bits > _MOST_NODE_BITS:
            raise ConfigError(
                f"node {node.name!r} of {node.arity} parents would read {node.arity * n_bits} bits; at most "
                f"{_MOST_NODE_BITS} fit: give fewer bits to each wire"
            )
        if node.constituent is None:
            raise GraphError(f"node {node.name!r} has no constituent function: the graph is structure alone")
    points, ranges = _sampled_ranges(graph, box, generator_from(random_state))
    nodes = [new for node in graph.nodes for new in _nodes(node, ranges, n_bits)]
    inputs = [f"{name}.{b}" for name in graph.inputs for b in range(n_bits)]
    outputs = [f"{name}.{b}" for name in graph.outputs for b in range(n_bits)]
    unknown = Certificate("largest error over the box", np.nan, 0.0, np.inf, Rigour.ESTIMATED)
    ends = tuple(ranges[name] for name in graph.outputs)
    made = BinarisedGraph(FunctionGraph(inputs, nodes, outputs), box, ends, n_bits, unknown)
    error = float(np.abs(made(points) - graph(points)).max())
    seen = Certificate(
        "largest error over the box", error, error, np.inf, Rigour.ESTIMATED, (), f"{_DRAWN:,} random points"
    )
    return BinarisedGraph(made.graph, box, ends, n_bits, seen)


def _sampled_ranges(
    graph: FunctionGraph, box: tuple[tuple[float, float], ...], rng: np.random.Generator
) -> tuple[npt.NDArray[np.float64], dict[str, tuple[float, float]]]:
    """Random points, and from where to where each input and node goes there."""
    low, high = np.array(box).T
    points = low + rng.random((_DRAWN, len(box))) * (high - low)
    everything = FunctionGraph(graph.inputs, graph.nodes, [n.name for n in graph.nodes])
    values = np.atleast_2d(everything(points).T)
    ranges = dict(zip(graph.inputs, box, strict=True))
    for node, column in zip(graph.nodes, values, strict=True):
        if not np.isfinite(column).all():
            raise DataError(f"node {node.name!r} is infinite or NaN somewhere in the bounds")
        bottom, top = float(column.min()), float(column.max())
        margin = _MARGIN * (top - bottom) or 0.5
        ranges[node.name] = bottom - margin, top + margin
    return points, ranges


def _nodes(node: Node, ranges: Mapping[str, tuple[float, float]], n_bits: int) -> list[Node]:
    """The bits of a node as functions of the bits of its parents."""
    assert node.constituent is not None
    k = 1 << n_bits
    codes = all_rows(node.arity * n_bits).reshape(-1, node.arity, n_bits) @ (1 << np.arange(n_bits)[::-1])
    low, high = np.array([ranges[p] for p in node.parents]).T
    middles = low + (codes + 0.5) / k * (high - low)
    values = np.asarray(node.constituent(*middles.T), dtype=float)
    bottom, top = ranges[node.name]
    cells = _cells(np.clip(np.nan_to_num(values), bottom, top), bottom, top, n_bits)
    parents = tuple(f"{p}.{b}" for p in node.parents for b in range(n_bits))
    return [
        Node(f"{node.name}.{b}", parents, _table(cells >> (n_bits - 1 - b) & 1, len(parents))) for b in range(n_bits)
    ]


def _table(bits: npt.NDArray[np.int64], arity: int) -> Constituent:
    lookup = Lookup(bits.astype(np.uint8).tobytes())
    return Constituent.from_callable(lookup, arity, name="table", value_range=(0, 1))


def _cells(values: Any, low: Any, high: Any, n_bits: int) -> npt.NDArray[np.int64]:
    k = 1 << n_bits
    return np.asarray(np.clip(((values - low) / (high - low) * k).astype(np.int64), 0, k - 1))
