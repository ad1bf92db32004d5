"""Trees written as nested groups of inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from compsparse.errors import GraphError
from compsparse.graph.function_graph import FunctionGraph, Kind, Node


class complete(tuple):
    """A group whose regroupings are modules too: a sum, a product, a norm.

    >>> graph = FunctionGraph.from_groups([complete("a", "b", "c"), "d"])
    >>> [(sorted(m.members), m.kind) for m in graph.module_tree.inner]
    [(['a', 'b', 'c', 'd'], 'prime'), (['a', 'b', 'c'], 'complete')]
    """

    __slots__ = ()

    def __new__(cls, *members: Any) -> complete:
        return super().__new__(cls, members)

    def __repr__(self) -> str:
        return f"complete{super().__repr__()}"


def from_groups(groups: Any, inputs: Sequence[str] | None = None) -> FunctionGraph:
    """The tree whose nodes are the groups: ``[["a", "b"], ["c", "d"]]``.

    Args:
        groups: nested sequences of input names, or of positions when ``inputs`` is given.
        inputs: all inputs in order; by default the names in the order they appear.
    """
    if isinstance(groups, str) or not isinstance(groups, Sequence):
        raise GraphError(f"expected nested groups of inputs such as [['a', 'b'], 'c'], got {groups!r}")
    nodes: list[Node] = []
    leaves: list[str] = []

    def add(group: Any) -> str:
        if isinstance(group, str) or not isinstance(group, Sequence):
            leaves.append(_leaf(group, inputs))
            return leaves[-1]
        if not group:
            raise GraphError("a group of inputs is empty")
        parents = tuple(add(member) for member in group)
        kind: Kind = "complete" if isinstance(group, complete) else "prime"
        nodes.append(Node(f"g{len(nodes)}", parents, kind=kind))
        return nodes[-1].name

    root = add(groups)
    for name, count in Counter(leaves).items():
        if count > 1:
            raise GraphError(f"input {name!r} stands in two groups")
    return FunctionGraph(_in_order(leaves) if inputs is None else inputs, nodes, [root])


def _in_order(leaves: list[str]) -> list[str]:
    """Inputs given as positions stand in that order, with those left out as inert ones."""
    numbers = [name[1:] for name in leaves]
    if all(name[0] == "x" and number.isdigit() for name, number in zip(leaves, numbers, strict=True)):
        return [f"x{i}" for i in range(1 + max(map(int, numbers)))]
    return leaves


def _leaf(member: Any, inputs: Sequence[str] | None) -> str:
    if isinstance(member, str):
        if inputs is not None and member not in inputs:
            raise GraphError(f"group member {member!r} is not among the inputs {list(inputs)}")
        return member
    if isinstance(member, int) and inputs is None:
        return f"x{member}"
    if isinstance(member, int) and inputs is not None and 0 <= member < len(inputs):
        return inputs[member]
    raise GraphError(f"group member {member!r} is neither an input's name nor its position")
