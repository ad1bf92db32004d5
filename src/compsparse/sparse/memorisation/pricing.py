"""Pricing: max over a cell's cone of lam . (neuron) / cost, which dual feasibility bounds by 1.

It is the norm of the projection of +-R^-T Lambda_s on the image of the cell's cone, Lambda_s =
sum_{i in s} lam_i z_i: a small non-negative least-squares problem, needed only where norm(R^-T Lambda_s) > 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from compsparse.sparse.memorisation.cells import HyperplaneCells
from compsparse.sparse.memorisation.cone import ConeBlock
from compsparse.sparse.memorisation.cone_projection import projection
from compsparse.sparse.memorisation.norms import factors
from compsparse.sparse.memorisation.problem import Norm
from compsparse.sparse.memorisation.stopping import never

_CELLS_AT_ONCE = 8192
_CELLS_AT_FIRST = 3000
_SWEEPS = 40
_APART = (0.3, 0.1, 0.03, 0.01)


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


PricedCell = tuple[float, int, int, int, np.ndarray]
"""The price of a cell, its number, its side, the sign of its neurons and the direction of the best."""


class ExhaustivePricing:
    """Prices every cell of one chart."""

    def __init__(self, number: int, cells: HyperplaneCells, norm: Norm):
        self.number, self.cells, self.norm = number, cells, norm
        self.roots, self.whiten = factors(cells.chart, cells.patterns, norm)
        if norm == "label-noise":
            self.opposite = factors(cells.chart, self._opposite(), norm)
        else:
            self.opposite = self.roots, self.whiten
            self._collect_facets()

    def _opposite(self) -> np.ndarray:
        other = ~self.cells.patterns
        other[:, np.setdiff1d(np.arange(other.shape[1]), self.cells.chart.rows)] = False
        return other

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
                        return top, sorted(found, key=lambda f: -f[0]), False
                    value, where = self._projected(s, sign * white[s], roots[s])
                    top = max(top, value)
                    if value > threshold:
                        found.append((value, s, side, sign, side * where))
        return top, sorted(found, key=lambda f: -f[0]), complete

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
        alpha = projection(rays, white)
        if alpha is None:  # nothing is known of the cell but the norm
            return float(np.linalg.norm(white)), signed[:, 0]
        return float(np.linalg.norm(rays @ alpha)), signed[:, good] @ (alpha / size[good])

    def block(self, s: int, side: int, sign: int) -> ConeBlock:
        """The neurons of one sign in a cell or in its opposite."""
        pattern = self.cells.patterns[s] if side == 1 else self._opposite_of(s)
        return ConeBlock(self.number, pattern, sign, self.cells.facets(s))

    def _opposite_of(self, s: int) -> np.ndarray:
        other: np.ndarray = np.zeros_like(self.cells.patterns[s])
        rows = self.cells.chart.rows
        other[rows] = ~self.cells.patterns[s][rows]
        return other

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
        found += [(value, pricing, s, side, sign, u) for value, s, side, sign, u in cells]
    found.sort(key=lambda f: -f[0])
    if not found:
        return Prices(most, [], exhaustive)
    chosen = spread(np.array([f[5] for f in found]), np.array([2 * f[1].number + f[4] for f in found]), most_blocks)
    return Prices(most, [found[i][1].block(*found[i][2:5]) for i in chosen], exhaustive)


def spread(u: np.ndarray, group: np.ndarray, most: int) -> list[int]:
    """At most so many of the directions, earlier ones first, but apart from each other within their groups.

    Neighbours of a dear cell are dear as well; adding all of them helps little.
    """
    if len(u) <= most:
        return list(range(len(u)))
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
    return chosen
