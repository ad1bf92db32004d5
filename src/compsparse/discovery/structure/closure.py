"""From "x_k turns the direction of (f_i, f_j)" to the tree of strong modules, and the threshold between yes and no.

The smallest module that holds i and j is the closure of {i, j} under "add every k that turns the
direction of some pair inside". Smallest modules that overlap without nesting are regroupings of a
complete node, and their union is that node; what is left is nested or disjoint: the tree.

Raising the threshold between no turn and a turn shrinks the set of turns, and with it the modules. Where
no score lies, the tree does not change; nor does it change where a score is one of many that force the
same module. The threshold is put in the middle of a range, on the log scale, over which the tree stays the
same and is consistent: the gap between null and true scores, as far as it matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from compsparse.graph import Kind
from compsparse.graph.modules import ModuleTree

_THRESHOLDS_TRIED = 25
_LARGEST_TABLE = 2**25
"""Numbers of a closure held at once."""


@dataclass(frozen=True)
class Closure:
    """The tree of strong modules.

    Attributes:
        tree: over the given names.
        consistent: whether every node is cleanly prime (all pairs across its children have the
            whole node as their smallest module) or cleanly complete (all have the union of their
            two children). Turns that were missed, and false ones, leave nodes that are neither.
        doubtful: triples (i, j, k) of the nodes that are neither: x_k does not turn (f_i, f_j),
            so far, and would if the node were prime.
    """

    tree: ModuleTree
    doubtful: np.ndarray

    @property
    def consistent(self) -> bool:
        """Whether no triple is in doubt."""
        return not len(self.doubtful)


def close(turned: np.ndarray, names: tuple[str, ...]) -> Closure:
    """The tree from ``turned[i, j, k]``: whether x_k turns (f_i, f_j)."""
    if len(names) == 1:
        return Closure(ModuleTree(frozenset(names)), _NO_TRIPLES)
    pairs, smallest = _smallest_modules(turned)
    nodes = _joined_where_overlapping(np.unique(smallest, axis=0))
    return _assembled(nodes, pairs, smallest, names)


def _smallest_modules(turned: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs, and the closure of each as a row of a boolean matrix."""
    d = len(turned)
    pairs = np.stack(np.triu_indices(d, 1), axis=1)
    sets = np.zeros((len(pairs), d), dtype=bool)
    sets[np.arange(len(pairs))[:, None], pairs] = True
    by_pair = turned.reshape(d * d, d).astype(np.float32)
    number = np.arange(len(pairs))
    while True:
        parts = np.array_split(sets.astype(np.float32), -(-len(sets) * d * d // _LARGEST_TABLE))
        grown = np.concatenate([_grown(part, by_pair) for part in parts]) > 0
        if (grown == sets).all():
            return pairs, sets[number]
        sets, where = np.unique(grown, axis=0, return_inverse=True)
        number = where.reshape(-1)[number]


def _grown(sets: np.ndarray, by_pair: np.ndarray) -> np.ndarray:
    """Positive for the members, and for every k with turned[i, j, k] for some members i and j."""
    pairs_inside = sets[:, :, None] * sets[:, None, :]
    grown: np.ndarray = sets + pairs_inside.reshape(len(sets), -1) @ by_pair
    return grown


def _joined_where_overlapping(sets: np.ndarray) -> np.ndarray:
    """The sets, smallest first, those that overlap without nesting replaced by their union."""
    common = sets.astype(np.int64) @ sets.T.astype(np.int64)
    size = np.diag(common)
    overlap = (common > 0) & (common < size[:, None]) & (common < size[None, :])
    label = connected_components(csr_array(overlap), directed=False)[1]
    joined = np.unique(np.stack([sets[label == c].any(axis=0) for c in np.unique(label)]), axis=0)
    return joined[np.argsort(joined.sum(axis=1), kind="stable")]


def _assembled(nodes: np.ndarray, pairs: np.ndarray, smallest: np.ndarray, names: tuple[str, ...]) -> Closure:
    trees = {i: ModuleTree(frozenset([name])) for i, name in enumerate(names)}
    top = np.arange(len(names))  # the number of the tree that holds each input so far
    doubtful = [_NO_TRIPLES]
    for number, node in enumerate(nodes, start=len(names)):
        part = np.where(node, top, -1)
        first = [int(np.flatnonzero(part == p)[0]) for p in np.unique(part[node])]
        children = [int(top[i]) for i in sorted(first)]
        kind, doubts = _kind(node, part, pairs, smallest)
        doubtful.append(doubts)
        members = frozenset(names[i] for i in np.flatnonzero(node))
        trees[number] = ModuleTree(members, kind, tuple(trees[c] for c in children))
        top = np.where(node, number, top)
    return Closure(trees[int(top[0])], np.concatenate(doubtful))


_NO_TRIPLES = np.zeros((0, 3), dtype=int)


def _kind(node: np.ndarray, part: np.ndarray, pairs: np.ndarray, smallest: np.ndarray) -> tuple[Kind, np.ndarray]:
    """Whether the node is prime or complete, and the triples that leave it neither."""
    a, b = part[pairs].T
    across = (a >= 0) & (b >= 0) & (a != b)
    found, a, b = smallest[across], a[across, None], b[across, None]
    whole = (found == node).all(axis=1)
    union = (found == ((part == a) | (part == b))).all(axis=1)
    two_parts = len(np.unique(part[node])) == 2
    kind: Kind = "prime" if two_parts or whole.mean() >= union.mean() else "complete"
    if whole.all() or (union.all() and not two_parts):
        return kind, _NO_TRIPLES
    pair, k = np.nonzero(node & ~found)
    return kind, np.c_[pairs[across][pair], k]


# ---- the threshold -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """Where thresholds are looked for, and what gap is clear.

    Attributes:
        low: no null score is expected above it, were errors known perfectly.
        active: the same for the effect of an input.
        clear_gap: ratio of true to null scores at which the search may stop.
    """

    low: float
    active: float
    clear_gap: float


@dataclass(frozen=True)
class Decision:
    """A tree, with the threshold that gave it.

    Attributes:
        doubtful: see :class:`Closure`.
        gap: ratio of the ends of the range of thresholds that give this tree.
    """

    tree: ModuleTree
    doubtful: np.ndarray
    threshold: float
    gap: float

    @property
    def consistent(self) -> bool:
        """Whether no triple is in doubt."""
        return not len(self.doubtful)


def decide(scores: np.ndarray, names: tuple[str, ...], limits: Limits, high: float) -> Decision:
    """The tree that persists across a clear gap, the lowest such; or else the most persistent one.

    Args:
        high: the score of a turn that nothing could hide.
    """
    if not names:
        return Decision(ModuleTree(frozenset()), np.zeros((0, 3), dtype=int), limits.low, gap=1.0)
    trials = np.geomspace(limits.low, max(high, limits.clear_gap * limits.low), _THRESHOLDS_TRIED)
    closures = _closures(scores, names, trials)
    runs = equal_runs(closures)
    ratio = trials[1] / trials[0]
    clear = np.log(limits.clear_gap) / np.log(ratio)
    start, stop = max(runs, key=lambda run: (closures[run[0]].consistent, min(run[1] - run[0], clear), -run[0]))
    return Decision(
        closures[start].tree,
        closures[start].doubtful,
        threshold=float(np.sqrt(trials[start] * trials[stop - 1])),
        gap=float(ratio ** (stop - start)),
    )


def _closures(scores: np.ndarray, names: tuple[str, ...], trials: np.ndarray) -> list[Closure]:
    """The closure at every trial; between two trials with the same turns nothing is computed."""
    found: dict[int, Closure] = {}
    counts = [int((scores > t).sum()) for t in trials]
    for i, t in enumerate(trials):
        same = i and counts[i] == counts[i - 1]
        found[i] = found[i - 1] if same else close(scores > t, names)
    return [found[i] for i in range(len(trials))]


def equal_runs(closures: Sequence[Closure]) -> list[tuple[int, int]]:
    """Ranges [start, stop) of equal trees."""
    changes = [i for i in range(1, len(closures)) if closures[i].tree != closures[i - 1].tree]
    return list(zip([0, *changes], [*changes, len(closures)], strict=True))
