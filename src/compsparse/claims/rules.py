"""The rules that turn measured intervals into outcomes; every claim is judged by one of these.

A statement on a number is judged by an interval of it, at 95% unless said otherwise:

- a *law* by :func:`judge_exponent`, on the interval of its exponent;
- a *bar* ("at most", "at least") by :func:`judge_at_most` and :func:`judge_at_least`;
- a *value* ("within a margin of") by :func:`judge_within`;
- *two arms that do equally well* by :func:`judge_equal`, on their differences.

Each can come out supported, refuted or inconclusive by data alone. A tie supports nothing: what lies on a bar has not
passed it, and a comparison of two arms has its bar at the smallest effect that counts, not at none. What must hold
before a rule is asked, such as that the data were fitted, is a :class:`~compsparse.claims.Premise` of the finding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from compsparse.checks import brief, check_count, check_kind, check_list, check_number, check_numbers
from compsparse.claims.claim import Outcome
from compsparse.errors import ConfigError, DataError

if TYPE_CHECKING:
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
        are_numbers = all(isinstance(end, Real) and not isinstance(end, bool) for end in (self.low, self.high))
        if not are_numbers or not self.low <= self.high:
            raise DataError(f"an interval goes from low to high, got {self.low!r} to {self.high!r}")

    def over(self, other: Interval) -> Interval:
        """Where the ratio of two positive numbers lies, whatever ties them."""
        check_kind("other", other, Interval)
        low = self.low / other.high if 0 < other.high < math.inf else 0.0
        return Interval(low, _quotient(self.high, other.low))

    def text(self, digits: int = 2) -> str:
        """From low to high, in so many significant digits."""
        return f"{self.low:.{digits}g} to {self.high:.{digits}g}"


def _quotient(a: float, b: float) -> float:
    if math.isinf(a) or b <= 0:
        return math.inf
    return a / b


def mean_interval(values: Sequence[float] | np.ndarray, confidence: float = 0.95) -> Interval:
    """The interval of a mean by Student's t; of a single value it is the whole line."""
    check_number("confidence", confidence, above=0, below=1)
    x = check_numbers("the values of an interval", values, shape=(None,))
    if not len(x):
        raise DataError("an interval is taken of at least one number")
    if len(x) < 2:
        return Interval(-math.inf, math.inf)
    from scipy import stats  # loaded when an interval is asked for: listing claims needs none

    half = float(stats.t.ppf((1 + confidence) / 2, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x)))
    return Interval(float(x.mean()) - half, float(x.mean()) + half)


def geometric_interval(values: Sequence[float] | np.ndarray, confidence: float = 0.95) -> Interval:
    """The interval of a geometric mean of positive numbers, by Student's t on logarithms."""
    x = check_numbers("the values of an interval", values, shape=(None,))
    if np.any(x <= 0):
        raise DataError("a geometric mean needs positive numbers")
    logs = mean_interval(np.log(x), confidence)
    return Interval(math.exp(logs.low), math.exp(logs.high) if logs.high < 700 else math.inf)


def interval_if_known(values: Sequence[float] | np.ndarray, *, geometric: bool = False) -> Interval:
    """The interval of a mean, or of a geometric one; the whole line where a value has none to give.

    Networks that learned nothing have measures that are zero or no numbers; what is said of them is open.
    """
    x = np.asarray(values, dtype=float)
    if not np.isfinite(x).all() or (geometric and np.any(x <= 0)):
        return Interval(-math.inf, math.inf)
    return geometric_interval(x) if geometric else mean_interval(x)


def interval_of_seeds(values: Sequence[float] | np.ndarray) -> Interval:
    """The interval of the mean over seeds; a single number where all seeds agree."""
    return Interval(float(values[0]), float(values[0])) if np.ptp(values) == 0 else mean_interval(values)


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
    check_kind("stated", stated, StatedExponent)
    check_kind("interval", interval, Interval)
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


def fitted_exponent(x: Sequence[float], y: Sequence[float]) -> Interval:
    """The confidence interval of the exponent with which y grows with x."""
    from compsparse.measures import fit_law

    return exponent_interval(fit_law({"x": x}, y), "x")


def judge_law(law: Law, stated: Mapping[str, StatedExponent]) -> Outcome:
    """All stated exponents of a law at once."""
    from compsparse.measures import Law

    check_kind("law", law, Law)
    if not isinstance(stated, Mapping) or not all(name in law.exponents for name in stated):
        raise ConfigError(f"what is stated must be of exponents of the law, {list(law.exponents)}, got {stated!r}")
    return all_of(judge_exponent(said, exponent_interval(law, name)) for name, said in stated.items())


# ---- bars and values -------------------------------------------------------------------------


def judge_at_most(interval: Interval, bar: float, *, refuted_above: float | None = None) -> Outcome:
    """Whether a number is below the bar; refuted where all of the interval is above it, open on the bar itself.

    Args:
        refuted_above: another bar, for statements that are refuted only well beyond the first.
    """
    check_number("bar", bar)
    beyond = bar if refuted_above is None else check_number("refuted_above", refuted_above, least=bar)
    if check_kind("interval", interval, Interval).high < bar:
        return Outcome.SUPPORTED
    return Outcome.REFUTED if interval.low > beyond else Outcome.INCONCLUSIVE


def judge_at_least(interval: Interval, bar: float, *, refuted_below: float | None = None) -> Outcome:
    """Whether a number is above the bar; refuted where all of the interval is below it, open on the bar itself.

    Args:
        refuted_below: another bar, for statements that are refuted only well below the first.
    """
    check_number("bar", bar)
    beyond = bar if refuted_below is None else check_number("refuted_below", refuted_below, most=bar)
    if check_kind("interval", interval, Interval).low > bar:
        return Outcome.SUPPORTED
    return Outcome.REFUTED if interval.high < beyond else Outcome.INCONCLUSIVE


def judge_within(interval: Interval, low: float, high: float) -> Outcome:
    """Whether a number lies between low and high: the whole interval does, or none of it, or it is open."""
    check_number("high", high, least=check_number("low", low))
    if low < check_kind("interval", interval, Interval).low and interval.high < high:
        return Outcome.SUPPORTED
    return Outcome.REFUTED if interval.low > high or interval.high < low else Outcome.INCONCLUSIVE


def judge_equal(differences: Sequence[float] | np.ndarray, margin: float) -> Outcome:
    """Whether two arms do equally well, by the differences of pairs: the interval of their mean is within the margin.

    Pairs that agree to the last digit, all of them, decide nothing: two arms that were run would differ in one.

    >>> judge_equal([0.01, -0.01, 0.0], margin=0.05).value
    'supported'
    >>> judge_equal([0.0, 0.0, 0.0], margin=0.05).value
    'inconclusive'
    """
    check_number("margin", margin, above=0)
    interval = mean_interval(differences)
    if not np.any(differences):
        return Outcome.INCONCLUSIVE
    return judge_within(interval, -margin, margin)


def share_interval(found: int, of: int, confidence: float = 0.95) -> Interval:
    """Where a share lies of which so many were found among so many (Clopper and Pearson); anywhere of none.

    >>> share_interval(0, 10).text()
    '0 to 0.31'
    """
    from scipy import stats

    check_number("confidence", confidence, above=0, below=1)
    check_count("found", found, least=0, most=check_count("of", of, least=0, most=2**53))
    tail = (1 - confidence) / 2
    low = stats.beta.ppf(tail, found, of - found + 1) if found else 0.0
    high = stats.beta.ppf(1 - tail, found + 1, of - found) if found < of else 1.0
    return Interval(float(low), float(high))


def all_of(outcomes: Iterable[Outcome]) -> Outcome:
    """A statement with several parts: refuted with one of them, supported with all of them."""
    listed = check_list("outcomes", outcomes)
    if not all(isinstance(outcome, Outcome) for outcome in listed):
        raise ConfigError(f"outcomes must be Outcomes, got {brief(outcomes)}")
    found = set(listed)
    if Outcome.REFUTED in found:
        return Outcome.REFUTED
    return Outcome.SUPPORTED if found == {Outcome.SUPPORTED} else Outcome.INCONCLUSIVE
