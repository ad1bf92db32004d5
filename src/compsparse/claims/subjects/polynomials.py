"""Polynomials and splines: what ridge powers span, how fast polynomials converge, where straight pieces saturate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np
from numpy.polynomial import chebyshev

from compsparse.claims.claim import Finding, Outcome, Profile
from compsparse.claims.rules import (
    MARGIN,
    Interval,
    StatedExponent,
    all_of,
    exponent_interval,
    judge_at_most,
    judge_exponent,
)
from compsparse.claims.seeds import FIRST_SEED
from compsparse.construct.self_similar import takagi_network
from compsparse.measures import fit_law
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.representations.classical import ridge_count, ridge_directions, ridge_rank
from compsparse.tasks.takagi import takagi_coefficients

# ---- spans -------------------------------------------------------------------------------------


def ridge_powers_span(profile: Profile, progress: Progress) -> Finding:
    """Ranks of powers of random directions, as many as the dimension and twice as many."""
    most = {1: 8, 2: 8, 3: 6, 4: 5, 5: 3} if profile == "quick" else {1: 10, 2: 12, 3: 8, 4: 6, 5: 5, 6: 4}
    cases = [(n, k) for n, highest in most.items() for k in range(1, highest + 1)]
    ranks = {}
    for i, (n, k) in enumerate(cases):
        first, second = (ridge_directions(n, k, random_state=FIRST_SEED + s) for s in (0, 1))
        ranks[n, k] = (ridge_rank(first, k), ridge_rank(np.vstack([first, second]), k))
        progress.update(i + 1, len(cases), f"degree {k} in {n} variables")
    return _judge_spans(ranks)


def _judge_spans(ranks: dict[tuple[int, int], tuple[int, int]]) -> Finding:
    wrong = [case for case, found in ranks.items() if found != (ridge_count(*case),) * 2]
    rows = tuple({"degree": k, "rank": r[0], "variables": f"{n} variables"} for (n, k), r in ranks.items())
    return Finding(
        Outcome.REFUTED if wrong else Outcome.SUPPORTED,

        measured=f"{len(ranks) - len(wrong)} of {len(ranks)} cases, {max(r[0] for r in ranks.values())} at most",
        numbers={"cases": len(ranks), "wrong": len(wrong)},
        figures=(
            Figure("Ridge powers that span the polynomials of a degree", rows, "degree", "rank", series="variables",
                   log_y=True, y_title="directions"),
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
    found = []
    for n, listed in degrees.items():
        for degree in listed:
            found.append(_Degree(n, degree, _polynomial_error(n, degree)))
            progress.update(len(found), sum(map(len, degrees.values())), f"degree {degree} in {n} variables")
    return _judge_rates(found)


def _polynomial_error(n: int, degree: int) -> float:
    """The Chebyshev series of |x|^3, cut at a total degree: near the best by a factor that grows like a logarithm."""
    m = 4 * degree + 1
    nodes = np.cos(np.pi * (np.arange(m) + 0.5) / m)
    mesh = np.meshgrid(*[nodes] * n, indexing="ij")
    coefficients = np.sum([g**2 for g in mesh], axis=0) ** (_SMOOTHNESS / 2)
    to_series = chebyshev.chebvander(nodes, degree).T * (2 / m)
    to_series[0] /= 2
    for axis in range(n):
        coefficients = np.moveaxis(np.tensordot(to_series, coefficients, (1, axis)), 0, axis)
    for index in product(range(degree + 1), repeat=n):
        if sum(index) > degree:
            coefficients[index] = 0.0
    x = np.linspace(-1, 1, 4001 if n == 1 else 201)
    values: np.ndarray = coefficients
    for axis in range(n):
        values = np.moveaxis(np.tensordot(chebyshev.chebvander(x, degree), values, (1, axis)), 0, axis)
    exact = np.sum([g**2 for g in np.meshgrid(*[x] * n, indexing="ij")], axis=0) ** (_SMOOTHNESS / 2)
    return float(np.abs(values - exact).max())


def _judge_rates(found: Sequence[_Degree]) -> Finding:
    parts, texts, numbers = [], [], {}
    for n in sorted({f.n_inputs for f in found}):
        mine = [f for f in found if f.n_inputs == n]
        law = fit_law({"units": [f.units for f in mine]}, [f.error for f in mine])
        stated = StatedExponent(-_SMOOTHNESS / n, (-(_SMOOTHNESS - 1) / n, -(_SMOOTHNESS + 1) / n), 2 * MARGIN)
        parts.append(judge_exponent(stated, exponent_interval(law, "units")))
        texts.append(f"n = {n}: {law.exponents['units']:.2f} ± {law.errors['units']:.2f} (stated {stated.value:g})")
        numbers[f"exponent_{n}"] = law.exponents["units"]
    rows = tuple({"units": f.units, "error": f.error, "variables": f"n = {f.n_inputs}"} for f in found)
    return Finding(
        all_of(parts),

        measured="; ".join(texts),
        numbers=numbers,
        figures=(
            Figure(f"Polynomials on |x|^{_SMOOTHNESS}", rows, "units", "error", series="variables", log_x=True,
                   log_y=True, x_title="ridge powers r", y_title="largest error"),
        ),

    )  # fmt: skip


# ---- straight pieces -----------------------------------------------------------------------------

_CURVES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
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
    return _judge_pieces(pieces, deep)


def _free_knot_error(
    function: Callable[[np.ndarray], np.ndarray], second: Callable[[np.ndarray], np.ndarray], n: int
) -> float:
    """Knots share the integral of the root of |f''| equally."""
    x = np.linspace(0, 1, 100_001)
    density = np.sqrt(np.abs(second(x))) + 1e-9
    share = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    knots = np.interp(np.linspace(0, share[-1], n + 1), share, x)
    return float(np.abs(np.interp(x, knots, function(knots)) - function(x)).max())


def _parabola_error(m: int) -> tuple[int, float]:
    """Units of the network of x(1 - x) with m terms, and its largest error at dyadic points."""
    network = takagi_network(takagi_coefficients(m, 0.25))
    import torch

    x = np.linspace(0, 1, 2 ** (m + 2) + 1)
    found = network(torch.tensor(x)[:, None])[:, 0].numpy()
    return network.size.units, float(np.abs(found - x * (1 - x)).max())


def _judge_pieces(pieces: dict[tuple[str, int], float], deep: dict[int, tuple[int, float]]) -> Finding:
    parts, texts = [], []
    for name in dict.fromkeys(n for n, _ in pieces):
        mine = {n: e for (curve, n), e in pieces.items() if curve == name}
        law = fit_law({"N": list(mine)}, list(mine.values()))
        parts.append(judge_exponent(StatedExponent(-2, (-1, -3, -4)), exponent_interval(law, "N")))
        texts.append(f"{name} {law.exponents['N']:.3f} ± {law.errors['N']:.3f}")
    # every layer of the deep network divides the error by 4
    steps = [deep[m + 1][1] / deep[m][1] for m in sorted(deep)[:-1]]
    parts.append(judge_at_most(Interval(min(steps), max(steps)), 0.26))
    rows = [{"units": n, "error": e, "form": f"{name}, one layer"} for (name, n), e in pieces.items()]
    rows += [{"units": u, "error": e, "form": "x(1 - x), deep"} for u, e in deep.values()]
    return Finding(
        all_of(parts),

        measured=f"exponents: {'; '.join(texts)}; a layer leaves {min(steps):.3f} to {max(steps):.3f}",
        numbers={"most_left_by_a_layer": max(steps), "deep_error": deep[max(deep)][1]},
        figures=(
            Figure("Smooth functions, by one layer and by many", tuple(rows), "units", "error", series="form",
                   log_x=True, log_y=True, y_title="largest error"),
        ),

    )  # fmt: skip
