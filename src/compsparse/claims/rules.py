"""The rules that turn measured intervals into outcomes; every claim is judged by one of these.

A statement on a number is judged by an interval of it, at 95% unless said otherwise:

- a *law* by :func:`judge_exponent`, on the interval of its exponent;
- a *bar* ("at most", "at least") by :func:`judge_at_most` and :func:`judge_at_least`;
- a *value* ("within a margin of") by :func:`judge_within`.

Each can come out supported, refuted or inconclusive by data alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from compsparse.checks import check_number
from compsparse.claims.claim import Outcome
from compsparse.errors import ConfigError, DataError
from compsparse.measures import Law

MARGIN = 0.1
"""Exponents nearer than this are the same law.

Variables span at most a factor 5 here, over which 0.1 in the exponent is 17% in P*: less than the steps of the
papers' own grids of training-set sizes, a factor 1.46.
"""


@dataclass(frozen=True)
class Interval:
    """Where a number lies, from low to high; infinite ends where nothing is known."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise DataError(f"an interval goes from low to high, got {self.low!r} to {self.high!r}")

    def over(self, other: Interval) -> Interval:
        """Where the ratio of two positive numbers lies, whatever ties them."""
        return Interval(self.low / other.high if other.high > 0 else 0.0, _quotient(self.high, other.low))

    def text(self, digits: int = 2) -> str:
        """From low to high, in so many significant digits."""
        return f"{self.low:.{digits}g} to {self.high:.{digits}g}"


def _quotient(a: float, b: float) -> float:
    if math.isinf(a) or b <= 0:
        return math.inf
    return a / b


def mean_interval(values: Sequence[float] | np.ndarray, confidence: float = 0.95) -> Interval:
    """The interval of a mean by Student's t; of a single value it is the whole line."""
    x = _finite(values)
    if len(x) < 2:
        return Interval(-math.inf, math.inf)
    half = float(stats.t.ppf((1 + confidence) / 2, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x)))
    return Interval(float(x.mean()) - half, float(x.mean()) + half)


def geometric_interval(values: Sequence[float] | np.ndarray, confidence: float = 0.95) -> Interval:
    """The interval of a geometric mean of positive numbers, by Student's t on logarithms."""
    x = _finite(values)
    if np.any(x <= 0):
        raise DataError("a geometric mean needs positive numbers")
    logs = mean_interval(np.log(x), confidence)
    return Interval(math.exp(logs.low), math.exp(logs.high) if logs.high < 700 else math.inf)


def _finite(values: Sequence[float] | np.ndarray) -> np.ndarray:
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or not len(x) or not np.all(np.isfinite(x)):
        raise DataError("an interval is taken of finite numbers, at least one")
    return x


# ---- laws ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StatedExponent:
    """What a law says of one exponent.

    Attributes:
        value: the stated exponent.
        rivals: exponents of the next plausible laws, at least one; a measurement that leaves one of them
            possible supports nothing.
        margin: the equivalence margin: exponents so near to the stated one are the same law.
    """

    value: float
    rivals: tuple[float, ...]
    margin: float = MARGIN

    def __post_init__(self) -> None:
        check_number("the stated exponent", self.value)
        check_number("the margin", self.margin, least=0)
        if not isinstance(self.rivals, tuple) or not self.rivals:
            raise ConfigError("a law needs at least one rival exponent, or no data could leave it undecided")
        for rival in self.rivals:
            if abs(check_number("a rival exponent", rival) - self.value) <= self.margin:
                raise ConfigError(f"the rival exponent {rival:g} is within the margin of the stated {self.value:g}")

    def text(self) -> str:
        """The exponent with its margin and its rivals."""
        return f"{self.value:g} (margin {self.margin:g}, rivals {', '.join(f'{r:g}' for r in self.rivals)})"


RULE = (
    "supported if the 95% interval holds the stated exponent or lies within the margin of it, and holds no rival; "
    "refuted if it lies wholly beyond the margin; otherwise inconclusive"
)


def judge_exponent(stated: StatedExponent, interval: Interval) -> Outcome:
    """The rule for laws.

    Supported if the interval holds the stated exponent or lies inside the equivalence margin (two one-sided
    tests), and excludes every rival; refuted if all of it is farther from the stated exponent than the margin;
    otherwise inconclusive.

    >>> judge_exponent(StatedExponent(2, rivals=(1, 3)), Interval(1.8, 2.1)).value
    'supported'
    >>> judge_exponent(StatedExponent(2, rivals=(1, 3)), Interval(2.12, 2.30)).value
    'refuted'
    >>> judge_exponent(StatedExponent(2, rivals=(1, 3)), Interval(0.9, 2.1)).value
    'inconclusive'
    """
    low, high = stated.value - stated.margin, stated.value + stated.margin
    if interval.low > high or interval.high < low:
        return Outcome.REFUTED
    holds = interval.low <= stated.value <= interval.high
    is_equivalent = low <= interval.low and interval.high <= high
    is_sharp = not any(interval.low <= rival <= interval.high for rival in stated.rivals)
    return Outcome.SUPPORTED if (holds or is_equivalent) and is_sharp else Outcome.INCONCLUSIVE


def exponent_interval(law: Law, name: str) -> Interval:
    """The confidence interval of one exponent of a law."""
    return Interval(law.exponents[name] - law.errors[name], law.exponents[name] + law.errors[name])


def judge_law(law: Law, stated: Mapping[str, StatedExponent]) -> Outcome:
    """All stated exponents of a law at once."""
    return all_of(judge_exponent(said, exponent_interval(law, name)) for name, said in stated.items())


# ---- bars and values -------------------------------------------------------------------------


def judge_at_most(interval: Interval, bar: float, *, refuted_above: float | None = None) -> Outcome:
    """Whether a number is at most the bar; refuted where all of the interval is above it.

    Args:
        refuted_above: another bar, for statements that are refuted only well beyond the first.
    """
    if interval.high <= bar:
        return Outcome.SUPPORTED
    return Outcome.REFUTED if interval.low > (bar if refuted_above is None else refuted_above) else Outcome.INCONCLUSIVE


def judge_at_least(interval: Interval, bar: float, *, refuted_below: float | None = None) -> Outcome:
    """Whether a number is at least the bar; refuted where all of the interval is below it.

    Args:
        refuted_below: another bar, for statements that are refuted only well below the first.
    """
    if interval.low >= bar:
        return Outcome.SUPPORTED
    return (
        Outcome.REFUTED if interval.high < (bar if refuted_below is None else refuted_below) else Outcome.INCONCLUSIVE
    )


def judge_within(interval: Interval, low: float, high: float) -> Outcome:
    """Whether a number lies from low to high: the whole interval does, or none of it, or it is open."""
    if low <= interval.low and interval.high <= high:
        return Outcome.SUPPORTED
    return Outcome.REFUTED if interval.low > high or interval.high < low else Outcome.INCONCLUSIVE


def all_of(outcomes: Iterable[Outcome]) -> Outcome:
    """A statement with several parts: refuted with one of them, supported with all of them."""
    found = set(outcomes)
    if Outcome.REFUTED in found:
        return Outcome.REFUTED
    return Outcome.SUPPORTED if found == {Outcome.SUPPORTED} else Outcome.INCONCLUSIVE
