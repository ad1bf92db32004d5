"""Other tools with and without what a discovery tells: a Gaussian process its kernel, a boosting machine its terms.

    python benchmarks/fed_tools.py            # three functions, 300 rows with 5% noise
    python benchmarks/fed_tools.py --quick    # the first alone

Each function has ten inputs of which five act. The Gaussian process has scikit-learn's kernel with a length for every
input, or the exported one. The explainable boosting machine finds its own pairs, as it does by default, or has the
exported terms; it takes part where the package interpret is installed. Figures are the variance left on 2,000 rows
without noise; below 1 the export helps.
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _report import finish, print_table
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from compsparse.discovery import Discovery, discover, to_ebm_interactions
from compsparse.estimators import to_kernel

N_ROWS, N_TEST, N_INPUTS, NOISE, BAGS = 300, 2000, 10, 0.05, 4


def two_products(X: np.ndarray) -> np.ndarray:
    return np.sin(3 * X[:, 0] * X[:, 1]) + np.exp(X[:, 2]) * np.cos(2 * X[:, 3]) + X[:, 4] ** 2


def friedman(X: np.ndarray) -> np.ndarray:
    return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


def triple(X: np.ndarray) -> np.ndarray:
    return 3 * X[:, 0] * X[:, 1] * X[:, 2] + np.tanh(4 * X[:, 3] - 2 * X[:, 4])


FUNCTIONS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (two_products, friedman, triple)


def left(model: Any, X: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray) -> float:
    predicted = model.fit(X, y).predict(test)
    return float(np.mean((predicted - truth) ** 2) / truth.var())


def processes(found: Discovery) -> tuple[Any, Any]:
    lengths = RBF(np.full(N_INPUTS, 0.5), (1e-2, 1e3))
    plain = ConstantKernel(1.0, (1e-4, 1e4)) * lengths + WhiteKernel(0.01, (1e-8, 1.0))
    return tuple(
        GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=1, random_state=0)
        for kernel in (plain, to_kernel(found))
    )


def machines(found: Discovery) -> tuple[Any, Any]:
    from interpret.glassbox import ExplainableBoostingRegressor

    names = list(found.graph.inputs)
    options = {"outer_bags": BAGS, "n_jobs": 1, "random_state": 0}
    return (
        ExplainableBoostingRegressor(names, **options),
        ExplainableBoostingRegressor(names, interactions=to_ebm_interactions(found), **options),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--effort", type=float, default=0.3)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    tools = {"Gaussian process": processes}
    if importlib.util.find_spec("interpret") is not None:
        tools["boosting machine"] = machines
    rows, ratios = [], {name: [] for name in tools}
    for function in FUNCTIONS[: 1 if args.quick else None]:
        rng = np.random.default_rng(args.seed)
        X, test = rng.uniform(0, 1, (N_ROWS, N_INPUTS)), rng.uniform(0, 1, (N_TEST, N_INPUTS))
        clean, truth = function(X), function(test)
        y = clean + NOISE * clean.std() * rng.standard_normal(N_ROWS)
        found = discover(X, y, effort=args.effort, random_state=args.seed)
        for name, pair_of in tools.items():
            plain, fed = (left(model, X, y, test, truth) for model in pair_of(found))
            rows.append([function.__name__, name, plain, fed, fed / plain])
            ratios[name].append(fed / plain)
            print_table(["function", "tool", "alone", "fed", "ratio"], rows[-1:])
    print_table(["function", "tool", "alone", "fed", "ratio"], rows)
    finish({f"{name}: variance left, fed / alone, median": float(np.median(r)) for name, r in ratios.items()}, {})


if __name__ == "__main__":
    main()
