"""Families of graphs (trees, chains, random graphs, convolutional pyramids), and trees written as nested groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from compsparse.checks import (
    MOST_VARIABLES,
    RandomState,
    brief,
    check_count,
    check_name_list,
    generator_from,
    input_names,
    suggests_options,
)
from compsparse.errors import ConfigError, GraphError
from compsparse.graph.constituent import Constituent
from compsparse.graph.function_graph import FunctionGraph, Kind, Node

ConstituentChoice = Constituent | Callable[[int], Constituent | None] | None
"""A constituent for every node, or a function from a node's arity to its constituent."""


MOST_JOINED = 5000
"""Most inputs, and nodes, of a random graph: drawing them takes time that grows with the square."""


def single_node(n_inputs: int, constituent: ConstituentChoice = None) -> FunctionGraph:
    """One node over all inputs: the graph of a function without structure."""
    names = _inputs(n_inputs)
    return FunctionGraph(names, [_node("y", names, constituent)])


@suggests_options
def balanced_tree(n_inputs: int, arity: int = 2, constituent: ConstituentChoice = None) -> FunctionGraph:
    """A tree whose nodes join ``arity`` neighbours, level by level, until one is left.

    >>> balanced_tree(8).depth, balanced_tree(8).size
    (3, 7)
    """
    names, arity = _inputs(n_inputs), check_count("arity", arity, least=2)
    level = list(names)
    nodes: list[Node] = []
    while len(level) > 1:
        above = []
        for start in range(0, len(level), arity):
            group = level[start : start + arity]
            if len(group) > 1:
                nodes.append(_node(f"h{len(nodes)}", group, constituent))
            above.append(nodes[-1].name if len(group) > 1 else group[0])
        level = above
    return FunctionGraph(names, nodes, level)


@suggests_options
def chain(n_inputs: int, constituent: ConstituentChoice = None) -> FunctionGraph:
    """h(h(h(x0, x1), x2), x3) …: the deepest binary tree."""
    names = _inputs(n_inputs, least=2)
    nodes = [_node("h0", names[:2], constituent)]
    for i, name in enumerate(names[2:], start=1):
        nodes.append(_node(f"h{i}", (nodes[-1].name, name), constituent))
    return FunctionGraph(names, nodes)


@suggests_options
def random_tree(
    n_inputs: int,
    max_arity: int = 2,
    constituent: ConstituentChoice = None,
    random_state: RandomState = None,
) -> FunctionGraph:
    """A tree that joins random parts, each node taking 2 to ``max_arity`` of them."""
    names, max_arity = _inputs(n_inputs, most=MOST_JOINED), check_count("max_arity", max_arity, least=2)
    max_arity = min(max_arity, max(len(names), 2))
    rng = generator_from(random_state)
    parts = list(names)
    nodes: list[Node] = []
    while len(parts) > 1:
        k = min(len(parts), int(rng.integers(2, max_arity + 1)))
        chosen = sorted(rng.choice(len(parts), size=k, replace=False))
        nodes.append(_node(f"h{len(nodes)}", [parts[i] for i in chosen], constituent))
        parts = [p for i, p in enumerate(parts) if i not in chosen] + [nodes[-1].name]
    return FunctionGraph(names, nodes, parts)


@suggests_options
def random_dag(
    n_inputs: int,
    n_nodes: int,
    max_arity: int = 2,
    constituent: ConstituentChoice = None,
    random_state: RandomState = None,
) -> FunctionGraph:
    """A graph with bounded in-degree in which every input and node reaches the output.

    Each node takes 2 to ``max_arity`` earlier values, those that nothing uses yet first once
    there is just enough room left to use them all.
    """
    n_inputs = check_count("n_inputs", n_inputs, least=2, most=MOST_JOINED)
    n_nodes, max_arity = check_count("n_nodes", n_nodes), check_count("max_arity", max_arity, least=2)
    fewest = -(-(n_inputs - 1) // (max_arity - 1))
    if n_nodes < fewest:
        raise ConfigError(
            f"{n_nodes} nodes of at most {max_arity} parents cannot join {n_inputs} inputs: "
            f"at least {fewest} nodes are needed"
        )
    check_count("n_nodes", n_nodes, most=MOST_JOINED)
    max_arity = min(max_arity, n_inputs + n_nodes)
    rng = generator_from(random_state)
    values, unused, nodes = list(input_names(n_inputs)), list(input_names(n_inputs)), []
    for i in range(n_nodes):
        k = min(len(values), int(rng.integers(2, max_arity + 1)))
        left = n_nodes - i - 1
        # after this node, each later one can retire max_arity - 1 unused values
        must = max(0, len(unused) + 1 - (1 + left * (max_arity - 1)))
        k = max(k, must)
        first = list(rng.choice(unused, size=min(must, len(unused)), replace=False))
        rest = [v for v in values if v not in first]
        parents = first + list(rng.choice(rest, size=k - len(first), replace=False))
        nodes.append(_node(f"h{i}", [str(p) for p in sorted(parents, key=values.index)], constituent))
        unused = [u for u in unused if u not in parents] + [nodes[-1].name]
        values.append(nodes[-1].name)
    return FunctionGraph(input_names(n_inputs), nodes, unused)


@suggests_options
def pyramid(
    n_inputs: int, kernel: int, stride: int, n_levels: int | None = None, constituent: ConstituentChoice = None
) -> FunctionGraph:
    """Levels of patches, ``kernel`` wide and ``stride`` apart: the graph of a convolutional network.

    Args:
        n_levels: stop after so many levels and join what is left in one node; by default
            levels are added until one node remains.

    >>> pyramid(15, kernel=3, stride=2).size
    11
    """
    n_inputs = len(_inputs(n_inputs))
    n_levels = None if n_levels is None else check_count("n_levels", n_levels)
    kernel, stride = check_count("kernel", kernel, least=2), check_count("stride", stride)
    if stride > kernel:
        raise ConfigError(f"stride {stride} is larger than the kernel {kernel}: some inputs would be skipped")
    names = input_names(n_inputs)
    if n_inputs < kernel:
        raise ConfigError(f"{n_inputs} inputs are fewer than the kernel's {kernel}")
    level: Sequence[str] = names
    nodes: list[Node] = []
    for done in count():
        if len(level) == 1 or done == n_levels:
            break
        if (len(level) - kernel) % stride or len(level) < kernel:
            raise ConfigError(f"patches of {kernel} at stride {stride} do not cover a level of {len(level)} exactly")
        starts = range(0, len(level) - kernel + 1, stride)
        new = [_node(f"h{len(nodes) + i}", level[s : s + kernel], constituent) for i, s in enumerate(starts)]
        nodes += new
        level = [n.name for n in new]
    if len(level) > 1:
        nodes.append(_node("y", level, constituent))
    return FunctionGraph(names, nodes, [nodes[-1].name])


def _inputs(n_inputs: int, least: int = 1, most: int = MOST_VARIABLES) -> tuple[str, ...]:
    return input_names(check_count("n_inputs", n_inputs, least, most))


def _node(name: str, parents: Sequence[str], choice: ConstituentChoice) -> Node:
    if choice is not None and not isinstance(choice, Constituent) and not callable(choice):
        raise ConfigError(f"constituent must be a Constituent, or a function from arity to one, got {brief(choice)}")
    constituent = choice if isinstance(choice, Constituent) or choice is None else choice(len(parents))
    return Node(name, tuple(parents), constituent)


# ---- trees written as nested groups of inputs -------------------------------------------------------


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
    for name, times in Counter(leaves).items():
        if times > 1:
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
