"""One graph from the module trees of several outputs: a module they share becomes one node.

A wide node may be drawn with parts that share inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from compsparse.errors import GraphError
from compsparse.graph import Constituent, FunctionGraph, Kind, Node
from compsparse.graph.modules import ModuleTree

Members = frozenset[str]
"""Names of the inputs that a module is made of."""
SameModule = Callable[[Members, str, str], bool]
"""Whether two outputs use one and the same function of these members."""


@dataclass(frozen=True)
class Part:
    """A node inside a wide node.

    Attributes:
        reads: children of the wide node, by their inputs, and further parts.
        given: the children of the wide node that it shares with what lies outside of it.
        kind, constituent: as of any node.
    """

    reads: tuple[Members | Part, ...]
    given: frozenset[Members] = frozenset()
    kind: Kind | None = None
    constituent: Constituent | None = None

    @property
    def members(self) -> Members:
        """All inputs that it depends on, shared ones too."""
        return frozenset().union(*(r.members if isinstance(r, Part) else r for r in self.reads))

    @property
    def shared(self) -> Members:
        """The inputs that it shares with what lies outside of it."""
        return frozenset().union(*self.given)

    @property
    def inner(self) -> Iterator[Part]:
        """The parts below it, each before those that read it."""
        for part in self.reads:
            if isinstance(part, Part):
                yield from part.inner
                yield part

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many parents its nodes have, the largest first; a sum or product counts as the two that it joins."""
        own = 2 if self.kind == "complete" else len(self.reads)
        below = (size for part in self.reads if isinstance(part, Part) for size in part.sizes)
        return tuple(sorted((own, *below), reverse=True))


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
    insides: Mapping[tuple[Members, str], Part] | None = None,
) -> FunctionGraph:
    """The graph of several outputs from the tree of each.

    The node of an output carries the output's name; inner nodes are called m0, m1, …. A module
    that is the whole of one output and is used by another becomes an inner node of its own.

    Args:
        channels: width of the wire of (members, output), where it is not 1.
        insides: how the module of (members, output) is drawn, where its parts share inputs.
    """
    channels, insides = channels or {}, insides or {}
    below: dict[Members | Part, str]
    taken = {*inputs, *trees}
    if len(taken) < len(inputs) + len(trees):
        raise GraphError("inputs and outputs must have different names")
    nodes: list[Node] = []
    name_of: dict[tuple[Members, str], str] = {(frozenset([name]), output): name for name in inputs for output in trees}
    fresh = (free for i in count() if (free := f"m{i}") not in taken)
    whole = {output: tree.members for output, tree in trees.items()}
    tree_of = {(m.members, output): m for output, tree in trees.items() for m in tree.inner}
    for members, users in sorted(users_of_modules(trees, same), key=lambda entry: len(entry[0])):
        module = tree_of[members, users[0]]
        inside = insides.get((members, users[0])) or Part(tuple(c.members for c in module.children), kind=module.kind)
        below = {m: n for (m, user), n in name_of.items() if user == users[0]}
        for part in inside.inner:
            below[part] = next(fresh)
            reads = tuple(below[read] for read in part.reads)
            nodes.append(Node(below[part], reads, part.constituent, part.kind))
        is_one_output = len(users) == 1 and whole[users[0]] == members
        name = users[0] if is_one_output else next(fresh)
        width = max(channels.get((members, user), 1) for user in users)
        nodes.append(Node(name, tuple(below[read] for read in inside.reads), kind=inside.kind, channels=width))
        name_of |= {(members, user): name for user in users}
    for output, tree in trees.items():
        if name_of[tree.members, output] != output:
            nodes.append(Node(output, (name_of[tree.members, output],)))
    # outputs may split a shared module differently; the first one's way stays
    return FunctionGraph(inputs, nodes, tuple(trees)).pruned()
