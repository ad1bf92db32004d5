"""Claims: statements of the theory that can be run and come back with a verdict.

A claim can be refuted by data. What only a mistake in a program could refute (a theorem on every finite case, an
identity) is a *check*: it is run and kept like a claim, and shown apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from compsparse.checks import check_choice, check_flag, check_kind, check_list, check_number, check_numbers
from compsparse.errors import ConfigError, DataError
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.text import in_a_line, notebook_html

if TYPE_CHECKING:
    from compsparse.claims.declared import Bar, Measured

Profile = Literal["quick", "full"]
PROFILES: tuple[Profile, ...] = ("quick", "full")
Standing = Literal["proved", "memo", "conjecture", "experiment"]
"""How sure the source of a statement is."""


class Outcome(Enum):
    """What the measurement says of the statement; refuted is as good an answer as supported."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"

    def word(self, is_check: bool) -> str:
        """The outcome as it is shown: checks hold or fail, or could not be made.

        >>> Outcome.SUPPORTED.word(is_check=True)
        'holds'
        """
        return _CHECK_WORDS[self.value] if is_check else self.value


_SAID = {
    "supported": "what was measured agrees with the statement, by a rule that was written down before",
    "refuted": "what was measured goes against the statement, by a rule that was written down before",
    "inconclusive": "what was measured speaks neither for the statement nor against it",
    "holds": "every case that was tried agrees with the statement",
    "fails": "a case that was tried goes against the statement, so there is a mistake in a program",
    "not made": "what was tried says nothing of the statement",
}
"""What a verdict means, by its word."""
_CHECK_WORDS = {"supported": "holds", "refuted": "fails", "inconclusive": "not made"}


@dataclass(frozen=True)
class Premise:
    """What must hold before a measurement says anything of the statement, such as that the data were fitted.

    Attributes:
        statement: what must hold, without a full stop.
        found: what was found of it.
    """

    statement: str
    found: str
    holds: bool

    def __post_init__(self) -> None:
        for name in ("statement", "found"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"the {name} of a premise must be a text, got {getattr(self, name)!r}")
        check_flag("holds", self.holds)

    @classmethod
    def at_most(cls, what: str, values: Any, most: float) -> Premise:
        """That numbers are at most so much on average; one that is not a number is not."""
        mean, most = _mean(what, values), check_number("most", most)
        return cls(f"{what} is at most {most:.3g}", f"it is {mean:.3g}", bool(mean <= most))

    @classmethod
    def at_least(cls, what: str, values: Any, least: float) -> Premise:
        """That numbers are at least so much on average; one that is not a number is not."""
        mean, least = _mean(what, values), check_number("least", least)
        return cls(f"{what} is at least {least:.3g}", f"it is {mean:.3g}", bool(mean >= least))


def _mean(what: str, values: Any) -> float:
    numbers = check_numbers(what, values, finite=False)
    return float(np.mean(numbers)) if numbers.size else math.nan


@in_a_line
@dataclass(frozen=True)
class Finding:
    """What a claim's experiment returns.

    Where a premise fails the outcome is inconclusive, whatever the rule says of the numbers.

    Attributes:
        expected: the figure the statement predicts, and the rule that decides; empty where the claim says it.
        measured: the figure that was measured, with its spread.
        numbers: the figures by name, for machines.
        caveats: what the reader should hold against the verdict.
        premises: what must hold before the rule is asked.
        cut_short: whether time ended the experiment before it had all its measurements; nothing is decided then.
    """

    outcome: Outcome
    expected: str = ""
    measured: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
    caveats: tuple[str, ...] = ()
    premises: tuple[Premise, ...] = ()
    cut_short: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.outcome, Outcome):
            raise ConfigError(f"the outcome of a finding must be an Outcome, got {self.outcome!r}")
        check_flag("cut_short", self.cut_short)
        for name in ("expected", "measured"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"what a finding {name} must be a text, got {getattr(self, name)!r}")
        numbers: Any = self.numbers
        if not isinstance(numbers, Mapping) or not all(isinstance(v, Real) for v in numbers.values()):
            raise ConfigError(f"the numbers of a finding must be numbers by name, got {numbers!r}")
        self._ask_premises()

    def _ask_premises(self) -> None:
        for premise in check_list("the premises of a finding", self.premises):
            check_kind("a premise", premise, Premise)
        if self.cut_short or self.failed:
            object.__setattr__(self, "outcome", Outcome.INCONCLUSIVE)

    @property
    def failed(self) -> tuple[Premise, ...]:
        """The premises that do not hold."""
        return tuple(p for p in self.premises if not p.holds)

    def expected_under_premises(self) -> str:
        """What is expected, with what must hold before."""
        listed = "; ".join(p.statement for p in self.premises)
        return f"{self.expected}. Nothing is decided unless {listed}" if listed else self.expected

    def measured_under_premises(self) -> str:
        """What was measured, after the premises that failed."""
        failed = "; ".join(f"{p.statement}, but {p.found}" for p in self.failed)
        return f"a premise fails ({failed}); {self.measured}" if failed else self.measured


@in_a_line
@dataclass(frozen=True)
class Claim:
    """A statement with its source and the experiment that tests it.

    Attributes:
        status: how sure the source is: proved, memo, conjecture or experiment.
        experiment: called with a profile (``quick``: two CPU cores, at most two minutes; ``full``: a
            GPU, minutes) and a progress listener.
        profiles: the profiles the experiment knows.
        is_check: whether only a mistake in a program could refute the statement.
        expected, caveats: what holds for every finding: the rule that decides, and what to hold against the verdict.
        rules, premises: what decides where the experiment returns what it measured; see
            :class:`~compsparse.claims.Bar`.
    """

    name: str
    statement: str
    source: str
    status: Standing
    experiment: Callable[[Profile, Progress], Finding | Measured]
    profiles: tuple[Profile, ...] = ("quick",)
    is_check: bool = False
    expected: str = ""
    caveats: tuple[str, ...] = ()
    rules: tuple[Bar, ...] = ()
    premises: tuple[Bar, ...] = ()

    @property
    def subject(self) -> str:
        """The module that holds the experiment; empty for an experiment of the user's own."""
        return str(getattr(self.experiment, "subject", ""))

    def __post_init__(self) -> None:
        check_flag("is_check", self.is_check)
        for name in ("name", "statement", "source", "status", "expected"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"the {name} of a claim must be a text, got {getattr(self, name)!r}")
        check_choice("the status of a claim", self.status, get_args(Standing))
        if not callable(self.experiment):
            raise ConfigError(f"the experiment of a claim must be a function, got {self.experiment!r}")
        if isinstance(self.profiles, str) or not isinstance(self.profiles, Sequence) or not len(self.profiles):
            raise ConfigError(f"the profiles of a claim must be several of {list(PROFILES)}, got {self.profiles!r}")
        for profile in self.profiles:
            check_choice("a profile of a claim", profile, PROFILES)
        for caveat in check_list("the caveats of a claim", self.caveats):
            check_kind("a caveat", caveat, str)


@in_a_line
@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A finding with the claim it is about and how it was obtained; this is what is kept."""

    claim: str
    statement: str
    source: str
    status: str
    profile: str
    outcome: Outcome
    expected: str
    measured: str
    numbers: dict[str, float]
    figures: tuple[Figure, ...]
    caveats: tuple[str, ...]
    seconds: float
    version: str
    is_check: bool = False
    cut_short: bool = False

    @property
    def word(self) -> str:
        """The outcome as it is shown."""
        return self.outcome.word(self.is_check)

    @property
    def sentence(self) -> str:
        """The verdict in a sentence of at most 25 words."""
        said = "the time limit ended the run before everything was measured" if self.cut_short else _SAID[self.word]
        return f"{self.word.capitalize()}: {said}."

    def _repr_html_(self) -> str:
        return notebook_html(self, "verdict_html")

    def to_dict(self) -> dict[str, Any]:
        """The verdict in JSON values."""
        return {
            **self.__dict__,
            "outcome": self.outcome.value,
            "figures": [f.to_dict() for f in self.figures],
            "caveats": list(self.caveats),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Verdict:
        """Reads what :meth:`to_dict` gave.

        Raises:
            DataError: something is missing, or is not what a verdict has there.
        """
        if not isinstance(data, Mapping):
            raise DataError("a verdict must be a JSON object")
        for name, (is_right, wanted) in _PARTS.items():
            if name not in data:
                raise DataError(f"it has no {name}")
            if not is_right(data[name]):
                raise DataError(f"its {name} is not {wanted}")
        unknown = [str(name) for name in data if name not in _PARTS]
        if unknown:
            raise DataError(f"a verdict has no place for {unknown[0]!r}")
        return cls(
            **{
                **data,
                "outcome": Outcome(data["outcome"]),
                "numbers": {name: float(value) for name, value in data["numbers"].items()},
                "figures": tuple(Figure.from_dict(f) for f in data["figures"]),
                "caveats": tuple(data["caveats"]),
            }
        )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_TEXTS = ("claim", "statement", "source", "status", "profile", "expected", "measured", "version")
_PARTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(_TEXTS, (_is_text, "a text")),
    "outcome": (
        lambda v: _is_text(v) and v in [o.value for o in Outcome],
        "one of " + ", ".join(o.value for o in Outcome),
    ),
    "numbers": (lambda v: isinstance(v, dict) and all(map(_is_number, v.values())), "numbers by name"),
    "figures": (lambda v: isinstance(v, (list, tuple)), "a list of figures"),
    "caveats": (lambda v: isinstance(v, (list, tuple)) and all(map(_is_text, v)), "a list of texts"),
    "is_check": (lambda v: isinstance(v, bool), "true or false"),
    "cut_short": (lambda v: isinstance(v, bool), "true or false"),
    "seconds": (lambda v: _is_number(v) and math.isfinite(v), "a finite number"),
}
"""What a verdict must hold, by name."""
