"""HyperplaneCells of the arrangement: the sets of points on which a neuron can be active.

Each point is a hyperplane through the origin of the space of neurons. The cells around the ray in
which d of them meet are found by moving off it to both sides of each; where more than d meet (points
not in general position) they are the cells of the arrangement that these make across the ray.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from compsparse.checks import check_count, check_numbers
from compsparse.errors import DataError
from compsparse.sizes import check_work
from compsparse.sparse.memorisation.problem import Chart, checked_points, penalised_chart
from compsparse.sparse.memorisation.stopping import never

MOST_INCIDENCES = 1_000_000
"""Most (ray, cell) pairs that are worth enumerating."""
_MOST_TERMS = 1000
_ZERO = 1e-10
_EXACT, _CLEAR = 4e-15, 1e-8  # between them rounding may decide
_ROWS_AT_ONCE = 20_000


class ListingCutShort(Exception):
    """The time limit has passed."""


@dataclass(frozen=True, eq=False)
class HyperplaneCells:
    """The cells of one chart, one of each opposite pair s, -s.

    Attributes:
        patterns: (S, n) which points are active; points that define no hyperplane never are.
        rays: (K, p) unit vectors; the closed cell ``s`` is the cone of ``signed_rays(s)``.
        starts, ray, side: the rays of cell s are ``side * rays[ray]`` over ``starts[s]:starts[s+1]``.
        touching: (K, n) which hyperplanes contain each ray.
        doubtful: whether rounding may have decided which side of a hyperplane a ray is on.
    """

    chart: Chart
    patterns: np.ndarray
    rays: np.ndarray
    starts: np.ndarray
    ray: np.ndarray
    side: np.ndarray
    touching: np.ndarray
    doubtful: bool

    def __repr__(self) -> str:
        return f"HyperplaneCells({self.count:,} cells of {self.patterns.shape[1]:,} points, {len(self.rays):,} rays)"

    @property
    def count(self) -> int:
        """All cells, opposite ones counted apart."""
        return 2 * len(self.patterns)

    def signed_rays(self, s: int) -> np.ndarray:
        """The rays whose cone the closed cell is."""
        at = slice(self.starts[s], self.starts[s + 1])
        return np.asarray(self.side[at, None] * self.rays[self.ray[at]])

    def facets(self, s: int) -> np.ndarray:
        """Points whose hyperplanes bound the cell."""
        if self.rays.shape[1] == 1:
            return self.chart.rows[:1]
        starts, rows = self.facet_table
        return rows[starts[s] : starts[s + 1]]

    @cached_property
    def facet_table(self) -> tuple[np.ndarray, np.ndarray]:
        """The facets of cell s are ``rows[starts[s]:starts[s + 1]]``."""
        n = self.touching.shape[1]
        count = self.touching.sum(1)
        through = np.nonzero(self.touching)[1]
        first = np.concatenate([[0], np.cumsum(count)])
        cell = np.repeat(np.arange(len(self.patterns)), np.diff(self.starts))
        here = count[self.ray]
        within = np.arange(here.sum()) - np.repeat(np.cumsum(here) - here, here)
        pairs = np.unique(np.repeat(cell, here) * n + through[np.repeat(first[self.ray], here) + within])
        return np.searchsorted(pairs // n, np.arange(len(self.patterns) + 1)), pairs % n

    def find(self, pattern: np.ndarray) -> tuple[int, int] | None:
        """(cell, side) of a pattern, side -1 if it is the opposite of the one listed; None if it is no cell."""
        rows = self.chart.rows
        side = 1 if pattern[rows[0]] else -1
        wanted = np.zeros_like(pattern)
        wanted[rows] = pattern[rows] if side == 1 else ~pattern[rows]
        known = self._sorted
        at = int(np.searchsorted(known, _packed(wanted[None])[0]))
        return (at, side) if at < len(known) and known[at] == _packed(wanted[None])[0] else None

    @cached_property
    def _sorted(self) -> np.ndarray:
        return _packed(self.patterns)


def count_cells(X: object) -> int:
    """How many cells the hyperplanes of the points (x, 1) have.

    >>> count_cells([[0.0], [1.0], [3.0]])
    6
    """
    return enumerate_cells(X).count


def generic_count(n: int, d: int) -> int:
    """HyperplaneCells for n points in general position in R^d: 2 sum_{k<=d} C(n-1, k)."""
    n, d = check_count("n", n), check_count("d", d, least=0)
    check_work("min(n, d)", min(n - 1, d), _MOST_TERMS, "the count has as many terms, each a long number")
    return 2 * sum(math.comb(n - 1, k) for k in range(min(d, n - 1) + 1))


def incidences(chart: Chart) -> int:
    """Upper bound on the (ray, cell) pairs an enumeration of the chart visits, if in general position."""
    n, p = len(chart.rows), chart.Z.shape[1]
    return int(math.comb(n, p - 1) * 2 ** (p - 1))


def enumerate_cells(X: object) -> HyperplaneCells:
    """All cells of the points (x, 1): which sets of points a ReLU unit can be active on."""
    table = check_numbers("X", X, shape=(None, None))
    table, _ = checked_points(table, np.zeros(len(table)))
    chart = penalised_chart(np.unique(table, axis=0))
    if incidences(chart) > 20 * MOST_INCIDENCES:
        raise DataError(f"{len(table)} points in {table.shape[1]} dimensions have too many cells to enumerate")
    return cells_of(chart)


def cells_of(chart: Chart, is_late: Callable[[], bool] = never) -> HyperplaneCells:
    """The cells of one chart.

    Raises:
        ListingCutShort: it was late before all were listed.
    """
    rows = chart.rows
    unit = chart.Z[rows] / np.linalg.norm(chart.Z[rows], axis=1, keepdims=True)
    patterns, rays, ray, touching, doubtful = _around_rays(unit, is_late)
    # opposite cells share one entry, that in which the first point is active
    side = np.where(patterns[:, 0], 1, -1).astype(np.int8)
    patterns = patterns ^ ~patterns[:, :1]
    cell = _labels(patterns)
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(cell.max() + 2))
    full = np.zeros((len(starts) - 1, len(chart.Z)), dtype=bool)
    full[:, rows] = patterns[order[starts[:-1]]]
    contains = np.zeros((len(rays), len(chart.Z)), dtype=bool)
    contains[:, rows] = touching
    return HyperplaneCells(
        chart,
        patterns=full,
        rays=rays,
        starts=starts,
        ray=ray[order],
        side=side[order],
        touching=contains,
        doubtful=doubtful,
    )


def _packed(patterns: np.ndarray) -> np.ndarray:
    bits = np.packbits(patterns, axis=1)
    return np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).reshape(-1)


def _labels(patterns: np.ndarray) -> np.ndarray:
    """The place of each row among the different rows in their order."""
    return np.unique(_packed(patterns), return_inverse=True)[1].reshape(-1)


def _around_rays(
    A: np.ndarray, is_late: Callable[[], bool] = never
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, bool]:
    """The rays, the cells around each, and doubts: (patterns, rays, ray of each pattern, touching, doubtful)."""
    n, p = A.shape
    subsets = np.array(list(combinations(range(n), p - 1)), dtype=np.intp)
    patterns, rays, ray, touching, made = [], [], [], [], 0
    seen: set[bytes] = set()
    doubtful = False
    for at in range(0, len(subsets), _ROWS_AT_ONCE):
        if is_late():
            raise ListingCutShort
        chosen = subsets[at : at + _ROWS_AT_ONCE]
        r, least = _null_vectors(A[chosen])
        good = least > _ZERO
        doubtful |= bool(((least > _EXACT) & (least < _CLEAR)).any())
        chosen, r, least = chosen[good], r[good], least[good]
        values = r @ A.T
        zero = np.abs(values) < _ZERO
        doubtful |= bool(((np.abs(values) > _EXACT) & (np.abs(values) < 10 * _EXACT / least[:, None])).any())
        np.put_along_axis(zero, chosen, True, axis=1)
        simple = zero.sum(1) == p - 1
        active = values > 0
        flips = _corners(p - 1)
        here = np.repeat(active[simple], len(flips), axis=0)
        np.put_along_axis(
            here, np.repeat(chosen[simple], len(flips), axis=0), np.tile(flips, (int(simple.sum()), 1)), axis=1
        )
        patterns.append(here)
        rays.append(r[simple])
        touching.append(zero[simple])
        ray.append(made + np.repeat(np.arange(simple.sum()), len(flips)))
        made += int(simple.sum())
        for i in np.flatnonzero(~simple):
            key = np.packbits(zero[i]).tobytes()
            if key in seen:
                continue
            seen.add(key)
            local, doubt = _local_patterns(A[zero[i]], r[i])
            doubtful |= doubt
            here = np.repeat(active[i : i + 1], len(local), axis=0)
            here[:, zero[i]] = local
            patterns.append(here)
            rays.append(r[i : i + 1])
            touching.append(zero[i : i + 1])
            ray.append(np.full(len(local), made))
            made += 1
    if not made:
        raise DataError("the points are too close to one hyperplane for their cells to be told apart")
    return np.concatenate(patterns), np.concatenate(rays), np.concatenate(ray), np.concatenate(touching), doubtful


def _corners(k: int) -> np.ndarray:
    return (np.arange(2**k)[:, None] >> np.arange(k) & 1).astype(bool)


def _local_patterns(A: np.ndarray, ray: np.ndarray) -> tuple[np.ndarray, bool]:
    """Patterns of the cells that hyperplanes through a ray have around it, and whether they are in doubt."""
    _, _, basis = np.linalg.svd(ray[None])
    across = A @ basis[1:].T
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    patterns, _, _, _, doubtful = _around_rays(across)
    return np.unique(np.concatenate([patterns, ~patterns]), axis=0), doubtful


def _null_vectors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The unit vector orthogonal to the p-1 rows of each matrix (k, p-1, p), and how far others are from being so."""
    k, _, p = A.shape
    if p == 1:
        return np.ones((k, 1)), np.ones(k)
    if p == 2:
        return np.stack([-A[:, 0, 1], A[:, 0, 0]], axis=1), np.ones(k)
    if p == 3:
        cross = np.cross(A[:, 0], A[:, 1])
        least = np.linalg.norm(cross, axis=1)
        return cross / np.maximum(least, 1e-300)[:, None], least
    _, s, basis = np.linalg.svd(A)
    return basis[:, -1], s[:, -1]
