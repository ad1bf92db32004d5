"""Modules that pass more than one number: groups of a prime node's children with r channels.

A set S passes r channels when, at fixed x_S, the gradients grad_S f over all contexts span at most
r dimensions. The smallest such set that holds given r + 1 children is a closure again: add every
child whose swaps raise the rank of some r + 1 columns above r. What swaps of one child at a time
suggest is then put to the test with contexts that change in all children at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from compsparse.discovery.forest import Members
from compsparse.discovery.queries.search import QuerySearch
from compsparse.discovery.queries.settings import (
    BUNDLE_BASES,
    BUNDLE_VALUES,
    CHANNELS_TRIED,
    CHILDREN_OF_BUNDLES,
    CLEARLY_SPANNED,
)
from compsparse.discovery.queries.sheets import random_points
from compsparse.graph.modules import ModuleTree


@dataclass(frozen=True)
class Bundle:
    """Children of a prime node that pass ``channels`` numbers together.

    Attributes:
        beyond: the largest singular value beyond those of the channels, in units of its error.
        threshold: what it was held against.
    """

    children: tuple[ModuleTree, ...]
    channels: int
    beyond: float
    threshold: float

    @property
    def members(self) -> Members:
        """The inputs of all children."""
        return frozenset(name for child in self.children for name in child.members)


def find_bundles(search: QuerySearch, output: int) -> list[Bundle]:
    """Bundles in all prime nodes of an output's tree that have enough children to save wires."""
    nodes = [
        m for m in search.decisions[output].tree.inner if m.kind == "prime" and len(m.children) in CHILDREN_OF_BUNDLES
    ]
    return [bundle for node in nodes for bundle in _Node(search, output, node).bundles()]


def with_bundles(tree: ModuleTree, bundles: Sequence[Bundle]) -> ModuleTree:
    """The tree with every bundle, smallest first, as a node of its own."""
    children = [with_bundles(child, bundles) for child in tree.children]
    for bundle in bundles:
        inside = [c for c in children if c.members < bundle.members]
        if bundle.members < tree.members and frozenset().union(*(c.members for c in inside)) == bundle.members:
            place = children.index(inside[0])
            children = [c for c in children if c not in inside]
            children.insert(place, ModuleTree(bundle.members, "prime", tuple(inside)))
    return ModuleTree(tree.members, tree.kind, tuple(children))


class _Node:
    """One prime node; each child is watched through the member whose derivative is known best."""

    def __init__(self, search: QuerySearch, output: int, node: ModuleTree):
        self._search, self._output = search, output
        self.children = node.children
        position = {name: i for i, name in enumerate(search.names)}
        self.inputs = [np.array(sorted(position[m] for m in c.members)) for c in node.children]
        error = search.relative_errors(output)
        self.watched = np.array([min(members, key=lambda i: error[i]) for members in self.inputs])
        # halfway between the least score that can mean something and the one that surely does
        self.threshold = float(np.sqrt(search.limits.low * search.decisions[output].threshold))

    @property
    def n(self) -> int:
        return len(self.children)

    def bundles(self) -> list[Bundle]:
        """Verified bundles, smallest first; sets that overlap without nesting are no one's and left out."""
        slopes = self._slopes_along_children()
        found: list[tuple[np.ndarray, Bundle]] = []
        for rank in CHANNELS_TRIED:
            sets = self._closures(slopes, rank)
            for members in sets:
                others = [*sets, *(taken for taken, _ in found)]
                if any(_overlap(members, other) for other in others) or self._wires(members, found) < 2 * rank:
                    continue
                bundle = self._verified(members, rank)
                if bundle is not None:
                    found.append((members, bundle))
        return [bundle for _, bundle in found]

    def _wires(self, members: np.ndarray, found: list[tuple[np.ndarray, Bundle]]) -> int:
        """Numbers that enter a set, where bundles inside it are wires already."""
        inside = [(taken, bundle) for taken, bundle in found if not (taken & ~members).any()]
        saved = sum(int(taken.sum()) - bundle.channels for taken, bundle in inside)
        return int(members.sum()) - saved

    # ---- one child at a time -------------------------------------------------------------

    def _slopes_along_children(self) -> np.ndarray:
        """Gradients in units of their error, ``(bases, children, values, children)``: each child takes some values."""
        blocks = []
        for _ in range(BUNDLE_BASES):
            base = self._base()
            points = np.repeat(base[None], self.n * BUNDLE_VALUES, axis=0).reshape(self.n, BUNDLE_VALUES, -1)
            for child, members in enumerate(self.inputs):
                points[child][:, members] = self._random(BUNDLE_VALUES)[:, members]
            blocks.append(self._whitened(points.reshape(self.n * BUNDLE_VALUES, -1), np.arange(self.n)))
        return np.stack(blocks).reshape(BUNDLE_BASES, self.n, BUNDLE_VALUES, self.n)

    def _closures(self, slopes: np.ndarray, rank: int) -> list[np.ndarray]:
        """Distinct closures of all ``rank + 1`` children that are worth a wire of that width."""
        starts = np.array(list(combinations(range(self.n), rank + 1)))
        columns = slopes[..., starts].transpose(0, 1, 3, 2, 4)
        smallest = np.linalg.svd(columns, compute_uv=False)[..., -1].max(axis=0)
        inside = np.zeros((len(starts), self.n), dtype=bool)
        inside[np.arange(len(starts))[:, None], starts] = True
        raises = (self.threshold < smallest.T) & ~inside
        sets = inside.copy()
        while True:
            holds = sets.astype(int) @ inside.T.astype(int) == rank + 1
            grown = sets | (holds.astype(int) @ raises.astype(int) > 0)
            if (grown == sets).all():
                break
            sets = np.unique(grown, axis=0)
        size = sets.sum(axis=1)
        chosen = np.unique(sets[(size >= 2 * rank) & (size < self.n)], axis=0)
        return sorted(chosen, key=np.sum)

    # ---- all other children at once ------------------------------------------------------

    def _verified(self, members: np.ndarray, rank: int) -> Bundle | None:
        """The bundle, if gradients over joint contexts span ``rank`` dimensions clearly and no more."""
        kept = np.concatenate([self.inputs[c] for c in np.flatnonzero(members)])
        last, beyond = [], []
        for _ in range(BUNDLE_BASES):
            points = self._random(3 * rank + 4)
            points[:, kept] = self._base()[kept]
            values = np.linalg.svd(self._whitened(points, np.flatnonzero(members)), compute_uv=False)
            last.append(values[rank - 1])
            beyond.append(values[rank])
        if max(beyond) > self.threshold or max(last) < CLEARLY_SPANNED * self.threshold:
            return None
        children = tuple(c for c, chosen in zip(self.children, members, strict=True) if chosen)
        return Bundle(children, rank, float(max(beyond)), self.threshold)

    def _whitened(self, points: np.ndarray, children: np.ndarray) -> np.ndarray:
        watched = self.watched[children]
        slopes = self._search.slopes(points, np.sort(watched))
        whitened = slopes.gradients[0, :, self._output, watched] / slopes.errors[:, self._output, watched].T
        usable = np.isfinite(whitened).all(axis=0)
        return np.where(usable, whitened, 0.0).T

    def _base(self) -> np.ndarray:
        everything = np.concatenate(self.inputs)
        return self._search.lively_base(everything, self.watched)

    def _random(self, n: int) -> np.ndarray:
        return random_points(n, self._search.slopes.margin, self._search.rng)


def _overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two sets meet without one holding the other."""
    return bool((one & other).any() and (one & ~other).any() and (other & ~one).any())
