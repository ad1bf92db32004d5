"""Gates as constituents: polynomials that are exact on 0 and 1, or the table itself where that is shorter.

A Boolean function has one polynomial of degree at most one in each argument. It is written by
Shannon's expansion (1 - x) f0 + x f1, the most influential argument first, in factored form:
conjunctions are products and parities (1 - (1 - 2x)(1 - 2y)…)/2, so that the formula shows which
arguments regroup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.graph.constituent import Constituent
from compsparse.graph.formula import Apply, Argument, Constant, Formula
from compsparse.graph.operations import is_torch
from compsparse.representations.boolean.cofactors import Cube
from compsparse.representations.boolean.decomposition import is_parity, lone_cell

_MOST_OPERATIONS = 400
"""Longest expansion of a gate that is kept as a formula."""


def constituent(gate: Cube) -> Constituent:
    """The gate as a function of numbers: a formula that JSON holds, or a table when it would be too long.

    >>> constituent(np.array([[0, 1], [1, 1]], dtype=bool)).formula is not None
    True
    """
    try:
        formula = _Expansion().write(gate, tuple(range(gate.ndim)))
    except _TooLongError:
        return Constituent.from_callable(Lookup(gate.tobytes()), gate.ndim, name="table", value_range=(0, 1))
    return Constituent.from_formula(formula, gate.ndim, name=_name(gate), value_range=(0, 1))


def _name(gate: Cube) -> str:
    if gate.ndim == 1:
        return "not" if gate[0] else "copy"
    if is_parity(gate):
        return "xnor" if gate.flat[0] else "xor"
    lone = lone_cell(gate)
    if lone is None:
        return "gate"
    if any(lone[0]):
        return "and" if lone[1] else "nand"
    return "nor" if lone[1] else "or"


@dataclass(frozen=True)
class Lookup:
    """A gate by its table, for numpy and torch; arguments count as 1 above one half."""

    table: bytes

    def __call__(self, *arguments: Any) -> Any:
        row = sum((a > 0.5) * (1 << i) for i, a in enumerate(reversed(arguments)))
        if is_torch(arguments[0]):
            return arguments[0].new_tensor(list(self.table))[row]
        return np.frombuffer(self.table, dtype=np.uint8)[row].astype(arguments[0].dtype)


class _TooLongError(Exception):
    pass


class _Expansion:
    def __init__(self) -> None:
        self.written = 0

    def write(self, gate: Cube, arguments: tuple[int, ...]) -> Formula:
        if gate.all() or not gate.any():
            return Constant(float(gate.flat[0]))
        self.written += 1
        if self.written > _MOST_OPERATIONS:
            raise _TooLongError
        influence = [np.count_nonzero(gate.take(0, a) != gate.take(1, a)) for a in range(gate.ndim)]
        axis = int(np.argmax(influence))
        x, rest = Argument(arguments[axis]), arguments[:axis] + arguments[axis + 1 :]
        low, high = np.moveaxis(gate, axis, 0)
        if np.array_equal(low, ~high):
            if gate.flat[0]:
                return _not(self.write(~gate, arguments))
            return _halved(_times(_sign(x), _sign(self.write(low, rest))))
        f0, f1 = self.write(low, rest), self.write(high, rest)
        match f0, f1:
            case Constant(0.0), _:
                return _times(x, f1)
            case _, Constant(0.0):
                return _times(_not(x), f0)
            case Constant(1.0), _:
                return _not(_times(x, _not(f1)))
            case _, Constant(1.0):
                return _not(_times(_not(x), _not(f0)))
        return Apply("add", (_times(_not(x), f0), _times(x, f1)))


_ONE, _TWO = Constant(1.0), Constant(2.0)


def _times(a: Formula, b: Formula) -> Formula:
    return a if b == _ONE else Apply("mul", (a, b))


def _not(formula: Formula) -> Formula:
    match formula:
        case Constant(value):
            return Constant(1 - value)
        case Apply("sub", (Constant(1.0), inner)):
            return inner
        case Apply("div", (Apply("sub", (Constant(1.0), sign)), Constant(2.0))):
            return Apply("div", (Apply("add", (_ONE, sign)), _TWO))
        case Apply("div", (Apply("add", (Constant(1.0), sign)), Constant(2.0))):
            return Apply("div", (Apply("sub", (_ONE, sign)), _TWO))
    return Apply("sub", (_ONE, formula))


def _sign(formula: Formula) -> Formula:
    """1 - 2p: 1 for 0 and -1 for 1."""
    match formula:
        case Constant(value):
            return Constant(1 - 2 * value)
        case Apply("div", (Apply("sub", (Constant(1.0), sign)), Constant(2.0))):
            return sign
    return Apply("sub", (_ONE, Apply("mul", (_TWO, formula))))


def _halved(sign: Formula) -> Formula:
    """(1 - s)/2: the bit of a sign."""
    match sign:
        case Apply("sub", (Constant(1.0), Apply("mul", (Constant(2.0), bit)))):
            return bit
    return Apply("div", (Apply("sub", (_ONE, sign)), _TWO))
