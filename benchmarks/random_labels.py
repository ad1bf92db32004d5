"""Bounds on networks that were fitted to random labels: no row that is called proved may lie below the true loss.

Labels are coin flips, so that every network is wrong on half of all new rows, whatever it does on its own. Dense
networks, networks pruned and regrown on the same rows, and networks on graphs discovered on the same rows; all rows of
a table hold at once with 95% confidence. Bars: of each kind at most 5% of the seeds have a proved row below the truth.

That the bar can be missed is shown by the first kind, which is also bounded as if its mask had been given: then at
least 10% of the seeds have such a row.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from _report import finish, print_table
from torch import nn
from torch.nn.utils import prune as torch_prune

import compsparse as cs
from compsparse.bounds import BoundTable, compare
from compsparse.certificate import Rigour
from compsparse.models import fit_model
from compsparse.networks import layered, mirror
from compsparse.training import (
    FitConfig,
    PruningConfig,
    RegrowthConfig,
    TrainingConfig,
    prune,
    regrow,
    training_data,
)

TRUTH = 0.5
"""The share of wrong classes of any network; its ramp loss is at least that."""
Model = Callable[[np.ndarray, np.ndarray, int], Any]


def linear(X: np.ndarray, y: np.ndarray, seed: int) -> nn.Module:
    """Weights X'y, of which one in 32 is left by magnitude."""
    layer = nn.Linear(X.shape[1], 1, bias=False)
    weights = X.T @ (2.0 * y - 1)
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(weights / np.abs(weights).max())[None])
    torch_prune.l1_unstructured(layer, "weight", amount=X.shape[1] - X.shape[1] // 32)
    return layer


def dense(X: np.ndarray, y: np.ndarray, seed: int) -> nn.Module:
    """Two hidden layers, trained by gradients."""
    torch.manual_seed(seed)
    layers = [m for a, b in pairwise((X.shape[1], 32, 16, 1)) for m in (nn.Linear(a, b), nn.ReLU())]
    return trained(nn.Sequential(*layers[:-1]), X, y)


def trained(network: nn.Module, X: np.ndarray, y: np.ndarray) -> nn.Module:
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    rows, signs = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(2.0 * y - 1, dtype=torch.float32)
    for _ in range(100):
        optimiser.zero_grad()
        nn.functional.soft_margin_loss(network(rows)[:, 0], signs).backward()
        optimiser.step()
    return network


def pruned(X: np.ndarray, y: np.ndarray, seed: int) -> nn.Module:
    """Iterative magnitude pruning to a third of the weights."""
    data, config = training_data(X, 2.0 * y - 1), TrainingConfig(n_steps=60, learning_rate=0.01)
    network = layered([X.shape[1], 16, 1], random_state=seed)
    return prune(network, data, config, pruning=PruningConfig(n_rounds=3), random_state=seed).rounds[-1].network


def regrown(X: np.ndarray, y: np.ndarray, seed: int) -> nn.Module:
    """RigL at a tenth of the weights."""
    data, config = training_data(X, 2.0 * y - 1), TrainingConfig(n_steps=120, learning_rate=0.01)
    network, settings = layered([X.shape[1], 16, 1], random_state=seed), RegrowthConfig(every=20)
    return regrow(network, data, config, regrowth=settings, random_state=seed).network


def discovered(X: np.ndarray, y: np.ndarray, seed: int) -> nn.Module:
    """A ReLU network on the graph that a short search takes the labels for."""
    return trained(mirror(_graph(X, y, seed), 8, 1, "relu", random_state=seed), X, y)


def discovered_model(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """The classifier that is fitted to the table on such a graph."""
    config = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=60))
    return fit_model(_graph(X, y, seed), X, y, classification=True, width=4, config=config, random_state=seed)


def _graph(X: np.ndarray, y: np.ndarray, seed: int) -> cs.FunctionGraph:
    options = {"fit": False, "effort": 0.02, "resamples": 0, "random_state": seed}
    return cs.discover(X, 2.0 * y - 1, **options).graph


KINDS: dict[str, tuple[Model, int, int, bool]] = {
    "linear, pruned": (linear, 500, 8000, False),
    "linear, as if its mask were given": (linear, 500, 8000, True),
    "dense": (dense, 500, 10, False),
    "pruned": (pruned, 500, 40, False),
    "regrown": (regrown, 500, 40, False),
    "discovered": (discovered, 100, 4, False),
    "discovered, fitted to the table": (discovered_model, 100, 4, False),
}
"""The model, rows, inputs, and whether the mask is said to be given, which it is not."""
WRONG = "linear, as if its mask were given"


def least_proved(table: BoundTable) -> float:
    """The least expected loss that a row promises and calls proved."""
    return min(b.expected_loss for b in table.bounds if b.rigours.get("expected loss") is Rigour.PROVED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-seeds", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=list(KINDS), default=list(KINDS))
    arguments = parser.parse_args()
    figures, bars, shown = {}, {}, []
    for kind in arguments.only:
        make, n_rows, n_inputs, given = KINDS[kind]
        least, started = [], time.perf_counter()
        for seed in range(arguments.n_seeds):
            rng = np.random.default_rng(seed)
            X, y = rng.normal(size=(n_rows, n_inputs)), rng.integers(2, size=n_rows)
            least.append(least_proved(compare(make(X, y, seed), X, y, given=given, random_state=0)))
        violated = float(np.mean(np.array(least) < TRUTH))
        shown.append([kind, violated, min(least), float(np.median(least)), time.perf_counter() - started])
        print(f"{kind}: {violated:.0%} violated", flush=True)
        figures |= {f"{kind}, share of seeds violated": violated, f"{kind}, least promise": min(least)}
        bars[f"{kind}, share of seeds violated"] = (">=", 0.1) if kind == WRONG else ("<=", 0.05)
    print_table(["network", "violated", "least promise", "median", "seconds"], shown)
    finish(figures, bars)


if __name__ == "__main__":
    main()
