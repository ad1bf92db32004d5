"""Every output is searched by itself; then modules that two of them have in common are compared.

A smooth fit is asked first. Where it explains too little to be asked, structures are searched by what they predict.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from compsparse.discovery.bundles import Bundle, with_bundles
from compsparse.discovery.data.audit import Support, verify_modules
from compsparse.discovery.data.completeness import settled
from compsparse.discovery.data.gate import Gated, GateRows, gated
from compsparse.discovery.data.placing import find_tree
from compsparse.discovery.data.request import TableRequest
from compsparse.discovery.data.search import TableSearch
from compsparse.discovery.data.settings import CLEARLY_LESS, FEWEST_ROWS, OUTER_SHARE, ROWS_TO_SPARE, UNRESOLVED
from compsparse.discovery.data.sharing import shared_modules
from compsparse.discovery.data.smooth.asking import SmoothAnswer, SmoothSearch, unasked
from compsparse.discovery.data.smooth.maps import has_heavy_tails, normal_scores
from compsparse.discovery.data.smooth.settings import (
    FEWEST_LEVELS,
    MOST_COLUMNS,
    MOST_ROWS_TO_RESAMPLE,
    RESAMPLED_SHARE,
    RESAMPLES,
)
from compsparse.discovery.data.trials import Halted, TrialTable, halted_by_interrupt
from compsparse.discovery.data.units import Units
from compsparse.discovery.forest import Members
from compsparse.discovery.record import DiscoveryStatus, Step
from compsparse.discovery.strategy import without_kinds
from compsparse.graph.modules import ModuleTree
from compsparse.models.fitted_graph import over_columns
from compsparse.tables.scaling import near_one, scale_of
from compsparse.tables.splitting import spared_rows


@dataclass(frozen=True, kw_only=True)
class FoundTree:
    """The tree of one output, and what speaks for it.

    Attributes:
        support: what each module that was verified gains.
        path: the decisions that led to it.
        units: the modules with the weights that they learned.
        predicts: whether any fit has beaten the constant.
        networks: how many were trained.
        smooth: what a smooth fit said, if it was asked.
        gate: how the tree did against a free fit, if that was asked.
        leaks: modules whose inputs seem to act beside them; most of them were given up.
        may_lack: inputs that were left out although they may act.
        strays: inputs that would help elsewhere in the tree too.
        recurrence: share of parts of the rows on which each module was found again, where that was tried.
        is_read_off: whether the tree was read off the smooth fit.
    """

    tree: ModuleTree
    support: dict[Members, Support]
    path: tuple[Step, ...]
    units: Units
    predicts: bool
    status: DiscoveryStatus
    networks: int
    smooth: SmoothAnswer | None = None
    gate: Gated | None = None
    leaks: tuple[Members, ...] = ()
    may_lack: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    recurrence: Mapping[Members, float] = field(default_factory=dict)
    is_read_off: bool = False

    @property
    def bundles(self) -> tuple[Bundle, ...]:
        """Modules of several channels, which are no part of the tree; known where it was read off."""
        return self.smooth.bundles if self.is_read_off and self.smooth is not None else ()


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
        """The trees alone, with modules of several channels as nodes of their own."""
        return {name: with_bundles(found.tree, found.bundles) for name, found in self.of.items()}

    @property
    def channels(self) -> dict[tuple[Members, str], int]:
        """How many numbers modules of several channels pass on."""
        return {(b.members, name): b.channels for name, found in self.of.items() for b in found.bundles}

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
    caveats = (*(sentence for name, f in found.items() for sentence in _caveats(name, f, request)), *work.caveats)
    trees = FoundTrees(found, caveats=caveats)
    return trees if len(found) == 1 else work.compared(trees, last)


class _Work:
    """The table as tensors, and the trials made on it."""

    def __init__(self, request: TableRequest):
        self._request = request
        self.caveats: list[str] = []
        self._X = torch.as_tensor(request.table.X, dtype=torch.float32, device=request.device)
        self._weight = None
        if request.table.sample_weight is not None:
            weight = request.table.sample_weight / request.table.sample_weight.mean()
            self._weight = torch.as_tensor(weight, dtype=torch.float32, device=request.device)

    def search(self, i: int, deadline: float | None) -> FoundTree:
        """The tree of output i."""
        smooth: SmoothAnswer | None = None
        if len(self._X) >= FEWEST_ROWS:
            try:
                smooth = self._asked(i, deadline)
            except Halted:
                smooth = None  # the search below finds no time either, and says so
            except KeyboardInterrupt:
                return self._plain(i, DiscoveryStatus.INTERRUPTED)
        if smooth is not None and smooth.tree is not None and smooth.tells:
            return self._read_off(i, smooth, smooth.tree, deadline)
        return self._searched(i, deadline, smooth)

    def _asked(self, i: int, deadline: float | None) -> SmoothAnswer | None:
        """What a smooth fit says; None where inputs or target are not smooth."""
        request = self._request
        target, code = request.table.target, request.table.code
        columns = {name: own for name, own in code.columns.items() if name not in request.left_out}
        if target.classes is not None or len(columns) > MOST_COLUMNS or any(len(own) > 1 for own in columns.values()):
            return None
        place = {c: k for k, c in enumerate(c for own in code.columns.values() for c in own)}
        X = request.table.X[:, [place[own[0]] for own in columns.values()]]
        y = target.values[:, i]
        if any(len(np.unique(column)) < FEWEST_LEVELS for column in (*X.T, y)):
            return None
        weight = np.ones(len(X)) if self._weight is None else self._weight.cpu().numpy().astype(float)
        device = self._X.device if self._X.device.type == "cuda" else torch.device("cpu")
        search = SmoothSearch(
            torch.as_tensor(X, dtype=torch.float64, device=device),
            near_one(y),
            torch.as_tensor(weight, dtype=torch.float64, device=device),
            tuple(columns),
            self._outer(),
            request.seed,
            deadline,
        )
        answer = search.ask(self._n_resamples())
        if answer.tells and answer.resampled < (request.resamples or 0):
            self._note_resamples(answer.resampled)
        return answer

    def _note_resamples(self, done: int) -> None:
        asked = self._request.resamples
        self.caveats.append(
            f"time was left for {done} of {asked} resamples: how often a module came back is over these"
        )

    def _n_resamples(self) -> int:
        asked = self._request.resamples
        if asked is not None:
            return asked
        return RESAMPLES if len(self._X) <= MOST_ROWS_TO_RESAMPLE else 0

    def _outer(self) -> np.ndarray:
        """Rows that choose no structure: those by which the final fit chooses among its restarts."""
        outer = spared_rows(len(self._X), OUTER_SHARE, self._request.seed)
        assert outer is not None
        return outer

    def _read_off(self, i: int, smooth: SmoothAnswer, tree: ModuleTree, deadline: float | None) -> FoundTree:
        """The tree of output i as the smooth fit has it; where that leaves a doubt, it passes the gate too."""
        output = self._request.table.target.outputs[i]
        path = [Step("start", frozenset(), output, smooth.unexplained, smooth.spread)]
        if smooth.inert:
            path.append(Step("drop", frozenset(smooth.inert), output, smooth.unexplained, smooth.spread))
        gate, status = None, DiscoveryStatus.FINISHED
        if smooth.leaves_doubt:
            try:
                rows = self._gate_rows(self._targets([i]), deadline)
                with halted_by_interrupt():
                    gate = gated(tree, smooth.weakest_first, rows, smooth.inert)
                tree = gate.tree
            except Halted as halted:
                status = halted.status
        if gate is not None and gate.lacks:
            return self._searched(i, deadline, smooth)
        units = Units(self._request.table.code.columns, (), {}).with_trees(tree.children or (tree,))
        return FoundTree(
            tree=tree,
            support={},
            path=tuple(path),
            units=units,
            predicts=True,
            status=status,
            networks=0,
            smooth=smooth,
            gate=gate,
            is_read_off=True,
        )

    def _plain(self, i: int, status: DiscoveryStatus) -> FoundTree:
        """One node over all inputs, of an output that was not looked at."""
        columns = self._searched_columns()
        units = Units(self._request.table.code.columns, (), {}).with_trees(Units.raw(columns).trees)
        tree = without_kinds(_prime(units))
        return FoundTree(tree=tree, support={}, path=(), units=units, predicts=False, status=status, networks=0)

    def _searched_columns(self) -> dict[str, tuple[str, ...]]:
        return {k: v for k, v in self._request.table.code.columns.items() if k not in self._request.left_out}

    def _searched(self, i: int, deadline: float | None, smooth: SmoothAnswer | None) -> FoundTree:
        """The tree of output i, by what structures predict."""
        y = self._targets([i])
        search = self._progressive(i, self._table(y, deadline), smooth)
        status, tree, gate = DiscoveryStatus.FINISHED, None, None
        support: dict[Members, Support] = {}
        try:
            if len(self._X) >= FEWEST_ROWS:
                with halted_by_interrupt():
                    find_tree(search)
                    left = verify_modules(search, support)
                    tree = settled(search)
                    gate = _passed(tree, left, smooth)
                    if gate is None:
                        gate = gated(tree, _weakest_first(tree, support), self._gate_rows(y, deadline))
                tree = gate.tree
        except Halted as halted:
            status = halted.status
        return FoundTree(
            tree=tree or without_kinds(_prime(search.units)),
            support=support,
            path=tuple(search.path),
            units=search.units,
            predicts=search.predicts,
            status=status,
            networks=search.table.trained,
            smooth=smooth,
            gate=gate,
            leaks=tuple(dict.fromkeys(search.leaks)),
            may_lack=search.may_lack,
            strays=search.strays,
            recurrence={} if tree is None else self._recurrence(i, tree, y, deadline, smooth),
        )

    def _progressive(self, i: int, table: TrialTable, smooth: SmoothAnswer | None) -> TableSearch:
        """A search that begins with every input for itself, without those that a smooth fit can do without."""
        parked = list(smooth.inert) if smooth is not None else []
        columns = {k: v for k, v in self._searched_columns().items() if k not in parked}
        units = Units(self._request.table.code.columns, (), {}).with_trees(Units.raw(columns).trees)
        output = self._request.table.target.outputs[i]
        return TableSearch(table, units, output, self._request.progress, parked, smooth or unasked())

    def _recurrence(
        self, i: int, tree: ModuleTree, y: Tensor, deadline: float | None, smooth: SmoothAnswer | None
    ) -> dict[Members, float]:
        """How often the whole search finds each module on random parts of the rows, as far as time allows."""
        found: list[frozenset[Members]] = []
        try:
            for k in range(self._request.resamples or 0):
                with halted_by_interrupt():
                    search = self._progressive(i, self._table(y, deadline, part=k), smooth)
                    find_tree(search)
                found.append(frozenset(m.members for t in search.units.trees for m in t.inner))
        except Halted:
            self._note_resamples(len(found))
        return {m: float(np.mean([m in modules for modules in found])) for m in tree.modules} if found else {}

    def _gate_rows(self, y: Tensor, deadline: float | None) -> GateRows:
        code = self._request.table.code
        return GateRows(
            self._X,
            y,
            self._weight,
            self._outer(),
            lambda graph: over_columns(graph, code),
            self._request.seed,
            deadline,
            self._request.effort,
        )

    def compared(self, found: FoundTrees, deadline: float | None) -> FoundTrees:
        """The trees with what they share, as far as time allows."""
        names = self._request.table.target.outputs
        trees = {name: f.tree for name, f in found.of.items() if f.predicts}
        learned = {name: f.units for name, f in found.of.items()}
        try:
            with halted_by_interrupt():
                shared = shared_modules(
                    trees,
                    lambda one, other: self._table(self._targets([names.index(one), names.index(other)]), deadline),
                    learned,
                )
        except Halted:
            sentence = "the search ended before modules shared by several outputs could be compared"
            return replace(found, caveats=(*found.caveats, sentence))
        return replace(found, shared=frozenset(shared))

    def _table(self, y: Tensor, deadline: float | None, part: int | None = None) -> TrialTable:
        """Trials of some outputs; all tables share their folds, so that what one learned stays honest in another.

        Args:
            part: number of a random part of the rows; None takes all.
        """
        request = self._request
        rows = np.arange(len(self._X))
        if len(rows) >= ROWS_TO_SPARE:
            rows = np.setdiff1d(rows, self._outer())
        if part is not None:
            rows = np.random.default_rng([request.seed, part]).permutation(rows)[: round(RESAMPLED_SHARE * len(rows))]
        index = torch.as_tensor(rows, device=self._X.device)
        weight = None if self._weight is None else self._weight[index]
        return TrialTable(self._X[index], y[index], weight, seed=request.seed, effort=request.effort, deadline=deadline)

    def _targets(self, outputs: Sequence[int]) -> Tensor:
        """Some outputs as they are searched: standardised columns."""
        target = self._request.table.target
        values = target.values[:, list(outputs)] if target.classes is None else self._indicators()
        if target.classes is None:
            # modules do not change under an increasing map, and squared errors see more than a few rows
            values = np.stack([normal_scores(c) if has_heavy_tails(c) else c for c in values.T], axis=1)
        columns = [scale_of(column).standardised(column) for column in values.T]
        return torch.as_tensor(np.stack(columns, axis=1), dtype=torch.float32, device=self._X.device)

    def _indicators(self) -> np.ndarray:
        """One column per class; squared error on them compares structures without rewarding sure guesses.

        Modules of the class probabilities are modules of the log odds, and the other way round.
        """
        target = self._request.table.target
        assert target.classes is not None
        one_hot: np.ndarray = np.eye(len(target.classes))[target.values]
        return one_hot[:, 1:] if one_hot.shape[1] == 2 else one_hot


def _weakest_first(tree: ModuleTree, support: Mapping[Members, Support]) -> list[Members]:
    """The modules of a tree, those that gain least before the others, larger ones before what they hold."""
    gain = {m: support[m].change if m in support else 0.0 for m in tree.modules}
    return sorted(tree.modules, key=lambda m: (-gain[m], -len(m), sorted(m)))


def _passed(tree: ModuleTree, left: float, smooth: SmoothAnswer | None) -> Gated | None:
    """The tree as passed where no gate is needed: it leaves next to nothing, and much less than a smooth fit."""
    if smooth is None or left > min(UNRESOLVED, CLEARLY_LESS * smooth.unexplained):
        return None
    return Gated(tree, left - smooth.unexplained, False, (), left)


def _prime(units: Units) -> ModuleTree:
    if len(units) == 1 and units.trees[0].children:
        return units.trees[0]
    return units.joined(units.trees)


def _caveats(name: str, found: FoundTree, request: TableRequest) -> list[str]:
    tree, n_rows = found.tree, len(request.table.X)
    if n_rows < FEWEST_ROWS:
        return [f"{n_rows} rows are too few to look for structure (at least {FEWEST_ROWS})"]
    if found.status is not DiscoveryStatus.FINISHED:
        unused = sorted(set(request.table.code.columns) - request.left_out - tree.members)
        early = f"the search for {name!r} ended early: inputs that seemed inert by then may act: "
        return [early + ", ".join(unused)] if unused else []
    if found.gate is not None and found.gate.given_up:
        gone = "; ".join("{" + ", ".join(sorted(m)) + "}" for m in found.gate.given_up)
        return [
            f"not claimed for {name!r}, because a free fit predicts other rows better than a graph with them: {gone}"
        ]
    if tree.modules or found.bundles:
        return []
    if not found.predicts:
        return [f"the inputs do not predict {name!r} better than a constant: no module is claimed"]
    if len(tree.children) > 2 and tree.kind == "prime":
        return [f"no module was found for {name!r}: it is one prime node over its inputs"]
    return []
