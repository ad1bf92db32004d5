"""All claims by name: every module in ``lab/claims`` lists its own in ``CLAIMS``."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import lru_cache

from compsparse.errors import ConfigError
from compsparse.lab import claims
from compsparse.lab.claim import Claim


@lru_cache(maxsize=1)
def all_claims() -> dict[str, Claim]:
    found: dict[str, Claim] = {}
    for module_info in pkgutil.iter_modules(claims.__path__):
        module = importlib.import_module(f"{claims.__name__}.{module_info.name}")
        for claim in getattr(module, "CLAIMS", ()):
            if claim.name in found:
                raise ConfigError(f"two claims are called {claim.name!r}")
            found[claim.name] = claim
    return found


def get_claim(name: str) -> Claim:
    known = all_claims()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known claims: {', '.join(known)}"
        raise ConfigError(f"there is no claim {name!r}{hint}")
    return known[name]
