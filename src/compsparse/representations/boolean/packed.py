"""Circuits evaluated on 64 inputs at a time: a bit of a word each, and slots that are used again once they are free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.errors import GraphError
from compsparse.graph.function_graph import FunctionGraph, Node, check_graph
from compsparse.representations.boolean.bits import Words, check_bits
from compsparse.representations.boolean.cofactors import Cube
from compsparse.representations.boolean.reading import all_rows
from compsparse.text import in_a_line

_WIDEST = 16
_WORDS = 256
"""Words that are run at once: the slots of most circuits then stay in the cache."""


@in_a_line
@dataclass(frozen=True, eq=False)
class BooleanProgram:
    """A circuit as a list of gates of three arguments on numbered slots.

    Attributes:
        tables: of each gate, the value in row r as bit r; a gate of fewer arguments repeats the last of them.
        reads: the slots of its arguments, shape (gates, 3).
        fills: the slot of its value.
        outputs: slots of the outputs.
        n_slots: inputs, whose slots come first, and values that are alive together.
    """

    n_inputs: int
    tables: npt.NDArray[np.uint8]
    reads: npt.NDArray[np.int32]
    fills: npt.NDArray[np.int32]
    outputs: npt.NDArray[np.int32]
    n_slots: int

    def __call__(self, X: Any) -> npt.NDArray[np.uint8]:
        """The outputs, (rows, outputs), at rows of 0 and 1."""
        bits = check_bits("X", X, self.n_inputs)
        out = np.empty((len(bits), len(self.outputs)), dtype=np.uint8)
        step = 64 * _WORDS
        for start in range(0, len(bits), step):
            part = bits[start : start + step]
            packed = np.ascontiguousarray(self.run(_as_words(part)).astype("<u8", copy=False)).view(np.uint8)
            out[start : start + step] = np.unpackbits(packed, axis=1, count=len(part), bitorder="little").T
        return out

    def run(self, words: Words) -> Words:
        """The outputs' words, (outputs, words), of the inputs' words, (inputs, words)."""
        from compsparse.representations.boolean.kernels import run_gates

        slots = np.empty((self.n_slots, words.shape[1]), dtype=np.uint64)
        slots[: self.n_inputs] = words
        run_gates(self.tables, self.reads, self.fills, slots)
        return np.asarray(slots[self.outputs])


def boolean_program(graph: FunctionGraph) -> BooleanProgram:
    """A program for a graph of Boolean functions; nodes of more than three parents are taken apart.

    Raises:
        GraphError: a node is not Boolean, has no function, or has more than 16 parents.

    >>> program = boolean_program(FunctionGraph.from_expression("max(a*b, c)"))
    >>> program([[1, 1, 0], [0, 1, 0]]).tolist()
    [[1], [0]]
    """
    return _Lowering(check_graph("graph", graph)).program()


def evaluate_bits(graph: FunctionGraph, X: Any) -> npt.NDArray[np.uint8]:
    """Outputs, (rows, outputs), of a graph of Boolean functions at rows of 0 and 1; much faster than calling it."""
    return boolean_program(graph)(X)


def gate_of(node: Node) -> Cube:
    """The truth table of a node, with one axis per parent.

    Raises:
        GraphError: the node is not Boolean, has no function, or has more than 16 parents.
    """
    if node.constituent is None:
        raise GraphError(f"node {node.name!r} has no constituent function: the graph is structure alone")
    if node.arity > _WIDEST:
        raise GraphError(f"node {node.name!r} has {node.arity} parents: tables of at most {_WIDEST} are read")
    values = np.asarray(node.constituent(*all_rows(node.arity).T.astype(float)), dtype=float)
    if not np.isin(values, (0, 1)).all():
        raise GraphError(
            f"node {node.name!r} is no Boolean function: it has the value {values[~np.isin(values, (0, 1))][0]:g} "
            "for some parents in {0, 1}"
        )
    return values.astype(bool).reshape((2,) * node.arity)


class _Lowering:
    """Gates in order, first with a number for every value, then with slots that are used again."""

    def __init__(self, graph: FunctionGraph):
        self.graph = graph
        self.tables: list[int] = []
        self.reads: list[tuple[int, int, int]] = []
        self.known: dict[int, Cube] = {}  # nodes share their constituents

    def program(self) -> BooleanProgram:
        graph = self.graph
        number = {name: i for i, name in enumerate(graph.inputs)}
        for node in graph.nodes:
            parents = [number[p] for p in node.parents]
            number[node.name] = self._add(self._gate(node), parents)
        return self._with_slots([number[name] for name in graph.outputs])

    def _gate(self, node: Node) -> Cube:
        key = id(node.constituent)
        if node.constituent is None or key not in self.known:
            self.known[key] = gate_of(node)
        return self.known[key]

    def _add(self, gate: Cube, parents: list[int]) -> int:
        if gate.ndim <= 3:
            wide = gate.reshape(gate.shape + (1,) * (3 - gate.ndim))
            padded = np.broadcast_to(wide, (2, 2, 2)).ravel()
            return self._append(padded, (parents + parents[-1:] * 2)[:3])
        return self._expand(gate, parents, {})

    def _expand(self, gate: Cube, parents: list[int], made: dict[bytes, int]) -> int:
        """Shannon's expansion, equal cofactors once."""
        while gate.ndim > 3 and np.array_equal(gate[0], gate[1]):
            gate, parents = gate[0], parents[1:]
        if gate.ndim <= 3:
            return self._add(gate, parents)
        key = gate.tobytes()
        if key not in made:
            low, high = (self._expand(half, parents[1:], made) for half in gate)
            choose = np.array([0, 1, 0, 1, 0, 0, 1, 1], dtype=bool)
            made[key] = self._append(choose, [parents[0], high, low])
        return made[key]

    def _append(self, rows: npt.NDArray[np.bool_], parents: list[int]) -> int:
        self.tables.append(int(np.packbits(rows, bitorder="little")[0]))
        self.reads.append((parents[0], parents[1], parents[2]))
        return self.graph.n_inputs + len(self.tables) - 1

    def _with_slots(self, outputs: list[int]) -> BooleanProgram:
        n_inputs = self.graph.n_inputs
        last = {value: i for i, reads in enumerate(self.reads) for value in reads}
        for value in outputs:
            last[value] = len(self.reads)
        slot = {i: i for i in range(n_inputs)}
        free: list[int] = []
        n_slots = n_inputs
        reads, fills = [], []
        for i, values in enumerate(self.reads):
            reads.append([slot[v] for v in values])
            free += [slot[v] for v in set(values) if last[v] == i]
            if free:
                place = free.pop()
            else:
                place, n_slots = n_slots, n_slots + 1
            slot[n_inputs + i] = place
            fills.append(place)
            if n_inputs + i not in last:
                free.append(place)
        return BooleanProgram(
            n_inputs,
            np.array(self.tables, dtype=np.uint8),
            np.array(reads, dtype=np.int32).reshape(-1, 3),
            np.array(fills, dtype=np.int32),
            np.array([slot[v] for v in outputs], dtype=np.int32),
            n_slots,
        )


def _as_words(bits: npt.NDArray[np.uint8]) -> Words:
    """(rows, n) bits as (n, words): row r is bit r of its column's words."""
    packed = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little")
    padded = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)
