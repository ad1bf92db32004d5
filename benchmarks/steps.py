"""Steps of small networks on a CPU: the compiled kernel beside torch's gradients, in turn, in one process.

    python benchmarks/steps.py

Seconds of whole trainings, the looks and the start included, at the least of several turns. Nothing else should run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from _report import finish, print_table

from compsparse.discovery.data.candidates import Candidate, CandidateNetwork
from compsparse.graph import balanced_tree
from compsparse.networks import ReplicatedNetwork, dense, mirror
from compsparse.training import TrainingConfig, TrainingData, steps, train

N_ROWS, N_STEPS, TURNS = 800, 200, 3
CONFIG = TrainingConfig(n_steps=N_STEPS, batch_size=128)
CHOSEN = steps._WIDEST_COMPILED


def candidates(n: int) -> ReplicatedNetwork:
    """Pairs among eight inputs, as the first trial of a search has them."""
    every = frozenset(range(8))
    pairs = [frozenset([i % 8, (i + 1 + i // 8) % 8]) for i in range(n)]
    return CandidateNetwork([Candidate(p, every - p) for p in pairs], [range(i, i + 1) for i in every], 1, range(n))


NETWORKS: dict[str, Callable[[], ReplicatedNetwork]] = {
    "tree of 8, 1 replica": lambda: mirror(balanced_tree(8), n_replicas=1, random_state=0),
    "tree of 8, 10 replicas": lambda: mirror(balanced_tree(8), n_replicas=10, random_state=0),
    "tree of 8, 64 replicas": lambda: mirror(balanced_tree(8), n_replicas=64, random_state=0),
    "110 pairs of a search": lambda: candidates(110),
    **{
        f"dense, width {width}, {n} replicas": lambda width=width, n=n: dense(8, width, 2, n_replicas=n, random_state=0)
        for width, n in ((16, 10), (32, 10), (64, 10), (64, 1), (128, 10), (128, 1), (256, 10))
    },
}
"""What trains, widest layers last."""


def seconds(make: Callable[[], ReplicatedNetwork], compiled: bool) -> float:
    steps._WIDEST_COMPILED = 10**9 if compiled else 0
    network = make()
    X = torch.rand(N_ROWS, 8, generator=torch.Generator().manual_seed(0))
    started = time.perf_counter()
    train(network, TrainingData(X, torch.tanh(X[:, :1] * X[:, 1:2])), CONFIG, random_state=0)
    return time.perf_counter() - started


def main() -> None:
    figures: dict[str, float] = {}
    bars: dict[str, tuple[str, float]] = {}
    rows = []
    seconds(NETWORKS["tree of 8, 1 replica"], True)  # compiles
    for name, make in NETWORKS.items():
        turns = [(seconds(make, False), seconds(make, True)) for _ in range(TURNS)]
        by_torch, by_kernel = (min(times) for times in zip(*turns, strict=True))
        width = int(name.split("width ")[1].split(",")[0]) if "width" in name else 32
        rows.append([name, 1e3 * by_torch / N_STEPS, 1e3 * by_kernel / N_STEPS, by_torch / by_kernel])
        figures[f"{name}: torch over kernel"] = by_torch / by_kernel
        if width <= CHOSEN:
            bars[f"{name}: torch over kernel"] = (">=", 1.0)
    print_table(["network", "torch, ms a step", "kernel, ms a step", "torch over kernel"], rows)
    bars["110 pairs of a search: torch over kernel"] = (">=", 2.0)
    bars["tree of 8, 10 replicas: torch over kernel"] = (">=", 2.0)
    finish(figures, bars)


if __name__ == "__main__":
    main()
