"""Pricing: max over a cell's cone of lam . (neuron) / cost, which dual feasibility bounds by 1.

It is the norm of the projection of +-R^-T Lambda_s on the image of the cell's cone, Lambda_s =
sum_{i in s} lam_i z_i: a small non-negative least-squares problem, needed only where norm(R^-T Lambda_s) > 1. Cells are
listed where they are few. Where they are not, branch and bound leaves nothing out, and a search by ascent is faster
and may miss the dearest (the problem is NP-hard), so that a bound from it is a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import lsq_linear

from compsparse.sparse.memorisation.cells import HyperplaneCells
from compsparse.sparse.memorisation.certificate import dual_bound
from compsparse.sparse.memorisation.cone import BlockKey, ConeBlock
from compsparse.sparse.memorisation.problem import Chart, Norm, Problem, costs, factors
from compsparse.sparse.memorisation.stopping import StoppingRule, never
from compsparse.sparse.screened import nonnegative_solution

_CELLS_AT_ONCE = 8192
_CELLS_AT_FIRST = 3000
_SWEEPS = 40
_APART = (0.3, 0.1, 0.03, 0.01)
_COARSE = np.geomspace(0.7, 0.02, 40)
_FINE = np.geomspace(0.05, 0.002, 25)
_OPTIMAL = 1e-9
_MOST_NODES = 3_000_000
_MANY_CELLS = 20_000
_ABOVE_ONE = 1e-10
_COARSER = (1e-8, 1e-6, 1e-4)

Warm = list[tuple[int, np.ndarray]]
"""Charts and directions in them that are worth starting from."""


@dataclass(frozen=True, eq=False)
class Prices:
    """What pricing found.

    Attributes:
        most: the largest price m.
        blocks: violated blocks, dearest first.
        exhaustive: every cell was priced, so that lam / max(1, m) is feasible.
    """

    most: float
    blocks: list[ConeBlock]
    exhaustive: bool


Pricer = Callable[[np.ndarray, Warm, bool], Prices]
"""From multipliers, good directions, and whether nothing may be left out, to prices."""


class PricedCell(NamedTuple):
    """The price of the best neuron of a block, and its direction."""

    price: float
    block: ConeBlock
    u: np.ndarray


# ---- every cell of a list ----------------------------------------------------------------


class ExhaustivePricing:
    """Prices every cell of one chart."""

    def __init__(self, number: int, cells: HyperplaneCells, norm: Norm):
        self.number, self.cells, self.norm = number, cells, norm
        self.roots, self.whiten = factors(cells.chart, cells.patterns, norm)
        self.other = ~cells.patterns
        self.other[:, np.setdiff1d(np.arange(self.other.shape[1]), cells.chart.rows)] = False
        if norm == "label-noise":
            self.opposite = factors(cells.chart, self.other, norm)
        else:
            self.opposite = self.roots, self.whiten
            self._collect_facets()

    def _collect_facets(self) -> None:
        """Unit normals of each cell's facets in white coordinates, padded with zeros, (S, F, p)."""
        cells = self.cells
        unit = cells.chart.white / np.maximum(np.linalg.norm(cells.chart.white, axis=1, keepdims=True), 1e-300)
        S, p = len(cells.patterns), unit.shape[1]
        starts, rows = cells.facet_table if p > 1 else (np.arange(S + 1), np.full(S, cells.chart.rows[0]))
        cell = np.repeat(np.arange(S), np.diff(starts))
        place = np.arange(len(rows)) - starts[cell]
        self.normals = np.zeros((S, int(np.diff(starts).max()), p))
        self.normals[cell, place] = unit[rows] * np.where(cells.patterns[cell, rows], 1.0, -1.0)[:, None]

    def price(
        self, lam: np.ndarray, threshold: float, full: bool, is_late: Callable[[], bool] = never
    ) -> tuple[float, list[PricedCell], bool]:
        """The largest price, the cells above the threshold, and whether all were priced.

        Unless ``full``, only the most promising cells are, which is enough to go on but proves nothing.
        """
        inner = self._gradients(lam)
        total = lam @ self.cells.chart.Z
        found: list[PricedCell] = []
        top, complete = 0.0, True
        for side in (1, -1):
            roots, whiten = (self.roots, self.whiten) if side == 1 else self.opposite
            gradients = inner if side == 1 else inner - total  # of the opposite cell, turned to this one's cone
            white = np.einsum("sij,sj->si", whiten, gradients)
            size = np.linalg.norm(white, axis=1)
            for sign in (1, -1):
                chosen = np.flatnonzero(size > min(1.0, threshold))
                chosen, bound = self._bounded(sign * white, chosen, size, threshold, is_late)
                if not full and len(chosen) > _CELLS_AT_FIRST:
                    chosen, complete = chosen[np.argsort(-bound)[:_CELLS_AT_FIRST]], False
                for s in map(int, chosen):
                    if is_late():
                        return top, found, False
                    value, where = self._projected(s, sign * white[s], roots[s])
                    top = max(top, value)
                    if value > threshold:
                        found.append(PricedCell(value, self.block(s, side, sign), side * where))
        return top, found, complete

    def _bounded(
        self, white: np.ndarray, chosen: np.ndarray, size: np.ndarray, threshold: float, is_late: Callable[[], bool]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Drops cells whose price a cheap dual bound shows to be small: norm(Lambda + G^T mu) for any mu >= 0."""
        if self.norm == "label-noise":
            return chosen, size[chosen]
        w, mu = white[chosen].copy(), np.zeros((len(chosen), self.normals.shape[1]))
        bound = size[chosen]
        for sweep in range(0 if is_late() else _SWEEPS):
            normals = self.normals[chosen]
            for j in range(normals.shape[1]):
                step = np.maximum(-np.einsum("si,si->s", normals[:, j], w), -mu[:, j])
                mu[:, j] += step
                w += step[:, None] * normals[:, j]
            bound = np.linalg.norm(w, axis=1)
            if sweep % 4 == 3 or sweep == _SWEEPS - 1:
                keep = bound > min(1.0, threshold)
                chosen, w, mu, bound = chosen[keep], w[keep], mu[keep], bound[keep]
        return chosen, bound

    def _gradients(self, lam: np.ndarray) -> np.ndarray:
        weighted = lam[:, None] * self.cells.chart.Z
        patterns = self.cells.patterns
        parts = range(0, len(patterns), _CELLS_AT_ONCE)
        return np.concatenate([patterns[at : at + _CELLS_AT_ONCE].astype(np.float64) @ weighted for at in parts])

    def _projected(self, s: int, white: np.ndarray, root: np.ndarray) -> tuple[float, np.ndarray]:
        """Norm of the projection on the cone of the cell's rays, and the direction it has in the chart."""
        signed = self.cells.signed_rays(s).T
        rays = root @ signed
        size = np.linalg.norm(rays, axis=0)
        good = size > 1e-13 * max(size.max(), 1e-300)
        if not good.any():
            return 0.0, signed[:, 0]
        rays = rays[:, good] / size[good]
        alpha = _projection(rays, white)
        if alpha is None:  # nothing is known of the cell but the norm
            return float(np.linalg.norm(white)), signed[:, 0]
        return float(np.linalg.norm(rays @ alpha)), signed[:, good] @ (alpha / size[good])

    def block(self, s: int, side: int, sign: int) -> ConeBlock:
        """The neurons of one sign in a cell or in its opposite."""
        pattern = self.cells.patterns[s] if side == 1 else self.other[s]
        return ConeBlock(self.number, pattern, sign, self.cells.facets(s))

    def all_blocks(self) -> list[ConeBlock]:
        """Those of every cell."""
        count = len(self.cells.patterns)
        return [self.block(s, side, sign) for s in range(count) for side in (1, -1) for sign in (1, -1)]


def price_all(
    pricings: list[ExhaustivePricing],
    lam: np.ndarray,
    threshold: float,
    full: bool,
    most_blocks: int,
    is_late: Callable[[], bool] = never,
) -> Prices:
    """Prices the cells of every chart, in the time that is left."""
    most, found, exhaustive = 0.0, [], True
    for pricing in pricings:
        top, cells, complete = pricing.price(lam, threshold, full, is_late)
        most, exhaustive = max(most, top), exhaustive and complete and not pricing.cells.doubtful
        found += cells
    return Prices(most, _spread(found, most_blocks), exhaustive)


def _spread(found: list[PricedCell], most: int) -> list[ConeBlock]:
    """At most so many blocks, dearer ones first, but their directions apart within each chart and sign.

    Neighbours of a dear cell are dear as well; adding all of them helps little.
    """
    found = sorted(found, key=lambda cell: -cell.price)
    if len(found) <= most:
        return [cell.block for cell in found]
    u = np.array([cell.u for cell in found])
    group = np.array([2.0 * cell.block.chart + cell.block.sign for cell in found])
    unit = u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
    places = np.column_stack([unit, 10.0 * group])
    chosen: list[int] = []
    for apart in _APART:
        free = np.ones(len(u), dtype=bool)
        for j in chosen:
            free &= ((places - places[j]) ** 2).sum(1) > apart**2
        while free.any() and len(chosen) < most:
            chosen.append(int(free.argmax()))
            free &= ((places - places[chosen[-1]]) ** 2).sum(1) > apart**2
    return [found[i].block for i in chosen]


# ---- by search: ascent over directions, then exactly in the cells found --------------------


@dataclass(frozen=True, eq=False)
class _Search:
    """One chart and the multipliers it is searched for, in the time that is left."""

    problem: Problem
    number: int
    lam: np.ndarray
    most: int
    rule: StoppingRule

    @property
    def chart(self) -> Chart:
        return self.problem.charts[self.number]

    def run(self, starts: np.ndarray) -> list[PricedCell]:
        """Priced cells, each once: from the starts, then from what they led to."""
        signs = np.repeat([1.0, -1.0], len(starts))
        priced = self._priced(*self._ascend(signs, np.tile(starts, (2, 1)), _COARSE), signs)
        if not priced:
            return []
        signs = np.array([cell.block.sign for cell in priced], dtype=np.float64)
        again = np.array([self.chart.metric @ cell.u for cell in priced])
        priced += self._priced(*self._ascend(signs, again, _FINE), signs)
        return list({cell.block.key: cell for cell in priced}.values())

    def _ascend(self, signs: np.ndarray, v: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ascent of sign * lam . neuron / cost; returns the best value and the pattern there of each start."""
        chart = self.chart
        v = v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300)
        best, kept = np.full(len(v), -np.inf), np.zeros((len(v), self.problem.n), dtype=bool)
        for step in steps:
            if self.rule.is_late:
                break
            active = v @ chart.white.T > 0
            gradient = signs[:, None] * ((active * self.lam) @ chart.white)
            cost = costs(chart, active, v @ chart.whitening.T, self.problem.norm)
            value = np.divide((gradient * v).sum(1), cost, out=np.full(len(v), -np.inf), where=cost > 0)
            gain = value > best
            best[gain], kept[gain] = value[gain], active[gain]
            v = v + step * gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-300)
            v /= np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300)
        return best, kept

    def _priced(self, value: np.ndarray, patterns: np.ndarray, signs: np.ndarray) -> list[PricedCell]:
        """Exact prices of the best distinct cells, with the best direction of each."""
        found: dict[BlockKey, PricedCell] = {}
        for i in np.argsort(-value):
            block = ConeBlock(self.number, patterns[i], int(signs[i]), self.chart.rows)
            if block.key in found or not patterns[i].any():
                continue
            price, u = cell_price(self.problem, self.chart, signs[i] * self.lam, patterns[i])
            found[block.key] = PricedCell(price, block, u)
            if len(found) >= self.most or self.rule.is_late:
                break
        return list(found.values())


def price_by_search(
    problem: Problem, lam: np.ndarray, warm: Warm, rng: np.random.Generator, rule: StoppingRule, *, n_starts: int,
    most_blocks: int,
) -> Prices:  # fmt: skip
    """The dearest cells that ascent finds from random directions and from the warm ones, in the time that is left."""
    most, found, n_charts = 0.0, [], len(problem.charts)
    per_chart = max(8, n_starts // n_charts)
    for k, chart in enumerate(problem.charts):
        near = [chart.metric @ u for number, u in warm if number == k]
        random = rng.normal(size=(per_chart, chart.Z.shape[1]))
        mixes = rng.normal(size=(per_chart, problem.n)) @ (lam[:, None] * chart.white)
        starts = np.concatenate([random, mixes, np.array(near).reshape(-1, random.shape[1])])
        cells = _Search(problem, k, lam, max(20, 4 * most_blocks // n_charts), rule).run(starts)
        found += [cell for cell in cells if cell.price > 1 + _ABOVE_ONE]
        most = max([most, *(cell.price for cell in cells)])
    return Prices(most, _spread(found, most_blocks), exhaustive=False)


def cell_price(problem: Problem, chart: Chart, lam: np.ndarray, pattern: np.ndarray) -> tuple[float, np.ndarray]:
    """max lam . (neuron) over neurons of unit cost in the closed cell, and where; 0 if it cannot be computed."""
    rows = chart.rows
    sign = np.where(pattern, 1.0, -1.0)[rows, None]
    if problem.norm == "label-noise":
        root = factors(chart, pattern[None], problem.norm)[0][0]
        return _conic_price((pattern * lam) @ chart.Z, sign * chart.Z[rows], root)
    gradient, G = (pattern * lam) @ chart.white, sign * chart.white[rows]
    G = G / np.maximum(np.linalg.norm(G, axis=1, keepdims=True), 1e-300)
    mu = _projection(G.T, -gradient)
    if mu is None:
        return 0.0, chart.whitening @ gradient
    direction = gradient + G.T @ mu
    return float(np.linalg.norm(direction)), chart.whitening @ direction


def _conic_price(gradient: np.ndarray, G: np.ndarray, root: np.ndarray) -> tuple[float, np.ndarray]:
    import clarabel

    m, p = G.shape
    A = sparse.csc_array(np.concatenate([-G, np.zeros((1, p)), -root]))
    b = np.concatenate([np.zeros(m), [1.0], np.zeros(p)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(m), clarabel.SecondOrderConeT(p + 1)]
    answer = clarabel.DefaultSolver(sparse.csc_array((p, p)), -gradient, A, b, cones, settings).solve()
    return -float(answer.obj_val), np.asarray(answer.x)


# ---- projection on the cone of given rays ------------------------------------------------


def _projection(rays: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """alpha >= 0 with least norm(rays @ alpha - target), None if none was found that is optimal.

    The first solver is fast and now and then returns something else than a solution; its optimality conditions tell.
    """
    for solver in ("nnls", "bvls"):
        try:
            if solver == "nnls":
                alpha = nonnegative_solution(rays, target, 100 * rays.shape[1])
            else:
                alpha = np.asarray(lsq_linear(rays, target, (0.0, np.inf), method="bvls").x)
        except (RuntimeError, np.linalg.LinAlgError, ValueError):  # too many iterations
            continue
        if _is_optimal(rays, target, alpha):
            return alpha
    return None


def _is_optimal(rays: np.ndarray, target: np.ndarray, alpha: np.ndarray) -> bool:
    """alpha >= 0, no ray improves it, and those in use are orthogonal to what is left."""
    left = target - rays @ alpha
    size = _OPTIMAL * max(float(np.linalg.norm(target)), 1e-300)
    slopes = left @ rays
    return bool(
        (alpha >= 0).all() and (slopes <= size).all() and abs(left @ (rays @ alpha)) <= size * np.linalg.norm(target)
    )


# ---- which of the ways to price ----------------------------------------------------------


def make_pricer(
    problem: Problem, pricings: list[ExhaustivePricing] | None, rng: np.random.Generator, rule: StoppingRule
) -> Pricer:
    """Prices by search while that finds something, then by one of the ways that leave nothing out."""
    most = max(20, int(1.5 * problem.n))

    def first(lam: np.ndarray, warm: Warm, full: bool) -> Prices:
        if pricings is not None:
            return price_all(pricings, lam, 1 + _ABOVE_ONE, full, most, lambda: rule.is_late)
        return price_by_search(problem, lam, warm, rng, rule, n_starts=8000 if full else 1500, most_blocks=most)

    # to go through a long list in which every cell is known for sure beats branch and bound
    is_sure = pricings is not None and not any(p.cells.doubtful for p in pricings)
    is_long = pricings is not None and sum(p.cells.count for p in pricings) > _MANY_CELLS
    if problem.norm == "label-noise" or (is_sure and is_long):
        return first

    def branched(lam: np.ndarray, warm: Warm, full: bool) -> Prices:
        found = _branched(problem, lam, rule) if full else None
        if found is not None and (found.exhaustive or found.blocks):
            return found
        return replace(first(lam, warm, full), exhaustive=False)

    return branched


def _branched(problem: Problem, lam: np.ndarray, rule: StoppingRule) -> Prices:
    """The largest price of all directions, and the cells of those that are too dear.

    Multipliers that are only as good as the cone solver's accuracy make hundreds of neurons too dear by that little:
    then the largest price is told less finely.
    """
    from compsparse.sparse.memorisation.branching import nodes_at_once

    budget = iter(range(_MOST_NODES // nodes_at_once(problem.charts[0].Z)))
    blocks: dict[BlockKey, ConeBlock] = {}
    bound = None
    for tol in (rule.tol / 4, *(t for t in _COARSER if t > rule.tol)):
        bound = dual_bound(problem, lam, tol, lambda: rule.is_late or next(budget, None) is None)
        dearest = 1.0
        for theta, k, sign in zip(bound.neurons, bound.through, bound.signs, strict=True):
            chart = problem.charts[k]
            u = theta @ chart.embed
            pattern = chart.Z @ u > 1e-12 * np.linalg.norm(chart.Z, axis=1) * np.linalg.norm(u)
            price = cell_price(problem, chart, sign * lam, pattern)[0]
            dearest = max(dearest, price)
            if price > 1 + _ABOVE_ONE:
                block = ConeBlock(int(k), pattern, int(sign), chart.rows)
                blocks[block.key] = block
        if bound.is_complete or rule.is_late or dearest > 1 + _COARSER[1]:
            break
    assert bound is not None
    return Prices(bound.most, list(blocks.values()), exhaustive=bound.is_complete)
