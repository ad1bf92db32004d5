"""Monotone maps of a target under which its structure stays the same and may be easier to fit.

Modules, kinds and inert inputs do not change when y is replaced by a strictly monotone function of y. Where its
tails are heavy, a fit of the logarithm or of normal scores sees structure that a fit of y does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from compsparse.discovery.data.limits import HEAVY_TAILS
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
