"""Runs claims and keeps their verdicts as JSON files, one per claim and profile."""

from __future__ import annotations

import json
import time
from pathlib import Path

import compsparse
from compsparse.claims.claim import Claim, Profile, Verdict
from compsparse.errors import ConfigError, DataError
from compsparse.files import whole_file
from compsparse.progress import Progress, Silent

RESULTS = Path("claims-results")


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


def keep(verdict: Verdict, folder: Path = RESULTS) -> Path:
    """Writes a verdict; a later one of the same claim and profile takes its place."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{verdict.claim}.{verdict.profile}.json"
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(verdict.to_dict(), indent=1), encoding="utf-8")
    return path


def kept(folder: Path = RESULTS) -> list[Verdict]:
    """The verdicts in a folder, by claim."""
    verdicts = []
    for path in sorted(folder.glob("*.json")):
        try:
            verdicts.append(Verdict.from_dict(json.loads(path.read_text(encoding="utf-8"))))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path} holds no verdict: {error!r}") from None
    return verdicts
