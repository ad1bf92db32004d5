"""Memorisation by shallow ReLU networks: how many neurons, how many cells, and what descent finds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compsparse.claims.claim import Claim, Finding, Outcome, Profile
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.sparse.memorisation import Memorised, count_cells, descend, generic_count, memorise

DE_DIOS = "de Dios and Bruna 2020, On sparsity for overparametrised ReLU networks"
_NEAR = 0.02
_SLACK = 1e-8


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
    for i, (n, d) in enumerate(cases):
        nets += [(n, d, memorise(*_points(n, d, seed), time_limit=None)) for seed in range(3 if n <= 24 else 1)]
        progress.update(i + 1, len(cases), f"n={n}, d={d}")
    solved = all(net.certificate.holds and net.gap <= 1e-6 and net.residual <= 1e-6 for *_, net in nets)
    most = max(net.n_neurons / n for n, _, net in nets)
    rows = tuple({"n": n, "neurons": net.n_neurons, "dimension": f"d={d}"} for n, d, net in nets)
    within = Outcome.SUPPORTED if most <= 1 else Outcome.REFUTED
    return Finding(
        within if solved else Outcome.INCONCLUSIVE,
        expected="every optimum, proved to a relative gap of 1e-6, is reached by a network of at most n neurons",
        measured=f"{len(nets)} optima, largest gap {max(net.gap for *_, net in nets):.1e}; neurons over n at most "
        f"{most:.2f}, on average {np.mean([net.n_neurons / n for n, _, net in nets]):.2f}",
        numbers={"most neurons over n": most, "largest gap": max(net.gap for *_, net in nets)},
        figures=(
            Figure("Neurons of the smallest network", rows, "n", "neurons", mark="points", series="dimension",
                   diagonal=True, x_title="points n"),
        ),
        caveats=("random Gaussian points and labels; other optima of equal cost may have more neurons",),
    )  # fmt: skip


def cells_are_polynomial(profile: Profile, progress: Progress) -> Finding:
    """Cells of the arrangement against the formula and its bound."""
    sizes = {1: (10, 40, 160), 2: (10, 30, 90), 3: (8, 16, 32), 4: (8, 12, 18)}
    rows: list[dict[str, Any]] = []
    wrong, slopes, shares = 0, {}, []
    for d, ns in sizes.items():
        counts = [count_cells(_points(n, d, 0)[0]) for n in ns]
        wrong += sum(c != generic_count(n, d) for n, c in zip(ns, counts, strict=True))
        shares += [c / (2 * (math.e * (n - 1) / d) ** d) for n, c in zip(ns, counts, strict=True)]
        slopes[d] = math.log(counts[-1] / counts[-2]) / math.log(ns[-1] / ns[-2])
        rows += [{"n": n, "cells": c, "dimension": f"d={d}"} for n, c in zip(ns, counts, strict=True)]
        progress.update(d, len(sizes), f"d={d}")
    return Finding(
        Outcome.SUPPORTED if wrong == 0 and max(shares) <= 1 else Outcome.REFUTED,
        expected="random points have exactly 2 sum_{k<=d} C(n-1, k) cells, and never more than 2 (e (n-1) / d)^d",
        measured=f"{wrong} of {len(rows)} counts differ; at most {max(shares):.2f} of the bound; slopes between the "
        "two largest n " + ", ".join(f"{s:.2f} (d={d})" for d, s in slopes.items()),
        numbers={"largest share of the bound": max(shares), **{f"slope, d={d}": s for d, s in slopes.items()}},
        figures=(
            Figure("Cells of the arrangement", tuple(rows), "n", "cells", series="dimension", log_x=True, log_y=True,
                   x_title="points n"),
        ),
        caveats=(
            "this is the second rule: the first asked on the same sizes for slopes of at most d + 0.25, and d=4 had "
            "4.30; at n of 12 to 18 the formula itself has that slope, which tends to d only as n grows",
            "that an optimal network has one neuron a cell and sign is not measured here",
        ),
    )  # fmt: skip


def width_drops_out(profile: Profile, progress: Progress) -> Finding:
    """The norm that descent finds at several widths, against the optimum."""
    n, n_steps = 5, 20_000 if profile == "quick" else 100_000
    widths = (2, 5, 20, 80) if profile == "quick" else (2, 3, 5, 10, 20, 80, 320)
    X, y = _on_a_line(n, 0)
    best = memorise(X, y, time_limit=None)
    ratios: dict[int, float] = {}
    supports: dict[int, tuple[int, float]] = {}
    for i, width in enumerate(widths):
        runs = descend(X, y, width=width, n_steps=n_steps, n_replicas=8, random_state=1).networks
        fit = sorted((run for run in runs if run.residual <= 0.01), key=lambda run: run.cost)
        ratios[width] = fit[0].cost / best.value if fit else math.inf
        if fit:
            supports[width] = len(fit[0].support()), _farthest(fit[0].support(), best.theta)
        progress.update(i + 1, len(widths), f"width {width}")
    wide = [r for width, r in ratios.items() if width >= n and math.isfinite(r)]
    below = any(r < 1 - 0.02 for r in ratios.values())
    agree = len(wide) >= 2 and wide[-1] <= 1 + 5 * _NEAR
    outcome = Outcome.SUPPORTED if agree else Outcome.INCONCLUSIVE
    rows = [{"width": w, "cost / optimum": r} for w, r in ratios.items() if math.isfinite(r)]
    return Finding(
        Outcome.REFUTED if below or best.n_neurons > n else outcome,
        expected=f"the optimum over any width, proved, has at most n={n} neurons; the best of 8 descents with weight "
        "decay (residual at most 0.01) is nowhere below it by more than 2%, and at the largest width at most "
        f"{5 * _NEAR:.0%} above",
        measured=f"optimum {best.value:.4f} with {best.n_neurons} neurons; best descent over optimum: "
        + ", ".join(f"{r:.3f} (M={w})" for w, r in ratios.items())
        + "; directions it uses, and the angle of the farthest from one of the optimum's: "
        + ", ".join(f"{k}, {angle:.2g} degrees (M={w})" for w, (k, angle) in supports.items()),
        numbers={f"cost over optimum, M={w}": r for w, r in ratios.items() if math.isfinite(r)}
        | {f"directions, M={w}": float(k) for w, (k, _) in supports.items()},
        figures=(
            Figure("Best descent against the optimum", tuple(rows), "width", "cost / optimum", log_x=True,
                   x_title="width M"),
        ),
        caveats=("descent may end in local minima, and its residual of up to 0.01 lowers the cost a little",),
    )  # fmt: skip


def _farthest(support: np.ndarray, theta: np.ndarray) -> float:
    """Degrees between the direction that lies farthest from all of theirs and the nearest of those."""
    ours, theirs = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (support, theta))
    return float(np.degrees(np.arccos(np.clip((ours @ theirs.T).max(axis=1), -1, 1)).max()))


def label_noise_finds_the_sparse_optimum(profile: Profile, progress: Progress) -> Finding:
    """The implicit penalty of SGD with label noise against its optimum, as steps grow in number."""
    n, width, cases = 5, 30, 6 if profile == "quick" else 20
    lengths = (2_000, 8_000, 24_000) if profile == "quick" else (5_000, 20_000, 80_000, 320_000)
    data = [_on_a_line(n, seed) for seed in range(cases)]
    X, y = np.concatenate([d[0] for d in data]), np.concatenate([d[1] for d in data])
    groups = [range(k * n, (k + 1) * n) for k in range(cases)]
    rows: list[dict[str, Any]] = []
    medians, lowest = [], math.inf
    for i, steps in enumerate(lengths):
        runs = descend(
            X, y, width=width, regulariser="label-noise", n_steps=steps, n_replicas=2, groups=groups
        ).networks
        ratios = []
        for r, run in enumerate(runs):
            points = data[r // 2][0]
            optimum = memorise(points, run.predict(points), norm="label-noise", time_limit=None).value
            ratios.append(run.label_noise_penalty(points) / max(optimum, 1e-12))
        lowest = min([lowest, *ratios])
        medians.append(float(np.median(ratios)))
        low, high = np.quantile(ratios, [0.25, 0.75])
        rows.append({"steps": steps, "penalty / optimum": medians[-1], "low": low, "high": high})
        progress.update(i + 1, len(lengths), f"{steps} steps")
    nearer = medians[-1] < medians[0] and medians[-1] <= 1.5
    outcome = Outcome.SUPPORTED if nearer else Outcome.INCONCLUSIVE
    return Finding(
        Outcome.REFUTED if lowest < 1 - _SLACK else outcome,
        expected="the penalty of every run is at least the optimum of the cone program for the values it fits; the "
        "median ratio falls with the number of steps and ends at most at 1.5",
        measured=f"lowest ratio {lowest:.4f}; median ratio " + ", ".join(
            f"{m:.3f} ({s} steps)" for m, s in zip(medians, lengths, strict=True)),
        numbers={"lowest ratio": lowest,
                 **{f"median ratio, {s} steps": m for m, s in zip(medians, lengths, strict=True)}},
        figures=(
            Figure("Label-noise SGD against the exact optimum", tuple(rows), "steps", "penalty / optimum", low="low",
                   high="high", log_x=True, y_title="penalty over optimum (median, quartiles)"),
        ),
        caveats=(
            f"{cases} sets of {n} points on a line, spread so that descent can fit them, width {width}",
            "convergence takes of order 1 / (rate noise)^2 steps",
        ),
    )  # fmt: skip


CLAIMS = [
    Claim(
        name="memorisation-needs-n-neurons",
        statement="Among the shallow ReLU networks of least norm that memorise n points there is one of at most n "
        "neurons.",
        source=f"{DE_DIOS}; Bruna's talk, representer theorem",
        status="proved",
        experiment=at_most_n_neurons,
        profiles=("quick", "full"),
    ),
    Claim(
        name="memorisation-cells",
        statement="The neurons fall into O(n)^O(d) cells, in each of which an optimal network has one neuron a sign.",
        source=f"{DE_DIOS}, theorem on atomic support",
        status="proved",
        experiment=cells_are_polynomial,
    ),
    Claim(
        name="memorisation-width-drops-out",
        statement="Once the width is at least n, the least norm of a network that memorises does not depend on it, and "
        "descent with weight decay finds it.",
        source="Bruna's talk, lifting to measures",
        status="experiment",
        experiment=width_drops_out,
        profiles=("quick", "full"),
    ),
    Claim(
        name="label-noise-finds-the-optimum",
        statement="SGD with label noise approaches the network that minimises the implicit penalty exactly.",
        source="Blanc et al. 2020; Bruna's talk",
        status="experiment",
        experiment=label_noise_finds_the_sparse_optimum,
        profiles=("quick", "full"),
    ),
]
