"""P*: the training-set size at which a falling curve first reaches a level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import RandomState, check_count, check_number, check_numbers, generator_from
from compsparse.errors import ConfigError, DataError

_MOST_RESAMPLES = 1_000_000
_MOST_DRAWS = 10**8


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

    def text(self) -> str:
        """The size, or on which side of all sizes it lies.

        >>> threshold({100: [0.5, 0.5], 200: [0.2, 0.2]}).text()
        'more than the largest size'
        """
        if math.isinf(self.value):
            return "more than the largest size"
        return f"{self.value:.0f}" if self.bracketed else f"at most {self.value:.0f}"


def first_crossing(sizes: Sequence[float], values: Sequence[float], level: float) -> float:
    """The size at which values first fall to the level, interpolated in the logarithm of the size.

    >>> round(first_crossing([100, 200, 400], [0.5, 0.2, 0.0], 0.1))
    283
    """
    check_number("level", level)
    x = check_numbers("the sizes of a curve", sizes, finite=False)
    y = check_numbers("the values of a curve", values, finite=False)
    if x.ndim != 1 or x.shape != y.shape or not len(x):
        raise DataError(f"a curve needs as many values as sizes, and at least one, got {x.size} and {y.size}")
    if not (np.all(np.isfinite(x)) and x[0] > 0 and np.all(np.diff(x) > 0)):
        raise DataError("the sizes of a curve must be positive and grow")
    if np.any(np.isnan(y)):
        raise DataError(f"the value at size {x[np.isnan(y)][0]:g} is not a number")
    return _first_crossing(x, y, level)


def _first_crossing(sizes: np.ndarray, y: np.ndarray, level: float) -> float:
    reached = np.flatnonzero(y <= level)
    if not len(reached):
        return float("inf")
    i = int(reached[0])
    return float(sizes[0]) if i == 0 else crossing_between(sizes[i - 1 : i + 1], y[i - 1 : i + 1], level)


def crossing_between(sizes: Sequence[float] | np.ndarray, values: Sequence[float] | np.ndarray, level: float) -> float:
    """Where the line through two points of a curve, in the logarithm of the size, meets the level.

    An infinite value gives no slope: the crossing is then put at the second size.
    """
    start, end = np.log(sizes)
    share = (values[0] - level) / (values[0] - values[1]) if np.isfinite(values).all() else 1.0
    return float(np.exp(start + share * (end - start)))


def _seeds(size: float, values: Any) -> np.ndarray:
    found = check_numbers(f"the values at size {size}", values, finite=False)
    if found.ndim != 1 or not len(found):
        raise DataError("a threshold needs at least one training-set size, each with at least one value")
    if np.any(np.isnan(found)):
        raise DataError(f"the values at size {size} must be numbers, but one is not")
    return found


def _check_room(n_resamples: int, n_values: int) -> None:
    if n_resamples * n_values > _MOST_DRAWS:
        raise ConfigError(
            f"{n_resamples:,} resamples of {n_values:,} values are more than {_MOST_DRAWS:,} numbers: ask for fewer"
        )


def threshold(
    curves: Mapping[int, Sequence[float]] | Mapping[float, Sequence[float]],
    level: float = 0.1,
    *,
    confidence: float = 0.9,
    n_resamples: int = 500,
    random_state: RandomState = None,
) -> Threshold:
    """P* of the mean over seeds, with an interval from resampled seeds.

    Args:
        curves: for every training-set size the values (test errors, sensitivities) of several seeds. Seeds
            are resampled at each size by itself, so sizes may have different numbers of them.
        level: what the curve falls to.
        n_resamples: how often seeds are resampled for the interval.

    >>> threshold({100: [0.5, 0.5], 200: [0.2, 0.2], 400: [0.0, 0.0]}).bracketed
    True
    """
    if not isinstance(curves, Mapping) or not curves:
        raise DataError("a threshold needs at least one training-set size, each with at least one value")
    check_number("level", level)
    check_number("confidence", confidence, above=0, below=1)
    check_count("n_resamples", n_resamples, most=_MOST_RESAMPLES)
    rng = generator_from(random_state)
    by_size = {check_number("a training-set size", p, above=0): _seeds(p, v) for p, v in curves.items()}
    _check_room(n_resamples, sum(len(v) for v in by_size.values()))
    sizes, values = zip(*sorted(by_size.items()), strict=True)
    means = [float(v.mean()) for v in values]
    at = first_crossing(sizes, means, level)
    resampled = np.stack([rng.choice(v, (n_resamples, len(v))).mean(axis=1) for v in values], axis=1)
    crossings = np.array([_first_crossing(np.asarray(sizes, dtype=float), row, level) for row in resampled])
    tail = (1 - confidence) / 2
    low, high = np.quantile(crossings, [tail, 1 - tail], method="nearest")
    return Threshold(at, float(low), float(high), confidence, bool(np.isfinite(at) and means[0] > level))
