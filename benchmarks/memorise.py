"""Memorisation by the smallest shallow ReLU network: exactness, speed and the peer, in one run.

    python benchmarks/memorise.py [--without-large]
    python benchmarks/memorise.py --gaps [--small]   (ten data sets, five seeds: is a stated gap ever too small?)

pyscnn is compared if it can be imported (``pip install --target DIR --no-deps pyscnn cvxpy …`` and PYTHONPATH=DIR
keep it from touching torch); not to be confused with the unrelated package ``scnn``.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from _report import finish, print_table

from compsparse.sparse.memorisation import descend, memorise


def data(n: int, d: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


def solved(name: str, n: int, d: int, figures: dict[str, float], rows: list, **settings: object) -> None:
    X, y = data(n, d)
    started = time.process_time()
    net = memorise(X, y, time_limit=None, random_state=0, **settings)  # type: ignore[arg-type]
    cpu = time.process_time() - started
    rigour = net.certificate.rigour.value
    rows.append([name, n, d, net.value, net.gap, rigour, net.n_neurons, net.residual, net.rounds, cpu])
    figures |= {f"{name}: gap": net.gap, f"{name}: residual": net.residual, f"{name}: cpu seconds": cpu,
                f"{name}: neurons over n": net.n_neurons / n}  # fmt: skip


def line_error(cases: int) -> float:
    """Largest relative departure from max(TV, (TV + |s_1 + s_{n-1}|) / 2) on a line with free bias."""
    worst, rng = 0.0, np.random.default_rng(0)
    for _ in range(cases):
        n = int(rng.integers(2, 16))
        x, y = rng.normal(size=n), rng.normal(size=n)
        order = np.argsort(x)
        slopes = np.diff(y[order]) / np.diff(x[order])
        variation = np.abs(np.diff(slopes)).sum()
        value = max(variation, (variation + abs(slopes[0] + slopes[-1])) / 2)
        worst = max(
            worst, abs(memorise(x[:, None], y, bias="free", time_limit=None, random_state=0).value - value) / value
        )
    return worst


def label_noise_cases(cases: int, n: int = 5, n_steps: int = 8000) -> tuple[float, float]:
    """Over all runs: the most that the optimum exceeds a run's penalty, and the median of penalty over optimum.

    Each optimum is that of the run's own values at the data, which the run's network fits exactly.
    """
    rng = np.random.default_rng(0)
    X = np.tile(np.linspace(-2, 2, n), cases)[:, None] + rng.uniform(-0.1, 0.1, size=(cases * n, 1))
    y = rng.uniform(-1, 1, size=cases * n)
    groups = [range(k * n, (k + 1) * n) for k in range(cases)]
    runs = descend(
        X, y, width=30, regulariser="label-noise", n_steps=n_steps, n_replicas=3, groups=groups, random_state=0
    )
    ratios = []
    for r, run in enumerate(runs.networks):
        rows = X[list(groups[r // 3])]
        ratios.append(
            run.label_noise_penalty(rows)
            / memorise(rows, run.predict(rows), norm="label-noise", time_limit=None, random_state=0).value
        )
    return float(max(1 / ratio for ratio in ratios)), float(np.median(ratios))


def peer(figures: dict[str, float], rows: list) -> None:
    """pyscnn's convex program over sampled cells, with hardly any regularisation: it has no interpolation."""
    try:
        from scnn.optimize import optimize  # type: ignore[import-not-found]
        from scnn.regularizers import NeuronGL1  # type: ignore[import-not-found]
    except ImportError as error:
        print(f"pyscnn is not compared: {error}")
        return
    X, y = data(50, 2)
    points = np.column_stack([X, np.ones(len(X))])
    started = time.process_time()
    model, _ = optimize(
        "relu", 1000, points, y, regularizer=NeuronGL1(1e-5), bias=False, unitize_data=False, dtype="float64"
    )
    cpu = time.process_time() - started
    inner, outer = (np.asarray(p) for p in model.parameters)
    cost = float((np.linalg.norm(inner, axis=1) * np.abs(outer).sum(0)).sum())
    residual = float(np.abs(np.maximum(points @ inner.T, 0) @ outer[0] - y).max())
    rows.append(["pyscnn", 50, 2, cost, float("nan"), "none", len(inner), residual, 0, cpu])
    figures |= {"pyscnn: cpu seconds": cpu, "pyscnn: residual": residual, "pyscnn: neurons": len(inner)}


def gaps() -> None:
    """Stated lower bounds of five seeds against the best value of all of them, on ten data sets of each size."""
    figures: dict[str, float] = {}
    rows: list[list] = []
    sizes = ((30, 6),) if "--small" in sys.argv else ((30, 6), (50, 10))
    for n, d in sizes:
        stated, short, rigorous, widest, excess, cpu = 0, 0, 0, 0.0, 0.0, 0.0
        for k in range(10):
            X, y = data(n, d, seed=100 + k)
            started = time.process_time()
            nets = [memorise(X, y, time_limit=None, random_state=seed) for seed in range(5)]
            cpu += time.process_time() - started
            best = min(net.value for net in nets)
            for net in nets:
                stated += 1
                rigorous += net.certificate.holds
                short += net.certificate.lower > best
                widest = max(widest, net.gap)
                excess = max(excess, net.value / best - 1)
        name = f"n={n}, d={d}"
        rows.append([n, d, stated, rigorous, short, widest, excess, cpu / stated])
        figures |= {f"{name}: bounds above the best value": short, f"{name}: rigorous": rigorous / stated,
                    f"{name}: widest gap": widest, f"{name}: cpu seconds each": cpu / stated}  # fmt: skip
    print_table(["n", "d", "runs", "rigorous", "false bounds", "widest gap", "most above the best", "cpu s each"], rows)
    finish(figures, {f"n={n}, d={d}: bounds above the best value": ("<=", 0) for n, d in sizes})


def main() -> None:
    if "--gaps" in sys.argv:
        gaps()
        return
    figures: dict[str, float] = {}
    rows: list[list] = []
    solved("plane", 50, 2, figures, rows)
    solved("plane, all cells at once", 50, 2, figures, rows, method="exact")
    solved("ten dimensions", 50, 10, figures, rows)
    if "--without-large" not in sys.argv:
        solved("large plane", 300, 2, figures, rows)
    peer(figures, rows)
    print_table(["case", "n", "d", "value", "gap", "status", "neurons", "residual", "rounds", "cpu s"], rows)
    figures["line: worst of 200"] = line_error(200)
    figures["label noise: optimum over best run"], figures["label noise: median run over optimum"] = label_noise_cases(
        20
    )
    finish(
        figures,
        {
            "plane: gap": ("<=", 1e-8),
            "plane: residual": ("<=", 1e-8),
            "plane: cpu seconds": ("<=", 5.0),
            "plane: neurons over n": ("<=", 1.0),
            "plane, all cells at once: gap": ("<=", 1e-8),
            "ten dimensions: cpu seconds": ("<=", 20.0),
            "ten dimensions: residual": ("<=", 1e-8),
            "large plane: gap": ("<=", 1e-8),
            "large plane: residual": ("<=", 1e-8),
            "line: worst of 200": ("<=", 1e-8),
            "label noise: optimum over best run": ("<=", 1 + 1e-8),
        },
    )


if __name__ == "__main__":
    main()
