"""A function graph from a table: search, verify, share between outputs, fit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from compsparse.checks import check_count, check_device, check_number, check_time_limit, seed_from
from compsparse.discovery.data.audit import Support, settled, verify_modules
from compsparse.discovery.data.search import Search
from compsparse.discovery.data.sharing import shared_modules
from compsparse.discovery.data.trials import Halted, TrialTable
from compsparse.discovery.data.units import Units
from compsparse.discovery.forest import grow_forest, users_of_modules
from compsparse.discovery.record import Cost, Discovery, DiscoveryStatus, Evidence
from compsparse.errors import DataError
from compsparse.graph.modules import ModuleTree
from compsparse.models import FittedGraph, fit_model
from compsparse.progress import Progress, Silent
from compsparse.tables import TableCode, Target, coded_table
from compsparse.training import FitConfig, TrainingStatus

FEWEST_ROWS = 50
"""Rows below which five folds cannot tell structures apart."""
_SEARCH_SHARE = 0.6


@dataclass(frozen=True)
class _Found:
    """The tree of one output, and what speaks for it."""

    tree: ModuleTree
    support: dict[frozenset[str], Support]
    search: Search
    status: DiscoveryStatus


def from_data(
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    sample_weight: Any = None,
    classification: bool | None = None,
    fit: bool = True,
    fit_config: FitConfig | None = None,
    width: int = 24,
    effort: float = 1.0,
    random_state: int | np.random.Generator | None = None,
    device: str | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Discovery:
    """Finds the function graph of a table and fits the network that mirrors it.

    Args:
        X: a pandas or polars table, or an array; texts become categorical inputs.
        y: one target, or several numeric ones.
        sample_weight: one number >= 0 per row.
        classification: whether y holds classes; None decides by its type (texts and booleans do).
        fit: whether to fit the final model.
        effort: multiplies the training steps of every trial in the search.
        time_limit: seconds for everything; the best graph so far is returned when they are over.

    Raises:
        DataError: says which column or row cannot be used, and why.
    """
    started = time.perf_counter()
    check_time_limit(time_limit)
    check_number("effort", effort, above=0)
    check_count("width", width)
    progress = progress or Silent()
    check_device(device)
    seed = seed_from(random_state)
    table = coded_table(X, y, names=names, outputs=outputs, sample_weight=sample_weight, classification=classification)
    code, encoded, target, weight = table.code, table.X, table.target, table.sample_weight
    _check_rows(encoded, code)
    left_out, caveats = _useless_columns(code, encoded)
    deadline = None if time_limit is None else started + time_limit * (_SEARCH_SHARE if fit else 1.0)
    finder = _Finder(code, encoded, target, weight, left_out, seed, effort, device, deadline, progress)
    found = finder.run()
    caveats += finder.caveats
    graph = grow_forest(code.names, {name: f.tree for name, f in found.items()}, finder.same)
    model = None
    if fit:
        left = None if time_limit is None else max(1.0, time_limit - (time.perf_counter() - started))
        model = fit_model(
            graph,
            table,
            config=fit_config,
            width=width,
            random_state=seed,
            device=device,
            progress=progress,
            time_limit=left,
        )
    return Discovery(
        graph=graph,
        evidence=_evidence(found, finder),
        status=_status(found, model),
        cost=Cost(time.perf_counter() - started, networks=finder.trained),
        source="data",
        path=tuple(step for f in found.values() for step in f.search.path),
        caveats=tuple(caveats),
        model=model,
    )


class _Finder:
    """Searches every output, then asks which modules two outputs share."""

    def __init__(
        self,
        code: TableCode,
        X: np.ndarray,
        target: Target,
        weight: np.ndarray | None,
        left_out: frozenset[str],
        seed: int,
        effort: float,
        device: str | None,
        deadline: float | None,
        progress: Progress,
    ):
        self.code, self.target, self.left_out, self.seed = code, target, left_out, seed
        self.deadline, self.progress, self.device, self.effort = deadline, progress, device, effort
        self.X = torch.as_tensor(X, dtype=torch.float32, device=device)
        self.weight = None
        if weight is not None:
            self.weight = torch.as_tensor(weight / weight.mean(), dtype=torch.float32, device=device)
        self.caveats: list[str] = []
        self.shared: set[tuple[frozenset[str], str, str]] = set()
        self.trained = 0

    def run(self) -> dict[str, _Found]:
        found: dict[str, _Found] = {}
        last = self.deadline
        for i, name in enumerate(self.target.outputs):
            if last is not None:
                now = time.perf_counter()
                self.deadline = now + (last - now) / (len(self.target.outputs) - i)
            found[name] = self._search(i, name)
            if found[name].status is DiscoveryStatus.INTERRUPTED:
                # the outputs still to come get the plain answer at once
                last = time.perf_counter()
        self.deadline = last
        if len(found) > 1:
            self._share(found)
        return found

    def same(self, members: frozenset[str], one: str, other: str) -> bool:
        return (members, one, other) in self.shared or (members, other, one) in self.shared

    def table(self, outputs: Sequence[int]) -> TrialTable:
        """Trials of some outputs; all tables share their folds, so that what one learned stays honest in another."""
        values = self.target.values[:, list(outputs)] if self.target.classes is None else self._indicators()
        values = (values - values.mean(0)) / values.std(0)
        y = torch.as_tensor(values, dtype=torch.float32, device=self.device)
        return TrialTable(self.X, y, self.weight, seed=self.seed, effort=self.effort, deadline=self.deadline)

    def _indicators(self) -> np.ndarray:
        """One column per class; squared error on them compares structures without rewarding sure guesses.

        Modules of the class probabilities are modules of the log odds, and the other way round.
        """
        assert self.target.classes is not None
        one_hot = np.eye(len(self.target.classes))[self.target.values]
        return one_hot[:, 1:] if one_hot.shape[1] == 2 else one_hot

    def _search(self, i: int, name: str) -> _Found:
        columns = {k: v for k, v in self.code.columns.items() if k not in self.left_out}
        table = self.table([i])
        units = Units(self.code.columns, (), {}).with_trees(Units.raw(columns).trees)
        search = Search(table, units, name, _teller(self.progress, name, len(columns)))
        status, tree = DiscoveryStatus.FINISHED, None
        support: dict[frozenset[str], Support] = {}
        try:
            if len(self.X) >= FEWEST_ROWS:
                search.run()
                verify_modules(search, support)
                tree = settled(search)
        except Halted as halted:
            status = halted.status
        self.trained += table.trained
        tree = tree or _prime(search.units)
        self._judge(name, tree, search, status)
        return _Found(tree, support, search, status)

    def _judge(self, name: str, tree: ModuleTree, search: Search, status: DiscoveryStatus) -> None:
        if len(self.X) < FEWEST_ROWS:
            self.caveats.append(f"{len(self.X)} rows are too few to look for structure (at least {FEWEST_ROWS})")
        elif status is DiscoveryStatus.FINISHED and not tree.modules:
            if search.predicts:
                if len(tree.children) > 2 and tree.kind == "prime":
                    self.caveats.append(f"no module was found for {name!r}: it is one prime node over its inputs")
            else:
                self.caveats.append(f"the inputs do not predict {name!r} better than a constant: no module is claimed")

    def _share(self, found: dict[str, _Found]) -> None:
        try:
            trees = {name: f.tree for name, f in found.items() if f.search.predicts}
            learned = {name: f.search.units for name, f in found.items()}
            self.shared = shared_modules(trees, self._pair_table, learned)
        except Halted:
            self.caveats.append("the search ended before modules shared by several outputs could be compared")

    def _pair_table(self, one: str, other: str) -> TrialTable:
        names = self.target.outputs
        return self.table([names.index(one), names.index(other)])


def _teller(progress: Progress, name: str, n_inputs: int) -> Callable[[str, int], None]:
    def tell(message: str, n_units: int) -> None:
        progress.update(max(0, n_inputs - n_units), n_inputs, f"{name}: {message}")

    return tell


def _prime(units: Units) -> ModuleTree:
    if len(units) == 1 and units.trees[0].children:
        return units.trees[0]
    return units.joined(units.trees)


def _evidence(found: dict[str, _Found], finder: _Finder) -> tuple[Evidence, ...]:
    entries = []
    trees = {name: f.tree for name, f in found.items()}
    for members, users in users_of_modules(trees, finder.same):
        first = found[users[0]]
        module = next(m for m in first.tree.inner if m.members == members)
        entries.append(_entry(first, module, users))
    return tuple(entries)


def _entry(found: _Found, module: ModuleTree, users: tuple[str, ...]) -> Evidence:
    kind = module.kind or "prime"
    if module is not found.tree:
        support = found.support.get(module.members, _UNMEASURED)
        return Evidence(
            module.members,
            kind,
            users,
            "held-out gain",
            support.change,
            support.spread,
            recurrence=support.recurrence,
        )
    if not found.search.path:
        return Evidence(module.members, kind, users, "held-out error", math.nan)
    last = found.search.path[-1]
    return Evidence(module.members, kind, users, "held-out error", last.error, last.spread)


_UNMEASURED = Support(math.nan, 0.0, math.nan)


def _status(found: dict[str, _Found], model: FittedGraph | None) -> DiscoveryStatus:
    for f in found.values():
        if f.status is not DiscoveryStatus.FINISHED:
            return f.status
    was_cut = model is not None and model.status in (TrainingStatus.OUT_OF_TIME, TrainingStatus.INTERRUPTED)
    return DiscoveryStatus.FIT_CUT_SHORT if was_cut else DiscoveryStatus.FINISHED


def _check_rows(X: np.ndarray, code: TableCode) -> None:
    if len(X) >= FEWEST_ROWS and len(X) <= len(code.inputs):
        raise DataError(f"{len(X)} rows are too few for {len(code.inputs)} columns: more rows than columns are needed")


def _useless_columns(code: TableCode, X: np.ndarray) -> tuple[frozenset[str], list[str]]:
    """Inputs that are constant or repeat another one; they can only be inert."""
    caveats: list[str] = []
    gone: set[str] = set()
    seen: dict[bytes, str] = {}
    start = 0
    for column in code.inputs:
        values = np.ascontiguousarray(X[:, start : start + column.width])
        start += column.width
        if not np.ptp(values, axis=0).any():
            gone.add(column.name)
            caveats.append(f"column {column.name!r} is constant and was left out")
            continue
        twin = seen.setdefault(values.tobytes(), column.name)
        if twin != column.name:
            gone.add(column.name)
            caveats.append(f"column {column.name!r} says the same as {twin!r} and was left out")
    if len(gone) == len(code.inputs):
        raise DataError("every column is constant: there is nothing to learn from")
    return frozenset(gone), caveats
