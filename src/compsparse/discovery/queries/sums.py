"""Sums under a link by queries: swaps that were measured for turns tell the link, fresh ones confirm it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from compsparse.discovery.queries.gradients import Slopes
from compsparse.discovery.queries.limits import FRESH_SHEETS, SWAPS_FOR_LINK
from compsparse.discovery.queries.oracle import OutOfQueries
from compsparse.discovery.queries.search import QuerySearch
from compsparse.discovery.queries.sheets import Sheet, swaps_per_input
from compsparse.discovery.shared_inputs import FoundSum
from compsparse.discovery.structure.links import (
    OF_QUERIES,
    THIRD_ORDER,
    LinkedSum,
    Swaps,
    confirmed_sum,
    find_link,
    sets_without_third_order,
)
from compsparse.graph.modules import ModuleTree

MeasuredSheet = tuple[Sheet, Slopes]


def find_sum(search: QuerySearch, output: int, node: ModuleTree) -> FoundSum | None:
    """The sum under a link that a node is; None where it is none, or the budget does not suffice to confirm it."""
    asked = _NodeSwaps(search, output, node)
    if search.pool.noisy or find_link(asked.of(asked.seen), asked.n, OF_QUERIES) is None:
        return None
    try:
        more = asked.measured(max(0, SWAPS_FOR_LINK // swaps_per_input(len(asked.inputs)) - len(asked.seen)))
        found = find_link(asked.of([*asked.seen, *more]), asked.n, OF_QUERIES)
        if found is None:
            return None
        fresh = asked.measured(FRESH_SHEETS)
        sure = confirmed_sum(found, asked.of(fresh))
        if sure is None:
            return None
        return FoundSum(sure, sets_without_third_order(sure.cliques, asked.triples(sure, [*more, *fresh])))
    except OutOfQueries:
        return None


class _NodeSwaps:
    """What is asked along the children of a node; each is watched and swapped through all of its inputs."""

    def __init__(self, search: QuerySearch, output: int, node: ModuleTree):
        self._search, self._output = search, output
        self.n = len(node.children)
        position = {name: i for i, name in enumerate(search.names)}
        self.inputs = np.array(sorted(position[name] for name in node.members))
        self._child = np.full(len(search.names), -1)
        for c, child in enumerate(node.children):
            self._child[[position[name] for name in child.members]] = c

    @property
    def seen(self) -> list[MeasuredSheet]:
        """The sheets of the search."""
        return [sheet for unit in self._search.pool.units for sheet in unit.sheets]

    def measured(self, n: int, swapped: np.ndarray | None = None) -> list[MeasuredSheet]:
        """New sheets over the node's inputs."""
        return [self._search.measure(self.inputs if swapped is None else swapped, self.inputs) for _ in range(n)]

    def of(self, sheets: Iterable[MeasuredSheet]) -> Swaps:
        """What the sheets' swaps of one child did to the slopes along others."""
        parts = [self._of_sheet(sheet, slopes) for sheet, slopes in sheets]
        return Swaps(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def _of_sheet(self, sheet: Sheet, slopes: Slopes) -> tuple[np.ndarray, ...]:
        o = self._output
        values, gradients, errors = slopes.values[0][:, o], slopes.gradients[0][:, o], slopes.errors[:, o]
        edges = sheet.edges[self._child[sheet.edges[:, 2]] >= 0]
        edge, watched = (a.reshape(-1) for a in np.meshgrid(np.arange(len(edges)), self.inputs, indexing="ij"))
        p, q, k = edges[edge].T
        of, by = self._child[watched], self._child[k]
        a, b = gradients[p, watched], gradients[q, watched]
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.hypot(errors[p, watched] / np.abs(a), errors[q, watched] / np.abs(b))
        columns = of, by, values[p], values[q], a, b, error
        chosen = (of != by) & np.isfinite(error)
        return tuple(column[chosen] for column in columns)

    # ---- three at a time -----------------------------------------------------------------

    def triples(self, found: LinkedSum, sheets: Iterable[MeasuredSheet]) -> dict[tuple[int, ...], bool]:
        """Of every three children of a clique, whether they act together, or cannot be told not to."""
        wanted = {t for clique in found.cliques for t in combinations(clique, 3)}
        shares: dict[tuple[int, ...], list[float]] = {t: [] for t in wanted}
        for sheet, slopes in sheets if wanted else ():
            self._add_shares(found, sheet, slopes, shares)
        return {t: not seen or float(np.median(seen)) > THIRD_ORDER for t, seen in shares.items()}

    def _add_shares(
        self, found: LinkedSum, sheet: Sheet, slopes: Slopes, shares: dict[tuple[int, ...], list[float]]
    ) -> None:
        """Adds, for swaps of two children at once, what is left of the change in a third one's slope of the sum."""
        o = self._output
        values, gradients = slopes.values[0][:, o], slopes.gradients[0][:, o]
        after = {(p, k): q for p, q, k in sheet.edges.tolist()}
        for (p, j), q in after.items():
            for k in self.inputs:
                if not self._child[j] < self._child[k] or (p, k) not in after or (q, k) not in after:
                    continue
                corners = [p, q, after[p, k], after[q, k]]
                sums = found.scale.slopes(values[corners][:, None], gradients[corners][:, self.inputs])
                left = np.abs(sums[3] - sums[1] - sums[2] + sums[0])
                size = np.abs(sums[1] - sums[0]) + np.abs(sums[2] - sums[0])
                for i, share in zip(self.inputs, left / np.maximum(size, np.finfo(float).tiny), strict=True):
                    triple = tuple(sorted((self._child[i], self._child[j], self._child[k])))
                    if triple in shares and np.isfinite(share):
                        shares[triple].append(float(share))
