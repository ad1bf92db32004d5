"""The Lasso for 1,000 signals over 1,024 atoms, at one duality gap for all: ours, scikit-learn, celer, skglm, spams.

python benchmarks/lasso.py                  # CPU seconds of one thread
python benchmarks/lasso.py --grid           # every size, dictionary, penalty, precision and sign; --part narrows it
python benchmarks/lasso.py --device cuda    # tensors on the GPU against the same code on this machine's cores
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from _report import finish, print_table

from compsparse.sparse import gaussian_dictionary, lasso, lasso_gap

GAP = 1e-6  # over half the signal's squared norm
Solver = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]


def problem(kind: str, n_signals: int, random_state: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Signals, dictionary and penalties (in the scaling with 1/2).

    Easy: 20 atoms, lam = 0.1 lam_max. Hard: 60 atoms, 2% noise, lam = 0.01 lam_max.
    """
    rng = np.random.default_rng(random_state)
    W = gaussian_dictionary(256, 1024, rng)
    k = {"easy": 20, "hard": 60}[kind]
    codes = np.zeros((n_signals, 1024))
    np.put_along_axis(codes, rng.random(codes.shape).argpartition(k, 1)[:, :k], rng.standard_normal((n_signals, k)), 1)
    X = codes @ W.T
    if kind == "hard":
        noise = rng.standard_normal(X.shape)
        X += 0.02 * noise * (np.linalg.norm(X, axis=1) / np.linalg.norm(noise, axis=1))[:, None]
    return X, W, {"easy": 0.1, "hard": 0.01}[kind] * np.abs(X @ W).max(axis=1)


def largest_gap(X: np.ndarray, W: np.ndarray, codes: np.ndarray, lam: np.ndarray) -> float:
    _, gap = lasso_gap(X, W, np.ascontiguousarray(codes), lam)
    return float((2 * gap / (X**2).sum(axis=1)).max())


# ---- solvers: each takes signals, dictionary, penalties and its own tolerance ---------------


def ours(X: np.ndarray, W: np.ndarray, lam: np.ndarray, tol: float) -> np.ndarray:
    return lasso(X, W, lam, tol, scaling="half", n_threads=1).codes


def scikit_learn(X: np.ndarray, W: np.ndarray, lam: np.ndarray, tol: float) -> np.ndarray:
    from sklearn.linear_model import Lasso

    gram, columns = W.T @ W, np.asfortranarray(W)
    codes = np.zeros((len(X), W.shape[1]))
    for i, x in enumerate(X):
        model = Lasso(lam[i] / len(W), precompute=gram, fit_intercept=False, tol=tol, max_iter=100_000, copy_X=False)
        codes[i] = model.fit(columns, x, check_input=False).coef_
    return codes


def scikit_learn_sparse_encode(X: np.ndarray, W: np.ndarray, lam: np.ndarray, tol: float) -> np.ndarray:
    """It has one penalty for all signals and no tolerance: signals are scaled to share the penalty."""
    from sklearn.decomposition import sparse_encode

    atoms = np.ascontiguousarray(W.T)
    scaled = X / lam[:, None]
    return sparse_encode(scaled, atoms, algorithm="lasso_cd", alpha=1.0, max_iter=100_000) * lam[:, None]


def celer(X: np.ndarray, W: np.ndarray, lam: np.ndarray, tol: float) -> np.ndarray:
    from celer import Lasso

    columns, codes = np.asfortranarray(W), np.zeros((len(X), W.shape[1]))
    for i, x in enumerate(X):
        codes[i] = Lasso(lam[i] / len(W), fit_intercept=False, tol=tol, max_iter=200).fit(columns, x).coef_
    return codes


def skglm(X: np.ndarray, W: np.ndarray, lam: np.ndarray, tol: float) -> np.ndarray:
    from skglm import Lasso

    columns, codes = np.asfortranarray(W), np.zeros((len(X), W.shape[1]))
    for i, x in enumerate(X):
        codes[i] = Lasso(lam[i] / len(W), fit_intercept=False, tol=tol, max_iter=200).fit(columns, x).coef_
    return codes


def spams(X: np.ndarray, W: np.ndarray, lam: np.ndarray, tol: float) -> np.ndarray:
    """LARS; one penalty for all signals, which are scaled to share it; exact, so it has no tolerance."""
    import spams

    scaled = np.asfortranarray((X / lam[:, None]).T)
    codes = spams.lasso(scaled, D=np.asfortranarray(W), lambda1=1.0, mode=2, numThreads=1)
    return np.asarray(codes.todense()).T * lam[:, None]


TOLERANCES = [10.0**-p for p in np.arange(3, 12.1, 0.5)]
PEERS: dict[str, tuple[Solver, list[float]]] = {
    "scikit-learn Lasso": (scikit_learn, TOLERANCES),
    "scikit-learn sparse_encode": (scikit_learn_sparse_encode, [0.0]),
    "celer": (celer, TOLERANCES),
    "skglm": (skglm, TOLERANCES),
    "spams LARS": (spams, [0.0]),
}


def tuned_run(
    solver: Solver, tolerances: list[float], X: np.ndarray, W: np.ndarray, lam: np.ndarray
) -> tuple[float, float]:
    """Seconds and gap with the loosest of a solver's tolerances that meets the gap.

    It is looked for on 40 signals, then tightened up to three times if others need more.
    """
    few = slice(0, 40)
    fits = (largest_gap(X[few], W, solver(X[few], W, lam[few], tol), lam[few]) <= GAP for tol in tolerances)
    first = next((i for i, fit in enumerate(fits) if fit), len(tolerances) - 1)
    for tol in tolerances[first : first + 4]:
        seconds, codes = cpu_seconds(lambda: solver(X, W, lam, tol), 1)  # noqa: B023 (called at once)
        gap = largest_gap(X, W, codes, lam)
        if gap <= GAP:
            break
    return seconds, gap


def cpu_seconds(run: Callable[[], np.ndarray], repeats: int) -> tuple[float, np.ndarray]:
    times = []
    for _ in range(repeats):
        started = time.process_time()
        codes = run()
        times.append(time.process_time() - started)
    return sorted(times)[len(times) // 2], codes


def compare_on_cpu(n_signals: int) -> None:
    torch.set_num_threads(1)
    figures: dict[str, float] = {}
    rows = []
    for kind in ("easy", "hard"):
        X, W, lam = problem(kind, n_signals)
        few = slice(0, 40)
        ours(X[few], W, lam[few], GAP)
        mine, codes = cpu_seconds(lambda: ours(X, W, lam, GAP), 3)  # noqa: B023 (called at once)
        rows.append([kind, "compsparse", mine, 1.0, largest_gap(X, W, codes, lam)])
        figures[f"{kind}_gap"] = rows[-1][-1]
        for name, (solver, tolerances) in PEERS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of tolerances that were too tight for a peer's iterations
                seconds, gap = tuned_run(solver, tolerances, X, W, lam)
            rows.append([kind, name, seconds, seconds / mine, gap])
            figures[f"{kind}_{name.replace(' ', '_').replace('-', '_')}_over_ours"] = seconds / mine
            print_table(["signals", "solver", "CPU seconds", "over ours", "largest gap"], rows[-1:])
        figures[f"{kind}_ours_over_spams"] = 1 / figures.pop(f"{kind}_spams_LARS_over_ours")
    print()
    print_table(["signals", "solver", "CPU seconds", "over ours", "largest gap"], rows)
    bars: dict[str, tuple[str, float]] = {}
    for name in figures:
        if name.endswith("_over_ours"):
            bars[name] = (">=", 2.0 if name.startswith("hard") else 1.0)
        elif name.endswith("_ours_over_spams"):
            bars[name] = ("<=", 1.3)
        else:
            bars[name] = ("<=", GAP)
    finish(figures, bars)


def compare_devices(n_signals: int) -> None:
    """The same tensors on the GPU and on all cores; fewer on the cores, whose time grows in proportion."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    figures, rows = {}, []
    for kind in ("easy", "hard"):
        X, W, lam = problem(kind, n_signals)
        share = max(n_signals // 16, 1)
        rates = {}
        for device, n in (("cuda", n_signals), ("cpu", share)):
            tensors = [torch.as_tensor(v, dtype=torch.float32, device=device) for v in (X[:n], W, lam[:n])]
            lasso(tensors[0][:64], tensors[1], tensors[2][:64], GAP, scaling="half")
            found = lasso(*tensors, GAP, scaling="half")
            rates[device] = n / found.seconds
            rows.append([kind, device, n, found.seconds, rates[device], float(found.relative_gap.max())])
        figures[f"{kind}_cuda_over_cpu"] = rates["cuda"] / rates["cpu"]
        figures[f"{kind}_gap"] = max(row[-1] for row in rows[-2:])
    print_table(["signals", "device", "count", "seconds", "signals a second", "largest gap"], rows)
    bars = {name: (">=", 20.0) if name.endswith("cpu") else ("<=", GAP) for name in figures}
    finish(figures, bars)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--signals", type=int, default=None)
    parser.add_argument("--grid", action="store_true", help="ratios to every peer on a grid of problems")
    parser.add_argument("--part", nargs="*", default=[], help="words of the grid, as in: --part 128x512 float32 easy")
    arguments = parser.parse_args()
    if arguments.grid:
        from lasso_grid import run_grid

        sys.exit(run_grid(arguments.part))
    if arguments.device == "cuda":
        compare_devices(arguments.signals or 32_768)
    else:
        compare_on_cpu(arguments.signals or 1000)


if __name__ == "__main__":
    main()
