"""From a program and a tolerance to gadgets with errors, and what these amount to at the outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from compsparse.construct.forms import AffineForm
from compsparse.construct.gadget import Gadget
from compsparse.construct.kuhn import kuhn
from compsparse.construct.lowering import Program, ProgramStep
from compsparse.construct.products import product, square
from compsparse.construct.splines import spline
from compsparse.construct.split import cheapest_split
from compsparse.construct.tolerances import Place, Tolerances, price, tolerances
from compsparse.errors import ConfigError
from compsparse.networks.explicit import SparseLayer

_ROUNDS = 4
_BY_DEPTH = ("square", "product")


@dataclass(frozen=True, eq=False)
class Built:
    """All gadgets of a program, by wire, with what they amount to.

    Attributes:
        errors: how far each wire can be off, all errors before it included, in exact arithmetic.
        rounding: how far rounding can take each wire further, by the name of the type.
        bounds: the error of each output.
        roundings: what rounding adds to it, by the name of the type; infinite where ranges do not cover it.
    """

    program: Program
    outputs: tuple[AffineForm, ...]
    tolerances: Tolerances
    gadgets: dict[int, Gadget]
    errors: dict[int, float]
    bounds: tuple[float, ...]
    roundings: dict[str, float]


def build(program: Program, outputs: list[AffineForm], tol: float, *, uniform: bool = False) -> Built:
    """Gadgets whose errors amount to at most ``tol`` at every output, rounding in double precision included."""
    target = 0.999 * tol
    for _ in range(_ROUNDS):
        found = _built_for(program, outputs, target, uniform)
        total = max(found.bounds, default=0.0) + found.roundings["float64"]
        if total <= tol:
            return found
        target -= 1.2 * (total - tol)
        if target <= 0.3 * tol:
            break
    raise ConfigError(f"tol = {tol:.3g} is too small for double precision, whose rounding alone may add {total:.2g}")


def _built_for(program: Program, outputs: list[AffineForm], target: float, uniform: bool) -> Built:
    found = tolerances(program, outputs, target)
    steps = [step for step in program.steps if step.kind != "relu"]
    a = {step.wire: found.factors[step.wire] for step in steps}
    cut = sum(a[s.wire] * found.places[s.wire].cut for s in steps)
    prices = [price(s, found.places[s.wire], target / (4 * a[s.wire])) for s in steps]
    eps = dict(
        zip((s.wire for s in steps), cheapest_split(prices, [a[s.wire] for s in steps], target - cut), strict=True)
    )
    gadgets = {
        s.wire: _gadget(s, found.places[s.wire], eps.get(s.wire, 0.0), uniform)
        for s in program.steps
        if s.kind in ("relu", *_BY_DEPTH)
    }
    # depth comes in whole levels; what they leave over goes to the others
    spent = cut + sum(a[s.wire] * gadgets[s.wire].error for s in steps if s.kind in _BY_DEPTH)
    others = [s for s in steps if s.kind not in _BY_DEPTH]
    wanted = sum(a[s.wire] * eps[s.wire] for s in others)
    more = (target - spent) / wanted if others else 1.0
    for step in others:
        gadgets[step.wire] = _gadget(step, found.places[step.wire], 0.999 * more * eps[step.wire], uniform)
    in_order = {s.wire: gadgets[s.wire] for s in program.steps}
    errors = _forwards(program, found, {w: g.error for w, g in in_order.items()})
    _check_widths(program, found, errors)
    bounds = tuple(form.error(errors) * (1 + 1e-12) for form in outputs)
    roundings = {
        name: _rounding(program, found, in_order, outputs, errors, kind)
        for name, kind in (("float64", torch.float64), ("float32", torch.float32))
    }
    return Built(program, tuple(outputs), found, in_order, errors, bounds, roundings)


def _gadget(step: ProgramStep, place: Place, eps: float, uniform: bool) -> Gadget:
    match step.kind:
        case "relu":
            return relu_gadget(step.forms[0])
        case "square":
            return square(step.forms[0], *place.box[0], eps)[0]
        case "product":
            return product(step.forms[0], step.forms[1], (place.box[0], place.box[1]), eps)[0]
        case "grid":
            assert step.formula is not None
            return kuhn(step.formula, step.forms, place.box, eps)
    assert step.formula is not None
    low, high = place.box[0]
    return spline(step.formula, step.forms[0], low, high, eps, uniform=uniform, clip=place.clipped)


def relu_gadget(form: AffineForm) -> Gadget:
    """One ReLU of an affine form."""
    layer = SparseLayer.of(form.weights_on(form.wires)[None], [float(form.constant)])
    return Gadget(form.wires, (layer,), 0.0, "exact")


def _forwards(program: Program, found: Tolerances, own: Mapping[int, float]) -> dict[int, float]:
    """e_v = eps_v + sum of L_vu e_u, in the order of the program."""
    errors = dict.fromkeys(range(program.n_inputs), 0.0)
    for step in program.steps:
        place = found.places[step.wire]
        inherited = 0.0
        for form, slope in zip(step.forms, place.slopes, strict=True):
            off = form.error(errors)
            inherited += slope * off if off else 0.0
        errors[step.wire] = (own[step.wire] + place.cut + inherited) * (1 + 1e-14)
    return errors


def _check_widths(program: Program, found: Tolerances, errors: Mapping[int, float]) -> None:
    """The theory says that this cannot fail; a certificate does not rest on that alone."""
    for step in program.steps:
        if errors[step.wire] > found.widened[step.wire]:
            raise AssertionError(f"wire {step.wire} may leave its widened range")


def _rounding(
    program: Program,
    found: Tolerances,
    gadgets: Mapping[int, Gadget],
    outputs: list[AffineForm],
    errors: Mapping[int, float],
    dtype: torch.dtype,
) -> float:
    """What rounding adds at the outputs; infinite where the ranges are not wide enough for it."""

    def ends(wires: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.array([program.ranges.wires[w] for w in wires]).reshape(-1, 2).T
        wide = np.array([found.widened[w] for w in wires])
        return low - wide, high + wide

    own = {wire: gadget.rounding(*ends(gadget.wires), dtype) for wire, gadget in gadgets.items()}
    total = _forwards(program, found, {w: gadgets[w].error + own[w] for w in gadgets})
    if any(total[s.wire] > found.widened[s.wire] for s in program.steps):
        return float("inf")
    u = torch.finfo(dtype).eps / 2
    worst = 0.0
    for form in outputs:
        low, high = ends(form.wires)
        size = sum(
            abs(float(c)) * max(abs(a), abs(b)) for (_, c), a, b in zip(form.terms, low, high, strict=True)
        ) + abs(float(form.constant))
        read_out = 2 * (len(form.terms) + 3) * u * size
        worst = max(worst, form.error(total) - form.error(errors) + read_out)
    return float(worst) * (1 + 1e-9)
