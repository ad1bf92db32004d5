"""Mirrored networks: against masked dense layers, with growing trees, and with replicas."""

from __future__ import annotations

import math

import numpy as np
import torch
from _report import finish, median_seconds, print_table

from compsparse.graph import balanced_tree
from compsparse.networks import ReplicatedNetwork, mirror, replica_seeds, to_masked
from compsparse.training import TrainingConfig, TrainingData, reused_allocations, train

BATCH = 256


def training_step(network: ReplicatedNetwork):
    optimizer = torch.optim.AdamW(network.parameters(), fused=True)
    replicas = network.n_replicas
    x = torch.randn(replicas, BATCH, network.n_inputs)
    y = torch.randn(replicas, BATCH, 1)

    def step() -> None:
        optimizer.zero_grad()
        (network(x) - y).square().mean((1, 2)).sum().backward()
        optimizer.step()

    return step


def alone_and_in_company() -> float:
    """Largest relative difference between a replica's weights trained alone and among 32."""
    rng = np.random.default_rng(0)
    X = torch.tensor(rng.uniform(-1, 1, (800, 8)), dtype=torch.float32)
    y = torch.tanh(X[:, :1] * X[:, 1:2] + X[:, 5:6])
    seeds = replica_seeds(0, 32)
    rows = [torch.tensor(rng.permutation(800)[:600]) for _ in seeds]
    config = TrainingConfig(n_steps=300, batch_size=128)

    def fit(chosen: list[int]) -> ReplicatedNetwork:
        network = mirror(balanced_tree(8), n_replicas=len(chosen), seeds=[seeds[i] for i in chosen])
        data = TrainingData(X, y, train=tuple(rows[i] for i in chosen))
        train(network, data, config, seeds=[seeds[i] for i in chosen])
        return network

    together = fit(list(range(32)))
    worst = 0.0
    for i in (0, 7, 31):
        alone = fit([i])
        a = torch.cat([p[0].flatten() for p in alone.parameters()])
        b = torch.cat([p[i].flatten() for p in together.parameters()])
        worst = max(worst, float(((a - b).norm() / a.norm()).detach()))
    return worst


def main() -> None:
    figures: dict[str, float] = {}
    rows = []
    with reused_allocations():
        tree = mirror(balanced_tree(1024), width=16, n_replicas=1)
        mirrored = median_seconds(training_step(tree))
        masked = median_seconds(training_step(to_masked(tree)), repeats=3, warm_up=1)
        rows.append(["binary tree, 1,024 inputs, width 16: mirrored", mirrored * 1e3])
        rows.append(["the same as masked dense layers", masked * 1e3])
        figures["masked_over_mirror_1024"] = masked / mirrored
        times = {
            n: median_seconds(training_step(mirror(balanced_tree(n), width=16, n_replicas=1))) for n in (256, 4096)
        }
        rows += [[f"binary tree, {n} inputs", t * 1e3] for n, t in times.items()]
        figures["growth_exponent_256_to_4096"] = math.log(times[4096] / times[256]) / math.log(16)
        one, many = (
            median_seconds(training_step(mirror(balanced_tree(8), width=16, n_replicas=r)), repeats=60) for r in (1, 32)
        )
        rows += [["8-input tree, 1 replica", one * 1e3], ["8-input tree, 32 replicas", many * 1e3]]
        figures["cost_of_32_replicas"] = many / one
    figures["replica_alone_or_in_company"] = alone_and_in_company()
    print_table(["training step", "milliseconds"], rows)
    finish(
        figures,
        {
            "masked_over_mirror_1024": (">=", 20),
            "growth_exponent_256_to_4096": ("<=", 1.15),
            "cost_of_32_replicas": ("<=", 6),
            "replica_alone_or_in_company": ("<=", 1e-4),
        },
    )


if __name__ == "__main__":
    main()
