"""Monotone maps of a target and of its inputs under which structure stays the same and may be easier to fit.

Modules, kinds and inert inputs do not change when y, or an input, is replaced by a strictly monotone function of it.
Where tails of y are heavy, a fit of the logarithm or of normal scores sees structure that a fit of y does not; laws of
powers are smooth in the logarithms of their inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from compsparse.discovery.data.limits import HEAVY_TAILS
from compsparse.discovery.data.smooth.limits import SMALL_STEP
from compsparse.tables.scaling import Scale, scale_of


@dataclass(frozen=True)
class MappedTarget:
    """A target after a monotone map, standardised.

    Attributes:
        values: (rows,), with mean 0 and standard deviation 1.
    """

    name: str
    values: np.ndarray
    _given: np.ndarray
    _scale: Scale

    def restored(self, values: np.ndarray) -> np.ndarray:
        """From mapped values back to the target's own."""
        raw = self._scale.restored(values)
        if self.name == "itself":
            return raw
        if self.name == "logarithm":
            sign = 1.0 if self._given[0] > 0 else -1.0
            return np.asarray(sign * np.exp(raw))
        order = np.argsort(self.values)
        return np.asarray(np.interp(values, self.values[order], self._given[order]))

    def slope_of_logarithm(self, values: np.ndarray) -> np.ndarray | None:
        """How the logarithm of the target goes with its mapped values; None where it has no sign of its own."""
        if not (self._given.min() > 0 or self._given.max() < 0):
            return None
        if self.name == "logarithm":
            return np.full_like(values, self._scale.spread)
        above, below = (np.log(np.abs(self.restored(values + step))) for step in (SMALL_STEP, -SMALL_STEP))
        return np.asarray((above - below) / (2 * SMALL_STEP))


@dataclass(frozen=True)
class Coordinate:
    """An input as a fit sees it: standardised, or its logarithm standardised."""

    scale: Scale
    is_logarithm: bool = False

    @classmethod
    def logarithm_of(cls, standardised: np.ndarray, scale: Scale) -> tuple[np.ndarray, Coordinate]:
        """The logarithm in the place of a standardised input, if all its values are positive; else itself."""
        own = scale.restored(standardised)
        if not own.min() > 0:
            return standardised, cls(scale)
        of_logarithm = scale_of(np.log(own))
        return of_logarithm.standardised(np.log(own)), cls(of_logarithm, is_logarithm=True)

    def restored(self, values: np.ndarray) -> np.ndarray:
        """From what a fit sees to the input's own values."""
        values = self.scale.restored(values)
        return np.exp(values) if self.is_logarithm else values

    def slope(self, values: np.ndarray) -> np.ndarray:
        """How the input's own values go with what a fit sees."""
        return self.scale.spread * (self.restored(values) if self.is_logarithm else np.ones_like(values))


def maps_of(y: np.ndarray) -> Iterator[MappedTarget]:
    """The target itself, its logarithm where it keeps its sign, and its normal scores."""
    yield _mapped("itself", y, y)
    if y.min() > 0 or y.max() < 0:
        yield _mapped("logarithm", np.log(np.abs(y)), y)
    yield _mapped("normal scores", normal_scores(y), y)


def _mapped(name: str, values: np.ndarray, y: np.ndarray) -> MappedTarget:
    scale = scale_of(values)
    return MappedTarget(name, scale.standardised(values), y, scale)


def normal_scores(y: np.ndarray) -> np.ndarray:
    """Normal quantiles of the ranks; equal values keep equal scores."""
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2  # of the ranks that equal values share, from zero
    return np.asarray(ndtri(middle[place] / len(y)))


def has_heavy_tails(y: np.ndarray) -> bool:
    """Whether few rows make up most of what squared errors see."""
    z = scale_of(y).standardised(y)
    return bool(np.mean(z**4) > HEAVY_TAILS)
