"""Layers of units as nodes of formulas: one node a unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compsparse.errors import ConfigError
from compsparse.graph import Constituent, FunctionGraph, Node
from compsparse.graph.derived import derived
from compsparse.graph.formula import Apply, Argument, Constant, Formula, summed, walk
from compsparse.graph.operations import operation


def operation_formula(name: str, *operands: Formula | float) -> Formula:
    """An operation, or a function that is made of operations, as a formula."""
    parts = [o if isinstance(o, (Argument, Constant, Apply)) else Constant(float(o)) for o in operands]
    builder = derived(name)
    if operation(name) is not None or builder is None:
        return Apply(name, tuple(parts))
    made: Formula = builder.build(operation_formula, *parts)
    return made


def affine(weights: Sequence[float] | np.ndarray, shift: float) -> Formula:
    """A weighted sum of the arguments and a number."""
    terms: list[Formula] = [Apply("mul", (Constant(float(w)), Argument(i))) for i, w in enumerate(weights)]
    return Apply("add", (summed(terms), Constant(float(shift))))


class UnitLayers:
    """Values in a row, changed layer by layer, and the nodes that they took so far.

    >>> layers = UnitLayers(["a", "b"])
    >>> layers.multiply([[1.0, 2.0]], [0.5])
    >>> layers.each(lambda x: operation_formula("relu", x))
    >>> print(layers.graph(["y"]).nodes[-1].label)
    relu(1*a + 2*b + 0.5)
    """

    def __init__(self, inputs: Sequence[str]):
        self.inputs = list(inputs)
        self.nodes: list[Node] = []
        self.values: list[tuple[tuple[str, ...], Formula]] = [((name,), Argument(0)) for name in inputs]
        self.depth = 0

    @property
    def width(self) -> int:
        """How many values there are."""
        return len(self.values)

    def multiply(self, weights: Any, shifts: Any) -> None:
        """A matrix times the values, plus numbers."""
        W, b = np.asarray(weights, dtype=float), np.asarray(shifts, dtype=float)
        if W.ndim != 2 or W.shape[1] != self.width:
            raise ConfigError(f"a layer takes {W.shape[-1]} numbers, and the one before it gives {self.width}")
        if not (np.isfinite(W).all() and np.isfinite(b).all()):
            raise ConfigError("a layer has weights that are not finite")
        names = self.settled()
        self.values = []
        for row, shift in zip(W, np.broadcast_to(b, len(W)), strict=True):
            read = np.flatnonzero(row) if row.any() else np.array([0])
            self.values.append((tuple(names[i] for i in read), affine(row[read], float(shift))))

    def each(self, change: Callable[..., Formula], *numbers: Any) -> None:
        """A function of every value, and of a number for each where such are given."""
        columns = [np.broadcast_to(np.asarray(n, dtype=float), self.width) for n in numbers]
        seen = change(Argument(0), *(1.0,) * len(numbers))
        if seen == Argument(0):
            return
        if sum(isinstance(part, Argument) for part in walk(seen)) > 1:
            self.values = [((name,), Argument(0)) for name in self.settled()]
        self.values = [
            (parents, change(formula, *(float(c[i]) for c in columns)))
            for i, (parents, formula) in enumerate(self.values)
        ]

    def settled(self, outputs: Sequence[str] | None = None) -> list[str]:
        """Names of the values, each of which is a node now, or an input."""
        names = []
        for i, (parents, formula) in enumerate(self.values):
            if formula == Argument(0) and outputs is None:
                names.append(parents[0])
                continue
            name = outputs[i] if outputs is not None else self._free(f"h{self.depth}[{i}]")
            self.nodes.append(Node(name, parents, Constituent.from_formula(formula, len(parents))))
            names.append(name)
        self.depth += 1
        return names

    def _free(self, name: str) -> str:
        while name in self.inputs:
            name += "_"
        return name

    def graph(self, outputs: Sequence[str]) -> FunctionGraph:
        """The graph of what was computed, under these names."""
        names = self.settled([self._free(name) for name in outputs])
        return FunctionGraph(self.inputs, self.nodes, names)
