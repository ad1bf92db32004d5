"""The hub object: a function as a directed acyclic graph of constituents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Literal

from compsparse.checks import brief, check_count, check_kind, check_list, check_mapping
from compsparse.errors import GraphError
from compsparse.graph.constituent import Constituent
from compsparse.origin import Origin

if TYPE_CHECKING:
    from compsparse.graph.complexity import Complexity
    from compsparse.graph.modules import ModuleTree

Kind = Literal["prime", "complete"]
"""See :class:`Node`."""


@dataclass(frozen=True)
class Node:
    """A named value computed from its parents.

    Attributes:
        parents: names of inputs or other nodes, in the order the constituent takes them.
        constituent: the function, if known; a graph may be structure alone.
        kind: ``complete`` when any regrouping of the parents is a module too (sums, products),
            ``prime`` when none is; None leaves it to the constituent.
        channels: how many numbers the node's wire carries.
        origin: where the node comes from; nodes that differ in it alone are equal.
    """

    name: str
    parents: tuple[str, ...]
    constituent: Constituent | None = None
    kind: Kind | None = None
    channels: int = 1
    origin: Origin = field(default=Origin.UNKNOWN, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", _names(f"the parents of node {brief(self.name)}", self.parents))
        if not isinstance(self.name, str) or not self.name:
            raise GraphError(f"a node's name must be a non-empty string, got {brief(self.name)}")
        if not self.parents:
            raise GraphError(f"node {self.name!r} has no parents; constants belong inside constituents")
        twice = _first_duplicate(self.parents)
        if twice is not None:
            raise GraphError(f"node {self.name!r} names parent {twice!r} twice")
        if self.constituent is not None and not isinstance(self.constituent, Constituent):
            raise GraphError(f"the constituent of node {self.name!r} is no Constituent: {brief(self.constituent)}")
        if self.constituent is not None and self.constituent.arity != len(self.parents):
            raise GraphError(
                f"node {self.name!r} has {len(self.parents)} parents but its constituent "
                f"{self.constituent.name!r} takes {self.constituent.arity} arguments"
            )
        if self.kind is not None and (not isinstance(self.kind, str) or self.kind not in ("prime", "complete")):
            raise GraphError(f"kind of node {self.name!r} must be 'prime' or 'complete', got {brief(self.kind)}")
        if not isinstance(self.channels, int) or isinstance(self.channels, bool) or self.channels < 1:
            raise GraphError(f"node {self.name!r} must carry at least one channel, got {brief(self.channels)}")
        check_kind("the origin of a node", self.origin, Origin)

    @property
    def arity(self) -> int:
        """Number of parents."""
        return len(self.parents)

    @property
    def label(self) -> str:
        """The constituent in terms of the parents' names, or the node's own name."""
        if self.constituent is None:
            return self.name
        if self.constituent.formula is not None:
            from compsparse.graph.formula import render

            try:
                return render(self.constituent.formula, self.parents, digits=4)
            except RecursionError:  # a sum of a thousand terms nests a thousand deep
                return f"a formula of {self.arity} parents"
        return f"{self.constituent.name}({', '.join(self.parents)})"


@dataclass(frozen=True, init=False, repr=False)
class FunctionGraph:
    """An immutable directed acyclic graph of constituents: inputs, nodes, outputs.

    Nodes are kept in a topological order. Graphs with the same inputs, nodes and outputs are
    equal and hash alike; :func:`~compsparse.graph.equivalent` compares up to renaming.

    >>> graph = FunctionGraph.from_expression("tanh(a*b + sin(c*d))")
    >>> graph.inputs, graph.depth, graph.max_arity
    (('a', 'b', 'c', 'd'), 2, 2)
    >>> import numpy as np
    >>> float(graph(np.zeros((1, 4)))[0])
    0.0
    """

    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    not_looked_at: frozenset[str] = field(default=frozenset(), compare=False)
    """Inputs of which nothing is known, because no search looked at them: that no output reads them says nothing."""

    def __init__(
        self,
        inputs: Iterable[str],
        nodes: Iterable[Node],
        outputs: str | Iterable[str] | None = None,
        *,
        not_looked_at: Iterable[str] = (),
    ):
        inputs, nodes = _names("the inputs of a graph", inputs), tuple(check_list("the nodes of a graph", nodes))
        for node in nodes:
            if not isinstance(node, Node):
                raise GraphError(f"the nodes of a graph must be Nodes, got {brief(node)}")
        _check_names(inputs, nodes)
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "nodes", _topological(inputs, nodes))
        object.__setattr__(self, "outputs", self._resolve_outputs(outputs))
        object.__setattr__(self, "not_looked_at", self._checked_unknown(not_looked_at))

    def _checked_unknown(self, names: Iterable[str]) -> frozenset[str]:
        unknown = frozenset(_names("the inputs that were not looked at", names))
        if read := sorted(unknown - set(self.unread)):
            what = "is read by an output" if read[0] in self.inputs else "is no input"
            raise GraphError(f"{read[0]!r} cannot count as not looked at: it {what}")
        return unknown

    def _resolve_outputs(self, outputs: str | Iterable[str] | None) -> tuple[str, ...]:
        if outputs is None:
            sinks = tuple(n.name for n in self.nodes if not self.consumers[n.name])
            if len(sinks) != 1:
                raise GraphError(f"name the outputs: the graph has {len(sinks)} nodes that nothing uses {list(sinks)}")
            return sinks
        outputs = (outputs,) if isinstance(outputs, str) else _names("the outputs of a graph", outputs)
        for name in outputs:
            if name not in self.index:
                raise GraphError(f"output {name!r} is neither an input nor a node")
        twice = _first_duplicate(outputs)
        if not outputs or twice is not None:
            raise GraphError(f"output {twice!r} is named twice" if outputs else "a graph needs at least one output")
        return outputs

    # ---- ways in -------------------------------------------------------------------------

    @classmethod
    def from_expression(
        cls, text: str | Sequence[str], inputs: Sequence[str] | None = None, *, fuse: bool = True
    ) -> FunctionGraph:
        """Reads one expression, or one per output; see :mod:`compsparse.graph.expression`."""
        from compsparse.graph.expression import from_expression

        return from_expression(text, inputs, fuse=fuse)

    @classmethod
    def from_groups(cls, groups: Any, inputs: Sequence[str] | None = None) -> FunctionGraph:
        """Makes a tree from nested groups of inputs; see :mod:`compsparse.graph.generators`."""
        from compsparse.graph.generators import from_groups

        return from_groups(groups, inputs)

    @classmethod
    def from_json(cls, text: str) -> FunctionGraph:
        """Reads what :meth:`to_json` wrote."""
        from compsparse.graph.json_format import loads

        return loads(text)

    # ---- ways out ------------------------------------------------------------------------

    def to_json(self, indent: int | None = None) -> str:
        """JSON text that :meth:`from_json` reads; a callable without formula is kept by its name alone."""
        from compsparse.graph.json_format import dumps

        return dumps(self, indent=indent)

    def __str__(self) -> str:
        from compsparse.graph.drawing import draw_text

        return draw_text(self)

    def __repr__(self) -> str:
        return (
            f"FunctionGraph({len(self.inputs)} inputs, {self.size} nodes, depth {self.depth}, arity {self.max_arity})"
        )

    def _repr_svg_(self) -> str:
        from compsparse.graph.drawing import draw_svg

        return draw_svg(self)

    # ---- evaluation ----------------------------------------------------------------------

    def __call__(self, X: Any) -> Any:
        """Values at the rows of ``X`` (numpy or torch): one column per output, flat if there is one."""
        from compsparse.graph.evaluation import evaluate

        return evaluate(self, X)

    # ---- structure -----------------------------------------------------------------------

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of every name: inputs first, then nodes in topological order."""
        return {name: i for i, name in enumerate((*self.inputs, *(n.name for n in self.nodes)))}

    @cached_property
    def _by_name(self) -> Mapping[str, Node]:
        return {n.name: n for n in self.nodes}

    def __getitem__(self, name: str) -> Node:
        if not isinstance(name, str) or name not in self._by_name:
            raise GraphError(f"the graph has no node {brief(name)}")
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.index

    @cached_property
    def _hash(self) -> int:
        return hash((self.inputs, self.nodes, self.outputs))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        # cached answers stay behind: a string's hash differs between processes
        return {
            "inputs": self.inputs,
            "nodes": self.nodes,
            "outputs": self.outputs,
            "not_looked_at": self.not_looked_at,
        }

    @property
    def origin(self) -> Origin:
        """Where the graph comes from: what its nodes have in common, discovered where one of them was."""
        found = {node.origin for node in self.nodes}
        if Origin.DISCOVERED in found:
            return Origin.DISCOVERED
        return found.pop() if len(found) == 1 else Origin.UNKNOWN

    def from_origin(self, origin: Origin) -> FunctionGraph:
        """The same graph, said to come from somewhere.

        >>> FunctionGraph.from_groups([[0, 1], 2]).from_origin(Origin.GIVEN).origin.value
        'fixed before the data were seen'
        """
        return self._with([replace(n, origin=origin) for n in self.nodes])

    def without_looking_at(self, names: Iterable[str]) -> FunctionGraph:
        """The same graph, which says nothing of some inputs that no output reads.

        >>> graph = FunctionGraph.from_expression("a + b", inputs=["a", "b", "c", "d"]).without_looking_at(["d"])
        >>> graph.inert, graph.unread
        (('c',), ('c', 'd'))
        """
        return FunctionGraph(self.inputs, self.nodes, self.outputs, not_looked_at=names)

    def _with(self, nodes: Iterable[Node]) -> FunctionGraph:
        """Other nodes between the same inputs and outputs."""
        return FunctionGraph(self.inputs, nodes, self.outputs, not_looked_at=self.not_looked_at)

    @property
    def n_inputs(self) -> int:
        """Number of inputs, also of those that no output reads."""
        return len(self.inputs)

    @property
    def size(self) -> int:
        """Number of nodes (inputs not counted)."""
        return len(self.nodes)

    @property
    def n_edges(self) -> int:
        """Number of (parent, node) pairs."""
        return sum(n.arity for n in self.nodes)

    @property
    def max_arity(self) -> int:
        """The largest in-degree: the d0 of the memo's Definition 1."""
        return max((n.arity for n in self.nodes), default=0)

    @cached_property
    def levels(self) -> Mapping[str, int]:
        """Longest distance from an input, for every name; inputs are at level 0."""
        level = dict.fromkeys(self.inputs, 0)
        for node in self.nodes:
            level[node.name] = 1 + max(level[p] for p in node.parents)
        return level

    @property
    def depth(self) -> int:
        """Nodes on the longest path from an input."""
        return max(self.levels.values(), default=0)

    @cached_property
    def consumers(self) -> Mapping[str, tuple[str, ...]]:
        """The nodes that use each name directly."""
        users: dict[str, list[str]] = {name: [] for name in self.inputs}
        for node in self.nodes:
            users[node.name] = []
            for parent in node.parents:
                users[parent].append(node.name)
        return {name: tuple(names) for name, names in users.items()}

    def ancestors(self, name: str) -> frozenset[str]:
        """Everything ``name`` depends on, inputs included."""
        return self._closure(name, lambda n: self._by_name[n].parents if n in self._by_name else ())

    def descendants(self, name: str) -> frozenset[str]:
        """Every node that depends on ``name``."""
        return self._closure(name, lambda n: self.consumers[n])

    def _closure(self, name: str, step: Callable[[str], Iterable[str]]) -> frozenset[str]:
        if name not in self:
            raise GraphError(f"the graph has neither an input nor a node {name!r}")
        seen: set[str] = set()
        waiting = list(step(name))
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                waiting.extend(step(current))
        return frozenset(seen)

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """Inputs that no output depends on."""
        used = set(self.outputs).union(*(self.ancestors(o) for o in self.outputs))
        return tuple(name for name in self.inputs if name not in used)

    @property
    def inert(self) -> tuple[str, ...]:
        """Inputs that no output depends on, without those that were not looked at."""
        return tuple(name for name in self.unread if name not in self.not_looked_at)

    @property
    def is_tree(self) -> bool:
        """Whether every input and node is used at most once, and there is one output."""
        return len(self.outputs) == 1 and all(len(users) <= 1 for users in self.consumers.values())

    def is_sparse(self, d0: int) -> bool:
        """Memo's Definition 1: every constituent depends on at most ``d0`` < d variables."""
        return self.max_arity <= check_count("d0", d0) < self.n_inputs

    def is_smoothly_sparse(self, d0: int) -> bool:
        """Memo's Definition 3: sparse, and every constituent has bounded first derivatives.

        Raises:
            GraphError: some constituent's smoothness is unknown.
        """
        unknown = [n.name for n in self.nodes if n.constituent is None or n.constituent.is_smooth is None]
        if unknown:
            raise GraphError(f"smoothness is not declared for nodes {unknown[:5]}")
        return self.is_sparse(d0) and all(n.constituent is not None and n.constituent.is_smooth for n in self.nodes)

    @property
    def has_functions(self) -> bool:
        """Whether every node can be evaluated."""
        return all(
            n.constituent is not None and (n.constituent.formula is not None or n.constituent.function is not None)
            for n in self.nodes
        )

    @cached_property
    def module_tree(self) -> ModuleTree:
        """The canonical tree of strong modules; see :mod:`compsparse.graph.modules`."""
        from compsparse.graph.modules import module_tree

        return module_tree(self)

    @property
    def modules(self) -> frozenset[frozenset[str]]:
        """Strong modules as sets of input names; singletons and the whole set are left out."""
        return self.module_tree.modules

    def complexity(self, eps: float, derivatives: float = 2.0) -> Complexity:
        """Shallow and deep unit counts of the Mhaskar-Poggio theorem (memo Theorem 7)."""
        from compsparse.graph.complexity import complexity

        return complexity(self, eps, derivatives)

    def rename(self, names: Mapping[str, str]) -> FunctionGraph:
        """The same graph under other names; names not mentioned stay."""
        names = check_mapping("names", names)

        def new(name: str) -> str:
            return names.get(name, name)

        nodes = [replace(n, name=new(n.name), parents=tuple(map(new, n.parents))) for n in self.nodes]
        return FunctionGraph(
            map(new, self.inputs), nodes, map(new, self.outputs), not_looked_at=map(new, self.not_looked_at)
        )

    def pruned(self) -> FunctionGraph:
        """The same graph without nodes that no output needs."""
        needed = set(self.outputs).union(*(self.ancestors(o) for o in self.outputs))
        if all(n.name in needed for n in self.nodes):
            return self
        return self._with([n for n in self.nodes if n.name in needed])

    def structure(self) -> FunctionGraph:
        """The same graph without its constituents, and so without what they say about regrouping."""
        return self._with([replace(n, constituent=None) for n in self.nodes])


def check_graph(what: str, graph: Any) -> FunctionGraph:
    """A function graph, and nothing else."""
    return check_kind(what, graph, FunctionGraph)


def _names(what: str, names: Any) -> tuple[str, ...]:
    found = tuple(names) if isinstance(names, str) else tuple(check_list(what, names))
    for name in found:
        if not isinstance(name, str):
            raise GraphError(f"{what} must be texts, got {brief(name)}")
    return found


def _first_duplicate(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _check_names(inputs: tuple[str, ...], nodes: tuple[Node, ...]) -> None:
    if not inputs:
        raise GraphError("a graph needs at least one input")
    for name in inputs:
        if not isinstance(name, str) or not name:
            raise GraphError(f"an input's name must be a non-empty string, got {name!r}")
    twice = _first_duplicate((*inputs, *(n.name for n in nodes)))
    if twice is not None:
        raise GraphError(f"the name {twice!r} is used twice")
    known = {*inputs, *(n.name for n in nodes)}
    for node in nodes:
        for parent in node.parents:
            if parent not in known:
                raise GraphError(f"node {node.name!r} has an unknown parent {parent!r}")


def _topological(inputs: tuple[str, ...], nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Keeps the given order where it is already topological."""
    position = {n.name: i for i, n in enumerate(nodes)}
    if all(position.get(p, -1) < i for i, n in enumerate(nodes) for p in n.parents):
        return nodes
    by_name = {n.name: n for n in nodes}
    sorter = TopologicalSorter({n.name: [p for p in n.parents if p in by_name] for n in nodes})
    try:
        return tuple(by_name[name] for name in sorter.static_order())
    except CycleError as error:
        raise GraphError(f"the graph has a cycle: {' -> '.join(error.args[1])}") from None
