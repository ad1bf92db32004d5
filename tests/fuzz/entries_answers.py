"""Importances, single rows, fitted models explained, runs of simulators, and exports, called tiny."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from odd import Entry

from compsparse import discovery, estimators, models
from compsparse.discovery.runs import Simulator
from compsparse.discovery.runs.simulator import check_jobs
from compsparse.training import FitConfig, TrainingConfig

ENTRIES: list[Entry] = []
_X = np.random.default_rng(0).uniform(-1, 1, (80, 3))
_Y = _X[:, 0] * _X[:, 1] + _X[:, 2]
_TINY = FitConfig(n_restarts=1, training=TrainingConfig(n_steps=5))


def add(
    name: str,
    call: Callable[..., Any],
    arguments: Callable[[], Mapping[str, Any]],
    *,
    own: tuple[str, ...] = (),
    slow: bool = False,
) -> None:
    ENTRIES.append(Entry(name, call, arguments, frozenset(own), slow))


@cache
def _model() -> models.FittedGraph:
    return models.fit_model([["x0", "x1"], "x2"], _X, _Y, width=4, config=_TINY, random_state=0)


def _product(a: float, b: float, c: float) -> float:
    return a * b + c


add(
    "importances",
    models.importances,
    lambda: {"function": _model(), "X": _X, "bounds": None, "modules": None, "names": None, "n_evaluations": 2000,
             "random_state": 0},
)  # fmt: skip
add(
    "explain_row",
    models.explain_row,
    lambda: {"model": _model(), "row": _X[0], "X": _X, "target": None, "random_state": 0},
)
add(
    "Simulator",
    lambda rows, **given: Simulator(**given)(rows),
    lambda: {"f": _product, "names": ["a", "b", "c"], "store": None, "rows": _X[:5]},
    own=("rows",),
)
add("check_jobs", check_jobs, lambda: {"n_jobs": 1})
add(
    "from_runs",
    discovery.runs.from_runs,
    lambda: {"f": _product, "bounds": [(0.0, 1.0)] * 3, "n_runs": 40, "names": None, "outputs": None, "effort": 0.05,
             "fit_config": _TINY, "random_state": 0, "time_limit": 5.0},
    slow=True,
)  # fmt: skip
add(
    "explain",
    discovery.explain,
    lambda: {"model": _model(), "X": _X, "y": _Y, "names": None, "n_rows": 60, "tolerance": 0.01, "effort": 0.05,
             "fit_config": _TINY, "time_limit": 5.0, "random_state": 0, "progress": None},
    slow=True,
)  # fmt: skip
for _export in (discovery.to_ebm_interactions, discovery.to_pysr_template, discovery.independent_groups):
    add(_export.__name__, _export, lambda: {"found": _found()})
add("to_kernel", estimators.to_kernel, lambda: {"found": _found(), "noise": True})


@cache
def _found() -> discovery.Discovery:
    return discovery.discover(_X, _Y, effort=0.05, fit_config=_TINY, random_state=0)
