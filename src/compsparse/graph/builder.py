"""Building graphs by hand, and from streams of primitive operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Unpack

from compsparse.checks import brief, check_name_list
from compsparse.errors import GraphError
from compsparse.graph.constituent import Constituent, DeclaredProperties
from compsparse.graph.formula import Apply, Argument, Constant, Formula
from compsparse.graph.function_graph import FunctionGraph, Kind, Node


class GraphBuilder:
    """Collects nodes and builds a :class:`FunctionGraph`.

    >>> b = GraphBuilder(["a", "b", "c"])
    >>> u = b.node("u", ["a", "b"], "a*b")
    >>> y = b.node("y", [u, "c"], "tanh(u + c)")
    >>> print(b.build())
    y = tanh(u + c)
    ├─ u = a*b
    │  ├─ a
    │  └─ b
    └─ c
    """

    def __init__(self, inputs: Iterable[str]):
        self.inputs = check_name_list("inputs", inputs)
        self.nodes: list[Node] = []

    def node(
        self,
        name: str,
        parents: Sequence[str],
        constituent: Constituent | str | Callable[..., Any] | None = None,
        *,
        kind: Kind | None = None,
        channels: int = 1,
        **declared: Unpack[DeclaredProperties],
    ) -> str:
        """Adds a node and returns its name.

        Args:
            constituent: an expression of the parents' names, a vectorised callable, or a Constituent.
            declared: ``smoothness``, ``value_range``, ``lipschitz`` of an expression or callable.
        """
        parents = [parents] if isinstance(parents, str) else check_name_list(f"parents of {brief(name)}", parents)
        if isinstance(constituent, str):
            constituent = Constituent.from_expression(constituent, parents, **declared)
        elif callable(constituent) and not isinstance(constituent, Constituent):
            constituent = Constituent.from_callable(constituent, len(parents), **declared)
        elif declared:
            raise GraphError(f"node {name!r} declares {sorted(declared)} but has no new function to declare it of")
        self.nodes.append(Node(name, tuple(parents), constituent, kind, channels))
        return name

    def build(self, outputs: str | Iterable[str] | None = None) -> FunctionGraph:
        """The graph; outputs default to the one node that nothing uses."""
        return FunctionGraph(self.inputs, self.nodes, outputs)


def _constant(value: float | Formula) -> Formula:
    return value if isinstance(value, (Argument, Constant, Apply)) else Constant(float(value))


class OperationRecorder:
    """Turns primitive operations into nodes, the same operation on the same values only once.

    Values are names (of inputs and nodes), numbers, or formulas of numbers alone.
    """

    def __init__(self, inputs: Sequence[str], reserved: Iterable[str] = ()):
        self.inputs = tuple(inputs)
        self.nodes: list[Node] = []
        self._taken = {*inputs, *reserved}
        self._known: dict[tuple[Formula, tuple[str, ...]], str] = {}

    def apply(self, operation: str, operands: Sequence[str | float | Formula]) -> str:
        """The name of the node that holds the operation's value."""
        parents = tuple(dict.fromkeys(o for o in operands if isinstance(o, str)))
        formula = Apply(
            operation,
            tuple(Argument(parents.index(o)) if isinstance(o, str) else _constant(o) for o in operands),
        )
        key = (formula, parents)
        if key not in self._known:
            self._known[key] = self._add(operation, formula, parents)
        return self._known[key]

    def _add(self, operation: str, formula: Formula, parents: tuple[str, ...]) -> str:
        name = f"{operation}_{len(self.nodes)}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        self.nodes.append(Node(name, parents, Constituent.from_formula(formula, len(parents))))
        return name

    def record(self, formula: Formula, arguments: Sequence[str]) -> str | float:
        """Adds a whole formula; the value it returns is the name (or number) it ends in."""
        done: list[str | float] = []
        waiting: list[tuple[Formula, bool]] = [(formula, False)]
        while waiting:  # a sum of a thousand terms nests a thousand deep
            part, operands_done = waiting.pop()
            match part:
                case Argument(index):
                    done.append(arguments[index])
                case Constant(value):
                    done.append(value)
                case Apply(operation, operands) if operands_done:
                    first = len(done) - len(operands)
                    done[first:] = [self.apply(operation, done[first:])]
                case Apply(_, operands):
                    waiting.append((part, True))
                    waiting.extend((o, False) for o in reversed(operands))
        return done[0]

    def build(self, outputs: Sequence[str]) -> FunctionGraph:
        """The graph of what the outputs need; everything else is dropped."""
        return FunctionGraph(self.inputs, self.nodes, self.distinct(outputs)).pruned()

    def distinct(self, names: Sequence[str]) -> list[str]:
        """The names with every repeat replaced by a node that copies the value."""
        seen: list[str] = []
        for name in names:
            seen.append(self._add("copy", Argument(0), (name,)) if name in seen else name)
        return seen
