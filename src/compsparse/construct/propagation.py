r"""How an error of one step reaches the outputs: their total derivatives by its wire, over cells of the box.

Replace the steps by their approximations one after the other. The replacement of step k moves its wire by at most
:math:`\varepsilon_k`, and the outputs by at most :math:`\sup |A_k| \varepsilon_k`, where :math:`A_k` is the derivative
of the exact rest of the program by that wire, taken where the wires before it are approximate. So the error at the
outputs is at most the largest value over cells of :math:`\sum_k |A_k| \varepsilon_k`. Unlike a product of largest
slopes this knows that a steep step and its steep reader may never meet: on each cell the derivative is an interval of
its own, and the signs of paths that cancel are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compsparse.clock import look_at_clock
from compsparse.construct.enclosure import enclose
from compsparse.construct.forms import AffineForm
from compsparse.construct.intervals import IntervalArray
from compsparse.construct.lowering import Program, ProgramStep
from compsparse.construct.opaque import Opaque
from compsparse.construct.tolerances import Place
from compsparse.graph import FunctionGraph
from compsparse.graph.formula import Formula

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

CellSides = list[IntervalArray]


@dataclass(frozen=True, eq=False)
class Propagation:
    """A program on its box, whose wires may be off by so much.

    Attributes:
        formulas: of every node of the graph.
        places: where each step works, by wire: arguments are clipped to its box, and slopes there are known.
        widened: by how much each wire may be off.
    """

    graph: FunctionGraph
    program: Program
    outputs: Sequence[AffineForm]
    formulas: Mapping[str, Formula | Opaque]
    places: Mapping[int, Place]
    widened: Mapping[int, float]

    def factors(self, cells: CellSides, *, is_exact: bool = False) -> dict[int, np.ndarray]:
        """The largest |A_k| on each cell, over all outputs, by wire; with ``is_exact`` where no wire is off."""
        slopes = self._slopes(cells, is_exact)
        shape = np.shape(cells[0].lower)
        largest = {step.wire: np.zeros(shape) for step in self.program.steps}
        for output in self.outputs:
            reached: dict[int, IntervalArray] = {}
            _add(reached, output, IntervalArray.of(np.ones(shape)))
            for step in reversed(self.program.steps):
                if step.wire in reached:
                    here = reached[step.wire]
                    largest[step.wire] = np.fmax(largest[step.wire], _known(here.magnitude))
                    for form, slope in zip(step.forms, slopes[step.wire], strict=True):
                        _add(reached, form, here * slope)
        return largest

    # ---- intervals of wires -------------------------------------------------------------------

    def _slopes(self, cells: CellSides, is_exact: bool) -> dict[int, list[IntervalArray]]:
        known = self._known_forms(cells)
        wires = dict(enumerate(cells))
        found = {}
        for step in self.program.steps:
            exact = [self._range(form, wires, known) for form in step.forms]
            off = [0.0 if is_exact else form.error(self.widened) * (1 + 1e-12) for form in step.forms]
            wide = [
                _clipped(IntervalArray(e.lower - o, e.upper + o), side)
                for e, o, side in zip(exact, off, self.places[step.wire].box, strict=True)
            ]
            value, _ = _value_and_slopes(step, exact)
            wires[step.wire] = value.meet(IntervalArray.of(*step.range))
            steepest = self.places[step.wire].slopes
            slopes = zip(_value_and_slopes(step, wide)[1], steepest, strict=True)
            found[step.wire] = [slope.meet(IntervalArray.of(-most, most)) for slope, most in slopes]
        return found

    def _known_forms(self, cells: CellSides) -> dict[AffineForm, list[tuple[AffineForm, IntervalArray]]]:
        """Where the forms of nodes lie, from the formulas: an affine form of wires alone says less."""
        values = dict(zip(self.graph.inputs, cells, strict=True))
        known: dict[AffineForm, list[tuple[AffineForm, IntervalArray]]] = {}
        for node in self.graph.nodes:
            found = enclose(self.formulas[node.name], [values[p] for p in node.parents], order=0).value
            bounds = self.program.node_bounds[node.name]
            values[node.name] = _filled(found, cells).meet(IntervalArray.of(bounds.lower, bounds.upper))
            form = self.program.forms.get(node.name)
            if form is not None and len(form.terms) > 1:
                known.setdefault(form.direction[0], []).append((form, values[node.name]))
        return known

    def _range(
        self,
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
        return total.meet(IntervalArray.of(*self.program.ranges.of(form)))


def _add(reached: dict[int, IntervalArray], form: AffineForm, amount: IntervalArray) -> None:
    for wire, weight in form.terms:
        term = amount * _number(weight)
        reached[wire] = reached[wire] + term if wire in reached else term


def _affine(form: AffineForm, wires: Mapping[int, IntervalArray]) -> IntervalArray:
    total = _number(form.constant)
    for wire, weight in form.terms:
        total = total + wires[wire] * _number(weight)
    return total


def _number(value: object) -> IntervalArray:
    """A rational number, which a double may only be next to."""
    near = float(value)  # type: ignore[arg-type]
    if near == value:
        return IntervalArray.of(near)
    return IntervalArray.of(np.nextafter(near, -np.inf), np.nextafter(near, np.inf))


def _filled(interval: IntervalArray, cells: CellSides) -> IntervalArray:
    shape = np.shape(cells[0].lower)
    return IntervalArray(np.broadcast_to(interval.lower, shape), np.broadcast_to(interval.upper, shape))


def _clipped(interval: IntervalArray, side: tuple[float, float]) -> IntervalArray:
    return IntervalArray(np.clip(interval.lower, *side), np.clip(interval.upper, *side))


def _known(size: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(size), np.inf, size)


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
    assert step.formula is not None
    found = enclose(step.formula, list(forms), order=1)
    return found.value, [found.slope(i) for i in range(len(forms))]


# ---- dividing the box ---------------------------------------------------------------------------


def may_fall(
    propagation: Propagation, box: Sequence[tuple[float, float]], errors: Mapping[int, float], bound: float
) -> bool:
    """Whether the bound is far above what is attained at any of some points."""
    rng = np.random.default_rng(0)
    low, high = np.array(box, dtype=float).T
    share = rng.choice([0.0, 1.0, 0.5], (_SAMPLED, len(box))) + rng.choice([0.0, 0.1], (_SAMPLED, 1)) * rng.random(
        (_SAMPLED, len(box))
    )
    points = np.clip(low + share * (high - low), low, high)
    with np.errstate(all="ignore"):
        return bool(_PAYS * total(propagation, points, points, errors, is_exact=True).max() < bound)


def divided(propagation: Propagation, box: Sequence[tuple[float, float]], errors: Mapping[int, float]) -> CellSides:
    """CellSides of the box on which the bound for steps with these errors is nearly as small as cells can make it."""
    lows, highs = (np.array(ends, dtype=float)[None] for ends in zip(*box, strict=True))
    bounds = total(propagation, lows, highs, errors)
    first = bounds.max()
    while len(bounds) < (_MOST_CELLS if bounds.max() <= _FALLEN * first else _TRIED):
        look_at_clock()
        worst = np.argsort(bounds)[-_AT_ONCE:]
        middles = 0.5 * lows[worst] + 0.5 * highs[worst]
        if bounds.max() <= _CLOSE * total(propagation, middles, middles, errors, is_exact=True).max():
            break
        new_lows, new_highs, new_bounds = _halves(propagation, lows[worst], highs[worst], errors)
        rest = np.setdiff1d(np.arange(len(bounds)), worst)
        lows, highs = np.vstack([lows[rest], new_lows]), np.vstack([highs[rest], new_highs])
        bounds = np.concatenate([bounds[rest], new_bounds])
    return [IntervalArray(a, b) for a, b in zip(lows.T, highs.T, strict=True)]


def total(
    propagation: Propagation,
    lows: np.ndarray,
    highs: np.ndarray,
    errors: Mapping[int, float],
    *,
    is_exact: bool = False,
) -> np.ndarray:
    """The bound on each cell, given by its corners in rows."""
    cells = [IntervalArray(a, b) for a, b in zip(lows.T, highs.T, strict=True)]
    return weighted(propagation.factors(cells, is_exact=is_exact), errors)


def weighted(factors: Mapping[int, np.ndarray], errors: Mapping[int, float]) -> np.ndarray:
    """The sum of factors times errors on each cell."""
    found = sum(factors[wire] * error for wire, error in errors.items() if error)
    return np.asarray(found * (1 + 1e-12))


def _halves(
    propagation: Propagation, lows: np.ndarray, highs: np.ndarray, errors: Mapping[int, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each cell cut in two along the side that lowers its larger half's bound most."""
    k, d = lows.shape
    middles = 0.5 * lows + 0.5 * highs
    below, above = np.repeat(lows, d, axis=0), np.repeat(highs, d, axis=0)
    side = np.tile(np.arange(d), k)
    each = np.arange(k * d)
    left_high, right_low = above.copy(), below.copy()
    left_high[each, side] = right_low[each, side] = middles.ravel()
    found = total(propagation, np.vstack([below, right_low]), np.vstack([left_high, above]), errors)
    left, right = found[: k * d], found[k * d :]
    best = np.arange(k) * d + np.maximum(left, right).reshape(k, d).argmin(axis=1)
    return (
        np.vstack([below[best], right_low[best]]),
        np.vstack([left_high[best], above[best]]),
        np.concatenate([left[best], right[best]]),
    )
