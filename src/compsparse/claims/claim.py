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
from typing import Any, Literal, get_args

from compsparse.checks import check_choice, check_flag
from compsparse.errors import ConfigError, DataError
from compsparse.progress import Progress
from compsparse.report.figure import Figure

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


_CHECK_WORDS = {"supported": "holds", "refuted": "fails", "inconclusive": "not made"}


@dataclass(frozen=True)
class Finding:
    """What a claim's experiment returns.

    Attributes:
        expected: the figure the statement predicts, and the rule that decides.
        measured: the figure that was measured, with its spread.
        numbers: the figures by name, for machines.
        caveats: what the reader should hold against the verdict.
    """

    outcome: Outcome
    expected: str
    measured: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
    caveats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.outcome, Outcome):
            raise ConfigError(f"the outcome of a finding must be an Outcome, got {self.outcome!r}")
        for name in ("expected", "measured"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"what a finding {name} must be a text, got {getattr(self, name)!r}")
        numbers: Any = self.numbers
        if not isinstance(numbers, Mapping) or not all(isinstance(v, Real) for v in numbers.values()):
            raise ConfigError(f"the numbers of a finding must be numbers by name, got {numbers!r}")


@dataclass(frozen=True)
class Claim:
    """A statement with its source and the experiment that tests it.

    Attributes:
        status: how sure the source is: proved, memo, conjecture or experiment.
        experiment: called with a profile (``quick``: two CPU cores, at most two minutes; ``full``: a
            GPU, minutes) and a progress listener.
        profiles: the profiles the experiment knows.
        is_check: whether only a mistake in a program could refute the statement.
    """

    name: str
    statement: str
    source: str
    status: Standing
    experiment: Callable[[Profile, Progress], Finding]
    profiles: tuple[Profile, ...] = ("quick",)
    is_check: bool = False

    def __post_init__(self) -> None:
        check_flag("is_check", self.is_check)
        for name in ("name", "statement", "source", "status"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"the {name} of a claim must be a text, got {getattr(self, name)!r}")
        check_choice("the status of a claim", self.status, get_args(Standing))
        if not callable(self.experiment):
            raise ConfigError(f"the experiment of a claim must be a function, got {self.experiment!r}")
        if isinstance(self.profiles, str) or not isinstance(self.profiles, Sequence) or not len(self.profiles):
            raise ConfigError(f"the profiles of a claim must be several of {list(PROFILES)}, got {self.profiles!r}")
        for profile in self.profiles:
            check_choice("a profile of a claim", profile, PROFILES)


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

    @property
    def word(self) -> str:
        """The outcome as it is shown."""
        return self.outcome.word(self.is_check)

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
        data = {"is_check": False, **data}  # verdicts kept before there were checks
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
    "seconds": (lambda v: _is_number(v) and math.isfinite(v), "a finite number"),
}
"""What a verdict must hold, by name."""
