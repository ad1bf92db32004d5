"""What is learned when a hierarchy is learned, and by which networks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from compsparse.claims.claim import Claim, Finding, Outcome, Profile
from compsparse.claims.p_star import Measured, measure_p_star
from compsparse.claims.subjects.hierarchy_laws import TOMASINI, hierarchy_run
from compsparse.claims.trials import gpu_if_any
from compsparse.measures import threshold
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
    by_sensitivity: dict[str, float]

    @property
    def ratios(self) -> dict[str, float]:
        return {name: p / self.measured.p_star.value for name, p in self.by_sensitivity.items()}


def insensitivity_comes_with_learning(profile: Profile, progress: Progress) -> Finding:
    """Sizes at which sensitivities fall, against P*."""
    full = profile == "full"
    settings: list[tuple[Learner, int, int, float]]
    settings = [("cnn", 8, 1, 8.2), ("cnn", 8, 2, 15.0), ("lcn", 6, 1, 14.0), ("lcn", 8, 1, 14.7)]
    if not full:
        settings = [("cnn", 6, 1, 8.0)]
    found = []
    for i, (learner, v, s0, guess) in enumerate(settings):
        setting = hierarchy_run(learner, v, 2, s0, full=full, sensitivities=True)
        at = guess * setting.model.natural_size
        measured = measure_p_star(setting, at, around=_WIDE, device=gpu_if_any())
        levels = _LEVELS[learner]
        crossed = {name: threshold(measured.curve(name, _SECOND), level).value for name, level in levels.items()}
        found.append(_Together(f"{learner.upper()}, v={v}, s0={s0}", measured, crossed))
        progress.update(i + 1, len(settings), found[-1].name)
    ratios = {f"{t.name}: {name}": r for t in found for name, r in t.ratios.items()}
    near = all(1 / _FACTOR <= r <= _FACTOR for r in ratios.values())
    return Finding(
        Outcome.SUPPORTED if near else Outcome.REFUTED,
        expected="the sizes at which the sensitivities of layer 2 fall below the paper's levels "
        f"({_levels_text()}) are within a factor {_FACTOR:g} of P*",
        measured="size over P*: " + "; ".join(f"{name} {r:.2f}" for name, r in ratios.items()),
        numbers=ratios,
        figures=tuple(_curves(t) for t in found),
        caveats=(
            "the levels are those that the paper chose by eye for its own curves",
            "operators change every tuple of level 1 and nothing above; this was settled after a first run in which "
            "tuples might stay as they were, and the diffeomorphism level of a CNN was crossed at 0.45 P*",
        ),
    )


def _levels_text() -> str:
    named = {
        learner: " and ".join(f"{name} {at:g}" for name, at in levels.items()) for learner, levels in _LEVELS.items()
    }
    return "; ".join(f"{learner.upper()}: {levels}" for learner, levels in named.items())


def _curves(t: _Together) -> Figure:
    """Error and sensitivities of the second layer against P."""
    rows: list[dict[str, Any]] = []
    named = {"test error": t.measured.curve()}
    named |= {f"{name} sensitivity": t.measured.curve(name, _SECOND) for name in t.by_sensitivity}
    for series, curve in named.items():
        for p, values in curve.items():
            mean = sum(values) / len(values)
            rows.append({"P / P*": p / t.measured.p_star.value, "value": mean, "low": min(values), "high": max(values),
                         "quantity": series})  # fmt: skip
    return Figure(
        f"{t.name}: what falls together", tuple(rows), "P / P*", "value", series="quantity", low="low", high="high",
        log_x=True, y_title="error, and sensitivity of layer 2 (mean, range of 3 seeds)",
    )  # fmt: skip


def fully_connected_need_more(profile: Profile, progress: Progress) -> Finding:
    """P* of fully connected networks against P* of those that follow the patches."""
    full = profile == "full"
    sizes = (6, 8) if full else (4, 5)
    guesses: dict[Learner, float] = {"cnn": 8.2, "lcn": 14.5, "fcn": 45.0 if full else 30.0}
    points: dict[tuple[str, int], Measured] = {}
    for v in sizes:
        for learner, guess in guesses.items():
            setting = hierarchy_run(learner, v, 2, 1, full=full)
            around = (0.5, 0.71, 1.0, 1.41)
            points[learner, v] = measure_p_star(setting, guess * v**3, around=around, device=gpu_if_any())
            progress.update(len(points), len(sizes) * len(guesses), f"{learner}, v={v}")
    more = {v: {net: _ratio(points["fcn", v], points[net, v]) for net in ("cnn", "lcn")} for v in sizes}
    first, last = more[sizes[0]], more[sizes[-1]]
    far = last["cnn"] >= 3 and last["lcn"] >= 2
    grows = last["cnn"] > first["cnn"] and last["lcn"] > first["lcn"]
    known = all(math.isfinite(r) for ratios in more.values() for r in ratios.values())
    outcome = Outcome.SUPPORTED if far and grows else Outcome.REFUTED
    rows = [row for (learner, v), m in points.items() for row in m.rows(f"{learner.upper()}, v={v}")]
    return Finding(
        outcome if known else Outcome.INCONCLUSIVE,
        expected=f"at v={sizes[-1]} fully connected networks need at least 3 times the data of a CNN and 2 times that "
        f"of a locally connected network, and more of both than at v={sizes[0]} (L=2, s0=1)",
        measured="; ".join(f"v={v}: {r['cnn']:.1f} times CNN, {r['lcn']:.1f} times LCN" for v, r in more.items()),
        numbers={f"P* over {net}, v={v}": r for v, ratios in more.items() for net, r in ratios.items()},
        figures=(
            Figure("Test error against training data", tuple(rows), "P", "error", series="series", low="low",
                   high="high", log_x=True, y_title="test error (mean, range of 3 seeds)"),
        ),
        caveats=("all networks have as many layers as the data have levels, and the same width",),
    )  # fmt: skip


def _ratio(one: Measured, other: Measured) -> float:
    return one.p_star.value / other.p_star.value if other.p_star.bracketed else math.nan


CLAIMS = [
    Claim(
        name="insensitivity-comes-with-learning",
        statement="Insensitivity to the exchange of synonyms and to diffeomorphisms is acquired at the training-set "
        "size at which the task is learned.",
        source=f"{TOMASINI}, figures 6 and 14",
        status="experiment",
        experiment=insensitivity_comes_with_learning,
        profiles=("quick", "full"),
    ),
    Claim(
        name="fully-connected-need-more",
        statement="Fully connected networks need far more data of a sparse hierarchy than networks whose connections "
        "follow its patches.",
        source=f"{TOMASINI}, figure 16",
        status="experiment",
        experiment=fully_connected_need_more,
        profiles=("quick", "full"),
    ),
]
