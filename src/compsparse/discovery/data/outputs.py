"""Every output is searched by itself; then modules that two of them have in common are compared.

A smooth fit is asked first. Where it explains too little to be asked, structures are searched by what they predict.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from compsparse.clock import Deadline, TimeIsOver
from compsparse.discovery.data import limits
from compsparse.discovery.data.found import FoundTree, FoundTrees, about_unknown, caveats_of
from compsparse.discovery.data.gate import pass_gate
from compsparse.discovery.data.left_out import examine_left_out
from compsparse.discovery.data.request import TableRequest
from compsparse.discovery.data.rows import SearchRows
from compsparse.discovery.data.screening import looked_at
from compsparse.discovery.data.sharing import find_shared_modules
from compsparse.discovery.data.sketch import Bench, Sketch
from compsparse.discovery.data.smooth.answer import SmoothAnswer
from compsparse.discovery.data.smooth.asking import SmoothSearch
from compsparse.discovery.data.smooth.limits import (
    MOST_ROWS_TO_RESAMPLE,
    RESAMPLES,
)
from compsparse.discovery.data.smooth.reading import hung_on_root
from compsparse.discovery.data.tree_search import find_modules, search_tree
from compsparse.discovery.data.trials import TrialTable
from compsparse.discovery.record import DiscoveryStatus, Step
from compsparse.discovery.strategy import without_kinds
from compsparse.discovery.structure.forest import Members
from compsparse.graph.modules import ModuleTree
from compsparse.tables.scaling import near_one


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
    said = [s for name, f in found.items() for s in (*caveats_of(name, f, narrow, name in drawn), *f.caveats)]
    trees = replace(trees, caveats=(*about_unknown(unknown, request), *said))
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
    tree = without_kinds(units.trees[0] if is_whole else units.joined(units.trees))
    return FoundTree(tree=hung_on_root(tree, frozenset(sketch.parked)), sketch=sketch, status=status)


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
