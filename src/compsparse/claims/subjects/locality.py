"""Is it locality or weight sharing that makes convolutional networks learn from few samples?"""

from __future__ import annotations

import numpy as np

from compsparse.claims.claim import Finding, Premise, Profile
from compsparse.claims.rules import Interval, all_of, judge_at_least, mean_interval
from compsparse.claims.trials import Trials, run_trials
from compsparse.networks import dense, mirror
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.tasks import tanh_tree
from compsparse.training import TrainingConfig

_LEAST_GAIN = 0.1
"""Decades of error: a quarter less."""
_NAMES = ("dense", "local, own weights", "local, shared weights")


def locality_not_sharing(profile: Profile, progress: Progress) -> Finding:
    """Errors of dense, local and weight-sharing networks on one target."""
    sizes, steps = ((125, 500, 2000), 2000) if profile == "quick" else ((125, 500, 2000, 8000), 8000)
    task = tanh_tree(8)
    graph = task.graph.structure()
    makers = {
        _NAMES[0]: lambda r: dense(8, 64, 3, n_replicas=r, random_state=0),
        _NAMES[1]: lambda r: mirror(graph, 16, 2, n_replicas=r, random_state=0),
        _NAMES[2]: lambda r: mirror(graph, 16, 2, share="level", n_replicas=r, random_state=0),
    }
    config = TrainingConfig(n_steps=steps, batch_size=64)
    errors: dict[tuple[str, int], Trials] = {}
    for name, make in makers.items():
        for n in sizes:
            errors[name, n] = run_trials(make, task, n, config, n_seeds=4, n_restarts=2)
            progress.update(len(errors), len(makers) * len(sizes), f"{name}, {n} rows")
    return _judge(sizes, errors)


def _share(part: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Of the whole gain; NaN where there is none."""
    shares: np.ndarray = np.divide(part, part + rest, out=np.full(part.shape, np.nan), where=part + rest != 0)
    return shares


def _judge(sizes: tuple[int, ...], errors: dict[tuple[str, int], Trials]) -> Finding:
    """Splits the whole gain in log error from dense to shared into locality's part and sharing's."""
    parts, outcomes = [], []
    for n in sizes:
        logs = [np.log10(errors[name, n].errors) for name in _NAMES]
        locality, sharing = logs[0] - logs[1], logs[1] - logs[2]
        parts.append((np.median(locality), np.median(sharing), np.median(_share(locality, sharing))))
        outcomes.append(judge_at_least(mean_interval(locality - sharing), _LEAST_GAIN, refuted_below=0))
    shares = [float(share) for *_, share in parts]
    gains = all_of(judge_at_least(Interval(float(loc), float(loc)), 0) for loc, *_ in parts)
    outcome = all_of([*outcomes, gains])
    rows = tuple(
        {"rows": n, "error": t.median, "low": t.low, "high": t.high, "network": name} for (name, n), t in errors.items()
    )
    figure = Figure(
        "Learning curves on a tree whose nodes are all alike", rows, "rows", "error", series="network",
        low="low", high="high", log_x=True, log_y=True, x_title="training rows",
        y_title="unexplained variance (median, range of 4 seeds)",
    )  # fmt: skip
    listed = ", ".join(
        f"N={n}: locality {loc:.2f}, sharing {sh:.2f} decades" for n, (loc, sh, _) in zip(sizes, parts, strict=True)
    )
    return Finding(
        outcome,
        measured=listed,
        numbers={f"locality_share_{n}": s for n, s in zip(sizes, shares, strict=True)},
        figures=(figure,),
        premises=(
            Premise.at_most(f"the error of local networks at N={sizes[-1]}", errors[_NAMES[1], sizes[-1]].errors, 0.1),
        ),
    )
