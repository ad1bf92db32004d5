"""Circuits are built gate by gate, and come out as function graphs whose nodes have at most three parents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from compsparse.checks import brief, check_count, check_list, check_mapping, check_name_list, check_numbers, check_text
from compsparse.errors import ConfigError, GraphError
from compsparse.graph.constituent import Constituent
from compsparse.graph.function_graph import FunctionGraph, Node
from compsparse.representations.boolean.gates import constituent

FALSE, TRUE = 0, 1
_WIDEST = 3


class CircuitBuilder:
    """Collects gates of one to three arguments; the same gate of the same wires is made only once.

    A *wire* is a number: twice the place of an input or gate, plus one for its complement, so that negation costs
    nothing and constants (wires 0 and 1) vanish as soon as they meet a gate. A gate of gates that read two wires
    altogether is made as one.

    >>> b = CircuitBuilder(["a", "b", "c"])
    >>> either = b.any_of(b["a"], b["b"])
    >>> print(b.build({"y": b.all_of(either, b.negation(b["c"]))}))
    y = (1 - c)*g0
    ├─ c
    └─ g0 = 1 - (1 - a)*(1 - b)
       ├─ a
       └─ b
    """

    def __init__(self, inputs: Iterable[str]):
        self.inputs = tuple(check_name_list("inputs", inputs))
        if not self.inputs:
            raise GraphError("a circuit needs at least one input")
        self._wire = {name: 2 * (i + 1) for i, name in enumerate(self.inputs)}
        self._tables: list[int] = []
        self._parents: list[tuple[int, ...]] = []
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}

    def __getitem__(self, name: str) -> int:
        if name not in self._wire:
            raise GraphError(f"the circuit has no input {brief(name)}")
        return self._wire[name]

    @property
    def n_gates(self) -> int:
        """Gates made so far, needed or not."""
        return len(self._tables)

    # ---- gates -----------------------------------------------------------------------------------

    def gate(self, table: int | Sequence[int], *wires: int) -> int:
        """Any function of at most three wires.

        Args:
            table: its values, the first wire as the most significant bit of the row's number; as a list, or as a
                number with row r as bit r.
        """
        number, n_rows = (table, 1 << len(wires)) if isinstance(table, int) else _numbered(table)
        if not 1 <= len(wires) <= _WIDEST or n_rows != 1 << len(wires) or not 0 <= number < 1 << n_rows:
            raise ConfigError(f"a gate has 1 to {_WIDEST} wires and a table of 2^wires values, got {brief(table)}")
        return self._gate(number, tuple(self._checked(wire) for wire in wires))

    def _checked(self, wire: int) -> int:
        return check_count("a wire", wire, least=0, most=2 * (len(self.inputs) + len(self._tables)) + 1)

    def _gate(self, number: int, wires: tuple[int, ...]) -> int:
        places = sorted({w >> 1 for w in wires} - {0})
        pattern = tuple((-1 if w < 2 else places.index(w >> 1), w & 1) for w in wires)
        reduced, kept, complement = _reduced(number, pattern, len(places))
        if not kept:
            return complement
        parents = tuple(places[i] for i in kept)
        if len(kept) == 1:  # normalised, it is the wire itself
            return 2 * parents[0] ^ complement
        key = reduced, parents
        wire = self._known.get(key)
        if wire is None:
            wire = self._known[key] = self._of_two_leaves(reduced, parents)
        return wire ^ complement

    def _of_two_leaves(self, number: int, parents: tuple[int, ...]) -> int:
        """A new gate; of what its parents are made of, where that are two wires at most."""
        n_inputs = len(self.inputs)
        own = [self._parents[p - n_inputs - 1] if p > n_inputs else () for p in parents]
        for opened in range(1, 1 << len(parents)):
            leaves = {leaf for i, p in enumerate(parents) for leaf in (own[i] if opened >> i & 1 else (p,))}
            if len(leaves) <= 2 and all(own[i] for i in range(len(parents)) if opened >> i & 1):
                ranked = sorted(leaves)
                inner = tuple(
                    (self._tables[p - n_inputs - 1], tuple(ranked.index(leaf) for leaf in own[i]))
                    if opened >> i & 1
                    else (0b10, (ranked.index(p),))
                    for i, p in enumerate(parents)
                )
                return self._gate(_composed(number, inner, len(ranked)), tuple(2 * leaf for leaf in ranked))
        self._tables.append(number)
        self._parents.append(parents)
        return 2 * (n_inputs + len(self._tables))

    def negation(self, wire: int) -> int:
        """Not; no gate is made."""
        return wire ^ 1

    def all_of(self, *wires: int) -> int:
        """And, as a balanced tree."""
        return self._tree(0b1000, wires, TRUE)

    def any_of(self, *wires: int) -> int:
        """Or, as a balanced tree."""
        return self._tree(0b1110, wires, FALSE)

    def parity_of(self, *wires: int) -> int:
        """Exclusive or, as a balanced tree."""
        return self._tree(0b0110, wires, FALSE)

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        """One wire if the condition holds, else the other."""
        return self._gate(0b11001010, (condition, then, otherwise))

    def full_adder(self, a: int, b: int, c: int) -> tuple[int, int]:
        """Sum and carry of three bits."""
        return self._gate(0b10010110, (a, b, c)), self._gate(0b11101000, (a, b, c))

    def _tree(self, number: int, wires: Sequence[int], empty: int) -> int:
        level = list(wires)
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [self._gate(number, pair) for pair in pairs] + level[len(level) & ~1 :]
        return level[0] if level else empty

    # ---- the graph -------------------------------------------------------------------------------

    def build(self, outputs: Mapping[str, int]) -> FunctionGraph:
        """The function graph of what the outputs need.

        Args:
            outputs: from names to wires.
        """
        wanted = {name: self._checked(wire) for name, wire in check_mapping("outputs", outputs).items()}
        for name in wanted:
            if check_text("the name of an output", name) in self._wire:
                raise GraphError(f"output {name!r} has the name of an input")
        if not wanted:
            raise GraphError("a circuit needs at least one output")
        needed = self._needed(wanted.values())
        read = {p for i in needed for p in self._parents[i]}
        named = self._own_outputs(wanted, read)
        called = self._names(needed, named, wanted)
        first = len(self.inputs) + 1
        nodes = []
        for i in needed:
            _, complement = named.get(first + i, ("", 0))
            table, parents = self._tables[i], self._parents[i]
            everywhere = (1 << (1 << len(parents))) - 1
            gate = gate_constituent(table ^ everywhere * complement, len(parents))
            nodes.append(Node(called[first + i], tuple(called[p] for p in parents), gate))
        own = {name for name, _ in named.values()}
        for name, wire in wanted.items():
            if name not in own:
                nodes.append(self._copy(name, wire, called))
        return FunctionGraph(self.inputs, nodes, list(wanted))

    def _needed(self, wires: Iterable[int]) -> list[int]:
        first = len(self.inputs) + 1
        needed: set[int] = set()
        waiting = [wire >> 1 for wire in wires]
        while waiting:
            place = waiting.pop()
            if place >= first and place - first not in needed:
                needed.add(place - first)
                waiting.extend(self._parents[place - first])
        return sorted(needed)

    def _own_outputs(self, wanted: Mapping[str, int], read: set[int]) -> dict[int, tuple[str, int]]:
        """Gates that carry an output's name themselves, with the complement that its table takes."""
        found: dict[int, tuple[str, int]] = {}
        for name, wire in wanted.items():
            place, complement = wire >> 1, wire & 1
            is_free = place > len(self.inputs) and place not in found
            if is_free and not (complement and place in read):
                found[place] = name, complement
        return found

    def _names(
        self, needed: Sequence[int], named: Mapping[int, tuple[str, int]], wanted: Mapping[str, int]
    ) -> dict[int, str]:
        taken = {*self.inputs, *wanted}
        prefix = "g"
        while any(f"{prefix}{k}" in taken for k in range(len(needed))):
            prefix += "_"
        first = len(self.inputs) + 1
        called = {i + 1: name for i, name in enumerate(self.inputs)}
        for k, i in enumerate(needed):
            called[first + i] = named[first + i][0] if first + i in named else f"{prefix}{k}"
        return called

    def _copy(self, name: str, wire: int, called: Mapping[int, str]) -> Node:
        """An output that is an input, a complement of a gate that others read, or a constant."""
        if wire < 2:
            return Node(name, (self.inputs[0],), gate_constituent(0b11 * wire, 1))
        return Node(name, (called[wire >> 1],), gate_constituent(0b01 if wire & 1 else 0b10, 1))


@lru_cache(maxsize=4096)
def gate_constituent(number: int, arity: int) -> Constituent:
    """The gate whose value in row r is bit r of a number, as a constituent that all nodes of that gate share."""
    rows = [bool(number >> r & 1) for r in range(1 << arity)]
    return constituent(np.array(rows).reshape((2,) * arity))


@lru_cache(maxsize=65536)
def _composed(number: int, inner: tuple[tuple[int, tuple[int, ...]], ...], n_leaves: int) -> int:
    """The table over leaves of a gate of gates, each given by its table and the ranks of the leaves that it reads."""
    found = 0
    for row in range(1 << n_leaves):
        at = 0
        for table, ranks in inner:
            place = 0
            for rank in ranks:
                place = place << 1 | (row >> (n_leaves - 1 - rank) & 1)
            at = at << 1 | (table >> place & 1)
        found |= (number >> at & 1) << row
    return found


def _numbered(table: Sequence[int]) -> tuple[int, int]:
    rows = check_numbers("the table of a gate", check_list("the table of a gate", table), shape=(None,))
    return sum(int(v != 0) << r for r, v in enumerate(rows.tolist())), len(rows)


@lru_cache(maxsize=65536)
def _reduced(number: int, pattern: tuple[tuple[int, int], ...], n_places: int) -> tuple[int, tuple[int, ...], int]:
    """A gate over distinct places in ascending order that matter, answering 0 to zeros; and whether to complement it.

    Args:
        pattern: for each argument the rank of its place (-1 for the constant 0) and whether it is complemented.
    """

    def value(row: int) -> int:
        at = 0
        for rank, complement in pattern:
            bit = row >> (n_places - 1 - rank) & 1 if rank >= 0 else 0
            at = at << 1 | (bit ^ complement)
        return number >> at & 1

    cube = np.array([value(row) for row in range(1 << n_places)], dtype=bool).reshape((2,) * n_places)
    kept = tuple(axis for axis in range(n_places) if (cube.take(0, axis) != cube.take(1, axis)).any())
    seen = cube[tuple(slice(None) if axis in kept else 0 for axis in range(n_places))].ravel()
    complement = int(seen[0])
    return sum(int(v) << r for r, v in enumerate(seen ^ seen[0])), kept, complement


def circuit_of(inputs: Sequence[str], wiring: Callable[[CircuitBuilder], Mapping[str, int]]) -> FunctionGraph:
    """The function graph of a function that names the wires of the outputs.

    >>> circuit_of(["a", "b"], lambda b: {"y": b.parity_of(b["a"], b["b"])}).size
    1
    """
    builder = CircuitBuilder(inputs)
    return builder.build(wiring(builder))
