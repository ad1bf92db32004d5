"""A sharper certificate where steep steps never meet, and a smaller network that it allows for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from compsparse.construct.building import Built
from compsparse.construct.lowering import node_formula
from compsparse.construct.opaque import Opaque
from compsparse.construct.propagation import CellSides, Propagation, divided, may_fall, weighted
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph

_LOOSER = 3
"""Times that a network is built for a larger error than was asked for, whose certificate on cells is small enough."""
_ENOUGH = 0.5
"""A certificate above this share of the tolerance is not worth another network."""


def tightened(
    graph: FunctionGraph,
    opaque: Mapping[str, Opaque],
    box: Sequence[tuple[float, float]],
    built: Built,
    tol: float,
    rebuild: Callable[[float], Built],
) -> Built:
    """The network with bounds over cells of the box, or one of fewer units that these bounds allow for.

    Args:
        rebuild: builds for another tolerance of the bound by largest slopes.
    """
    formulas = {node.name: opaque.get(node.name) or node_formula(node) for node in graph.nodes}
    propagation = _propagation(graph, formulas, built)
    own = _own(built)
    if not may_fall(propagation, box, own, max(built.bounds, default=0.0)):
        return built
    cells = divided(propagation, box, own)
    best = found = _on_cells(built, propagation, cells)
    asked = tol
    for _ in range(_LOOSER):
        if _ENOUGH * tol < _reached(found) <= tol:
            break
        asked *= 0.85 * tol / _reached(found)
        try:
            looser = rebuild(asked)
        except ConfigError:
            break
        found = _on_cells(looser, _propagation(graph, formulas, looser), cells)
        if _reached(found) <= tol and _units(found) < _units(best):
            best = found
    return best


def _propagation(graph: FunctionGraph, formulas: Mapping[str, object], built: Built) -> Propagation:
    found = built.tolerances
    return Propagation(graph, built.program, built.outputs, formulas, found.places, found.widened)  # type: ignore[arg-type]


def _own(built: Built) -> dict[int, float]:
    return {wire: gadget.error + built.tolerances.places[wire].cut for wire, gadget in built.gadgets.items()}


def _on_cells(built: Built, propagation: Propagation, cells: CellSides) -> Built:
    """Errors and roundings of single steps, carried to the outputs over cells."""
    with np.errstate(all="ignore"):
        factors = propagation.factors(cells)
    bound = float(weighted(factors, _own(built)).max())
    rounding = float(weighted(factors, built.roundings).max()) + built.read_out
    smaller = tuple(min(bound, old) for old in built.bounds)
    return replace(built, bounds=smaller, rounding=min(rounding, built.rounding))


def _reached(built: Built) -> float:
    return max(built.bounds, default=0.0) + built.rounding


def _units(built: Built) -> int:
    return sum(gadget.n_units for gadget in built.gadgets.values())
