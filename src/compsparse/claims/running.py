"""Runs claims and keeps their verdicts as JSON files, one per claim and profile."""

from __future__ import annotations

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import compsparse
from compsparse.checks import check_choice
from compsparse.claims.claim import PROFILES, Claim, Finding, Profile, Verdict
from compsparse.errors import ConfigError, DataError
from compsparse.files import check_folder, check_place, check_writable, read_text, write_text
from compsparse.progress import Progress, check_progress
from compsparse.report.figure import Figure
from compsparse.text import printable

_RESULTS = Path("claims-results")
_MOST_NAMED = 10


def run_claim(claim: Claim, profile: Profile = "quick", progress: Progress | None = None) -> Verdict:
    """Runs a claim's experiment and returns the verdict."""
    if not isinstance(claim, Claim):
        raise ConfigError(f"expected a claim to run, got {claim!r}")
    check_choice("profile", profile, PROFILES)
    if profile not in claim.profiles:
        raise ConfigError(f"claim {claim.name!r} has no {profile!r} profile, only {list(claim.profiles)}")
    listener = check_progress(progress)
    started = time.perf_counter()
    finding = _checked(claim.experiment(profile, listener), claim.name)
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
        is_check=claim.is_check,
    )


def _checked(finding: Any, name: str) -> Finding:
    if not isinstance(finding, Finding):
        raise ConfigError(f"the experiment of {name!r} must return a Finding, got {finding!r}")
    for part, kind in (("figures", Figure), ("caveats", str)):
        found = getattr(finding, part)
        if not isinstance(found, (tuple, list)) or not all(isinstance(v, kind) for v in found):
            raise ConfigError(f"the {part} of the finding of {name!r} must be a tuple of {part}, got {found!r}")
    return finding


def keep(verdict: Verdict, folder: str | Path = _RESULTS) -> Path:
    """Writes a verdict; a later one of the same claim and profile takes its place."""
    if not isinstance(verdict, Verdict):
        raise ConfigError(f"expected a verdict to keep, got {verdict!r}")
    place = check_folder(folder)
    name = f"{verdict.claim}.{verdict.profile}.json"
    if Path(name).name != name:
        raise ConfigError(f"the verdict of {verdict.claim!r} cannot be kept: the name of a claim must hold no slash")
    place.mkdir(parents=True, exist_ok=True)
    return write_text(check_writable(place / name), json.dumps(verdict.to_dict(), indent=1))


class UnreadableVerdicts(UserWarning):
    """Files that hold no verdict are left out; the message counts and names them."""


def kept(folder: str | Path = _RESULTS) -> list[Verdict]:
    """The verdicts in a folder, by claim; files that hold none are left out and named in a warning.

    Raises:
        DataError: there is no such folder, or it holds such files only.
    """
    place = check_place("the folder of the verdicts", folder)
    if not os.path.isdir(place):
        raise DataError(f"there is no folder of verdicts {printable(place)}: run `compsparse claims run` first")
    verdicts, problems = [], []
    for path in sorted(place.glob("*.json")):
        try:
            verdicts.append(Verdict.from_dict(_object(read_text(path))))
        except DataError as error:
            problems.append(f"{path.name} holds no verdict ({error})")
    if problems and not verdicts:
        raise DataError(f"there are no verdicts in {printable(place)}: {printable('; '.join(problems[:_MOST_NAMED]))}")
    if problems:
        files = "1 file" if len(problems) == 1 else f"{len(problems)} files"
        named = printable("; ".join(problems[:_MOST_NAMED]))
        warnings.warn(f"{files} of {printable(place)} left out: {named}", UnreadableVerdicts, stacklevel=2)
    return verdicts


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError("it is no JSON") from None
    if not isinstance(found, dict):
        raise DataError("it is no JSON object")
    return found
