"""Trials of pruning on images: motifs at random places, and controls without local features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.trials import gpu_if_any
from compsparse.networks import layered
from compsparse.networks.replicas import ReplicatedNetwork
from compsparse.progress import Progress
from compsparse.tasks import MotifImages, gaussian_twin
from compsparse.training import CrossEntropy, Pruning, PruningConfig, TrainingConfig, TrainingData, prune

ImageKind = Literal["motifs", "shuffled", "twin", "Gaussian"]
_SIDE, _TO_TEST = 12, 1000
CLASSES = 4


@dataclass(frozen=True)
class ImageData:
    """Images and classes of several seeds, one table.

    Attributes:
        kind: ``motifs`` are images; ``shuffled`` the same with classes that belong to others; ``twin`` Gaussian
            fields with the covariance of the images; ``Gaussian`` white noise with the classes of a random linear
            teacher, which can be learned but has nothing local.
        to_choose: rows between those to train and those to test on.
    """

    kind: ImageKind
    n: int = 3000
    n_seeds: int = 5
    first_seed: int = FIRST_SEED
    to_choose: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of an image."""
        return _SIDE, _SIDE

    @property
    def seeds(self) -> list[int]:
        """One per part of the table."""
        return [self.first_seed + s for s in range(self.n_seeds)]

    @cached_property
    def tables(self) -> tuple[Tensor, Tensor]:
        """Images and classes, ``(seeds, rows, …)``; rows to train, to choose and to test on."""
        tables = [self._drawn(seed) for seed in self.seeds]
        X, y = (np.stack(part) for part in zip(*tables, strict=True))
        device = gpu_if_any()
        return torch.as_tensor(X, dtype=torch.float32, device=device), torch.as_tensor(y, device=device)

    def _drawn(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng, rows = np.random.default_rng(seed), self.n + self.to_choose + _TO_TEST
        if self.kind == "Gaussian":
            X = rng.standard_normal((rows, _SIDE**2))
            return X, (X @ rng.standard_normal((_SIDE**2, CLASSES))).argmax(1)
        X, y = MotifImages(_SIDE, CLASSES, random_state=seed).sample(rows, rng)
        if self.kind == "twin":
            X = gaussian_twin(X, rng)
        return X, rng.permutation(y) if self.kind == "shuffled" else y

    @property
    def training(self) -> TrainingData:
        """One replica per seed."""
        X, y = self.tables
        rows = X.shape[1]
        train_rows = tuple(torch.arange(self.n) + rows * s for s in range(self.n_seeds))
        return TrainingData(X.flatten(0, 1), y.flatten(), train=train_rows)

    def prune(self, n_rounds: int, progress: Progress | None = None) -> Pruning:
        """Iterative magnitude pruning of dense networks, one per seed."""
        network = layered([_SIDE**2, 128, CLASSES], n_replicas=self.n_seeds, random_state=self.first_seed)
        return prune(
            network.to(self.tables[0].device),
            self.training,
            TrainingConfig(n_steps=400, batch_size=64, learning_rate=3e-3, weight_decay=0),
            pruning=PruningConfig(n_rounds=n_rounds, rewind_step=40),
            loss=CrossEntropy(),
            penalties={"weight_decay": 0.1},
            seeds=self.seeds,
            progress=progress,
        )

    @torch.no_grad()
    def wrong(self, network: ReplicatedNetwork) -> np.ndarray:
        """Which images that did not train each seed's network gets wrong, 0 or 1 ``(seeds, rows)``."""
        X, y = (t[:, self.n :] for t in self.tables)
        wrong: np.ndarray = (network(X).argmax(-1) != y).double().cpu().numpy()
        return wrong

    def errors(self, network: ReplicatedNetwork) -> np.ndarray:
        """Share of the images that did not train that each seed's network gets wrong."""
        errors: np.ndarray = self.wrong(network).mean(1)
        return errors
