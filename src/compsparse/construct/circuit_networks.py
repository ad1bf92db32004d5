r"""Circuits as explicit ReLU networks that are exact on 0 and 1, with one ReLU for each gate of two arguments.

A conjunction of k literals is one unit, \(\mathrm{relu}(\sum_i \ell_i - k + 1)\). Three ways to write a gate of d
arguments with such units are compared, and the one with the fewest is taken:

- its polynomial in the arguments or their complements: a unit for every product of two or more (one for any gate of
  two arguments);
- its minterms, or those of its complement: at most \(2^{d-1}\) units;
- where it depends on the number of true literals alone, a piecewise linear function of that number: at most d - 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch

from compsparse.checks import check_array, check_dtype
from compsparse.construct.explicit import ExplicitReLU, SparseLayer
from compsparse.errors import DataError
from compsparse.graph.function_graph import FunctionGraph, check_graph
from compsparse.representations.boolean.bits import ones
from compsparse.representations.boolean.cofactors import Cube
from compsparse.representations.boolean.packed import gate_of
from compsparse.text import in_a_line

_MOST_POLARITIES = 6
"""Arguments up to which all choices of complements are tried."""
_Form = tuple[int, dict[int, int]]
"""A constant and whole coefficients of numbered values."""


def compile_circuit(graph: FunctionGraph, dtype: torch.dtype = torch.float64) -> ExplicitReLU:
    """The explicit ReLU network of a graph of Boolean functions: equal to it wherever inputs are 0 and 1.

    A node of two parents takes one ReLU, one of d parents at most 2^(d-1), a symmetric one d - 1; nodes share units
    where they read the same parents (the sum and the carry of a full adder). What is read later is carried past a
    layer by wires. All weights are whole numbers, so no arithmetic rounds, in single precision either.

    Raises:
        GraphError: a node is not Boolean, has no function, or has more than 16 parents.

    >>> network = compile_circuit(FunctionGraph.from_expression("(a + b - 2*a*b)*c", fuse=False).pruned())
    Traceback (most recent call last):
    compsparse.errors.GraphError: node 'add_0' is no Boolean function: it has the value 2 for some parents in {0, 1}
    >>> from compsparse.tasks import ripple_adder
    >>> network = compile_circuit(ripple_adder(2).graph)
    >>> network(torch.tensor([[1.0, 1.0, 1.0, 0.0]], dtype=torch.float64)).tolist()  # 3 + 1, lowest bits first
    [[0.0, 0.0, 1.0]]
    """
    return ExplicitReLU(_Compilation(check_graph("graph", graph)).layers(), check_dtype(dtype))


@dataclass
class _Gate:
    """A node that takes units: the values it reads, by number, and how."""

    value: int
    parents: list[_Form]
    units: GateUnits


@dataclass
class _Rows:
    """The rows of a layer in the making; equal rows are made once."""

    entries: list[dict[int, int]] = field(default_factory=list)
    bias: list[int] = field(default_factory=list)
    relu: list[bool] = field(default_factory=list)
    known: dict[tuple[bool, int, frozenset[tuple[int, int]]], int] = field(default_factory=dict)

    def row(self, form: _Form, relu: bool, key_form: _Form) -> int:
        """The place of a row; ``key_form`` is the same row in terms of values, which tells equal rows."""
        key = relu, key_form[0], frozenset(key_form[1].items())
        if key not in self.known:
            self.known[key] = len(self.bias)
            self.bias.append(form[0])
            self.entries.append(form[1])
            self.relu.append(relu)
        return self.known[key]

    def layer(self, n_inputs: int) -> SparseLayer:
        counts = [len(entry) for entry in self.entries]
        columns = np.fromiter(chain.from_iterable(self.entries), dtype=np.int64, count=sum(counts))
        values = np.fromiter(chain.from_iterable(e.values() for e in self.entries), dtype=float, count=sum(counts))
        rows = np.repeat(np.arange(len(counts)), counts)
        return SparseLayer(n_inputs, rows, columns, values, np.array(self.bias, dtype=float), np.array(self.relu))


class _Compilation:
    """Values are inputs and gates, by number; literals and constants are forms of them and take no layer."""

    def __init__(self, graph: FunctionGraph):
        self.n_inputs = graph.n_inputs
        self.form: dict[str, _Form] = {name: (0, {i: 1}) for i, name in enumerate(graph.inputs)}
        self.made = [0] * graph.n_inputs  # by value: the layer that gives it, and the last that reads it
        self.read = [0] * graph.n_inputs
        self.gates: list[list[_Gate]] = [[]]  # by layer, from 1 on
        known: dict[int, GateUnits] = {}  # nodes share their constituents
        for node in graph.nodes:
            key = id(node.constituent)
            if node.constituent is None or key not in known:
                known[key] = gate_units(gate_of(node))
            self._add(node.name, [self.form[p] for p in node.parents], known[key])
        self.outputs = [self.form[name] for name in graph.outputs]

    def _add(self, name: str, parents: list[_Form], units: GateUnits) -> None:
        if not units.hidden:
            self.form[name] = _combined(units.constant, units.linear, parents)
            return
        value, read = len(self.made), {v for form in parents for v in form[1]}
        level = 1 + max((self.made[v] for v in read), default=0)
        for v in read:
            self.read[v] = max(self.read[v], level)
        if level == len(self.gates):
            self.gates.append([])
        self.gates[level].append(_Gate(value, parents, units))
        self.made.append(level)
        self.read.append(0)
        self.form[name] = 0, {value: 1}

    def layers(self) -> list[SparseLayer]:
        """One layer a level, and one of sums for the outputs."""
        carried = self._carried()
        # what each live value is, in terms of the rows of the layer before
        now: dict[int, _Form] = {i: (0, {i: 1}) for i in range(self.n_inputs)}
        width, found = self.n_inputs, []
        for gates, passed_on in zip(self.gates[1:], carried[1:], strict=True):
            rows = _Rows()
            after = {gate.value: self._gate_rows(gate, now, rows) for gate in gates}
            for value in passed_on:
                after[value] = 0, {rows.row(now[value], False, (0, {value: 1})): 1}
            found.append(rows.layer(width))
            width, now = len(rows.bias), after
        last = _Rows()
        for k, form in enumerate(self.outputs):
            last.row(_substituted(form, now), False, (k, {}))
        return [*found, last.layer(width)]

    def _carried(self) -> list[list[int]]:
        """The values that each layer must pass on: made before it and read after it."""
        n_layers = len(self.gates)
        for form in self.outputs:
            for value in form[1]:
                self.read[value] = n_layers
        carried: list[list[int]] = [[] for _ in self.gates]
        for value, (made, read) in enumerate(zip(self.made, self.read, strict=True)):
            for level in range(made + 1, read):
                carried[level].append(value)
        return carried

    def _gate_rows(self, gate: _Gate, now: Mapping[int, _Form], rows: _Rows) -> _Form:
        """Adds the gate's rows, and returns its value in terms of the rows of this layer."""
        value: dict[int, int] = {}
        for unit in gate.units.hidden:
            form = _combined(unit.bias, unit.factors, gate.parents)
            place = rows.row(_substituted(form, now), True, form)
            value[place] = value.get(place, 0) + unit.coefficient
        constant, linear = _combined(gate.units.constant, gate.units.linear, gate.parents)
        if linear:
            place = rows.row(_substituted((0, linear), now), False, (0, linear))
            value[place] = value.get(place, 0) + 1
        return constant, value


def _combined(constant: int, weights: Iterable[int], forms: Iterable[_Form]) -> _Form:
    """A constant and a weighted sum of forms."""
    total: dict[int, int] = {}
    for weight, (own, entries) in zip(weights, forms, strict=True):
        if weight:
            constant += weight * own
            for value, factor in entries.items():
                total[value] = total.get(value, 0) + weight * factor
    return constant, {value: factor for value, factor in total.items() if factor}


def _substituted(form: _Form, now: Mapping[int, _Form]) -> _Form:
    """The form with each value replaced by what it is in terms of rows."""
    return _combined(form[0], form[1].values(), [now[value] for value in form[1]])


# ---- single gates -------------------------------------------------------------------------------


@dataclass(frozen=True)
class HiddenUnit:
    """coefficient · relu(factors · arguments + bias)."""

    factors: tuple[int, ...]
    bias: int
    coefficient: int


@in_a_line
@dataclass(frozen=True)
class GateUnits:
    """constant + linear · arguments + the hidden units: the gate's value wherever its arguments are 0 and 1.

    Every number is whole, so floating-point arithmetic makes no error.
    """

    constant: int
    linear: tuple[int, ...]
    hidden: tuple[HiddenUnit, ...]

    @property
    def n_units(self) -> int:
        """How many ReLUs it takes."""
        return len(self.hidden)


def gate_units(gate: Cube) -> GateUnits:
    """The gate, with one axis of length 2 per argument, as ReLU units.

    >>> exclusive_or = gate_units(np.array([[0, 1], [1, 0]], dtype=bool))
    >>> exclusive_or.linear, exclusive_or.hidden  # x + y - 2 relu(x + y - 1)
    ((1, 1), (HiddenUnit(factors=(1, 1), bias=-1, coefficient=-2),))
    """
    found = check_array("a gate", gate)
    if found.dtype != bool or found.shape != (2,) * found.ndim or not found.ndim:
        raise DataError(f"a gate is a Boolean array with an axis of length 2 per argument, got shape {found.shape}")
    return _cached(found.tobytes(), found.ndim)


@lru_cache(maxsize=4096)
def _cached(table: bytes, arity: int) -> GateUnits:
    gate = np.frombuffer(table, dtype=bool).reshape((2,) * arity)
    return min(_ways(gate), key=lambda way: (way.n_units, np.count_nonzero(way.linear)))


def _ways(gate: Cube) -> Iterator[GateUnits]:
    d = gate.ndim
    for complements in range(1 << d if d <= _MOST_POLARITIES else 1):
        flipped = [d - 1 - i for i in range(d) if complements >> i & 1]
        seen = np.flip(gate, tuple(flipped)) if flipped else gate
        signs = np.array([-1 if axis in flipped else 1 for axis in range(d)])
        symmetric = _of_a_sum(seen, signs)
        if symmetric is not None:
            yield symmetric
        yield _of_products(seen, signs)
    yield _of_minterms(gate)


def _of_a_sum(gate: Cube, signs: npt.NDArray[np.int64]) -> GateUnits | None:
    """A function of the number of true literals."""
    d = gate.ndim
    totals = ones(np.arange(1 << d)).reshape(gate.shape)
    values = np.array([gate[totals == k][0] for k in range(d + 1)], dtype=int)
    if not np.array_equal(values[totals], gate):
        return None
    slopes = np.diff(values)
    n_complements = int((signs < 0).sum())  # the number of true literals is signs · x + this
    hidden = tuple(
        HiddenUnit(tuple(signs.tolist()), n_complements - k, int(bend))
        for k, bend in enumerate(np.diff(slopes), start=1)
        if bend
    )
    first = int(slopes[0])
    return GateUnits(int(values[0]) + first * n_complements, tuple((first * signs).tolist()), hidden)


def _of_products(gate: Cube, signs: npt.NDArray[np.int64]) -> GateUnits:
    """The multilinear polynomial in the literals, by differences along every axis."""
    d = gate.ndim
    terms = gate.astype(int)
    for axis in range(d):
        low, high = (np.take(terms, [i], axis) for i in (0, 1))
        terms = np.concatenate([low, high - low], axis)
    constant, linear, hidden = int(terms.flat[0]), np.zeros(d, dtype=int), []
    for place in np.argwhere(terms):
        members = np.flatnonzero(place)
        value = int(terms[tuple(place)])
        if len(members) == 1:
            axis = members[0]
            linear[axis] += value * signs[axis]
            constant += value * int(signs[axis] < 0)
        elif len(members):
            hidden.append(_conjunction(place * signs, value))
    return GateUnits(constant, tuple(linear.tolist()), tuple(hidden))


def _of_minterms(gate: Cube) -> GateUnits:
    value = bool(2 * np.count_nonzero(gate) <= gate.size)
    coefficient = 1 if value else -1
    hidden = tuple(_conjunction(2 * place - 1, coefficient) for place in np.argwhere(gate == value))
    return GateUnits(int(not value), (0,) * gate.ndim, hidden)


def _conjunction(literals: npt.NDArray[np.int64], coefficient: int) -> HiddenUnit:
    """All arguments marked 1 are true and all marked -1 false."""
    n_true = int((literals > 0).sum())
    return HiddenUnit(tuple(int(v) for v in literals), 1 - n_true, coefficient)
