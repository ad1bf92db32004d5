"""Claims, specs and sweeps, and the machinery that runs them.

Names are loaded on first use, so that a worker process imports only what its runs need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Claim": "claim",
    "Finding": "claim",
    "Outcome": "claim",
    "Verdict": "claim",
    "claims_page": "page",
    "all_claims": "registry",
    "get_claim": "registry",
    "keep": "runner",
    "kept": "runner",
    "run_claim": "runner",
    "Adaptive": "adaptive",
    "Crossing": "adaptive",
    "all_kinds": "catalogue",
    "get_kind": "catalogue",
    "get_preset": "catalogue",
    "presets": "catalogue",
    "Spec": "spec",
    "Sweep": "sweep",
    "SweepRecord": "record",
    "SweepStatus": "record",
    "Store": "store",
    "open_store": "store",
    "get_engine": "engines",
    "run_stage": "run",
    "run_sweep": "run",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"compsparse.lab.{_HOME[name]}"), name)
    raise AttributeError(f"module 'compsparse.lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from compsparse.lab.adaptive import Adaptive, Crossing
    from compsparse.lab.catalogue import all_kinds, get_kind, get_preset, presets
    from compsparse.lab.claim import Claim, Finding, Outcome, Verdict
    from compsparse.lab.engines import get_engine
    from compsparse.lab.page import claims_page
    from compsparse.lab.record import SweepRecord, SweepStatus
    from compsparse.lab.registry import all_claims, get_claim
    from compsparse.lab.run import run_stage, run_sweep
    from compsparse.lab.runner import keep, kept, run_claim
    from compsparse.lab.spec import Spec
    from compsparse.lab.store import Store, open_store
    from compsparse.lab.sweep import Sweep
