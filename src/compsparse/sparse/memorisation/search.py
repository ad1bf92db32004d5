"""Pricing by search, where the cells are too many to list: ascent over directions, then exactly in the cells found.

It can miss the best cell (the problem is NP-hard), so a bound from it is a guess.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from compsparse.sparse.memorisation.cone import ConeBlock
from compsparse.sparse.memorisation.cone_projection import projection
from compsparse.sparse.memorisation.norms import costs, factors
from compsparse.sparse.memorisation.pricing import Prices, spread
from compsparse.sparse.memorisation.problem import Chart, Problem
from compsparse.sparse.memorisation.stopping import StoppingRule

_COARSE = np.geomspace(0.7, 0.02, 40)
_FINE = np.geomspace(0.05, 0.002, 25)


def price_by_search(
    problem: Problem,
    lam: np.ndarray,
    warm: list[tuple[int, np.ndarray]],
    rng: np.random.Generator,
    rule: StoppingRule,
    *,
    threshold: float,
    n_starts: int,
    most_blocks: int,
) -> Prices:
    """The dearest cells that ascent finds from random directions and from the warm ones, in the time that is left."""
    most, found = 0.0, []
    per_chart = max(8, n_starts // len(problem.charts))
    for k, chart in enumerate(problem.charts):
        near = [chart.metric @ u for number, u in warm if number == k]
        random = rng.normal(size=(per_chart, chart.Z.shape[1]))
        mixes = rng.normal(size=(per_chart, problem.n)) @ (lam[:, None] * chart.white)
        starts = np.concatenate([random, mixes, np.array(near).reshape(-1, random.shape[1])])
        cells = _search_chart(problem, k, lam, starts, max(20, 4 * most_blocks // len(problem.charts)), rule)
        found += [(price, k, pattern, sign, u) for price, pattern, sign, u in cells if price > threshold]
        most = max([most, *(c[0] for c in cells)])
    if not found:
        return Prices(most, [], exhaustive=False)
    found.sort(key=lambda f: -f[0])
    chosen = spread(np.array([f[4] for f in found]), np.array([2 * f[1] + f[3] for f in found]), most_blocks)
    blocks = [
        ConeBlock(k, pattern, sign, problem.charts[k].rows) for _, k, pattern, sign, _ in (found[i] for i in chosen)
    ]
    return Prices(most, blocks, exhaustive=False)


def _search_chart(
    problem: Problem, k: int, lam: np.ndarray, starts: np.ndarray, most: int, rule: StoppingRule
) -> list[tuple[float, np.ndarray, int, np.ndarray]]:
    chart = problem.charts[k]
    signs = np.repeat([1.0, -1.0], len(starts))
    value, pattern = _ascend(problem, chart, lam, signs, np.tile(starts, (2, 1)), _COARSE, rule)
    priced = _priced(problem, chart, lam, value, pattern, signs, most, rule)
    again = [(chart.metric @ u, sign) for _, _, sign, u in priced]
    if not again:
        return []
    signs = np.array([sign for _, sign in again], dtype=np.float64)
    value, pattern = _ascend(problem, chart, lam, signs, np.array([v for v, _ in again]), _FINE, rule)
    priced += _priced(problem, chart, lam, value, pattern, signs, most, rule)
    return list({(np.packbits(found[1]).tobytes(), found[2]): found for found in priced}.values())


def _ascend(
    problem: Problem,
    chart: Chart,
    lam: np.ndarray,
    signs: np.ndarray,
    v: np.ndarray,
    steps: np.ndarray,
    rule: StoppingRule,
) -> tuple[np.ndarray, np.ndarray]:
    """Ascent of sign * lam . neuron / cost; returns the best value and the pattern there of each start."""
    v = v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300)
    best, kept = np.full(len(v), -np.inf), np.zeros((len(v), problem.n), dtype=bool)
    for step in steps:
        if rule.is_late:
            break
        active = v @ chart.white.T > 0
        gradient = signs[:, None] * ((active * lam) @ chart.white)
        cost = costs(chart, active, v @ chart.whitening.T, problem.norm)
        value = np.divide((gradient * v).sum(1), cost, out=np.full(len(v), -np.inf), where=cost > 0)
        gain = value > best
        best[gain], kept[gain] = value[gain], active[gain]
        v = v + step * gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-300)
        v /= np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300)
    return best, kept


def _priced(
    problem: Problem,
    chart: Chart,
    lam: np.ndarray,
    value: np.ndarray,
    patterns: np.ndarray,
    signs: np.ndarray,
    most: int,
    rule: StoppingRule,
) -> list[tuple[float, np.ndarray, int, np.ndarray]]:
    """Exact prices of the best distinct cells, with the best direction of each."""
    seen: set[bytes] = set()
    result = []
    for i in np.argsort(-value):
        key = np.packbits(patterns[i]).tobytes() + (b"+" if signs[i] > 0 else b"-")
        if key in seen or not patterns[i].any():
            continue
        seen.add(key)
        price, u = cell_price(problem, chart, signs[i] * lam, patterns[i])
        result.append((price, patterns[i], int(signs[i]), u))
        if len(seen) >= most or rule.is_late:
            break
    return result


def cell_price(problem: Problem, chart: Chart, lam: np.ndarray, pattern: np.ndarray) -> tuple[float, np.ndarray]:
    """max lam . (neuron) over neurons of unit cost in the closed cell, and where; 0 if it cannot be computed."""
    rows = chart.rows
    sign = np.where(pattern, 1.0, -1.0)[rows, None]
    if problem.norm == "label-noise":
        root = factors(chart, pattern[None], problem.norm)[0][0]
        return _conic_price((pattern * lam) @ chart.Z, sign * chart.Z[rows], root)
    gradient, G = (pattern * lam) @ chart.white, sign * chart.white[rows]
    G = G / np.maximum(np.linalg.norm(G, axis=1, keepdims=True), 1e-300)
    mu = projection(G.T, -gradient)
    if mu is None:
        return 0.0, chart.whitening @ gradient
    direction = gradient + G.T @ mu
    return float(np.linalg.norm(direction)), chart.whitening @ direction


def _conic_price(gradient: np.ndarray, G: np.ndarray, root: np.ndarray) -> tuple[float, np.ndarray]:
    import clarabel

    m, p = G.shape
    A = sparse.csc_matrix(np.concatenate([-G, np.zeros((1, p)), -root]))
    b = np.concatenate([np.zeros(m), [1.0], np.zeros(p)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(m), clarabel.SecondOrderConeT(p + 1)]
    answer = clarabel.DefaultSolver(sparse.csc_matrix((p, p)), -gradient, A, b, cones, settings).solve()
    return -float(answer.obj_val), np.asarray(answer.x)
