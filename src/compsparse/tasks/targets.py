"""Targets that are formulas: compositional ones, dense ones without any module, and known ones of engineering."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from compsparse.checks import MOST_VARIABLES, RandomState, check_choice, check_count, generator_from
from compsparse.errors import ConfigError
from compsparse.graph import Constituent, FunctionGraph, balanced_tree, input_names
from compsparse.graph.formula import Apply, Argument, Constant, Formula
from compsparse.graph.function_graph import Node, check_graph
from compsparse.sizes import check_work
from compsparse.tasks.task import Task, UniformInputs, box, on

# ---- compositional: the three benchmark functions, and random functions on any graph ----------------


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


# ---- dense: what a search must not claim structure in -----------------------------------------------

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


# ---- known formulas of statistics and engineering ---------------------------------------------------


def friedman1(n_inputs: int = 10, noise: float = 0.0) -> Task:
    """10 sin(pi x0 x1) + 20 (x2 - 0.5)^2 + 10 x3 + 5 x4 on [0, 1]^d; inputs from x5 on are inert."""
    n_inputs = check_count("n_inputs", n_inputs, least=5, most=MOST_VARIABLES)
    text = "10*sin(pi*x0*x1) + 20*(x2 - 0.5)**2 + 10*x3 + 5*x4"
    return Task("friedman1", FunctionGraph.from_expression(text, input_names(n_inputs)), box(n_inputs, 0, 1), noise)


_CIRCUIT = on([(0, 100), (40 * math.pi, 560 * math.pi), (0, 1), (1, 11)])


def friedman2(noise: float = 0.0) -> Task:
    """Impedance of a circuit: sqrt(x0^2 + (x1 x2 - 1/(x1 x3))^2)."""
    text = "sqrt(x0**2 + (x1*x2 - 1/(x1*x3))**2)"
    return Task("friedman2", FunctionGraph.from_expression(text, input_names(4)), _CIRCUIT, noise)


def friedman3(noise: float = 0.0) -> Task:
    """Phase of the same circuit: arctan((x1 x2 - 1/(x1 x3)) / x0)."""
    text = "arctan((x1*x2 - 1/(x1*x3))/x0)"
    return Task("friedman3", FunctionGraph.from_expression(text, input_names(4)), _CIRCUIT, noise)


_BOREHOLE = {
    "rw": (0.05, 0.15),
    "r": (100, 50_000),
    "Tu": (63_070, 115_600),
    "Hu": (990, 1110),
    "Tl": (63.1, 116),
    "Hl": (700, 820),
    "L": (1120, 1680),
    "Kw": (9855, 12_045),
}


def borehole(noise: float = 0.0) -> Task:
    """Flow of water through a borehole between two aquifers, in cubic metres a year.

    rw, r: radii of the borehole and of its influence (m); Tu, Tl: transmissivities of the upper and
    lower aquifer (m^2/year); Hu, Hl: their heads (m); L: length (m); Kw: conductivity (m/year).
    """
    text = "2*pi*Tu*(Hu - Hl)/(log(r/rw)*(1 + 2*(L/Kw)*Tu/(log(r/rw)*rw**2) + Tu/Tl))"
    return Task("borehole", FunctionGraph.from_expression(text, [*_BOREHOLE]), on(_BOREHOLE), noise)


_GLUING = {
    "resin_flow": (160, 240),
    "hardener_flow": (80, 120),
    "cure_temperature": (120, 180),
    "cure_time": (10, 40),
    "humidity": (20, 80),
}
_STATIONS = ("mixer", "robot", "press", "oven", "conveyor")
_READINGS = {
    "air_temperature": (18, 32),
    "bearing_temperature": (35, 70),
    "current": (2, 14),
    "coolant_flow": (4, 9),
    "noise_level": (60, 85),
    "oil_pressure": (2, 6),
    "power": (0.5, 5),
    "speed": (200, 900),
    "supply_pressure": (4, 8),
    "vibration": (0.1, 3),
    "voltage": (380, 420),
}

GLUED_STRENGTH = (
    "18 + 9*exp(-((resin_flow - 2*hardener_flow)/20)**2) "
    "+ 8*exp(-((log(cure_time/20) + (cure_temperature - 150)/20)/0.7)**2) - 0.2*humidity"
)
"""The formula of :func:`glued_joints`."""


def glued_joints(noise: float = 0.0) -> Task:
    """Strength (MPa) of glued joints, beside 60 readings of a line, five of which act; made up for the demo.

    A joint is strong where resin and hardener (g/min) come two to one, and where the heat of the oven, by its
    temperature (°C) and the time (min) in it, is right: 20 degrees more make up for a time shorter by a factor of e.
    Humidity (%) weakens it. Eleven readings at each of five stations do nothing.
    """
    idle = {f"{station}_{name}": ends for station in _STATIONS for name, ends in _READINGS.items()}
    graph = FunctionGraph.from_expression(GLUED_STRENGTH, [*_GLUING, *idle])
    return Task("glued_joints", graph, on([*_GLUING.values(), *idle.values()]), noise)
