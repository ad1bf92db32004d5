"""Groups of inputs by a smooth fit: its slopes, and how sure the posterior is of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product

import numpy as np
from torch import Tensor

from compsparse.discovery.data.smooth.limits import POINTS_OF_GROUPS
from compsparse.discovery.data.smooth.maps import Coordinate, MappedTarget
from compsparse.discovery.data.smooth.process import SmoothFit
from compsparse.discovery.data.smooth.turning import some_rows
from compsparse.discovery.structure.group_search import SampledSlopes, fewest_groups, find_groups, groups_inside
from compsparse.discovery.structure.groups import FoundGroups, GroupForm
from compsparse.discovery.structure.units import Dimension
from compsparse.graph.modules import ModuleTree


class GroupsOfFit:
    """What a smooth fit says of groups.

    Args:
        names: of the inputs that act.
        coordinates: what the fit sees of them.
        positive: those that are positive in every row.
        inflation: by which the variance of the draws falls short of the errors on fresh rows.
        threshold: the largest sign that passes for none, in standard errors.
        confirms: whether fresh rows are predicted as well through some groups alone.
    """

    def __init__(
        self,
        fit: SmoothFit,
        mapped: MappedTarget,
        names: Sequence[str],
        coordinates: Sequence[Coordinate],
        positive: Collection[str],
        inflation: float,
        threshold: float,
        confirms: Callable[[FoundGroups], bool],
        units: Mapping[str, Dimension],
        seed: int,
    ):
        self._names, self._threshold = tuple(names), threshold
        self._confirms, self._units = confirms, units
        points = some_rows(fit, np.random.default_rng(seed), POINTS_OF_GROUPS)
        seen, self._positive = list(zip(coordinates, _array(points).T, strict=True)), positive
        self._x = np.stack([coordinate.restored(own) for coordinate, own in seen], axis=1)
        mean, draws = map(_array, fit.slopes(points))
        draws = mean[..., None] + np.sqrt(inflation) * (draws - mean[..., None])
        self._slopes = SampledSlopes(mean, draws).times(1 / np.stack([c.slope(own) for c, own in seen], axis=1))
        self._of_logarithm = mapped.slope_of_logarithm(_array(fit.values(points)[0]))

    def inside(self, node: ModuleTree) -> FoundGroups | None:
        """The groups through which a node acts on its inputs, if there are any."""
        return groups_inside(node, self._names, self._positive, self._groups)

    def _groups(self, names: Sequence[str], form: GroupForm) -> FoundGroups | None:
        places = [self._names.index(name) for name in names]
        slopes = self._slopes.of(places)
        if form == "product":
            slopes = slopes.times(self._x[:, places])
        few = fewest_groups(slopes, self._threshold)
        with_factor = None
        if form == "product" and self._of_logarithm is not None:
            with_factor = slopes.times(self._of_logarithm)
        # slopes may be known too poorly to count the groups: then fresh rows do
        for rank, of_logarithm in product((None, few, few + 1), dict.fromkeys((with_factor, None))):
            found = find_groups(slopes, names, self._threshold, form, of_logarithm, rank, self._units)
            if found is not None and self._confirms(found):
                return found
        return None


def _array(values: Tensor) -> np.ndarray:
    return np.asarray(values.cpu().numpy())
