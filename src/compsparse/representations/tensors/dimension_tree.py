"""Binary trees over the inputs of a function: along which hierarchical Tucker splits a tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from compsparse.checks import brief, check_count, check_kind, check_list
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph, ModuleTree
from compsparse.graph.function_graph import check_graph
from compsparse.text import in_a_line

MOST_DIRECTIONS = 500
"""Most directions of a tensor here: trees are followed by recursion."""


@in_a_line
@dataclass(frozen=True)
class DimensionTree:
    """One input, or two trees joined.

    Attributes:
        members: positions of the inputs below, from left to right.
        children: the left and the right part; a leaf has none.

    >>> tree = DimensionTree.from_nested(((0, 1), (2, 3)))
    >>> [t.members for t in tree.bottom_up()]
    [(0,), (1,), (0, 1), (2,), (3,), (2, 3), (0, 1, 2, 3)]
    """

    members: tuple[int, ...]
    children: tuple[DimensionTree, ...] = ()

    def __post_init__(self) -> None:
        for name in ("members", "children"):
            object.__setattr__(self, name, tuple(check_list(f"the {name} of a dimension tree", getattr(self, name))))
        for child in self.children:
            check_kind("a child of a dimension tree", child, DimensionTree)
        if not self.children:
            if len(self.members) != 1:
                raise ConfigError(f"a leaf of a dimension tree holds one input, got {brief(self.members)}")
            object.__setattr__(self, "members", (check_count("a leaf's input", self.members[0], least=0),))
            return
        if len(self.children) != 2 or self.members != self.children[0].members + self.children[1].members:
            raise ConfigError("a dimension tree joins two trees, and its members are theirs; use DimensionTree.join")
        if len(set(self.members)) != len(self.members):
            raise ConfigError(f"a dimension tree holds every input once, got {brief(self.members)}")

    @classmethod
    def leaf(cls, position: int) -> DimensionTree:
        """The tree of one input."""
        return cls((position,))

    @classmethod
    def join(cls, left: DimensionTree, right: DimensionTree) -> DimensionTree:
        """The tree whose parts are the two given ones."""
        for part in (left, right):
            check_kind("a part of a dimension tree", part, DimensionTree)
        return cls(left.members + right.members, (left, right))

    @classmethod
    def from_nested(cls, groups: Any) -> DimensionTree:
        """From nested pairs of positions, such as ``((0, 1), (2, 3))``; longer groups are halved."""
        if not isinstance(groups, list | tuple):
            return cls.leaf(groups)
        return cls._joined([cls.from_nested(part) for part in groups])

    @classmethod
    def balanced(cls, n_inputs: int) -> DimensionTree:
        """Neighbours are joined in halves."""
        n_inputs = check_count("n_inputs", n_inputs, most=MOST_DIRECTIONS)
        return cls._joined([cls.leaf(i) for i in range(n_inputs)])

    @classmethod
    def linear(cls, n_inputs: int) -> DimensionTree:
        """The tree of a tensor train: one input after the other."""
        tree = cls.leaf(0)
        for i in range(1, check_count("n_inputs", n_inputs, most=MOST_DIRECTIONS)):
            tree = cls.join(tree, cls.leaf(i))
        return tree

    @classmethod
    def from_graph(cls, graph: FunctionGraph) -> DimensionTree:
        """The tree of a graph's modules.

        Modules with more than two parts are halved, which is free for sums and products (any grouping of a complete
        node is a module) and a choice for others. Inert inputs join at the top, where their rank is 1.

        >>> graph = FunctionGraph.from_expression("sin(a*c) + b*d", ["a", "b", "c", "d"])
        >>> DimensionTree.from_graph(graph).members
        (0, 2, 1, 3)
        """
        check_graph("graph", graph)
        position = {name: i for i, name in enumerate(graph.inputs)}

        def grown(module: ModuleTree) -> DimensionTree:
            if not module.children:
                return cls.leaf(position[next(iter(module.members))])
            return cls._joined([grown(part) for part in module.children])

        parts = [grown(graph.module_tree)] if graph.module_tree.members else []
        idle = [cls.leaf(position[name]) for name in graph.unread]
        return cls._joined([*parts, cls._joined(idle)] if idle else parts)

    @classmethod
    def _joined(cls, parts: Sequence[DimensionTree]) -> DimensionTree:
        if not parts:
            raise ConfigError("a dimension tree needs at least one input")
        if len(parts) == 1:
            return parts[0]
        half = (len(parts) + 1) // 2
        return cls.join(cls._joined(parts[:half]), cls._joined(parts[half:]))

    @property
    def n_inputs(self) -> int:
        """Number of inputs below."""
        return len(self.members)

    @property
    def is_leaf(self) -> bool:
        """Whether this is one input."""
        return not self.children

    def bottom_up(self) -> Iterator[DimensionTree]:
        """All parts, children before the part that joins them; the whole comes last."""
        for child in self.children:
            yield from child.bottom_up()
        yield self


def check_tree(tree: Any, n_inputs: int) -> DimensionTree:
    """A dimension tree over the inputs 0 … n - 1, each of them once."""
    if not isinstance(tree, DimensionTree):
        raise ConfigError(
            f"tree must be a DimensionTree, such as DimensionTree.balanced({n_inputs}), got {brief(tree)}"
        )
    if sorted(tree.members) != list(range(n_inputs)):
        raise ConfigError(f"the tree must hold the inputs 0 to {n_inputs - 1}, each once, got {brief(tree.members)}")
    return tree
