r"""How an error of one step reaches the outputs: their total derivatives by its wire, over cells of the box.

Replace the steps by their approximations one after the other. The replacement of step k moves its wire by at most
:math:`\varepsilon_k`, and the outputs by at most :math:`\sup |A_k| \varepsilon_k`, where :math:`A_k` is the derivative
of the exact rest of the program by that wire, taken where the wires before it are approximate. So the error at the
outputs is at most the largest value over cells of :math:`\sum_k |A_k| \varepsilon_k`. Unlike a product of largest
slopes this knows that a steep step and its steep reader may never meet: on each cell the derivative is an interval of
its own, and the signs of paths that cancel are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from compsparse.boxes import Side
from compsparse.clock import look_at_clock
from compsparse.construct.building import Built
from compsparse.construct.enclosure import enclose
from compsparse.construct.forms import AffineForm
from compsparse.construct.intervals import IntervalArray
from compsparse.construct.lowering import Program, ProgramStep
from compsparse.errors import ConfigError

_SAMPLED = 500
"""Points at which it is seen whether dividing the box can pay."""
_PAYS = 4.0
"""By how much the bound must be able to fall for the box to be divided."""
_AT_ONCE = 64
"""CellSides that are divided in one round."""
_MOST_CELLS = 1500
_TRIED, _FALLEN = 250, 0.8
"""Dividing ends at so many cells where the bound is still above this share of what it was."""
_CLOSE = 1.2
"""Dividing ends where the bound is within this factor of what is attained at the middle of some cell."""
_LOOSER = 3
"""Times that a network is built for a larger error than was asked for, whose certificate on cells is small enough."""
_ENOUGH = 0.5
"""A certificate above this share of the tolerance is not worth another network."""

CellSides = list[IntervalArray]


def total_derivatives(built: Built, cells: CellSides, *, is_exact: bool = False) -> dict[int, np.ndarray]:
    """The largest |A_k| on each cell, over all outputs, by wire; with ``is_exact`` where no wire is off."""
    slopes = _slopes(built, cells, is_exact)
    shape = np.shape(cells[0].lower)
    largest = {step.wire: np.zeros(shape) for step in built.program.steps}
    for output in built.program.outputs:
        reached: dict[int, IntervalArray] = {}
        _add(reached, output, IntervalArray.of(np.ones(shape)))
        for step in reversed(built.program.steps):
            if step.wire in reached:
                here = reached[step.wire]
                size = np.where(np.isnan(here.magnitude), np.inf, here.magnitude)
                largest[step.wire] = np.fmax(largest[step.wire], size)
                for form, slope in zip(step.forms, slopes[step.wire], strict=True):
                    _add(reached, form, here * slope)
    return largest


# ---- intervals of wires -------------------------------------------------------------------------


def _slopes(built: Built, cells: CellSides, is_exact: bool) -> dict[int, list[IntervalArray]]:
    known, tolerances = _known_forms(built.program, cells), built.tolerances
    wires = dict(enumerate(cells))
    found = {}
    for step in built.program.steps:
        exact = [_range(built.program, form, wires, known) for form in step.forms]
        off = [0.0 if is_exact else form.error(tolerances.widened) * (1 + 1e-12) for form in step.forms]
        place = tolerances.places[step.wire]
        wide = [
            IntervalArray(np.clip(e.lower - o, *side), np.clip(e.upper + o, *side))
            for e, o, side in zip(exact, off, place.box, strict=True)
        ]
        value, _ = _value_and_slopes(step, exact)
        wires[step.wire] = value.meet(IntervalArray.of(*step.range))
        slopes = zip(_value_and_slopes(step, wide)[1], place.slopes, strict=True)
        found[step.wire] = [slope.meet(IntervalArray.of(-most, most)) for slope, most in slopes]
    return found


def _known_forms(program: Program, cells: CellSides) -> dict[AffineForm, list[tuple[AffineForm, IntervalArray]]]:
    """Where the forms of nodes lie, from the formulas: an affine form of wires alone says less."""
    values = dict(zip(program.graph.inputs, cells, strict=True))
    known: dict[AffineForm, list[tuple[AffineForm, IntervalArray]]] = {}
    for node in program.graph.nodes:
        found = enclose(program.formulas[node.name], [values[p] for p in node.parents], order=0).value
        side = IntervalArray.of(*program.sides[node.name])
        values[node.name] = found.spread(np.shape(cells[0].lower)).meet(side)
        form = program.forms.get(node.name)
        if form is not None and len(form.terms) > 1:
            known.setdefault(form.direction[0], []).append((form, values[node.name]))
    return known


def _range(
    program: Program,
    form: AffineForm,
    wires: Mapping[int, IntervalArray],
    known: Mapping[AffineForm, Sequence[tuple[AffineForm, IntervalArray]]],
) -> IntervalArray:
    total = _affine(form, wires)
    if len(form.terms) > 1:
        for other, where in known.get(form.direction[0], ()):
            ratio = form.direction[1] / other.direction[1]
            shift = form.constant - ratio * other.constant
            moved = where * _number(ratio) + _number(shift)
            total = total.meet(moved)
    return total.meet(IntervalArray.of(*program.ranges.of(form)))


def _add(reached: dict[int, IntervalArray], form: AffineForm, amount: IntervalArray) -> None:
    for wire, weight in form.terms:
        term = amount * _number(weight)
        reached[wire] = reached[wire] + term if wire in reached else term


def _affine(form: AffineForm, wires: Mapping[int, IntervalArray]) -> IntervalArray:
    total = _number(form.constant)
    for wire, weight in form.terms:
        total = total + wires[wire] * _number(weight)
    return total


def _number(value: Fraction) -> IntervalArray:
    """A rational number, which a double may only be next to."""
    near = float(value)
    return IntervalArray.of(near) if near == value else IntervalArray.around(near)


def _value_and_slopes(step: ProgramStep, forms: Sequence[IntervalArray]) -> tuple[IntervalArray, list[IntervalArray]]:
    """Where the exact step lies on intervals of its forms, and its slopes by them."""
    x = forms[0]
    match step.kind:
        case "relu":
            value = IntervalArray(np.maximum(x.lower, 0), np.maximum(x.upper, 0))
            return value, [IntervalArray((x.lower >= 0).astype(float), (x.upper > 0).astype(float))]
        case "square":
            return x.square(), [x.scaled(2.0)]
        case "product":
            return x * forms[1], [forms[1], x]
    found = enclose(step.formula, list(forms), order=1)
    return found.value, [found.slope(i) for i in range(len(forms))]


# ---- dividing the box ---------------------------------------------------------------------------


def may_fall(built: Built, box: Sequence[Side], errors: Mapping[int, float], bound: float) -> bool:
    """Whether the bound is far above what is attained at any of some points."""
    rng = np.random.default_rng(0)
    low, high = np.array(box, dtype=float).T
    share = rng.choice([0.0, 1.0, 0.5], (_SAMPLED, len(box))) + rng.choice([0.0, 0.1], (_SAMPLED, 1)) * rng.random(
        (_SAMPLED, len(box))
    )
    points = np.clip(low + share * (high - low), low, high)
    with np.errstate(all="ignore"):
        return bool(_PAYS * total(built, points, points, errors, is_exact=True).max() < bound)


def divided(built: Built, box: Sequence[Side], errors: Mapping[int, float]) -> CellSides:
    """CellSides of the box on which the bound for steps with these errors is nearly as small as cells can make it."""
    lows, highs = (np.array(ends, dtype=float)[None] for ends in zip(*box, strict=True))
    bounds = total(built, lows, highs, errors)
    first = bounds.max()
    while len(bounds) < (_MOST_CELLS if bounds.max() <= _FALLEN * first else _TRIED):
        look_at_clock()
        worst = np.argsort(bounds)[-_AT_ONCE:]
        middles = 0.5 * lows[worst] + 0.5 * highs[worst]
        if bounds.max() <= _CLOSE * total(built, middles, middles, errors, is_exact=True).max():
            break
        new_lows, new_highs, new_bounds = _halves(built, lows[worst], highs[worst], errors)
        rest = np.setdiff1d(np.arange(len(bounds)), worst)
        lows, highs = np.vstack([lows[rest], new_lows]), np.vstack([highs[rest], new_highs])
        bounds = np.concatenate([bounds[rest], new_bounds])
    return [IntervalArray(a, b) for a, b in zip(lows.T, highs.T, strict=True)]


def total(
    built: Built,
    lows: np.ndarray,
    highs: np.ndarray,
    errors: Mapping[int, float],
    *,
    is_exact: bool = False,
) -> np.ndarray:
    """The bound on each cell, given by its corners in rows."""
    cells = [IntervalArray(a, b) for a, b in zip(lows.T, highs.T, strict=True)]
    return weighted(total_derivatives(built, cells, is_exact=is_exact), errors)


def weighted(factors: Mapping[int, np.ndarray], errors: Mapping[int, float]) -> np.ndarray:
    """The sum of factors times errors on each cell."""
    found = sum(factors[wire] * error for wire, error in errors.items() if error)
    return np.asarray(found * (1 + 1e-12))


def _halves(
    built: Built, lows: np.ndarray, highs: np.ndarray, errors: Mapping[int, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each cell cut in two along the side that lowers its larger half's bound most."""
    k, d = lows.shape
    middles = 0.5 * lows + 0.5 * highs
    below, above = np.repeat(lows, d, axis=0), np.repeat(highs, d, axis=0)
    side = np.tile(np.arange(d), k)
    each = np.arange(k * d)
    left_high, right_low = above.copy(), below.copy()
    left_high[each, side] = right_low[each, side] = middles.ravel()
    found = total(built, np.vstack([below, right_low]), np.vstack([left_high, above]), errors)
    left, right = found[: k * d], found[k * d :]
    best = np.arange(k) * d + np.maximum(left, right).reshape(k, d).argmin(axis=1)
    return (
        np.vstack([below[best], right_low[best]]),
        np.vstack([left_high[best], above[best]]),
        np.concatenate([left[best], right[best]]),
    )


# ---- a smaller network --------------------------------------------------------------------------


def tightened(
    built: Built,
    box: Sequence[Side],
    tol: float,
    rebuild: Callable[[float], Built],
) -> Built:
    """The network with bounds over cells of the box, or one of fewer units that these bounds allow for.

    Args:
        rebuild: builds for another tolerance of the bound by largest slopes.
    """
    own = _own(built)
    if not may_fall(built, box, own, max(built.bounds, default=0.0)):
        return built
    cells = divided(built, box, own)
    best = found = _on_cells(built, cells)
    asked = tol
    for _ in range(_LOOSER):
        if _ENOUGH * tol < _reached(found) <= tol:
            break
        asked *= 0.85 * tol / _reached(found)
        try:
            looser = rebuild(asked)
        except ConfigError:
            break
        found = _on_cells(looser, cells)
        if _reached(found) <= tol and found.n_units < best.n_units:
            best = found
    return best


def _own(built: Built) -> dict[int, float]:
    return {wire: gadget.error + built.tolerances.places[wire].cut for wire, gadget in built.gadgets.items()}


def _on_cells(built: Built, cells: CellSides) -> Built:
    """Errors and roundings of single steps, carried to the outputs over cells."""
    with np.errstate(all="ignore"):
        found = total_derivatives(built, cells)
    bound = float(weighted(found, _own(built)).max())
    rounding = float(weighted(found, built.roundings).max()) + built.read_out
    smaller = tuple(min(bound, old) for old in built.bounds)
    return replace(built, bounds=smaller, rounding=min(rounding, built.rounding))


def _reached(built: Built) -> float:
    return max(built.bounds, default=0.0) + built.rounding
