"""One graph from the module trees of several outputs: a module they share becomes one node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from compsparse.errors import GraphError
from compsparse.graph import FunctionGraph, Node
from compsparse.graph.modules import ModuleTree

Members = frozenset[str]
"""Names of the inputs that a module is made of."""
SameModule = Callable[[Members, str, str], bool]
"""Whether two outputs use one and the same function of these members."""


def never_shared(members: Members, one: str, other: str) -> bool:
    """Every output has functions of its own."""
    return False


def users_of_modules(trees: Mapping[str, ModuleTree], same: SameModule) -> list[tuple[Members, tuple[str, ...]]]:
    """Every inner module with the outputs that use it; one entry per distinct function.

    ``same`` is asked only about modules of equal members.
    """
    found: dict[Members, list[list[str]]] = {}
    for output, tree in trees.items():
        for module in tree.inner:
            classes = found.setdefault(module.members, [])
            for users in classes:
                if same(module.members, users[0], output):
                    users.append(output)
                    break
            else:
                classes.append([output])
    return [(members, tuple(users)) for members, classes in found.items() for users in classes]


def grow_forest(
    inputs: Sequence[str],
    trees: Mapping[str, ModuleTree],
    same: SameModule = never_shared,
    channels: Mapping[tuple[Members, str], int] | None = None,
) -> FunctionGraph:
    """The graph of several outputs from the tree of each.

    The node of an output carries the output's name; inner nodes are called m0, m1, …. A module
    that is the whole of one output and is used by another becomes an inner node of its own.

    Args:
        channels: width of the wire of (members, output), where it is not 1.
    """
    channels = channels or {}
    taken = {*inputs, *trees}
    if len(taken) < len(inputs) + len(trees):
        raise GraphError("inputs and outputs must have different names")
    nodes: list[Node] = []
    name_of: dict[tuple[Members, str], str] = {(frozenset([name]), output): name for name in inputs for output in trees}
    fresh = (name for i in range(10**9) if (name := f"m{i}") not in taken)
    whole = {output: tree.members for output, tree in trees.items()}
    tree_of = {(m.members, output): m for output, tree in trees.items() for m in tree.inner}
    for members, users in sorted(users_of_modules(trees, same), key=lambda entry: len(entry[0])):
        is_one_output = len(users) == 1 and whole[users[0]] == members
        name = users[0] if is_one_output else next(fresh)
        module = tree_of[members, users[0]]
        parents = tuple(name_of[child.members, users[0]] for child in module.children)
        width = max(channels.get((members, user), 1) for user in users)
        nodes.append(Node(name, parents, kind=module.kind, channels=width))
        name_of |= {(members, user): name for user in users}
    for output, tree in trees.items():
        if name_of[tree.members, output] != output:
            nodes.append(Node(output, (name_of[tree.members, output],)))
    # outputs may split a shared module differently; the first one's way stays
    return FunctionGraph(inputs, nodes, tuple(trees)).pruned()
