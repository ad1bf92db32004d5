"""Which of a node's parts belong together: every pair is joined first in turn, and whole trees are compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from compsparse.discovery.data.limits import LONG, LONGEST, MOST_AT_LENGTH
from compsparse.discovery.data.sketch import Bench, Sketch, log
from compsparse.discovery.data.tree_surgery import pairings, regrouped
from compsparse.discovery.data.units import Combination, Units, combination_of
from compsparse.discovery.structure.statistics import HOPELESS, NEARLY_APART, NOT_WORSE, TOLD_APART, told_apart
from compsparse.graph.modules import ModuleTree


def look_into_wide_nodes(bench: Bench, sketch: Sketch) -> Sketch:
    """Looks for pairs inside nodes of three or more.

    A triple is accepted where none of its pairs was told apart; all that was learned since may tell them apart.
    """
    seen: set[Combination] = set()
    while wide := [m for m in sketch.modules if len(m.children) > 2 and combination_of(m) not in seen]:
        seen.add(combination_of(wide[0]))
        sketch = regroup(bench, sketch, wide[0])
    return sketch


def regroup(bench: Bench, sketch: Sketch, node: ModuleTree | None) -> Sketch:
    """Joins the pair inside a node of three or more that fits of the whole tree tell apart from its rivals.

    Where one is nearly told apart, or is and the tree nearly stands, longer fits decide: what is deeper trains slower.

    Args:
        node: whose parts may belong together; the units themselves where it is None.
    """
    units = sketch.units
    options = [(units, pair) for units, pair in pairs_first(units, node) if pair.members not in sketch.refuted]
    for effort in (LONG, LONGEST):
        if len(options) < 2:
            return sketch
        whole, *trials = (bench.fit(each, effort) for each in (units, *(changed for changed, _ in options)))
        order = np.argsort([trial.mean(0) for trial in trials])
        best, rivals = trials[order[0]], [trials[i] for i in order[1:]]
        apart = min(told_apart(best.t_of(r.losses[0], best.losses[0]), r.mean(0), best.mean(0)) for r in rivals)
        against_whole = best.t_of(best.losses[0], whole.losses[0])
        inside = "all" if node is None else sorted(node.members)
        log.debug("inside %s: told apart by t %.1f, against the whole %.1f", inside, apart, against_whole)
        if against_whole < NOT_WORSE and apart > TOLD_APART:
            pair = options[order[0]][1].members
            known = {**sketch.told_apart, pair: apart}
            joined = replace(sketch, units=bench.table.relearned(best, 0), told_apart=known)
            return bench.noted(joined, "merge", pair, best)
        if apart <= NEARLY_APART or against_whole >= HOPELESS:
            return sketch
        if len(options) > MOST_AT_LENGTH:
            options = [options[i] for i in order[:MOST_AT_LENGTH]]
    return sketch


def pairs_first(units: Units, node: ModuleTree | None) -> Iterator[tuple[Units, ModuleTree]]:
    """The units with two parts of a node joined, or two of the units, in every way; and the pair."""
    for parts, pair in pairings(units, units.trees if node is None else node.children):
        yield units.with_trees(parts) if node is None else regrouped(units, node, units.joined(parts)), pair
