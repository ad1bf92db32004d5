"""All bounds of networks of a million parameters, and of networks trained on handwritten digits.

Bars: all bounds of a network of a million parameters within 5 seconds; of a convolutional network trained on digits
the bound by Frobenius norms at least 10 times the degree-aware one. That every proved bound lies above what a search
finds is a test: ``pytest tests/fuzz --all-cases`` looks at 100 random small networks.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from _report import finish, print_table
from torch import nn

from compsparse.bounds import compare
from compsparse.claims.subjects.bounds_of_networks import (
    convolutional_digits,
    dense_digits,
    local_digits,
    train_on_digits,
)

SHOWN = ("block paths", "degree-aware", "Golowich", "spectral", "path norm, l1", "memo, Theorem 12", "published code")


def large_networks() -> dict[str, tuple[nn.Module, tuple[int, ...]]]:
    """Networks of about a million parameters, with the shape of their data."""
    torch.manual_seed(0)
    sizes = (784, 800, 400, 100, 10)
    layers = [m for a, b in pairwise(sizes) for m in (nn.Linear(a, b), nn.ReLU())]
    kernels = [nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 128, 3, 2, padding=1), nn.ReLU()]
    kernels += [nn.Conv2d(128, 256, 3, 2, padding=1), nn.ReLU(), nn.Conv2d(256, 256, 3, padding=1), nn.ReLU()]
    return {
        "dense": (nn.Sequential(*layers[:-1]), (784,)),
        "convolutional": (nn.Sequential(*kernels, nn.Flatten(), nn.Linear(256 * 16, 10)), (3, 16, 16)),
    }


def speed(figures: dict[str, float]) -> None:
    """Seconds for all bounds of large networks on 500 rows."""
    rows, rng = [], np.random.default_rng(0)
    for name, (network, shape) in large_networks().items():
        X, y = rng.normal(size=(500, *shape)), rng.integers(10, size=500)
        started = time.perf_counter()
        table = compare(network, X, y, random_state=0)
        seconds = time.perf_counter() - started
        figures[f"seconds, {name} network of a million parameters"] = seconds
        rows.append([name, table.n_parameters, seconds])
    print_table(["network", "parameters", "seconds"], rows)


def on_digits(figures: dict[str, float], n_steps: int) -> None:
    """Bounds and test errors of networks trained on 1,400 digits."""
    makers = {
        "dense, 64 units": partial(dense_digits, 64),
        "local 3x3, 16 channels": partial(local_digits, 16),
        "1 convolution, 16 channels": partial(convolutional_digits, 16, 1),
        "2 convolutions, 16 channels": partial(convolutional_digits, 16, 2),
        "4 convolutions, 16 channels": partial(convolutional_digits, 16, 4),
    }
    rows = []
    for name, make in makers.items():
        trained = train_on_digits(make, 0, n_steps=n_steps)
        table = trained.table
        ratio = table["Golowich"].complexity / table["degree-aware"].complexity
        noisy = table["PAC-Bayes, Gaussian"].expected_loss
        rows.append([name, trained.test_error, *(table[b].complexity for b in SHOWN), noisy, ratio])
        figures[f"Golowich / degree-aware, {name}"] = ratio
    print_table(["network", "test error", *SHOWN, "PAC-Bayes bound", "ratio"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-steps", type=int, default=200, help="training steps on digits")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    speed(figures)
    on_digits(figures, arguments.n_steps)
    bars = {name: ("<=", 5.0) for name in figures if name.startswith("seconds")}
    bars["Golowich / degree-aware, 4 convolutions, 16 channels"] = (">=", 10.0)
    finish(figures, bars)


if __name__ == "__main__":
    main()
