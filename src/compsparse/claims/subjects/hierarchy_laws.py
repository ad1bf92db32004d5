"""How many data random hierarchies need, by which networks: laws of P*, and what is learned at P*."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.laws import LawPart, law_figure, law_finding
from compsparse.claims.p_star import MeasuredComplexity, measure_p_star
from compsparse.claims.rules import Interval, StatedExponent, judge_at_least, judge_within
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of, finite
from compsparse.claims.trials import gpu_if_any
from compsparse.measures import Threshold, threshold
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.sweeps.kinds.hierarchy import HierarchyRun, Learner
from compsparse.sweeps.kinds.paper import rhm_protocol, srhm_sizes

_RATE = 0.05
"""Before the factor of the width, for every sparse setting: the largest at which all of them train.

The paper takes a rate per depth and sparsity. Small ones cost data as well as steps, so that exponents measured with
them are partly those of its table of rates.
"""
_RATE_CAVEAT = (
    f"one learning rate, {_RATE:g} times the width, for all settings; the paper's table of rates gives other P*",
)
_Models = Sequence[tuple[int, int, tuple[int, ...]]]
"""Levels, features and the numbers of empty slots."""


def hierarchy_run(
    learner: Learner, v: int, depth: int, s0: int = 0, *, width: int, n_epochs: int = 200, sensitivities: bool = False
) -> HierarchyRun:
    """A run by the paper's sizes, but narrower, at one learning rate and stopped at a training loss of 0.01.

    A run that has not reached it after ``n_epochs`` is stuck; more epochs do not change its test error much.
    """
    return HierarchyRun(
        n_train=2,
        n_features=v,
        sensitivities=sensitivities,
        **srhm_sizes(learner, depth, s0),
        width=width,
        learning_rate=_RATE,
        batch_size=None,
        schedule="constant",
        n_epochs=n_epochs,
        stop_at_loss=0.01,
        n_test=4000,
    )


def dense_law(profile: Profile, progress: Progress) -> Finding:
    """P* against n_c m^L on the dense model."""
    full = profile == "full"
    models = (
        ((2, 7), (2, 9), (2, 11), (2, 14), (3, 5), (3, 7), (3, 9), (4, 5))
        if full
        else ((2, 5), (2, 7), (2, 9), (2, 12), (3, 3), (3, 4), (3, 5))
    )
    points, clusters = [], []
    for depth, v in each(models, progress, "L={}, v={}"):
        setting = HierarchyRun(n_train=2, n_features=v, n_levels=depth, **rhm_protocol(128 if full else 64))
        n_seeds, natural = 6 if full else 3, setting.model.natural_size
        points.append(_measured(setting, 2.5 * natural, n_seeds))
        clusters.append(_measured(replace(setting, learner="clustering"), 1.3 * natural, 2 * n_seeds))
    part = LawPart("", points, {"n_c m^L": _natural}, {"n_c m^L": StatedExponent(1.0, rivals=(0.75, 1.25))})
    figure = law_figure(
        "P* of the dense model", (*_by_depth("CNN", points), *_by_depth("clustering", clusters)), _natural, "n_c m^L"
    )
    return law_finding(
        [part],
        figure,
        caveats=(
            "m = v = n_c throughout, so the rivals are n_c m^(L-1) and n_c m^(L+1) at L = 3; classes-and-synonyms "
            "varies n_c and m apart",
            "clustering knows v, m, s and L and reads the rules off label statistics: the line to compare with",
        ),
    )


def sparse_cnn_law(profile: Profile, progress: Progress) -> Finding:
    """P* of CNNs against s0 + 1, at L = 3, where the law of locally connected networks is another; full: at L = 2 too.

    In the full profile sizes are others than those at which the learning rate was chosen.
    """
    models: _Models = ((3, 3, (0, 1, 2)), (3, 4, (0, 1)))
    if profile == "full":
        models = ((2, 7, (0, 1, 2, 4)), (2, 9, (0, 1, 2, 4)), (3, 3, (0, 1, 2, 3)), (3, 5, (0, 1, 2)))
    return _sparse_law("cnn", models, lambda depth: 2, lambda depth, s0: 2.4 * (s0 + 1) ** 2, profile, progress)


def sparse_lcn_law(profile: Profile, progress: Progress) -> Finding:
    """P* of locally connected networks against s0 + 1, as for CNNs."""
    models: _Models = ((3, 3, (0, 1, 2)), (3, 4, (0, 1)))
    if profile == "full":
        models = ((2, 7, (0, 1, 2, 3)), (2, 9, (0, 1, 2)), (3, 3, (0, 1, 2, 3)), (3, 5, (0, 1)))
    return _sparse_law("lcn", models, lambda depth: depth, _lcn_guess, profile, progress)


def classes_and_synonyms(profile: Profile, progress: Progress) -> Finding:
    """P* against n_c and against m, the other fixed."""
    full = profile == "full"
    v = 14 if full else 9
    by_classes = [(n_c, 7 if full else 5) for n_c in ((2, 4, 7, 14) if full else (2, 4, 9))]
    by_synonyms = [(v // 2, m) for m in ((4, 5, 7, 10, 14) if full else (3, 5, 7, 9))]
    settings = list(dict.fromkeys(by_classes + by_synonyms))
    points = []
    for n_c, m in each(settings, progress, "n_c={}, m={}"):
        protocol = rhm_protocol(128 if full else 64)
        setting = HierarchyRun(n_train=2, n_features=v, n_classes=n_c, multiplicity=m, **protocol)
        points.append(_measured(setting, 2.5 * setting.model.natural_size, 5 if full else 3))
    part = LawPart(
        "",
        points,
        {"n_c": lambda p: p.setting.model.n_labels, "m": lambda p: p.setting.model.m},
        {"n_c": StatedExponent(1.0, rivals=(0.5, 1.5)), "m": StatedExponent(2.0, rivals=(1.0, 3.0))},
    )
    figure = Figure(
        f"P* with n_c and m apart (v={v}, L=2)",
        tuple(
            {"m": p.setting.model.m, "P*": p.p_star.value, "low": p.p_star.low, "high": p.p_star.high,
             "classes": f"n_c={p.setting.model.n_labels}"}
            for p in points
        ), "m", "P*", series="classes", low="low", high="high", log_x=True, log_y=True,
    )  # fmt: skip
    return law_finding([part], figure)


# ---- parts shared by the laws --------------------------------------------------------------------


def _measured(
    setting: HierarchyRun, guess: float, n_seeds: int, around: Sequence[float] = (0.5, 0.71, 1.0, 1.41, 2.0)
) -> MeasuredComplexity:
    return measure_p_star(setting, guess, n_seeds=n_seeds, first_seed=FIRST_SEED, around=around, device=gpu_if_any())


def _lcn_guess(depth: int, s0: int) -> float:
    return 2.6 if s0 == 0 else 3.8 * (s0 + 1) ** depth


def _sparse_law(
    learner: Learner,
    models: _Models,
    exponent: Callable[[int], float],
    guess: Callable[[int, int], float],
    profile: Profile,
    progress: Progress,
) -> Finding:
    points = _sparse_points(learner, models, guess, profile == "full", progress)
    parts = [
        LawPart(
            f"L={depth}",
            [p for p in points if p.setting.n_levels == depth],
            {"s0 + 1": _empties},
            {"s0 + 1": StatedExponent(exponent(depth), rivals=(exponent(depth) - 1, exponent(depth) + 1))},
            group=lambda p: p.setting.n_features,
        )
        for depth in sorted({depth for depth, _, _ in models})
    ]
    title = f"P* of {learner.upper()}s among empty slots"
    figure = law_figure(title, _series(points), _empties, "s0 + 1", over_natural=True)
    return law_finding(parts, figure, _RATE_CAVEAT)


def _sparse_points(
    learner: Learner, models: _Models, guess: Callable[[int, int], float], full: bool, progress: Progress
) -> list[MeasuredComplexity]:
    points: list[MeasuredComplexity] = []
    seeds_and_sizes = (4, (0.6, 0.8, 1.0, 1.3, 1.7)) if full else (2 if learner == "cnn" else 1, (0.7, 0.9, 1.2, 1.6))
    width, n_epochs = (256, 100) if full else (32, 40)
    cases = [(depth, v, s0) for depth, v, empties in models for s0 in empties]
    for depth, v, s0 in each(cases, progress, "L={}, v={}, s0={}"):
        setting = hierarchy_run(learner, v, depth, s0, width=width, n_epochs=n_epochs)
        points.append(_measured(setting, guess(depth, s0) * setting.model.natural_size, *seeds_and_sizes))
    return points


def _empties(point: MeasuredComplexity) -> float:
    return point.setting.n_empty + 1


def _natural(point: MeasuredComplexity) -> float:
    return point.natural


def _series(points: Sequence[MeasuredComplexity]) -> tuple[tuple[str, list[MeasuredComplexity]], ...]:
    found: dict[str, list[MeasuredComplexity]] = {}
    for p in points:
        found.setdefault(f"L={p.setting.n_levels}, v={p.setting.n_features}", []).append(p)
    return tuple(found.items())


def _by_depth(name: str, points: Sequence[MeasuredComplexity]) -> list[tuple[str, list[MeasuredComplexity]]]:
    depths = sorted({p.setting.n_levels for p in points})
    return [(f"{name}, L={depth}", [p for p in points if p.setting.n_levels == depth]) for depth in depths]


# ---- what is learned at P*, and by which networks -----------------------------------------------------

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
    measured: MeasuredComplexity
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
    return judge_together(found)


def _crossed(curve: dict[int, list[float]], level: float) -> Threshold:
    """Anywhere, where some network has no sensitivity at all, because its answers do not change with the data."""
    if all(math.isfinite(value) for values in curve.values() for value in values):
        return threshold(curve, level, random_state=0)
    return Threshold(math.inf, 0.0, math.inf, 0.9, bracketed=False)


def judge_together(found: Sequence[_Together]) -> Finding:
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
    points: dict[tuple[str, int], MeasuredComplexity] = {}
    for v, learner in each(product(sizes, guesses), progress, "v={}, {}"):
        setting = hierarchy_run(learner, v, 2, 1, width=256 if full else 64)
        points[learner, v] = measure_p_star(
            setting, guesses[learner] * v**3, first_seed=FIRST_SEED, around=(0.5, 0.71, 1.0, 1.41), device=gpu_if_any()
        )
    return judge_more(sizes, points)


def judge_more(sizes: Sequence[int], points: dict[tuple[str, int], MeasuredComplexity]) -> Finding:
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
