"""Trees written as nested groups of inputs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from compsparse.checks import MOST_VARIABLES, brief, check_name_list
from compsparse.errors import GraphError
from compsparse.graph.function_graph import FunctionGraph, Kind, Node

_NODE_NAME = re.compile(r"g\d+_*")


class complete(tuple[Any, ...]):
    """A group whose regroupings are modules too: a sum, a product, a norm.

    >>> graph = FunctionGraph.from_groups([complete("a", "b", "c"), "d"])
    >>> [(sorted(m.members), m.kind) for m in graph.module_tree.inner]
    [(['a', 'b', 'c', 'd'], 'prime'), (['a', 'b', 'c'], 'complete')]
    """

    __slots__ = ()

    def __new__(cls, *members: Any) -> complete:
        return super().__new__(cls, members)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)  # copies and pickles call __new__ with the members

    def __repr__(self) -> str:
        return f"complete{super().__repr__()}"


def from_groups(groups: Any, inputs: Sequence[str] | None = None) -> FunctionGraph:
    """The tree whose nodes are the groups: ``[["a", "b"], ["c", "d"]]``.

    Args:
        groups: nested sequences of input names, or of positions when ``inputs`` is given.
        inputs: all inputs in order; by default the names in the order they appear.
    """
    if isinstance(groups, str) or not isinstance(groups, Sequence):
        raise GraphError(f"expected nested groups of inputs such as [['a', 'b'], 'c'], got {brief(groups)}")
    if inputs is not None:
        inputs = check_name_list("inputs", inputs)
    nodes: list[Node] = []
    leaves: list[str] = []
    positions: list[int] = []

    def add(group: Any) -> str:
        if isinstance(group, str) or not isinstance(group, Sequence):
            if not isinstance(group, str) and isinstance(group, (int, np.integer)):
                positions.append(int(group))
            leaves.append(_leaf(group, inputs))
            return leaves[-1]
        if not group:
            raise GraphError("a group of inputs is empty")
        parents = tuple(add(member) for member in group)
        kind: Kind = "complete" if isinstance(group, complete) else "prime"
        nodes.append(Node(f"g{len(nodes)}{mark}", parents, kind=kind))
        return nodes[-1].name

    mark = "" if inputs is None or not any(_NODE_NAME.fullmatch(name) for name in inputs) else "_"
    try:
        root = add(groups)
    except RecursionError:
        raise GraphError("the groups nest too deep to be read") from None
    for name, count in Counter(leaves).items():
        if count > 1:
            raise GraphError(f"input {name!r} stands in two groups")
    if inputs is None:
        # inputs given by position stand in that order, those left out are inert
        inputs = [f"x{i}" for i in range(1 + max(positions))] if len(positions) == len(leaves) else leaves
    return FunctionGraph(inputs, nodes, [root])


def _leaf(member: Any, inputs: Sequence[str] | None) -> str:
    if isinstance(member, str):
        if inputs is not None and member not in inputs:
            raise GraphError(f"group member {brief(member)} is not among the inputs {brief(list(inputs))}")
        return member
    if isinstance(member, (int, np.integer)) and 0 <= member < (MOST_VARIABLES if inputs is None else len(inputs)):
        return f"x{member}" if inputs is None else inputs[int(member)]
    raise GraphError(f"group member {member!r} is neither an input's name nor its position")
