"""Groups of inputs by queries: slopes that were measured for turns tell them, fresh answers confirm them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from compsparse.discovery.queries.limits import CONFIRMED, MOVES_OF_GROUPS, STANDS_STILL
from compsparse.discovery.queries.oracle import OutOfQueries
from compsparse.discovery.queries.search import QuerySearch
from compsparse.discovery.queries.sheets import random_points
from compsparse.discovery.structure.group_search import SampledSlopes, find_groups, groups_inside
from compsparse.discovery.structure.groups import FoundGroups, GroupForm
from compsparse.discovery.structure.units import Dimension
from compsparse.graph.modules import ModuleTree


def find_query_groups(
    search: QuerySearch, output: int, node: ModuleTree, units: Mapping[str, Dimension]
) -> FoundGroups | None:
    """The groups through which a node acts; None where there are none, or the budget does not suffice."""
    if search.pool.noisy:
        return None
    asked = _Asked(search, output, units)
    try:
        found = groups_inside(node, search.names, asked.positive, asked.groups)
        return found if found is None or asked.confirms(found) else None
    except OutOfQueries:
        return None


class _Asked:
    """What is asked of one output."""

    def __init__(self, search: QuerySearch, output: int, units: Mapping[str, Dimension]):
        self._search, self._output, self._units = search, output, units
        oracle = search.oracle
        self._low, self._width = oracle.low, oracle.width
        self.positive = frozenset(name for name, low in zip(search.names, self._low, strict=True) if low > 0)
        self._threshold = search.limits.clear_gap * search.limits.low
        measured = [unit.sheets[0] for unit in search.pool.units]
        self._points = np.concatenate([sheet.points for sheet, _ in measured])
        self._values = np.concatenate([slopes.values[0][:, output] for _, slopes in measured])
        self._gradients = np.concatenate([slopes.gradients[0][:, output] for _, slopes in measured])
        self._errors = np.concatenate([slopes.errors[:, output] for _, slopes in measured])

    def groups(self, names: Sequence[str], form: GroupForm) -> FoundGroups | None:
        """The groups of some inputs."""
        places = [self._search.names.index(name) for name in names]
        mean, errors, values = self._gradients[:, places], self._errors[:, places], self._values
        usable = np.isfinite(mean).all(1) & np.isfinite(errors).all(1)
        x = (self._low + self._width * self._points)[usable][:, places]
        slopes = SampledSlopes.with_errors(mean[usable], errors[usable], np.random.default_rng(0))
        slopes = slopes.times((x if form == "product" else np.ones_like(x)) / self._width[places])
        keeps_sign = values[usable].min(initial=np.inf) > 0 or values[usable].max(initial=-np.inf) < 0
        of_logarithm = slopes.times(1 / values[usable]) if form == "product" and keeps_sign else None
        return find_groups(slopes, names, self._threshold, form, of_logarithm, units=self._units)

    def confirms(self, found: FoundGroups) -> bool:
        """Whether the function stays the same, up to its factor, where inputs change and no group does."""
        names = sorted(found.inputs)
        places = [self._search.names.index(name) for name in names]
        is_product = found.groups[0].form == "product"
        exponents = np.array(
            [[dict(zip(g.inputs, g.exponents, strict=True)).get(n, 0.0) for n in names] for g in found.groups]
        )
        kept = exponents[[not g.is_factor for g in found.groups]]
        if not len(kept):
            return True
        still = np.linalg.svd(kept)[2][len(kept) :]
        rng, search = self._search.rng, self._search
        u = random_points(MOVES_OF_GROUPS, search.slopes.margin, rng)
        x = (self._low + self._width * u)[:, places]
        place = np.log(x) if is_product else x
        low, high = self._low[places], self._low[places] + self._width[places]
        low, high = (np.log(low), np.log(high)) if is_product else (low, high)
        way = rng.standard_normal((len(u), len(still))) @ still
        with np.errstate(divide="ignore", invalid="ignore"):
            ways_out = np.where(way > 0, (high - place) / way, (low - place) / way)
        longest = np.where(np.abs(way) > STANDS_STILL, ways_out, np.inf).min(axis=1)
        moved = place + longest[:, None] * way
        there = u.copy()
        there[:, places] = ((np.exp(moved) if is_product else moved) - self._low[places]) / self._width[places]
        here, after = (search.oracle(np.clip(points, 0, 1))[:, self._output] for points in (u, there))
        factors = exponents[[g.is_factor for g in found.groups]]
        ratio = np.exp(((moved - place) @ factors.T).sum(1)) if is_product else 1.0
        usual = np.std(here)
        return bool(np.median(np.abs(after - ratio * here)) <= CONFIRMED * usual)
