"""Circuits as explicit ReLU networks that are exact on 0 and 1, with one ReLU for each gate of two arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import torch

from compsparse.checks import check_dtype
from compsparse.construct.explicit import ExplicitReLU, SparseLayer
from compsparse.construct.hidden_units import GateUnits, gate_units
from compsparse.graph.function_graph import FunctionGraph, check_graph
from compsparse.representations.boolean.packed import gate_of

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
    level: int


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
        self.level = [0] * graph.n_inputs
        self.gates: list[_Gate] = []
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
        level = 1 + max((self.level[v] for form in parents for v in form[1]), default=0)
        value = len(self.level)
        self.level.append(level)
        self.gates.append(_Gate(value, parents, units, level))
        self.form[name] = 0, {value: 1}

    def layers(self) -> list[SparseLayer]:
        """One layer a level, and one of sums for the outputs."""
        depth = max(self.level)
        by_level: list[list[_Gate]] = [[] for _ in range(depth + 1)]
        for gate in self.gates:
            by_level[gate.level].append(gate)
        carried = self._carried(by_level, depth)
        # what each live value is, in terms of the rows of the layer before
        now: dict[int, _Form] = {i: (0, {i: 1}) for i in range(self.n_inputs)}
        width, found = self.n_inputs, []
        for level in range(1, depth + 1):
            rows = _Rows()
            after = {gate.value: self._gate_rows(gate, now, rows) for gate in by_level[level]}
            for value in carried[level]:
                after[value] = 0, {rows.row(now[value], False, (0, {value: 1})): 1}
            found.append(rows.layer(width))
            width, now = len(rows.bias), after
        last = _Rows()
        for k, form in enumerate(self.outputs):
            last.row(_substituted(form, now), False, (k, {}))
        return [*found, last.layer(width)]

    def _carried(self, by_level: list[list[_Gate]], depth: int) -> list[list[int]]:
        """The values that each layer must pass on: made before it and read after it."""
        last = [0] * len(self.level)
        for level in range(1, depth + 1):
            for gate in by_level[level]:
                for form in gate.parents:
                    for value in form[1]:
                        last[value] = level
        for form in self.outputs:
            for value in form[1]:
                last[value] = depth + 1
        carried: list[list[int]] = [[] for _ in range(depth + 1)]
        for value, made in enumerate(self.level):
            for level in range(made + 1, min(last[value], depth + 1)):
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
