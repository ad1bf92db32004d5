"""Trials: one kind of network, several seeds with data of their own, all trained as replicas.

:func:`run_trials` is for tasks of one output, with restarts; :func:`run_vector_trials` for targets of several columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch

from compsparse.claims.seeds import FIRST_SEED, TEST_SEED
from compsparse.networks.replicas import ReplicatedNetwork
from compsparse.progress import Progress
from compsparse.sparse import SparseCodes
from compsparse.tasks import Task
from compsparse.training import Loss, TrainingConfig, TrainingData, train

_TEST_ROWS = 10_000

_Network = TypeVar("_Network", bound=ReplicatedNetwork)
Make = Callable[[int], _Network]
"""From a number of replicas to an untrained network."""
Finish = Callable[[_Network, TrainingData], object]
"""Improves a trained network in place."""
Draw = Callable[[int, int], tuple[np.ndarray, np.ndarray]]
"""From a number of rows and a seed to inputs (rows, d) and targets (rows, k)."""


def gpu_if_any() -> str | None:
    """Where claims train: on a GPU if there is one, else on the CPU."""
    return "cuda" if torch.cuda.is_available() else None


def placed(network: _Network) -> _Network:
    """The network where claims train."""
    return network.to(gpu_if_any() or "cpu")


@torch.no_grad()
def answers_of(network: ReplicatedNetwork, X: np.ndarray) -> np.ndarray:
    """What the network answers to rows of numbers or of symbols."""
    rows = torch.as_tensor(X, device=next(network.parameters()).device)
    answers: np.ndarray = network(rows.float() if rows.is_floating_point() else rows).cpu().numpy()
    return answers


@dataclass(frozen=True)
class Trials:
    """Test errors over seeds, as shares of the target's variance or mean square."""

    errors: np.ndarray

    @property
    def median(self) -> float:
        """Over seeds."""
        return float(np.median(self.errors))

    @property
    def low(self) -> float:
        """Of the best seed."""
        return float(self.errors.min())

    @property
    def high(self) -> float:
        """Of the worst seed."""
        return float(self.errors.max())

    def text(self) -> str:
        """Median and range."""
        return f"{self.median:.2g} ({self.low:.2g} to {self.high:.2g})"


# ---- one output ----------------------------------------------------------------------------------


def run_trials(
    make: Make[_Network],
    task: Task,
    n: int,
    config: TrainingConfig,
    *,
    n_seeds: int = 3,
    n_restarts: int = 1,
    finish: Finish[_Network] | None = None,
    progress: Progress | None = None,
) -> Trials:
    """Trains ``make(n_replicas)`` on one fresh sample of ``n`` rows per seed and measures unexplained variance.

    A fifth of each sample validates: it picks each replica's best weights, and the best of ``n_restarts`` replicas
    per seed.
    """
    network = placed(make(n_seeds * n_restarts))
    test = task.sample(_TEST_ROWS, random_state=TEST_SEED)
    scale, centre = float(test.clean.std()), float(test.clean.mean())
    samples = [task.sample(n, random_state=FIRST_SEED + seed) for seed in range(n_seeds)]
    drawn = [(s.X, (s.y[:, None] - centre) / scale) for s in samples]
    data = _replica_data(network, drawn, n_validation=n // 5)
    record = train(network, data, config, random_state=FIRST_SEED, progress=progress)
    if finish is not None:
        finish(network, data)
    prediction = answers_of(network, test.X).squeeze(-1)
    errors = ((prediction - (test.clean - centre) / scale) ** 2).mean(axis=1)
    chosen = record.validation_loss.reshape(n_seeds, n_restarts).argmin(axis=1) + n_restarts * np.arange(n_seeds)
    return Trials(errors[chosen])


# ---- several columns -----------------------------------------------------------------------------


def code_draws(task: SparseCodes) -> Draw:
    """Signals and the codes that made them."""

    def draw(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        drawn = task.sample(rows, random_state=seed)
        return drawn.X, drawn.Z

    return draw


def run_vector_trials(
    network: _Network, draw: Draw, rows: int, config: TrainingConfig, *, finish: Finish[_Network] | None = None
) -> Trials:
    """Trains the network as :func:`train_on_draws` does, then measures each replica by :func:`fresh_errors`."""
    data = train_on_draws(network, draw, rows, config)
    if finish is not None:
        finish(network, data)
    return Trials(fresh_errors(network, draw))


def train_on_draws(
    network: ReplicatedNetwork, draw: Draw, rows: int, config: TrainingConfig, *, loss: Loss | None = None
) -> TrainingData:
    """Trains the network in place, replica r on the rows of the r-th seed, on a GPU if there is one.

    A tenth of each sample validates: it picks each replica's best weights.
    """
    placed(network)
    drawn = [draw(rows, FIRST_SEED + seed) for seed in range(network.n_replicas)]
    data = _replica_data(network, drawn, n_validation=rows // 10)
    train(network, data, config, loss=loss, random_state=FIRST_SEED)
    return data


@torch.no_grad()
def fresh_errors(network: ReplicatedNetwork, draw: Draw) -> np.ndarray:
    """Mean squared error of each replica on fresh rows, as a share of the targets' mean square.

    An answer that is not finite counts as the answer zero.
    """
    X, y = draw(_TEST_ROWS, TEST_SEED)
    inputs, target = _tensor(X, network), _tensor(y, network)
    answers = torch.cat([network(inputs[i : i + 2000]) for i in range(0, len(inputs), 2000)], dim=-2)
    errors = (answers - target).square().sum(-1).mean(-1) / target.square().sum(-1).mean()
    return np.atleast_1d(errors.nan_to_num(1.0, 1.0).cpu().numpy())


# ---- both ----------------------------------------------------------------------------------------


def _replica_data(
    network: ReplicatedNetwork, drawn: Sequence[tuple[np.ndarray, np.ndarray]], *, n_validation: int
) -> TrainingData:
    """Equal shares of the replicas on each sample of inputs and targets; the last rows of a sample validate."""
    n = len(drawn[0][0])
    split, n_restarts = n - n_validation, network.n_replicas // len(drawn)
    first = [n * (r // n_restarts) for r in range(network.n_replicas)]
    return TrainingData(
        _tensor(np.concatenate([X for X, _ in drawn]), network),
        _tensor(np.concatenate([y for _, y in drawn]), network),
        train=tuple(torch.arange(f, f + split) for f in first),
        validation=tuple(torch.arange(f + split, f + n) for f in first),
    )


def _tensor(values: np.ndarray, network: ReplicatedNetwork) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float32, device=next(network.parameters()).device)
