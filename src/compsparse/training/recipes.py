"""Fitting a network to a graph well: many restarts at once, halving, a second-order finish.

A single training of the right graph often ends far from the optimum (the composition has poor
local minima), so restarts run together as replicas, the worse half leaves twice, the best few
are finished by Levenberg-Marquardt and averaged where that helps on the validation rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from compsparse.checks import (
    MOST_REPLICAS,
    RandomState,
    check_count,
    check_flag,
    check_kind,
    check_number,
    suggests_options,
)
from compsparse.clock import Deadline
from compsparse.errors import ConfigError, DataError, TrainingError
from compsparse.graph import AnyGraph, FunctionGraph, as_graph
from compsparse.networks.mirroring import MirrorConfig, MirrorNetwork
from compsparse.networks.plan import Sharing
from compsparse.networks.replicas import replica_seeds, select
from compsparse.progress import Progress, begin_stage, check_progress
from compsparse.surroundings import usual_settings
from compsparse.text import in_a_line
from compsparse.training.config import TrainingConfig
from compsparse.training.data import TrainingData, check_rows, training_data
from compsparse.training.layerwise import copy_nodes, lower_part
from compsparse.training.levenberg_marquardt import Refinement, refine
from compsparse.training.loop import train
from compsparse.training.losses import Loss, SquaredLoss
from compsparse.training.named_penalties import Penalties, check_penalties
from compsparse.training.penalties import Penalty
from compsparse.training.record import ReplicaStatus, Training, TrainingStatus

HALVING_TWICE = ((0.2, 0.5), (0.4, 0.5))
"""Rungs of :class:`TrainingConfig` at which the worse half of the restarts leaves."""
_LARGEST_JACOBIAN = 4e7
"""Entries above which the second-order finish is left out for its memory."""
_FINISH_WORK = 2e12
"""Multiplications the finish may spend (under a minute on two cores); counted, not timed, so that fits repeat."""
_FEWEST_ITERATIONS = 5
_NO_TIME = 1e-9
"""Seconds that are over after one step, so that there is a network to return."""


_MOST_STEPS, _FEWEST_STEPS, _STEPS_PER_ROW = 4000, 500, 20


def usual_steps(n_rows: int) -> int:
    """Training steps where none are asked for: few rows are learned soon, and the finish does the rest.

    >>> usual_steps(20), usual_steps(100), usual_steps(1000)
    (500, 2000, 4000)
    """
    return min(_MOST_STEPS, max(_FEWEST_STEPS, _STEPS_PER_ROW * n_rows))


def usual_training(n_steps: int = _MOST_STEPS) -> TrainingConfig:
    """The loop in which the worse half of the restarts leaves twice."""
    return TrainingConfig(n_steps=n_steps, batch_size=128, rungs=HALVING_TWICE)


@dataclass(frozen=True)
class FitConfig:
    """Settings of :func:`fit_graph`.

    Attributes:
        n_restarts: replicas that start.
        n_keep: most replicas in the final ensemble.
        training: settings of the training loop.
        layerwise: learn the lower levels first (see :mod:`~compsparse.training.layerwise`).
        refine_iterations: most Levenberg-Marquardt steps; 0 leaves the finish out.
        refine_share: largest share of the time limit, if there is one, left for the finish.
    """

    n_restarts: int = 64
    n_keep: int = 4
    training: TrainingConfig = field(default_factory=usual_training)
    layerwise: bool = False
    refine_iterations: int = 60
    refine_share: float = 0.3

    def __post_init__(self) -> None:
        check_count("n_restarts", self.n_restarts, most=MOST_REPLICAS)
        check_kind("training", self.training, TrainingConfig)
        check_count("n_keep", self.n_keep)
        check_flag("layerwise", self.layerwise)
        check_count("refine_iterations", self.refine_iterations, least=0)
        check_number("refine_share", self.refine_share, least=0, below=1)


@in_a_line
@dataclass(frozen=True)
class GraphFit:
    """A fitted network and how it was found.

    Attributes:
        network: its replicas are the members of an ensemble; predictions are their mean.
        validation_loss: loss of that mean on the validation rows; NaN without them.
        training: record of the restarts.
        refinement: record of the second-order finish, if there was one.
    """

    network: MirrorNetwork
    validation_loss: float
    training: Training
    refinement: Refinement | None
    seconds: float

    @property
    def status(self) -> TrainingStatus:
        """How the fit ended: what cut it short, if anything did."""
        finish = self.refinement.status if self.refinement is not None else TrainingStatus.FINISHED
        return self.training.status if finish is TrainingStatus.FINISHED else finish


@suggests_options
@usual_settings()
def fit_graph(
    graph: AnyGraph,
    X: Any,
    y: Any,
    config: FitConfig | None = None,
    *,
    validation: Sequence[int] | np.ndarray | None = None,
    sample_weight: Any = None,
    loss: Loss | None = None,
    penalties: Penalties = (),
    width: int = 24,
    depth: int = 2,
    activation: str = "silu",
    channels: int = 1,
    out_channels: int = 1,
    share: Sharing | Mapping[str, object] = "none",
    random_state: RandomState = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> GraphFit:
    """Fits networks that mirror ``graph`` to data and returns the best few as an ensemble.

    Args:
        config: the usual restarts and steps if None; tables of fewer than 200 rows take fewer steps.
        graph: a function graph, or what has one, as in :func:`~compsparse.networks.mirror`.
        X, y: standardised; tensors on the device to fit on, or arrays. y is (n, k) numbers, or (n,) classes with a loss
            for them.
        validation: rows that choose among restarts; the others train. None trains on all rows
            and chooses by training loss.
        penalties: as objects, or as strengths by name; with any, the second-order finish is left out.
        width, depth, activation, channels, out_channels, share: the shape of the networks; see
            :class:`~compsparse.networks.MirrorConfig`.
        time_limit: seconds for everything; the best networks so far are returned when they are over.

    Raises:
        TrainingError: every restart diverged.
    """
    started, deadline = time.perf_counter(), Deadline.after(time_limit)
    graph = as_graph("graph", graph)
    config = None if config is None else check_kind("config", config, FitConfig)
    loss = SquaredLoss() if loss is None else check_kind("loss", loss, Loss)
    progress = check_progress(progress)
    plugged = tuple(check_penalties(penalties))
    X, y, sample_weight = _as_tensors(X, y, sample_weight)
    config = FitConfig(training=usual_training(usual_steps(len(X)))) if config is None else config
    loop = config.training if validation is not None else replace(config.training, rungs=(), patience=None)
    seeds = replica_seeds(random_state, config.n_restarts)
    fit = _Restarts(
        MirrorConfig(width, depth, activation, channels, out_channels, share),
        _data(X, y, sample_weight, validation, config.n_restarts),
        loss,
        plugged,
        seeds,
    )
    network = fit.network(graph)
    loop_time = None if time_limit is None else time_limit * (1 - config.refine_share)
    interrupted = False
    if config.layerwise:
        loop_time = None if loop_time is None else loop_time / graph.depth
        try:
            fit.train_lower_levels(graph, network, replace(loop, rungs=(), patience=None), loop_time)
        except KeyboardInterrupt:
            loop_time, interrupted = _NO_TIME, True
    begin_stage(progress, f"training {config.n_restarts} networks")
    training = fit.train(network, loop, loop_time, progress)
    if interrupted:
        training = replace(training, status=TrainingStatus.INTERRUPTED)
    if all(status is ReplicaStatus.DIVERGED for status in training.replica_status):
        raise TrainingError(
            f"all {config.n_restarts} restarts diverged: lower the learning rate (it was {loop.learning_rate:g})"
        )
    finite = np.isfinite(training.train_loss)
    best = select(network, [i for i in training.ranking.tolist() if finite[i]][: config.n_keep])
    data = fit.data.for_replicas(range(best.n_replicas))
    refinement = None
    iterations = _finish_iterations(best, data, config)
    squared = isinstance(fit.loss, SquaredLoss)
    if iterations and squared and not plugged and training.status is not TrainingStatus.INTERRUPTED:
        begin_stage(progress, f"sharpening the best {best.n_replicas}")
        refinement = refine(best, data, iterations, time_limit=deadline.time_limit, progress=progress)
    members, value = _ensemble(best, data, fit.loss)
    return GraphFit(select(best, members), value, training, refinement, time.perf_counter() - started)


@dataclass(frozen=True)
class _Restarts:
    """What all networks of one fit share: their shape, their data, what they minimise, and one seed per restart."""

    shape: MirrorConfig
    data: TrainingData
    loss: Loss
    penalties: tuple[Penalty, ...]
    seeds: list[int]

    def network(self, graph: FunctionGraph) -> MirrorNetwork:
        X = self.data.X
        return MirrorNetwork(graph, self.shape, len(self.seeds), self.seeds).to(device=X.device, dtype=X.dtype)

    def train(
        self, network: MirrorNetwork, config: TrainingConfig, time_limit: float | None, progress: Progress | None = None
    ) -> Training:
        shared: dict[str, Any] = {"loss": self.loss, "penalties": self.penalties, "seeds": self.seeds}
        return train(network, self.data, config, progress=progress, time_limit=time_limit, **shared)

    def train_lower_levels(
        self, graph: FunctionGraph, network: MirrorNetwork, config: TrainingConfig, time_limit: float | None
    ) -> None:
        """Trains the lower levels under free upper parts and copies what they learned."""
        before: MirrorNetwork | None = None
        for level in range(1, graph.depth):
            stage = self.network(lower_part(graph, level))
            if before is not None:
                copy_nodes(before, stage)
            record = self.train(stage, config, time_limit)
            before = stage
            if record.status is TrainingStatus.INTERRUPTED:
                copy_nodes(before, network)
                raise KeyboardInterrupt
        if before is not None:
            copy_nodes(before, network)


def _as_tensors(X: Any, y: Any, sample_weight: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    given = (X, y) if sample_weight is None else (X, y, sample_weight)
    if not all(isinstance(values, Tensor) for values in given):
        data = training_data(X, y, sample_weight=sample_weight)
        return data.X, data.y, data.sample_weight
    if X.ndim != 2 or not X.shape[0] or not X.is_floating_point():
        raise DataError(f"X must be a table of floats of at least one row, got shape {tuple(X.shape)}")
    if y.ndim not in (1, 2) or len(y) != len(X):
        raise DataError(f"X has {len(X)} rows but y has shape {tuple(y.shape)}")
    if sample_weight is not None and sample_weight.shape != (len(X),):
        raise DataError("sample_weight must hold one number >= 0 per row")
    return X, y, sample_weight


def _data(
    X: Tensor, y: Tensor, sample_weight: Tensor | None, validation: Sequence[int] | np.ndarray | None, n_replicas: int
) -> TrainingData:
    if validation is None:
        return TrainingData(X, y, sample_weight)
    held_out = check_rows(validation, len(X))
    is_train = torch.ones(len(X), dtype=torch.bool)
    is_train[held_out] = False
    rest = is_train.nonzero().squeeze(1)
    if not len(rest):
        raise ConfigError("the validation rows leave none to train on")
    return TrainingData(X, y, sample_weight, (rest,) * n_replicas, (held_out,) * n_replicas)


def _finish_iterations(network: MirrorNetwork, data: TrainingData, config: FitConfig) -> int:
    """Levenberg-Marquardt steps that the work allowed pays for; 0 where they would be too few to matter."""
    n = len(data.train_rows(network.n_replicas)[0]) * network.n_outputs
    p = sum(weights[0].numel() for weights in network.parameters())
    if n * p > _LARGEST_JACOBIAN:
        return 0
    affordable = int(_FINISH_WORK / (network.n_replicas * n * p * min(n, p)))
    return min(config.refine_iterations, affordable) if affordable >= _FEWEST_ITERATIONS else 0


@torch.no_grad()
def _ensemble(network: MirrorNetwork, data: TrainingData, loss: Loss) -> tuple[list[int], float]:
    """The prefix of the ranking whose mean does best on the validation rows."""
    if data.validation is None:
        return list(range(network.n_replicas)), float("nan")
    rows = data.validation[0].to(data.X.device)
    out = network(data.X[rows]).reshape(network.n_replicas, len(rows), -1)
    y = data.y[rows].unsqueeze(0)
    weight = None if data.sample_weight is None else data.sample_weight[rows].unsqueeze(0)
    order = loss.mean(out, y, weight).argsort()
    losses = [float(loss.mean(out[order[: k + 1]].mean(0, keepdim=True), y, weight)) for k in range(len(order))]
    size = int(np.nanargmin(losses)) + 1 if np.isfinite(losses).any() else 1
    return order[:size].tolist(), losses[size - 1]
