"""Every output is searched by itself; then modules that two of them have in common are compared.

A smooth fit is asked first. Where it explains too little to be asked, structures are searched by what they predict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from compsparse.clock import Deadline, TimeIsOver
from compsparse.discovery.data import limits
from compsparse.discovery.data.gate import Gated, GateRows, pass_gate
from compsparse.discovery.data.left_out import LeftOut, examine_left_out, explained_by_boosting
from compsparse.discovery.data.request import TableRequest
from compsparse.discovery.data.screening import looked_at
from compsparse.discovery.data.sharing import find_shared_modules
from compsparse.discovery.data.sketch import Bench, Sketch
from compsparse.discovery.data.smooth.answer import SmoothAnswer
from compsparse.discovery.data.smooth.asking import SmoothSearch
from compsparse.discovery.data.smooth.limits import (
    FEWEST_LEVELS,
    MOST_COLUMNS,
    MOST_ROWS_TO_RESAMPLE,
    RESAMPLED_SHARE,
    RESAMPLES,
)
from compsparse.discovery.data.smooth.reading import hung_on_root
from compsparse.discovery.data.tree_search import find_modules, search_tree
from compsparse.discovery.data.trials import TrialTable
from compsparse.discovery.data.units import Units
from compsparse.discovery.record import DiscoveryStatus, Step
from compsparse.discovery.shared_inputs import Inside, look_inside, smaller, wide_nodes
from compsparse.discovery.strategy import without_kinds
from compsparse.discovery.structure.bundles import Bundle, with_bundles
from compsparse.discovery.structure.forest import Members
from compsparse.discovery.structure.turns import TurnTable
from compsparse.graph.modules import ModuleTree
from compsparse.models.fitted_graph import over_columns
from compsparse.tables.inputs import NumberColumn
from compsparse.tables.scaling import Scale, near_one
from compsparse.tables.splitting import spared_rows

NAMED = 5
"""Names in a caveat on very many inputs."""


@dataclass(frozen=True, kw_only=True)
class FoundTree:
    """The tree of one output, and what speaks for it.

    Attributes:
        sketch: the search by trials that led to it, with what it doubts; of a tree that was read off, its path alone.
        networks: how many were trained.
        smooth: what a smooth fit said, if it was asked.
        gate: how the tree did against a free fit, if that was asked.
        recurrence: share of parts of the rows on which each module was found again, where that was tried.
        is_read_off: whether the tree was read off the smooth fit.
        left_out: what the rows say of inputs that the tree does without.
        caveats: of how it was found.
    """

    tree: ModuleTree
    sketch: Sketch
    status: DiscoveryStatus
    networks: int = 0
    smooth: SmoothAnswer | None = None
    gate: Gated | None = None
    recurrence: Mapping[Members, float] = field(default_factory=dict)
    is_read_off: bool = False
    left_out: LeftOut = field(default_factory=LeftOut)
    caveats: tuple[str, ...] = ()

    @property
    def unplaced(self) -> Members:
        """Inputs that act, and whose place cannot be told."""
        of_fit = self.smooth.unplaced if self.is_read_off and self.smooth is not None else frozenset()
        return of_fit | self.left_out.acting

    @property
    def room(self) -> Mapping[str, float]:
        """The largest effect that the rows leave room for of every input that was left out."""
        seen = self.smooth.room if self.is_read_off and self.smooth is not None else self.left_out.room
        return seen or {}

    @property
    def bundles(self) -> tuple[Bundle, ...]:
        """Modules of several channels, which are no part of the tree; known where it was read off."""
        return self.smooth.bundles if self.is_read_off and self.smooth is not None else ()

    def insides(self, output: str) -> dict[Members, Inside]:
        """Its wide nodes as they may be drawn with parts that share inputs, where a smooth fit told the turns."""
        table = None if self.smooth is None else self.smooth.table
        if table is None or self.smooth is None or self.status is not DiscoveryStatus.FINISHED:
            return {}
        found: dict[Members, Inside] = {}
        for node in wide_nodes(self.tree):
            if node.members <= set(table.names):
                smooth, key = self.smooth, node.members
                inside = look_inside(node, output, table, smooth.sums.get(key), smooth.groups.get(key))
                found |= {node.members: inside} if inside is not None else {}
        return found


@dataclass(frozen=True)
class FoundTrees:
    """The trees of all outputs.

    Attributes:
        of: by the names of the outputs.
        shared: (members, output, output) for every module that is one function of two outputs.
        not_looked_at: inputs that were too many to be searched.
        caveats: what a reader must know of them.
    """

    of: dict[str, FoundTree]
    shared: frozenset[tuple[Members, str, str]] = frozenset()
    not_looked_at: Members = frozenset()
    caveats: tuple[str, ...] = ()

    @property
    def trees(self) -> dict[str, ModuleTree]:
        """The trees alone, with modules of several channels as nodes of their own."""
        return {name: with_bundles(found.tree, self.drawn[name][1]) for name, found in self.of.items()}

    @property
    def channels(self) -> dict[tuple[Members, str], int]:
        """How many numbers modules of several channels pass on."""
        return {(b.members, name): b.channels for name, (_, bundles) in self.drawn.items() for b in bundles}

    @property
    def insides(self) -> dict[tuple[Members, str], Inside]:
        """The wide nodes that are drawn with parts which share inputs."""
        return {(members, name): i for name, (insides, _) in self.drawn.items() for members, i in insides.items()}

    @property
    def turns(self) -> dict[str, TurnTable]:
        """The table of turns of every output of which a smooth fit told them."""
        answers = {name: found.smooth for name, found in self.of.items()}
        return {name: said.table for name, said in answers.items() if said is not None and said.table is not None}

    @cached_property
    def drawn(self) -> dict[str, tuple[dict[Members, Inside], list[Bundle]]]:
        """What stands inside the wide nodes of every output."""
        return {name: smaller(f.tree, f.insides(name), f.bundles) for name, f in self.of.items()}

    @property
    def status(self) -> DiscoveryStatus:
        """How the first search that did not run to its end has ended."""
        ends = [found.status for found in self.of.values() if found.status is not DiscoveryStatus.FINISHED]
        return ends[0] if ends else DiscoveryStatus.FINISHED

    def same(self, members: Members, one: str, other: str) -> bool:
        """Whether two outputs use one function of these inputs."""
        return (members, one, other) in self.shared or (members, other, one) in self.shared


def search_outputs(request: TableRequest) -> FoundTrees:
    """Searches one output after the other, each with its share of the time, and asks what two of them share.

    Of very many columns only those are searched by which a forest explains most.
    """
    names, last = request.table.target.outputs, request.search_deadline
    try:
        narrow, passed_over = looked_at(request)
    except KeyboardInterrupt:
        plain = _cut_short(Sketch(SearchRows(request).units()), DiscoveryStatus.INTERRUPTED)
        return FoundTrees(dict.fromkeys(names, plain))
    rows, found = SearchRows(narrow), dict[str, FoundTree]()
    for i, name in enumerate(names):
        deadline = last.within(last.left / (len(names) - i))
        found[name] = search_output(rows, i, deadline)
        if found[name].status is DiscoveryStatus.INTERRUPTED:
            last = last.within(0)  # the outputs still to come get the plain answer at once
        elif passed_over:
            found[name] = with_late_ones(request, found[name], i, passed_over, deadline)
    unknown = passed_over.difference(*(f.tree.members for f in found.values()))
    trees = FoundTrees(found, not_looked_at=unknown)
    drawn = {name for _, name in trees.insides}
    said = [s for name, f in found.items() for s in (*_caveats(name, f, narrow, name in drawn), *f.caveats)]
    trees = replace(trees, caveats=(*_about_unknown(unknown, request), *said))
    return trees if len(found) == 1 else compare_outputs(rows, trees, last)


def with_late_ones(
    request: TableRequest, found: FoundTree, i: int, passed_over: Members, deadline: Deadline
) -> FoundTree:
    """The tree with inputs that were passed over on its root, if what the others leave goes with them."""
    columns = {n: own for n, own in request.columns().items() if n in passed_over | found.tree.members}
    try:
        late = examine_left_out(columns, request.targets([i]), found.tree.members, request.seed, deadline).acting
    except (TimeIsOver, KeyboardInterrupt):
        return found
    if not late:
        return found
    left_out = replace(found.left_out, acting=found.left_out.acting | late)
    return replace(found, tree=hung_on_root(found.tree, late), left_out=left_out)


def search_output(rows: SearchRows, i: int, deadline: Deadline) -> FoundTree:
    """The tree of output i: read off a smooth fit where that tells, searched by trials where it does not."""
    if rows.n < limits.FEWEST_ROWS:
        return _cut_short(Sketch(rows.units()), DiscoveryStatus.FINISHED)
    try:
        smooth = ask_smooth_fit(rows, i, deadline)
    except TimeIsOver:
        smooth = None  # the search below finds no time either, and says so
    except KeyboardInterrupt:
        return _cut_short(Sketch(rows.units()), DiscoveryStatus.INTERRUPTED)
    if smooth is not None and smooth.tree is not None and smooth.tells:
        found = read_off(rows, i, smooth, smooth.tree, deadline)
        if found.gate is None or not found.gate.lacks:
            return found
    return search_by_trials(rows, i, smooth, deadline)


def _cut_short(sketch: Sketch, status: DiscoveryStatus) -> FoundTree:
    """One node over what a sketch has, which went no further: nothing is said of its kinds."""
    units = sketch.units
    is_whole = len(units) == 1 and units.trees[0].children
    return FoundTree(
        tree=without_kinds(units.trees[0] if is_whole else units.joined(units.trees)), sketch=sketch, status=status
    )


# ---- two ways to a tree --------------------------------------------------------------------------


def ask_smooth_fit(rows: SearchRows, i: int, deadline: Deadline) -> SmoothAnswer | None:
    """What a smooth fit says; None where inputs or target are not smooth."""
    table = rows.smooth_columns(i)
    if table is None:
        return None
    X, y, names, scales = table
    device = rows.X.device if rows.X.device.type == "cuda" else torch.device("cpu")
    weight = torch.ones(rows.n) if rows.weight is None else rows.weight
    search = SmoothSearch(
        torch.as_tensor(X, dtype=torch.float64, device=device),
        near_one(y),
        weight.to(device=device, dtype=torch.float64),
        names,
        rows.outer,
        rows.request.seed,
        deadline,
        scales,
        rows.request.units,
    )
    asked = rows.request.resamples
    return search.ask(asked if asked is not None else RESAMPLES if rows.n <= MOST_ROWS_TO_RESAMPLE else 0)


def read_off(rows: SearchRows, i: int, smooth: SmoothAnswer, tree: ModuleTree, deadline: Deadline) -> FoundTree:
    """The tree of output i as the smooth fit has it; where that leaves a doubt, it passes the gate too."""
    output = rows.request.table.target.outputs[i]
    path = [Step("start", frozenset(), output, smooth.unexplained, smooth.spread)]
    if smooth.inert:
        path.append(Step("drop", frozenset(smooth.inert), output, smooth.unexplained, smooth.spread))
    gate, status = None, DiscoveryStatus.FINISHED
    if smooth.leaves_doubt:
        try:
            gate = pass_gate(tree, smooth.weakest_first, rows.of_gate([i], deadline), smooth.inert)
            tree = gate.tree
        except (TimeIsOver, KeyboardInterrupt) as end:
            status = DiscoveryStatus.of(end)
    units = rows.units().with_trees(tree.children or (tree,))
    return FoundTree(
        tree=tree,
        sketch=Sketch(units, path=tuple(path), predicts=True),
        status=status,
        smooth=smooth,
        gate=gate,
        is_read_off=True,
        caveats=_on_resamples(rows, smooth.resampled),
    )


def search_by_trials(rows: SearchRows, i: int, smooth: SmoothAnswer | None, deadline: Deadline) -> FoundTree:
    """The tree of output i, by what structures predict."""
    bench, sketch = set_up(rows, i, smooth, rows.trials([i], deadline))
    try:
        sketch, gate = search_tree(bench, sketch, rows.of_gate([i], deadline))
    except (TimeIsOver, KeyboardInterrupt) as end:
        found = _cut_short(bench.kept, DiscoveryStatus.of(end))
        return replace(found, networks=bench.table.trained, smooth=smooth)
    recurrence, caveats = find_again(rows, i, smooth, gate.tree, deadline)
    left_out = rows.examined(i, gate.tree, deadline, sketch.predicts)
    return FoundTree(
        tree=hung_on_root(gate.tree, left_out.acting),
        sketch=sketch,
        status=DiscoveryStatus.FINISHED,
        networks=bench.table.trained,
        smooth=smooth,
        gate=gate,
        recurrence=recurrence,
        left_out=left_out,
        caveats=caveats,
    )


def set_up(rows: SearchRows, i: int, smooth: SmoothAnswer | None, table: TrialTable) -> tuple[Bench, Sketch]:
    """A search that begins with every input for itself, without those that a smooth fit can do without."""
    parked = () if smooth is None else smooth.inert
    sketch = Sketch(rows.units(without=parked), parked)
    output = rows.request.table.target.outputs[i]
    return Bench(table, sketch, smooth, output, rows.request.progress), sketch


def find_again(
    rows: SearchRows, i: int, smooth: SmoothAnswer | None, tree: ModuleTree, deadline: Deadline
) -> tuple[dict[Members, float], tuple[str, ...]]:
    """How often the search finds each module on random parts of the rows, as far as time allows; and caveats."""
    found: list[frozenset[Members]] = []
    try:
        for part in range(rows.request.resamples or 0):
            sketch = find_modules(*set_up(rows, i, smooth, rows.trials([i], deadline, part)))
            found.append(frozenset(m.members for m in sketch.modules))
    except (TimeIsOver, KeyboardInterrupt):
        pass
    share = {m: float(np.mean([m in modules for modules in found])) for m in tree.modules} if found else {}
    return share, _on_resamples(rows, len(found))


def _on_resamples(rows: SearchRows, done: int) -> tuple[str, ...]:
    asked = rows.request.resamples or 0
    if done >= asked:
        return ()
    return (f"time was left for {done} of {asked} resamples: how often a module came back is over these",)


def compare_outputs(rows: SearchRows, found: FoundTrees, deadline: Deadline) -> FoundTrees:
    """The trees with what they share, as far as time allows."""
    names = rows.request.table.target.outputs
    trees = {name: f.tree for name, f in found.of.items() if f.sketch.predicts}
    learned = {name: f.sketch.units for name, f in found.of.items()}
    try:
        shared = find_shared_modules(
            trees, lambda one, other: rows.trials([names.index(one), names.index(other)], deadline), learned
        )
    except (TimeIsOver, KeyboardInterrupt):
        sentence = "the search ended before modules shared by several outputs could be compared"
        return replace(found, caveats=(*found.caveats, sentence))
    return replace(found, shared=frozenset(shared))


# ---- the rows ------------------------------------------------------------------------------------


class SearchRows:
    """The table of a request as the search needs it: as tensors, in parts, with standardised targets.

    Attributes:
        outer: rows that choose no structure: those by which the final fit chooses among its restarts.
    """

    def __init__(self, request: TableRequest):
        table = request.table
        self.request, self.n = request, len(table.X)
        self.X = torch.as_tensor(table.X, dtype=torch.float32, device=request.device)
        self.weight: Tensor | None = None
        if table.sample_weight is not None:
            weight = table.sample_weight / table.sample_weight.mean()
            self.weight = torch.as_tensor(weight, dtype=torch.float32, device=request.device)
        self._outer = spared_rows(self.n, limits.OUTER_SHARE, request.seed)

    @property
    def outer(self) -> np.ndarray:
        assert self._outer is not None
        return self._outer

    def units(self, without: Sequence[str] = ()) -> Units:
        """Every input that is searched as a unit by itself, but for some."""
        columns = self.request.table.code.columns
        gone = self.request.left_out.union(without)
        searched = Units.raw({name: own for name, own in columns.items() if name not in gone})
        return Units(columns, (), {}).with_trees(searched.trees)

    def smooth_columns(self, i: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], list[Scale]] | None:
        """Inputs, target i, names and scales for a smooth fit; None where inputs or target are not smooth."""
        request = self.request
        target, code = request.table.target, request.table.code
        columns = {name: own for name, own in code.columns.items() if name not in request.left_out}
        if target.classes is not None or len(columns) > MOST_COLUMNS or any(len(own) > 1 for own in columns.values()):
            return None
        place = {c: k for k, c in enumerate(c for own in code.columns.values() for c in own)}
        X = request.table.X[:, [place[own[0]] for own in columns.values()]]
        y = target.values[:, i]
        is_smooth = all(len(np.unique(column)) >= FEWEST_LEVELS for column in (*X.T, y))
        numbers = {c.name: c for c in code.inputs if isinstance(c, NumberColumn)}
        if not is_smooth or not numbers.keys() >= columns.keys():
            return None
        return X, y, tuple(columns), [Scale(numbers[name].mean, numbers[name].scale) for name in columns]

    def trials(self, outputs: Sequence[int], deadline: Deadline, part: int | None = None) -> TrialTable:
        """Trials of some outputs; all tables share their folds, so that what one learned stays honest in another.

        Args:
            part: number of a random part of the rows; None takes all.
        """
        request, rows = self.request, np.arange(self.n)
        if self.n >= limits.ROWS_TO_SPARE:
            rows = np.setdiff1d(rows, self.outer)
        if len(rows) > limits.MOST_ROWS_OF_TRIALS:
            some = np.random.default_rng(request.seed).permutation(len(rows))[: limits.MOST_ROWS_OF_TRIALS]
            rows = rows[np.sort(some)]
        if part is not None:
            rows = np.random.default_rng([request.seed, part]).permutation(rows)[: round(RESAMPLED_SHARE * len(rows))]
        index = torch.as_tensor(rows, device=self.X.device)
        weight = None if self.weight is None else self.weight[index]
        y = self._targets(outputs)[index]
        return TrialTable(self.X[index], y, weight, seed=request.seed, effort=request.effort, deadline=deadline)

    def of_gate(self, outputs: Sequence[int], deadline: Deadline) -> GateRows:
        """All rows, for the gate."""
        request = self.request
        return GateRows(
            self.X,
            self._targets(outputs),
            self.weight,
            self.outer,
            lambda graph: over_columns(graph, request.table.code),
            request.seed,
            deadline,
            request.effort,
        )

    def examined(self, i: int, tree: ModuleTree, deadline: Deadline, predicts: bool) -> LeftOut:
        """What the rows say of inputs that a tree does without, or of all where it predicts nothing, if time allows."""
        request = self.request
        searched = {name: own for name, own in request.columns().items() if name not in request.left_out}
        y, seed = request.targets([i]), request.seed
        try:
            if not predicts:
                return LeftOut(explained=explained_by_boosting(searched, y, seed, deadline))
            return examine_left_out(searched, y, tree.members, seed, deadline)
        except TimeIsOver:
            return LeftOut()

    def _targets(self, outputs: Sequence[int]) -> Tensor:
        return torch.as_tensor(self.request.targets(outputs), dtype=torch.float32, device=self.X.device)


def _about_unknown(names: Members, request: TableRequest) -> tuple[str, ...]:
    """That some inputs were too many to be looked at."""
    if not names:
        return ()
    listed = [name for name in request.table.code.names if name in names]
    few = ", ".join(listed[:NAMED]) + (f" and {len(listed) - NAMED:,} more" if len(listed) > NAMED else "")
    return (
        f"{len(listed):,} of {len(request.table.code.names):,} inputs were not looked at, and nothing is said of them, "
        f"because a forest explains more by others: {few}",
    )


def _caveats(name: str, found: FoundTree, request: TableRequest, has_parts: bool) -> list[str]:
    tree, n_rows = found.tree, len(request.table.X)
    if n_rows < limits.FEWEST_ROWS:
        return [f"{n_rows} rows are too few to look for structure (at least {limits.FEWEST_ROWS})"]
    if found.status is not DiscoveryStatus.FINISHED:
        unused = sorted(set(request.table.code.columns) - request.left_out - tree.members)
        early = f"the search for {name!r} ended early: inputs that seemed inert by then may act: "
        return [early + ", ".join(unused)] if unused else []
    if found.gate is not None and found.gate.given_up:
        gone = "; ".join("{" + ", ".join(sorted(m)) + "}" for m in found.gate.given_up)
        return [
            f"not claimed for {name!r}, because a free fit predicts other rows better than a graph with them: {gone}"
        ]
    said = []
    if found.unplaced:
        weak = ", ".join(sorted(found.unplaced))
        said.append(f"{weak} act on {name!r}, too weakly for their place to be told: the root of the graph reads them")
    if hidden := {n: share for n, share in found.room.items() if share > limits.SMALL_EFFECT}:
        most = max(hidden.values())
        said.append(
            f"not needed here, which is no proof that they do nothing: {', '.join(sorted(hidden))} (an effect of up to "
            f"{most:.0%} of the spread of {name!r} would not have been seen)"
        )
    return said + ([] if has_parts else _about_modules(name, found))


def _about_modules(name: str, found: FoundTree) -> list[str]:
    tree = found.tree
    if tree.modules or found.bundles:
        return []
    if not found.sketch.predicts:
        if (share := found.left_out.explained) > 0:
            told = "and networks nothing yet: the inputs act, and more rows are needed to tell how"
            return [f"boosted trees explain {share:.0%} of {name!r}, {told}"]
        return [f"the inputs do not predict {name!r} better than a constant: no module is claimed"]
    if len(tree.children) > 2 and tree.kind == "prime":
        return [f"no module was found for {name!r}: it is one prime node over its inputs"]
    return []
