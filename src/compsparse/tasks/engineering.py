"""Known formulas of statistics and engineering: Friedman's three, and the borehole."""

from __future__ import annotations

import math

from compsparse.checks import MOST_VARIABLES, check_count
from compsparse.graph import FunctionGraph, input_names
from compsparse.tasks.task import Task, box, on


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


_BOREHOLE_INPUTS = ("rw", "r", "Tu", "Hu", "Tl", "Hl", "L", "Kw")


def borehole(noise: float = 0.0) -> Task:
    """Flow of water through a borehole between two aquifers, in cubic metres a year.

    rw, r: radii of the borehole and of its influence (m); Tu, Tl: transmissivities of the upper and
    lower aquifer (m^2/year); Hu, Hl: their heads (m); L: length (m); Kw: conductivity (m/year).
    """
    text = "2*pi*Tu*(Hu - Hl)/(log(r/rw)*(1 + 2*(L/Kw)*Tu/(log(r/rw)*rw**2) + Tu/Tl))"
    bounds = on(
        [
            (0.05, 0.15),
            (100, 50_000),
            (63_070, 115_600),
            (990, 1110),
            (63.1, 116),
            (700, 820),
            (1120, 1680),
            (9855, 12_045),
        ]
    )
    return Task("borehole", FunctionGraph.from_expression(text, _BOREHOLE_INPUTS), bounds, noise)
