r"""Ashenhurst and Curtis: a truth table as nodes of few parents, through sets that act by several wires.

A set B of inputs with column multiplicity \(\mu\) acts on the function through \(w = \lceil\log_2\mu\rceil\) wires:
\(f(x) = g(\varphi_1(x_B),\dots,\varphi_w(x_B), x_{\text{rest}})\) (Ashenhurst for \(w = 1\), Curtis beyond). Where
\(w < \lvert B\rvert\) the function g has fewer inputs, and is taken apart in turn. Where no small set gains anything,
Shannon's choice between the two cofactors of an input does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from compsparse.checks import check_count, check_input_and_output_names, kept_apart
from compsparse.errors import DataError
from compsparse.graph.function_graph import FunctionGraph, Node
from compsparse.representations.boolean.cofactors import Cube, cofactor_keys, cofactors, depends_on
from compsparse.representations.boolean.gates import constituent
from compsparse.representations.boolean.reading import read_truth_table
from compsparse.text import in_a_line

_MOST_TABLE_INPUTS = 16


@dataclass(frozen=True)
class CurtisStep:
    """One set of wires that was replaced by fewer.

    Attributes:
        bound: the nodes and inputs of the set.
        multiplicity: the distinct cofactors that it leaves; 0 for Shannon's choice by one input.
        wires: the nodes that take its place.
    """

    bound: tuple[str, ...]
    multiplicity: int
    wires: tuple[str, ...]


@in_a_line
@dataclass(frozen=True, eq=False)
class CurtisDecomposition:
    """A function graph that computes a truth table with nodes of few parents, and how it was found."""

    graph: FunctionGraph
    path: tuple[CurtisStep, ...]


def curtis_decomposition(
    table: npt.ArrayLike,
    most_arity: int = 4,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | str | None = None,
) -> CurtisDecomposition:
    """Takes truth tables apart into nodes of at most ``most_arity`` parents; every table can be.

    Args:
        table: 0 and 1 of shape (2^n,) or (2^n, outputs), n at most 16.
        most_arity: at least 3.
        names, outputs: of inputs and outputs; x0, x1, … and y, or y0, y1, …, by default.

    The sets of ``most_arity`` wires are searched for the one that leaves the fewest; that is greedy, so the graph need
    not be the smallest.

    >>> majority = [sum(map(int, f"{i:05b}")) > 2 for i in range(32)]
    >>> found = curtis_decomposition(majority, most_arity=3)
    >>> found.graph.max_arity, found.path[0].multiplicity  # three votes count for 0, 1, 2 or 3
    (3, 4)
    """
    values = read_truth_table(table)
    n = len(values).bit_length() - 1
    if n > _MOST_TABLE_INPUTS:
        raise DataError(f"a table of {n} inputs is too large: at most {_MOST_TABLE_INPUTS} are taken apart")
    most_arity = check_count("most_arity", most_arity, least=3, most=_MOST_TABLE_INPUTS)
    inputs, labels = check_input_and_output_names(names, outputs, n, values.shape[1])
    work = _Curtis(inputs, labels, most_arity)
    ends = [work.realised(column.reshape((2,) * n), inputs) for column in values.T]
    copy = constituent(np.array([False, True]))
    copies = [Node(label, (end,), copy) for label, end in zip(labels, ends, strict=True)]
    whole = FunctionGraph(inputs, [*work.nodes, *copies], labels)
    return CurtisDecomposition(_shortened(whole), tuple(work.steps))


class _Curtis:
    def __init__(self, inputs: Sequence[str], labels: Sequence[str], most_arity: int):
        self.most = most_arity
        self.nodes: list[Node] = []
        self.steps: list[CurtisStep] = []
        self.known: dict[tuple[tuple[str, ...], bytes], str] = {}
        self.prefix = kept_apart(["m"], {name.rstrip("0123456789") for name in (*inputs, *labels)})[0]

    def realised(self, cube: Cube, parents: Sequence[str]) -> str:
        """The name of a node that computes the cube."""
        active = [axis for axis in range(cube.ndim) if depends_on(cube, axis)]
        seen = np.ascontiguousarray(cube[tuple(slice(None) if a in active else 0 for a in range(cube.ndim))])
        names = tuple(parents[axis] for axis in active)
        if not active:
            return self._node(np.full(2, bool(cube.flat[0])), (parents[0],))
        if len(active) == 1 and not seen[0]:
            return names[0]
        if len(active) <= self.most:
            return self._node(seen, names)
        return self._by_bound_set(seen, names) or self._by_choice(seen, names)

    def _node(self, gate: Cube, parents: tuple[str, ...]) -> str:
        key = parents, gate.tobytes()
        if key not in self.known:
            self.known[key] = f"{self.prefix}{len(self.nodes)}"
            self.nodes.append(Node(self.known[key], parents, constituent(gate)))
        return self.known[key]

    def _by_bound_set(self, cube: Cube, names: tuple[str, ...]) -> str | None:
        """Through the set that leaves the fewest wires, if they are fewer than its own."""
        found = [(*_classes(cube, bound), bound) for bound in combinations(range(cube.ndim), self.most)]
        multiplicity, classes, chosen = min(found, key=lambda f: f[0])
        n_wires = (multiplicity - 1).bit_length()
        if n_wires >= self.most:
            return None
        inner = tuple(names[i] for i in chosen)
        codes = [(classes >> j & 1 > 0).reshape((2,) * self.most) for j in reversed(range(n_wires))]
        wires = tuple(self.realised(code, inner) for code in codes)
        self.steps.append(CurtisStep(inner, multiplicity, wires))
        table = cofactors(cube, chosen)
        # a code that no assignment has is answered as that of the first class
        rows = np.stack([table[np.argmax(classes == c)] if c < multiplicity else table[0] for c in range(1 << n_wires)])
        rest = tuple(names[i] for i in range(cube.ndim) if i not in chosen)
        return self._merged(rows.reshape((2,) * (n_wires + len(rest))), (*wires, *rest))

    def _merged(self, cube: Cube, names: tuple[str, ...]) -> str:
        """A cube over names some of which may be equal: their axes become one."""
        distinct = tuple(dict.fromkeys(names))
        if len(distinct) == len(names):
            return self.realised(cube, names)
        axes = [distinct.index(name) for name in names]
        diagonal = np.einsum(cube.astype(np.uint8), axes, list(range(len(distinct)))).astype(bool)
        return self.realised(diagonal, distinct)

    def _by_choice(self, cube: Cube, names: tuple[str, ...]) -> str:
        """Shannon: the input whose cofactors differ most chooses between them."""
        differing = [np.count_nonzero(cube.take(0, a) != cube.take(1, a)) for a in range(cube.ndim)]
        axis = int(np.argmax(differing))
        rest = names[:axis] + names[axis + 1 :]
        low, high = (self.realised(np.asarray(cube.take(bit, axis)), rest) for bit in (0, 1))
        choose = np.array([0, 0, 1, 1, 0, 1, 0, 1], dtype=bool).reshape(2, 2, 2)
        node = self._merged(choose, (names[axis], low, high))
        self.steps.append(CurtisStep((names[axis],), 0, (low, high)))
        return node


def _classes(cube: Cube, bound: Sequence[int]) -> tuple[int, npt.NDArray[np.intp]]:
    """How many distinct cofactors a set leaves, and which of them each of its assignments does."""
    _, labels = np.unique(cofactor_keys(cube, bound), return_inverse=True)
    return int(labels.max()) + 1, labels.ravel()


def _shortened(graph: FunctionGraph) -> FunctionGraph:
    """Without the copies at the outputs, where a node may carry the output's name itself."""
    renamed: dict[str, str] = {}
    for output in graph.outputs:
        source = graph[output].parents[0]
        if source not in graph.inputs and source not in renamed:
            renamed[source] = output
    copies = set(renamed.values())
    nodes = [
        Node(renamed.get(n.name, n.name), tuple(renamed.get(p, p) for p in n.parents), n.constituent)
        for n in graph.nodes
        if n.name not in copies
    ]
    return FunctionGraph(graph.inputs, nodes, graph.outputs).pruned()
