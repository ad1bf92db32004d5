"""Runs claims and keeps their verdicts as JSON files, one per claim and profile."""

from __future__ import annotations

import json
import math
import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import compsparse
from compsparse.checks import check_choice, check_time_limit
from compsparse.claims import declared
from compsparse.claims.claim import PROFILES, Claim, Finding, Outcome, Profile, Verdict
from compsparse.claims.known import as_firm_in_full, known_verdicts
from compsparse.clock import TimeIsOver, look_at_clock, within
from compsparse.digest import check_seal, sealed
from compsparse.errors import ConfigError, DataError
from compsparse.files import check_folder, check_place, check_writable, read_text, write_text
from compsparse.progress import Progress, check_progress
from compsparse.report.figure import Figure
from compsparse.text import printable

_RESULTS = Path("claims-results")
_MOST_NAMED = 10


_FORMAT = "compsparse.verdict/2"
_NUMBER = "number"
"""The key of a number that JSON has no word for."""


class _Clocked:
    """Passes on what it hears, remembers it, and ends the experiment once its time is over and something is left."""

    def __init__(self, listener: Progress):
        self.listener, self.heard = listener, "before the first measurement"

    def update(self, done: float, total: float, message: str = "") -> None:
        self.heard = f"after {done:g} of {total:g} parts" + (f" ({message})" if message else "")
        self.listener.update(done, total, message)
        if done < total:
            look_at_clock()


def run_claim(
    claim: Claim, profile: Profile = "quick", progress: Progress | None = None, time_limit: float | None = None
) -> Verdict:
    """Runs a claim's experiment and returns the verdict.

    Args:
        time_limit: seconds; an experiment that has not all its measurements by then decides nothing, and the verdict
            says so.

    A quick run decides nothing that the full profile, where its verdict is known, leaves open or decides otherwise.
    """
    if not isinstance(claim, Claim):
        raise ConfigError(f"expected a claim to run, got {claim!r}")
    check_choice("profile", profile, PROFILES)
    if profile not in claim.profiles:
        raise ConfigError(f"claim {claim.name!r} has no {profile!r} profile, only {list(claim.profiles)}")
    clocked, limit = _Clocked(check_progress(progress)), check_time_limit(time_limit)
    started = time.perf_counter()
    try:
        with within(limit):
            finding = _checked(claim.experiment(profile, clocked), claim)
    except TimeIsOver:
        finding = _cut_short(clocked.heard, limit)
    else:
        caveats = (*claim.caveats, *finding.caveats)
        finding = replace(finding, expected=finding.expected or claim.expected, caveats=caveats)
        if profile == "quick" and (claim.name, "full") in known_verdicts():
            premises = (*finding.premises, as_firm_in_full(claim, finding.outcome))
            finding = replace(finding, premises=premises)
    return Verdict(
        claim=claim.name,
        statement=claim.statement,
        source=claim.source,
        status=claim.status,
        profile=profile,
        outcome=finding.outcome,
        expected=finding.expected_under_premises(),
        measured=finding.measured_under_premises(),
        numbers={key: float(value) for key, value in finding.numbers.items()},
        figures=finding.figures,
        caveats=finding.caveats,
        seconds=time.perf_counter() - started,
        version=compsparse.__version__,
        is_check=claim.is_check,
        cut_short=finding.cut_short,
    )


def _cut_short(heard: str, limit: float | None) -> Finding:
    within_limit = "" if limit is None else f" of {limit:g} s"
    return Finding(
        Outcome.INCONCLUSIVE,
        expected="the rule is asked when all measurements are there",
        measured=f"the time limit{within_limit} was over {heard}: the rest was not measured, so nothing is decided",
        cut_short=True,
    )


def _checked(found: Any, claim: Claim) -> Finding:
    name = claim.name
    judged = isinstance(found, declared.Measured)
    finding = declared.judge_measured(found, claim.rules, claim.premises) if judged else found
    if not isinstance(finding, Finding):
        raise ConfigError(f"the experiment of {name!r} must return a Finding, got {finding!r}")
    for part, kind in (("figures", Figure), ("caveats", str)):
        found = getattr(finding, part)
        if not isinstance(found, (tuple, list)) or not all(isinstance(v, kind) for v in found):
            raise ConfigError(f"the {part} of the finding of {name!r} must be a tuple of {part}, got {found!r}")
    return finding


def keep(verdict: Verdict, folder: str | Path = _RESULTS) -> Path:
    """Writes a verdict; a later one of the same claim and profile takes its place.

    One that time cut short does not take the place of another: it says nothing that the other does not.
    """
    if not isinstance(verdict, Verdict):
        raise ConfigError(f"expected a verdict to keep, got {verdict!r}")
    place = check_folder(folder)
    name = f"{verdict.claim}.{verdict.profile}.json"
    if Path(name).name != name:
        raise ConfigError(f"the verdict of {verdict.claim!r} cannot be kept: the name of a claim must hold no slash")
    place.mkdir(parents=True, exist_ok=True)
    path = check_writable(place / name)
    if verdict.cut_short and path.exists():
        return path
    return write_text(path, json.dumps(sealed({"format": _FORMAT, **_in_json(verdict.to_dict())}), indent=1))


def _in_json(value: Any) -> Any:
    """The same in JSON values; it has no word for infinite numbers and NaN."""
    if isinstance(value, Mapping):
        return {str(key): _in_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_in_json(item) for item in value]
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    return float(value) if math.isfinite(value) else {_NUMBER: str(float(value))}


def _from_json(value: Any) -> Any:
    """What :func:`_in_json` was given."""
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if list(value) == [_NUMBER]:
        if value[_NUMBER] not in ("inf", "-inf", "nan"):
            raise DataError(f"{value[_NUMBER]!r} is no number")
        return float(value[_NUMBER])
    return {key: _from_json(item) for key, item in value.items()}


class UnreadableVerdicts(UserWarning):
    """Files that hold no verdict are left out; the message counts and names them."""


def kept(folder: str | Path = _RESULTS) -> list[Verdict]:
    """The verdicts in a folder, by claim; files that hold none, or an edited one, are left out and named in a warning.

    Raises:
        DataError: there is no such folder, or it holds such files only.
    """
    place = check_place("the folder of the verdicts", folder)
    if not os.path.isdir(place):
        raise DataError(f"there is no folder of verdicts {printable(place)}: run `compsparse claims run` first")
    verdicts, problems = [], []
    for path in sorted(place.glob("*.json")):
        try:
            verdicts.append(_read(path))
        except DataError as error:
            problems.append(f"{path.name} holds no verdict ({error})")
    if problems and not verdicts:
        raise DataError(f"there are no verdicts in {printable(place)}: {printable('; '.join(problems[:_MOST_NAMED]))}")
    if problems:
        files = "1 file" if len(problems) == 1 else f"{len(problems)} files"
        named = printable("; ".join(problems[:_MOST_NAMED]))
        warnings.warn(f"{files} of {printable(place)} left out: {named}", UnreadableVerdicts, stacklevel=2)
    return verdicts


def _read(path: Path) -> Verdict:
    data = _object(read_text(path))
    if data.get("format") != _FORMAT:
        raise DataError(f"it is no file of format {_FORMAT}: run the claim again")
    content = check_seal(data, "the file", "run the claim again")
    del content["format"]
    return Verdict.from_dict(_from_json(content))


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError("it is no JSON") from None
    if not isinstance(found, dict):
        raise DataError("it is no JSON object")
    return found
