"""Known formulas of statistics and engineering: Friedman's three, the borehole, and a line that glues."""

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
