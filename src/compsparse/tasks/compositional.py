"""Compositional targets: the three benchmark functions, and random functions on any graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compsparse.checks import RandomState, generator_from
from compsparse.errors import ConfigError
from compsparse.graph import Constituent, FunctionGraph, balanced_tree, input_names
from compsparse.graph.formula import Apply, Argument, Constant, Formula
from compsparse.graph.function_graph import Node, check_graph
from compsparse.sizes import check_work
from compsparse.tasks.task import Task, UniformInputs, box

_WIDEST = 25
"""Most parents of a node of a random function: a term per pair makes its formula nest deeply."""


def tanh_tree(n_inputs: int = 8, noise: float = 0.0) -> Task:
    """A balanced binary tree of h(a, b) = tanh(1.2ab + a - 0.8b + 0.3)."""
    h = Constituent.from_expression("tanh(1.2*a*b + a - 0.8*b + 0.3)", ["a", "b"])
    return Task("tanh", balanced_tree(n_inputs, constituent=_pairs_only(h)), box(n_inputs), noise)


def sincos_tree(n_inputs: int = 8, noise: float = 0.0) -> Task:
    """A balanced binary tree of h(a, b) = sin(2a + 1) cos(1.5b) + 0.5ab: smooth, yet hard to fit."""
    h = Constituent.from_expression("sin(2*a + 1)*cos(1.5*b) + 0.5*a*b", ["a", "b"])
    return Task("sincos", balanced_tree(n_inputs, constituent=_pairs_only(h)), box(n_inputs), noise)


def _pairs_only(constituent: Constituent) -> Callable[[int], Constituent]:
    def choose(arity: int) -> Constituent:
        if arity != 2:
            raise ConfigError(f"a binary tree has no node of {arity} parents")
        return constituent

    return choose


def shared_dag(noise: float = 0.0) -> Task:
    """Eight inputs, u = sin(2 x0 x1 + x2) used twice: tanh(2uv) + 0.5 cos(2wu)."""
    u = "sin(2*x0*x1 + x2)"
    v = "exp(-(x3 - x4)**2)"
    w = "(x5*sqrt(1 + x6**2) + x7)"
    text = f"tanh(2*{u}*{v}) + 0.5*cos(2*{w}*{u})"
    return Task("dag", FunctionGraph.from_expression(text, input_names(8)), box(8), noise)


def random_target(graph: FunctionGraph, random_state: RandomState = None, noise: float = 0.0) -> Task:
    """A random smooth function on a given graph, its constituents drawn at random.

    Each node computes tanh of a random quadratic form of its parents, with every linear and
    every pairwise coefficient between 0.5 and 1.5 in size, scaled to keep tanh out of saturation.
    """
    check_graph("graph", graph)
    rng = generator_from(random_state)
    most = max((n.arity for n in graph.nodes), default=1)
    check_work("the number of parents of a node", most, _WIDEST, "give a graph of smaller functions")
    nodes = [Node(n.name, n.parents, _random_constituent(n.arity, rng)) for n in graph.nodes]
    return Task("random", FunctionGraph(graph.inputs, nodes, graph.outputs), box(graph.n_inputs), noise)


def _random_constituent(arity: int, rng: np.random.Generator) -> Constituent:
    pairs = [(i, j) for i in range(arity) for j in range(i + 1, arity)]
    terms: list[Formula] = [Argument(i) for i in range(arity)]
    terms += [Apply("mul", (Argument(i), Argument(j))) for i, j in pairs]
    scale = 2.0 / np.sqrt(len(terms))
    total: Formula = Constant(round(float(rng.uniform(-0.5, 0.5)), 6))
    for term in terms:
        size = scale * float(rng.uniform(0.5, 1.5)) * float(rng.choice([-1, 1]))
        total = Apply("add", (total, Apply("mul", (Constant(round(size, 6)), term))))
    return Constituent.from_formula(Apply("tanh", (total,)), arity)


_PARTS = {
    1: ("sin(2*{0})", "{0}**2", "exp({0})", "log({0} + 0.3)", "tanh(2*{0} - 2)", "sqrt({0})"),
    2: ("{0}*{1}", "sin({0} + 2*{1})", "{0}/({0} + {1})", "exp(-{0}*{1})"),
    3: ("sin({0}*{1} + {2})", "({0} + 0.5*{1}**2)*exp(-{2})", "{0}*{1} + {1}*{2} + {2}*{0}"),
}
_MOST_PARTS, _MOST_UNEQUAL, _DECADES = 10, 12, 3.0


def unequal_target(random_state: RandomState = None, noise: float = 0.0) -> Task:
    """A sum, a product or the exponential of a sum of three to ten parts whose strengths differ by up to a thousand.

    Parts are functions of one, two or three inputs of their own, which lie between 0.5 and 1.5.

    >>> sorted(map(sorted, unequal_target(random_state=2).graph.modules))
    [['x1', 'x2'], ['x4', 'x5'], ['x6', 'x7']]
    """
    rng = generator_from(random_state)
    sizes = rng.choice(3, size=int(rng.integers(3, _MOST_PARTS + 1)), p=[0.6, 0.3, 0.1]) + 1
    sizes = sizes[np.cumsum(sizes) <= _MOST_UNEQUAL]
    names = input_names(int(sizes.sum()))
    strength = 10.0 ** -rng.uniform(0, _DECADES, len(sizes))
    strength /= strength.max()
    inputs = UniformInputs(((0.5, 1.5),) * len(names))
    terms, first = [], 0
    for size, share in zip(sizes, strength, strict=True):
        part = str(rng.choice(_PARTS[int(size)])).format(*names[first : first + size])
        values = FunctionGraph.from_expression(part, names)(inputs.sample(4000, 0))
        terms.append((share, f"({part} - {values.mean():.5f})/{values.std():.5f}"))
        first += int(size)
    root = str(rng.choice(["sum", "product", "exponential"]))
    text = " + ".join(f"{share:.6f}*({part})" for share, part in terms)
    if root == "product":
        text = "*".join(f"(1 + {0.3 * share:.6f}*({part}))" for share, part in terms)
    elif root == "exponential":
        text = f"exp(0.5*({text}))"
    return Task("unequal", FunctionGraph.from_expression(text, names), inputs, noise)
