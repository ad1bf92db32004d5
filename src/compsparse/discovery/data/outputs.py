"""Every output is searched by itself; then modules that two of them have in common are compared."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from compsparse.discovery.data.audit import Support, settled, verify_modules
from compsparse.discovery.data.request import TableRequest
from compsparse.discovery.data.search import TableSearch
from compsparse.discovery.data.settings import FEWEST_ROWS
from compsparse.discovery.data.sharing import shared_modules
from compsparse.discovery.data.trials import Halted, TrialTable
from compsparse.discovery.data.units import Units
from compsparse.discovery.forest import Members
from compsparse.discovery.record import DiscoveryStatus, Step
from compsparse.discovery.strategy import without_kinds
from compsparse.graph.modules import ModuleTree
from compsparse.tables.scaling import scale_of


@dataclass(frozen=True, kw_only=True)
class FoundTree:
    """The tree of one output, and what speaks for it.

    Attributes:
        support: what each module that was verified gains.
        path: the decisions that led to it.
        units: the modules with the weights that they learned.
        predicts: whether any fit has beaten the constant.
        networks: how many were trained.
    """

    tree: ModuleTree
    support: dict[Members, Support]
    path: tuple[Step, ...]
    units: Units
    predicts: bool
    status: DiscoveryStatus
    networks: int


@dataclass(frozen=True)
class FoundTrees:
    """The trees of all outputs.

    Attributes:
        of: by the names of the outputs.
        shared: (members, output, output) for every module that is one function of two outputs.
        caveats: what a reader must know of them.
    """

    of: dict[str, FoundTree]
    shared: frozenset[tuple[Members, str, str]] = frozenset()
    caveats: tuple[str, ...] = ()

    @property
    def trees(self) -> dict[str, ModuleTree]:
        """The trees alone."""
        return {name: found.tree for name, found in self.of.items()}

    @property
    def status(self) -> DiscoveryStatus:
        """How the first search that did not run to its end has ended."""
        ends = [found.status for found in self.of.values() if found.status is not DiscoveryStatus.FINISHED]
        return ends[0] if ends else DiscoveryStatus.FINISHED

    def same(self, members: Members, one: str, other: str) -> bool:
        """Whether two outputs use one function of these inputs."""
        return (members, one, other) in self.shared or (members, other, one) in self.shared


def search_outputs(request: TableRequest) -> FoundTrees:
    """Searches one output after the other, each with its share of the time, and asks what two of them share."""
    work, names = _Work(request), request.table.target.outputs
    found: dict[str, FoundTree] = {}
    last = request.clock.search_deadline
    for i, name in enumerate(names):
        deadline = None
        if last is not None:
            now = time.perf_counter()
            deadline = now + (last - now) / (len(names) - i)
        found[name] = work.search(i, deadline)
        if found[name].status is DiscoveryStatus.INTERRUPTED:
            # the outputs still to come get the plain answer at once
            last = time.perf_counter()
    caveats = tuple(sentence for name, f in found.items() for sentence in _caveats(name, f, len(request.table.X)))
    trees = FoundTrees(found, caveats=caveats)
    return trees if len(found) == 1 else work.compared(trees, last)


class _Work:
    """The table as tensors, and the trials made on it."""

    def __init__(self, request: TableRequest):
        self._request = request
        self._X = torch.as_tensor(request.table.X, dtype=torch.float32, device=request.device)
        self._weight = None
        if request.table.sample_weight is not None:
            weight = request.table.sample_weight / request.table.sample_weight.mean()
            self._weight = torch.as_tensor(weight, dtype=torch.float32, device=request.device)

    def search(self, i: int, deadline: float | None) -> FoundTree:
        """The tree of output i."""
        code, left_out = self._request.table.code, self._request.left_out
        columns = {k: v for k, v in code.columns.items() if k not in left_out}
        table = self._table([i], deadline)
        units = Units(code.columns, (), {}).with_trees(Units.raw(columns).trees)
        search = TableSearch(table, units, self._request.table.target.outputs[i], self._request.progress)
        status, tree = DiscoveryStatus.FINISHED, None
        support: dict[Members, Support] = {}
        try:
            if len(self._X) >= FEWEST_ROWS:
                search.run()
                verify_modules(search, support)
                tree = settled(search)
        except Halted as halted:
            status = halted.status
        return FoundTree(
            tree=tree or without_kinds(_prime(search.units)),
            support=support,
            path=tuple(search.path),
            units=search.units,
            predicts=search.predicts,
            status=status,
            networks=table.trained,
        )

    def compared(self, found: FoundTrees, deadline: float | None) -> FoundTrees:
        """The trees with what they share, as far as time allows."""
        names = self._request.table.target.outputs
        trees = {name: f.tree for name, f in found.of.items() if f.predicts}
        learned = {name: f.units for name, f in found.of.items()}
        try:
            shared = shared_modules(
                trees, lambda one, other: self._table([names.index(one), names.index(other)], deadline), learned
            )
        except Halted:
            sentence = "the search ended before modules shared by several outputs could be compared"
            return replace(found, caveats=(*found.caveats, sentence))
        return replace(found, shared=frozenset(shared))

    def _table(self, outputs: Sequence[int], deadline: float | None) -> TrialTable:
        """Trials of some outputs; all tables share their folds, so that what one learned stays honest in another."""
        request, target = self._request, self._request.table.target
        values = target.values[:, list(outputs)] if target.classes is None else self._indicators()
        columns = [scale_of(column).standardised(column) for column in values.T]
        y = torch.as_tensor(np.stack(columns, axis=1), dtype=torch.float32, device=request.device)
        return TrialTable(self._X, y, self._weight, seed=request.seed, effort=request.effort, deadline=deadline)

    def _indicators(self) -> np.ndarray:
        """One column per class; squared error on them compares structures without rewarding sure guesses.

        Modules of the class probabilities are modules of the log odds, and the other way round.
        """
        target = self._request.table.target
        assert target.classes is not None
        one_hot: np.ndarray = np.eye(len(target.classes))[target.values]
        return one_hot[:, 1:] if one_hot.shape[1] == 2 else one_hot


def _prime(units: Units) -> ModuleTree:
    if len(units) == 1 and units.trees[0].children:
        return units.trees[0]
    return units.joined(units.trees)


def _caveats(name: str, found: FoundTree, n_rows: int) -> list[str]:
    tree = found.tree
    if n_rows < FEWEST_ROWS:
        return [f"{n_rows} rows are too few to look for structure (at least {FEWEST_ROWS})"]
    if found.status is not DiscoveryStatus.FINISHED or tree.modules:
        return []
    if not found.predicts:
        return [f"the inputs do not predict {name!r} better than a constant: no module is claimed"]
    if len(tree.children) > 2 and tree.kind == "prime":
        return [f"no module was found for {name!r}: it is one prime node over its inputs"]
    return []
