"""Classical representations: the Takagi class and Kolmogorov's superposition, ridge powers, polynomials, splines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import torch
from numpy.polynomial import chebyshev

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.declared import Measured
from compsparse.claims.rules import (
    MARGIN,
    Interval,
    StatedExponent,
    exponent_interval,
    fitted_exponent,
    judge_at_least,
    judge_at_most,
    judge_exponent,
)
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.construct.self_similar import takagi_network
from compsparse.measures import fit_law
from compsparse.progress import Progress
from compsparse.representations.classical import InnerFunction, ridge_count, ridge_directions, ridge_rank, superpose
from compsparse.tasks.takagi import hat_sum, takagi_coefficients

_Function = Callable[[np.ndarray], np.ndarray]

# ---- Takagi ------------------------------------------------------------------------------------


def takagi_accuracy(profile: Profile, progress: Progress) -> Finding:
    """Errors of the networks of partial sums, in exact arithmetic, beside splines of as many units."""
    terms = range(1, 41 if profile == "full" else 17)
    points = _rational_points(5 if profile == "quick" else 40)
    seen: dict[int, tuple[Fraction, int]] = {}
    for m in each(terms, progress, "{} terms"):
        network = takagi_network(takagi_coefficients(m))
        off = [_takagi_value(x) - network.exact([x])[0] for x in points]
        seen[m] = (max(off), network.size.units) if min(off) >= 0 else (Fraction(10), network.size.units)
    splines = {m: _spline_error(units) for m, (_, units) in seen.items()}
    return judge_takagi(seen, splines)


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


def judge_takagi(seen: dict[int, tuple[Fraction, int]], splines: dict[int, float]) -> Finding:
    exact = all(error == Fraction(2, 3) / 2**m for m, (error, _) in seen.items())
    small = all(units <= 3 * m for m, (_, units) in seen.items())
    last = max(seen)
    ratio = splines[last] / float(seen[last][0])
    points = [(u, float(e), "network of partial sums, width 3") for e, u in seen.values()]
    points += [(seen[m][1], e, "straight pieces between even knots") for m, e in splines.items()]
    return finding_of(
        exact and small,
        measured=f"{'all' if exact else 'not all'} of m = 1 to {last} exact; at m = {last}, {seen[last][1]} units and "
        f"{float(seen[last][0]):.2g}, where as many straight pieces leave {splines[last]:.2g}",
        numbers={"units": seen[last][1], "error": float(seen[last][0]), "spline_over_network": ratio},
        figures=figure_of("A nowhere differentiable function, approximated", points, "units", "error", "form",
                          log_y=True, y_title="largest error"),
    )  # fmt: skip


# ---- Kolmogorov --------------------------------------------------------------------------------

_TARGETS: dict[str, _Function] = {
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
    for n_families in each(sizes, progress, "{} families"):
        inner = InnerFunction(2, n_families, 2 * n_families + 1, 1)
        for name, target in _TARGETS.items():
            found = superpose(target, inner, 20_000, random_state=0)
            costs.append(_Cost(name, n_families, found.n_units, found.error.value, found.variation))
    return judge_kolmogorov(rises, costs)


def judge_kolmogorov(rises: Sequence[_Rise], costs: Sequence[_Cost]) -> Finding:
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
    return finding_of(
        parts,
        measured="; ".join(
            f"base {base}: a = {law.exponents['width']:.3f} ± {law.errors['width']:.3f} "
            f"(staircase {next(r.order for r in rises if r.base == base):.3f})" for base, law in orders.items()
        ) + f"; b = {units.exponents['accuracy']:.2f} ± {units.errors['accuracy']:.2f}; least error "
        f"{min(c.error for c in costs):.2g} of the range with {max(c.units for c in costs):,} units",
        numbers={"cost_exponent": units.exponents["accuracy"]}
        | {f"order_base_{base}": law.exponents["width"] for base, law in orders.items()},
        figures=(
            figure_of("Units of a superposition against its error", [(c.error, c.units, c.target) for c in costs],
                      "error", "units", "function", mark="points", log_x=True, log_y=True,
                      x_title="largest error, share of the range"),
            figure_of("Largest rise of an inner function over a width",
                      [(r.width, r.rise, f"base {r.base}") for r in rises], "width", "rise", "base", log_x=True,
                      log_y=True),
        ),
    )  # fmt: skip


_THREE: dict[str, _Function] = {
    "product": lambda X: X.prod(1),
    "sum of squares": lambda X: (X**2).sum(1),
    "wave": lambda X: np.cos(X.sum(1)),
}


def stated_families(profile: Profile, progress: Progress) -> Measured:
    """What one level of 2n + 1 families leaves of functions of two and of three inputs, and at a second level."""
    bases = {2: (21, 41, 81), 3: (15, 29)} if profile == "quick" else {2: (21, 41, 81, 161), 3: (15, 29, 43)}
    values: dict[str, np.ndarray] = {}
    points = []
    for n in each(bases, progress, "{} inputs"):
        for base in bases[n]:
            inner = InnerFunction(n, 2 * n + 1, base, 1)
            left = [superpose(f, inner, 20_000, random_state=FIRST_SEED).error.value for f in _THREE.values()]
            points.append((base, np.array(left), f"{n} inputs"))
        values[f"error over n/(2n + 2), n={n}"] = np.array(left) * 2 * (n + 1) / n
    figure = figure_of("One level of 2n + 1 families", points, "base", "largest error over the range", "inputs")
    return Measured(values, (figure,))


# ---- spans -------------------------------------------------------------------------------------


def ridge_powers_span(profile: Profile, progress: Progress) -> Finding:
    """Ranks of powers of random directions, as many as the dimension and twice as many."""
    most = {1: 8, 2: 8, 3: 6, 4: 5, 5: 3} if profile == "quick" else {1: 10, 2: 12, 3: 8, 4: 6, 5: 5, 6: 4}
    cases = [(n, k) for n, highest in most.items() for k in range(1, highest + 1)]
    ranks = {}
    for n, k in each(cases, progress, "degree {1} in {0} variables"):
        first, second = (ridge_directions(n, k, random_state=FIRST_SEED + s) for s in (0, 1))
        ranks[n, k] = (ridge_rank(first, k), ridge_rank(np.vstack([first, second]), k))
    return judge_spans(ranks)


def judge_spans(ranks: dict[tuple[int, int], tuple[int, int]]) -> Finding:
    wrong = [case for case, found in ranks.items() if found != (ridge_count(*case),) * 2]
    return finding_of(
        not wrong,
        measured=f"{len(ranks) - len(wrong)} of {len(ranks)} cases, {max(r[0] for r in ranks.values())} at most",
        numbers={"cases": len(ranks), "wrong": len(wrong)},
        figures=figure_of(
            "Ridge powers that span the polynomials of a degree",
            [(k, r[0], f"{n} variables") for (n, k), r in ranks.items()], "degree", "rank", "variables", log_y=True,
            y_title="directions",
        ),
    )  # fmt: skip


# ---- rates of polynomials ----------------------------------------------------------------------

_SMOOTHNESS = 3


@dataclass(frozen=True)
class _Degree:
    n_inputs: int
    degree: int
    error: float

    @property
    def units(self) -> int:
        """Ridge powers of all degrees up to this one: as many as polynomials have coefficients."""
        return comb(self.n_inputs + self.degree, self.n_inputs)


def polynomial_rates(profile: Profile, progress: Progress) -> Finding:
    """Errors of polynomials of growing degree on |x|^3, of three bounded derivatives, in one and two variables."""
    degrees = {1: (8, 12, 16, 24, 32, 48, 64), 2: (8, 12, 16, 24, 32)}
    if profile == "full":
        degrees = {1: (8, 12, 16, 24, 32, 48, 64, 96, 128), 2: (8, 12, 16, 24, 32, 48)}
    cases = [(n, degree) for n, listed in degrees.items() for degree in listed]
    found = [
        _Degree(n, degree, _polynomial_error(n, degree))
        for n, degree in each(cases, progress, "degree {1} in {0} variables")
    ]
    return judge_rates(found)


_EVALUATED = {1: 4001, 2: 201, 3: 41}
"""Places a side at which polynomials of so many variables are compared."""


def smoothness_that_grows(profile: Profile, progress: Progress) -> Measured:
    """Exponents of the error in ridge powers, on |x|^s in n variables, with s = 2n + 1 and with s = 3."""
    degrees = {1: (8, 12, 16, 24), 2: (8, 12, 16, 20), 3: (8, 10, 12, 14, 16, 18)}
    if profile == "full":
        degrees = {1: (8, 12, 16, 24, 32), 2: (8, 12, 16, 20, 24), 3: (8, 10, 12, 14, 16, 18, 20, 22)}
    values: dict[str, np.ndarray] = {}
    points: list[tuple[float, float, str]] = []
    for n, kind in each(product(degrees, ("growing", "fixed")), progress, "{} variables, {} smoothness"):
        s = 2 * n + 1 if kind == "growing" else 3
        units = [comb(n + degree, n) for degree in degrees[n]]
        errors = [_polynomial_error(n, degree, s) for degree in degrees[n]]
        interval = fitted_exponent(units, errors)
        values[f"exponent with {kind} smoothness, n={n}"] = np.array([interval.low, interval.high])
        points += [(u, e, f"n={n}, s={s}") for u, e in zip(units, errors, strict=True)]
    figure = figure_of("Smoothness that grows with the dimension", points, "ridge powers", "error", "function",
                       log_x=True, log_y=True)  # fmt: skip
    return Measured(values, (figure,))


def _polynomial_error(n: int, degree: int, s: int = _SMOOTHNESS) -> float:
    """The Chebyshev series of |x|^s, cut at a total degree: near the best by a factor that grows like a logarithm."""
    m = 4 * degree + 1
    nodes = np.cos(np.pi * (np.arange(m) + 0.5) / m)
    mesh = np.meshgrid(*[nodes] * n, indexing="ij")
    coefficients = np.sum([g**2 for g in mesh], axis=0) ** (s / 2)
    to_series = chebyshev.chebvander(nodes, degree).T * (2 / m)
    to_series[0] /= 2
    for axis in range(n):
        coefficients = np.moveaxis(np.tensordot(to_series, coefficients, (1, axis)), 0, axis)
    for index in product(range(degree + 1), repeat=n):
        if sum(index) > degree:
            coefficients[index] = 0.0
    x = np.linspace(-1, 1, _EVALUATED[n])
    values: np.ndarray = coefficients
    for axis in range(n):
        values = np.moveaxis(np.tensordot(chebyshev.chebvander(x, degree), values, (1, axis)), 0, axis)
    exact = np.sum([g**2 for g in np.meshgrid(*[x] * n, indexing="ij")], axis=0) ** (s / 2)
    return float(np.abs(values - exact).max())


def judge_rates(found: Sequence[_Degree]) -> Finding:
    parts, texts, numbers = [], [], {}
    for n in sorted({f.n_inputs for f in found}):
        mine = [f for f in found if f.n_inputs == n]
        law = fit_law({"units": [f.units for f in mine]}, [f.error for f in mine])
        stated = StatedExponent(-_SMOOTHNESS / n, (-(_SMOOTHNESS - 1) / n, -(_SMOOTHNESS + 1) / n), 2 * MARGIN)
        parts.append(judge_exponent(stated, exponent_interval(law, "units")))
        texts.append(f"n = {n}: {law.exponents['units']:.2f} ± {law.errors['units']:.2f} (stated {stated.value:g})")
        numbers[f"exponent_{n}"] = law.exponents["units"]
    return finding_of(
        parts,
        measured="; ".join(texts),
        numbers=numbers,
        figures=figure_of(
            f"Polynomials on |x|^{_SMOOTHNESS}", [(f.units, f.error, f"n = {f.n_inputs}") for f in found], "units",
            "error", "variables", log_x=True, log_y=True, x_title="ridge powers r", y_title="largest error",
        ),
    )  # fmt: skip


# ---- stability ---------------------------------------------------------------------------------


def _tree_of(node: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> _Function:
    """A binary tree of one constituent over eight inputs."""

    def tree(X: np.ndarray) -> np.ndarray:
        while X.shape[1] > 1:
            X = node(X[:, ::2], X[:, 1::2])
        return np.asarray(X[:, 0])

    return tree


_STABLE: dict[str, _Function] = {
    "smooth": _tree_of(lambda a, b: np.tanh(a + b)),
    "kinks": _tree_of(lambda a, b: np.abs(a - b)),
    "roots": _tree_of(lambda a, b: np.sqrt(np.abs(a - b))),
    "roots undone": _tree_of(lambda a, b: np.cbrt(a) ** 3 + np.cbrt(b) ** 3),
}
"""Functions by their constituents; a cube undoes a root, which has no derivative at zero."""


def stability_and_smoothness(profile: Profile, progress: Progress) -> Measured:
    """The largest change over the perturbation as perturbations shrink, near places where constituents are rough."""
    n_points = 4000 if profile == "quick" else 40_000
    sizes = np.logspace(-1, -7, 7)
    values: dict[str, np.ndarray] = {}
    points: list[tuple[float, float, str]] = []
    for name in each(_STABLE, progress):
        f, worst = _STABLE[name], []
        for size in sizes:
            rng = np.random.default_rng(FIRST_SEED)
            X = rng.uniform(-1, 1, (n_points, 8))
            X[: n_points // 2] = 0.0  # where differences and inputs vanish
            X[: n_points // 4, ::2] = X[: n_points // 4, 1::2] = rng.uniform(-1, 1, (n_points // 4, 4))
            step = rng.standard_normal(X.shape)
            step *= size / np.linalg.norm(step, axis=1, keepdims=True)
            worst.append(float(np.abs(f(X + step) - f(X)).max() / size))
        interval = fitted_exponent((1 / sizes).tolist(), worst)
        values[f"power of the growth, {name}"] = np.array([interval.low, interval.high])
        points += [(s, w, name) for s, w in zip(sizes, worst, strict=True)]
    figure = figure_of("Change over perturbation", points, "size", "change over size", "constituents", log_x=True,
                       log_y=True, x_title="size of the perturbation")  # fmt: skip
    return Measured(values, (figure,))


# ---- straight pieces -----------------------------------------------------------------------------

_CURVES: dict[str, tuple[_Function, _Function]] = {
    "x^2": (lambda x: x**2, lambda x: np.full_like(x, 2.0)),
    "exp(2x)": (lambda x: np.exp(2 * x), lambda x: 4 * np.exp(2 * x)),
    "sin(5x)": (lambda x: np.sin(5 * x), lambda x: -25 * np.sin(5 * x)),
}
"""Functions on [0, 1] with all derivatives, and their second ones."""


def straight_pieces_saturate(profile: Profile, progress: Progress) -> Finding:
    """Straight pieces with free knots on smooth functions, and the deep network of the parabola."""
    sizes = (8, 16, 32, 64, 128) if profile == "quick" else (8, 16, 32, 64, 128, 256, 512)
    pieces = {(name, n): _free_knot_error(*curve, n) for name, curve in _CURVES.items() for n in sizes}
    progress.update(1, 2, "straight pieces")
    deep = {m: _parabola_error(m) for m in range(1, 13)}
    progress.update(2, 2, "deep networks")
    return judge_pieces(pieces, deep)


def _free_knot_error(function: _Function, second: _Function, n: int) -> float:
    """Knots share the integral of the root of |f''| equally."""
    x = np.linspace(0, 1, 100_001)
    density = np.sqrt(np.abs(second(x))) + 1e-9
    share = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    knots = np.interp(np.linspace(0, share[-1], n + 1), share, x)
    return float(np.abs(np.interp(x, knots, function(knots)) - function(x)).max())


def _parabola_error(m: int) -> tuple[int, float]:
    """Units of the network of x(1 - x) with m terms, and its largest error at dyadic points."""
    network = takagi_network(takagi_coefficients(m, 0.25))
    x = np.linspace(0, 1, 2 ** (m + 2) + 1)
    found = network(torch.tensor(x)[:, None])[:, 0].numpy()
    return network.size.units, float(np.abs(found - x * (1 - x)).max())


def judge_pieces(pieces: dict[tuple[str, int], float], deep: dict[int, tuple[int, float]]) -> Finding:
    parts, texts = [], []
    for name in dict.fromkeys(n for n, _ in pieces):
        mine = {n: e for (curve, n), e in pieces.items() if curve == name}
        law = fit_law({"N": list(mine)}, list(mine.values()))
        parts.append(judge_exponent(StatedExponent(-2, (-1, -3, -4)), exponent_interval(law, "N")))
        texts.append(f"{name} {law.exponents['N']:.3f} ± {law.errors['N']:.3f}")
    # every layer of the deep network divides the error by 4
    steps = [deep[m + 1][1] / deep[m][1] for m in sorted(deep)[:-1]]
    parts.append(judge_at_most(Interval(min(steps), max(steps)), 0.26))
    points = [(n, e, f"{name}, one layer") for (name, n), e in pieces.items()]
    points += [(u, e, "x(1 - x), deep") for u, e in deep.values()]
    return finding_of(
        parts,
        measured=f"exponents: {'; '.join(texts)}; a layer leaves {min(steps):.3f} to {max(steps):.3f}",
        numbers={"most_left_by_a_layer": max(steps), "deep_error": deep[max(deep)][1]},
        figures=figure_of("Smooth functions, by one layer and by many", points, "units", "error", "form", log_x=True,
                          log_y=True, y_title="largest error"),
    )  # fmt: skip
