"""Losses and recipes to train unrolled networks with, by the project's one loop."""

from __future__ import annotations

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from compsparse.checks import RandomState, check_kind, check_number
from compsparse.errors import ConfigError
from compsparse.networks.replicas import replica_seeds
from compsparse.progress import Progress, check_progress
from compsparse.sparse.dictionaries import check_dictionary
from compsparse.sparse.unrolled import UnrolledNetwork
from compsparse.surroundings import usual_settings
from compsparse.training import Loss, Training, TrainingConfig, TrainingData, train

UNROLLED_CONFIG = TrainingConfig(n_steps=400, batch_size=256, learning_rate=2e-3, weight_decay=0.0)
"""Settings that suit unrolled networks; weights must not decay, they start from the dictionary."""


class LassoLoss(Loss):
    """The Lasso's objective of predicted codes, in the full scaling; the targets are the signals themselves.

    No codes need to be known: this is unsupervised.
    """

    def __init__(self, dictionary: ArrayLike, lam: float):
        self.W = torch.as_tensor(check_dictionary(dictionary))
        self.lam = check_number("lam", lam, least=0)
        self._copies: dict[tuple[torch.device, torch.dtype], Tensor] = {}

    def n_targets(self, n_outputs: int) -> int:
        """As many as a signal has entries."""
        return int(self.W.shape[0])

    def per_sample(self, prediction: Tensor, target: Tensor) -> Tensor:
        """The objective of each code against its signal."""
        residual = target - prediction @ self._transposed(prediction)
        return residual.square().sum(-1) + self.lam * prediction.abs().sum(-1)

    def _transposed(self, like: Tensor) -> Tensor:
        """Kept for each device, since a recorded step must not copy from another."""
        key = (like.device, like.dtype)
        if key not in self._copies:
            self._copies[key] = self.W.mT.to(*key).contiguous()
        return self._copies[key]


@usual_settings()
def train_layer_by_layer(
    network: UnrolledNetwork,
    data: TrainingData,
    config: TrainingConfig = UNROLLED_CONFIG,
    *,
    loss: Loss | None = None,
    progress: Progress | None = None,
    random_state: RandomState = None,
) -> tuple[Training, ...]:
    """Trains the first layer to answer well, then the first two, up to all; returns what happened at each stage.

    To train all layers at once call :func:`compsparse.training.train`.

    Args:
        config: settings of every stage.
    """
    check_kind("network", network, UnrolledNetwork)
    check_kind("config", config, TrainingConfig)
    progress = check_progress(progress)
    if config.weight_decay:
        raise ConfigError("weight decay would shrink layers that do not train yet: set weight_decay=0")
    seeds = replica_seeds(random_state, network.n_replicas)
    stages = []
    try:
        for layers in range(1, network.n_layers + 1):
            network.active_layers = layers
            stages.append(train(network, data, config, loss=loss, seeds=seeds))
            progress.update(layers, network.n_layers, f"{layers} layers")
    finally:
        network.active_layers = network.n_layers
    return tuple(stages)
