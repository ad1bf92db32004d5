"""What is proved of networks by their kernels' norms alone, against what a search finds."""

from __future__ import annotations

import math

import numpy as np
from torch import nn

from compsparse.bounds import compare, empirical_rademacher
from compsparse.claims.claim import Finding, Profile
from compsparse.claims.rules import Interval, all_of, judge_at_most, mean_interval
from compsparse.claims.seeds import FIRST_SEED
from compsparse.progress import Progress
from compsparse.report.figure import Figure


def memo_theorem(profile: Profile, progress: Progress) -> Finding:
    """The complexity of binary-tree networks, found by search, over what is proved and what Theorem 12 allows."""
    n_draws, rows = (64, 40) if profile == "full" else (16, 20)
    depths = (2, 3, 4, 5) if profile == "full" else (2, 3, 4)
    ratios: dict[tuple[int, str], Interval] = {}
    shares: list[float] = []
    for depth in depths:
        rng = np.random.default_rng(FIRST_SEED + depth)
        normal = rng.normal(size=(rows, 2**depth))
        for name, X in (
            ("Gaussian", normal),
            ("positive", np.abs(normal)),
            ("one input", normal * np.eye(2**depth)[0]),
        ):
            network = _binary_tree(depth)
            found = empirical_rademacher(
                network, X, weight_class="blocks", n_draws=n_draws, n_restarts=6, n_steps=120, random_state=FIRST_SEED
            )
            table = compare(network, X)
            ratios[depth, name] = mean_interval(found.maxima / table["block paths"].complexity)
            shares.append(found.value / table["memo, Theorem 12"].complexity)
        progress.update(depth - 1, len(depths), f"{depth} layers")
    return _judge_memo(ratios, max(shares))


def _binary_tree(depth: int) -> nn.Module:
    """Kernels of two places with stride two and norm 1, one channel, shared on each layer."""
    kernels = [nn.Conv1d(1, 1, 2, 2, bias=False) for _ in range(depth)]
    for kernel in kernels:
        nn.init.constant_(kernel.weight, math.sqrt(0.5))
    hidden = [layer for kernel in kernels[:-1] for layer in (kernel, nn.ReLU())]
    return nn.Sequential(nn.Unflatten(1, (1, 2**depth)), *hidden, kernels[-1], nn.Flatten())


def _judge_memo(ratios: dict[tuple[int, str], Interval], share: float) -> Finding:
    rows = tuple(
        {"layers": depth, "found / proved": (r.low + r.high) / 2, "data": data} for (depth, data), r in ratios.items()
    )
    largest = max(ratios.values(), key=lambda r: r.high)
    return Finding(
        all_of(judge_at_most(ratio, 1.0) for ratio in ratios.values()),

        measured=f"the largest share of what is proved is {largest.text(3)}, and of Theorem 12 {share:.2f}",
        numbers={
            **{f"found / proved, {d} layers, {data}": (r.low + r.high) / 2 for (d, data), r in ratios.items()},
            "found / Theorem 12, largest": share,
        },
        figures=(
            Figure("What a search finds of what is proved, binary-tree networks", rows, "layers", "found / proved",
                   series="data"),
        ),

    )  # fmt: skip
