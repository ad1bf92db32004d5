"""Sweeps: many runs described by their content, and the machinery that runs each of them once.

The modules in the order of the flow: a ``spec`` says what one run is; a ``sweep`` is many of them, perhaps by an
``adaptive`` search; ``packs`` are trained together on one of the ``engines``; ``records`` of
what ended go into a ``store``; ``curves`` show them. ``driver`` and ``run`` are the loop around all this, ``kinds`` the
runs that come with compsparse, and ``catalogue`` finds those by name.

Names are loaded on first use, so that a worker process imports only what its runs need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

DEFAULT_STORE = "sweeps.sqlite"
"""Where results go unless something else is said."""

_HOME = {
    "Spec": "spec",
    "Adaptive": "adaptive",
    "Crossing": "adaptive",
    "Sweep": "sweep",
    "all_kinds": "catalogue",
    "get_kind": "catalogue",
    "get_preset": "catalogue",
    "presets": "catalogue",
    "Row": "records",
    "SweepRecord": "records",
    "SweepStatus": "records",
    "UnreadableResults": "records",
    "Engine": "engines",
    "get_engine": "engines",
    "Store": "store",
    "open_store": "store",
    "run_stage": "run",
    "run_sweep": "run",
    "SweepCurve": "curves",
    "curve_figure": "curves",
    "layer_figures": "curves",
    "sweep_curves": "curves",
    "sweep_page": "curves",
}

__all__ = ["DEFAULT_STORE", *_HOME]  # noqa: PLE0604 (names only)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"compsparse.sweeps.{_HOME[name]}"), name)
    raise AttributeError(f"module 'compsparse.sweeps' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from compsparse.sweeps.adaptive import Adaptive as Adaptive
    from compsparse.sweeps.adaptive import Crossing as Crossing
    from compsparse.sweeps.catalogue import all_kinds as all_kinds
    from compsparse.sweeps.catalogue import get_kind as get_kind
    from compsparse.sweeps.catalogue import get_preset as get_preset
    from compsparse.sweeps.catalogue import presets as presets
    from compsparse.sweeps.curves import SweepCurve as SweepCurve
    from compsparse.sweeps.curves import curve_figure as curve_figure
    from compsparse.sweeps.curves import layer_figures as layer_figures
    from compsparse.sweeps.curves import sweep_curves as sweep_curves
    from compsparse.sweeps.curves import sweep_page as sweep_page
    from compsparse.sweeps.engines import Engine as Engine
    from compsparse.sweeps.engines import get_engine as get_engine
    from compsparse.sweeps.records import Row as Row
    from compsparse.sweeps.records import SweepRecord as SweepRecord
    from compsparse.sweeps.records import SweepStatus as SweepStatus
    from compsparse.sweeps.records import UnreadableResults as UnreadableResults
    from compsparse.sweeps.run import run_stage as run_stage
    from compsparse.sweeps.run import run_sweep as run_sweep
    from compsparse.sweeps.spec import Spec as Spec
    from compsparse.sweeps.store import Store as Store
    from compsparse.sweeps.store import open_store as open_store
    from compsparse.sweeps.sweep import Sweep as Sweep
