"""The canonical tree of strong modules of a function graph.

A set S of inputs is a module (with one channel) when f(x) = F(g(x_S), x_rest) with scalar g.
In a graph that is the case when some node g depends on S alone and everything S does to the
outputs passes through g: g *post-dominates* S. Post-dominators of an input form a chain, so
these sets are nested or disjoint.

Associative operations have more modules than nodes: a + b + c groups a with b, or b with c. Such
nodes are flattened through everything that keeps them additive (scalings for sums, powers for
products, exp and log between the two) and kept n-ary: they are *complete*. All other inner nodes
are *prime*. The analysis reads structure and operations; it does no algebra (b*(a + c) written as
a*b + b*c is a prime node over a, b, c).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

from compsparse.checks import check_name_list
from compsparse.errors import GraphError
from compsparse.graph.expression import expanded
from compsparse.graph.formula import Apply, Argument, Constant, Formula
from compsparse.graph.function_graph import FunctionGraph, Kind, Node
from compsparse.graph.operations import OPERATIONS, Family
from compsparse.text import in_a_line


@in_a_line
@dataclass(frozen=True)
class ModuleTree:
    """A module, its kind, and the modules it is made of; a leaf is one input.

    The kind of a node with two children carries no information about grouping and is left out
    of comparisons.
    """

    members: frozenset[str]
    kind: Kind | None = None
    children: tuple[ModuleTree, ...] = ()

    @property
    def inner(self) -> Iterator[ModuleTree]:
        """All modules of more than one input, from the root down."""
        waiting = [self]
        while waiting:
            module = waiting.pop(0)
            if module.children:
                yield module
                waiting.extend(module.children)

    @cached_property
    def modules(self) -> frozenset[frozenset[str]]:
        """Member sets of the inner modules, the root left out."""
        return frozenset(m.members for m in self.inner if m is not self)

    def to_graph(self, inputs: tuple[str, ...] | None = None) -> FunctionGraph:
        """The tree as a function graph without constituents; ``inputs`` may name inert ones too."""
        names = tuple(sorted(self.members) if inputs is None else check_name_list("inputs", inputs))
        missing = sorted(self.members - set(names))
        if missing:
            raise GraphError(f"inputs must name every member of the tree: {missing[0]!r} is missing")
        nodes = []
        name_of = {frozenset([name]): name for name in names}
        for i, module in enumerate(reversed(list(self.inner))):
            name = f"m{i}"
            while name in names:
                name += "_"
            name_of[module.members] = name
            nodes.append(Node(name, tuple(name_of[c.members] for c in module.children), kind=module.kind))
        return FunctionGraph(names, nodes, [name_of[self.members]])


def module_tree(graph: FunctionGraph) -> ModuleTree:
    """The canonical strong-module tree over the inputs that the outputs depend on.

    >>> tree = module_tree(FunctionGraph.from_expression("tanh(a*b + 2*(c + d) + e)"))
    >>> [(sorted(m.members), m.kind) for m in tree.inner]
    [(['a', 'b', 'c', 'd', 'e'], 'complete'), (['a', 'b'], 'complete')]
    """
    return _Analysis(expanded(graph)).tree()


# Sets of inputs are bit masks here: graphs may have thousands of inputs.


class _Analysis:
    def __init__(self, graph: FunctionGraph):
        self.graph = graph
        self.position = {name: i for i, name in enumerate(graph.inputs)}
        self.inputs_of = _inputs_below(graph)
        self.whole = sum(1 << i for name, i in self.position.items() if name not in graph.unread)
        self.bottom, self.inside = self._structural_modules()

    def _structural_modules(self) -> tuple[dict[int, Node | None], dict[int, list[int]]]:
        """For each module the node where it first comes together, and its maximal sub-modules."""
        above = _immediate_post_dominators(self.graph)
        active = [name for name in self.graph.inputs if self.whole >> self.position[name] & 1]
        names = [*active, *(n.name for n in self.graph.nodes)]
        dominated = {_SINK: 0} | dict.fromkeys(names, 0) | dict.fromkeys(active, 1)
        for name in names:
            dominated[above[name]] += dominated[name]
        # a wire of several numbers makes no module: a module passes on one
        wide = {n.name for n in self.graph.nodes if n.channels > 1 and n.name not in self.graph.outputs}
        is_module = {name: dominated[name] == self.inputs_of[name].bit_count() and name not in wide for name in names}
        nearest: dict[str, str] = {_SINK: _SINK}
        for name in reversed(names):
            up = above[name]
            nearest[name] = up if up == _SINK or is_module[up] else nearest[up]
        bottom: dict[int, Node | None] = {self.whole: None}
        parent: dict[int, int] = {}
        for name in names:
            if not is_module[name]:
                continue
            members = self.inputs_of[name]
            if bottom.get(members) is None:
                bottom[members] = None if name in self.position else self.graph[name]
            outer = nearest[name]
            if members != self.whole and (outer == _SINK or self.inputs_of[outer] != members):
                parent[members] = self.whole if outer == _SINK else self.inputs_of[outer]
        inside: dict[int, list[int]] = {members: [] for members in bottom}
        for child, mother in parent.items():
            inside[mother].append(child)
        return bottom, inside

    def tree(self) -> ModuleTree:
        parts: dict[int, tuple[Kind, list[int]]] = {}
        waiting = [self.whole]
        while waiting:
            members = waiting.pop()
            if members.bit_count() > 1:
                parts[members] = self._decompose(members)
                waiting.extend(parts[members][1])
        return self._assemble(parts)

    def _decompose(self, members: int) -> tuple[Kind, list[int]]:
        bottom = self.bottom.get(members)
        if bottom is not None:
            components = _connected([self.inputs_of[t] for t in self._terms(bottom)])
            if len(components) > 1:
                return "complete", components
        return "prime", self._maximal_inside(members)

    def _terms(self, node: Node) -> list[str]:
        family = _family(node)
        if family is not None:
            return list(self._flattened(node, family))
        return list(node.parents) if node.kind == "complete" else [node.name]

    def _flattened(self, node: Node, family: Family) -> Iterator[str]:
        """What an associative node combines, through nodes that regroup with it."""
        waiting = [(name, family) for name in reversed(node.parents)]
        while waiting:
            name, current = waiting.pop()
            inner, inner_family = self._regroups(name, current)
            if inner is None:
                yield name
            else:
                waiting.extend((parent, inner_family) for parent in reversed(inner.parents))

    def _regroups(self, name: str, family: Family) -> tuple[Node | None, Family]:
        """The associative node of the right family below transparent functions of one variable."""
        exponent = 1.0
        while name not in self.position and len(self.graph.consumers[name]) == 1 and name not in self.graph.outputs:
            node = self.graph[name]
            if node.arity > 1:
                found = _family(node)
                return (node, family) if found == family and (exponent == 1 or family == "product") else (None, family)
            step = _through(node, family, exponent)
            if step is None:
                break
            family, exponent = step
            name = node.parents[0]
        return None, family

    def _maximal_inside(self, members: int) -> list[int]:
        if members in self.inside:
            return self.inside[members]
        found, waiting = [], list(self.inside[self.whole])
        while waiting:
            candidate = waiting.pop()
            if candidate & ~members == 0:
                found.append(candidate)
            elif candidate & members:
                waiting.extend(self.inside[candidate])
        return found

    def _assemble(self, parts: Mapping[int, tuple[Kind, list[int]]]) -> ModuleTree:
        names = self.graph.inputs
        built = {1 << i: ModuleTree(frozenset([name])) for name, i in self.position.items()}
        for members in sorted(parts, key=int.bit_count):
            kind, children = parts[members]
            in_order = sorted(children, key=lambda c: c & -c)
            union = frozenset(names[i] for i in _bits(members))
            built[members] = ModuleTree(union, kind, tuple(built[c] for c in in_order))
        return built[self.whole] if self.whole else ModuleTree(frozenset())


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _inputs_below(graph: FunctionGraph) -> dict[str, int]:
    below = {name: 1 << i for i, name in enumerate(graph.inputs)}
    for node in graph.nodes:
        mask = 0
        for parent in node.parents:
            mask |= below[parent]
        below[node.name] = mask
    return below


_SINK = ""


def _immediate_post_dominators(graph: FunctionGraph) -> dict[str, str]:
    """The nearest node that every path from each name to the outputs passes through."""
    above: dict[str, str] = {_SINK: _SINK}
    height = {_SINK: 0}

    def meet(a: str, b: str) -> str:
        while a != b:
            if height[a] >= height[b]:
                a = above[a]
            else:
                b = above[b]
        return a

    for name in (*(n.name for n in reversed(graph.nodes)), *graph.inputs):
        targets = [*graph.consumers[name], *([_SINK] if name in graph.outputs else [])]
        if not targets:
            continue
        nearest = targets[0]
        for other in targets[1:]:
            nearest = meet(nearest, other)
        above[name], height[name] = nearest, height[nearest] + 1
    return above


def _connected(masks: list[int]) -> list[int]:
    """Unions of the masks that overlap, directly or through others."""
    components: list[int] = []
    for mask in masks:
        touching = [c for c in components if c & mask]
        apart = [c for c in components if not c & mask]
        components = [*apart, reduce(or_, touching, mask)]
    return components


def _formula(node: Node) -> Formula | None:
    return node.constituent.formula if node.constituent is not None else None


def _family(node: Node) -> Family | None:
    if node.kind is not None:
        return None  # what was declared goes before what the outermost operation suggests
    formula = _formula(node)
    return OPERATIONS[formula.operation].family if isinstance(formula, Apply) and node.arity > 1 else None


_INCREASING = {"exp", "expm1", "tanh", "sinh", "arctan", "sigmoid", "softplus", "erf", "relu", "sqrt", "log", "log1p"}


def _through(node: Node, family: Family, exponent: float) -> tuple[Family, float] | None:
    """How a function of one variable passes on a family's regrouping, or None if it breaks it.

    ``exponent`` is the power of the value seen so far: (sqrt(s))^2 is s again.
    """
    formula = _formula(node)
    match formula:
        case Apply("neg", (Argument(),)):
            scale: float | None = -1.0
        case Apply("mul", (Constant(c), Argument())) | Apply("mul", (Argument(), Constant(c))):
            scale = c
        case Apply("div", (Argument(), Constant(c))):
            scale = c
        case _:
            scale = None
    if family in ("max", "min"):
        return _through_extremum(formula, family, scale)
    if scale is not None:
        return (family, exponent) if scale and (family == "product" or exponent == 1) else None
    power = _power(formula)
    if power is not None:
        if family == "sum" and exponent != 1 and power % 2 == 0:
            return None  # sqrt(s^2) is |s|, while sqrt(s)^2 is s
        return family, exponent * power
    match formula:
        case Apply("add" | "sub", _) if family == "sum" and exponent == 1:
            return family, exponent
        case Apply("abs", _) if family == "product":
            return family, exponent
        case Apply("log" | "log2" | "log10", _) if family == "sum" and exponent == 1:
            return "product", 1.0
        case Apply("exp", _) if family == "product":
            return "sum", 1.0
    return None


def _through_extremum(formula: Formula | None, family: Family, scale: float | None) -> tuple[Family, float] | None:
    other: Family = "min" if family == "max" else "max"
    if scale:
        return (family if scale > 0 else other), 1.0
    match formula:
        case Apply(name, (Argument(),)) if name in _INCREASING:
            return family, 1.0
        case Apply("add", _) | Apply("sub", (Argument(), Constant())):
            return family, 1.0
    return None


def _power(formula: Formula | None) -> float | None:
    match formula:
        case Apply("square", _) | Apply("mul", (Argument(), Argument())):
            return 2.0
        case Apply("sqrt", _):
            return 0.5
        case Apply("reciprocal", _) | Apply("div", (Constant(), Argument())):
            return -1.0
        case Apply("pow", (Argument(), Constant(p))) if p:
            return p
    return None
