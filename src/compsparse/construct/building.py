"""From a program and a tolerance to gadgets with errors, and what these amount to at the outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from compsparse.construct.gadget import Gadget, rounding_error, row_of
from compsparse.construct.kuhn import kuhn
from compsparse.construct.lowering import Program, ProgramStep
from compsparse.construct.products import product, square
from compsparse.construct.splines import spline
from compsparse.construct.tolerances import Place, Tolerances, cheapest_split, price, tolerances
from compsparse.errors import ConfigError

_ROUNDS = 6
_BY_DEPTH = ("square", "product")
_PRECISION = {torch.float64: "double", torch.float32: "single"}


@dataclass(frozen=True, eq=False)
class Built:
    """All gadgets of a program, by wire, with what they amount to.

    Attributes:
        errors: how far each wire can be off, all errors before it included, in exact arithmetic.
        bounds: the error of each output.
        roundings: what computing in the type adds to each wire by its own step.
        read_out: by the sums that the outputs are.
        rounding: by all of them at the outputs.
    """

    program: Program
    tolerances: Tolerances
    gadgets: dict[int, Gadget]
    errors: dict[int, float]
    bounds: tuple[float, ...]
    roundings: dict[int, float]
    read_out: float
    rounding: float

    @property
    def n_units(self) -> int:
        """ReLUs of all gadgets."""
        return sum(gadget.n_units for gadget in self.gadgets.values())


def build(program: Program, tol: float, dtype: torch.dtype = torch.float64, *, uniform: bool = False) -> Built:
    """Gadgets whose errors amount to at most ``tol`` at every output, rounding in the type included."""
    places = tolerances(program, tol, dtype)
    target, total = 0.999 * tol, np.inf
    for _ in range(_ROUNDS):
        found = _built_for(program, places, target, dtype, uniform)
        total = max(found.bounds, default=0.0) + found.rounding
        if total <= tol:
            return found
        reached = min(target, max(found.bounds, default=0.0))
        target = reached - 1.2 * (total - tol) if np.isfinite(total) else 0.5 * target
        if not target > 0.05 * tol:
            break
    most = f"may add {found.rounding:.2g}" if np.isfinite(found.rounding) else "takes numbers out of their ranges"
    raise ConfigError(
        f"tol = {tol:.3g} is too small for {_PRECISION[dtype]} precision on this domain: rounding alone {most}"
    )


def _built_for(program: Program, found: Tolerances, target: float, dtype: torch.dtype, uniform: bool) -> Built:
    steps = [step for step in program.steps if step.kind != "relu"]
    a = {step.wire: found.factors[step.wire] for step in steps}
    cut = sum(a[s.wire] * found.places[s.wire].cut for s in steps)
    prices = [price(s, found.places[s.wire], target / (4 * a[s.wire])) for s in steps]
    eps = dict(zip(a, cheapest_split(prices, list(a.values()), target - cut), strict=True))
    gadget = partial(_gadget, places=found.places, dtype=dtype, uniform=uniform)
    gadgets = {s.wire: gadget(s, eps.get(s.wire, 0.0)) for s in program.steps if s.kind in ("relu", *_BY_DEPTH)}
    # depth comes in whole levels; what they leave over goes to the others
    spent = cut + sum(a[s.wire] * gadgets[s.wire].error for s in steps if s.kind in _BY_DEPTH)
    others = [s for s in steps if s.kind not in _BY_DEPTH]
    wanted = sum(a[s.wire] * eps[s.wire] for s in others)
    more = (target - spent) / wanted if others else 1.0
    for step in others:
        gadgets[step.wire] = gadget(step, 0.999 * more * eps[step.wire])
    in_order = {s.wire: gadgets[s.wire] for s in program.steps}
    errors = _forwards(program, found, {w: g.error for w, g in in_order.items()})
    bounds = tuple(form.error(errors) * (1 + 1e-12) for form in program.outputs)
    rounding = _rounding(program, found, in_order, errors, dtype)
    return Built(program, found, in_order, errors, bounds, *rounding)


def _gadget(step: ProgramStep, eps: float, places: Mapping[int, Place], dtype: torch.dtype, uniform: bool) -> Gadget:
    place = places[step.wire]
    try:
        match step.kind:
            case "relu":
                return Gadget(step.forms[0].wires, (row_of(step.forms[0], relu=True),), 0.0, "exact")
            case "square":
                return square(step.forms[0], place.box[0][1], eps)
            case "product":
                return product(step.forms[0], step.forms[1], (place.box[0][1], place.box[1][1]), eps)
            case "grid":
                return kuhn(step.formula, step.forms, place.box, eps)
        low, high = place.box[0]
        return spline(step.formula, step.forms[0], low, high, eps, uniform=uniform, clip=place.clipped, dtype=dtype)
    except ConfigError as error:
        raise ConfigError(f"node {step.node!r}: {error}") from None


def _forwards(program: Program, found: Tolerances, own: Mapping[int, float]) -> dict[int, float]:
    """e_v = eps_v + sum of L_vu e_u, in the order of the program."""
    errors = dict.fromkeys(range(program.graph.n_inputs), 0.0)
    for step in program.steps:
        place = found.places[step.wire]
        inherited = 0.0
        for form, slope in zip(step.forms, place.slopes, strict=True):
            off = form.error(errors)
            inherited += slope * off if off else 0.0
        errors[step.wire] = (own[step.wire] + place.cut + inherited) * (1 + 1e-14)
    return errors


def _rounding(
    program: Program,
    found: Tolerances,
    gadgets: Mapping[int, Gadget],
    errors: Mapping[int, float],
    dtype: torch.dtype,
) -> tuple[dict[int, float], float, float]:
    """What rounding adds to each wire, by the sums of the outputs, and in all.

    The last is infinite where wires may leave the ranges that their readers were made for.
    """

    def ends(wires: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.array([program.ranges.wires[w] for w in wires]).reshape(-1, 2).T
        wide = np.array([found.widened[w] for w in wires])
        return low - wide, high + wide

    own = {wire: gadget.rounding(*ends(gadget.wires), dtype) for wire, gadget in gadgets.items()}
    total = _forwards(program, found, {w: gadgets[w].error + own[w] for w in gadgets})
    if not all(total[s.wire] <= found.widened[s.wire] for s in program.steps):
        return own, 0.0, float("inf")
    last = [rounding_error([row_of(form)], *ends(form.wires or (0,)), dtype).error[0] for form in program.outputs]
    read_out = float(max(last, default=0.0))
    worst = max((form.error(total) - form.error(errors) for form in program.outputs), default=0.0) + read_out
    return own, read_out, float(worst) * (1 + 1e-9)
