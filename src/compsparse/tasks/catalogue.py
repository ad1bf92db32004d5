"""The catalogue of formulas: laws of physics, engineering, chemistry, biology and finance with their graphs.

They stand in the folder ``laws``, in one TOML file a field.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Literal, get_args

from compsparse.checks import brief, check_choice, check_kind, check_known, check_list, check_number, check_text
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph
from compsparse.graph.parser import variables
from compsparse.tasks.task import Task, on
from compsparse.text import in_a_line

Half = Literal["tuned", "unseen"]
_HALVES: tuple[Half, ...] = get_args(Half)
_FIELDS = (
    "mechanics", "astronomy", "electromagnetism", "waves", "thermodynamics", "fluids", "quanta", "structures",
    "systems", "chemistry", "biology", "medicine", "earth", "finance",
)  # fmt: skip
"""The files of ``laws``, in the order in which they are listed."""


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


@in_a_line
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
        return _HALVES[hashlib.sha256(self.name.encode()).digest()[0] % 2]

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


def formulas(*, field: str | None = None, half: Half | None = None) -> tuple[TextbookLaw, ...]:
    """The laws of the catalogue, of one field or of one half if that is asked for.

    Args:
        field: such as ``mechanics`` or ``finance``; None takes all.
        half: ``tuned`` or ``unseen``, as a hash of the name has it; None takes both.

    >>> len(formulas()) >= 110
    True
    >>> [law.name for law in formulas(field="quanta", half="tuned")][:2]
    ['compton-scattering', 'resonance-of-breit-and-wigner']
    """
    laws = _catalogue().values()
    if field is not None:
        check_choice("field", field, _FIELDS)
    if half is not None:
        check_choice("half", half, _HALVES)
    return tuple(law for law in laws if field in (None, law.field) and half in (None, law.half))


def formula(name: str, noise: float = 0.0) -> Task:
    """A law of the catalogue as a task that can be sampled.

    Args:
        noise: standard deviation of Gaussian noise, as a share of the clean target's.

    >>> task = formula("refraction", noise=0.05)
    >>> task.graph.inputs
    ('n1', 'theta', 'n2')
    """
    known = _catalogue()
    return known[check_known(check_text("name", name), known, "there is no formula")].task(noise)


@cache
def _catalogue() -> Mapping[str, TextbookLaw]:
    """All laws by name; read on first use, because so many formulas take a moment to parse."""
    folder = resources.files("compsparse.tasks") / "laws"
    texts = {field: (folder / f"{field}.toml").read_text(encoding="utf-8") for field in _FIELDS}
    return {
        name: law(field, name, told["expression"], told["sentence"], told["gives"], **told["quantities"])
        for field, text in texts.items()
        for name, told in tomllib.loads(text).items()
    }
