"""Expressions in and out, and the two rewritings between fine and coarse graphs.

``expand`` gives every operation its own node; ``fuse`` folds functions of one variable into
their neighbours, so that what remains are the constituents of several variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compsparse.checks import check_count, check_flag, check_list, check_name_list
from compsparse.errors import GraphError
from compsparse.graph.builder import OperationRecorder
from compsparse.graph.constituent import Constituent
from compsparse.graph.formula import Apply, Argument, Formula, render, substitute, walk
from compsparse.graph.function_graph import FunctionGraph, Node, check_graph
from compsparse.graph.parser import in_backquotes, parse_formula, variables


def from_expression(
    text: str | Sequence[str], inputs: Sequence[str] | None = None, *, fuse: bool = True
) -> FunctionGraph:
    """The function graph of an expression, or of several that share their sub-expressions.

    Args:
        inputs: order of the inputs; by default the order in which variables appear. Names that
            no expression uses become inert inputs.
        text: names that are no identifiers stand in backquotes.
        fuse: fold operations on one variable into their neighbours.

    >>> print(from_expression("tanh(a*b + sin(c*d))"))
    tanh_4 = tanh(mul_0 + sin_2)
    ├─ mul_0 = a*b
    │  ├─ a
    │  └─ b
    └─ sin_2 = sin(c*d)
       ├─ c
       └─ d
    >>> from_expression("`wing area`*rho").inputs
    ('wing area', 'rho')
    """
    check_flag("fuse", fuse)
    texts = [text] if isinstance(text, str) else check_list("text", text)
    if not texts:
        raise GraphError("there is no expression to read")
    if inputs is not None:
        inputs = check_name_list("inputs", inputs)
    if inputs is None:
        inputs = list(dict.fromkeys(name for t in texts for name in variables(t)))
        if not inputs:
            raise GraphError(f"the expression {texts[0]!r} has no variables")
    recorder = OperationRecorder(inputs)
    outputs = [recorder.record(parse_formula(t, inputs), inputs) for t in texts]
    for t, output in zip(texts, outputs, strict=True):
        if not isinstance(output, str):
            raise GraphError(f"the expression {t!r} is a constant")
    graph = recorder.build([str(o) for o in outputs])
    return fused(graph) if fuse else graph


def to_expression(graph: FunctionGraph, most_characters: int = 100_000) -> list[str]:
    """One expression per output; shared nodes are written out each time they are used.

    Raises:
        GraphError: a constituent has no formula, or the text would pass ``most_characters`` (shared
            nodes can make it exponentially long).
    """
    check_graph("graph", graph)
    most_characters = check_count("most_characters", most_characters)
    names = [in_backquotes(name) for name in graph.inputs]
    length = {name: len(name) for name in graph.inputs}
    texts: dict[str, Formula] = {name: Argument(i) for i, name in enumerate(graph.inputs)}
    for node in graph.nodes:
        parts = list(walk(formula_of(node)))
        length[node.name] = sum(length[node.parents[p.index]] if isinstance(p, Argument) else 3 for p in parts)
        if length[node.name] > most_characters:
            raise GraphError(f"the expression would be longer than {most_characters} characters at {node.name!r}")
        texts[node.name] = substitute(formula_of(node), [texts[p] for p in node.parents])
    try:
        return [render(texts[o], names) for o in graph.outputs]
    except RecursionError:
        raise GraphError(f"the graph is too deep ({graph.depth} levels) to be written as one expression") from None


def formula_of(node: Node) -> Formula:
    """The node's formula, or an error that names the node."""
    if node.constituent is None or node.constituent.formula is None:
        raise GraphError(f"node {node.name!r} has no formula")
    return node.constituent.formula


def expanded(graph: FunctionGraph) -> FunctionGraph:
    """The same function with one node per operation; nodes without a formula stay as they are."""
    check_graph("graph", graph)
    recorder = OperationRecorder(graph.inputs, reserved=[n.name for n in graph.nodes])
    new_name: dict[str, str] = {name: name for name in graph.inputs}
    for node in graph.nodes:
        parents = [new_name[p] for p in node.parents]
        formula = node.constituent.formula if node.constituent is not None else None
        if isinstance(formula, Apply) and node.kind is None and node.channels == 1:
            new_name[node.name] = str(recorder.record(formula, parents))
        else:
            recorder.nodes.append(replace(node, parents=tuple(recorder.distinct(parents))))
            new_name[node.name] = node.name
    return recorder.build([new_name[o] for o in graph.outputs])


_LARGEST_FUSED = 100
"""Parts of a formula beyond which nothing more is folded into it: x*x*… would double each time."""


def fused(graph: FunctionGraph) -> FunctionGraph:
    """The same function with nodes of one variable folded into a neighbour where that is possible."""
    check_graph("graph", graph)
    nodes = {n.name: n for n in graph.nodes}
    users = {name: list(names) for name, names in graph.consumers.items()}
    outputs = list(graph.outputs)
    for name in [n.name for n in graph.nodes]:
        node = nodes[name]
        if node.arity != 1 or not _plain(node):
            continue
        parent = node.parents[0]
        if parent in nodes and users[parent] == [name] and parent not in outputs and _foldable(nodes[parent], node, 0):
            _fold_down(nodes, users, outputs, name, parent)
        elif len(users[name]) == 1 and name not in outputs:
            user = nodes[users[name][0]]
            if _foldable(node, user, user.parents.index(name)):
                _fold_up(nodes, users, name, user.name)
    return FunctionGraph(graph.inputs, nodes.values(), outputs)


def _plain(node: Node) -> bool:
    return node.channels == 1 and node.kind is None and node.constituent is not None and bool(node.constituent.formula)


def _foldable(inner: Node, outer: Node, argument: int) -> bool:
    if not (_plain(inner) and _plain(outer)):
        return False
    parts = list(walk(formula_of(outer)))
    uses = sum(p == Argument(argument) for p in parts)
    return len(parts) + uses * sum(1 for _ in walk(formula_of(inner))) <= _LARGEST_FUSED


def _fold_down(nodes: dict[str, Node], users: dict[str, list[str]], outputs: list[str], name: str, parent: str) -> None:
    """name = f(parent), parent used by nothing else: name takes over the parent's parents."""
    inner = nodes.pop(parent)
    formula = substitute(formula_of(nodes[name]), [formula_of(inner)])
    nodes[name] = Node(name, inner.parents, Constituent.from_formula(formula, inner.arity))
    for grandparent in inner.parents:
        users[grandparent] = [name if u == parent else u for u in users[grandparent]]


def _fold_up(nodes: dict[str, Node], users: dict[str, list[str]], name: str, user: str) -> None:
    """name = f(parent), used by one node: that node computes f itself."""
    inner, outer = nodes.pop(name), nodes[user]
    parent = inner.parents[0]
    parents = tuple(dict.fromkeys(parent if p == name else p for p in outer.parents))
    arguments: list[Formula] = [
        substitute(formula_of(inner), [Argument(parents.index(parent))]) if p == name else Argument(parents.index(p))
        for p in outer.parents
    ]
    formula = substitute(formula_of(outer), arguments)
    nodes[user] = Node(user, parents, Constituent.from_formula(formula, len(parents)))
    users[parent] = list(dict.fromkeys(user if u == name else u for u in users[parent]))
