"""Trials: one kind of network, several seeds with data of their own, all trained as replicas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from compsparse.networks.replicas import ReplicatedNetwork
from compsparse.progress import Progress
from compsparse.tasks import Task
from compsparse.training import TrainingConfig, train
from compsparse.training.data import TrainingData

_TEST_ROWS = 10_000


@dataclass(frozen=True)
class Trials:
    """Test errors over seeds, as shares of the target's variance."""

    errors: np.ndarray

    @property
    def median(self) -> float:
        return float(np.median(self.errors))

    @property
    def low(self) -> float:
        return float(self.errors.min())

    @property
    def high(self) -> float:
        return float(self.errors.max())

    def text(self) -> str:
        return f"{self.median:.2g} ({self.low:.2g} to {self.high:.2g})"


def run_trials(
    make: Callable[[int], ReplicatedNetwork],
    task: Task,
    n: int,
    config: TrainingConfig,
    *,
    seeds: int = 3,
    restarts: int = 1,
    finish: Callable[[ReplicatedNetwork, TrainingData], object] | None = None,
    progress: Progress | None = None,
) -> Trials:
    """Trains ``make(replicas)`` on one fresh sample of ``n`` rows per seed and measures test error.

    A fifth of each sample validates: it picks each replica's best weights, and the best of
    ``restarts`` replicas per seed. ``finish`` may improve the trained network in place.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = make(seeds * restarts).to(device)
    samples = [task.sample(n, random_state=seed) for seed in range(seeds)]
    test = task.sample(_TEST_ROWS, random_state=10**6)
    scale, centre = float(test.clean.std()), float(test.clean.mean())

    def tensor(values: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(values, dtype=torch.float32, device=device)

    X = tensor(np.concatenate([s.X for s in samples]))
    y = tensor((np.concatenate([s.y for s in samples]) - centre) / scale).unsqueeze(-1)
    split = n - n // 5
    first = [n * (r // restarts) for r in range(seeds * restarts)]
    data = TrainingData(
        X,
        y,
        train=tuple(torch.arange(f, f + split) for f in first),
        validation=tuple(torch.arange(f + split, f + n) for f in first),
    )
    record = train(network, data, config, random_state=0, progress=progress)
    if finish is not None:
        finish(network, data)
    with torch.no_grad():
        prediction = network(tensor(test.X)).squeeze(-1).cpu().numpy()
    errors = ((prediction - (test.clean - centre) / scale) ** 2).mean(axis=1)
    chosen = record.validation_loss.reshape(seeds, restarts).argmin(axis=1) + restarts * np.arange(seeds)
    return Trials(errors[chosen])
