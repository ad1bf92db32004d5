"""Inside a wide node: parts that share inputs.

A set A of a node's children is a *part given K* when only inputs of A and K turn the slopes along A. At fixed values
of K all of A then acts through one number: f = F(g(x_A, x_K), x_K, rest). The table of turns is canonical, the graph
that is drawn from it is a choice where parts overlap. The rule: of all choices of K, the one whose largest node is
smallest, then the next largest, and so on; then the one whose names come first. At fixed K the parts are the strong
modules of what is left, so that one closure gives them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations

import numpy as np

from compsparse.discovery.structure.closure import close
from compsparse.discovery.structure.forest import Members, Part
from compsparse.graph.modules import ModuleTree


def conditional_parts(turned: np.ndarray, children: Sequence[Members]) -> Part | None:
    """The wide node drawn with parts that share inputs, by the rule above; None where that saves nothing.

    Args:
        turned: (children, children, children): whether the last turns the pair, or may do so unseen.
    """
    drawing = _Drawing(turned, children)
    whole = drawing.smallest(frozenset(range(len(children))), frozenset())
    return whole if whole.sizes[0] < len(children) else None


class _Drawing:
    """All ways to draw a wide node; children go by their numbers."""

    def __init__(self, turned: np.ndarray, children: Sequence[Members]):
        self._turned, self._children = turned, children
        self.smallest = cache(self._smallest)

    def _smallest(self, items: frozenset[int], given: frozenset[int]) -> Part:
        """A node over some children, at fixed values of others, drawn by the best choice of what else is fixed."""
        found = [self._of_choice(items, given, extra) for extra in self._choices(items)]
        return min(found, key=lambda part: (part.sizes, [sorted(inner.members) for inner in part.inner]))

    def _choices(self, items: frozenset[int]) -> list[frozenset[int]]:
        """What may be held fixed: nothing, or all that turns some pair, where something is left to tell of."""
        of_pairs = (self._turning(frozenset(pair)) & items for pair in combinations(sorted(items), 2))
        return [frozenset(), *sorted({extra for extra in of_pairs if len(extra) < len(items) - 2}, key=sorted)]

    def _of_choice(self, items: frozenset[int], given: frozenset[int], extra: frozenset[int]) -> Part:
        rest = sorted(items - extra)
        tree = close(self._turned[np.ix_(rest, rest, rest)], tuple(map(str, rest))).tree
        return self._of_tree(tree, given | extra, given)

    def _of_tree(self, tree: ModuleTree, known: frozenset[int], given: frozenset[int]) -> Part:
        """A module at fixed values of ``known``; ``given`` are those of them that the rest reads too."""
        if tree.kind == "complete" and len(tree.children) > 2:
            return self._folded(tree.children, known, given)
        return self._node([self._child(module, known) for module in tree.children], known, given)

    def _folded(self, modules: Sequence[ModuleTree], known: frozenset[int], given: frozenset[int]) -> Part:
        """What can be regrouped at will: two at a time, in their order."""
        part = self._child(modules[0], known)
        for count, module in enumerate(modules[1:], start=2):
            members = _numbers(*modules[:count])
            is_whole = count == len(modules)
            fixed = known if is_whole else known & self._turning(members)
            part = self._node([part, self._child(module, known)], fixed, given if is_whole else fixed)
        assert isinstance(part, Part)
        return part

    def _child(self, module: ModuleTree, known: frozenset[int]) -> Members | Part:
        members = _numbers(module)
        if not module.children:
            return self._children[min(members)]
        fixed = known & self._turning(members)
        if module.kind == "prime" and len(module.children) > 2:
            return self.smallest(members, fixed)
        return self._of_tree(module, fixed, fixed)

    def _turning(self, members: frozenset[int]) -> frozenset[int]:
        """All that turns some pair of them, from outside."""
        inside = sorted(members)
        return frozenset(np.flatnonzero(self._turned[np.ix_(inside, inside)].any((0, 1))).tolist()) - members

    def _node(self, reads: list[Members | Part], known: frozenset[int], given: frozenset[int]) -> Part:
        shared = [self._children[k] for k in sorted(known)]
        return Part((*reads, *shared), frozenset(self._children[k] for k in given))


def _numbers(*modules: ModuleTree) -> frozenset[int]:
    return frozenset(int(number) for module in modules for number in module.members)
