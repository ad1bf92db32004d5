"""A law: a formula with its quantities, their units and ranges, and its graph."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from compsparse.checks import brief, check_kind, check_list, check_number, check_text
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph
from compsparse.graph.parser import variables
from compsparse.tasks.task import Task, on

Half = Literal["tuned", "unseen"]
HALVES: tuple[Half, ...] = get_args(Half)


@dataclass(frozen=True)
class Quantity:
    """A variable of a law.

    Attributes:
        symbol: its name in the formula.
        meaning, unit: what it is and in what it is counted, in words.
        low, high: the range in which the law is well behaved.
    """

    symbol: str
    meaning: str
    unit: str
    low: float
    high: float

    def __post_init__(self) -> None:
        for what, text in (("the symbol", self.symbol), ("the meaning", self.meaning), ("the unit", self.unit)):
            check_text(f"{what} of a quantity", text)
        low, high = (check_number(f"an end of the range of {self.symbol!r}", end) for end in (self.low, self.high))
        if not low < high:
            raise ConfigError(f"the range of {self.symbol!r} is empty: ({low:g}, {high:g}); give low < high")


@dataclass(frozen=True)
class TextbookLaw:
    """A law of physics, engineering, chemistry, biology or finance.

    Attributes:
        field: where it belongs, such as ``mechanics``.
        expression: the formula over the symbols of its quantities.
        sentence: what it is, in words.
        meaning, unit: what it gives and in what that is counted, in words.
        quantities: its inputs, in order.
    """

    field: str
    name: str
    expression: str
    sentence: str
    meaning: str
    unit: str
    quantities: tuple[Quantity, ...]

    def __post_init__(self) -> None:
        for what in ("name", "field", "expression", "sentence", "meaning", "unit"):
            check_text(f"the {what} of a law", getattr(self, what))
        for quantity in check_list("the quantities of a law", self.quantities):
            check_kind("a quantity", quantity, Quantity)
        used = variables(self.expression)
        for symbol in self.inputs:
            if symbol not in used:
                raise ConfigError(f"the formula {self.name!r} does not use {symbol!r}: leave it out")
        for symbol in used:
            if symbol not in self.inputs:
                raise ConfigError(f"the formula {self.name!r} says nothing of {symbol!r}: give its meaning and range")

    def __str__(self) -> str:
        lines = [f"{self.name} ({self.field}): {self.sentence}", f"{self.meaning} [{self.unit}] = {self.expression}"]
        lines += [f"  {q.symbol}: {q.meaning} [{q.unit}], {q.low:g} to {q.high:g}" for q in self.quantities]
        return "\n".join(lines)

    @cached_property
    def graph(self) -> FunctionGraph:
        """The function graph of the expression; its module tree is that of the law."""
        return FunctionGraph.from_expression(self.expression, self.inputs)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Symbols of the quantities."""
        return tuple(q.symbol for q in self.quantities)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """(low, high) of every input."""
        return tuple((q.low, q.high) for q in self.quantities)

    @property
    def half(self) -> Half:
        """``tuned`` or ``unseen``: a hash of the name decides, so that nobody chooses.

        Methods are tuned on the one half and judged on the other.
        """
        return HALVES[hashlib.sha256(self.name.encode()).digest()[0] % 2]

    def task(self, noise: float = 0.0) -> Task:
        """The law as a task: inputs uniform on their ranges, noise as a share of the target's spread."""
        return Task(self.name, self.graph, on(self.bounds), noise)


def law(
    field: str,
    name: str,
    expression: str,
    sentence: str,
    gives: tuple[str, str],
    **quantities: tuple[str, str, float, float],
) -> TextbookLaw:
    """A law as the catalogue writes it down.

    Args:
        gives: meaning and unit of the result.
        quantities: symbol=(meaning, unit, low, high), in the order of the inputs.

    >>> ohm = law(
    ...     "electromagnetism", "ohm", "U/(R + r)", "Current through two resistors.", ("current", "amperes"),
    ...     U=("voltage", "volts", 1, 10), R=("first", "ohms", 1, 5), r=("second", "ohms", 1, 5),
    ... )
    >>> sorted(sorted(m) for m in ohm.graph.modules)
    [['R', 'r']]
    """
    inputs = []
    for symbol, about in quantities.items():
        given = check_list(f"what is said of {symbol!r}", about)
        if len(given) != 4:
            raise ConfigError(f"of {symbol!r} give (meaning, unit, low, high), got {brief(about)}")
        inputs.append(Quantity(symbol, *given))
    result = check_list("gives", gives)
    if len(result) != 2:
        raise ConfigError(f"gives must be (meaning, unit), got {brief(gives)}")
    meaning, unit = result
    return TextbookLaw(field, name, expression, sentence, meaning, unit, tuple(inputs))
