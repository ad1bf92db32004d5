"""Which of a node's parts belong together: every pair is joined first in turn, and whole trees are compared."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from compsparse.discovery.data.decisions import told_apart
from compsparse.discovery.data.search import TableSearch, log
from compsparse.discovery.data.settings import (
    LONG,
    LONGEST,
    MOST_AT_LENGTH,
    MUCH_WORSE,
    NEARLY_APART,
    NOT_WORSE,
    TOLD_APART,
)
from compsparse.discovery.data.trees import pairings, regrouped
from compsparse.discovery.data.units import Combination, Units, combination_of
from compsparse.graph.modules import ModuleTree


def look_into_wide_nodes(search: TableSearch) -> None:
    """Looks for pairs inside nodes of three or more.

    A triple is accepted where none of its pairs was told apart; all that was learned since may tell them apart.
    """
    seen: set[Combination] = set()
    while wide := [m for m in search.modules if len(m.children) > 2 and combination_of(m) not in seen]:
        seen.add(combination_of(wide[0]))
        regroup(search, wide[0])


def regroup(search: TableSearch, node: ModuleTree | None, steps: int = LONG) -> None:
    """Looks for the pair to join first inside a node of three or more, by fits of the whole tree.

    Where one pair is nearly told apart from its rivals, or is and the tree nearly stands, longer fits decide: what is
    deeper trains slower.

    Args:
        node: whose parts may belong together; the units themselves where it is None.
    """
    options = [(units, pair) for units, pair in pairs_first(search.units, node) if pair.members not in search.refuted]
    if len(options) < 2:
        return
    if steps > LONG and len(options) > MOST_AT_LENGTH:
        options.sort(key=lambda option: search.fit_tree(option[0]).mean(0))
        del options[MOST_AT_LENGTH:]
    whole, *trials = (search.fit_tree(units, steps) for units in (search.units, *(units for units, _ in options)))
    order = np.argsort([trial.mean(0) for trial in trials])
    best, rivals = trials[order[0]], [trials[i] for i in order[1:]]
    apart = min(told_apart(best.t_of(r.losses[0], best.losses[0]), r.mean(0), best.mean(0)) for r in rivals)
    against_whole = best.t_of(best.losses[0], whole.losses[0])
    inside = "all" if node is None else sorted(node.members)
    log.debug("inside %s: told apart by t %.1f, against the whole %.1f", inside, apart, against_whole)
    if against_whole < NOT_WORSE and apart > TOLD_APART:
        pair = options[order[0]][1]
        search.units = search.table.relearned(best, 0)
        search.told_apart[pair.members] = apart
        search.note("merge", pair.members, best, 0)
    elif steps < LONGEST and apart > NEARLY_APART and against_whole < MUCH_WORSE:
        regroup(search, node, LONGEST)


def pairs_first(units: Units, node: ModuleTree | None) -> Iterator[tuple[Units, ModuleTree]]:
    """The units with two parts of a node joined, or two of the units, in every way; and the pair."""
    for parts, pair in pairings(units, units.trees if node is None else node.children):
        yield units.with_trees(parts) if node is None else regrouped(units, node, units.joined(parts)), pair
