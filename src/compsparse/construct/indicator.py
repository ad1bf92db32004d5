r"""The memo's Lemma 2, for comparison: a sum of indicators of cells, each times the value at the cell's centre.

A trapezoid indicator of an interval takes four ReLUs, the minimum of two takes three, so a cell in two variables costs
eleven. Along an edge the two indicators add up to one, but at a corner four minima of 1/2 add up to two: the sum is off
by the value of the function itself, on a set that shrinks with the ramps. So there is a bound in the L2 norm and none
in the sup norm. With k = L/eps cells a side it takes :math:`O(L^2 \varepsilon^{-2})` units a node, not
:math:`O(L \varepsilon^{-2})`, and eps is the error of one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from compsparse.checks import brief, check_count, check_number, check_numbers
from compsparse.construct.enclosure import bounds_on
from compsparse.construct.explicit import ExplicitReLU, SparseLayer
from compsparse.errors import ConfigError
from compsparse.graph.formula import Apply, Argument, Constant, Formula, formula_value
from compsparse.sizes import check_size


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


def indicator_cells(formula: Formula, box: Sequence[tuple[float, float]], eps: float) -> int:
    """Cells a side at which the value at the centre is within eps of the function: h/2 times the sum of slopes."""
    eps = check_number("eps", eps, above=0)
    slopes = bounds_on(formula, box).slopes
    reach = sum(slope * (high - low) for slope, (low, high) in zip(slopes, box, strict=True))
    if not np.isfinite(reach):
        raise ConfigError("the function has an infinite slope on this domain: narrow the domain")
    return max(int(np.ceil(reach / (2 * eps))), 1)


def indicator_network(
    formula: Formula, box: Sequence[tuple[float, float]], cells: int, ramp: float = 0.05
) -> IndicatorNetwork:
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
