"""The variables of the moment: inputs and merged modules, with what each fold has learned of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from compsparse.discovery.data.limits import MODULE_DEPTH, MODULE_WIDTH
from compsparse.discovery.structure.forest import Members
from compsparse.graph import FunctionGraph, Node
from compsparse.graph.modules import ModuleTree
from compsparse.networks.mirroring import MirrorNetwork, mirror
from compsparse.networks.replicas import keep_, per_distinct_seed
from compsparse.tables.columns import SEPARATOR

Layers = tuple[Tensor, ...]
"""Weights, then biases, of one node's network; the first dimension is the folds."""
Combination = frozenset[Members]
"""What a node combines: the members of each of its children."""


@dataclass(frozen=True)
class Units:
    """A forest over the inputs; each tree is one variable to the candidates on top.

    Attributes:
        columns: the table's columns of every input, in the table's order.
        trees: one per unit; a leaf is an input.
        learned: weights of nodes, one set per fold, never fitted on that fold's held-out rows. A node
            that is not in here starts afresh.
    """

    columns: Mapping[str, tuple[str, ...]]
    trees: tuple[ModuleTree, ...]
    learned: Mapping[Combination, Layers] = field(default_factory=dict, repr=False)

    @classmethod
    def raw(cls, columns: Mapping[str, tuple[str, ...]]) -> Units:
        """Every input by itself."""
        return cls(columns, tuple(leaf(name) for name in columns))

    def __len__(self) -> int:
        return len(self.trees)

    @property
    def every(self) -> frozenset[int]:
        """The numbers of all units."""
        return frozenset(range(len(self.trees)))

    def members(self, which: Iterable[int]) -> frozenset[str]:
        """The inputs of some units."""
        return frozenset().union(*(self.trees[i].members for i in which))

    def with_trees(self, trees: Iterable[ModuleTree]) -> Units:
        """Other trees with the same weights, in the order of their first inputs."""
        return replace(self, trees=tuple(sorted(trees, key=self._place)))

    def joined(self, children: Iterable[ModuleTree]) -> ModuleTree:
        """The module of these children, in the order in which nodes read them."""
        children = tuple(sorted(children, key=self._place))
        return ModuleTree(frozenset().union(*(c.members for c in children)), "prime", children)

    def _place(self, tree: ModuleTree) -> int:
        order = list(self.columns)
        return min(order.index(name) for name in tree.members)

    # ---- as a network --------------------------------------------------------------------

    @property
    def blocks(self) -> list[range]:
        """Which of the wires, side by side, belong to each unit."""
        blocks, start = [], 0
        for tree in self.trees:
            width = 1 if tree.children else len(self.columns[_only(tree)])
            blocks.append(range(start, start + width))
            start += width
        return blocks

    @property
    def graph(self) -> FunctionGraph:
        """From all columns to the wires of the units."""
        named = self._named()

        def wires(tree: ModuleTree) -> tuple[str, ...]:
            return (named[tree],) if tree.children else self.columns[_only(tree)]

        nodes = [Node(name, tuple(w for child in m.children for w in wires(child))) for m, name in named.items()]
        outputs = [wire for tree in self.trees for wire in wires(tree)]
        return FunctionGraph([c for own in self.columns.values() for c in own], nodes, outputs)

    def _named(self) -> dict[ModuleTree, str]:
        """The inner nodes, children first, with their names in the graph; inputs may be read in several places."""
        inner = dict.fromkeys(m for tree in self.trees for m in tree.inner)
        deepest_first = sorted(inner, key=_height)
        return {module: f"{SEPARATOR}{i}" for i, module in enumerate(deepest_first)}

    def network(self, folds: Sequence[int], seeds: Sequence[int], device: torch.device) -> MirrorNetwork | None:
        """All units as networks, as far as they were learned; one replica per entry of ``folds``."""
        graph = self.graph
        if not graph.nodes:
            return None
        distinct, own = per_distinct_seed(seeds)
        network = mirror(graph, MODULE_WIDTH, MODULE_DEPTH, n_replicas=len(distinct), seeds=distinct, device=device)
        keep_(network, torch.as_tensor(own))
        index = torch.as_tensor(folds, device=device)
        with torch.no_grad():
            for parameters, combination in self._parameters(network):
                for parameter, layer in zip(parameters, self.learned.get(combination, ()), strict=False):
                    parameter.copy_(layer[index])
        return network

    def relearned(self, network: MirrorNetwork | None, replicas: Sequence[int]) -> Units:
        """The same with the weights of the given replicas, one per fold."""
        if network is None:
            return self
        chosen = torch.as_tensor(replicas)
        new = {c: tuple(p.detach()[chosen].clone() for p in ps) for ps, c in self._parameters(network)}
        return replace(self, learned={**self.learned, **new})

    def _parameters(self, network: MirrorNetwork) -> Iterable[tuple[list[Tensor], Combination]]:
        """Views of the weights and biases of each node, with what the node combines."""
        modules = {name: module for module, name in self._named().items()}
        for group in network.plan.groups:
            cells = network.cells(group)
            for i, name in enumerate(group.nodes):
                yield [p[:, i] for p in (*cells.weights, *cells.biases)], combination_of(modules[name])


def leaf(name: str) -> ModuleTree:
    """An input by itself."""
    return ModuleTree(frozenset([name]))


def combination_of(module: ModuleTree) -> Combination:
    """What a module combines."""
    return frozenset(child.members for child in module.children)


def _only(tree: ModuleTree) -> str:
    (name,) = tree.members
    return name


def _height(tree: ModuleTree) -> int:
    return 1 + max(map(_height, tree.children)) if tree.children else 0
