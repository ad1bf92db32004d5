"""Runs claims and keeps their verdicts as JSON files, one per claim and profile."""

from __future__ import annotations

import json
import time
from pathlib import Path

import compsparse
from compsparse.claims.claim import Claim, Profile, Verdict
from compsparse.errors import ConfigError, DataError
from compsparse.files import read_text, write_text
from compsparse.progress import Progress, Silent

_RESULTS = Path("claims-results")


def run_claim(claim: Claim, profile: Profile = "quick", progress: Progress | None = None) -> Verdict:
    """Runs a claim's experiment and returns the verdict."""
    if profile not in claim.profiles:
        raise ConfigError(f"claim {claim.name!r} has no {profile!r} profile, only {list(claim.profiles)}")
    started = time.perf_counter()
    finding = claim.experiment(profile, progress or Silent())
    return Verdict(
        claim=claim.name,
        statement=claim.statement,
        source=claim.source,
        status=claim.status,
        profile=profile,
        outcome=finding.outcome,
        expected=finding.expected,
        measured=finding.measured,
        numbers={key: float(value) for key, value in finding.numbers.items()},
        figures=finding.figures,
        caveats=finding.caveats,
        seconds=time.perf_counter() - started,
        version=compsparse.__version__,
    )


def keep(verdict: Verdict, folder: Path = _RESULTS) -> Path:
    """Writes a verdict; a later one of the same claim and profile takes its place."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_text(folder / f"{verdict.claim}.{verdict.profile}.json", json.dumps(verdict.to_dict(), indent=1))


def kept(folder: Path = _RESULTS) -> list[Verdict]:
    """The verdicts in a folder, by claim."""
    verdicts = []
    for path in sorted(folder.glob("*.json")):
        text = read_text(path)
        try:
            verdicts.append(Verdict.from_dict(json.loads(text)))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path} holds no verdict: {error!r}") from None
    return verdicts
