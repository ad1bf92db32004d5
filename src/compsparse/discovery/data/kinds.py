"""Which nodes of a finished tree are complete: sums or products of functions of their parts."""

from __future__ import annotations

from collections.abc import Sequence

from compsparse.discovery.data.candidates import Candidate, Form
from compsparse.discovery.data.limits import FAR_TOO_MUCH_LOSS, FIRST, LONG, MOST_LOSS, Effort
from compsparse.discovery.data.sketch import Bench, Sketch, log
from compsparse.discovery.data.tree_surgery import with_children
from compsparse.discovery.data.trials import Trial
from compsparse.discovery.data.units import Units
from compsparse.discovery.structure.statistics import BEYOND_DOUBT, MAY_BE_CHANCE
from compsparse.graph.modules import ModuleTree


def settle_kinds(bench: Bench, sketch: Sketch) -> ModuleTree:
    """The canonical tree: nodes that are sums or products of functions of their children become n-ary."""
    trees = list(sketch.units.trees)
    if len(trees) == 1 and trees[0].children:
        trees = list(trees[0].children)
    return _settle(bench, sketch, trees, []) if sketch.predicts else sketch.units.joined(trees)


def _settle(bench: Bench, sketch: Sketch, children: list[ModuleTree], context: list[ModuleTree]) -> ModuleTree:
    parts, is_complete = children, False
    if len(parts) > 2:
        is_complete = _fit_separable(bench, sketch.units, parts, parts, context)
    waiting = [part for part in parts if part.children]
    while waiting:
        child = waiting.pop(0)
        wider = [p for p in parts if p != child] + list(child.children)
        may_open = sketch.told_apart.get(child.members, 0.0) < BEYOND_DOUBT
        # a prime node of three or more keeps its children
        may_open = may_open and (len(parts) == 2 or is_complete)
        if may_open and _fit_separable(bench, sketch.units, parts, wider, context):
            parts, is_complete = wider, True
            waiting += [part for part in child.children if part.children]
    done = []
    for part in parts:
        around = context + [p for p in parts if p != part]
        done.append(_settle(bench, sketch, list(part.children), around) if part.children else part)
    node = sketch.units.joined(done) if len(done) > 1 else with_children(done)
    return ModuleTree(node.members, "complete" if is_complete else "prime", node.children)


def _fit_separable(
    bench: Bench, units: Units, nested: Sequence[ModuleTree], parts: Sequence[ModuleTree], context: Sequence[ModuleTree]
) -> bool:
    """Whether phi(sum or product of psi_i(part_i)) does as well as a free function of the nested parts."""
    for effort, most_ratio, most_t in ((FIRST, FAR_TOO_MUCH_LOSS, BEYOND_DOUBT), (LONG, MOST_LOSS, MAY_BE_CHANCE)):
        free = _fit_top(bench, units, nested, context, "free", effort)
        trials = [_fit_top(bench, units, parts, context, form, effort) for form in ("sum", "product")]
        best = min(trials, key=lambda trial: trial.mean(0))
        t, ratio = best.t_of(best.losses[0], free.losses[0]), best.mean(0) / free.mean(0)
        log.debug("separable over %s: t %.1f, ratio %.2f", [sorted(p.members) for p in parts], t, ratio)
        if ratio > most_ratio or t > most_t:
            return False
    return True


def _fit_top(
    bench: Bench,
    units: Units,
    inner: Sequence[ModuleTree],
    outer: Sequence[ModuleTree],
    form: Form,
    effort: Effort,
) -> Trial:
    top = Units(units.columns, (*inner, *outer), units.learned)
    which = frozenset(range(len(inner)))
    return bench.table.fit(top, [Candidate(which, top.every - which, form)], effort)
