"""How large a mirrored and a shallow network must be for the same error, as inputs grow in number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from compsparse.claims.claim import Finding, Outcome, Profile
from compsparse.claims.rules import Interval, all_of, judge_at_least
from compsparse.claims.trials import Finish, Make, Trials, run_trials
from compsparse.graph import FunctionGraph
from compsparse.networks import count, dense, mirror
from compsparse.networks.mirroring import MirrorNetwork
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.tasks import tanh_tree
from compsparse.training import TrainingConfig
from compsparse.training.last_layer import solve_last_layer

_EPS = 0.01
_RATES = (3e-2, 8e-3)


@dataclass(frozen=True)
class _Point:
    inputs: int
    family: str
    parameters: int
    trials: Trials


def depth_beats_width(profile: Profile, progress: Progress) -> Finding:
    """Parameters that mirrored and shallow networks need for one error, as inputs grow in number."""
    full = profile == "full"
    sizes: tuple[int, ...] = (4, 8, 16, 32) if full else (4, 8, 16)
    shallow_widths = (8, 32, 128, 512, 2048, 8192) if full else (32, 128, 512, 2048)
    mirror_widths = (2, 4, 8) if full else (4, 8)
    rows, steps = (20_000, 3000) if full else (7000, 1300)
    points: list[_Point] = []
    for n in sizes:
        graph = tanh_tree(n).graph.structure()
        for width in mirror_widths:
            points.append(_measure(n, "mirrored", partial(_mirrored, graph, width), rows, steps))
        for width in shallow_widths:
            points.append(_measure(n, "shallow", partial(_shallow, n, width), rows, steps, solve_last_layer))
            progress.update(len(points), len(sizes) * (len(shallow_widths) + len(mirror_widths)), f"{n} inputs")
    return _judge(sizes, points)


def _mirrored(graph: FunctionGraph, width: int, n_replicas: int) -> MirrorNetwork:
    return mirror(graph, width, 2, n_replicas=n_replicas, random_state=0)


def _shallow(n: int, width: int, n_replicas: int) -> MirrorNetwork:
    return dense(n, width, 1, n_replicas=n_replicas, random_state=0)


def _measure(
    n: int, family: str, make: Make[MirrorNetwork], rows: int, steps: int, finish: Finish[MirrorNetwork] | None = None
) -> _Point:
    """The better of two learning rates, by median error."""
    tried = [
        run_trials(
            make,
            tanh_tree(n),
            rows,
            TrainingConfig(n_steps=steps, batch_size=128, learning_rate=rate, weight_decay=0),
            finish=finish,
        )
        for rate in _RATES
    ]
    return _Point(n, family, count(make(1)).parameters, min(tried, key=lambda t: t.median))


def _judge(sizes: tuple[int, ...], points: list[_Point]) -> Finding:
    needed = {(n, f): _needed(points, n, f) for n in sizes for f in ("mirrored", "shallow")}
    largest = {n: max(p.parameters for p in points if p.inputs == n and p.family == "shallow") for n in sizes}
    # where no shallow net got there, the largest one tried bounds the ratio from below
    ratios = {
        n: min(needed[n, "shallow"], largest[n]) / needed[n, "mirrored"]
        for n in sizes
        if math.isfinite(needed[n, "mirrored"])
    }
    outcome = _outcome(sizes, points)
    figure = Figure(
        f"Error against size (a tree of n inputs; {_EPS:.0%} is the bar)",
        tuple(
            {"parameters": p.parameters, "error": p.trials.median, "low": p.trials.low, "high": p.trials.high,
             "network": f"{p.family}, n={p.inputs}"}
            for p in points
        ), "parameters", "error", series="network", low="low", high="high", log_x=True, log_y=True,
        y_title="unexplained variance (median, range of 3 seeds)",
    )  # fmt: skip
    listed = [
        f"n={n}: {needed[n, 'mirrored']:g} against "
        + (f"{needed[n, 'shallow']:g}" if math.isfinite(needed[n, "shallow"]) else f"more than {largest[n]:,}")
        for n in sizes
    ]
    return Finding(
        outcome,
        measured="parameters needed, mirrored against shallow: " + "; ".join(listed),
        numbers={f"size_ratio_{n}": r for n, r in ratios.items()},
        figures=(figure,),
    )


def _outcome(sizes: tuple[int, ...], points: list[_Point]) -> Outcome:
    """By intervals of the size ratio, whose ends count the most and the least fortunate seeds."""
    intervals = {n: _ratio_interval(points, n) for n in sizes}
    ahead = [judge_at_least(intervals[n], 1) for n in sizes if n >= 8]
    growth = judge_at_least(intervals[sizes[-1]].over(intervals[sizes[0]]), 2)
    return all_of([*ahead, growth])


def _ratio_interval(points: list[_Point], n: int) -> Interval:
    """Parameters of shallow over mirrored networks; above the largest one tried anything is possible."""
    least, most = ({f: _needed(points, n, f, by) for f in ("mirrored", "shallow")} for by in ("low", "high"))
    if math.isinf(least["mirrored"]):
        return Interval(0, math.inf)
    tried = max(p.parameters for p in points if (p.inputs, p.family) == (n, "shallow"))
    shallow = Interval(min(least["shallow"], tried), most["shallow"])
    return shallow.over(Interval(least["mirrored"], most["mirrored"]))


def _needed(points: list[_Point], n: int, family: str, by: str = "median") -> float:
    """Parameters of the smallest network whose median (or best, or worst) seed meets the bar."""
    mine = [p for p in points if (p.inputs, p.family) == (n, family)]
    return min((p.parameters for p in mine if getattr(p.trials, by) <= _EPS), default=math.inf)
