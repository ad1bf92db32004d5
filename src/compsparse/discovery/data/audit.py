"""A last look at a finished tree: is every module worth having, and which nodes are complete?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from compsparse.discovery.data.candidates import Candidate, Form
from compsparse.discovery.data.regrouping import regroup
from compsparse.discovery.data.search import TableSearch, log
from compsparse.discovery.data.settings import (
    AS_GOOD,
    BETTER,
    CLEAR_OF_CAPACITY,
    CLEARLY_APART,
    DOUBTFUL,
    DOUBTFUL_THOUGH_APART,
    FEW_REPLICAS,
    HALVED,
    HOPELESS,
    HOPELESSLY_APART,
    IMPOSED_HURTS,
    LEAKED,
    LEAKS,
    LONG,
    LONGEST,
    MOST_LOSS,
    MOST_REPLACED,
    REPLICAS,
    SHORT,
    UNRESOLVED,
    VERIFYING,
    VERIFYING_RESOLVED,
    Effort,
)
from compsparse.discovery.data.trees import dissolved, forgotten, parent_of, with_bypass, with_children
from compsparse.discovery.data.trials import Halted, Trial, standard_error
from compsparse.discovery.data.units import Combination, Units, combination_of
from compsparse.graph.modules import ModuleTree


@dataclass(frozen=True)
class Support:
    """Held-out error with a module relative to the error without it: change and standard error."""

    change: float
    spread: float

    @property
    def hurts(self) -> bool:
        """Whether the error is larger with the module."""
        return self.change > IMPOSED_HURTS * self.spread


def verify_modules(search: TableSearch, support: dict[frozenset[str], Support]) -> float:
    """Fits the tree without each module in turn, and with a way around it; changes what does not hold.

    Fills in the support of what does. Where nearly all is explained, there is nothing to find on a way around.

    Returns:
        The held-out error of the tree, as a share of the best constant's.
    """
    tree = _Compared.of(search)
    verified: dict[frozenset[str], _Place] = {}
    looked_at: set[tuple[frozenset[str], _Place]] = set()
    in_doubt: list[frozenset[str]] = []
    while module := _smallest(m for m in search.modules if verified.get(m.members) != _place(search, m)):
        without = _verifying_fit(search, dissolved(search.units, module), tree.effort)
        others = [without]
        if tree.left > UNRESOLVED:
            others.append(_verifying_fit(search, _with_way_around(search, module), tree.effort))
        t = [other.t_of(other.losses[0], tree.fit.losses[0]) for other in others]
        log.debug("module %s: t without it, and with a way around: %s", sorted(module.members), np.round(t, 1))
        leaks = len(others) > 1 and _leaks(others[1], tree.fit)
        was_told_apart = search.told_apart.get(module.members, 0.0) >= CLEARLY_APART
        is_doubtful = min(t) < DOUBTFUL_THOUGH_APART and not leaks if was_told_apart else min(t) < DOUBTFUL
        here = _place(search, module)
        if is_doubtful and (module.members, here) not in looked_at:
            looked_at.add((module.members, here))
            if _second_look(search, module):
                tree = _Compared.of(search)
                continue
        if leaks and (leak := _leak_at_length(search, module)):
            if leak.is_clear:
                (in_doubt if _replaced(search, module) else search.leaks).append(module.members)
                tree = _Compared.of(search)
                continue
            search.leaks.append(module.members)
        verified[module.members] = here
        support[module.members] = _support(tree.fit, without)
    if tree.left > UNRESOLVED:
        # another grouping may be as false as the first: only a tree that explains all speaks for it
        search.leaks += in_doubt
    return tree.left


@dataclass(frozen=True)
class _Compared:
    """The tree that others are compared with.

    Attributes:
        fit: by the same effort as theirs.
        left: what it leaves after the usual effort, as a share of the best constant's error.
    """

    fit: Trial
    effort: Effort
    left: float

    @classmethod
    def of(cls, search: TableSearch) -> _Compared:
        fit = _verifying_fit(search, search.units, VERIFYING)
        left = fit.mean(0) / search.constant_error
        if left > UNRESOLVED:
            return cls(fit, VERIFYING, left)
        return cls(_verifying_fit(search, search.units, VERIFYING_RESOLVED), VERIFYING_RESOLVED, left)


_Place = tuple[Combination, Combination]
"""What a module combines, and what its parent does: a change of either asks anew whether it holds."""


def _place(search: TableSearch, module: ModuleTree) -> _Place:
    parent = parent_of(search.units, module)
    beside = frozenset(t.members for t in search.units.trees) if parent is None else combination_of(parent)
    return combination_of(module), beside


def _smallest(modules: Iterable[ModuleTree]) -> ModuleTree | None:
    """What a module is made of is verified before it: a false part makes the whole look false."""
    return min(modules, key=lambda m: (len(m.members), sorted(m.members)), default=None)


def _verifying_fit(search: TableSearch, units: Units, effort: Effort) -> Trial:
    return search.fit_tree(units, effort.steps, effort.replicas)


def _with_way_around(search: TableSearch, module: ModuleTree) -> Units:
    return with_bypass(search.units, module, parent_of(search.units, module))


def _second_look(search: TableSearch, module: ModuleTree) -> bool:
    """Whether the tree was changed: another pair joined first, or the module dissolved."""
    before, parent = search.units, parent_of(search.units, module)
    beside = before.trees if parent is None else parent.children
    if len(beside) == len(module.children) == 2:
        opened = search.units = dissolved(before, module)
        try:
            regroup(search, _as_it_is(search, parent))
        except Halted:
            search.units = before
            raise
        if search.units.trees != opened.trees:
            return search.units.trees != before.trees
    # taking a module apart starts its parent afresh, which alone may help: the module may start afresh too
    begun = [before, forgotten(before, [module] if parent is None else [module, parent])]
    with_it = min((search.fit_tree(units, LONG) for units in begun), key=lambda trial: trial.mean(0))
    without = search.fit_tree(dissolved(before, module), LONG)
    is_false = without.t_of(without.losses[0], with_it.losses[0]) < BETTER
    log.debug("second look at %s: %.5f with it, %.5f without", sorted(module.members), with_it.mean(0), without.mean(0))
    search.units = without.units if is_false else search.table.relearned(with_it, 0)
    return is_false


def _as_it_is(search: TableSearch, node: ModuleTree | None) -> ModuleTree | None:
    """A node after a part of it was taken apart; None, for the top, stays None."""
    return None if node is None else next(m for m in search.modules if m.members == node.members)


def _leaks(around: Trial, reference: Trial) -> bool:
    """Whether inputs of a module act beside it: its parent predicts better when it reads them too.

    A false module may predict well because it cuts variance, and taking it apart costs all of that variance again.
    To let its inputs bypass it costs little, and asks the right question, unless the networks are too small for the
    function: then a way around a true module helps too.
    """
    t, ratio = around.t_of(around.losses[0], reference.losses[0]), around.mean(0) / reference.mean(0)
    return t < LEAKS and ratio < LEAKED


@dataclass(frozen=True)
class _Leak:
    """What a way around a module leaves after long training, as a share of the variance and of what the tree leaves."""

    unexplained: float
    ratio: float

    @property
    def is_clear(self) -> bool:
        """Whether larger networks would not explain the gain as well."""
        return self.unexplained < CLEAR_OF_CAPACITY or self.ratio < HALVED


def _leak_at_length(search: TableSearch, module: ModuleTree) -> _Leak | None:
    """The same after long training: a way around a true module trains faster for a while, and then helps no more."""
    fits = (search.fit_tree(units, LONGEST, FEW_REPLICAS) for units in (_with_way_around(search, module), search.units))
    around, reference = fits
    log.debug("at length: %.5f around %s, %.5f through it", around.mean(0), sorted(module.members), reference.mean(0))
    if not _leaks(around, reference):
        return None
    return _Leak(around.mean(0) / search.constant_error, around.mean(0) / reference.mean(0))


def _replaced(search: TableSearch, module: ModuleTree) -> bool:
    """Takes a false module apart; whether another grouping of its parts was told apart clearly from all rivals."""
    parent, known = parent_of(search.units, module), {m.members for m in search.modules}
    search.refuted.add(module.members)
    search.units = dissolved(search.units, module)
    if len(search.refuted) > MOST_REPLACED:
        return False
    if parent is None:
        while len(search.units) > 2 and search.merge():
            pass
    else:
        regroup(search, _as_it_is(search, parent))
    new = [m.members for m in search.modules if m.members not in known]
    log.debug("in the place of %s: %s", sorted(module.members), [sorted(m) for m in new])
    return bool(new) and all(search.told_apart[m] >= CLEARLY_APART for m in new)


def _support(reference: Trial, without: Trial) -> Support:
    difference = reference.losses[0] - without.losses[0]
    scale = without.mean(0)
    return Support(
        float(np.average(difference, weights=reference.weight)) / scale,
        float(standard_error(difference, reference.weight)) / scale,
    )


# ---- complete nodes ------------------------------------------------------------------------------


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
