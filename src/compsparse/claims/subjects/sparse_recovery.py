"""When the codes that l1 and greedy search find are the sparsest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy.optimize import minimize

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.rules import Interval, judge_within
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.sparse import (
    SparseCodes,
    basis_pursuit,
    coherence,
    equiangular_frame,
    gaussian_dictionary,
    omp,
    recoverable_sparsity,
    sparsest,
    spikes_and_hadamard,
    weak_threshold,
)

_SAME = 1e-5
"""Codes nearer than this, relative to the true one, are the true one."""

# ---- below the coherence bound ------------------------------------------------------------

_MOST_SIGNS = 20_000


def l1_equals_l0(profile: Profile, progress: Progress) -> Finding:
    """Shares of codes that l1, greedy search and a search for the sparsest find, below the bound and beyond."""
    full = profile == "full"
    dictionaries = {
        "spikes and Hadamard, 16 x 32": spikes_and_hadamard(16),
        "equiangular, 28 x 64": equiangular_frame(28, 64),
        "spikes and Hadamard, 64 x 128": spikes_and_hadamard(64),
    }
    points = [
        point
        for name in each(dictionaries, progress)
        for point in _success_curve(name, dictionaries[name], 1000 if full else 100)
    ]
    l0 = _same_by_l0(dictionaries["spikes and Hadamard, 16 x 32"], 40 if full else 6)
    return judge_recovery(dictionaries, points, l0)


def _success_curve(name: str, W: np.ndarray, draws: int) -> list[_Point]:
    """From one entry to as many as hardly any code is found with."""
    points = []
    for k in range(1, W.shape[0]):
        points.append(_recovered(name, W, k, recoverable_sparsity(W), draws))
        if max(points[-1].l1, points[-1].greedy) < 0.05:
            break
    return points


@dataclass(frozen=True)
class _Point:
    dictionary: str
    k: int
    certain: int
    signals: int
    l1: float
    greedy: float


def _recovered(name: str, W: np.ndarray, k: int, certain: int, draws: int) -> _Point:
    """Shares of codes found; below the bound every support with every choice of signs, where there are not too many."""
    n = W.shape[1]
    if k <= certain and math.comb(n, k) * 2**k <= _MOST_SIGNS:
        Z = _all_signs(n, k)
    else:
        Z = SparseCodes(W, k).sample(draws if k > certain else 10 * draws, random_state=k).Z
    X = Z @ W.T
    l1, greedy = basis_pursuit(X, W).codes, omp(X, W, n_nonzero=k).codes
    return _Point(name, k, certain, len(Z), _share_same(l1, Z), _share_same(greedy, Z))


def _all_signs(n: int, k: int) -> np.ndarray:
    """A code for each support of k entries and each choice of their signs, of sizes between 0.5 and 1.5."""
    supports = np.array(list(combinations(range(n), k)))
    signs = np.array(list(product((-1.0, 1.0), repeat=k)))
    places = np.repeat(supports, len(signs), axis=0)
    sizes = np.random.default_rng(0).uniform(0.5, 1.5, places.shape)
    Z = np.zeros((len(places), n))
    np.put_along_axis(Z, places, np.tile(signs, (len(supports), 1)) * sizes, axis=1)
    return Z


def _share_same(found: np.ndarray, Z: np.ndarray) -> float:
    return float(np.mean(np.linalg.norm(found - Z, axis=1) <= _SAME * np.linalg.norm(Z, axis=1)))


def _same_by_l0(W: np.ndarray, draws: int) -> float:
    """The share of codes at the bound that a search for the sparsest finds, proved to be the sparsest."""
    Z = SparseCodes(W, recoverable_sparsity(W)).sample(draws, random_state=0).Z
    return _share_same(np.stack([sparsest(z @ W.T, W).code for z in Z]), Z)


def judge_recovery(dictionaries: dict[str, np.ndarray], points: list[_Point], l0: float) -> Finding:
    inside = [p for p in points if p.k <= p.certain]
    all_found = l0 == 1 and all(p.l1 == 1 and p.greedy == 1 for p in inside)
    halves = {name: _half(name, points) for name in dictionaries}
    return finding_of(
        all_found,
        measured=f"found below the bound: l1 {min(p.l1 for p in inside):.2%}, OMP {min(p.greedy for p in inside):.2%} "
        f"of {sum(p.signals for p in inside):,} codes, l0 {l0:.0%}; beyond it l1 finds half of random codes up to "
        + ", ".join(
            f"k = {halves[name]} ({name}; bound {recoverable_sparsity(W)})" for name, W in dictionaries.items()
        ),
        numbers={
            "found by l1 below the bound": min(p.l1 for p in inside),
            "found by OMP below the bound": min(p.greedy for p in inside),
            "found by l0 at the bound": l0,
            **{f"coherence, {name}": coherence(W) for name, W in dictionaries.items()},
            **{f"k at which l1 finds half, {name}": float(k) for name, k in halves.items()},
        },
        figures=tuple(_success(name, points) for name in dictionaries),
    )


def _half(name: str, points: list[_Point]) -> int:
    return max(p.k for p in points if p.dictionary == name and p.l1 >= 0.5)


def _success(name: str, points: list[_Point]) -> Figure:
    mine = [p for p in points if p.dictionary == name]
    shares = [(p.k, share, by) for p in mine for by, share in (("l1", p.l1), ("OMP", p.greedy))]
    return figure_of(f"{name}: certain up to k = {mine[0].certain}", shares, "k", "share found", "by",
                     x_title="entries of the code, k", y_title="share of codes found")  # fmt: skip


# ---- the phase transition -----------------------------------------------------------------


_HALF = 0.5
_PER_DICTIONARY = 8


def phase_transition(profile: Profile, progress: Progress) -> Finding:
    """The share of codes that l1 finds against sparsity, and the threshold of the theory."""
    full = profile == "full"
    n, draws, tolerance = (400, 64, 0.03) if full else (128, 40, 0.06)
    map_columns, map_draws = (200, 24) if full else (128, 8)
    deltas = [i / 20 for i in range(2, 19, 1 if full else 2)]
    rhos = [i / 40 for i in range(2, 33, 1 if full else 2)]
    found: dict[tuple[float, float], float] = {}
    for i, delta in enumerate(deltas):
        found |= {(delta, rho): _found_by_l1(map_columns, delta, rho, map_draws) for rho in rhos}
        progress.update(i + 1, len(deltas) + 1, f"delta = {delta:g}")
    at_half = [(rho, _found_by_l1(n, _HALF, rho, draws)) for rho in np.arange(0.3, 0.48, 0.02)]
    progress.update(len(deltas) + 1, len(deltas) + 1, f"{n} columns")
    curve = {delta: weak_threshold(delta) for delta in deltas}
    half, predicted = logistic_midpoint(at_half), weak_threshold(_HALF)
    interval = _midpoint_interval(at_half, draws)
    at = {delta: logistic_midpoint([(rho, found[delta, rho]) for rho in rhos]) for delta in deltas}
    worst = max(abs(at[d] - curve[d]) for d in at if 0.2 <= d <= 0.8)
    cells = ({"delta": d, "rho": r, "share found": f, "threshold": curve[d]} for (d, r), f in found.items())
    return finding_of(
        judge_within(interval, predicted - tolerance, predicted + tolerance),
        expected=f"at delta = {_HALF} and {n} columns half of the codes are found at rho = {predicted:.5f}, within "
        f"{tolerance}: supported if the whole 95% interval is, refuted if none of it is",
        measured=f"rho = {half:.4f} ({interval.text(3)}); on the map of {map_columns} columns, the largest difference "
        f"from the curve for delta from 0.2 to 0.8 is {worst:.3f}",
        numbers={
            "rho at delta = 0.5": half,
            "difference at delta = 0.5": half - predicted,
            **{f"rho on the map, delta={d:g}": r for d, r in at.items()},
        },
        figures=Figure(
            f"Share of codes that l1 finds ({map_columns} columns; dashed: Donoho and Tanner)", tuple(cells),
            "delta", "rho", mark="heat", value="share found", curve="threshold", x_title="delta = d/n",
            y_title="rho = k/d",
        ),
        caveats=(
            f"{draws} codes for every rho at delta = {_HALF}, {map_draws} in every cell of the map, with a Gaussian "
            f"dictionary for every {_PER_DICTIONARY}",
        ),
    )  # fmt: skip


def _found_by_l1(n: int, delta: float, rho: float, draws: int) -> float:
    """The share found of codes of about rho d entries, in dictionaries of about delta n rows."""
    d = round(delta * n)
    k = max(1, round(rho * d))
    shares = []
    for part in range(draws // _PER_DICTIONARY):
        W = gaussian_dictionary(d, n, random_state=np.random.default_rng([n, d, k, FIRST_SEED + part]))
        drawn = SparseCodes(W, k).sample(_PER_DICTIONARY, random_state=FIRST_SEED + part)
        shares.append(_share_same(basis_pursuit(drawn.X, W, tol=1e-4).codes, drawn.Z))
    return float(np.mean(shares))


def _midpoint_interval(points: list[tuple[float, float]], draws: int, n_resamples: int = 100) -> Interval:
    """The 95% interval of the midpoint over other draws of as many codes, at the shares that were found."""
    rng = np.random.default_rng(FIRST_SEED)
    midpoints = [
        logistic_midpoint([(at, rng.binomial(draws, share) / draws) for at, share in points])
        for _ in range(n_resamples)
    ]
    low, high = np.quantile(midpoints, [0.025, 0.975])
    return Interval(float(low), float(high))


def logistic_midpoint(points: list[tuple[float, float]]) -> float:
    """Where a falling logistic curve through (place, share) points passes one half, by maximum likelihood.

    >>> round(logistic_midpoint([(0.1, 1.0), (0.2, 0.9), (0.3, 0.1), (0.4, 0.0)]), 3)
    0.25
    """
    x, share = np.array(points).T
    centre, spread = x.mean(), x.std() or 1.0

    def loss(parameters: np.ndarray) -> float:
        place, steepness = parameters
        logit = np.exp(steepness) * (place - (x - centre) / spread)
        return float(np.mean(np.logaddexp(0, logit) - share * logit) + 1e-4 * steepness**2)

    start = min(np.linspace(-1.7, 1.7, 35), key=lambda p: loss(np.array([p, 2.0])))
    found = minimize(loss, np.array([start, 2.0]), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10})
    return float(centre + spread * found.x[0])
