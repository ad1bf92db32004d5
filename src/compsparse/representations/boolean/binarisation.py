r"""Real functions and function graphs on bits.

A function f is replaced by its value at the middle of each of \(k^d\) cells, a table on bits.
With \(k = 2^b\) cells a variable the cell of a point takes \(d\,b = d\log_2 k\) bits (\(k\,d\) where each variable is
coded one-hot), and the table has \(2^{db} = k^d\) values (Poggio 2023, Section 6.8; it is a function of so many bits,
not of \(k^d\)). As a function on bits it is a Walsh polynomial, exactly.

Of a graph every wire is coded by b bits, and every node becomes b Boolean nodes of \(d_v b\) parents. A
compositionally sparse real function is so approximated by a sparse Boolean one (Section 6.3.1): the graph keeps its
shape, and where a table of the whole function has \(2^{db}\) values those of the nodes have \(2^{d_v b}\) each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.boxes import Bounds, Side, read_box, read_named_box
from compsparse.certificate import Certificate, Rigour
from compsparse.checks import RandomState, brief, check_count, check_names, check_numbers, generator_from
from compsparse.errors import ConfigError, DataError, GraphError
from compsparse.graph.constituent import Constituent
from compsparse.graph.function_graph import FunctionGraph, Node, check_graph
from compsparse.representations.boolean.bits import as_bits
from compsparse.representations.boolean.gates import Lookup
from compsparse.representations.boolean.packed import boolean_program
from compsparse.representations.boolean.reading import all_rows
from compsparse.representations.boolean.spectra import MOST_SPECTRUM_INPUTS, Spectrum, spectrum
from compsparse.representations.boolean.walsh import WalshPolynomial
from compsparse.sizes import check_size
from compsparse.text import in_a_line

_AT_ONCE = 1 << 18
_CHECKED = 20_000
_MOST_NODE_BITS = 16
_MARGIN = 0.01
"""Share of its range by which a node's values are allowed to pass what the sample showed."""
_UNKNOWN = Certificate("largest error over the box", np.nan, 0.0, np.inf, Rigour.ESTIMATED)


@in_a_line
@dataclass(frozen=True, eq=False)
class BinarisedFunction:
    """A function of d real variables as a table on bits.

    Attributes:
        table: its values at the middles of cells, the first variable slowest: 2^(d n_bits) of them.
        bounds: (low, high) of each variable.
        n_bits: bits of each variable; it has 2^n_bits cells.
        certificate: the largest error over the box.
    """

    table: npt.NDArray[np.float64]
    bounds: tuple[Side, ...]
    n_bits: int
    names: tuple[str, ...]
    certificate: Certificate

    @property
    def n_cells(self) -> int:
        """Cells of each variable."""
        return 1 << self.n_bits

    @property
    def bit_names(self) -> tuple[str, ...]:
        """Of the bits, the highest of each variable first."""
        return tuple(f"{name}.{b}" for name in self.names for b in range(self.n_bits))

    def bits(self, X: Any) -> npt.NDArray[np.uint8]:
        """The code of the cell of each point: d n_bits bits.

        >>> halves = binarise(lambda x: x[:, 0], [(0, 1), (0, 1)], 2)
        >>> halves.bits([[0.1, 0.6], [0.9, 0.3]]).tolist()
        [[0, 0, 1, 0], [1, 1, 0, 1]]
        """
        return as_bits(self._rows(X), len(self.bounds) * self.n_bits)

    def one_hot(self, X: Any) -> npt.NDArray[np.uint8]:
        """The same with a bit for each cell of each variable: d 2^n_bits bits, d of them 1."""
        cells = self._cells(X)
        hot = cells[:, :, None] == np.arange(self.n_cells)
        return np.asarray(hot.reshape(len(cells), -1), dtype=np.uint8)

    def __call__(self, X: Any) -> npt.NDArray[np.float64]:
        """The table's value at the cell of each point."""
        return np.asarray(self.table[self._rows(X)])

    @cached_property
    def spectrum(self) -> Spectrum:
        """The Walsh spectrum of the table."""
        return spectrum(self.table, self.bit_names, values="numbers")

    def polynomial(self, n_terms: int | None = None, degree: int | None = None) -> tuple[WalshPolynomial, Certificate]:
        """A Walsh polynomial in the bits, with its largest error as an approximation of the real function.

        All terms give the table exactly. Of those left out, the sizes add to the error.
        """
        polynomial = self.spectrum.polynomial(n_terms=n_terms, degree=degree)
        everything = float(np.abs(self.spectrum.coefficients).sum())
        left_out = max(0.0, everything - float(np.abs(polynomial.coefficients).sum()))
        rounding = len(self.table) * self.spectrum.tolerance
        cells = self.certificate
        return polynomial, Certificate(
            "largest error of the Walsh polynomial",
            cells.value + left_out,
            0.0,
            cells.upper + left_out + rounding,
            cells.rigour,
            cells.assumes,
            f"{cells.obtained}, and the sizes of the terms left out",
        )

    def _cells(self, X: Any) -> npt.NDArray[np.int64]:
        points = check_numbers("X", X, shape=(None, len(self.bounds)))
        low, high = np.array(self.bounds).T
        outside = (points < low) | (points > high)
        if outside.any():
            row, column = np.argwhere(outside)[0].tolist()
            raise DataError(
                f"variable {self.names[column]!r} is {points[row, column]:g}, outside its bounds {self.bounds[column]}"
            )
        return _cells(points, low, high, self.n_cells)

    def _rows(self, X: Any) -> npt.NDArray[np.int64]:
        cells = self._cells(X)
        rows = np.zeros(len(cells), dtype=np.int64)
        for column in cells.T:
            rows = rows << self.n_bits | column
        return rows


def binarise(
    f: Callable[[npt.NDArray[np.float64]], Any],
    bounds: Bounds,
    n_bits: int,
    *,
    lipschitz: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
    random_state: RandomState = None,
) -> BinarisedFunction:
    """A real function on a box as a table on bits, with its error.

    Args:
        f: takes points of shape (m, d) and returns m values; a function graph is such a callable.
        bounds: (low, high) of each variable, in order or by name; one pair for all that are named.
        n_bits: bits of each variable, at most 26 for all of them together.
        lipschitz: for each variable a number L such that f changes by at most L times a step along it. The error is
            then proved to be at most half the sum of L times the width of a cell. Without it the error is estimated at
            random points, and nothing bounds it from above.

    >>> made = binarise(lambda x: x[:, 0] * x[:, 1], [(0, 1), (0, 1)], 3, lipschitz=[1, 1])
    >>> made.table.shape, len(made.bit_names), made.certificate.upper
    ((64,), 6, 0.125)
    """
    if not callable(f):
        raise DataError(f"expected a function of points, got {brief(f)}")
    box, names = read_named_box(bounds, names)
    d = len(box)
    n_bits = check_count("n_bits", n_bits)
    if d * n_bits > MOST_SPECTRUM_INPUTS:
        raise ConfigError(
            f"{d} variables of {n_bits} bits make a table of 2^{d * n_bits} values; at most {MOST_SPECTRUM_INPUTS} "
            "bits fit: give fewer bits to each"
        )
    labels = tuple(f"x{i}" for i in range(d)) if names is None else check_names(names, d, "input")
    check_size("the values of the table", 3.0 * 2 ** (d * n_bits), "give fewer bits")
    table = _tabulated(f, box, n_bits)
    made = BinarisedFunction(table, box, n_bits, labels, _UNKNOWN)
    if lipschitz is not None:
        return replace(made, certificate=_proved(box, n_bits, lipschitz))
    points = _drawn(box, generator_from(random_state))
    return replace(made, certificate=_seen(_values(f, points), made(points)))


def _tabulated(f: Callable[..., Any], box: tuple[Side, ...], n_bits: int) -> npt.NDArray[np.float64]:
    low, high = np.array(box).T
    d, k = len(box), 1 << n_bits
    table = np.empty(k**d)
    shifts = n_bits * np.arange(d)[::-1]
    for start in range(0, len(table), _AT_ONCE):
        rows = np.arange(start, min(start + _AT_ONCE, len(table)))
        cells = rows[:, None] >> shifts & (k - 1)
        table[rows] = _values(f, low + (cells + 0.5) / k * (high - low))
    return table


def _values(f: Callable[..., Any], points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return check_numbers("the function's answer", f(points), shape=(len(points),))


def _proved(box: tuple[Side, ...], n_bits: int, lipschitz: Sequence[float]) -> Certificate:
    L = check_numbers("lipschitz", lipschitz, shape=(len(box),), error=ConfigError)
    if (L < 0).any():
        raise ConfigError("Lipschitz constants must not be negative")
    low, high = np.array(box).T
    bound = float(L @ (high - low)) / 2 ** (n_bits + 1)  # a cell's middle is at most half its width away
    return Certificate(
        "largest error over the box",
        bound,
        0.0,
        bound,
        Rigour.PROVED,
        ("the Lipschitz constants hold",),
        "half a cell's width times the Lipschitz constants",
    )


def _drawn(box: tuple[Side, ...], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """The random points at which errors are seen."""
    low, high = np.array(box).T
    return np.asarray(low + rng.random((_CHECKED, len(box))) * (high - low))


def _seen(right: npt.NDArray[np.float64], found: npt.NDArray[np.float64]) -> Certificate:
    error = float(np.abs(right - found).max())
    return replace(_UNKNOWN, value=error, lower=error, obtained=f"{_CHECKED:,} random points")


def _cells(values: Any, low: Any, high: Any, n_cells: int) -> npt.NDArray[np.int64]:
    return np.asarray(np.clip(((values - low) / (high - low) * n_cells).astype(np.int64), 0, n_cells - 1))


# ---- graphs --------------------------------------------------------------------------------------


@in_a_line
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
    bounds: tuple[Side, ...]
    ranges: tuple[Side, ...]
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
        cells = _cells(points, low, high, 1 << self.n_bits)
        bits = (cells[:, :, None] >> np.arange(self.n_bits)[::-1] & 1).reshape(len(points), -1)
        found = boolean_program(self.graph)(bits).reshape(len(points), len(self.ranges), self.n_bits)
        codes = found.astype(np.int64) @ (1 << np.arange(self.n_bits)[::-1])
        bottom, top = np.array(self.ranges).T
        values = bottom + (codes + 0.5) / (1 << self.n_bits) * (top - bottom)
        return np.asarray(values[:, 0] if len(self.ranges) == 1 else values)


def binarise_graph(
    graph: FunctionGraph, bounds: Bounds, n_bits: int, *, random_state: RandomState = None
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
    points = _drawn(box, generator_from(random_state))
    ranges = dict(zip(graph.inputs, box, strict=True)) | _ranges_of_nodes(graph, points)
    nodes = [new for node in graph.nodes for new in _nodes(node, ranges, n_bits)]
    inputs, outputs = (
        [f"{name}.{b}" for name in names for b in range(n_bits)] for names in (graph.inputs, graph.outputs)
    )
    ends = tuple(ranges[name] for name in graph.outputs)
    made = BinarisedGraph(FunctionGraph(inputs, nodes, outputs), box, ends, n_bits, _UNKNOWN)
    return replace(made, certificate=_seen(graph(points), made(points)))


def _ranges_of_nodes(graph: FunctionGraph, points: npt.NDArray[np.float64]) -> dict[str, Side]:
    """From where to where each node goes at points, with a margin."""
    everything = FunctionGraph(graph.inputs, graph.nodes, [n.name for n in graph.nodes])
    ranges = {}
    for node, column in zip(graph.nodes, np.atleast_2d(everything(points).T), strict=True):
        if not np.isfinite(column).all():
            raise DataError(f"node {node.name!r} is infinite or NaN somewhere in the bounds")
        bottom, top = float(column.min()), float(column.max())
        margin = _MARGIN * (top - bottom) or 0.5
        ranges[node.name] = bottom - margin, top + margin
    return ranges


def _nodes(node: Node, ranges: Mapping[str, Side], n_bits: int) -> list[Node]:
    """The bits of a node as functions of the bits of its parents."""
    assert node.constituent is not None
    k = 1 << n_bits
    codes = all_rows(node.arity * n_bits).reshape(-1, node.arity, n_bits) @ (1 << np.arange(n_bits)[::-1])
    low, high = np.array([ranges[p] for p in node.parents]).T
    values = np.asarray(node.constituent(*(low + (codes + 0.5) / k * (high - low)).T), dtype=float)
    bottom, top = ranges[node.name]
    cells = _cells(np.clip(np.nan_to_num(values), bottom, top), bottom, top, k)
    parents = tuple(f"{p}.{b}" for p in node.parents for b in range(n_bits))
    tables = [Lookup((cells >> b & 1).astype(np.uint8).tobytes()) for b in reversed(range(n_bits))]
    made = [Constituent.from_callable(t, len(parents), name="table", value_range=(0, 1)) for t in tables]
    return [Node(f"{node.name}.{b}", parents, own) for b, own in enumerate(made)]
