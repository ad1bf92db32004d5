"""Adaptive sweeps: the size at which a metric crosses a threshold, by bisection instead of a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from statistics import median
from typing import Literal

from compsparse.checks import check_choice, check_count, check_number, check_text
from compsparse.errors import ConfigError, DataError

_MOST_STARTS = 1000
_MOST_SIZE = 10**15  # a float holds it exactly
_MOST_FACTOR = 1e6

Medians = Mapping[int, float | None]
"""From values of a field to the metric's median over seeds; None where every seed failed."""


@dataclass(frozen=True)
class Crossing:
    """Where a curve crosses the threshold.

    Attributes:
        low, high: the largest value on the far side and the next one on the wanted side; None if there is none.
        value: where the line through the two, in the logarithm of the field, meets the threshold.
    """

    low: int | None
    high: int | None
    value: float | None


@dataclass(frozen=True)
class Adaptive:
    """Looks for the smallest ``over`` from which on the median ``metric`` stays on the wanted side of ``threshold``.

    Attributes:
        start: the first value, or several.
        factor: the step on the log scale while the threshold is not yet between two values.
        resolution: the search ends when the two values around the threshold have at most this ratio.
        least, most: the search does not leave this range.
        side: the wanted side of the threshold.
        seed: the name of the field whose values are asked together; the median is over them.
    """

    over: str
    metric: str
    threshold: float
    _: KW_ONLY
    start: int | tuple[int, ...]
    most: int
    least: int = 1
    factor: float = 4.0
    resolution: float = 1.3
    side: Literal["below", "above"] = "below"
    seed: str = "seed"

    def __post_init__(self) -> None:
        for label, name in (("over", self.over), ("metric", self.metric), ("seed", self.seed)):
            check_text(f"adaptive.{label}", name)
        check_number("adaptive.threshold", self.threshold)
        check_choice("adaptive.side", self.side, ("below", "above"))
        check_number("factor", self.factor, most=_MOST_FACTOR)
        check_number("resolution", self.resolution, most=_MOST_FACTOR)
        if not self.factor > 1 or not self.resolution > 1:
            raise ConfigError(f"factor and resolution must exceed 1, got {self.factor:g} and {self.resolution:g}")
        if isinstance(self.start, str) or not isinstance(self.start, (int, Sequence)):
            raise ConfigError(f"adaptive.start must be a whole number or several, got {self.start!r}")
        if not 1 <= len(self.starts) <= _MOST_STARTS:
            some = f"{len(self.starts):,} values; the most is {_MOST_STARTS:,}" if self.starts else "no value"
            raise ConfigError(f"adaptive.start holds {some}")
        for label, value in (("least", self.least), ("most", self.most), *(("start", v) for v in self.starts)):
            check_count(f"adaptive.{label}", value, most=_MOST_SIZE)
        if not self.least <= min(self.starts) <= max(self.starts) <= self.most:
            raise ConfigError(
                f"expected 1 <= least <= start <= most, got least={self.least}, start={self.start}, most={self.most}"
            )
        if self.over == self.seed:
            raise ConfigError(f"the search is over {self.over!r}, so it cannot be the seed too")

    @property
    def starts(self) -> tuple[int, ...]:
        """The values to begin with."""
        return (self.start,) if isinstance(self.start, int) else tuple(self.start)

    def summary(self, metrics: Sequence[float | None]) -> float | None:
        """The median over seeds; a metric that is not a number is on the far side."""
        if isinstance(metrics, str) or not isinstance(metrics, Sequence):
            raise DataError(f"metrics must be numbers, one a seed, got {metrics!r}")
        for m in metrics:
            if m is not None and not _is_number(m):
                raise DataError(f"a metric must be a number, or None where a run failed, got {m!r}")
        far = math.inf if self.side == "below" else -math.inf
        known = [far if math.isnan(m) else m for m in metrics if m is not None]
        return median(known) if known else None

    def next_values(self, curve: Medians) -> list[int]:
        """The values to measure next, given what was measured; none when the search has ended.

        A pure function of the curve, so that a search goes on from whatever a store holds.
        """
        _check_curve(curve)
        missing = [v for v in self.starts if v not in curve]
        if missing:
            return missing
        crossing = self.crossing(curve)
        asked = self._between(crossing) if None not in (crossing.low, crossing.high) else self._beyond(crossing)
        # a value whose seeds all failed cannot be asked again: there the search ends
        return [asked] if asked is not None and asked not in curve else []

    def _between(self, crossing: Crossing) -> int | None:
        assert crossing.low is not None
        assert crossing.high is not None
        if crossing.high <= crossing.low * self.resolution:
            return None
        return round(math.sqrt(crossing.low * crossing.high))

    def _beyond(self, crossing: Crossing) -> int | None:
        if crossing.low is not None:
            return min(self.most, max(crossing.low + 1, round(crossing.low * self.factor)))
        if crossing.high is not None:
            return max(self.least, min(crossing.high - 1, round(crossing.high / self.factor)))
        return None

    def crossing(self, curve: Medians) -> Crossing:
        """The last crossing: every measured value from ``high`` on is on the wanted side."""
        _check_curve(curve)
        far = math.inf if self.side == "below" else -math.inf
        measured = sorted((v, far if math.isnan(m) else m) for v, m in curve.items() if m is not None)
        low = max((v for v, m in measured if not self._wanted(m)), default=None)
        high = min((v for v, m in measured if low is None or v > low), default=None)
        if low is None or high is None:
            return Crossing(low, high, None)
        from compsparse.measures.crossing import crossing_between

        found = crossing_between((low, high), [dict(measured)[n] for n in (low, high)], self.threshold)
        return Crossing(low, high, min(float(high), max(float(low), found)))

    def _wanted(self, metric: float) -> bool:
        return metric <= self.threshold if self.side == "below" else metric >= self.threshold

    def values_left(self, curve: Medians) -> int:
        """About how many values are still to be measured, for the time left."""
        if not self.next_values(curve):
            return 0
        crossing = self.crossing(curve)
        if crossing.low is not None and crossing.high is not None:
            ratio, expansion = crossing.high / crossing.low, 0
        else:
            ratio, expansion = self.factor, 1
        halvings = math.log2(max(1.0, math.log(ratio) / math.log(self.resolution)))
        return max(1, expansion + math.ceil(halvings))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check_curve(curve: object) -> None:
    if not isinstance(curve, Mapping):
        raise DataError(f"a curve must be a mapping from sizes to medians, got {curve!r}")
    for size, median_ in curve.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise DataError(f"a size must be a whole number >= 1, got {size!r}")
        if median_ is not None and not _is_number(median_):
            raise DataError(f"the median at {size} must be a number or None, got {median_!r}")
