"""All claims and checks by name: every module in ``claims/subjects`` lists its own in ``CLAIMS``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from compsparse.checks import check_known
from compsparse.claims import subjects
from compsparse.claims.claim import Claim
from compsparse.errors import ConfigError


@lru_cache(maxsize=1)
def all_claims() -> dict[str, Claim]:
    """All claims and checks, by name; ``is_check`` tells them apart."""
    found: dict[str, Claim] = {}
    for module_info in pkgutil.iter_modules(subjects.__path__):
        module = importlib.import_module(f"{subjects.__name__}.{module_info.name}")
        for claim in getattr(module, "CLAIMS", ()):
            if claim.name in found:
                raise ConfigError(f"two claims are called {claim.name!r}")
            found[claim.name] = claim
    return found


def get_claim(name: str) -> Claim:
    """A claim by its name."""
    known = all_claims()
    if not isinstance(name, str):
        raise ConfigError(f"the name of a claim must be a text, got {name!r}")
    return known[check_known(name, known, "there is no claim")]
