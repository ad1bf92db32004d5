"""From turns to a tree: which threshold, which modules are sure, and which only nearly hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from compsparse.discovery.data.smooth.limits import (
    DOUBT,
    MOSTLY_BIAS,
    MOSTLY_NOISE,
    ROUGHLY_VISIBLE,
    SURE_TREND,
    THRESHOLDS,
    TURNED_BY_BIAS,
    TURNED_BY_CHANCE,
    VISIBLE,
    WEAKER_TURNS,
)
from compsparse.discovery.data.smooth.turning import Turns
from compsparse.discovery.structure.closure import close, equal_runs
from compsparse.discovery.structure.forest import Members
from compsparse.discovery.structure.turns import TurnTable, three_inputs
from compsparse.graph.modules import ModuleTree


@dataclass(frozen=True)
class Reading:
    """A tree, and how firmly it stands.

    Attributes:
        threshold: largest turn that passes for none, in standard errors.
        consistent: whether every node is cleanly prime or cleanly complete.
        unsure: modules that some threshold in the range of doubt does without.
        unplaced: inputs that act too weakly for their place to be told; they hang on the root.
        table: what every turn was held against, and what would have been seen.
    """

    tree: ModuleTree
    threshold: float
    consistent: bool
    unsure: frozenset[Members]
    unplaced: Members
    table: TurnTable


def chance_turn(unexplained: float) -> float:
    """Size of turns that occur where there is none, given the share of the variance that a fit leaves.

    >>> [round(chance_turn(unexplained), 6) for unexplained in (0.01, 1e-4, 1e-9)]
    [2.0, 3.0, 4.0]
    """
    low, high = math.log(MOSTLY_BIAS), math.log(MOSTLY_NOISE)
    place = (math.log(max(unexplained, MOSTLY_BIAS)) - low) / (high - low)
    return TURNED_BY_BIAS + min(place, 1.0) * (TURNED_BY_CHANCE - TURNED_BY_BIAS)


def read_tree(turns: Turns, names: Sequence[str], unexplained: float) -> Reading:
    """The tree that most thresholds in the range of doubt agree on, consistent ones before others.

    It is read among the inputs whose place can be told; the others hang on its root.
    """
    names = tuple(names)
    least = chance_turn(unexplained)
    placed = _placed(turns, least)
    some = tuple(names[i] for i in placed)
    thresholds = np.geomspace(least, DOUBT * least, THRESHOLDS)
    closures = [close(_among(placed, (turns.pairs > t) | (turns.trend > SURE_TREND)), some) for t in thresholds]
    start, stop = max(equal_runs(closures), key=lambda run: (closures[run[0]].consistent, run[1] - run[0], -run[0]))
    chosen, threshold = closures[start], float(np.sqrt(thresholds[start] * thresholds[stop - 1]))
    table = table_of_turns(turns, names, threshold)
    unplaced = frozenset(names) - frozenset(some)
    return Reading(
        hung_on_root(_with_visible_kinds(chosen.tree, table), unplaced),
        threshold,
        chosen.consistent,
        frozenset(m for m in chosen.tree.modules if any(m not in c.tree.modules for c in closures)),
        unplaced,
        table,
    )


def table_of_turns(turns: Turns, names: tuple[str, ...], threshold: float) -> TurnTable:
    """What was seen and what would have been: a turn is a share of the largest that an input could make."""
    return TurnTable(
        names,
        np.maximum(turns.pairs / threshold, turns.trend / SURE_TREND),
        threshold * turns.blur / _strength(turns) ** WEAKER_TURNS,
        VISIBLE,
    )


def _strength(turns: Turns) -> np.ndarray:
    """How much each input acts, at most 1, relative to the weaker one of each pair: (inputs, inputs, inputs)."""
    of_pair = np.minimum(turns.changes[:, None], turns.changes[None])
    least = np.finfo(float).eps * turns.changes.max()
    return np.asarray(np.clip(turns.changes / np.maximum(of_pair, least)[..., None], np.finfo(float).eps, 1.0))


def _placed(turns: Turns, threshold: float) -> list[int]:
    """The inputs whose place can be told: no input as strong turns a pair of them without being seen.

    The one of which least is known goes first.
    """
    seen = (turns.pairs > threshold) | (turns.trend > SURE_TREND)
    hidden = ~seen & (threshold * turns.blur > ROUGHLY_VISIBLE) & (_strength(turns) == 1) & three_inputs(len(seen))
    placed = list(range(len(hidden)))
    while (doubts := hidden[np.ix_(placed, placed, placed)].sum((1, 2))).any():
        most = np.flatnonzero(doubts == doubts.max())
        del placed[min(most, key=lambda i: turns.changes[placed[i]])]
    return placed


def _among(placed: list[int], turned: np.ndarray) -> np.ndarray:
    """Which of some inputs turns which pair of them; a pair that another input turns lies in nothing but the root."""
    elsewhere = np.asarray(np.delete(turned, placed, axis=2).any(axis=2))
    with_root: np.ndarray = turned | elsewhere[:, :, None]
    return np.asarray(with_root[np.ix_(placed, placed, placed)])


def hung_on_root(tree: ModuleTree, unplaced: Members) -> ModuleTree:
    """The tree with further inputs as children of its root, which may use them in any way."""
    if not unplaced:
        return tree
    own = tree.children or (tree,)
    extra = tuple(ModuleTree(frozenset([name])) for name in sorted(unplaced))
    return ModuleTree(tree.members | unplaced, tree.kind if len(own) > 2 else None, (*own, *extra))


def _with_visible_kinds(tree: ModuleTree, table: TurnTable) -> ModuleTree:
    """The tree whose nodes are complete only where turns would have been seen: to see none is no evidence by itself."""
    children = tuple(_with_visible_kinds(child, table) for child in tree.children)
    kind = tree.kind
    if kind == "complete" and len(children) > 2:
        names = tuple(str(i) for i in range(len(children)))
        between = table.between((child.members for child in tree.children), names)
        if between.unseen.max() > ROUGHLY_VISIBLE:
            kind = None
    return replace(tree, kind=kind, children=children)


def largest_turn(members: Members, turns: Turns, names: Sequence[str]) -> float:
    """The largest turn of a module's slopes by an input outside it, in standard errors."""
    return _largest(turns.pairs, members, names)


def largest_trend(members: Members, turns: Turns, names: Sequence[str]) -> float:
    """The largest trend in the turns of a module's slopes by an input outside it, in standard errors."""
    return _largest(turns.trend, members, names)


def largest_blur(members: Members, turns: Turns, names: Sequence[str]) -> float:
    """How well turns of a module's slopes are known where they are known least, in radians."""
    return _largest(turns.blur, members, names)


def _largest(values: np.ndarray, members: Members, names: Sequence[str]) -> float:
    """Over pairs of inputs of a module and one outside it."""
    inside = [i for i, name in enumerate(names) if name in members]
    outside = [i for i, name in enumerate(names) if name not in members]
    apart = ~np.eye(len(inside), dtype=bool)
    return float(values[np.ix_(inside, inside, outside)][apart].max(initial=0.0))
