"""Verdicts that ship with the package: what each claim came to when it was last run, in each profile.

``verdicts.toml`` holds them; ``tools/write_theory.py`` takes new ones from a folder of kept verdicts.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from compsparse.claims.claim import PROFILES, Claim, Outcome, Premise, Profile
from compsparse.claims.registry import all_claims


@dataclass(frozen=True)
class KnownVerdict:
    """The verdict of an earlier run.

    Attributes:
        date: of the run.
    """

    claim: str
    profile: Profile
    outcome: Outcome
    measured: str
    date: str

    @property
    def word(self) -> str:
        """The outcome as it is shown."""
        claim = all_claims().get(self.claim)
        return self.outcome.word(claim is not None and claim.is_check)


@cache
def known_verdicts() -> dict[tuple[str, Profile], KnownVerdict]:
    """By claim and profile."""
    told = tomllib.loads((resources.files("compsparse.claims") / "verdicts.toml").read_text(encoding="utf-8"))
    return {
        (claim, profile): KnownVerdict(
            claim, profile, Outcome(row["outcome"]), " ".join(row["measured"].split()), row["date"]
        )
        for claim, by_profile in told.items()
        for profile, row in by_profile.items()
    }


def verdicts_in_short(claim: str) -> str:
    """The verdicts of the profiles that a claim has, quick before full; a dash where none is known.

    >>> verdicts_in_short("hierarchy-carries-over-to-depth")
    'inconclusive / refuted'
    """
    known = [known_verdicts().get((claim, profile)) for profile in PROFILES if profile in all_claims()[claim].profiles]
    return " / ".join(one.word if one else "-" for one in known)


def is_firmer(outcome: Outcome, than: Outcome) -> bool:
    """Whether an outcome decides what another leaves open, or decides it the other way."""
    return outcome is not Outcome.INCONCLUSIVE and outcome is not than


def as_firm_in_full(claim: Claim, outcome: Outcome) -> Premise:
    """That the full profile, whose verdict is known, does not come to another: a quick run has less to go by."""
    full = known_verdicts()[claim.name, "full"]
    found = f"its verdict of {full.date} is {full.word} ({full.measured})"
    return Premise("the full profile decides the same", found, not is_firmer(outcome, full.outcome))
