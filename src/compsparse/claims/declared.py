"""Claims that are declared: an experiment measures values over seeds, and the declaration holds premises and rules.

A bar speaks of a value by its name, of its ratio to another or of the difference from another. As a premise it is
asked of the mean; as a rule of the 95% interval over seeds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from compsparse.checks import check_choice, check_kind, check_known
from compsparse.claims import rules
from compsparse.claims.claim import Finding, Outcome, Premise
from compsparse.errors import ConfigError
from compsparse.report.figure import Figure
from compsparse.text import in_a_line

Spread = Literal["mean", "seeds"]
"""The interval that a rule is asked of: of the mean over seeds, or from the least seed to the greatest."""


@in_a_line
@dataclass(frozen=True)
class Measured:
    """What an experiment measured; the declaration of its claim decides what that says.

    Attributes:
        values: by name, a number or one a seed.
        also: what else was seen, as text.
        expected: what the rule expects, where that depends on what was run.
    """

    values: Mapping[str, Any]
    figures: tuple[Figure, ...] = ()
    also: str = ""
    caveats: tuple[str, ...] = ()
    expected: str = ""


@in_a_line
@dataclass(frozen=True)
class Bar:
    """One premise or rule, as a TOML file declares it.

    Attributes:
        of: the name of a value; with a ``*``, every value whose name fits.
        over: the name of a value that it is divided by, seed by seed; intervals are then geometric.
        less: the name of a value that is taken from it, seed by seed.
        where: values by name and the most that each may be in a seed that counts: only networks that learned.
        at_most, at_least: the bar.
        refuted_beyond: another bar, for rules that are refuted only well beyond the first.
        in_units_of: the name of a value whose mean the bars are multiples of.
        within: what the value lies between.
        equal: the margin within which two arms do equally well; of a difference.
        exponent, rivals, margin: what a law states of the value, which is an exponent.
        spread: which interval a rule is asked of.
        what: how a premise names the value, where its name does not do.
    """

    of: str
    over: str = ""
    less: str = ""
    where: Mapping[str, float] = field(default_factory=dict)
    at_most: float | None = None
    at_least: float | None = None
    refuted_beyond: float | None = None
    in_units_of: str = ""
    within: tuple[float, float] | None = None
    equal: float | None = None
    exponent: float | None = None
    rivals: tuple[float, ...] = ()
    margin: float = rules.MARGIN
    spread: Spread = "mean"
    what: str = ""

    def __post_init__(self) -> None:
        asked = [n for n in ("at_most", "at_least", "within", "equal", "exponent") if getattr(self, n) is not None]
        if len(asked) != 1:
            raise ConfigError(f"a bar asks one thing of {self.of!r}, got {asked}")
        check_choice("spread", self.spread, get_args(Spread))

    @classmethod
    def declared(cls, told: Mapping[str, Any]) -> Bar:
        """From a table of a TOML file."""
        known = [f.name for f in fields(cls)]
        for name in told:
            check_known(name, known, "a bar has no entry")
        entries: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in told.items()}
        return cls(**entries)

    def name(self) -> str:
        """The value, with what it is compared with."""
        return self.of + (f" over {self.over}" if self.over else f" less {self.less}" if self.less else "")

    def each(self, values: Mapping[str, Any]) -> Iterator[Bar]:
        """One bar for every value whose name fits."""
        if "*" not in self.of:
            yield self
            return
        pattern = re.compile(re.escape(self.of).replace(r"\*", "(.+)"))
        fits = [m[1] for name in values if (m := pattern.fullmatch(name))]
        if not fits:
            raise ConfigError(f"no value that was measured is called {self.of!r}; there are {list(values)}")
        for star in fits:
            yield replace(
                self, **{n: getattr(self, n).replace("*", star) for n in ("of", "over", "less", "in_units_of", "what")}
            )

    def of_values(self, values: Mapping[str, Any]) -> np.ndarray:
        """The value of every seed that counts; NaN where it is divided by zero."""
        found = _values(self.of, values)
        counts = np.ones(found.shape, dtype=bool)
        for name, most in self.where.items():
            counts = counts & (_values(name, values) <= most)
        if self.less:
            found = found - _values(self.less, values)
        if self.over:
            below = _values(self.over, values)
            found, below = np.broadcast_arrays(found, below)
            found = np.divide(found, below, out=np.full(found.shape, np.nan), where=below != 0)
        return np.asarray(found[np.broadcast_to(counts, found.shape)])

    def premise(self, values: Mapping[str, Any]) -> Premise:
        """Whether the mean is on the right side; a value that was not measured, or of no seed, is not."""
        what, found = self.what or self.name(), self.of_values(values)
        if self.at_most is not None:
            return Premise.at_most(what, found, self.at_most)
        if self.at_least is not None:
            return Premise.at_least(what, found, self.at_least)
        raise ConfigError(f"a premise has the bar at_most or at_least, and that of {self.of!r} has neither")

    def interval(self, values: Mapping[str, Any]) -> rules.Interval:
        """That a rule is asked of; the whole line where fewer than two seeds count or a value is no number."""
        found = self.of_values(values)
        if not found.size or not np.isfinite(found).all():
            return rules.Interval(-np.inf, np.inf)
        if self.spread == "seeds":
            return rules.Interval(float(found.min()), float(found.max()))
        if found.size < 2:
            return rules.Interval(-np.inf, np.inf)
        if np.ptp(found) == 0:
            return rules.Interval(float(found.flat[0]), float(found.flat[0]))
        return rules.interval_if_known(found, geometric=bool(self.over))

    def outcome(self, values: Mapping[str, Any]) -> Outcome:
        """What the rule says."""
        unit = float(np.mean(_values(self.in_units_of, values))) if self.in_units_of else 1.0
        interval = self.interval(values)
        beyond = None if self.refuted_beyond is None else self.refuted_beyond * unit
        if self.at_most is not None:
            return rules.judge_at_most(interval, self.at_most * unit, refuted_above=beyond)
        if self.at_least is not None:
            return rules.judge_at_least(interval, self.at_least * unit, refuted_below=beyond)
        if self.within is not None:
            return rules.judge_within(interval, *(unit * end for end in self.within))
        if self.equal is not None:
            known = np.isfinite(self.of_values(values)).all()
            return rules.judge_equal(self.of_values(values), self.equal) if known else Outcome.INCONCLUSIVE
        stated = rules.StatedExponent(self.exponent or 0.0, self.rivals, self.margin)
        return rules.judge_exponent(stated, interval)

    def told(self, values: Mapping[str, Any]) -> str:
        """The value and its interval."""
        return f"{self.name()} {self.interval(values).text()}"


def _values(name: str, values: Mapping[str, Any]) -> np.ndarray:
    if name not in values:
        raise ConfigError(f"no value that was measured is called {name!r}; there are {list(values)}")
    return np.atleast_1d(np.asarray(values[name], dtype=float))


def bars_of(told: Iterable[Mapping[str, Any]]) -> tuple[Bar, ...]:
    """As a TOML file declares them."""
    return tuple(map(Bar.declared, told))


_MOST_TOLD = 3


def _told(bar: Bar, values: Mapping[str, Any]) -> list[str]:
    """Every value that fits, or where they all lie."""
    fits = list(bar.each(values))
    if len(fits) <= _MOST_TOLD:
        return [one.told(values) for one in fits]
    intervals = [one.interval(values) for one in fits]
    among = rules.Interval(min(i.low for i in intervals), max(i.high for i in intervals))
    return [f"{bar.name()} ({len(fits)} of them) {among.text()}"]


def judge_measured(measured: Measured, bars: Sequence[Bar], premises: Sequence[Bar]) -> Finding:
    """All rules of a claim, where all its premises hold."""
    check_kind("measured", measured, Measured)
    values = measured.values
    asked = [one for bar in bars for one in bar.each(values)]
    told = [text for bar in bars for text in _told(bar, values)]
    # a layer that is dead has measures that are no numbers; a mean of none is none
    with np.errstate(invalid="ignore"):
        numbers = {name: float(np.mean(value)) for name, value in values.items()}
    return Finding(
        rules.all_of(one.outcome(values) for one in asked),
        expected=measured.expected,
        measured="; ".join(filter(None, [*told, measured.also])),
        numbers=numbers,
        figures=measured.figures,
        caveats=measured.caveats,
        premises=tuple(one.premise(values) for bar in premises for one in bar.each(values)),
    )
