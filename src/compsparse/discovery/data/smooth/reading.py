"""From turns to a tree: which threshold, which modules are sure, and which only nearly hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from compsparse.discovery.data.smooth.limits import (
    BLURRED,
    DOUBT,
    MOSTLY_BIAS,
    MOSTLY_NOISE,
    SURE_TREND,
    THRESHOLDS,
    TURNED_BY_BIAS,
    TURNED_BY_CHANCE,
)
from compsparse.discovery.data.smooth.turning import Turns
from compsparse.discovery.structure.closure import close, equal_runs
from compsparse.discovery.structure.forest import Members
from compsparse.graph.modules import ModuleTree


@dataclass(frozen=True)
class Reading:
    """A tree, and how firmly it stands.

    Attributes:
        threshold: largest turn that passes for none, in standard errors.
        consistent: whether every node is cleanly prime or cleanly complete.
        unsure: modules that some threshold in the range of doubt does without.
    """

    tree: ModuleTree
    threshold: float
    consistent: bool
    unsure: frozenset[Members]


def chance_turn(unexplained: float) -> float:
    """Size of turns that occur where there is none, given the share of the variance that a fit leaves.

    >>> [round(chance_turn(unexplained), 6) for unexplained in (0.01, 1e-4, 1e-9)]
    [2.0, 3.0, 4.0]
    """
    low, high = math.log(MOSTLY_BIAS), math.log(MOSTLY_NOISE)
    place = (math.log(max(unexplained, MOSTLY_BIAS)) - low) / (high - low)
    return TURNED_BY_BIAS + min(place, 1.0) * (TURNED_BY_CHANCE - TURNED_BY_BIAS)


def read_tree(turns: Turns, names: Sequence[str], unexplained: float) -> Reading:
    """The tree that most thresholds in the range of doubt agree on, consistent ones before others."""
    names = tuple(names)
    least = chance_turn(unexplained)
    thresholds = np.geomspace(least, DOUBT * least, THRESHOLDS)
    closures = [close((turns.pairs > t) | (turns.trend > SURE_TREND), names) for t in thresholds]
    start, stop = max(equal_runs(closures), key=lambda run: (closures[run[0]].consistent, run[1] - run[0], -run[0]))
    chosen = closures[start]
    unsure = [m for m in chosen.tree.modules if any(m not in c.tree.modules for c in closures)]
    return Reading(
        _without_blurred_kinds(chosen.tree, turns, names),
        float(np.sqrt(thresholds[start] * thresholds[stop - 1])),
        chosen.consistent,
        frozenset(unsure),
    )


def _without_blurred_kinds(tree: ModuleTree, turns: Turns, names: tuple[str, ...]) -> ModuleTree:
    """The tree whose nodes are complete only where turns would have been seen: to see none is no evidence by itself."""
    children = tuple(_without_blurred_kinds(child, turns, names) for child in tree.children)
    kind = tree.kind
    if kind == "complete" and blur_of(tree, turns, names) > BLURRED:
        kind = None
    return replace(tree, kind=kind, children=children)


def blur_of(node: ModuleTree, turns: Turns, names: Sequence[str]) -> float:
    """How well turns between the parts of a node are known, in radians: over all triples of parts, in the middle."""
    parts = [[names.index(name) for name in sorted(child.members)] for child in node.children]
    blurs = [
        turns.blur[np.ix_(a, b, c)].min()
        for a in parts
        for b in parts
        for c in parts
        if a is not b and a is not c and b is not c
    ]
    return float(np.median(blurs)) if blurs else 0.0


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
