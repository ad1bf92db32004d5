"""Turing machines of one tape that decide strings of bits, their simulation on many inputs at once, and examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.checks import brief, check_array, check_count, check_list, check_mapping, check_text
from compsparse.errors import ConfigError
from compsparse.representations.boolean.bits import check_bits
from compsparse.sizes import check_size
from compsparse.text import in_a_line

BLANK = " "
ACCEPT, REJECT = "accept", "reject"
Transition = tuple[str, str, int]
"""The next state, the symbol that is written, and the move: -1 left, 0 none, 1 right."""
_MOST_TIME = 1_000_000


@in_a_line
@dataclass(frozen=True, eq=False)
class TuringMachine:
    """A machine with one head on one tape, endless on both sides.

    It starts at the first bit of its input, with blanks all around, and halts in ``accept`` or ``reject``; what no
    rule provides for is rejected.

    Attributes:
        rules: from (state, symbol) to (state, symbol, move). Symbols are texts of one character; the input is made of
            "0" and "1", all else is " ".
        start: the first state.

    >>> even = TuringMachine({("even", "0"): ("even", "0", 1), ("even", "1"): ("odd", "1", 1),
    ...     ("odd", "0"): ("odd", "0", 1), ("odd", "1"): ("even", "1", 1), ("even", " "): ("accept", " ", 0)}, "even")
    >>> even.run([[1, 0, 1], [1, 1, 1]], time_bound=4).accepts.tolist()
    [True, False]
    """

    rules: Mapping[tuple[str, str], Transition]
    start: str

    def __post_init__(self) -> None:
        rules = dict(check_mapping("rules", self.rules))
        object.__setattr__(self, "rules", rules)
        check_text("start", self.start)
        for key, rule in rules.items():
            if not _is_key(key) or not _is_rule(rule):
                raise ConfigError(
                    "a rule goes from (state, symbol) to (state, symbol, move of -1, 0 or 1), with symbols of one "
                    f"character; got {brief(key)} to {brief(rule)}"
                )
            if key[0] in (ACCEPT, REJECT):
                raise ConfigError(f"a machine has halted in {key[0]!r}: no rule can start there")
        if self.start not in self.states:
            raise ConfigError(f"no rule starts in the state {self.start!r}, in which the machine begins")
        for key, rule in rules.items():
            if rule[0] not in (*self.states, ACCEPT, REJECT):
                raise ConfigError(f"the rule for {key} leads to {rule[0]!r}, in which no rule starts")

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The states in which the machine has not halted."""
        return tuple(dict.fromkeys(state for state, _ in self.rules))

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Those of the input and the blank first."""
        written = (s for (_, read), (_, wrote, _) in self.rules.items() for s in (read, wrote))
        return tuple(dict.fromkeys(("0", "1", BLANK, *written)))

    def step(self, state: str, symbol: str) -> Transition:
        """What the machine does."""
        return self.rules.get((state, symbol), (REJECT, symbol, 0))

    def run(self, X: Any, time_bound: int, cells: Sequence[int] = ()) -> MachineRun:
        """Simulates the machine on rows of 0 and 1 for so many steps.

        Args:
            X: shape (n, bits).
            time_bound: steps after which a machine that has not halted is stopped.
            cells: whose symbols are wanted in the end; the input begins at cell 0.
        """
        bits = check_bits("X", X)
        time = check_count("time_bound", time_bound, most=_MOST_TIME)
        n_rows, n = bits.shape
        check_size(f"the tapes of {n_rows:,} inputs", float(n_rows) * (n + 2 * time), "give fewer", bytes_each=3)
        simulation = _Simulation(self, bits, time)
        for _ in range(time):
            if not simulation.step():
                break
        n_states = len(self.states)
        wanted = [simulation.origin + check_cell(cell, time, n) for cell in check_list("cells", cells)]
        tape = np.array(self.symbols)[simulation.tape[:, np.array(wanted, dtype=int)]]
        return MachineRun(simulation.state == n_states, simulation.state >= n_states, simulation.steps, tape)

    def trace(self, x: Any, time_bound: int) -> MachineTrace:
        """The whole course on one input, a row of 0 and 1."""
        row = check_array("x", x)
        bits = check_bits("x", row[None] if row.ndim == 1 else row)
        if len(bits) != 1:
            raise ConfigError(f"a trace is of one input, got {len(bits)}")
        time = check_count("time_bound", time_bound, most=10_000)
        simulation = _Simulation(self, bits, time)
        tapes, heads, states, called = [], [], [], (*self.states, ACCEPT, REJECT)
        while True:
            tapes.append(simulation.tape[0].copy())
            heads.append(int(simulation.head[0]))
            states.append(called[int(simulation.state[0])])
            if len(tapes) > time or not simulation.step():
                break
        low = min(simulation.origin, *heads)
        high = max(simulation.origin + bits.shape[1], *(h + 1 for h in heads))
        symbols = np.array(self.symbols)
        return MachineTrace(symbols[np.array(tapes)[:, low:high]], np.array(heads) - low, tuple(states))


@in_a_line
@dataclass(frozen=True, eq=False)
class MachineRun:
    """What a simulation found, for each input.

    Attributes:
        accepts: whether the machine halted and accepted.
        halts: whether it halted in time.
        halted_after: steps until it halted, or all that it had.
        tape: the symbols in the cells that were asked for.
    """

    accepts: npt.NDArray[np.bool_]
    halts: npt.NDArray[np.bool_]
    halted_after: npt.NDArray[np.int64]
    tape: npt.NDArray[Any]


@in_a_line
@dataclass(frozen=True, eq=False)
class MachineTrace:
    """The tableau of one run: a row for every time.

    Attributes:
        tape: symbols, (times, cells).
        head: the cell of the head at each time.
        states: the state at each time.
    """

    tape: npt.NDArray[Any]
    head: npt.NDArray[np.int64]
    states: tuple[str, ...]


class _Simulation:
    """All inputs at once; halted machines stay where they are."""

    def __init__(self, machine: TuringMachine, bits: npt.NDArray[np.uint8], time: int):
        states, symbols = machine.states, machine.symbols
        number = {state: i for i, state in enumerate((*states, ACCEPT, REJECT))}
        table = [[machine.step(q, s) for s in symbols] for q in states]
        self.next = np.array([[number[rule[0]] for rule in row] for row in table])
        self.write = np.array([[symbols.index(rule[1]) for rule in row] for row in table], dtype=np.int8)
        self.move = np.array([[rule[2] for rule in row] for row in table])
        n_rows, n = bits.shape
        self.origin = time
        self.tape = np.full((n_rows, n + 2 * time + 1), symbols.index(BLANK), dtype=np.int8)
        self.tape[:, time : time + n] = bits
        self.head = np.full(n_rows, time)
        self.state = np.full(n_rows, number[machine.start])
        self.steps = np.zeros(n_rows, dtype=np.int64)

    def step(self) -> bool:
        """One step of all that run; False if none does."""
        going = np.flatnonzero(self.state < len(self.next))
        if not len(going):
            return False
        q, i = self.state[going], self.head[going]
        s = self.tape[going, i]
        self.tape[going, i] = self.write[q, s]
        self.head[going] = i + self.move[q, s]
        self.state[going] = self.next[q, s]
        self.steps[going] += 1
        return True


def _is_symbol(value: object) -> bool:
    return isinstance(value, str) and len(value) == 1


def _is_key(key: object) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], str) and _is_symbol(key[1])


def _is_rule(rule: object) -> bool:
    return (
        isinstance(rule, tuple)
        and len(rule) == 3
        and isinstance(rule[0], str)
        and _is_symbol(rule[1])
        and type(rule[2]) is int
        and rule[2] in (-1, 0, 1)
    )


# ---- well-known sets of strings ------------------------------------------------------------------


def check_cell(cell: Any, time: int, n: int) -> int:
    """A cell that a machine can have reached in so many steps, or that holds an input."""
    return check_count("a cell", cell, least=-time, most=n + time)


def increment_machine() -> TuringMachine:
    """Writes the next binary number, the most significant bit first: to the last bit and back while ones are carried.

    >>> increment_machine().run([[0, 1, 1], [1, 1, 1]], time_bound=10, cells=range(-1, 3)).tape.tolist()
    [[' ', '1', '0', '0'], ['1', '0', '0', '0']]
    """
    return TuringMachine(
        {
            ("last", "0"): ("last", "0", 1),
            ("last", "1"): ("last", "1", 1),
            ("last", BLANK): ("carry", BLANK, -1),
            ("carry", "1"): ("carry", "0", -1),
            ("carry", "0"): (ACCEPT, "1", 0),
            ("carry", BLANK): (ACCEPT, "1", 0),
        },
        "last",
    )


def parity_machine() -> TuringMachine:
    """Accepts strings with an odd number of ones, in one pass.

    >>> parity_machine().run([[1, 0, 1, 1]], time_bound=5).accepts.tolist()
    [True]
    """
    return TuringMachine(
        {
            ("even", "0"): ("even", "0", 1),
            ("even", "1"): ("odd", "1", 1),
            ("odd", "0"): ("odd", "0", 1),
            ("odd", "1"): ("even", "1", 1),
            ("odd", BLANK): (ACCEPT, BLANK, 0),
        },
        "even",
    )


def palindrome_machine() -> TuringMachine:
    """Accepts strings that read the same backwards: takes the first bit away, compares the last, about n^2/2 steps.

    >>> palindrome_machine().run([[0, 1, 0], [0, 1, 1]], time_bound=20).accepts.tolist()
    [True, False]
    """
    rules = {
        ("take", BLANK): (ACCEPT, BLANK, 0),
        ("back", "0"): ("back", "0", -1),
        ("back", "1"): ("back", "1", -1),
        ("back", BLANK): ("take", BLANK, 1),
    }
    for bit in "01":
        rules |= {
            ("take", bit): (f"carry {bit}", BLANK, 1),
            (f"carry {bit}", "0"): (f"carry {bit}", "0", 1),
            (f"carry {bit}", "1"): (f"carry {bit}", "1", 1),
            (f"carry {bit}", BLANK): (f"compare {bit}", BLANK, -1),
            (f"compare {bit}", bit): ("back", BLANK, -1),
            (f"compare {bit}", BLANK): (ACCEPT, BLANK, 0),
        }
    return TuringMachine(rules, "take")


def balance_machine() -> TuringMachine:
    """Accepts strings with as many zeros as ones: crosses off one of each, and goes back; where it walks depends on
    what it reads.

    >>> balance_machine().run([[0, 1, 1, 0], [0, 1, 1, 1]], time_bound=40).accepts.tolist()
    [True, False]
    """
    rules = {
        ("seek", "x"): ("seek", "x", 1),
        ("seek", BLANK): (ACCEPT, BLANK, 0),
        ("back", "0"): ("back", "0", -1),
        ("back", "1"): ("back", "1", -1),
        ("back", "x"): ("back", "x", -1),
        ("back", BLANK): ("seek", BLANK, 1),
    }
    for bit, other in ("01", "10"):
        rules |= {
            ("seek", bit): (f"want {other}", "x", 1),
            (f"want {other}", bit): (f"want {other}", bit, 1),
            (f"want {other}", "x"): (f"want {other}", "x", 1),
            (f"want {other}", other): ("back", "x", -1),
        }
    return TuringMachine(rules, "seek")
