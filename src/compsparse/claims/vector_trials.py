"""Trials on targets of several columns: fresh rows for every seed, all seeds trained as replicas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from compsparse.claims.trials import Trials
from compsparse.networks.replicas import ReplicatedNetwork
from compsparse.training import Loss, TrainingConfig, TrainingData, train

Draw = Callable[[int, int], tuple[np.ndarray, np.ndarray]]
"""From a number of rows and a seed to inputs (rows, d) and targets (rows, k)."""
_TEST_ROWS = 10_000
TEST_SEED = 10**6


def run_vector_trials(
    network: ReplicatedNetwork,
    draw: Draw,
    rows: int,
    config: TrainingConfig,
    *,
    finish: Callable[[ReplicatedNetwork, TrainingData], object] | None = None,
) -> Trials:
    """Trains the network as :func:`train_on_draws` does, then measures each replica by :func:`fresh_errors`."""
    data = train_on_draws(network, draw, rows, config)
    if finish is not None:
        finish(network, data)
    return Trials(fresh_errors(network, draw))


def train_on_draws(
    network: ReplicatedNetwork, draw: Draw, rows: int, config: TrainingConfig, *, loss: Loss | None = None
) -> TrainingData:
    """Trains the network in place, replica r on the rows of seed r, on a GPU if there is one.

    A tenth of each sample validates: it picks each replica's best weights.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network.to(device)
    drawn = [draw(rows, seed) for seed in range(network.n_replicas)]
    split = rows - rows // 10
    first = [rows * seed for seed in range(network.n_replicas)]
    data = TrainingData(
        _tensor(np.concatenate([X for X, _ in drawn]), device),
        _tensor(np.concatenate([y for _, y in drawn]), device),
        train=tuple(torch.arange(f, f + split) for f in first),
        validation=tuple(torch.arange(f + split, f + rows) for f in first),
    )
    train(network, data, config, loss=loss, random_state=0)
    return data


@torch.no_grad()
def fresh_errors(network: ReplicatedNetwork, draw: Draw) -> np.ndarray:
    """Mean squared error of each replica on fresh rows, as a share of the targets' mean square.

    An answer that is not finite counts as the answer zero.
    """
    X, y = draw(_TEST_ROWS, TEST_SEED)
    device = next(network.parameters()).device
    target = _tensor(y, device)
    answers = torch.cat([network(part) for part in _tensor(X, device).split(2000)], dim=-2)
    errors = (answers - target).square().sum(-1).mean(-1) / target.square().sum(-1).mean()
    return np.atleast_1d(errors.nan_to_num(1.0, 1.0).cpu().numpy())


def _tensor(values: np.ndarray, device: str | torch.device) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float32, device=device)
