"""Where inputs belong in a tree: those that were left out come back, and those in the wrong place move."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from compsparse.discovery.data.decisions import speaks_against_module, told_apart
from compsparse.discovery.data.regrouping import look_into_wide_nodes, regroup
from compsparse.discovery.data.search import TableSearch, log
from compsparse.discovery.data.settings import (
    BETTER,
    FEW_REPLICAS,
    LONG,
    LONGEST,
    MOST_AT_LENGTH,
    MOST_IN_BRANCH,
    MOST_MOVED,
    MOST_TRIED_ELSEWHERE,
    MUCH_HELPED,
    NOT_WORSE,
    READMITTED,
    REPLICAS,
    VERIFYING,
)
from compsparse.discovery.data.trees import exposed, pruned, regrouped
from compsparse.discovery.data.trials import Halted, Trial
from compsparse.discovery.data.units import Units, leaf
from compsparse.discovery.forest import Members
from compsparse.graph.modules import ModuleTree


def find_tree(search: TableSearch) -> None:
    """Merges until nothing more is accepted, offers again what was left out, moves inputs, looks into wide nodes."""
    search.merge_all()
    moved: list[str] = []
    while True:
        while search.parked and readmit(search):
            search.merge_all()
        if len(moved) == MOST_MOVED or (name := move(search, moved)) is None:
            break
        moved.append(name)
    look_into_wide_nodes(search)


# ---- inputs that were left out -------------------------------------------------------------------


@dataclass(frozen=True)
class _Offer:
    """An input, or a branch of several, that every node of the tree may read; t against the tree without it."""

    part: ModuleTree
    trial: Trial
    t: float

    @classmethod
    def of(cls, search: TableSearch, part: ModuleTree, tree: Trial) -> _Offer:
        trial = search.fit_tree(exposed(search.units, [part]))
        offer = cls(part, trial, trial.t_of(trial.losses[0], tree.losses[0]))
        what = "one number of " if part.children else ""
        log.debug("with %s%s everywhere: %.5f, t %.1f", what, sorted(part.members), trial.mean(0), offer.t)
        return offer

    def against(self, trial: Trial) -> float:
        """t against another tree."""
        return self.trial.t_of(self.trial.losses[0], trial.losses[0])


def readmit(search: TableSearch) -> bool:
    """Offers parked inputs to every node of the tree; those that help become units again, or part of one."""
    search.may_lack = ()
    tree, everywhere = _fits_with_parked(search, LONG, REPLICAS)
    together = everywhere.t_of(everywhere.losses[0], tree.losses[0])
    help_much = everywhere.mean(0) < MUCH_HELPED * tree.mean(0)
    may_help = together <= READMITTED / 2 or help_much
    singles = [_Offer.of(search, leaf(name), tree) for name in search.parked] if may_help else []
    singles.sort(key=lambda offer: offer.t)
    back = [offer for offer in singles if offer.t < READMITTED]
    branch = _branch_offered(search, tree)
    if branch is not None and _stands(branch, everywhere, singles) and _readmit_branch(search, branch):
        return True
    if not back and singles:
        # where only all of them together help, the best begins, and the others are offered again
        help_together = together < READMITTED or (help_much and together <= READMITTED / 2)
        back = singles[:1] if help_together or _help_at_length(search) else []
    for offer in back:
        search.parked.remove(min(offer.part.members))
        search.note("readmit", offer.part.members, offer.trial, 0)
        put_back(search, offer.part)
    if not back:
        search.may_lack = tuple(search.parked) if may_help else _left_out_unsure(search, tree)
    return bool(back)


def _fits_with_parked(search: TableSearch, steps: int, n_replicas: int) -> tuple[Trial, Trial]:
    """The tree as it is, and with the parked inputs at every node."""
    tree = search.fit_tree(search.units, steps, n_replicas)
    everywhere = search.fit_tree(exposed(search.units, list(map(leaf, search.parked))), steps, n_replicas)
    log.debug("with %s everywhere: %.5f from %.5f", search.parked, everywhere.mean(0), tree.mean(0))
    return tree, everywhere


def _help_at_length(search: TableSearch) -> bool:
    """Whether parked inputs that seemed to help do so after the longest training."""
    tree, everywhere = _fits_with_parked(search, LONGEST, FEW_REPLICAS)
    return bool(everywhere.t_of(everywhere.losses[0], tree.losses[0]) < READMITTED)


def _left_out_unsure(search: TableSearch, tree: Trial) -> tuple[str, ...]:
    """Inputs that only trials called inert, where the tree leaves so much that they cannot know."""
    if search.is_resolved(tree):
        return ()
    return tuple(name for name in search.parked if name not in search.oracle.inert)


def _branch_offered(search: TableSearch, tree: Trial) -> _Offer | None:
    """The parked inputs through one number, where that helps.

    So a weak branch shows whose inputs, each at every node, drown.
    """
    if search.is_resolved(tree) or not 1 < len(search.parked) <= MOST_IN_BRANCH:
        return None
    offer = _Offer.of(search, search.units.joined(map(leaf, search.parked)), tree)
    return offer if offer.t <= READMITTED else None


def _stands(branch: _Offer, everywhere: Trial, singles: Sequence[_Offer]) -> bool:
    """Whether inputs act through one number: it says no less than all of them, and clearly more than each alone."""
    return branch.against(everywhere) < NOT_WORSE and all(branch.against(single.trial) < BETTER for single in singles)


def _readmit_branch(search: TableSearch, branch: _Offer) -> bool:
    """Puts a branch back, and parks those of its inputs again that it does as well without; whether some came back."""
    search.note("readmit", branch.part.members, branch.trial, 0)
    put_back(search, branch.part)
    search.parked = []
    with_it = search.fit_tree(search.units)
    for name in sorted(branch.part.members):
        without = search.fit_tree(pruned(search.units, name))
        if without.t_of(without.losses[0], with_it.losses[0]) < NOT_WORSE:
            search.units, with_it = without.units, without
            search.parked.append(name)
            search.note("drop", frozenset([name]), without, 0)
    return len(search.parked) < len(branch.part.members)


def put_back(search: TableSearch, part: ModuleTree) -> None:
    """Gives an input or a branch to the node that it helps most, and looks for finer structure there."""
    at_top = search.units.with_trees([*search.units.trees, part])
    options: list[tuple[Units, ModuleTree | None]] = [(at_top, None)]
    options += [(exposed(search.units, [part], [m]), m) for m in search.modules]
    if len(options) > MOST_AT_LENGTH:
        options.sort(key=lambda option: search.fit_tree(option[0], VERIFYING.steps, VERIFYING.replicas).mean(0))
        del options[MOST_AT_LENGTH:]
    _, node = min(options, key=lambda option: search.fit_tree(option[0]).mean(0))
    if node is None:
        search.units = at_top
        return
    wide = search.units.joined([*node.children, part])
    search.units = regrouped(search.units, node, wide)
    regroup(search, wide)


# ---- inputs in the wrong place -------------------------------------------------------------------


def move(search: TableSearch, moved: Collection[str] = ()) -> str | None:
    """Takes an input that helps at other nodes out of its place, puts it where the tree is better, and merges again.

    An input whose partner was left out for a while, or came late, may have been merged with the wrong one.

    Args:
        moved: inputs that have moved before, and stay.

    Returns:
        The input that moved, if any.
    """
    search.strays = ()
    if not search.modules:
        return None
    tree = search.fit_tree(search.units, VERIFYING.steps, VERIFYING.replicas)
    if search.is_resolved(tree):
        return None
    helps: dict[str, float] = {}
    for name in sorted(search.units.members(search.units.every)):
        trial = search.fit_tree(exposed(search.units, [leaf(name)]), VERIFYING.steps, VERIFYING.replicas)
        helps[name] = trial.t_of(trial.losses[0], tree.losses[0])
        log.debug("with %s at all other nodes too: t %.1f", name, helps[name])
    may_move = [name for name in sorted(helps, key=helps.__getitem__) if helps[name] < READMITTED / 2]
    may_move = [name for name in may_move if name not in moved][:MOST_TRIED_ELSEWHERE]
    if may_move:
        stays = search.fit_tree(search.units)
        for name in may_move:
            if _moves(search, name, stays):
                return name
    search.strays = tuple(name for name, t in helps.items() if t < READMITTED)
    return None


def _moves(search: TableSearch, name: str, stays: Trial) -> bool:
    """Puts an input where it helps most, merges what then stands side by side, and takes all back unless it helped."""
    before, known = search.state, {m.members for m in search.modules}
    try:
        search.units = pruned(search.units, name)
        put_back(search, leaf(name))
        moved = search.fit_tree(search.units)
        log.debug("%s moved: %.5f from %.5f", name, moved.mean(0), stays.mean(0))
        t = stays.t_of(stays.losses[0], moved.losses[0])
        has_helped = told_apart(t, stays.mean(0), moved.mean(0)) > -BETTER
        if has_helped:
            search.note("move", frozenset([name]), moved, 0)
            _merge_again(search)
            has_helped = _is_elsewhere(search, known, moved, stays)
    except Halted:
        search.state = before
        raise
    if not has_helped:
        search.state = before
    return has_helped


def _merge_again(search: TableSearch) -> None:
    """Merges what a move has left side by side, unless the tree is worse for it: the move would have been in vain."""
    moved = search.state
    apart = search.fit_tree(search.units)
    search.merge_all()
    if len(search.units) < len(apart.units):
        merged = search.fit_tree(search.units)
        log.debug("merged again: %.5f from %.5f", merged.mean(0), apart.mean(0))
        if merged.t_of(merged.losses[0], apart.losses[0]) > NOT_WORSE:
            search.state = moved


def _is_elsewhere(search: TableSearch, known: Collection[Members], moved: Trial, stays: Trial) -> bool:
    """Whether a move changed more than how well the same tree is fitted.

    One that only took modules apart is a way around them and judged like one: where networks are too small for the
    function, a wider node is better whatever is true.
    """
    found = {m.members for m in search.modules}
    if not found <= set(known):
        return True
    return found < set(known) and speaks_against_module(
        moved.mean(0) / search.constant_error, moved.mean(0) / stays.mean(0)
    )
