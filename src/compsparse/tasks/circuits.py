"""Arithmetic and choice on bits as tasks whose graph is a circuit with a number of gates linear in its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compsparse.checks import check_count, input_names
from compsparse.graph import FunctionGraph
from compsparse.representations.boolean import CircuitBuilder
from compsparse.tasks.task import Task, fair_bits

_MOST_BITS = 100_000
_MOST_ADDRESS_BITS = 16


def ripple_adder(n_bits: int = 8) -> Task:
    """The sum of two numbers, a0 and b0 their lowest bits: full adders in a row, a sum and a carry a bit.

    >>> adder = ripple_adder(2).graph
    >>> adder([[1, 1, 1, 0]])  # 3 + 1, lowest bits first
    array([[0., 0., 1.]])
    """
    n = check_count("n_bits", n_bits, most=_MOST_BITS)
    b = CircuitBuilder(_two_numbers(n))
    outputs, carry = {}, 0
    for i in range(n):
        outputs[f"s{i}"], carry = b.full_adder(b[f"a{i}"], b[f"b{i}"], carry)
    return _task("adder", b, {**outputs, f"s{n}": carry})


def comparator(n_bits: int = 8) -> Task:
    """Whether the number a is less than b, a0 and b0 their lowest bits: higher bits overrule, a gate each."""
    n = check_count("n_bits", n_bits, most=_MOST_BITS)
    b = CircuitBuilder(_two_numbers(n))
    less = 0
    for i in range(n):
        _, less = b.full_adder(b.negation(b[f"a{i}"]), b[f"b{i}"], less)  # the majority of not a, b, less so far
    return _task("comparator", b, {"less": less})


def multiplexer(n_address_bits: int = 3) -> Task:
    """The data bit that the address names (s0 its highest bit): a tree of choices, one for each data bit but one."""
    k = check_count("n_address_bits", n_address_bits, most=_MOST_ADDRESS_BITS)
    b = CircuitBuilder([*(f"s{i}" for i in range(k)), *(f"d{i}" for i in range(1 << k))])
    level = [b[f"d{i}"] for i in range(1 << k)]
    for i in reversed(range(k)):
        level = [b.choose(b[f"s{i}"], then, other) for other, then in zip(level[::2], level[1::2], strict=True)]
    return _task("multiplexer", b, {"y": level[0]})


def parity_tree(n_inputs: int = 8) -> Task:
    """Whether an odd number of inputs is 1: a balanced tree of exclusive ors."""
    b = CircuitBuilder(input_names(check_count("n_inputs", n_inputs, least=2, most=_MOST_BITS)))
    return _task("parity", b, {"y": b.parity_of(*(b[name] for name in b.inputs))})


def majority_vote(n_inputs: int = 9) -> Task:
    """Whether more than half of the inputs are 1: full adders count them, and the count is compared."""
    n = check_count("n_inputs", n_inputs, least=2, most=_MOST_BITS)
    b = CircuitBuilder(input_names(n))
    count = _counted(b, [b[name] for name in b.inputs])
    return _task("majority", b, {"y": _at_least(b, count, n // 2 + 1)})


def _counted(b: CircuitBuilder, wires: Sequence[int]) -> list[int]:
    """The number of wires that are 1, lowest bit first; three bits of one weight become one and a carry."""
    digits, column = [], list(wires)
    while column:
        carries = []
        while len(column) > 1:
            third = column.pop() if len(column) > 2 else 0
            total, carry = b.full_adder(column.pop(), column.pop(), third)
            column.insert(0, total)
            carries.append(carry)
        digits.append(column[0])
        column = carries
    return digits


def _at_least(b: CircuitBuilder, digits: Sequence[int], bar: int) -> int:
    """Whether a number, lowest bit first, is at least a constant."""
    holds = 1
    for i, digit in enumerate(digits):
        holds = b.all_of(digit, holds) if bar >> i & 1 else b.any_of(digit, holds)
    return holds


def _task(name: str, builder: CircuitBuilder, outputs: Mapping[str, int]) -> Task:
    graph: FunctionGraph = builder.build(outputs)
    return Task(name, graph, fair_bits(graph.n_inputs))


def _two_numbers(n: int) -> list[str]:
    return [f"{name}{i}" for name in "ab" for i in range(n)]
