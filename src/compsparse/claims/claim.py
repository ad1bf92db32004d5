"""Claims: statements of the theory that can be run and come back with a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

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


@dataclass(frozen=True)
class Claim:
    """A statement with its source and the experiment that tests it.

    Attributes:
        status: how sure the source is: proved, memo, conjecture or experiment.
        experiment: called with a profile (``quick``: two CPU cores, at most two minutes; ``full``: a
            GPU, minutes) and a progress listener.
        profiles: the profiles the experiment knows.
    """

    name: str
    statement: str
    source: str
    status: Standing
    experiment: Callable[[Profile, Progress], Finding]
    profiles: tuple[Profile, ...] = ("quick",)


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
        """Reads what :meth:`to_dict` gave."""
        return cls(
            **{
                **data,
                "outcome": Outcome(data["outcome"]),
                "figures": tuple(Figure.from_dict(f) for f in data["figures"]),
                "caveats": tuple(data["caveats"]),
            }
        )
