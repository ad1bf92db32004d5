"""Trials on images of several seeds: dense networks on sums over patches, and pruning on motifs at random places.

Each seed has a target, rows and first weights of its own. Strengths are chosen by rows that train nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.trials import gpu_if_any, placed
from compsparse.graph import FunctionGraph
from compsparse.measures import Locality, patch_locality
from compsparse.networks import MaskedNetwork, layered, masks_of, select
from compsparse.networks.replicas import ReplicatedNetwork
from compsparse.progress import Progress
from compsparse.tasks import MotifImages, gaussian_twin, patch_pixels, patch_sum
from compsparse.training import (
    BetaLasso,
    CrossEntropy,
    Penalty,
    ProximalL1,
    Pruning,
    PruningConfig,
    TrainingConfig,
    TrainingData,
    WeightDecay,
    prune,
    train,
)

SIZE, PATCH, CLASSES = 12, 3, 4


class _OfSeeds:
    """One table, in which every seed has its own part, drawn by it; the first ``n`` rows of a part train."""

    n: int
    n_seeds: int
    first_seed: int

    def _drawn(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    @property
    def seeds(self) -> list[int]:
        """One per part of the table."""
        return [self.first_seed + s for s in range(self.n_seeds)]

    @cached_property
    def tables(self) -> tuple[Tensor, Tensor]:
        """Inputs and targets, ``(seeds, rows, …)``; rows to train, to choose and to test on."""
        X, y = (np.stack(part) for part in zip(*map(self._drawn, self.seeds), strict=True))
        device, kind = gpu_if_any(), torch.float32 if y.dtype.kind == "f" else torch.long
        return torch.as_tensor(X, dtype=torch.float32, device=device), torch.as_tensor(y, dtype=kind, device=device)

    def training(self, per_seed: int = 1) -> TrainingData:
        """For ``per_seed`` replicas of every seed, side by side."""
        X, y = self.tables
        rows = X.shape[1]
        train_rows = [torch.arange(self.n) + rows * s for s in range(self.n_seeds) for _ in range(per_seed)]
        return TrainingData(X.flatten(0, 1), y.flatten(0, 1), train=tuple(train_rows))


# ---- sums over patches ---------------------------------------------------------------------------

_TO_CHOOSE, _TO_TEST = 500, 2000
DECAY_ABOVE = 1e-2
"""Weight decay of the layers above the one whose L1 norm counts: without it they grow and undo the penalty."""

Method = Callable[[list[float]], list[Penalty]]
"""From one strength per replica to the penalties of a method."""


def prox_l1(strengths: list[float]) -> list[Penalty]:
    """Proximal L1 on the first layer, weight decay above."""
    return [ProximalL1(strengths, layers=[0]), WeightDecay(DECAY_ABOVE, layers=slice(1, None))]


def l2(strengths: list[float]) -> list[Penalty]:
    """Weight decay on all layers."""
    return [WeightDecay(strengths)]


_BETA = 3.0
"""Weights below so many strengths are zeroed: the paper's 50 leaves nothing of networks so small."""


def beta_lasso(strengths: list[float]) -> list[Penalty]:
    """Neyshabur's modified L1 on the first layer, weight decay above."""
    return [BetaLasso(strengths, layers=[0], beta=_BETA), WeightDecay(DECAY_ABOVE, layers=slice(1, None))]


def no_penalty(strengths: list[float]) -> list[Penalty]:
    """None, whatever the strength."""
    return []


@dataclass(frozen=True)
class PatchData(_OfSeeds):
    """Sums over patches, their targets standardised.

    Attributes:
        n: training rows of a seed.
        scattered, shuffled: pixels at random places; targets of other rows.
    """

    n: int
    n_seeds: int = 5
    scattered: bool = False
    shuffled: bool = False
    first_seed: int = FIRST_SEED

    @cached_property
    def graphs(self) -> list[FunctionGraph]:
        """The true graph of every seed."""
        return [patch_sum(SIZE, PATCH, random_state=s, scattered=self.scattered).graph for s in self.seeds]

    def _drawn(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        task = patch_sum(SIZE, PATCH, random_state=seed, scattered=self.scattered)
        drawn = task.sample(self.n + _TO_CHOOSE + _TO_TEST, random_state=seed + 10**6)
        y = (drawn.y - drawn.y[: self.n].mean()) / drawn.y[: self.n].std()
        if self.shuffled:
            y[: self.n] = np.random.default_rng(seed).permutation(y[: self.n])
        return drawn.X, y[:, None]

    @torch.no_grad()
    def errors(self, network: MaskedNetwork, per_seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean squared errors ``(seeds, per_seed)`` on the rows to choose and to test on; 1 is the mean's own."""
        X, y = (t.repeat_interleave(per_seed, dim=0)[:, self.n :] for t in self.tables)
        squares = (network(X) - y).square().squeeze(-1).view(self.n_seeds, per_seed, -1)
        parts = squares[..., :_TO_CHOOSE], squares[..., _TO_CHOOSE:]
        chosen, tested = (part.mean(-1).double().cpu().numpy() for part in parts)
        return chosen, tested

    @torch.no_grad()
    def training_errors(self, network: MaskedNetwork) -> np.ndarray:
        """Mean squared errors on the rows that trained each seed's network."""
        X, y = (t[:, : self.n] for t in self.tables)
        errors: np.ndarray = (network(X) - y).square().mean((1, 2)).double().cpu().numpy()
        return errors

    def dense(self, width: int, per_seed: int) -> MaskedNetwork:
        """Untrained dense networks of one hidden layer."""
        sizes = [SIZE**2, width, 1]
        return placed(layered(sizes, n_replicas=self.n_seeds * per_seed, random_state=self.first_seed))

    def masked(self, width: int, per_seed: int) -> MaskedNetwork:
        """Untrained networks of as many units that are wired like the target."""
        graph = self.graphs[0]
        masks, _ = masks_of(graph, max(width // (graph.size - 1), 1))
        sizes = [masks[0].shape[1], masks[0].shape[0], 1]
        return placed(layered(sizes, masks=masks, n_replicas=self.n_seeds * per_seed, random_state=self.first_seed))


@dataclass(frozen=True)
class PatchTrial:
    """One method at the strength that is best on the rows to choose on. Arrays have one entry per seed.

    Attributes:
        density: share of the first layer's weights that are not zero.
    """

    error: np.ndarray
    locality: Locality
    density: np.ndarray
    strength: np.ndarray
    network: MaskedNetwork


def run_patches(
    data: PatchData,
    penalties: Method,
    strengths: Sequence[float],
    config: TrainingConfig,
    *,
    width: int = 256,
    wired: bool = False,
) -> PatchTrial:
    """Trains all strengths of all seeds together.

    Args:
        wired: networks are wired like the target, instead of dense.
    """
    k = len(strengths)
    network = (data.masked if wired else data.dense)(width, k)
    per_replica = [s for _ in range(data.n_seeds) for s in strengths]
    seeds = [s for s in data.seeds for _ in strengths]
    train(network, data.training(k), config, penalties=penalties(per_replica), seeds=seeds)
    chosen, tested = data.errors(network, k)
    best = np.nan_to_num(chosen, nan=np.inf).argmin(1)
    kept = select(network, [s * k + int(b) for s, b in enumerate(best)])
    return patch_trial(kept, tested[np.arange(data.n_seeds), best], np.asarray(strengths)[best])


def patch_trial(network: MaskedNetwork, errors: np.ndarray, strength: np.ndarray) -> PatchTrial:
    """What is measured of one network per seed."""
    first = network.effective()[0].detach()
    density = (first != 0).double().mean((1, 2)).cpu().numpy()
    # what diverged is local nowhere
    unknown = np.full(len(first), np.nan)
    is_known = bool(first.isfinite().all())
    locality = (
        patch_locality(network, patch_pixels(SIZE, PATCH), random_state=0)
        if is_known
        else Locality(unknown, unknown, unknown, np.zeros(len(first), dtype=int))
    )
    return PatchTrial(errors, locality, density, strength, network)


# ---- motifs at random places, and controls without local features --------------------------------

ImageKind = Literal["motifs", "shuffled", "twin", "Gaussian"]
_IMAGES_TO_TEST = 1000


@dataclass(frozen=True)
class ImageData(_OfSeeds):
    """Images and classes.

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
        return SIZE, SIZE

    def _drawn(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng, rows = np.random.default_rng(seed), self.n + self.to_choose + _IMAGES_TO_TEST
        if self.kind == "Gaussian":
            X = rng.standard_normal((rows, SIZE**2))
            return X, (X @ rng.standard_normal((SIZE**2, CLASSES))).argmax(1)
        X, y = MotifImages(SIZE, CLASSES, random_state=seed).sample(rows, rng)
        if self.kind == "twin":
            X = gaussian_twin(X, rng)
        return X, rng.permutation(y) if self.kind == "shuffled" else y

    def prune(self, n_rounds: int, progress: Progress | None = None) -> Pruning:
        """Iterative magnitude pruning of dense networks, one per seed."""
        return prune(
            placed(layered([SIZE**2, 128, CLASSES], n_replicas=self.n_seeds, random_state=self.first_seed)),
            self.training(),
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
