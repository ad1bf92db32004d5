"""P*: the training-set size at which a falling curve first reaches a level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compsparse.errors import ConfigError


@dataclass(frozen=True)
class Threshold:
    """Where a curve reaches its level, with a bootstrap interval over seeds.

    Attributes:
        value: infinite where no size reached the level; a size itself where the first already did.
        low, high: a percentile interval at ``confidence``; equal to ``value`` for a single seed.
        bracketed: whether the curve was seen on both sides of the level.
    """

    value: float
    low: float
    high: float
    confidence: float
    bracketed: bool


def first_crossing(sizes: Sequence[float], values: Sequence[float], level: float) -> float:
    """The size at which values first fall to the level, interpolated in the logarithm of the size.

    >>> round(first_crossing([100, 200, 400], [0.5, 0.2, 0.0], 0.1))
    283
    """
    x, y = np.log(np.asarray(sizes, dtype=float)), np.asarray(values, dtype=float)
    reached = np.flatnonzero(y <= level)
    if not len(reached):
        return float("inf")
    i = int(reached[0])
    if i == 0:
        return float(sizes[0])
    share = (y[i - 1] - level) / (y[i - 1] - y[i])
    return float(np.exp(x[i - 1] + share * (x[i] - x[i - 1])))


def threshold(
    curves: Mapping[int, Sequence[float]] | Mapping[float, Sequence[float]],
    level: float = 0.1,
    *,
    confidence: float = 0.9,
    n_resamples: int = 500,
    random_state: int | np.random.Generator | None = 0,
) -> Threshold:
    """P* of the mean over seeds, with an interval from resampled seeds.

    Args:
        curves: for every training-set size the values (test errors, sensitivities) of several seeds. Seeds
            are resampled at each size by itself, so sizes may have different numbers of them.

    >>> threshold({100: [0.5, 0.5], 200: [0.2, 0.2], 400: [0.0, 0.0]}).bracketed
    True
    """
    if not curves or any(not len(values) for values in curves.values()):
        raise ConfigError("a threshold needs at least one training-set size, each with at least one value")
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence must lie between 0 and 1, got {confidence}")
    sizes, unsorted = zip(*sorted(curves.items()), strict=True)
    values = [np.asarray(v, dtype=float) for v in unsorted]
    means = [v.mean() for v in values]
    at = first_crossing(sizes, means, level)
    rng = np.random.default_rng(random_state)
    resampled = np.stack([rng.choice(v, (n_resamples, len(v))).mean(axis=1) for v in values], axis=1)
    crossings = np.array([first_crossing(sizes, row, level) for row in resampled])
    tail = (1 - confidence) / 2
    low, high = np.quantile(crossings, [tail, 1 - tail], method="nearest")
    return Threshold(at, float(low), float(high), confidence, bool(np.isfinite(at) and means[0] > level))
