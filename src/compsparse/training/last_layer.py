"""The last layer of a dense network in closed form: given the features, it is ridge regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from compsparse.checks import check_kind, check_list, check_number
from compsparse.errors import ConfigError
from compsparse.networks.cells import Cells
from compsparse.networks.mirroring import MirrorNetwork
from compsparse.training.data import TrainingData, data_for

_RIDGES = (1e-8, 1e-6, 1e-4, 1e-2)


@torch.no_grad()
def solve_last_layer(
    network: MirrorNetwork, data: TrainingData | tuple[Any, Any], ridges: Sequence[float] = _RIDGES
) -> Tensor:
    r"""Replaces each replica's output weights by the minimiser of
    :math:`\frac1n\|y - Hv - c\|^2 + \rho s\|v\|^2`, in place; s is the mean variance of the features.

    The ridge is the one with the lowest validation loss; weights that were there already stay
    where they do better. Without validation rows the smallest ridge is taken.

    Returns:
        The validation loss of each replica after the replacement (training loss without validation).

    Raises:
        ConfigError: the network is not a dense one (a single node), or samples have weights.
    """
    check_kind("network", network, MirrorNetwork)
    data = data_for(data, network)
    ridges = [check_number("a ridge", ridge, least=0) for ridge in check_list("ridges", ridges)]
    if data.sample_weight is not None:
        raise ConfigError("the closed form does not know sample weights")
    if len(network.plan.groups) != 1 or network.graph.size != 1:
        raise ConfigError("only a dense network (a graph of one node) has its last layer in closed form")
    if not ridges:
        raise ConfigError("there must be at least one ridge to try")
    cells = network.cells(network.plan.groups[0])
    losses = []
    train_rows = data.train_rows(network.n_replicas)
    for r, rows in enumerate(train_rows):
        judged = rows if data.validation is None else data.validation[r]
        features, held_out = _features(cells, data.X[rows], r), _features(cells, data.X[judged], r)
        y, y_held_out = data.y[rows].double(), data.y[judged].double()
        candidates = [(cells.weights[-1][r, 0].double(), cells.biases[-1][r, 0].double())]
        candidates += _ridge(features, y, ridges if data.validation is not None else ridges[:1])
        scores = torch.stack([(y_held_out - held_out @ v.T - c).square().mean() for v, c in candidates])
        best = int(scores.nan_to_num(torch.inf).argmin())
        cells.weights[-1][r, 0], cells.biases[-1][r, 0] = candidates[best]
        losses.append(scores[best])
    return torch.stack(losses)


def _features(cells: Cells, X: Tensor, replica: int) -> Tensor:
    h = X.T
    for weight, bias in list(zip(cells.weights, cells.biases, strict=True))[:-1]:
        h = cells.activation(torch.addmm(bias[replica, 0].unsqueeze(-1), weight[replica, 0], h))
    return h.T.double()


def _ridge(H: Tensor, y: Tensor, ridges: Sequence[float]) -> list[tuple[Tensor, Tensor]]:
    """Output weights and bias for each ridge; the features' covariance is made once for all."""
    centre, target = H.mean(0), y.mean(0)
    centred = H - centre
    gram = centred.T @ centred / len(H)
    right = centred.T @ (y - target) / len(H)
    scale = gram.diagonal().mean().clamp(min=1e-12)
    identity = torch.eye(len(gram), dtype=H.dtype, device=H.device)
    solutions = []
    for ridge in ridges:
        factor, _ = torch.linalg.cholesky_ex(gram + ridge * scale * identity)
        v = torch.cholesky_solve(right, factor).T
        solutions.append((v, target - v @ centre))
    return solutions
