"""Function graphs of Boolean functions from their truth tables: exact, with no threshold to choose."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.discovery.boolean.cofactors import Cube, multiplicity
from compsparse.discovery.boolean.decomposition import Module, decompose
from compsparse.discovery.boolean.gates import constituent
from compsparse.discovery.boolean.reading import ask, check_affordable, check_time_limit, read_names, read_table
from compsparse.discovery.forest import grow_forest, users_of_modules
from compsparse.discovery.record import Cost, Discovery, DiscoveryStatus, Evidence
from compsparse.errors import DataError
from compsparse.graph import Constituent, FunctionGraph
from compsparse.graph.modules import ModuleTree
from compsparse.progress import Progress


def from_truth_table(
    table: npt.ArrayLike,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | str | None = None,
    *,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Discovery:
    """The function graph of Boolean functions given by all their values.

    A set of inputs is a module when it leaves at most two distinct cofactors of the rest. Modules
    that several outputs use, complemented or not, become one node. The graph computes the table:
    its constituents are polynomials that are exact on 0 and 1.

    Args:
        table: 0 and 1 of shape (2^n,) or (2^n, outputs), n at most 20. Rows are the assignments in
            the order of ``itertools.product``: the first input is the most significant bit of the
            row's number.
        names: of the inputs; x0, x1, … by default.
        outputs: names; y, or y0, y1, … by default.
        time_limit: seconds after which what is not yet decomposed stays one gate.

    Raises:
        DataError: the table is no truth table, an output is constant, or names do not fit.

    >>> found = from_truth_table([0, 0, 0, 1, 1, 1, 1, 0], ["a", "b", "c"])
    >>> sorted(map(sorted, found.modules)), found.evidence_for({"b", "c"})[0].value
    ([['b', 'c']], 2.0)
    >>> print(found.graph)
    y = (1 - (1 - 2*a)*(1 - 2*m0))/2 ⊕
    ├─ a
    └─ m0 = b*c ⊕
       ├─ b
       └─ c
    """
    started = time.perf_counter()
    check_time_limit(time_limit)
    return _discover(read_table(table), names, outputs, progress, time_limit, started, evaluations=0)


def from_boolean_callable(
    f: Callable[[npt.NDArray[np.int64]], Any],
    n_inputs: int,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | str | None = None,
    *,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Discovery:
    """The function graph of Boolean functions given by a callable, asked once for all 2^n rows.

    Args:
        f: takes integers 0 and 1 of shape (2^n, n) and returns (2^n,) or (2^n, outputs).

    The other arguments are those of :func:`from_truth_table`.

    >>> found = from_boolean_callable(lambda x: (x[:, 0] & x[:, 1]) | x[:, 2], 4)
    >>> found.inert, found.cost.evaluations
    (('x3',), 16)
    """
    started = time.perf_counter()
    check_time_limit(time_limit)
    check_affordable(n_inputs)
    return _discover(ask(f, n_inputs), names, outputs, progress, time_limit, started, evaluations=1 << n_inputs)


def _discover(
    table: npt.NDArray[np.bool_],
    names: Sequence[str] | None,
    outputs: Sequence[str] | str | None,
    progress: Progress | None,
    time_limit: float | None,
    started: float,
    evaluations: int,
) -> Discovery:
    n_inputs = len(table).bit_length() - 1
    inputs, labels = read_names(names, outputs, n_inputs, table.shape[1])
    cubes = dict(zip(labels, (column.reshape((2,) * n_inputs) for column in table.T), strict=True))
    _check_constants(cubes)
    search = _Search(time_limit, started)
    found = {}
    for done, (output, cube) in enumerate(cubes.items()):
        if progress is not None:
            progress.update(done, len(cubes), f"output {output}")
        found[output] = search.decompose(cube)
    if progress is not None:
        progress.update(len(cubes), len(cubes))
    graph, evidence = _assemble(inputs, found, cubes)
    return Discovery(
        graph=graph,
        evidence=evidence,
        status=search.status,
        cost=Cost(time.perf_counter() - started, evaluations),
        source="truth table",
        caveats=tuple(_caveats(graph)),
    )


def _check_constants(cubes: Mapping[str, Cube]) -> None:
    for output, cube in cubes.items():
        if cube.all() or not cube.any():
            raise DataError(f"output {output!r} is {int(cube.flat[0])} in every row: leave constant outputs out")


class _Search:
    """Decomposes one output after the other until time is up or the user interrupts."""

    def __init__(self, time_limit: float | None, started: float):
        self.deadline = None if time_limit is None else started + time_limit
        self.status = DiscoveryStatus.FINISHED

    def decompose(self, cube: Cube) -> tuple[Module, bool]:
        try:
            return decompose(cube, self._stop)
        except KeyboardInterrupt:
            self.status = DiscoveryStatus.INTERRUPTED
            return decompose(cube, self._stop)

    def _stop(self) -> bool:
        if self.deadline is not None and time.perf_counter() > self.deadline:
            self.status = DiscoveryStatus.OUT_OF_TIME
        return self.status is not DiscoveryStatus.FINISHED


Found = Mapping[str, tuple[Module, bool]]
"""For each output its module tree, and whether the output is the complement of what the tree computes."""


def _assemble(
    inputs: tuple[str, ...], found: Found, cubes: Mapping[str, Cube]
) -> tuple[FunctionGraph, tuple[Evidence, ...]]:
    trees = {output: _tree(module, inputs) for output, (module, _) in found.items()}
    position = {name: i for i, name in enumerate(inputs)}
    modules = {
        (frozenset(inputs[i] for i in module.members), output): module
        for output, (root, _) in found.items()
        for module in _inner(root)
    }

    def same(members: frozenset[str], one: str, other: str) -> bool:
        return modules[members, one] == modules[members, other]

    evidence = []
    for members, users in users_of_modules(trees, same):
        value = multiplicity(cubes[users[0]], sorted(position[name] for name in members))
        kind = modules[members, users[0]].kind
        evidence.append(Evidence(members, kind, users, "cofactors", float(value), threshold=2.0))
    return _with_gates(grow_forest(inputs, trees, same), found), tuple(evidence)


def _inner(module: Module) -> Iterator[Module]:
    if module.children:
        yield module
        for child in module.children:
            yield from _inner(child)


def _tree(module: Module, inputs: tuple[str, ...]) -> ModuleTree:
    members = frozenset(inputs[i] for i in module.members)
    if not module.children:
        return ModuleTree(members)
    return ModuleTree(members, module.kind, tuple(_tree(child, inputs) for child in module.children))


def _with_gates(graph: FunctionGraph, found: Found) -> FunctionGraph:
    """The graph with a constituent at every node.

    An inner node computes its module's own gate, so outputs may share it; the complement is
    taken at the output.
    """
    gates: dict[str, Constituent] = {}
    for output, (module, complemented) in found.items():
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
    return FunctionGraph(graph.inputs, nodes, graph.outputs)


def _caveats(graph: FunctionGraph) -> Iterator[str]:
    for node in graph.nodes:
        if node.constituent is not None and node.constituent.formula is None:
            yield (
                f"node {node.name!r} of {node.arity} arguments is kept as its table, which JSON does not hold: "
                "its formula would be too long"
            )
