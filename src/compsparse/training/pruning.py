"""Iterative magnitude pruning with rewinding: train, drop the smallest weights, go back to an early step, repeat.

All replicas are pruned together, each with masks of its own. A random criterion gives networks of the same
density whose masks owe nothing to the data: the null that a pruned network is compared with.
"""

from __future__ import annotations

import copy
import time
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
    check_flag,
    check_kind,
    check_number,
    suggests_options,
)
from compsparse.clock import Deadline
from compsparse.errors import ConfigError
from compsparse.networks.masked import MaskedNetwork, to_masked
from compsparse.networks.mirroring import MirrorNetwork
from compsparse.networks.replicas import ReplicatedNetwork, chosen_seeds
from compsparse.origin import Origin
from compsparse.progress import Progress, check_progress
from compsparse.surroundings import usual_settings
from compsparse.text import in_a_line
from compsparse.training.config import TrainingConfig
from compsparse.training.data import TrainingData, data_for
from compsparse.training.loop import train
from compsparse.training.losses import Loss
from compsparse.training.named_penalties import Penalties, check_penalties
from compsparse.training.penalties import Penalty
from compsparse.training.record import Training, TrainingStatus
from compsparse.training.schedules import schedule

Criterion = Literal["magnitude", "random"]


@dataclass(frozen=True, kw_only=True)
class PruningConfig:
    """Settings of :func:`prune`.

    Attributes:
        n_rounds: rounds of pruning after the first training, at most.
        share: of the weights that are left in a layer, so many go in a round.
        rewind_step: weights go back to what they were after so many steps; 0 is the start.
        criterion: ``magnitude`` drops the smallest weights, ``random`` any.
        prune_output: whether the last layer is pruned too.
        least_connected: a replica whose connected hidden units are a smaller share has ended.
    """

    n_rounds: int = 10
    share: float = 0.3
    rewind_step: int = 0
    criterion: Criterion = "magnitude"
    prune_output: bool = False
    least_connected: float = 0.2

    def __post_init__(self) -> None:
        check_count("n_rounds", self.n_rounds, most=10_000)
        check_number("share", self.share, above=0, below=1)
        check_count("rewind_step", self.rewind_step, least=0, most=MOST_STEPS)
        check_choice("criterion", self.criterion, get_args(Criterion))
        check_flag("prune_output", self.prune_output)
        check_number("least_connected", self.least_connected, least=0, below=1)


@in_a_line
@dataclass(frozen=True)
class PruningRound:
    """One trained network on the way. Arrays have one entry per replica.

    Attributes:
        number: 0 is the network before any pruning.
        network: as it was trained in this round, weights and masks.
        density: share of the weights that are left in the layers that are pruned.
        connected: share of the hidden units that are on a path from an input to an output.
    """

    number: int
    network: MaskedNetwork
    density: np.ndarray
    connected: np.ndarray
    training: Training


@in_a_line
@dataclass(frozen=True)
class Pruning:
    """All rounds, from dense to sparse.

    Attributes:
        last_round: per replica the last round in which enough of its units were connected.
    """

    rounds: tuple[PruningRound, ...]
    status: TrainingStatus
    last_round: np.ndarray
    seconds: float

    @property
    def best(self) -> PruningRound:
        """The round with the lowest mean loss, on validation rows if there are any, among those before the end."""
        rounds = self.rounds[: int(self.last_round.max()) + 1]
        return min(rounds, key=lambda r: float(np.nanmean(_losses(r.training))))


def _losses(training: Training) -> np.ndarray:
    return training.train_loss if np.isnan(training.validation_loss).all() else training.validation_loss


@suggests_options
@usual_settings()
def prune(
    network: MaskedNetwork | MirrorNetwork,
    data: TrainingData | tuple[Any, Any],
    config: TrainingConfig | None = None,
    *,
    pruning: PruningConfig | None = None,
    loss: Loss | None = None,
    penalties: Penalties = (),
    random_state: RandomState = None,
    seeds: Sequence[int] | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Pruning:
    """Trains and prunes a network round by round; the network itself is left as it was.

    Args:
        network: untrained; :func:`~compsparse.networks.layered` makes one whose weights are all in. A mirrored
            network is first turned into masked layers.
        config: of the training of each round.
        random_state, seeds: of the batch order, the same in each round, and of random pruning.
        time_limit: seconds for all rounds; those that were finished come back.

    Raises:
        ConfigError: a round would leave no weight in a layer.

    >>> from compsparse.networks import layered
    >>> from compsparse.training import training_data
    >>> x = torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
    >>> net = layered([8, 16, 1], n_replicas=2, random_state=0)
    >>> done = prune(net, training_data(x, x[:, :1]), TrainingConfig(n_steps=20), pruning=PruningConfig(n_rounds=2))
    >>> [round(float(r.density[0]), 2) for r in done.rounds]
    [1.0, 0.7, 0.48]
    """
    started, deadline = time.perf_counter(), Deadline.after(time_limit)
    current = maskable(network)
    data = data_for(data, current)
    config = TrainingConfig() if config is None else check_kind("config", config, TrainingConfig)
    pruning = PruningConfig() if pruning is None else check_kind("pruning", pruning, PruningConfig)
    progress = check_progress(progress)
    fit = _Fit(
        data, config, pruning, loss, check_penalties(penalties), chosen_seeds(random_state, seeds, current.n_replicas)
    )
    early = fit.early_weights(current)
    rounds: list[PruningRound] = []
    last = np.zeros(current.n_replicas, dtype=int)
    alive = np.ones(current.n_replicas, dtype=bool)
    status = TrainingStatus.FINISHED
    for number in range(pruning.n_rounds + 1):
        _rewind(current, early)
        training = fit.train(current, deadline.time_limit)
        if training.status is TrainingStatus.INTERRUPTED and rounds:
            status = training.status
            break
        kept = copy.deepcopy(current)
        rounds.append(
            PruningRound(number, kept, _density(kept, pruning), connected_units(kept), replace(training, network=kept))
        )
        alive &= rounds[-1].connected >= pruning.least_connected
        last[alive] = number
        progress.update(number, pruning.n_rounds, f"density {rounds[-1].density.mean():.3g}")
        if training.status in (TrainingStatus.OUT_OF_TIME, TrainingStatus.INTERRUPTED):
            status = training.status
            break
        if not alive.any():
            status = TrainingStatus.STOPPED_EARLY
            break
        if number < pruning.n_rounds:
            fit.drop_weights(current, number)
    return Pruning(tuple(rounds), status, last, time.perf_counter() - started)


def maskable(network: ReplicatedNetwork) -> MaskedNetwork:
    """A copy with masks that every replica has for itself."""
    if isinstance(network, MirrorNetwork):
        network = to_masked(network)
    found = copy.deepcopy(check_kind("network", network, MaskedNetwork))
    found.set_masks([mask.clone() for mask in found.masks()], found.mask_origin)
    return found


@dataclass(frozen=True)
class _Fit:
    """What all rounds share."""

    data: TrainingData
    config: TrainingConfig
    pruning: PruningConfig
    loss: Loss | None
    penalties: list[Penalty]
    seeds: list[int]

    def __post_init__(self) -> None:
        if self.config.n_epochs is not None:
            raise ConfigError("pruning counts in steps: give n_steps, not n_epochs")
        if self.pruning.rewind_step >= self.config.n_steps:
            raise ConfigError(
                f"weights cannot go back to step {self.pruning.rewind_step} of {self.config.n_steps}: rewind earlier"
            )

    def early_weights(self, network: MaskedNetwork) -> list[Tensor]:
        """The weights after the first steps of the schedule; all rounds begin with them."""
        if self.pruning.rewind_step:
            first = replace(self._part(0, self.pruning.rewind_step), patience=None, rungs=())
            data = replace(self.data, validation=None)
            train(network, data, first, loss=self.loss, penalties=self.penalties, seeds=self.seeds)
        return [p.detach().clone() for p in network.parameters()]

    def train(self, network: MaskedNetwork, time_limit: float | None) -> Training:
        part = self._part(self.pruning.rewind_step, self.config.n_steps)
        return train(
            network, self.data, part, loss=self.loss, penalties=self.penalties, seeds=self.seeds, time_limit=time_limit
        )

    def _part(self, start: int, end: int) -> TrainingConfig:
        """The steps from start to end, at the learning rates that the whole schedule has there."""
        whole, n = schedule(self.config.schedule), self.config.n_steps
        return replace(
            self.config, n_steps=end - start, schedule=lambda done: whole((start + done * (end - start)) / n)
        )

    def drop_weights(self, network: MaskedNetwork, number: int) -> None:
        masks = network.masks()
        scores = [w.detach().abs() for w in network.weights]
        if self.pruning.criterion == "random":
            scores = random_like(scores, self.seeds, number)
        for layer in range(network.n_layers - (not self.pruning.prune_output)):
            masks[layer] = without_smallest(masks[layer], scores[layer], self.pruning.share, layer)
        network.set_masks(masks, Origin.PRUNED)


def without_smallest(mask: Tensor, score: Tensor, share: float, layer: int = 0) -> Tensor:
    """The mask without a share of what it lets through, those of the lowest score, for each replica alone."""
    flat = mask.flatten(1).bool()
    kept = ((1 - share) * flat.sum(1).double() + 1e-9).floor().long()
    if bool((kept < 1).any()):
        raise ConfigError(f"pruning would leave no weight in layer {layer}: ask for fewer rounds or a smaller share")
    return among_highest(score.flatten(1).masked_fill(~flat, -torch.inf), kept).view_as(mask).to(mask.dtype)


def among_highest(score: Tensor, n: Tensor) -> Tensor:
    """Which entries of each replica's scores are among its n highest."""
    flat = score.flatten(1)
    order = flat.argsort(dim=1, descending=True, stable=True)
    chosen = torch.arange(flat.shape[1], device=flat.device) < n[:, None].to(flat.device)
    return torch.zeros_like(flat, dtype=torch.bool).scatter(1, order, chosen).view_as(score)


def random_like(tensors: Sequence[Tensor], seeds: Sequence[int], number: int) -> list[Tensor]:
    """Random numbers of the same shapes; a replica's depend on its own seed alone."""
    rngs = [np.random.default_rng([seed, number]) for seed in seeds]
    return [
        torch.as_tensor(np.stack([rng.random(t.shape[1:]) for rng in rngs]), dtype=t.dtype, device=t.device)
        for t in tensors
    ]


@torch.no_grad()
def connected_units(network: MaskedNetwork) -> np.ndarray:
    """Per replica the share of hidden units that are on a path from an input to an output."""
    masks = [m.bool() for m in check_kind("network", network, MaskedNetwork).masks()]
    if len(masks) == 1:
        return np.ones(network.n_replicas)
    reached = [torch.ones_like(masks[0][:, 0, :])]
    for mask in masks[:-1]:
        reached.append((mask & reached[-1].unsqueeze(1)).any(-1))
    used = [torch.ones_like(masks[-1][:, :, 0])]
    for mask in reversed(masks[1:]):
        used.insert(0, (mask & used[0].unsqueeze(-1)).any(1))
    both = torch.cat([a & b for a, b in zip(reached[1:], used[:-1], strict=True)], dim=1)
    return np.asarray(both.double().mean(1).cpu().numpy())


@torch.no_grad()
def _rewind(network: MaskedNetwork, early: Sequence[Tensor]) -> None:
    for parameter, value in zip(network.parameters(), early, strict=True):
        parameter.data = value.clone()


def _density(network: MaskedNetwork, pruning: PruningConfig) -> np.ndarray:
    masks = network.masks()[: network.n_layers - (not pruning.prune_output)]
    left, all_of_them = sum(m.sum((1, 2)) for m in masks), sum(m[0].numel() for m in masks)
    return (torch.as_tensor(left).double() / max(all_of_them, 1)).cpu().numpy()
