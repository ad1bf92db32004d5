"""A last look at a finished tree: is every module worth having?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from compsparse.discovery.data.decisions import speaks_against_module
from compsparse.discovery.data.regrouping import look_into_wide_nodes, pairs_first, regroup
from compsparse.discovery.data.search import TableSearch, log
from compsparse.discovery.data.settings import (
    BETTER,
    CLEARLY_APART,
    DOUBTFUL,
    DOUBTFUL_THOUGH_APART,
    FEW_REPLICAS,
    IMPOSED_HURTS,
    LEAKED,
    LEAKS,
    LONG,
    LONGEST,
    MOST_REPLACED,
    NOT_WORSE,
    TOLD_APART,
    UNRESOLVED,
    VERIFYING,
    VERIFYING_RESOLVED,
    Effort,
)
from compsparse.discovery.data.trees import dissolved, forgotten, parent_of, with_bypass
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
    """Fits the tree without each module in turn, around it and with its rivals; changes what does not hold.

    Fills in the support of what does. Where the tree changed, pairs inside wide nodes may be told apart that were not.

    Returns:
        The held-out error of the tree, as a share of the best constant's.
    """
    verification = _Verification(search, support)
    while verification.changes_the_tree():
        before = search.units.trees
        look_into_wide_nodes(search)
        if search.units.trees == before:
            break
        verification.begin_again()
    return verification.ended()


class _Verification:
    """The modules of a tree, the smallest first, and what became of those that were looked at."""

    def __init__(self, search: TableSearch, support: dict[frozenset[str], Support]):
        self._search, self._support = search, support
        self._verified: dict[frozenset[str], _Place] = {}
        self._looked_at: set[tuple[frozenset[str], _Place]] = set()
        self._in_doubt: list[frozenset[str]] = []
        self.begin_again()

    def begin_again(self) -> None:
        """Compares with the tree as it is now."""
        self._tree = _Compared.of(self._search)

    def ended(self) -> float:
        """What the tree leaves; if that is much, other groupings in the place of false ones are no better founded."""
        if self._tree.left > UNRESOLVED:
            self._search.leaks += self._in_doubt
        return self._tree.left

    def changes_the_tree(self) -> bool:
        """Verifies every module that stands in another place than when it was verified; whether any had to go."""
        search, n_changes = self._search, 0
        while module := _smallest(m for m in search.modules if self._verified.get(m.members) != _place(search, m)):
            if self._changes(module):
                self.begin_again()
                n_changes += 1
        return n_changes > 0

    def _changes(self, module: ModuleTree) -> bool:
        """Whether a module was replaced or taken apart; otherwise it is verified, and supported."""
        search, tree, here = self._search, self._tree, _place(self._search, module)
        without = _verifying_fit(search, dissolved(search.units, module), tree.effort)
        others = [without]
        if tree.left > UNRESOLVED:
            # where nearly all is explained, there is nothing to find on a way around
            others.append(_verifying_fit(search, _with_way_around(search, module), tree.effort))
        t = [other.t_of(other.losses[0], tree.fit.losses[0]) for other in others]
        log.debug("module %s: t without it, and with a way around: %s", sorted(module.members), np.round(t, 1))
        leaks = len(others) > 1 and _leaks(others[1], tree.fit)
        if (module.members, here) not in self._looked_at and self._is_doubtful(module, t, leaks):
            self._looked_at.add((module.members, here))
            if _second_look(search, module):
                return True
        leak = _leak_at_length(search, module) if leaks else _Leak.NONE
        if leak is _Leak.CLEAR:
            (self._in_doubt if _replaced(search, module) else search.leaks).append(module.members)
            return True
        if leak is _Leak.IN_DOUBT:
            search.leaks.append(module.members)
        self._verified[module.members] = here
        self._support[module.members] = _support(tree.fit, without)
        return False

    def _is_doubtful(self, module: ModuleTree, t: Sequence[float], leaks: bool) -> bool:
        """Whether the tree is better with a rival in the place of a module, or seems better without or around it.

        Of the latter, which come of short training too, a module is cleared that clearly beats its rivals.
        """
        was_told_apart = self._search.told_apart.get(module.members, 0.0) >= CLEARLY_APART
        if was_told_apart and leaks:
            return False
        if t[0] < BETTER:
            return True
        seems_false = min(t) < (DOUBTFUL_THOUGH_APART if was_told_apart else DOUBTFUL)
        if was_told_apart and not seems_false and self._tree.left <= UNRESOLVED:
            return False
        rival = _best_rival(self._search, module, self._tree.effort)
        if math.isinf(rival):
            return seems_false
        return rival < (TOLD_APART if seems_false else DOUBTFUL)


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


def _best_rival(search: TableSearch, module: ModuleTree, effort: Effort) -> float:
    """t of the best tree in which one of a pair belongs with their neighbour instead; all begin afresh around it.

    A tree that has learned to live with a false module may be worse without it for a long time, and around it too.
    """
    parent = parent_of(search.units, module)
    if not len(search.units.trees if parent is None else parent.children) == len(module.children) == 2:
        return math.inf
    opened = dissolved(search.units, module)
    fits = {}
    for units, pair in pairs_first(opened, _as_it_is(opened, parent)):
        reader = parent_of(units, pair)
        afresh = forgotten(units, [pair] if reader is None else [pair, reader])
        fits[pair.members] = _verifying_fit(search, afresh, effort)
    own = fits.pop(module.members)
    t = [rival.t_of(rival.losses[0], own.losses[0]) for rival in fits.values()]
    log.debug("rivals of %s: t %s", sorted(module.members), np.round(t, 1))
    return min(t)


def _second_look(search: TableSearch, module: ModuleTree) -> bool:
    """Whether the tree was changed: another pair joined first, or the module dissolved."""
    before, parent = search.units, parent_of(search.units, module)
    afresh = _begun_afresh(search, module)
    beside = before.trees if parent is None else parent.children
    if len(beside) == len(module.children) == 2:
        # what was learned with the module would speak for it
        opened = search.units = dissolved(afresh, module)
        try:
            regroup(search, _as_it_is(opened, parent))
        except Halted:
            search.units = before
            raise
        if search.units.trees != opened.trees:
            return search.units.trees != before.trees
    # taking a module apart starts its parent afresh, which alone may help: the module may start afresh too
    with_it = min((search.fit_tree(units, LONG) for units in (before, afresh)), key=lambda trial: trial.mean(0))
    without = search.fit_tree(dissolved(before, module), LONG)
    is_false = without.t_of(without.losses[0], with_it.losses[0]) < BETTER
    log.debug("second look at %s: %.5f with it, %.5f without", sorted(module.members), with_it.mean(0), without.mean(0))
    search.units = without.units if is_false else search.table.relearned(with_it, 0)
    return is_false


def _as_it_is(units: Units, node: ModuleTree | None) -> ModuleTree | None:
    """A node after a part of it was taken apart; None, for the top, stays None."""
    return None if node is None else next(m for tree in units.trees for m in tree.inner if m.members == node.members)


def _leaks(around: Trial, reference: Trial) -> bool:
    """Whether inputs of a module act beside it: its parent predicts better when it reads them too.

    A false module may predict well because it cuts variance, and taking it apart costs all of that variance again.
    To let its inputs bypass it costs little, and asks the right question, unless the networks are too small for the
    function: then a way around a true module helps too.
    """
    t, ratio = around.t_of(around.losses[0], reference.losses[0]), around.mean(0) / reference.mean(0)
    return t < LEAKS and ratio < LEAKED


class _Leak(Enum):
    """Whether inputs of a module act beside it, after long training."""

    NONE = "none"
    IN_DOUBT = "in doubt"
    CLEAR = "clear"


def _leak_at_length(search: TableSearch, module: ModuleTree) -> _Leak:
    """The same after long training: a way around a true module trains faster for a while, and then helps no more.

    It may also lead out of a poor minimum. Then the tree that has no such module to begin with is no better.
    """
    around, reference, without = (
        search.fit_tree(units, LONGEST, FEW_REPLICAS)
        for units in (_with_way_around(search, module), search.units, dissolved(search.units, module))
    )
    left = [round(fit.mean(0), 5) for fit in (around, reference, without)]
    log.debug("at length: %s around %s, through it, and without it", left, sorted(module.members))
    if not _leaks(around, reference):
        return _Leak.NONE
    gains_enough = speaks_against_module(around.mean(0) / search.constant_error, around.mean(0) / reference.mean(0))
    is_needed = without.t_of(without.losses[0], reference.losses[0]) > NOT_WORSE
    return _Leak.CLEAR if gains_enough and not is_needed else _Leak.IN_DOUBT


def _begun_afresh(search: TableSearch, module: ModuleTree) -> Units:
    """The units with a module and its parent unlearned."""
    parent = parent_of(search.units, module)
    return forgotten(search.units, [module] if parent is None else [module, parent])


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
        regroup(search, _as_it_is(search.units, parent))
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
