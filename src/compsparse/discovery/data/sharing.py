"""Modules that two outputs share: one function of the same inputs, up to a change of scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

from compsparse.discovery.data.candidates import Candidate
from compsparse.discovery.data.limits import LONG, MOST_LOSS_OF_SHARING
from compsparse.discovery.data.trials import TrialTable
from compsparse.discovery.data.units import Units
from compsparse.discovery.structure.statistics import HOPELESS, NOT_WORSE
from compsparse.graph.modules import ModuleTree


def find_shared_modules(
    trees: Mapping[str, ModuleTree],
    table_of: Callable[[str, str], TrialTable],
    learned: Mapping[str, Units],
) -> set[tuple[frozenset[str], str, str]]:
    """(members, output, output) for every module of equal members that is one function.

    The two outputs are taken as one function of two values: the module is shared where that pair, too,
    depends on its inputs through one number.
    """
    shared: set[tuple[frozenset[str], str, str]] = set()
    for one, other in combinations(trees, 2):
        mine = {m.members: m for m in trees[one].inner}
        common = [mine[m.members] for m in trees[other].inner if m.members in mine]
        # from the largest down: what lies inside a shared module is shared with it
        for module in sorted(common, key=lambda m: -len(m.members)):
            inside = any(module.members < members for members, a, b in shared if (a, b) == (one, other))
            if inside or _fit_as_one_function(module, trees[one], trees[other], table_of(one, other), learned[one]):
                shared.add((module.members, one, other))
    return shared


def _fit_as_one_function(
    module: ModuleTree, one: ModuleTree, other: ModuleTree, table: TrialTable, learned: Units
) -> bool:
    parts = list(module.children)
    rest = _outside(one, module.members) + _outside(other, module.members)
    kept: list[ModuleTree] = []
    for tree in sorted(rest, key=lambda t: len(t.members)):
        if not any(tree.members & k.members for k in kept):
            kept.append(tree)
    units = Units(learned.columns, (), learned.learned).with_trees([*parts, *kept])
    inner = frozenset(i for i in range(len(units)) if units.trees[i].members <= module.members)
    candidates = [Candidate(frozenset(), units.every), Candidate(inner, units.every - inner)]
    trial = table.fit(units, candidates, LONG)
    loss, explained = trial.mean(1) - trial.mean(0), float(table.constant.mean()) - trial.mean(0)
    near = trial.t(1, 0) < HOPELESS and loss < MOST_LOSS_OF_SHARING * min(trial.mean(0), explained)
    return trial.t(1, 0) < NOT_WORSE or near


def _outside(tree: ModuleTree, members: frozenset[str]) -> list[ModuleTree]:
    """The inputs of a tree that a module leaves, one by one."""
    return [ModuleTree(frozenset([name])) for name in sorted(tree.members - members)]
