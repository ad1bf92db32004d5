r"""Units side by side: what the theorem counts, what it counts with path factors, what was built, and the memo's own.

The memo's Lemma 2 is a sum of indicators of cells, each times the value at the cell's centre. A trapezoid indicator of
an interval takes four ReLUs, the minimum of two takes three, so a cell in two variables costs eleven. Along an edge the
two indicators add up to one, but at a corner four minima of 1/2 add up to two: the sum is off by the value of the
function itself, on a set that shrinks with the ramps. So there is a bound in the L2 norm and none in the sup norm. With
k = L/eps cells a side it takes :math:`O(L^2 \varepsilon^{-2})` units a node, not :math:`O(L \varepsilon^{-2})`, and eps
is the error of one node.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from compsparse.boxes import Side
from compsparse.checks import brief, check_count, check_number, check_numbers
from compsparse.construct.enclosure import bounds_on, cut_box, enclose_graph
from compsparse.construct.explicit import ExplicitReLU, SparseLayer
from compsparse.construct.record import Compiled
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph
from compsparse.graph.formula import Apply, Argument, Constant, Formula, formula_value
from compsparse.sizes import check_size
from compsparse.text import in_a_line

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


def shallow_log10_units(graph: FunctionGraph, domain: Sequence[Side], tol: float) -> float:
    """log10 of the ReLUs of one Kuhn grid over all inputs whose certified error is ``tol``, for one output.

    Infinite where the function has no bounded second derivatives.
    """
    tol = check_number("tol", tol, above=0)
    used = [i for i, name in enumerate(graph.inputs) if name not in graph.unread]
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


# ---- Lemma 2 of the memo ------------------------------------------------------------------------


@in_a_line
@dataclass(frozen=True, eq=False)
class IndicatorNetwork:
    """The network of Lemma 2 for one function of two variables; close to it in the L2 norm only."""

    network: ExplicitReLU
    cells: int
    ramp: float


def indicator_units(cells: int, arity: int = 2) -> int:
    """Four units an indicator and three a minimum, in every cell.

    >>> indicator_units(10)
    1100
    """
    return int((4 * arity + 3 * (arity - 1)) * cells**arity)


def indicator_cells(formula: Formula, box: Sequence[Side], eps: float) -> int:
    """Cells a side at which the value at the centre is within eps of the function: h/2 times the sum of slopes."""
    eps = check_number("eps", eps, above=0)
    slopes = bounds_on(formula, box).slopes
    reach = sum(slope * (high - low) for slope, (low, high) in zip(slopes, box, strict=True))
    if not np.isfinite(reach):
        raise ConfigError("the function has an infinite slope on this domain: narrow the domain")
    return max(int(np.ceil(reach / (2 * eps))), 1)


def indicator_network(formula: Formula, box: Sequence[Side], cells: int, ramp: float = 0.05) -> IndicatorNetwork:
    """The construction of Lemma 2 on so many cells a side.

    Args:
        ramp: half the width of the slopes of an indicator, as a share of a cell's side.
    """
    k = check_count("cells", cells)
    check_number("ramp", ramp, above=0, most=0.5)
    if not isinstance(formula, (Argument, Constant, Apply)):
        raise ConfigError(f"expected a Formula, got {brief(formula)}")
    sides = check_numbers("box", box, shape=(None, 2), error=ConfigError)
    if len(sides) != 2 or not (sides[:, 0] < sides[:, 1]).all():
        raise ConfigError(f"Lemma 2 is about functions of two variables on a box, got {brief(box)}")
    check_size(f"{k}^2 cells", 60.0 * k * k, "ask for fewer cells")
    number = np.arange(k * k)
    places = [number // k, number % k]
    W, bias, centres = [], [], []
    for axis, ((low, high), place) in enumerate(zip(sides.tolist(), places, strict=True)):
        h = (high - low) / k
        a, b = low + h * place, low + h * (place + 1)
        # outermost cells reach beyond the domain, so that their ramps stay outside
        a, b = np.where(place == 0, low - h, a), np.where(place == k - 1, high + h, b)
        d = ramp * h
        for shift in (d - a, -d - a, d - b, -d - b):
            W.append(np.column_stack([np.full(k * k, float(axis == 0)), np.full(k * k, float(axis == 1))]) / (2 * d))
            bias.append(shift / (2 * d))
        centres.append(low + h * (place + 0.5))
    first = SparseLayer.of(sparse.csr_matrix(np.vstack(W)), np.concatenate(bias))
    eye = sparse.identity(k * k, format="csr")
    zero = sparse.csr_matrix((k * k, k * k))
    x, y = sparse.hstack([eye, -eye, -eye, eye, *[zero] * 4]), sparse.hstack([*[zero] * 4, eye, -eye, -eye, eye])
    # min(x, y) = (x)_+ - (-x)_+ - (x - y)_+
    second = SparseLayer.of(sparse.vstack([x, -x, x - y]), np.zeros(3 * k * k))
    heights = np.asarray(formula_value(formula, *centres)) * np.ones(k * k)
    last = SparseLayer.of(np.concatenate([heights, -heights, -heights])[None], [0.0], relu=False)
    return IndicatorNetwork(ExplicitReLU([first, second, last]), k, ramp)
