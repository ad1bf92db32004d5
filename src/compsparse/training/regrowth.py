"""Training with few weights throughout: the smallest are dropped and others grow in their place.

``random`` growth is SET (Mocanu et al. 2018); ``gradient`` growth is RigL (Evci et al. 2020): weights return
where the loss would fall fastest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from compsparse.checks import (
    MOST_STEPS,
    RandomState,
    check_choice,
    check_count,
    check_kind,
    check_number,
    suggests_options,
)
from compsparse.errors import ConfigError
from compsparse.networks.masked import MaskedNetwork
from compsparse.networks.replicas import chosen_seeds
from compsparse.origin import Origin
from compsparse.progress import Progress
from compsparse.surroundings import usual_settings
from compsparse.training.config import TrainingConfig
from compsparse.training.data import TrainingData, data_for
from compsparse.training.loop import TrainingState, train
from compsparse.training.losses import Loss, SquaredLoss
from compsparse.training.named_penalties import Penalties
from compsparse.training.pruning import among_highest, maskable, random_like
from compsparse.training.record import Training

Growth = Literal["random", "gradient"]
_ROWS = 512
"""Rows of a replica that the gradient of a regrowth is taken on."""


@dataclass(frozen=True, kw_only=True)
class RegrowthConfig:
    """Settings of :func:`regrow`.

    Attributes:
        density: share of the weights that are in, in every layer but the last, which is dense.
        share: of those, so many are exchanged at first; the share falls to zero along half a cosine.
        every: steps between exchanges.
        until: no exchanges after this share of the steps.
        growth: ``gradient`` (RigL) or ``random`` (SET).
    """

    density: float = 0.1
    share: float = 0.3
    every: int = 50
    until: float = 0.75
    growth: Growth = "gradient"

    def __post_init__(self) -> None:
        check_number("density", self.density, above=0, most=1)
        check_number("share", self.share, above=0, below=1)
        check_count("every", self.every, most=MOST_STEPS)
        check_number("until", self.until, above=0, most=1)
        check_choice("growth", self.growth, get_args(Growth))


@suggests_options
@usual_settings()
def regrow(
    network: MaskedNetwork,
    data: TrainingData | tuple[Any, Any],
    config: TrainingConfig | None = None,
    *,
    regrowth: RegrowthConfig | None = None,
    loss: Loss | None = None,
    penalties: Penalties = (),
    random_state: RandomState = None,
    seeds: Sequence[int] | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Training:
    """Trains a copy of the network from random sparse masks that change as it learns.

    Replicas are looked at when weights are exchanged, so ``evaluate_every`` is set to ``every``.

    Raises:
        ConfigError: the density leaves no weight in a layer.
    """
    sparse = maskable(network)
    data = data_for(data, sparse)
    config = TrainingConfig() if config is None else check_kind("config", config, TrainingConfig)
    regrowth = RegrowthConfig() if regrowth is None else check_kind("regrowth", regrowth, RegrowthConfig)
    loss = SquaredLoss() if loss is None else check_kind("loss", loss, Loss)
    if config.n_epochs is not None:
        raise ConfigError("regrowth counts in steps: give n_steps, not n_epochs")
    chosen = chosen_seeds(random_state, seeds, sparse.n_replicas)
    _thin_(sparse, regrowth.density, chosen)
    exchange = _Exchange(regrowth, config.n_steps, data, loss, chosen)
    return train(
        sparse,
        data,
        replace(config, evaluate_every=regrowth.every),
        loss=loss,
        penalties=penalties,
        callbacks=[exchange],
        seeds=chosen,
        progress=progress,
        time_limit=time_limit,
    )


@torch.no_grad()
def _thin_(network: MaskedNetwork, density: float, seeds: Sequence[int]) -> None:
    """Random masks of the density; weights are scaled up so that units see as much as before."""
    masks = network.masks()
    scores = random_like(masks, seeds, 0)
    for layer, (mask, score) in enumerate(zip(masks[:-1], scores[:-1], strict=True)):
        n = round(density * mask[0].numel())
        if n < 1:
            raise ConfigError(f"a density of {density:g} leaves no weight in layer {layer}: ask for more")
        masks[layer] = among_highest(score, torch.full((len(mask),), n, device=mask.device)).to(mask.dtype)
        network.weights[layer].mul_(density**-0.5)
    network.set_masks(masks, Origin.PRUNED)  # they change with what is learned


@dataclass(frozen=True)
class _Exchange:
    """A callback of the loop that drops and grows weights in place."""

    config: RegrowthConfig
    n_steps: int
    data: TrainingData
    loss: Loss
    seeds: list[int]

    def __call__(self, state: TrainingState) -> None:
        end = self.config.until * self.n_steps
        if state.step % self.config.every or state.step > end:
            return
        network = check_kind("network", state.network, MaskedNetwork)
        share = self.config.share * 0.5 * (1 + math.cos(math.pi * state.step / end))
        wishes = self._wishes(network, state)
        for layer in range(network.n_layers - 1):
            exchange_(network, layer, wishes[layer], share)

    def _wishes(self, network: MaskedNetwork, state: TrainingState) -> list[Tensor]:
        """How much each weight should grow: the size of its gradient, or a random number."""
        seeds = [self.seeds[i] for i in state.replicas]
        if self.config.growth == "random":
            return random_like(list(network.weights), seeds, state.step)
        rows = self.data.train_rows(len(self.seeds))
        drawn = [
            rows[i][torch.as_tensor(np.random.default_rng([seed, state.step]).permutation(len(rows[i]))[:_ROWS])]
            for i, seed in zip(state.replicas, seeds, strict=True)
        ]
        return gradient_sizes(network, self.data, drawn, self.loss)


def gradient_sizes(network: MaskedNetwork, data: TrainingData, rows: Sequence[Tensor], loss: Loss) -> list[Tensor]:
    """The size of the gradient in every weight, masked ones too, on the rows of each replica."""
    weights = [w.detach().requires_grad_() for w in network.effective()]
    fewest = min(len(r) for r in rows)
    at = torch.stack([r[:fewest] for r in rows]).to(data.X.device)
    out = network.run_with(data.X[at].transpose(-1, -2), weights).transpose(-1, -2)
    gradients = torch.autograd.grad(loss.per_sample(out, data.y[at]).mean(-1).sum(), weights)
    return [g.abs() for g in gradients]


@torch.no_grad()
def exchange_(network: MaskedNetwork, layer: int, wish: Tensor, share: float) -> None:
    """Drops a share of a layer's smallest weights, then lets as many of the most wished for grow.

    All but the weights that stayed are wished for, those just dropped too (Evci et al. 2020, Algorithm 1): a weight
    that comes back at once keeps its value, a new one starts from zero.
    """
    mask, weight = network.mask(layer), network.weights[layer]
    inside = mask.bool().flatten(1)
    n = (share * inside.sum(1)).long()
    small = -weight.abs().flatten(1)
    stayed = inside & ~among_highest(small.masked_fill(~inside, -torch.inf), n)
    now = stayed | among_highest(wish.flatten(1).masked_fill(stayed, -torch.inf), n)
    mask.copy_(now.view_as(mask))
    weight.masked_fill_((inside ^ now).view_as(weight), 0.0)
