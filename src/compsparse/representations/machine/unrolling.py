r"""Turing machines unrolled in time: the proof that what is efficiently computable is compositionally sparse, run.

A machine that answers on n bits within T steps is a Boolean circuit (Poggio 2023, proof of Theorem 1 and Theorem 9):
for each time there is a wire for every state the machine may be in at every cell its head may be at, and for every cell
the bits that code its symbol. What the next wires are depends on one state, one cell and its symbol: gates of at most
three arguments, \(O(T^2)\) of them.

Which states, cells and symbols are possible at each time is worked out beforehand from the rules alone. What is
certain needs no wire: a machine whose head moves the same way on all inputs leaves only the gates of what it computes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.checks import check_count, check_kind, check_list, input_names
from compsparse.errors import ConfigError
from compsparse.graph.function_graph import FunctionGraph
from compsparse.representations.boolean.circuit_builder import FALSE, TRUE, CircuitBuilder
from compsparse.representations.boolean.packed import evaluate_bits
from compsparse.representations.machine.turing import ACCEPT, BLANK, REJECT, TuringMachine, check_cell
from compsparse.sizes import check_work
from compsparse.text import in_a_line

_MOST_TIME = 200_000
_MOST_WIRES = 20_000_000
_Place = tuple[str, int]
"""A state and the cell of the head."""


@in_a_line
@dataclass(frozen=True, eq=False)
class UnrolledMachine:
    """A machine on n bits for T steps, as a function graph with the output ``accept``.

    Attributes:
        time_bound: T, the steps that were unrolled.
        n_cells: cells that the head may visit.
        n_places: pairs of a state and a cell that are possible, summed over all times.
        n_tableau: states times cells times steps, which the proof counts.
        always_halts: whether every run has halted by then; otherwise longer runs count as rejected.
    """

    graph: FunctionGraph
    n_inputs: int
    time_bound: int
    n_cells: int
    n_places: int
    n_tableau: int
    always_halts: bool

    @property
    def n_gates(self) -> int:
        """Nodes of the graph."""
        return self.graph.size

    def __call__(self, X: Any) -> npt.NDArray[np.bool_]:
        """Which rows of 0 and 1 are accepted."""
        return evaluate_bits(self.graph, X)[:, 0].astype(bool)

    def tape(self, X: Any) -> npt.NDArray[np.bool_]:
        """Which of the cells that are outputs hold a "1" in the end, for each row of 0 and 1."""
        return evaluate_bits(self.graph, X)[:, 1:].astype(bool)

    def __str__(self) -> str:
        return (
            f"{self.n_inputs} bits, {self.time_bound} steps: {self.n_gates:,} gates of at most {self.graph.max_arity} "
            f"arguments, depth {self.graph.depth}"
        )


def unroll(
    machine: TuringMachine, n_inputs: int, time_bound: int | None = None, *, cells: Sequence[int] = ()
) -> UnrolledMachine:
    """The function graph of a Turing machine for inputs of one length and a bound on its time.

    Args:
        time_bound: steps to unroll; by default until no run can go on, which is an error where the rules alone do not
            tell that this is within 4 (n + 2)^2 steps.
        cells: whose symbols are outputs too, for a machine that writes its answer: ``tape0`` is 1 where cell 0 holds a
            "1" in the end.

    Raises:
        ConfigError: a bound that is needed and not given, or a tableau too large to be built.

    >>> from compsparse.representations.machine import parity_machine
    >>> unrolled = unroll(parity_machine(), 8)
    >>> print(unrolled)
    8 bits, 9 steps: 7 gates of at most 2 arguments, depth 7
    >>> unrolled([[1, 0, 0, 0, 0, 1, 1, 0]]).tolist()
    [True]
    """
    check_kind("machine", machine, TuringMachine)
    wanted = check_list("cells", cells)
    n_inputs = check_count("n_inputs", n_inputs, most=100_000)
    longest = min(4 * (n_inputs + 2) ** 2, _MOST_TIME)
    steps = longest if time_bound is None else check_count("time_bound", time_bound, most=_MOST_TIME)
    tableau = _Tableau(machine, n_inputs, keeps_tape=bool(wanted))
    while tableau.places and tableau.time < steps:
        tableau.step()
    if tableau.places and time_bound is None:
        raise ConfigError(
            f"it cannot be told from the rules that the machine halts within {steps:,} steps: give time_bound=…"
        )
    written = {f"tape{cell}": tableau.holds_one(check_cell(cell, tableau.time, n_inputs)) for cell in wanted}
    graph = tableau.builder.build({"accept": tableau.accepted, **written})
    n_cells = len(tableau.visited)
    return UnrolledMachine(
        graph,
        n_inputs,
        tableau.time,
        n_cells,
        tableau.n_places,
        n_tableau=len(machine.states) * n_cells * tableau.time,
        always_halts=not tableau.places,
    )


class _Tableau:
    """The wires of the present time."""

    def __init__(self, machine: TuringMachine, n_inputs: int, *, keeps_tape: bool = False):
        self.machine, self.keeps_tape = machine, keeps_tape
        self.builder = CircuitBuilder(input_names(n_inputs))
        self.code = {symbol: i for i, symbol in enumerate(machine.symbols)}
        self.n_bits = max(1, (len(self.code) - 1).bit_length())
        self.places: dict[_Place, int] = {(machine.start, 0): TRUE}
        self.bits: dict[int, tuple[int, ...]] = {}
        """Wires of the code of each cell's symbol, the most significant first; blank where there is none."""
        self.possible: dict[int, frozenset[str]] = {}
        zeros = (FALSE,) * (self.n_bits - 1)
        for i in range(n_inputs):
            self.bits[i], self.possible[i] = (*zeros, 2 * (i + 1)), frozenset("01")
        self.accepted, self.surely_runs = FALSE, True
        self.time, self.n_places, self.visited = 0, 0, {0}

    def step(self) -> None:
        """The wires of the next time."""
        self.n_places += len(self.places)
        check_work("the number of wires", self.n_places, _MOST_WIRES, "unroll fewer bits or steps")
        arrivals: dict[_Place, list[int]] = defaultdict(list)
        accepting = [self.accepted]
        at_cell: dict[int, dict[str, int]] = defaultdict(dict)
        for (state, cell), wire in self.places.items():
            at_cell[cell][state] = wire
            outcomes: dict[tuple[str, int], set[int]] = defaultdict(set)
            for symbol in self._symbols(cell):
                target, _, move = self.machine.step(state, symbol)
                outcomes[target, move].add(self.code[symbol])
            for (target, move), codes in outcomes.items():
                event = wire if len(codes) == len(self._symbols(cell)) else self._both(wire, cell, codes)
                self.surely_runs &= target not in (ACCEPT, REJECT)
                if target == ACCEPT:
                    accepting.append(event)
                elif target != REJECT:
                    arrivals[target, cell + move].append(event)
        # while the machine runs; what it leaves behind once it has halted is read only where it writes its answer
        certain = len(at_cell) == 1 and not self.keeps_tape
        written = {cell: self._written(cell, states, certain) for cell, states in at_cell.items()}
        for cell, (bits, possible) in written.items():
            self.bits[cell], self.possible[cell] = bits, possible
        self.accepted = self.builder.any_of(*accepting)
        self.places = {place: self.builder.any_of(*events) for place, events in arrivals.items()}
        self.places = {place: wire for place, wire in self.places.items() if wire != FALSE}
        if self.surely_runs and len(self.places) == 2:
            one, other = self.places
            self.places[other] = self.builder.negation(self.places[one])
        self.visited |= {cell for _, cell in self.places}
        self.time += 1

    def holds_one(self, cell: int) -> int:
        """Whether a cell holds a "1"."""
        return self._one_of(self._code_bits(cell), [self.code["1"]], 0)

    def _symbols(self, cell: int) -> frozenset[str]:
        return self.possible.get(cell, frozenset(BLANK))

    def _code_bits(self, cell: int) -> tuple[int, ...]:
        blank = self.code[BLANK]
        return self.bits.get(cell, tuple(blank >> k & 1 for k in reversed(range(self.n_bits))))

    def _both(self, wire: int, cell: int, codes: set[int]) -> int:
        """A wire, and the code of a cell is one of some: one gate where the symbols have at most two bits."""
        bits = self._code_bits(cell)
        if self.n_bits <= 2:
            first = 1 << self.n_bits  # rows below have the wire at 0
            return self.builder.gate(sum(1 << (first + code) for code in codes), wire, *bits)
        return self.builder.all_of(wire, self._one_of(bits, codes, 0))

    def _one_of(self, bits: Sequence[int], codes: Iterable[int], prefix: int) -> int:
        """Whether bits, after a prefix, spell one of some codes."""
        if not bits:
            return int(prefix in set(codes))
        low, high = (self._one_of(bits[1:], codes, 2 * prefix + bit) for bit in (0, 1))
        return self.builder.choose(bits[0], high, low)

    def _written(self, cell: int, states: dict[str, int], certain: bool) -> tuple[tuple[int, ...], frozenset[str]]:
        """The code and the possible symbols of a cell after the step, given the places of the head there."""
        symbols, old = self._symbols(cell), self._code_bits(cell)
        steps = {(q, s): self.machine.step(q, s) for q in states for s in symbols}
        halting = () if self.keeps_tape else (ACCEPT, REJECT)
        after = {wrote for target, wrote, _ in steps.values() if target not in halting}
        if all(step[1] == s for (_, s), step in steps.items()):
            return old, frozenset(after) if certain and after else symbols
        if certain:
            *others, last = states
            wires = {q: states[q] for q in others}
            wires[last] = self.builder.negation(self.builder.any_of(*wires.values()))
            return self._new_bits(cell, wires, steps, FALSE), frozenset(after) or symbols
        elsewhere = self.builder.negation(self.builder.any_of(*states.values()))
        return self._new_bits(cell, states, steps, elsewhere), symbols | after

    def _new_bits(
        self, cell: int, wires: dict[str, int], steps: dict[tuple[str, str], tuple[str, str, int]], elsewhere: int
    ) -> tuple[int, ...]:
        found = []
        for k, old in zip(reversed(range(self.n_bits)), self._code_bits(cell), strict=True):
            ones = {
                q: {self.code[s] for (p, s), step in steps.items() if p == q and self.code[step[1]] >> k & 1}
                for q in wires
            }
            terms = [self._both(wire, cell, ones[q]) for q, wire in wires.items()]
            found.append(self.builder.any_of(*terms, self.builder.all_of(elsewhere, old)))
        return tuple(found)
