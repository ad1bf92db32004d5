"""A last look at a finished tree: is every module worth having?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from compsparse.discovery.data import limits
from compsparse.discovery.data.limits import FIRST, LONG, UNRESOLVED, VERIFYING, VERY_LONG, Effort
from compsparse.discovery.data.merging import merge
from compsparse.discovery.data.regrouping import look_into_wide_nodes, pairs_first, regroup
from compsparse.discovery.data.sketch import Bench, Sketch, Support, log
from compsparse.discovery.data.tree_surgery import dissolved, forgotten, parent_of, with_bypass
from compsparse.discovery.data.trials import Trial
from compsparse.discovery.data.units import Combination, Units, combination_of
from compsparse.discovery.structure.forest import Members
from compsparse.discovery.structure.statistics import (
    BEYOND_DOUBT,
    CLEARLY,
    MAY_BE_CHANCE,
    NOT_WORSE,
    TOLD_APART,
    standard_error,
)
from compsparse.graph.modules import ModuleTree


def verify_modules(bench: Bench, sketch: Sketch) -> tuple[Sketch, float]:
    """Fits the tree without each module in turn, around it and with its rivals; changes what does not hold.

    Where the tree changed, pairs inside wide nodes may be told apart that were not.

    Returns:
        The sketch, and the held-out error of its tree as a share of the best constant's.
    """
    seen = _Seen()
    while True:
        tree = _Compared.of(bench, sketch)
        verified, tree, has_changed = _look_at_modules(bench, sketch, tree, seen)
        sketch = look_into_wide_nodes(bench, verified) if has_changed else verified
        if sketch.units.trees == verified.units.trees:
            break
    if tree.left > UNRESOLVED:
        # if much is left, other groupings in the place of false ones are no better founded
        sketch = replace(sketch, leaks=(*sketch.leaks, *seen.in_doubt))
    return bench.keep(sketch), tree.left


_Place = tuple[Combination, Combination]
"""What a module combines, and what its parent does: a change of either asks anew whether it holds."""


@dataclass
class _Seen:
    """What became of the modules that were looked at, by their members.

    Attributes:
        holds: where a module stood when it was found to hold.
        looked_at: modules, and where they stood, that had a second look.
        in_doubt: false modules that were replaced by something that is told apart from all rivals.
    """

    holds: dict[Members, _Place] = field(default_factory=dict)
    looked_at: set[tuple[Members, _Place]] = field(default_factory=set)
    in_doubt: list[Members] = field(default_factory=list)


@dataclass(frozen=True)
class _Compared:
    """The tree that others are compared with.

    Attributes:
        fit: by the same effort as theirs; where a tree leaves next to nothing, what is false shows soon.
        left: what it leaves after the usual effort, as a share of the best constant's error.
    """

    fit: Trial
    effort: Effort
    left: float

    @classmethod
    def of(cls, bench: Bench, sketch: Sketch) -> _Compared:
        fit = bench.fit(sketch.units, VERIFYING)
        left = fit.mean(0) / bench.constant_error
        return cls(fit, VERIFYING, left) if left > UNRESOLVED else cls(bench.fit(sketch.units, FIRST), FIRST, left)


def _look_at_modules(bench: Bench, sketch: Sketch, tree: _Compared, seen: _Seen) -> tuple[Sketch, _Compared, bool]:
    """Looks at every module that stands elsewhere than where it was found to hold; whether any had to go."""
    has_changed = False
    while module := _smallest(m for m in sketch.modules if seen.holds.get(m.members) != _place(sketch, m)):
        sketch, holds = _looked_at(bench, sketch, tree, module, seen)
        bench.keep(sketch)
        if not holds:
            tree, has_changed = _Compared.of(bench, sketch), True
    return sketch, tree, has_changed


def _looked_at(bench: Bench, sketch: Sketch, tree: _Compared, module: ModuleTree, seen: _Seen) -> tuple[Sketch, bool]:
    """The sketch after a look at one module, and whether the module holds in it."""
    here = _place(sketch, module)
    without = bench.fit(dissolved(sketch.units, module), tree.effort)
    others = [without]
    if tree.left > UNRESOLVED:
        # where nearly all is explained, there is nothing to find on a way around
        others.append(bench.fit(_with_way_around(sketch, module), tree.effort))
    t = [other.t_of(other.losses[0], tree.fit.losses[0]) for other in others]
    log.debug("module %s: t without it, and with a way around: %s", sorted(module.members), np.round(t, 1))
    leaks = len(others) > 1 and _leaks(others[1], tree.fit)
    if (module.members, here) not in seen.looked_at and _is_doubtful(bench, sketch, tree, module, t, leaks):
        seen.looked_at.add((module.members, here))
        other, is_other = look_again(bench, sketch, module)
        if is_other:
            return other, False
        sketch = other
    leak = judge_leak(bench, sketch, module) if leaks else Leak.NONE
    if leak is Leak.CLEAR:
        replaced, is_founded = _replaced(bench, sketch, module)
        if is_founded:
            seen.in_doubt.append(module.members)
        return replaced if is_founded else replace(replaced, leaks=(*replaced.leaks, module.members)), False
    if leak is Leak.IN_DOUBT:
        sketch = replace(sketch, leaks=(*sketch.leaks, module.members))
    seen.holds[module.members] = here
    return replace(sketch, support={**sketch.support, module.members: _support(tree.fit, without)}), True


def _is_doubtful(
    bench: Bench, sketch: Sketch, tree: _Compared, module: ModuleTree, t: Sequence[float], leaks: bool
) -> bool:
    """Whether the tree is better with a rival in the place of a module, or seems better without or around it.

    Of the latter, which come of short training too, a module is cleared that clearly beats its rivals. One that was
    clearly told apart when less of the tree was known has less to fear.
    """
    was_told_apart = sketch.told_apart.get(module.members, 0.0) >= BEYOND_DOUBT
    if was_told_apart and leaks:
        return False
    if t[0] < -CLEARLY:
        return True
    seems_false = min(t) < -(MAY_BE_CHANCE if was_told_apart else NOT_WORSE)
    if was_told_apart and not seems_false and tree.left <= UNRESOLVED:
        return False
    rival = _best_rival(bench, sketch, module, tree.effort)
    if math.isinf(rival):
        return seems_false
    return rival < (TOLD_APART if seems_false else -NOT_WORSE)


def _place(sketch: Sketch, module: ModuleTree) -> _Place:
    parent = parent_of(sketch.units, module)
    beside = frozenset(t.members for t in sketch.units.trees) if parent is None else combination_of(parent)
    return combination_of(module), beside


def _smallest(modules: Iterable[ModuleTree]) -> ModuleTree | None:
    """What a module is made of is verified before it: a false part makes the whole look false."""
    return min(modules, key=lambda m: (len(m.members), sorted(m.members)), default=None)


def _with_way_around(sketch: Sketch, module: ModuleTree) -> Units:
    return with_bypass(sketch.units, module, parent_of(sketch.units, module))


# ---- rivals, and a second look -------------------------------------------------------------------


def _best_rival(bench: Bench, sketch: Sketch, module: ModuleTree, effort: Effort) -> float:
    """t of the best tree in which one of a pair belongs with their neighbour instead; all begin afresh around it.

    A tree that has learned to live with a false module may be worse without it for a long time, and around it too.
    """
    parent = parent_of(sketch.units, module)
    if not len(sketch.units.trees if parent is None else parent.children) == len(module.children) == 2:
        return math.inf
    opened = dissolved(sketch.units, module)
    fits = {}
    for units, pair in pairs_first(opened, _as_it_is(opened, parent)):
        reader = parent_of(units, pair)
        afresh = forgotten(units, [pair] if reader is None else [pair, reader])
        fits[pair.members] = bench.fit(afresh, effort)
    own = fits.pop(module.members)
    t = [rival.t_of(rival.losses[0], own.losses[0]) for rival in fits.values()]
    log.debug("rivals of %s: t %s", sorted(module.members), np.round(t, 1))
    return min(t)


def look_again(bench: Bench, sketch: Sketch, module: ModuleTree) -> tuple[Sketch, bool]:
    """Begins afresh around a module; the sketch then, and whether another pair was joined or the module dissolved."""
    units, parent = sketch.units, parent_of(sketch.units, module)
    afresh = forgotten(units, [module] if parent is None else [module, parent])
    beside = units.trees if parent is None else parent.children
    if len(beside) == len(module.children) == 2:
        # what was learned with the module would speak for it
        opened = dissolved(afresh, module)
        joined = regroup(bench, sketch.with_units(opened), _as_it_is(opened, parent))
        if joined.units.trees != opened.trees:
            return joined, joined.units.trees != units.trees
    # taking a module apart starts its parent afresh, which alone may help: the module may start afresh too
    with_it = min((bench.fit(each, LONG) for each in (units, afresh)), key=lambda trial: trial.mean(0))
    without = bench.fit(dissolved(units, module), LONG)
    is_false = without.t_of(without.losses[0], with_it.losses[0]) < -CLEARLY
    log.debug("second look at %s: %.5f with it, %.5f without", sorted(module.members), with_it.mean(0), without.mean(0))
    return sketch.with_units(without.units if is_false else bench.table.relearned(with_it, 0)), is_false


def _as_it_is(units: Units, node: ModuleTree | None) -> ModuleTree | None:
    """A node after a part of it was taken apart; None, for the top, stays None."""
    return None if node is None else next(m for tree in units.trees for m in tree.inner if m.members == node.members)


# ---- ways around a module ------------------------------------------------------------------------


class Leak(Enum):
    """Whether inputs of a module act beside it, after long training."""

    NONE = "none"
    IN_DOUBT = "in doubt"
    CLEAR = "clear"


def _leaks(around: Trial, reference: Trial) -> bool:
    """Whether inputs of a module act beside it: its parent predicts better when it reads them too.

    A false module may predict well because it cuts variance, and taking it apart costs all of that variance again.
    To let its inputs bypass it costs little, and asks the right question, unless the networks are too small for the
    function: then a way around a true module helps too.
    """
    t, ratio = around.t_of(around.losses[0], reference.losses[0]), around.mean(0) / reference.mean(0)
    return t < -CLEARLY and ratio < limits.LEAKED


def judge_leak(bench: Bench, sketch: Sketch, module: ModuleTree) -> Leak:
    """The same after long training: a way around a true module trains faster for a while, and then helps no more.

    It may also lead out of a poor minimum. Then the tree that has no such module to begin with is no better.
    """
    around, reference = (bench.fit(units, VERY_LONG) for units in (_with_way_around(sketch, module), sketch.units))
    log.debug("at length: %.5f around %s, %.5f through it", around.mean(0), sorted(module.members), reference.mean(0))
    if not _leaks(around, reference):
        return Leak.NONE
    if not speaks_against_module(around.mean(0) / bench.constant_error, around.mean(0) / reference.mean(0)):
        return Leak.IN_DOUBT
    without = bench.fit(dissolved(sketch.units, module), VERY_LONG)
    is_needed = without.t_of(without.losses[0], reference.losses[0]) > NOT_WORSE
    return Leak.IN_DOUBT if is_needed else Leak.CLEAR


def speaks_against_module(unexplained: float, ratio: float) -> bool:
    """Whether a tree that does without a module gains more than larger networks would have gained.

    Args:
        unexplained: share of the variance that it leaves.
        ratio: what it leaves, relative to the tree with the module.
    """
    return unexplained < limits.CLEAR_OF_CAPACITY or ratio < limits.HALVED


def _replaced(bench: Bench, sketch: Sketch, module: ModuleTree) -> tuple[Sketch, bool]:
    """Takes a false module apart; whether another grouping of its parts was told apart clearly from all rivals."""
    parent, known = parent_of(sketch.units, module), {m.members for m in sketch.modules}
    sketch = replace(sketch, units=dissolved(sketch.units, module), refuted=sketch.refuted | {module.members})
    if len(sketch.refuted) > limits.MOST_REPLACED:
        return sketch, False
    if parent is None:
        while len(sketch.units) > 2 and (merged := merge(bench, sketch)):
            sketch = merged
    else:
        sketch = regroup(bench, sketch, _as_it_is(sketch.units, parent))
    new = [m.members for m in sketch.modules if m.members not in known]
    log.debug("in the place of %s: %s", sorted(module.members), [sorted(m) for m in new])
    return sketch, bool(new) and all(sketch.told_apart[m] >= BEYOND_DOUBT for m in new)


def _support(reference: Trial, without: Trial) -> Support:
    difference = reference.losses[0] - without.losses[0]
    scale = without.mean(0)
    return Support(
        float(np.average(difference, weights=reference.weight)) / scale,
        float(standard_error(difference, reference.weight)) / scale,
    )
