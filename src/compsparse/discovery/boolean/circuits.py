"""Circuits: the module trees of several outputs, the gates that they share, and what speaks for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from compsparse.clock import Deadline
from compsparse.discovery.record import DiscoveryStatus, Evidence
from compsparse.discovery.structure.forest import Members, users_of_modules
from compsparse.graph import Constituent, FunctionGraph
from compsparse.graph.modules import ModuleTree
from compsparse.progress import Progress
from compsparse.representations.boolean.cofactors import Cube, multiplicity
from compsparse.representations.boolean.decomposition import Module, decompose
from compsparse.representations.boolean.gates import constituent

_MOST_COFACTORS = 2
"""Distinct cofactors that a set may leave and still be a module: they are told apart by one Boolean value."""


@dataclass(frozen=True)
class Circuit:
    """The module tree of every output.

    Attributes:
        cubes: the table of every output.
        modules: for each output its tree, and whether the output is the complement of what the tree computes.
        status: whether all of it was decomposed.
    """

    inputs: tuple[str, ...]
    cubes: Mapping[str, Cube]
    modules: Mapping[str, tuple[Module, bool]]
    status: DiscoveryStatus

    @cached_property
    def trees(self) -> dict[str, ModuleTree]:
        """The modules by the names of their inputs."""
        return {output: self._tree(root) for output, (root, _) in self.modules.items()}

    def same(self, members: Members, one: str, other: str) -> bool:
        """Whether two outputs use one function of these inputs, complemented or not."""
        return self._inner[members, one] == self._inner[members, other]

    def evidence(self) -> tuple[Evidence, ...]:
        """The cofactors that each module leaves, counted."""
        return tuple(self._evidence(members, users) for members, users in users_of_modules(self.trees, self.same))

    def completed(self, graph: FunctionGraph) -> tuple[FunctionGraph, tuple[str, ...]]:
        """The graph with a gate at every node, and a sentence for each that JSON cannot hold.

        An inner node computes its module's own gate, so outputs may share it; the complement is
        taken at the output.
        """
        gates: dict[str, Constituent] = {}
        for output, (module, complemented) in self.modules.items():
            node = graph[output]
            if node.arity == 1:
                gates[output] = constituent(np.array([complemented, not complemented]))
                waiting = [(node.parents[0], module)]
            else:
                gates[output] = constituent(module.cube ^ complemented)
                waiting = list(zip(node.parents, module.children, strict=True))
            while waiting:
                name, inner = waiting.pop()
                if inner.children and name not in gates:
                    gates[name] = constituent(inner.cube)
                    waiting += zip(graph[name].parents, inner.children, strict=True)
        nodes = [replace(n, constituent=gates[n.name]) for n in graph.nodes]
        return FunctionGraph(graph.inputs, nodes, graph.outputs), tuple(_without_formula(graph, gates))

    @cached_property
    def _inner(self) -> dict[tuple[Members, str], Module]:
        return {
            (self._names(module), output): module
            for output, (root, _) in self.modules.items()
            for module in _inner_modules(root)
        }

    def _names(self, module: Module) -> Members:
        return frozenset(self.inputs[i] for i in module.members)

    def _tree(self, module: Module) -> ModuleTree:
        if not module.children:
            return ModuleTree(self._names(module))
        return ModuleTree(self._names(module), module.kind, tuple(self._tree(child) for child in module.children))

    def _evidence(self, members: Members, users: tuple[str, ...]) -> Evidence:
        module = self._inner[members, users[0]]
        value = multiplicity(self.cubes[users[0]], module.members)
        return Evidence(
            members,
            module.kind,
            users,
            "cofactors",
            float(value),
            threshold=float(_MOST_COFACTORS),
            parts=len(module.children),
            statement="act through one bit" if value <= _MOST_COFACTORS else f"act through {value} values",
            figures=f"they leave {value} distinct functions of the rest, whatever they are",
        )


def _inner_modules(module: Module) -> Iterator[Module]:
    if module.children:
        yield module
        for child in module.children:
            yield from _inner_modules(child)


def _without_formula(graph: FunctionGraph, gates: Mapping[str, Constituent]) -> Iterator[str]:
    for node in graph.nodes:
        if gates[node.name].formula is None:
            yield (
                f"node {node.name!r} of {node.arity} arguments is kept as its table, which JSON does not hold: "
                "its formula would be too long"
            )


# ---- one output after the other -----------------------------------------------------------------


def decomposed(inputs: tuple[str, ...], cubes: Mapping[str, Cube], deadline: Deadline, progress: Progress) -> Circuit:
    """The circuit of all outputs; what is not decomposed when time is up, or at Ctrl-C, stays one gate."""
    work = _Decomposition(deadline)
    modules: dict[str, tuple[Module, bool]] = {}
    for done, (output, cube) in enumerate(cubes.items()):
        progress.update(done, len(cubes), f"output {output}")
        modules[output] = work.of(cube)
    progress.update(len(cubes), len(cubes))
    return Circuit(inputs, cubes, modules, work.status)


class _Decomposition:
    def __init__(self, deadline: Deadline):
        self.deadline, self.status = deadline, DiscoveryStatus.FINISHED

    def of(self, cube: Cube) -> tuple[Module, bool]:
        try:
            return decompose(cube, self._stop)
        except KeyboardInterrupt:
            self.status = DiscoveryStatus.INTERRUPTED
            return decompose(cube, self._stop)

    def _stop(self) -> bool:
        if self.deadline.is_over:
            self.status = DiscoveryStatus.OUT_OF_TIME
        return self.status is not DiscoveryStatus.FINISHED
