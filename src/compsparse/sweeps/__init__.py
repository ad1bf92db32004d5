"""Sweeps: many runs described by their content, and the machinery that runs each of them once.

Names are loaded on first use, so that a worker process imports only what its runs need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
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
        return getattr(importlib.import_module(f"compsparse.sweeps.{_HOME[name]}"), name)
    raise AttributeError(f"module 'compsparse.sweeps' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from compsparse.sweeps.adaptive import Adaptive, Crossing
    from compsparse.sweeps.catalogue import all_kinds, get_kind, get_preset, presets
    from compsparse.sweeps.engines import get_engine
    from compsparse.sweeps.record import SweepRecord, SweepStatus
    from compsparse.sweeps.run import run_stage, run_sweep
    from compsparse.sweeps.spec import Spec
    from compsparse.sweeps.store import Store, open_store
    from compsparse.sweeps.sweep import Sweep
