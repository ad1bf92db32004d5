"""Targets without any module: what a search must not claim structure in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compsparse.checks import RandomState, check_choice, check_count, generator_from
from compsparse.graph import Constituent, FunctionGraph, Node, input_names
from compsparse.tasks.task import Task, box

_FEWEST, _MOST = 5, 25
"""Inputs: a cycle of four has modules, and a term per pair makes long formulas."""


def dense_target(kind: str, n_inputs: int = 8, random_state: RandomState = None, noise: float = 0.0) -> Task:
    """A random function of all its inputs on [-1, 1]^d that has no module, as one prime node.

    Args:
        kind: ``quadratic`` (a quadratic form and a sine of all inputs), ``waves`` (four sines in different
            directions), ``network`` (eight tanh units), ``cycle`` (products of neighbours on a ring) or
            ``quotient`` (of two linear forms).

    >>> dense_target("cycle", random_state=0).graph.modules
    frozenset()
    """
    check_choice("kind", kind, list(_WRITTEN))
    n_inputs = check_count("n_inputs", n_inputs, least=_FEWEST, most=_MOST)
    names = input_names(n_inputs)
    text = _WRITTEN[kind](names, generator_from(random_state))
    graph = FunctionGraph(names, [Node("y", names, Constituent.from_expression(text, names))])
    return Task(kind, graph, box(n_inputs), noise)


def _sized(rng: np.random.Generator) -> float:
    """A coefficient that is neither small nor large, so that no input is all but inert."""
    return float(rng.uniform(0.5, 1.5) * rng.choice([-1, 1]))


def _linear(names: Sequence[str], rng: np.random.Generator, size: float = 1.0) -> str:
    return " + ".join(f"({size * _sized(rng):.6f})*{name}" for name in names)


def _quadratic(names: Sequence[str], rng: np.random.Generator) -> str:
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i:]]
    terms = [f"({_sized(rng):.6f})*{a}*{b}" for a, b in pairs]
    return " + ".join([*terms, f"sin(2*({_linear(names, rng)}))"])


def _waves(names: Sequence[str], rng: np.random.Generator) -> str:
    size = 1.5 / np.sqrt(len(names))
    return " + ".join(f"sin({_linear(names, rng, size)} + {rng.uniform(0, 6):.6f})" for _ in range(4))


def _network(names: Sequence[str], rng: np.random.Generator) -> str:
    size = 2 / np.sqrt(len(names))
    units = [f"({_sized(rng):.6f})*tanh({_linear(names, rng, size)} + ({rng.uniform(-1, 1):.6f}))" for _ in range(8)]
    return " + ".join(units)


def _cycle(names: Sequence[str], rng: np.random.Generator) -> str:
    return " + ".join(f"({_sized(rng):.6f})*{a}*{b}" for a, b in zip(names, [*names[1:], names[0]], strict=True))


def _quotient(names: Sequence[str], rng: np.random.Generator) -> str:
    size = 1 / len(names)
    return f"(2 + {_linear(names, rng, size)})/(2 + {_linear(names, rng, size)})"


_WRITTEN: dict[str, Callable[[Sequence[str], np.random.Generator], str]] = {
    "quadratic": _quadratic,
    "waves": _waves,
    "network": _network,
    "cycle": _cycle,
    "quotient": _quotient,
}
