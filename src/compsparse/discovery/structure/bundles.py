"""Modules that pass more than one number: groups of a prime node's children with r channels.

A set S passes r channels when, at fixed x_S, the gradients grad_S f over all contexts span at most
r dimensions. The smallest such set that holds given r + 1 children is a closure again: add every
child whose swaps raise the rank of some r + 1 columns above r. What swaps of one child at a time
suggest is then put to the test with contexts that change in all children at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from compsparse.discovery.structure.forest import Members
from compsparse.graph.modules import ModuleTree

CHANNELS_TRIED = (2, 3)


@dataclass(frozen=True)
class Bundle:
    """Children of a prime node that pass ``channels`` numbers together.

    Attributes:
        beyond: the largest sign of a further channel, in units of its error.
        threshold: what it was held against.
        last: the same of the last channel that there is.
    """

    children: tuple[ModuleTree, ...]
    channels: int
    beyond: float
    threshold: float
    last: float

    @property
    def members(self) -> Members:
        """The inputs of all children."""
        return frozenset(name for child in self.children for name in child.members)


def prime_nodes(tree: ModuleTree, n_children: Iterable[int]) -> list[ModuleTree]:
    """Nodes among whose children bundles may be: prime, and of as many children as are asked for."""
    return [m for m in tree.inner if m.kind == "prime" and len(m.children) in n_children]


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


class PrimeNode(ABC):
    """A prime node whose gradients can be measured, one column a child."""

    children: tuple[ModuleTree, ...]

    @property
    def n(self) -> int:
        """Number of children."""
        return len(self.children)

    @abstractmethod
    def raises(self, starts: np.ndarray) -> np.ndarray:
        """(starts, children): whether swaps of a child raise the rank of some r + 1 columns above r.

        Args:
            starts: (starts, r + 1) all sets of so many children, in the order of :func:`itertools.combinations`.
        """

    @abstractmethod
    def verified(self, members: np.ndarray, rank: int) -> Bundle | None:
        """The bundle, if gradients over joint contexts span ``rank`` dimensions clearly and no more.

        Args:
            members: (children,) which of them are inside.
        """

    def bundles(self) -> list[Bundle]:
        """Verified bundles, smallest first; sets that overlap without nesting are no one's and left out."""
        found: list[tuple[np.ndarray, Bundle]] = []
        for rank in CHANNELS_TRIED:
            sets = self._closures(rank)
            for members in sets:
                others = [*sets, *(taken for taken, _ in found)]
                if any(_overlap(members, other) for other in others) or _wires(members, found) < 2 * rank:
                    continue
                bundle = self.verified(members, rank)
                if bundle is not None:
                    found.append((members, bundle))
        return [bundle for _, bundle in found]

    def _closures(self, rank: int) -> list[np.ndarray]:
        """Distinct closures of all ``rank + 1`` children that are worth a wire of that width."""
        starts = np.array(list(combinations(range(self.n), rank + 1)))
        inside = np.zeros((len(starts), self.n), dtype=bool)
        inside[np.arange(len(starts))[:, None], starts] = True
        raises = self.raises(starts) & ~inside
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


def _wires(members: np.ndarray, found: list[tuple[np.ndarray, Bundle]]) -> int:
    """Numbers that enter a set, where bundles inside it are wires already."""
    inside = [(taken, bundle) for taken, bundle in found if not (taken & ~members).any()]
    saved = sum(int(taken.sum()) - bundle.channels for taken, bundle in inside)
    return int(members.sum()) - saved


def _overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two sets meet without one holding the other."""
    return bool((one & other).any() and (one & ~other).any() and (other & ~one).any())
