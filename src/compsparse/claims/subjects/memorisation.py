"""Memorisation by shallow ReLU networks: how many neurons, how many cells, and what descent finds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compsparse.claims.claim import Finding, Outcome, Profile
from compsparse.claims.rules import Interval, all_of, geometric_interval, interval_if_known, judge_at_most, judge_equal
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.sparse.memorisation import Descended, Memorised, count_cells, descend, generic_count, memorise

_NEAR = 0.02
_LEAST_FALL = 0.05
"""Share by which more steps must lower the penalty to be said to lower it."""


def _points(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, d, seed])
    return rng.normal(size=(n, d)), rng.normal(size=n)


def _on_a_line(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Well spread points, so that descent can fit them in a few thousand steps."""
    rng = np.random.default_rng([n, seed])
    x = np.linspace(-2, 2, n) + rng.uniform(-0.1, 0.1, size=n)
    return x[:, None], rng.uniform(-1, 1, size=n)


def at_most_n_neurons(profile: Profile, progress: Progress) -> Finding:
    """Neurons of optimal networks against the number of points."""
    cases = [(n, d) for d in (1, 2, 3) for n in ((8, 16, 24) if d < 3 else (8, 12, 16))]
    cases += [(n, 2) for n in (40, 80)] if profile == "quick" else [(n, 2) for n in (60, 120, 240)]
    nets: list[tuple[int, int, Memorised]] = []
    for n, d in each(cases, progress, "n={}, d={}"):
        nets += [
            (n, d, memorise(*_points(n, d, seed), time_limit=None, random_state=0))
            for seed in range(3 if n <= 24 else 1)
        ]
    solved = all(net.certificate.holds and net.gap <= 1e-6 and net.residual <= 1e-6 for *_, net in nets)
    most = max(net.n_neurons / n for n, _, net in nets)
    within = Outcome.SUPPORTED if most <= 1 else Outcome.REFUTED
    return finding_of(
        within if solved else Outcome.INCONCLUSIVE,
        measured=f"{len(nets)} optima, largest gap {max(net.gap for *_, net in nets):.1e}; neurons over n at most "
        f"{most:.2f}, on average {np.mean([net.n_neurons / n for n, _, net in nets]):.2f}",
        numbers={"most neurons over n": most, "largest gap": max(net.gap for *_, net in nets)},
        figures=figure_of(
            "Neurons of the smallest network", [(n, net.n_neurons, f"d={d}") for n, d, net in nets], "n", "neurons",
            "dimension", mark="points", diagonal=True, x_title="points n",
        ),
    )  # fmt: skip


def cells_are_polynomial(profile: Profile, progress: Progress) -> Finding:
    """Cells of the arrangement against the formula and its bound."""
    sizes = {1: (10, 40, 160), 2: (10, 30, 90), 3: (8, 16, 32), 4: (8, 12, 18)}
    points: list[tuple[int, int, str]] = []
    wrong, slopes, shares = 0, {}, []
    for d in each(sizes, progress, "d={}"):
        ns = sizes[d]
        counts = [count_cells(_points(n, d, 0)[0]) for n in ns]
        wrong += sum(c != generic_count(n, d) for n, c in zip(ns, counts, strict=True))
        shares += [c / (2 * (math.e * (n - 1) / d) ** d) for n, c in zip(ns, counts, strict=True)]
        slopes[d] = math.log(counts[-1] / counts[-2]) / math.log(ns[-1] / ns[-2])
        points += [(n, c, f"d={d}") for n, c in zip(ns, counts, strict=True)]
    return finding_of(
        wrong == 0 and max(shares) <= 1,
        measured=f"{wrong} of {len(points)} counts differ; at most {max(shares):.2f} of the bound; slopes between the "
        "two largest n " + ", ".join(f"{s:.2f} (d={d})" for d, s in slopes.items()),
        numbers={"largest share of the bound": max(shares), **{f"slope, d={d}": s for d, s in slopes.items()}},
        figures=figure_of("Cells of the arrangement", points, "n", "cells", "dimension", log_x=True, log_y=True,
                          x_title="points n"),
    )  # fmt: skip


def width_drops_out(profile: Profile, progress: Progress) -> Finding:
    """The norm that descent finds at several widths, against the optimum."""
    n, widths = 5, (2, 5, 20, 80)
    cases, replicas, n_steps = (5, 3, 15_000) if profile == "quick" else (12, 4, 40_000)
    data = [_on_a_line(n, FIRST_SEED + seed) for seed in range(cases)]
    X, y, groups = _together(data)
    optima = [memorise(*points, time_limit=None, random_state=0).value for points in data]
    ratios: dict[int, list[float]] = {}
    for width in each(widths, progress, "width {}"):
        runs = descend(
            X, y, width=width, n_steps=n_steps, n_replicas=replicas, groups=groups, random_state=FIRST_SEED
        ).networks
        ratios[width] = [_best(runs[k * replicas : (k + 1) * replicas]) / optimum for k, optimum in enumerate(optima)]
    return judge_widths(n, replicas, ratios)


def _best(runs: Sequence[Descended]) -> float:
    """The least cost of the descents that fit their points; infinite where none does."""
    return min((run.cost for run in runs if run.residual <= 0.01), default=math.inf)


def judge_widths(n: int, replicas: int, ratios: dict[int, list[float]]) -> Finding:
    """By the interval, over data sets, of the best descent's cost over the optimum at the two largest widths."""
    fits = {width: [r for r in found if math.isfinite(r)] for width, found in ratios.items()}
    outcomes, intervals = [], {}
    for width in sorted(width for width in ratios if width >= n)[-2:]:
        known = 2 * len(fits[width]) > len(ratios[width])
        intervals[width] = geometric_interval(fits[width]) if known else Interval(0, math.inf)
        outcomes.append(judge_equal(np.log(fits[width]), math.log(1 + 5 * _NEAR)) if known else Outcome.INCONCLUSIVE)
    lowest = min((r for found in fits.values() for r in found), default=math.inf)
    medians = {w: float(np.median(found)) for w, found in fits.items() if found}
    return finding_of(
        all_of(outcomes) if lowest >= 1 - _NEAR else Outcome.INCONCLUSIVE,
        expected=f"at the two largest widths, both at least n={n}, the best of {replicas} descents with weight decay "
        f"(residual at most 0.01) costs at most {5 * _NEAR:.0%} more than the optimum over any width, by the 95% "
        "interval of the geometric mean over data sets; refuted if it costs more by all of one interval; open where "
        "all cost the optimum to the last digit, or one more than 2% less, which would be a mistake of the solver",
        measured="best descent over optimum, median of data sets: "
        + ", ".join(f"{m:.3f} (M={w})" for w, m in medians.items())
        + "; intervals "
        + ", ".join(f"{i.text(4)} (M={w})" for w, i in intervals.items())
        + f"; lowest {lowest:.3f}",
        numbers={f"cost over optimum, M={w}": m for w, m in medians.items()},
        figures=figure_of(
            "Best descent against the optimum", [(w, fits[w]) for w in medians], "width", "cost / optimum",
            middle=np.median, low="low", high="high", log_x=True, x_title="width M",
            y_title="cost over optimum (median, range of data sets)",
        ),
    )  # fmt: skip


def _together(data: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray, list[range]]:
    """Data sets as one, and the rows of each."""
    n = len(data[0][0])
    groups = [range(k * n, (k + 1) * n) for k in range(len(data))]
    return np.concatenate([d[0] for d in data]), np.concatenate([d[1] for d in data]), groups


def label_noise_finds_the_sparse_optimum(profile: Profile, progress: Progress) -> Finding:
    """The implicit penalty of SGD with label noise against its optimum, as steps grow in number."""
    n, width, cases = 5, 30, 6 if profile == "quick" else 20
    lengths = (2_000, 8_000, 24_000) if profile == "quick" else (5_000, 20_000, 80_000)
    data = [_on_a_line(n, FIRST_SEED + seed) for seed in range(cases)]
    X, y, groups = _together(data)
    by_length: dict[int, list[float]] = {}
    for steps in each(lengths, progress, "{} steps"):
        runs = descend(
            X, y, width=width, regulariser="label-noise", n_steps=steps, n_replicas=2, groups=groups,
            random_state=FIRST_SEED,
        ).networks  # fmt: skip
        ratios = []
        for r, run in enumerate(runs):
            points = data[r // 2][0]
            optimum = memorise(points, run.predict(points), norm="label-noise", time_limit=None, random_state=0).value
            ratios.append(run.label_noise_penalty(points) / max(optimum, 1e-12))
        # the two runs of a data set are no independent cases
        by_length[steps] = [math.sqrt(a * b) for a, b in zip(ratios[::2], ratios[1::2], strict=True)]
    setting = f"{cases} sets of {n} points on a line, spread so that descent can fit them, width {width}"
    return judge_label_noise(by_length, setting)


def judge_label_noise(by_length: dict[int, list[float]], setting: str) -> Finding:
    """By intervals, over data sets, of the penalty over its optimum after the longest runs and of its fall."""
    first, last = (by_length[steps] for steps in (min(by_length), max(by_length)))
    end = interval_if_known(last, geometric=True)
    fall = interval_if_known(np.array(last) / np.maximum(first, 1e-12), geometric=True)
    lowest = min(min(found) for found in by_length.values())
    outcome = all_of([judge_at_most(end, 1.5), judge_at_most(fall, 1 - _LEAST_FALL, refuted_above=1.0)])
    medians = {steps: float(np.median(found)) for steps, found in by_length.items()}
    rows = tuple(
        {"steps": steps, "penalty / optimum": medians[steps], "low": low, "high": high}
        for steps, found in by_length.items()
        for low, high in [np.quantile(found, [0.25, 0.75])]
    )
    return finding_of(
        outcome if lowest >= 1 - _NEAR else Outcome.INCONCLUSIVE,
        measured=f"after {max(by_length)} steps {end.text(3)}, over that after {min(by_length)} {fall.text(3)}; median "
        "ratio " + ", ".join(f"{m:.3f} ({s} steps)" for s, m in medians.items()) + f"; lowest {lowest:.4f}",
        numbers={"lowest ratio": lowest, **{f"median ratio, {s} steps": m for s, m in medians.items()}},
        figures=Figure("Label-noise SGD against the exact optimum", rows, "steps", "penalty / optimum", low="low",
                       high="high", log_x=True, y_title="penalty over optimum (median, quartiles)"),
        caveats=(setting,),
    )  # fmt: skip
