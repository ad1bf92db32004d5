"""Which nodes of a finished tree are complete: sums or products of functions of their parts."""

from __future__ import annotations

from collections.abc import Sequence

from compsparse.discovery.data.candidates import Candidate, Form
from compsparse.discovery.data.search import TableSearch, log
from compsparse.discovery.data.settings import (
    AS_GOOD,
    CLEARLY_APART,
    FEW_REPLICAS,
    HOPELESS,
    HOPELESSLY_APART,
    LONG,
    MOST_LOSS,
    REPLICAS,
    SHORT,
    Effort,
)
from compsparse.discovery.data.trees import with_children
from compsparse.discovery.data.trials import Trial
from compsparse.discovery.data.units import Units
from compsparse.graph.modules import ModuleTree


def settled(search: TableSearch) -> ModuleTree:
    """The canonical tree: nodes that are sums or products of functions of their children become n-ary."""
    trees = list(search.units.trees)
    if len(trees) == 1 and trees[0].children:
        trees = list(trees[0].children)
    return _settled(search, trees, []) if search.predicts else search.units.joined(trees)


def _settled(search: TableSearch, children: list[ModuleTree], context: list[ModuleTree]) -> ModuleTree:
    parts, is_complete = children, False
    if len(parts) > 2:
        is_complete = _is_separable(search, parts, parts, context)
    waiting = [part for part in parts if part.children]
    while waiting:
        child = waiting.pop(0)
        wider = [p for p in parts if p != child] + list(child.children)
        may_open = search.told_apart.get(child.members, 0.0) < CLEARLY_APART
        # a prime node of three or more keeps its children
        if may_open and (len(parts) == 2 or is_complete) and _is_separable(search, parts, wider, context):
            parts, is_complete = wider, True
            waiting += [part for part in child.children if part.children]
    done = []
    for part in parts:
        around = context + [p for p in parts if p != part]
        done.append(_settled(search, list(part.children), around) if part.children else part)
    node = search.units.joined(done) if len(done) > 1 else with_children(done)
    return ModuleTree(node.members, "complete" if is_complete else "prime", node.children)


def _is_separable(
    search: TableSearch, nested: Sequence[ModuleTree], parts: Sequence[ModuleTree], context: Sequence[ModuleTree]
) -> bool:
    """Whether phi(sum or product of psi_i(part_i)) does as well as a free function of the nested parts."""
    stages = (
        (Effort(FEW_REPLICAS, SHORT), HOPELESS, HOPELESSLY_APART),
        (Effort(REPLICAS, LONG), MOST_LOSS, AS_GOOD),
    )
    for effort, most_ratio, most_t in stages:
        free = _fit_top(search, nested, context, "free", effort)
        trials = [_fit_top(search, parts, context, form, effort) for form in ("sum", "product")]
        best = min(trials, key=lambda trial: trial.mean(0))
        t, ratio = best.t_of(best.losses[0], free.losses[0]), best.mean(0) / free.mean(0)
        log.debug("separable over %s: t %.1f, ratio %.2f", [sorted(p.members) for p in parts], t, ratio)
        if ratio > most_ratio or t > most_t:
            return False
    return True


def _fit_top(
    search: TableSearch, inner: Sequence[ModuleTree], outer: Sequence[ModuleTree], form: Form, effort: Effort
) -> Trial:
    units = Units(search.units.columns, (*inner, *outer), search.units.learned)
    which = frozenset(range(len(inner)))
    return search.table.fit(units, [Candidate(which, units.every - which, form)], effort)
