"""What is learned when a hierarchy is learned, and by which networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.p_star import Measured, measure_p_star
from compsparse.claims.rules import Interval, judge_at_least, judge_within
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of, finite
from compsparse.claims.subjects.hierarchy_laws import hierarchy_run
from compsparse.claims.trials import gpu_if_any
from compsparse.measures import Threshold, threshold
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.sweeps.kinds.hierarchy import Learner

_SECOND = 1
"""The second layer, whose sensitivities the paper follows."""
_WIDE = (0.25, 0.5, 0.71, 1.0, 1.41, 2.0, 4.0)
_LEVELS = {"lcn": {"synonym": 0.3, "diffeomorphism": 0.1}, "cnn": {"synonym": 0.45, "diffeomorphism": 0.2}}
"""Sensitivities of the second layer that count as insensitive, as in the paper's figures 6 and 14."""
_FACTOR = 2.0


@dataclass(frozen=True)
class _Together:
    """P* by the error and by each sensitivity, of one learner on one model."""

    name: str
    measured: Measured
    by_sensitivity: dict[str, Threshold]

    @property
    def ratios(self) -> dict[str, Interval]:
        """Where the size at which a sensitivity falls lies, over P*."""
        return {
            f"{self.name}: {name}": _interval(found).over(_interval(self.measured.p_star))
            for name, found in self.by_sensitivity.items()
        }


def _interval(found: Threshold) -> Interval:
    """Over seeds; from nothing, or to infinity, where the curve was seen on one side of its level only."""
    if found.bracketed:
        return Interval(found.low, found.high)
    return Interval(0, found.high) if math.isfinite(found.value) else Interval(found.low, math.inf)


def insensitivity_comes_with_learning(profile: Profile, progress: Progress) -> Finding:
    """Sizes at which sensitivities fall, against P*."""
    full = profile == "full"
    settings: list[tuple[Learner, int, int, float]]
    settings = [("cnn", 9, 1, 8.2), ("cnn", 7, 2, 17.0), ("lcn", 7, 1, 14.0), ("lcn", 9, 1, 14.7)]
    if not full:
        settings = [("cnn", 5, 1, 8.5)]
    found = []
    for learner, v, s0, guess in each(settings, progress, "{}, v={}, s0={}"):
        setting = hierarchy_run(learner, v, 2, s0, width=256 if full else 64, sensitivities=True)
        measured = measure_p_star(
            setting, guess * setting.model.natural_size, first_seed=FIRST_SEED, around=_WIDE, device=gpu_if_any()
        )
        levels = _LEVELS[learner]
        crossed = {name: _crossed(measured.curve(name, _SECOND), level) for name, level in levels.items()}
        found.append(_Together(f"{learner.upper()}, v={v}, s0={s0}", measured, crossed))
    return _judge_together(found)


def _crossed(curve: dict[int, list[float]], level: float) -> Threshold:
    """Anywhere, where some network has no sensitivity at all, because its answers do not change with the data."""
    if all(math.isfinite(value) for values in curve.values() for value in values):
        return threshold(curve, level)
    return Threshold(math.inf, 0.0, math.inf, 0.9, bracketed=False)


def _judge_together(found: Sequence[_Together]) -> Finding:
    intervals = {name: interval for t in found for name, interval in t.ratios.items()}
    values = {
        f"{t.name}: {name}": at.value / t.measured.p_star.value for t in found for name, at in t.by_sensitivity.items()
    }
    return finding_of(
        [judge_within(interval, 1 / _FACTOR, _FACTOR) for interval in intervals.values()],
        measured="size over P*: " + "; ".join(f"{n} {r:.2f} ({intervals[n].text()})" for n, r in values.items()),
        numbers=finite(values),
        figures=tuple(_curves(t) for t in found),
    )


def _curves(t: _Together) -> Figure:
    """Error and sensitivities of the second layer against P."""
    named = {"test error": t.measured.curve()}
    named |= {f"{name} sensitivity": t.measured.curve(name, _SECOND) for name in t.by_sensitivity}
    points = [
        (p / t.measured.p_star.value, values, series) for series, curve in named.items() for p, values in curve.items()
    ]
    return figure_of(
        f"{t.name}: what falls together", points, "P / P*", "value", "quantity", log_x=True,
        y_title="error, and sensitivity of layer 2 (mean, range of 3 seeds)",
    )  # fmt: skip


_MORE = {"cnn": 3.0, "lcn": 2.0}
"""How many times the data a fully connected network needs at least."""


def fully_connected_need_more(profile: Profile, progress: Progress) -> Finding:
    """P* of fully connected networks against P* of those that follow the patches."""
    full = profile == "full"
    sizes = (7, 9) if full else (4, 5)
    guesses: dict[Learner, float] = {"cnn": 8.2, "lcn": 14.5, "fcn": 48.0 if full else 30.0}
    points: dict[tuple[str, int], Measured] = {}
    for v, learner in each(product(sizes, guesses), progress, "v={}, {}"):
        setting = hierarchy_run(learner, v, 2, 1, width=256 if full else 64)
        points[learner, v] = measure_p_star(
            setting, guesses[learner] * v**3, first_seed=FIRST_SEED, around=(0.5, 0.71, 1.0, 1.41), device=gpu_if_any()
        )
    return _judge_more(sizes, points)


def _judge_more(sizes: Sequence[int], points: dict[tuple[str, int], Measured]) -> Finding:
    last = sizes[-1]
    intervals = {
        (net, v): _interval(points["fcn", v].p_star).over(_interval(points[net, v].p_star))
        for v in sizes
        for net in _MORE
    }
    values = {
        f"P* over {net}, v={v}": points["fcn", v].p_star.value / points[net, v].p_star.value for net, v in intervals
    }
    curves = [
        (p, errors, f"{learner.upper()}, v={v}")
        for (learner, v), m in points.items()
        for p, errors in m.curve().items()
    ]
    return finding_of(
        [judge_at_least(intervals[net, last], bar) for net, bar in _MORE.items()],
        expected=f"at v={last} fully connected networks need at least 3 times the data of a CNN and 2 times that "
        "of a locally connected network (L=2, s0=1): supported if both intervals are at or above, refuted if one "
        "is wholly below",
        measured="; ".join(
            f"{name}: {value:.1f} ({interval.text()})"
            for (name, value), interval in zip(values.items(), intervals.values(), strict=True)
        ),
        numbers=finite(values),
        figures=figure_of("Test error against training data", curves, "P", "error", "series", low="low", high="high",
                          log_x=True, y_title="test error (mean, range of 3 seeds)"),
    )  # fmt: skip
