r"""Errors through a program: path factors, widened ranges, and the split of the tolerance.

:math:`e_v \le \varepsilon_v + \sum_u L_{vu} e_u`, so the error of the output is at most
:math:`\sum_v a_v \varepsilon_v`. The Lipschitz constants must hold where the *approximate* inputs lie. Since
:math:`a_u e_u \le \sum_v a_v \varepsilon_v = tol`, ranges that are widened by :math:`tol / a_u`, with path factors from
the exact ranges, are wide enough for every later choice: path factors only grow when ranges do.

The path factor :math:`a_v` is the sum, over all paths from v to the output, of the products of Lipschitz constants
along them. A step with error :math:`\varepsilon` costs about :math:`c_v \varepsilon^{-p_v}` units; the cheapest split
has :math:`\varepsilon_v = (c_v p_v / (\lambda a_v))^{1/(p_v + 1)}` for one :math:`\lambda`, found by bisection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from compsparse.boxes import Side
from compsparse.construct.enclosure import bounds_on
from compsparse.construct.forms import AffineForm
from compsparse.construct.kuhn import grid_for
from compsparse.construct.lowering import Program, ProgramStep
from compsparse.construct.splines import free_knots, refined_mesh
from compsparse.errors import ConfigError, GraphError

_MARGIN = 1.5
"""By how much ranges are widened beyond what the split needs, which leaves room for rounding."""
_WIDEST = 0.25
"""A wire is never widened by more than this share of its range."""
_CLOSED = 0.01
"""The range of a ReLU counts as at least this share of its input's: one that hardly opens need not be exact."""
_RESOLVED = 4096
"""Roundings of its values that a wire's range counts as at least, since a narrower one cannot be computed."""
_CELLS = 1024
_CUT_SHARE = 0.25
"""Share of a step's tolerance that may be spent on cutting off the end of a range where the slope is infinite."""


class StepError(GraphError):
    """A node that cannot be built from steps; a grid may still do."""

    def __init__(self, node: str, problem: str):
        self.node = node
        super().__init__(f"node {node!r} {problem}: narrow the domain")


@dataclass(frozen=True)
class Place:
    """Where a step works: the box of its forms, its Lipschitz constants there, and what clipping costs.

    Attributes:
        clipped: the box is smaller than where the approximate inputs lie, and the step is constant beyond it.
        cut: error of not following the function to the end of its range.
    """

    box: tuple[Side, ...]
    slopes: tuple[float, ...]
    clipped: bool = False
    cut: float = 0.0


@dataclass(frozen=True)
class Tolerances:
    """Path factors and places of all steps, by wire.

    Attributes:
        widened: by how much the approximation of each wire may be off without leaving its readers' boxes.
    """

    factors: dict[int, float]
    places: dict[int, Place]
    widened: dict[int, float]


def tolerances(program: Program, tol: float, dtype: torch.dtype = torch.float64) -> Tolerances:
    """Path factors over widened ranges, for a network that computes in this type."""
    resolved = _RESOLVED * torch.finfo(dtype).eps / 2
    exact = _backwards(program, tol, resolved, dict.fromkeys(program.ranges.wires, 0.0))
    widened = dict.fromkeys(range(program.graph.n_inputs), 0.0)
    widened |= {wire: _MARGIN * tol / factor for wire, factor in exact.factors.items()}
    found = _backwards(program, tol, resolved, widened, exact.factors)
    return Tolerances(found.factors, found.places, widened)


def _backwards(
    program: Program,
    tol: float,
    resolved: float,
    widened: Mapping[int, float],
    least: Mapping[int, float] | None = None,
) -> Tolerances:
    """From the outputs to the inputs: a step's readers are settled before it is. No factor falls below ``least``."""
    factors = {step.wire: 0.0 for step in program.steps}
    for form in program.outputs:
        for wire, weight in form.terms:
            if wire in factors:
                factors[wire] = max(factors[wire], abs(float(weight)))
    places: dict[int, Place] = {}
    read = {wire for step in program.steps for form in step.forms for wire in form.wires}
    for step in reversed(program.steps):
        narrow = _MARGIN * tol / (_WIDEST * _width(step, program, resolved) + 1e-300) if step.wire in read else 0.0
        factors[step.wire] = max(factors[step.wire], narrow, least[step.wire] if least else 0.0) * (1 + 1e-12)
        place = places[step.wire] = _place(step, program, widened, tol / factors[step.wire])
        for form, slope in zip(step.forms, place.slopes, strict=True):
            for wire, weight in form.terms:
                if wire in factors:
                    if not np.isfinite(slope):
                        raise StepError(step.node, "has an infinite slope where its inputs are not exact")
                    factors[wire] += factors[step.wire] * slope * abs(float(weight))
    return Tolerances(factors, places, dict(widened))


def _width(step: ProgramStep, program: Program, resolved: float) -> float:
    low, high = step.range
    if step.kind != "relu":
        return max(high - low, resolved * max(abs(low), abs(high)))
    below, above = program.ranges.of(step.forms[0])
    return max(high - low, _CLOSED * (above - below))


def wide_range(form: AffineForm, program: Program, widened: Mapping[int, float]) -> Side:
    """Where the form lies if its wires may be off by so much."""
    low, high = program.ranges.of(form)
    off = form.error(widened) * (1 + 1e-12)
    return (float(np.nextafter(low - off, -np.inf)), float(np.nextafter(high + off, np.inf))) if off else (low, high)


def _place(step: ProgramStep, program: Program, widened: Mapping[int, float], share: float) -> Place:
    boxes = tuple(wide_range(form, program, widened) for form in step.forms)
    match step.kind:
        case "relu":
            return Place(boxes, (1.0,))
        case "square":
            size = _symmetric(boxes[0])
            return Place((size,), (2 * size[1],))
        case "product":
            sizes = _symmetric(boxes[0]), _symmetric(boxes[1])
            return Place(sizes, (sizes[1][1], sizes[0][1]))
        case "grid":
            found = bounds_on(step.formula, boxes, _CELLS)
            if found.jumps or not found.is_finite:
                raise StepError(step.node, "is not defined a little beyond the range of its inputs")
            return Place(boxes, found.slopes)
    return _curve_place(step, program, boxes[0], share)


def _symmetric(side: Side) -> Side:
    size = max(-side[0], side[1])
    return -size, size


def _curve_place(step: ProgramStep, program: Program, wide: Side, share: float) -> Place:
    """The widened range where the curve is tame there, else the exact one, with ends of infinite slope cut off."""
    form = step.forms[0]
    exact = program.ranges.of(form)
    is_input = all(w < program.graph.n_inputs for w in form.wires)
    if is_input:
        return Place((exact,), bounds_on(step.formula, [exact], _CELLS).slopes)
    found, inner = bounds_on(step.formula, [wide], _CELLS), bounds_on(step.formula, [exact], _CELLS)
    if found.is_finite and np.isfinite(found.slopes).all() and found.slopes[0] <= 1.5 * inner.slopes[0]:
        return Place((wide,), found.slopes)
    if np.isfinite(inner.slopes[0]):
        return Place((exact,), inner.slopes, clipped=True)
    return _cut_off(step, exact, _CUT_SHARE * share)


def _cut_off(step: ProgramStep, exact: Side, budget: float) -> Place:
    """Moves steep ends inwards until the slope is finite, as far as the values there change by less than the budget."""
    low, high = exact
    tenth = (high - low) / 10
    at_low, at_high = (
        not np.isfinite(bounds_on(step.formula, [side], _CELLS).slopes[0])
        for side in ((low, low + tenth), (high - tenth, high))
    )
    inset = high - low
    for _ in range(200):
        inset *= 0.5
        a, b = low + inset if at_low else low, high - inset if at_high else high
        if not a < b:
            continue
        lost = sum(_span(step, side) for side in ((low, a), (b, high)) if side[0] < side[1])
        if lost <= budget:
            slopes = bounds_on(step.formula, [(a, b)], _CELLS).slopes
            if np.isfinite(slopes[0]):
                return Place(((a, b),), slopes, clipped=True, cut=lost)
            break
    raise StepError(step.node, "has an infinite slope inside the range of one of its parts")


def _span(step: ProgramStep, side: Side) -> float:
    found = bounds_on(step.formula, [side], 64)
    return float(np.nextafter(found.upper - found.lower, np.inf))


# ---- the split of the tolerance -----------------------------------------------------------------


@dataclass(frozen=True)
class Price:
    """A cost law c eps^-p; p = 0 stands for c log(1/eps), where depth buys accuracy."""

    scale: float
    power: float

    @property
    def weight(self) -> float:
        """The factor of eps^-(p+1) in the derivative of the cost."""
        return float(self.scale) * float(self.power or 1.0)


def price(step: ProgramStep, place: Place, eps: float) -> Price:
    """How the units of a step grow as its error shrinks, measured near an error of ``eps``."""
    if step.kind == "relu":
        return Price(0.0, 0.0)
    if step.kind in ("square", "product"):
        return Price((1 if step.kind == "square" else 2) / (2 * np.log(2)), 0.0)
    if step.kind == "curve":
        low, high = place.box[0]
        if not low < high:
            return Price(0.0, 0.5)
        pieces = len(free_knots(refined_mesh(step.formula, low, high, eps), eps)[0]) - 1
        return Price(pieces * np.sqrt(eps), 0.5)
    rough = max(0.02 * (step.range[1] - step.range[0]), eps)
    d = len(step.forms)
    try:
        points = grid_for(step.formula, place.box, rough, most=100_000).n_points
    except ConfigError:
        points = 100_000
    return Price(3 * points * rough ** (d / 2), d / 2)


def cheapest_split(prices: Sequence[Price], factors: Sequence[float], tol: float) -> np.ndarray:
    """The errors of the steps that minimise the total price subject to sum a_v eps_v = tol.

    >>> cheapest_split([Price(1.0, 0.5), Price(1.0, 0.5)], [1.0, 1.0], 0.2).round(6).tolist()
    [0.1, 0.1]
    """
    if not len(prices):
        return np.zeros(0)
    a = np.asarray(factors, dtype=float)
    weight = np.maximum([p.weight for p in prices], 1e-12)
    exponent = 1 / (np.array([p.power for p in prices]) + 1)

    def errors(log_lam: float) -> np.ndarray:
        return np.asarray(np.exp(exponent * (np.log(weight / a) - log_lam)))

    low, high = -800.0, 800.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if float(a @ errors(middle)) > tol:
            low = middle
        else:
            high = middle
    found = errors(high)
    return found * min(tol / float(a @ found), 1 + 1e-9)
