"""Gradient descent beside the optimum: wide shallow ReLU networks as replicas of one program.

f(x) = scale * sum_j c_j (w_j . x~)_+, without a constant, which is what the penalised problem is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from compsparse.checks import (
    MOST_REPLICAS,
    MOST_STEPS,
    RandomState,
    check_choice,
    check_count,
    check_device,
    check_flag,
    check_indices,
    check_list,
    check_number,
    check_numbers,
    own_seed,
)
from compsparse.errors import ConfigError
from compsparse.networks.replicas import (
    ReplicatedNetwork,
    check_weights,
    generators_for,
    per_replica_normal,
    replica_seeds,
)
from compsparse.sizes import check_work
from compsparse.sparse.memorisation.problem import (
    balanced_label_noise_penalty,
    checked_points,
    label_noise_penalty,
    with_one,
)
from compsparse.surroundings import usual_settings
from compsparse.text import in_a_line
from compsparse.training import Loss, TrainingConfig, train, training_data

Regulariser = Literal["none", "weight-decay", "label-noise"]


class ShallowReLU(ReplicatedNetwork):
    """M ReLU neurons with inner weights (R, M, d+1) and outer weights (R, M); ``scale`` 1/M is the mean-field one."""

    def __init__(self, n_inputs: int, width: int, scale: float, size: float, seeds: Sequence[int]):
        super().__init__(n_inputs, 1, len(seeds))
        generators = generators_for(seeds)
        self.scale = scale
        self.inner = nn.Parameter(size * per_replica_normal((width, n_inputs + 1), generators) / (n_inputs + 1) ** 0.5)
        self.outer = nn.Parameter(size * per_replica_normal((width,), generators))

    def run(self, columns: Tensor) -> Tensor:
        """Values (R, 1, batch) at points (R, d, batch)."""
        one = torch.ones_like(columns[:, :1])
        hidden = torch.relu(torch.bmm(self.inner, torch.cat([columns, one], dim=1)))
        return self.scale * torch.bmm(self.outer.unsqueeze(1), hidden)


class NoisyLabels(Loss):
    """Half the squared error against labels with fresh Gaussian noise at every step."""

    def __init__(self, deviation: float, seed: int = 0):
        self.deviation, self.seed = deviation, seed
        self.generator: torch.Generator | None = None

    def per_sample(self, prediction: Tensor, target: Tensor) -> Tensor:
        """The loss of each row of each replica."""
        if self.generator is None:
            self.generator = torch.Generator(device=prediction.device).manual_seed(self.seed)
        noise = torch.randn(
            prediction.shape, generator=self.generator, device=prediction.device, dtype=prediction.dtype
        )
        return 0.5 * (prediction - target - self.deviation * noise).square().mean(-1)


@dataclass(frozen=True, eq=False)
class Descended:
    """One network that descent found, as sum_j c_j (theta_j . x~)_+.

    Attributes:
        residual: largest abs(f(x_i) - y_i).
    """

    theta: np.ndarray
    c: np.ndarray
    residual: float

    def __repr__(self) -> str:
        return f"Descended({len(self.c):,} neurons, cost {self.cost:.4g}, residual {self.residual:.1g})"

    def predict(self, X: object) -> np.ndarray:
        """The network at the rows of X."""
        table = check_numbers("X", X, shape=(None, self.theta.shape[1] - 1), finite=False)
        return np.asarray(np.maximum(with_one(table) @ self.theta.T, 0.0) @ self.c)

    @property
    def cost(self) -> float:
        """sum_j abs(c_j) norm(theta_j), to be compared with the value V."""
        return float((np.abs(self.c) * np.linalg.norm(self.theta, axis=1)).sum())

    def label_noise_penalty(self, X: np.ndarray, balanced: bool = False) -> float:
        """The implicit penalty; ``balanced`` takes the best scale of every neuron."""
        check_flag("balanced", balanced)
        return (balanced_label_noise_penalty if balanced else label_noise_penalty)(X, self.theta, self.c)

    def support(self, angle: float = 0.1, share: float = 0.01) -> np.ndarray:
        """Clusters of neurons that carry at least the given share of the cost, dearest first.

        Each is the sum of its members' unit directions, weighted by what they cost.
        """
        angle, share = check_number("angle", angle, least=0), check_number("share", share, least=0, most=1)
        size = np.linalg.norm(self.theta, axis=1)
        mass, unit = np.abs(self.c) * size, self.theta / np.maximum(size, 1e-300)[:, None]
        same = (unit @ unit.T > np.cos(angle)) & (np.sign(self.c)[:, None] == np.sign(self.c))
        left, found = np.ones(len(mass), dtype=bool), []
        while left.any():
            j = int(np.where(left, mass, -1.0).argmax())
            members = same[j] & left
            members[j] = True  # at an angle of zero rounding keeps a neuron apart from itself
            if mass[members].sum() >= share * mass.sum():
                found.append(mass[members] @ unit[members])
            left &= ~members
        return np.array(found).reshape(len(found), self.theta.shape[1])


@in_a_line
@dataclass(frozen=True, eq=False)
class Descents:
    """What descent found from each start."""

    networks: tuple[Descended, ...]
    seconds: float


@usual_settings()
def descend(
    X: object,
    y: object,
    *,
    width: int,
    regulariser: Regulariser = "weight-decay",
    strength: float | None = None,
    n_steps: int = 20_000,
    learning_rate: float | None = None,
    batch_size: int | None = None,
    n_replicas: int = 3,
    random_state: RandomState = None,
    device: str | None = None,
    groups: Sequence[Sequence[int]] | None = None,
) -> Descents:
    """Trains wide shallow networks on the data by (stochastic) gradient descent.

    Args:
        regulariser: ``none``, ``weight-decay`` (decay of all weights, lowered to nothing) or
            ``label-noise`` (fresh noise on the labels at every step, then none).
        strength: of the decay, or standard deviation of the noise.
        n_replicas: starts on each data set.
        random_state: a seed, or a generator that a seed is drawn from.
        groups: positions of the rows of data sets to learn apart; one after the other they get ``n_replicas``
            networks each.
    """
    check_choice("regulariser", regulariser, get_args(Regulariser))
    check_device(device)
    n_steps, width = check_count("n_steps", n_steps, most=MOST_STEPS), check_count("width", width)
    n_replicas = check_count("n_replicas", n_replicas, most=MOST_REPLICAS)
    batch_size = None if batch_size is None else check_count("batch_size", batch_size, most=2**31 - 1)
    seed = check_count("random_state", own_seed(random_state), least=0, most=2**63 - 1)
    strength = None if strength is None else check_number("strength", strength, least=0)
    learning_rate = None if learning_rate is None else check_number("learning_rate", learning_rate, above=0)
    table, target = checked_points(X, y)
    rows = [list(range(len(table)))] if groups is None else _groups(groups, len(table))
    check_work("the number of networks", n_replicas * len(rows), MOST_REPLICAS, "take fewer replicas or groups")
    check_weights(float(width) * (table.shape[1] + 2), n_replicas * len(rows))
    mine = [g for g in rows for _ in range(n_replicas)]
    data = training_data(table, target, train=mine, dtype=torch.float64, device=device)
    noisy = regulariser == "label-noise"
    scale = 1.0 if noisy else 1.0 / width
    size = (2.0 / width) ** 0.25 if noisy else 1.0
    network = ShallowReLU(table.shape[1], width, scale, size, replica_seeds(seed, len(mine)))
    network = network.to(device=device, dtype=torch.float64)
    rate = learning_rate or (0.05 if noisy else 0.05 * width)
    seconds = 0.0
    for share, amount in _phases(regulariser, strength):
        config = TrainingConfig(
            n_steps=max(1, round(share * n_steps)),
            batch_size=(batch_size or 1) if noisy and amount else batch_size,
            learning_rate=rate,
            weight_decay=0.0 if noisy else amount / width,
            optimizer="sgd",
            momentum=0.0 if noisy and amount else 0.9,
            schedule="constant" if amount else "cosine",
            evaluate_every=10**9,
        )
        loss = NoisyLabels(amount if noisy else 0.0, seed)
        seconds += train(network, data, config, loss=loss, random_state=seed).seconds
    inner, outer = (p.detach().cpu().numpy() for p in (network.inner, network.outer))
    networks = []
    for r, g in enumerate(mine):
        run = Descended(inner[r], scale * outer[r], 0.0)
        residual = float(np.abs(run.predict(table[g]) - target[g]).max())
        networks.append(Descended(inner[r], scale * outer[r], residual))
    return Descents(tuple(networks), seconds)


def _groups(groups: Sequence[Sequence[int]], n: int) -> list[list[int]]:
    found = [check_indices("groups", group, n) for group in check_list("groups", groups)]
    if not found or not all(found):
        raise ConfigError("every group must name at least one row")
    return found


def _phases(regulariser: Regulariser, strength: float | None) -> list[tuple[float, float]]:
    """(share of steps, strength): the regulariser acts, and then the data are fitted."""
    if regulariser == "none":
        return [(1.0, 0.0)]
    if regulariser == "label-noise":
        s = 0.5 if strength is None else strength
        return [(0.6, s), (0.2, s / 3), (0.2, 0.0)]
    s = 0.02 if strength is None else strength
    return [(0.4, s), (0.3, s / 10), (0.2, s / 100), (0.1, 0.0)]
