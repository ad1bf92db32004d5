r"""Integer programs as Boolean graphs: what a program does to words of n bits, gate by gate.

A program is a Python function of :class:`Word` s: assignments, sums, differences, products, shifts by known numbers of
places, comparisons, and loops of known length. Python runs it once and every operation leaves its gates, so that loops
unroll themselves. What is chosen by a comparison is written with :func:`choose`; a loop whose length depends on the
input has no bound that could be unrolled, and is refused.

Words are unsigned and of one length: sums and products wrap around, as on a machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import brief, check_count, check_kind, check_name_list, check_numbers
from compsparse.errors import ConfigError, GraphError
from compsparse.graph.function_graph import FunctionGraph
from compsparse.representations.boolean.circuit_builder import FALSE, TRUE, CircuitBuilder
from compsparse.representations.boolean.packed import evaluate_bits
from compsparse.text import in_a_line

_MOST_BITS = 64


@in_a_line
@dataclass(frozen=True, eq=False)
class CompiledProgram:
    """A program on words of one length, as a function graph.

    Attributes:
        n_bits: of every word; the input ``a`` is the bits ``a0`` (the least significant), ``a1``, …
    """

    graph: FunctionGraph
    names: tuple[str, ...]
    n_bits: int

    @property
    def n_gates(self) -> int:
        """Nodes of the graph."""
        return self.graph.size

    def bits(self, *numbers: Any) -> np.ndarray:
        """Rows of bits for the graph, from a whole number or an array of them for every input."""
        if len(numbers) != len(self.names):
            raise ConfigError(f"the program has {len(self.names)} inputs, {list(self.names)}, got {len(numbers)}")
        given = [check_numbers(name, x) for name, x in zip(self.names, numbers, strict=True)]
        try:
            columns = np.broadcast_arrays(*given)
        except ValueError:
            raise ConfigError(f"inputs must have one shape, got {', '.join(str(x.shape) for x in given)}") from None
        words = np.stack([np.ravel(c) for c in columns], axis=1)
        if not len(words):
            raise ConfigError("a program answers at least one word, got none")
        if (words < 0).any() or (words >= 2.0**self.n_bits).any() or (words != np.floor(words)).any():
            raise ConfigError(f"words of {self.n_bits} bits are whole numbers from 0 to {2**self.n_bits - 1}")
        found: np.ndarray = (words.astype(np.uint64)[:, :, None] >> np.arange(self.n_bits, dtype=np.uint64)) & 1
        return found.reshape(len(words), -1).astype(np.uint8)

    def __call__(self, *numbers: Any) -> np.ndarray:
        """What the graph answers, as whole numbers."""
        answers = evaluate_bits(self.graph, self.bits(*numbers)).astype(np.uint64)
        found: np.ndarray = answers @ (np.uint64(1) << np.arange(answers.shape[1], dtype=np.uint64))
        return found


def compile_program(program: Callable[..., Word], names: Sequence[str], n_bits: int) -> CompiledProgram:
    """The function graph of a program on words of so many bits.

    Args:
        program: from one :class:`Word` a name to a Word.

    Raises:
        ConfigError: a program that asks Python to decide by a word, as ``if`` and ``while`` do.

    >>> largest = compile_program(lambda a, b: choose(a >= b, a, b), ["a", "b"], 4)
    >>> largest([3, 9, 5], [7, 2, 5]).tolist()
    [7, 9, 5]
    """
    known = tuple(check_name_list("names", names))
    n = check_count("n_bits", n_bits, most=_MOST_BITS)
    if not callable(program):
        raise ConfigError(f"a program is a function of words, got {brief(program)}")
    builder = CircuitBuilder([f"{name}{k}" for name in known for k in range(n)])
    words = [Word(builder, [builder[f"{name}{k}"] for k in range(n)]) for name in known]
    answer = check_kind("what the program returns", _run(program, words), Word)
    outputs = {f"out{k}": wire for k, wire in enumerate(answer.wires)}
    return CompiledProgram(builder.build(_with_other_names(outputs, builder)), known, n)


def _run(program: Callable[..., Any], words: Sequence[Word]) -> Any:
    try:
        return program(*words)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the program cannot compute with {len(words)} words: {error}") from None


def _with_other_names(outputs: Mapping[str, int], builder: CircuitBuilder) -> dict[str, int]:
    prefix = "out"
    while any(f"{prefix}{k}" in builder.inputs for k in range(len(outputs))):
        prefix += "_"
    return {f"{prefix}{k}": wire for k, wire in enumerate(outputs.values())}


class Word:
    """A number of n bits that the program computes with; the least significant wire first."""

    def __init__(self, builder: CircuitBuilder, wires: Sequence[int]):
        self.builder, self.wires = builder, tuple(wires)

    def __len__(self) -> int:
        return len(self.wires)

    def __bool__(self) -> bool:
        raise ConfigError(
            "a program cannot ask Python to decide by a word (if, while, and, or): its loops need a known length, and "
            "what depends on a comparison is choose(condition, then, otherwise)"
        )

    def constant(self, number: int) -> Word:
        """A whole number as a word of this length; what does not fit is cut off."""
        return Word(self.builder, [TRUE if number >> k & 1 else FALSE for k in range(len(self))])

    def _other(self, value: Word | int) -> Word:
        if isinstance(value, int) and not isinstance(value, bool):
            return self.constant(value)
        if not isinstance(value, Word) or len(value) != len(self) or value.builder is not self.builder:
            raise GraphError(f"words of one program and one length are computed with, got {brief(value)}")
        return value

    def _sum(self, other: Word, carry: int, complement: int) -> tuple[Word, int]:
        wires = []
        for a, b in zip(self.wires, other.wires, strict=True):
            bit, carry = self.builder.full_adder(a, b ^ complement, carry)
            wires.append(bit)
        return Word(self.builder, wires), carry

    def __add__(self, other: Word | int) -> Word:
        return self._sum(self._other(other), FALSE, 0)[0]

    def __sub__(self, other: Word | int) -> Word:
        return self._sum(self._other(other), TRUE, 1)[0]

    def __rsub__(self, other: int) -> Word:
        return self.constant(other) - self

    __radd__ = __add__

    def __mul__(self, other: Word | int) -> Word:
        factor, total = self._other(other), self.constant(0)
        for k, bit in enumerate(factor.wires):
            total = total + (self << k).where(bit)
        return total

    __rmul__ = __mul__

    def where(self, wire: int) -> Word:
        """The word where a wire is 1, and zero elsewhere."""
        return Word(self.builder, [self.builder.all_of(w, wire) for w in self.wires])

    def __lshift__(self, places: int) -> Word:
        k = min(check_count("places", places, least=0), len(self))
        return Word(self.builder, [*[FALSE] * k, *self.wires[: len(self) - k]])

    def __rshift__(self, places: int) -> Word:
        k = min(check_count("places", places, least=0), len(self))
        return Word(self.builder, [*self.wires[k:], *[FALSE] * k])

    def signed_shift(self, places: int) -> Word:
        """To the right, with the most significant bit, which is the sign of numbers below zero, kept."""
        k = min(check_count("places", places, least=0), len(self) - 1)
        return Word(self.builder, [*self.wires[k:], *[self.wires[-1]] * k])

    def __ge__(self, other: Word | int) -> Condition:
        return Condition(self.builder, self._sum(self._other(other), TRUE, 1)[1])

    def __lt__(self, other: Word | int) -> Condition:
        return ~(self >= other)

    def __gt__(self, other: Word | int) -> Condition:
        return ~(self._other(other) >= self)

    def __le__(self, other: Word | int) -> Condition:
        return self._other(other) >= self

    def equals(self, other: Word | int) -> Condition:
        """Whether all bits agree."""
        pairs = zip(self.wires, self._other(other).wires, strict=True)
        return ~Condition(self.builder, self.builder.any_of(*(self.builder.parity_of(a, b) for a, b in pairs)))

    @property
    def sign(self) -> Condition:
        """Whether the most significant bit is 1, as it is in numbers below zero."""
        return Condition(self.builder, self.wires[-1])


@dataclass(frozen=True)
class Condition:
    """One bit that a comparison found."""

    builder: CircuitBuilder
    wire: int

    __bool__ = Word.__bool__

    def __invert__(self) -> Condition:
        return Condition(self.builder, self.builder.negation(self.wire))

    def __and__(self, other: Condition) -> Condition:
        return Condition(self.builder, self.builder.all_of(self.wire, other.wire))

    def __or__(self, other: Condition) -> Condition:
        return Condition(self.builder, self.builder.any_of(self.wire, other.wire))


def choose(condition: Condition, then: Word, otherwise: Word) -> Word:
    """One word where the condition holds, else the other."""
    check_kind("condition", condition, Condition)
    if len(then) != len(otherwise):
        raise GraphError(f"words of one length are chosen from, got {len(then)} and {len(otherwise)} bits")
    pairs = zip(then.wires, otherwise.wires, strict=True)
    return Word(then.builder, [then.builder.choose(condition.wire, a, b) for a, b in pairs])


# ---- well-known programs -----------------------------------------------------------------------------


def divide(a: Word, b: Word) -> Word:
    """The whole part of a / b by long division; all bits 1 where b is zero.

    >>> compile_program(divide, ["a", "b"], 5)([29, 30, 7], [4, 5, 9]).tolist()
    [7, 6, 0]
    """
    rest, quotient = a.constant(0), list[int]()
    for k in reversed(range(len(a))):
        carried = rest.wires[-1]
        rest = Word(a.builder, [a.wires[k], *rest.wires[:-1]])
        fits = (rest >= b) | Condition(a.builder, carried)
        rest = choose(fits, rest - b, rest)
        quotient.append(fits.wire)
    return Word(a.builder, quotient[::-1])


def square_root(a: Word) -> Word:
    """The whole part of the root by Newton's steps from above, as many as words of this length can need.

    >>> compile_program(square_root, ["a"], 6)([0, 1, 15, 16, 24, 25, 63]).tolist()
    [0, 1, 3, 4, 4, 5, 7]
    """
    n = len(a)
    x = a.constant(min((1 << (n + 1) // 2), (1 << n) - 1))
    for _ in range(_newton_steps(n)):
        step = _half_of_sum(x, divide(a, x))
        x = choose(step < x, step, x)
    return x


def _newton_steps(n: int) -> int:
    """From 2^(n/2) the error is at most halved once a bit and then squared; small roots take longest."""
    return (n + 1) // 2 + max(n.bit_length() - 1, 1)


def _half_of_sum(x: Word, y: Word) -> Word:
    total, carry = x._sum(y, FALSE, 0)
    return Word(x.builder, [*total.wires[1:], carry])


def sine(a: Word) -> Word:
    """The sine of an angle from 0 to a right angle, by CORDIC; both in units of 2^-(n - 3), angles in radians.

    Every step cuts off what is below a unit, so that the last few bits of n are wrong. Numbers below zero are held as
    their complement to 2^n.

    >>> float(compile_program(sine, ["a"], 19)(2**15)[0] / 2**16).__round__(3)  # the sine of 1/2
    0.479
    """
    n = len(a)
    unit = 1 << (n - 3)
    gain = float(np.prod([1 / np.sqrt(1 + 4.0**-k) for k in range(n)]))
    x, y, angle = a.constant(round(gain * unit)), a.constant(0), a
    for k in range(n - 2):
        turn = angle.sign
        dx, dy, step = y.signed_shift(k), x.signed_shift(k), round(np.arctan(2.0**-k) * unit)
        x, y = choose(turn, x + dx, x - dx), choose(turn, y - dy, y + dy)
        angle = choose(turn, angle + step, angle - step)
    return y
