"""Units side by side: what the theorem counts, what it counts with path factors, and what was built."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compsparse.checks import check_number
from compsparse.construct.enclosure import cut_box, enclose_graph
from compsparse.construct.record import Compiled
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph

_DERIVATIVES = 2.0
_CELLS = 256


@dataclass(frozen=True)
class UnitCounts:
    """Units of a deep and of a shallow network for one tolerance, as powers of ten.

    Attributes:
        units: ReLUs of the network that was built.
        log10_deep: the theorem's sum over nodes of eps^(-d_v/m_v), without constants.
        log10_deep_with_factors: the same with each node's share of the tolerance, tol/(number of nodes * a_v).
        log10_shallow: the theorem's eps^(-n/m), without constants.
        log10_shallow_built: ReLUs of one grid over all inputs with the same certified error.
    """

    tol: float
    units: int
    log10_deep: float
    log10_deep_with_factors: float
    log10_shallow: float
    log10_shallow_built: float


def unit_counts(built: Compiled) -> UnitCounts:
    """The counts of a compiled graph, side by side.

    >>> from compsparse.construct import compile
    >>> found = unit_counts(compile("tanh(a*b) + sin(c*d)", (-1, 1), 0.01))
    >>> found.units < 10**found.log10_shallow_built
    True
    """
    theorem = built.graph.complexity(min(built.tol, 0.999), _DERIVATIVES)
    factors = {node.name: node.path_factor for node in built.nodes}
    share = [
        -(t.arity / t.smoothness) * math.log10(min(built.tol / (len(theorem.terms) * factors[t.node]), 1.0))
        for t in theorem.terms
        if t.smoothness and 0 < factors[t.node] < math.inf
    ]
    with_factors = math.log10(sum(10 ** min(s, 300.0) for s in share)) if share else 0.0
    return UnitCounts(
        built.tol,
        built.size.units,
        theorem.log10_deep,
        with_factors,
        theorem.log10_shallow,
        shallow_log10_units(built.graph, built.domain, built.tol),
    )


def shallow_log10_units(graph: FunctionGraph, domain: Sequence[tuple[float, float]], tol: float) -> float:
    """log10 of the ReLUs of one Kuhn grid over all inputs whose certified error is ``tol``, for one output.

    Infinite where the function has no bounded second derivatives.
    """
    tol = check_number("tol", tol, above=0)
    used = [i for i, name in enumerate(graph.inputs) if name not in graph.inert]
    if len(graph.outputs) != 1:
        raise ConfigError("a shallow network is counted for one output")
    kinked = [n for n in graph.nodes if n.constituent is None or (n.constituent.smoothness or 0) < _DERIVATIVES]
    if kinked:  # cells that end at a kink do not show it
        return math.inf
    found = enclose_graph(graph, cut_box(domain, _CELLS))[graph.outputs[0]]
    lengths = np.array([domain[i][1] - domain[i][0] for i in used])
    bends = np.array([[float(np.max(found.bend(i, j).magnitude)) for j in used] for i in used])
    if not np.isfinite(bends).all():
        return math.inf
    # n_i cells a side with n_i proportional to w_i; the error is sum_ij |f_ij| h_i h_j / 8
    w = np.sqrt(np.maximum(lengths * (bends @ lengths), 1e-300))
    scale = math.sqrt(float((lengths / w) @ bends @ (lengths / w)) / (8 * tol))
    cells = np.maximum(np.ceil(scale * w), 1.0)
    return math.log10(3) + float(np.sum(np.log10(cells + 1)))
