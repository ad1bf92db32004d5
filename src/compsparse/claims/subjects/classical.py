"""Classical representations: the Takagi class as deep networks, Kolmogorov's superposition and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from compsparse.claims.claim import Finding, Outcome, Profile
from compsparse.claims.rules import (
    StatedExponent,
    all_of,
    exponent_interval,
    judge_at_least,
    judge_exponent,
)
from compsparse.construct.self_similar import takagi_network
from compsparse.measures import fit_law
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.representations.classical import InnerFunction, superpose
from compsparse.tasks.takagi import hat_sum, takagi_coefficients

# ---- Takagi ------------------------------------------------------------------------------------


def takagi_accuracy(profile: Profile, progress: Progress) -> Finding:
    """Errors of the networks of partial sums, in exact arithmetic, beside splines of as many units."""
    terms = range(1, 41 if profile == "full" else 17)
    points = _rational_points(5 if profile == "quick" else 40)
    seen: dict[int, tuple[Fraction, int]] = {}
    for m in terms:
        network = takagi_network(takagi_coefficients(m))
        off = [_takagi_value(x) - network.exact([x])[0] for x in points]
        seen[m] = (max(off), network.size.units) if min(off) >= 0 else (Fraction(10), network.size.units)
        progress.update(m, len(terms), f"{m} terms")
    splines = {m: _spline_error(units) for m, (_, units) in seen.items()}
    return _judge_takagi(seen, splines)


def _rational_points(n: int) -> list[Fraction]:
    """1/3, at which every partial sum is worst, and others whose hats go round in circles."""
    return [Fraction(1, 3), *(Fraction(2 * k + 1, 2**5 * 7 + 1) for k in range(n))]


def _takagi_value(x: Fraction) -> Fraction:
    """The whole series at a rational point: its hats end in a cycle, over which the geometric weights are summed."""
    place: dict[Fraction, int] = {}
    values: list[Fraction] = []
    value = 1 - abs(2 * x - 1)
    while value not in place:
        place[value] = len(values)
        values.append(value)
        value = 1 - abs(2 * value - 1)
    first = place[value]
    head = sum((v / 2 ** (k + 1) for k, v in enumerate(values[:first])), Fraction(0))
    length = len(values) - first
    cycle = sum((v / 2 ** (k + 1) for k, v in enumerate(values[first:])), Fraction(0))
    return head + Fraction(cycle / 2**first / (1 - Fraction(1, 2**length)))


def _spline_error(units: int) -> float:
    """Largest error of the interpolant with as many straight pieces, evenly spaced."""
    knots = np.linspace(0, 1, units + 1)
    x = np.linspace(0, 1, 200_001)
    coefficients = takagi_coefficients(40)
    interpolated = np.interp(x, knots, hat_sum(knots, coefficients))
    return float(np.abs(interpolated - hat_sum(x, coefficients)).max())


def _judge_takagi(seen: dict[int, tuple[Fraction, int]], splines: dict[int, float]) -> Finding:
    exact = all(error == Fraction(2, 3) / 2**m for m, (error, _) in seen.items())
    small = all(units <= 3 * m for m, (_, units) in seen.items())
    last = max(seen)
    ratio = splines[last] / float(seen[last][0])
    rows = [{"units": u, "error": float(e), "form": "network of partial sums, width 3"} for e, u in seen.values()]
    rows += [
        {"units": seen[m][1], "error": e, "form": "straight pieces between even knots"} for m, e in splines.items()
    ]
    return Finding(
        Outcome.SUPPORTED if exact and small else Outcome.REFUTED,

        measured=f"{'all' if exact else 'not all'} of m = 1 to {last} exact; at m = {last}, {seen[last][1]} units and "
        f"{float(seen[last][0]):.2g}, where as many straight pieces leave {splines[last]:.2g}",
        numbers={"units": seen[last][1], "error": float(seen[last][0]), "spline_over_network": ratio},
        figures=(
            Figure("A nowhere differentiable function, approximated", tuple(rows), "units", "error", series="form",
                   log_y=True, y_title="largest error"),
        ),

    )  # fmt: skip


# ---- Kolmogorov --------------------------------------------------------------------------------

_TARGETS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "xy": lambda X: X[:, 0] * X[:, 1],
    "sin(pi x) y^2": lambda X: np.sin(np.pi * X[:, 0]) * X[:, 1] ** 2,
    "1/(1 + x + 2y)": lambda X: 1 / (1 + X[:, 0] + 2 * X[:, 1]),
}


@dataclass(frozen=True)
class _Rise:
    """The largest rise of an inner function over the gaps of one level."""

    base: int
    width: float
    rise: float
    order: float


@dataclass(frozen=True)
class _Cost:
    target: str
    n_families: int
    units: int
    error: float
    variation: float


def kolmogorov_is_rough(profile: Profile, progress: Progress) -> Finding:
    """How steep inner functions become, and how many units superpositions of smooth functions take for an error."""
    rises = []
    for n_families, base in ((5, 11), (6, 13)):
        inner = InnerFunction(2, n_families, base, 3)
        for level in inner.levels:
            width = inner.gap * level.length
            rises.append(_Rise(base, width, level.slope * width, inner.hoelder_order))
    sizes = (8, 12, 16, 24, 32) if profile == "quick" else (8, 12, 16, 24, 32, 48, 64)
    costs = []
    for k, n_families in enumerate(sizes):
        inner = InnerFunction(2, n_families, 2 * n_families + 1, 1)
        for name, target in _TARGETS.items():
            found = superpose(target, inner, 20_000, random_state=0)
            costs.append(_Cost(name, n_families, found.n_units, found.error.value, found.variation))
        progress.update(k + 1, len(sizes), f"{n_families} families")
    return _judge_kolmogorov(rises, costs)


def _judge_kolmogorov(rises: Sequence[_Rise], costs: Sequence[_Cost]) -> Finding:
    parts, orders = [], {}
    for base in sorted({r.base for r in rises}):
        mine = [r for r in rises if r.base == base]
        law = fit_law({"width": [r.width for r in mine]}, [r.rise for r in mine])
        orders[base] = law
        parts.append(judge_exponent(StatedExponent(mine[0].order, (1.0,)), exponent_interval(law, "width")))
    units = fit_law({"accuracy": [1 / c.error for c in costs]}, [c.units for c in costs],
                    groups=[c.target for c in costs])  # fmt: skip
    cost = exponent_interval(units, "accuracy")
    parts.append(judge_at_least(cost, 2))
    rows = tuple({"error": c.error, "units": c.units, "function": c.target} for c in costs)
    steep = tuple({"width": r.width, "rise": r.rise, "base": f"base {r.base}"} for r in rises)
    return Finding(
        all_of(parts),

        measured="; ".join(
            f"base {base}: a = {law.exponents['width']:.3f} ± {law.errors['width']:.3f} "
            f"(staircase {next(r.order for r in rises if r.base == base):.3f})" for base, law in orders.items()
        ) + f"; b = {units.exponents['accuracy']:.2f} ± {units.errors['accuracy']:.2f}; least error "
        f"{min(c.error for c in costs):.2g} of the range with {max(c.units for c in costs):,} units",
        numbers={"cost_exponent": units.exponents["accuracy"]}
        | {f"order_base_{base}": law.exponents["width"] for base, law in orders.items()},
        figures=(
            Figure("Units of a superposition against its error", rows, "error", "units", mark="points",
                   series="function", log_x=True, log_y=True, x_title="largest error, share of the range"),
            Figure("Largest rise of an inner function over a width", steep, "width", "rise", series="base",
                   log_x=True, log_y=True),
        ),

    )  # fmt: skip
