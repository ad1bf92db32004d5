"""Where inputs belong in a tree: those that were left out come back, and those in the wrong place move."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from compsparse.discovery.data import limits
from compsparse.discovery.data.limits import LONG, READMITTED, VERIFYING, VERY_LONG, Effort
from compsparse.discovery.data.merging import merge_all
from compsparse.discovery.data.regrouping import regroup
from compsparse.discovery.data.sketch import Bench, Sketch, log
from compsparse.discovery.data.tree_surgery import exposed, pruned, regrouped
from compsparse.discovery.data.trials import Trial
from compsparse.discovery.data.units import Units, leaf
from compsparse.discovery.data.verification import speaks_against_module
from compsparse.discovery.structure.forest import Members
from compsparse.discovery.structure.statistics import CLEARLY, NOT_WORSE, told_apart
from compsparse.graph.modules import ModuleTree

# ---- inputs that were left out -------------------------------------------------------------------


@dataclass(frozen=True)
class _Offer:
    """An input, or a branch of several, that every node of the tree may read; t against the tree without it."""

    part: ModuleTree
    trial: Trial
    t: float

    @classmethod
    def of(cls, bench: Bench, sketch: Sketch, part: ModuleTree, tree: Trial) -> _Offer:
        trial = bench.fit(exposed(sketch.units, [part]), LONG)
        offer = cls(part, trial, trial.t_of(trial.losses[0], tree.losses[0]))
        what = "one number of " if part.children else ""
        log.debug("with %s%s everywhere: %.5f, t %.1f", what, sorted(part.members), trial.mean(0), offer.t)
        return offer

    def against(self, trial: Trial) -> float:
        """t against another tree."""
        return self.trial.t_of(self.trial.losses[0], trial.losses[0])


def readmit(bench: Bench, sketch: Sketch) -> tuple[Sketch, bool]:
    """Offers parked inputs to every node of the tree; those that help become units again, or part of one.

    Returns:
        The sketch, and whether an input came back.
    """
    sketch = replace(sketch, may_lack=())
    tree, everywhere, together = _fits_with_parked(bench, sketch, LONG)
    help_much = everywhere.mean(0) < limits.MUCH_HELPED * tree.mean(0)
    may_help = together <= READMITTED / 2 or help_much
    singles = [_Offer.of(bench, sketch, leaf(name), tree) for name in sketch.parked] if may_help else []
    singles.sort(key=lambda offer: offer.t)
    back = [offer for offer in singles if offer.t < READMITTED]
    branch = _branch_offered(bench, sketch, tree)
    if branch is not None and _stands(branch, everywhere, singles):
        sketch, came_back = _readmit_branch(bench, sketch, branch)
        if came_back:
            return sketch, True
    if not back and singles:
        # where only all of them together help, the best begins, and the others are offered again
        help_together = together < READMITTED or (help_much and together <= READMITTED / 2)
        if help_together or _fits_with_parked(bench, sketch, VERY_LONG)[2] < READMITTED:
            back = singles[:1]
    for offer in back:
        sketch = replace(sketch, parked=sketch.without_parked(offer.part.members))
        sketch = bench.noted(sketch, "readmit", offer.part.members, offer.trial)
        sketch = put_back(bench, sketch, offer.part)
    if back:
        return sketch, True
    # inputs that only trials called inert, where the tree leaves so much that they cannot know
    unsure = () if bench.is_resolved(tree) else sketch.without_parked(bench.smooth.inert)
    return replace(sketch, may_lack=sketch.parked if may_help else unsure), False


def _fits_with_parked(bench: Bench, sketch: Sketch, effort: Effort) -> tuple[Trial, Trial, float]:
    """The tree as it is, and with the parked inputs at every node; t of the one against the other."""
    tree = bench.fit(sketch.units, effort)
    everywhere = bench.fit(exposed(sketch.units, list(map(leaf, sketch.parked))), effort)
    log.debug("with %s everywhere: %.5f from %.5f", sketch.parked, everywhere.mean(0), tree.mean(0))
    return tree, everywhere, everywhere.t_of(everywhere.losses[0], tree.losses[0])


def _branch_offered(bench: Bench, sketch: Sketch, tree: Trial) -> _Offer | None:
    """The parked inputs through one number, where that helps.

    So a weak branch shows whose inputs, each at every node, drown.
    """
    if bench.is_resolved(tree) or not 1 < len(sketch.parked) <= limits.MOST_IN_BRANCH:
        return None
    offer = _Offer.of(bench, sketch, sketch.units.joined(map(leaf, sketch.parked)), tree)
    return offer if offer.t <= READMITTED else None


def _stands(branch: _Offer, everywhere: Trial, singles: Sequence[_Offer]) -> bool:
    """Whether inputs act through one number: it says no less than all of them, and clearly more than each alone."""
    return branch.against(everywhere) < NOT_WORSE and all(branch.against(s.trial) < -CLEARLY for s in singles)


def _readmit_branch(bench: Bench, sketch: Sketch, branch: _Offer) -> tuple[Sketch, bool]:
    """Puts a branch back, and parks those of its inputs again that it does as well without; whether some came back."""
    sketch = bench.noted(replace(sketch, parked=()), "readmit", branch.part.members, branch.trial)
    sketch = put_back(bench, sketch, branch.part)
    with_it = bench.fit(sketch.units, LONG)
    for name in sorted(branch.part.members):
        without = bench.fit(pruned(sketch.units, name), LONG)
        if without.t_of(without.losses[0], with_it.losses[0]) < NOT_WORSE:
            sketch, with_it = replace(sketch, units=without.units, parked=(*sketch.parked, name)), without
            sketch = bench.noted(sketch, "drop", frozenset([name]), without)
    return sketch, len(sketch.parked) < len(branch.part.members)


def put_back(bench: Bench, sketch: Sketch, part: ModuleTree) -> Sketch:
    """Gives an input or a branch to the node that it helps most, and looks for finer structure there."""
    units = sketch.units
    at_top = units.with_trees([*units.trees, part])
    options: list[tuple[Units, ModuleTree | None]] = [(at_top, None)]
    options += [(exposed(units, [part], [m]), m) for m in sketch.modules]
    if len(options) > limits.MOST_AT_LENGTH:
        options.sort(key=lambda option: bench.fit(option[0], VERIFYING).mean(0))
        del options[limits.MOST_AT_LENGTH :]
    _, node = min(options, key=lambda option: bench.fit(option[0], LONG).mean(0))
    if node is None:
        return sketch.with_units(at_top)
    wide = units.joined([*node.children, part])
    return regroup(bench, sketch.with_units(regrouped(units, node, wide)), wide)


# ---- inputs in the wrong place -------------------------------------------------------------------


def move(bench: Bench, sketch: Sketch, moved: Collection[str] = ()) -> tuple[Sketch, str | None]:
    """Takes an input that helps at other nodes out of its place, puts it where the tree is better, and merges again.

    An input whose partner was left out for a while, or came late, may have been merged with the wrong one.

    Args:
        moved: inputs that have moved before, and stay.

    Returns:
        The sketch, and the input that moved, if any.
    """
    sketch = replace(sketch, strays=())
    tree = bench.fit(sketch.units, VERIFYING) if sketch.modules else None
    if tree is None or bench.is_resolved(tree):
        return sketch, None
    helps: dict[str, float] = {}
    for name in sorted(sketch.members):
        trial = bench.fit(exposed(sketch.units, [leaf(name)]), VERIFYING)
        helps[name] = trial.t_of(trial.losses[0], tree.losses[0])
        log.debug("with %s at all other nodes too: t %.1f", name, helps[name])
    may_move = [name for name in sorted(helps, key=helps.__getitem__) if helps[name] < READMITTED / 2]
    may_move = [name for name in may_move if name not in moved][: limits.MOST_TRIED_ELSEWHERE]
    if may_move:
        stays = bench.fit(sketch.units, LONG)
        for name in may_move:
            elsewhere = _moved(bench, sketch, name, stays)
            if elsewhere is not None:
                return elsewhere, name
    return replace(sketch, strays=tuple(name for name, t in helps.items() if t < READMITTED)), None


def _moved(bench: Bench, sketch: Sketch, name: str, stays: Trial) -> Sketch | None:
    """The sketch with an input where it helps most, and merged again; None unless that helped."""
    away = put_back(bench, sketch.with_units(pruned(sketch.units, name)), leaf(name))
    moved = bench.fit(away.units, LONG)
    log.debug("%s moved: %.5f from %.5f", name, moved.mean(0), stays.mean(0))
    t = stays.t_of(stays.losses[0], moved.losses[0])
    if told_apart(t, stays.mean(0), moved.mean(0)) <= CLEARLY:
        return None
    away = _merged_again(bench, bench.noted(away, "move", frozenset([name]), moved))
    known = {m.members for m in sketch.modules}
    return away if _is_elsewhere(bench, away, known, moved, stays) else None


def _merged_again(bench: Bench, away: Sketch) -> Sketch:
    """What a move has left side by side merged, unless the tree is worse for it: the move would have been in vain."""
    apart = bench.fit(away.units, LONG)
    merged = merge_all(bench, away, keeping=False)
    if len(merged.units) == len(away.units):
        return merged
    fit = bench.fit(merged.units, LONG)
    log.debug("merged again: %.5f from %.5f", fit.mean(0), apart.mean(0))
    return away if fit.t_of(fit.losses[0], apart.losses[0]) > NOT_WORSE else merged


def _is_elsewhere(bench: Bench, away: Sketch, known: Collection[Members], moved: Trial, stays: Trial) -> bool:
    """Whether a move changed more than how well the same tree is fitted.

    One that only took modules apart is a way around them and judged like one: where networks are too small for the
    function, a wider node is better whatever is true.
    """
    found = {m.members for m in away.modules}
    if not found <= set(known):
        return True
    return found < set(known) and speaks_against_module(
        moved.mean(0) / bench.constant_error, moved.mean(0) / stays.mean(0)
    )
