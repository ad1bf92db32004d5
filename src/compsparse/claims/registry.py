"""All claims and checks by name, as the TOML files beside the subjects declare them; no subject is imported."""

from __future__ import annotations

import importlib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from compsparse.checks import check_known
from compsparse.claims.claim import PROFILES, Claim, Finding, Profile
from compsparse.claims.declared import Measured, bars_of
from compsparse.errors import ConfigError
from compsparse.progress import Progress

_SUBJECTS = "compsparse.claims.subjects"


@dataclass(frozen=True)
class DeclaredExperiment:
    """An experiment of a subject, which is imported when it is run."""

    subject: str
    name: str

    def __call__(self, profile: Profile, progress: Progress) -> Finding | Measured:
        subject = importlib.import_module(f"{_SUBJECTS}.{self.subject}")
        found: Finding | Measured = getattr(subject, self.name)(profile, progress)
        return found


@cache
def all_claims() -> dict[str, Claim]:
    """All claims and checks, by name; ``is_check`` tells them apart."""
    found: dict[str, Claim] = {}
    for file in sorted(resources.files(_SUBJECTS).iterdir(), key=lambda file: file.name):
        subject, _, suffix = file.name.rpartition(".")
        if suffix == "toml":
            for name, told in tomllib.loads(file.read_text(encoding="utf-8")).items():
                if name in found:
                    raise ConfigError(f"two claims are called {name!r}")
                found[name] = _declared(name, subject, **told)
    return found


def _declared(
    name: str, subject: str, *, experiment: str, profiles: list[Profile] | None = None, caveats: Any = (),
    rules: Any = (), premises: Any = (), **told: Any,
) -> Claim:  # fmt: skip
    return Claim(
        name=name, experiment=DeclaredExperiment(subject, experiment), profiles=tuple(profiles or PROFILES),
        caveats=tuple(caveats), rules=bars_of(rules), premises=bars_of(premises), **told,
    )  # fmt: skip


def get_claim(name: str) -> Claim:
    """A claim by its name."""
    known = all_claims()
    if not isinstance(name, str):
        raise ConfigError(f"the name of a claim must be a text, got {name!r}")
    return known[check_known(name, known, "there is no claim")]
