"""The one training loop: R replicas by gradients, each on its own rows, with its own best weights."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from compsparse.checks import RandomState, brief, check_kind, check_list, suggests_options
from compsparse.clock import Deadline, look_at_clock
from compsparse.errors import ConfigError, DataError
from compsparse.networks.replicas import ReplicatedNetwork, check_network, chosen_seeds, keep_, replica_buffers
from compsparse.progress import Progress, check_progress
from compsparse.surroundings import usual_settings
from compsparse.text import in_a_line
from compsparse.training.config import TrainingConfig
from compsparse.training.data import BatchStream, TrainingData, data_for, padded
from compsparse.training.losses import Loss, SquaredLoss
from compsparse.training.memory import reused_allocations
from compsparse.training.named_penalties import Penalties, check_penalties
from compsparse.training.penalties import Penalty
from compsparse.training.record import ReplicaStatus, Training, TrainingStatus
from compsparse.training.steps import steps_for
from compsparse.training.threads import ThreadPace

_COMPACT_BELOW = 0.8
_MOST_ROWS_AT_ONCE = 1_000_000
"""Rows times replicas that one evaluation takes, to bound its memory."""
_MOST_ROWS_OF_TRAIN_LOSS = 20_000
"""Rows, evenly spread, on which a replica's training loss is taken at the end: on hundreds of thousands it would
cost more than the training, and after the time limit."""


@in_a_line
@dataclass(frozen=True)
class TrainingState:
    """What callbacks see at each evaluation: the replicas in the program and the best loss of each so far.

    Attributes:
        trains: whether each of them still trains; one that has ended stays until the program is made smaller.
    """

    step: int
    n_steps: int
    network: ReplicatedNetwork
    replicas: np.ndarray
    validation_loss: np.ndarray
    trains: np.ndarray


Callback = Callable[[TrainingState], bool | None]
"""Called at each evaluation; returning True ends training."""


@suggests_options
@usual_settings()
def train(
    network: ReplicatedNetwork,
    data: TrainingData | tuple[Any, Any],
    config: TrainingConfig | None = None,
    *,
    loss: Loss | None = None,
    penalties: Penalties = (),
    callbacks: Sequence[Callback] = (),
    progress: Progress | None = None,
    time_limit: float | None = None,
    random_state: RandomState = None,
    seeds: Sequence[int] | None = None,
) -> Training:
    """Trains every replica of the network in place and returns what happened.

    Ctrl-C and the time limit end training early; the record says so and the network holds the
    best weights so far.

    Args:
        data: what :func:`training_data` makes, or a pair ``(X, y)`` of arrays or tensors.
        penalties: as objects, or as strengths by name, ``{"l1": 1e-3}``.
        random_state: seed of the batch order; replica r gets the same one in any company.
        seeds: a list with one seed per replica instead.
    """
    check_network(network)
    data = data_for(data, network)
    config = TrainingConfig() if config is None else check_kind("config", config, TrainingConfig)
    loss = SquaredLoss() if loss is None else check_kind("loss", loss, Loss)
    listener, deadline = check_progress(progress), Deadline.after(time_limit)
    plugged, callbacks = check_penalties(penalties), check_list("callbacks", callbacks)
    for callback in callbacks:
        if not callable(callback):
            raise ConfigError(f"callbacks must be functions of the training's state, got {brief(callback)}")
    n = network.n_replicas
    _check(network, data, config, loss, n)
    seeds = chosen_seeds(random_state, seeds, n)
    with reused_allocations(), ThreadPace(next(network.parameters()).device) as pace:
        run = _Run(network, data, config, loss, plugged, seeds, pace)
        return run.train(callbacks, listener, deadline)


def _check(network: ReplicatedNetwork, data: TrainingData, config: TrainingConfig, loss: Loss, n: int) -> None:
    if data.X.shape[1] != network.n_inputs:
        raise DataError(f"the network has {network.n_inputs} inputs but X has {data.X.shape[1]} columns")
    _check_target(data.y, network.n_outputs, loss)
    for name, subsets in (("train", data.train), ("validation", data.validation)):
        if subsets is not None and len(subsets) != n:
            raise DataError(f"{n} replicas need as many {name} subsets, got {len(subsets)}")
    if data.validation is None and (config.patience is not None or config.rungs):
        raise ConfigError("patience and rungs need validation rows to judge by")
    lengths = {len(rows) for rows in data.train_rows(n)}
    if config.n_epochs is not None and config.optimizer != "sgd" and len(lengths) > 1:
        raise ConfigError("epochs over different numbers of rows need a learning rate per replica: optimizer='sgd'")


def _check_target(y: Tensor, n_outputs: int, loss: Loss) -> None:
    """Refuses classes where a loss compares numbers, numbers where it compares classes, and what does not fit it."""
    name, n_targets = type(loss).__name__, loss.n_targets(n_outputs)
    if y.is_floating_point():
        if loss.of_classes:
            raise DataError(
                f"{name} compares classes but y holds numbers: take a loss of numbers such as SquaredLoss, or "
                "training_data(…, classification=True)"
            )
        if y.ndim != 2 or y.shape[1] != n_targets:
            found = f"{y.shape[1]} columns" if y.ndim == 2 else f"shape {tuple(y.shape)}"
            wanted = "" if n_targets == n_outputs else f"; {name} compares with {n_targets}"
            raise DataError(f"the network has {n_outputs} outputs but y has {found}{wanted}")
    elif loss.of_classes is False:
        raise DataError(
            f"{name} compares numbers but y holds classes: take a loss of classes such as CrossEntropy, or "
            "training_data(…, classification=False)"
        )
    elif loss.of_classes and not 0 <= int(y.min()) <= int(y.max()) < n_outputs:
        raise DataError(
            f"the network has {n_outputs} outputs, for classes from 0 to {n_outputs - 1}, but y holds others"
        )


class _Run:
    """The moving parts of one training: which replicas still train, and the best seen of each."""

    def __init__(
        self,
        network: ReplicatedNetwork,
        data: TrainingData,
        config: TrainingConfig,
        loss: Loss,
        penalties: Sequence[Penalty],
        seeds: Sequence[int],
        pace: ThreadPace,
    ):
        self.network, self.data, self.config, self.loss = network, data, config, loss
        self.n = network.n_replicas
        self.parameters = list(network.parameters())
        self.device = self.parameters[0].device
        self.rows = data.train_rows(self.n)
        batch = config.batch_size or max(len(r) for r in self.rows)
        self.stream = BatchStream(self.rows, batch, seeds, self.device)
        self.last_step = self._last_steps()
        self.steps = steps_for(network, data, config, self.stream, self.last_step, loss, penalties, pace)
        self.alive = torch.arange(self.n)
        self.best = [p.detach().clone() for p in self.parameters]
        self.best_buffers = [buffer.clone() for _, _, buffer in replica_buffers(network)]
        self.best_loss = torch.full((self.n,), torch.inf)
        self.best_step = torch.zeros(self.n, dtype=torch.long)
        self.looks_without_gain = torch.zeros(self.n, dtype=torch.long)
        self.trains = torch.ones(self.n, dtype=torch.bool)
        self.status: list[ReplicaStatus] = [ReplicaStatus.FINISHED] * self.n
        self.history: list[tuple[int, Tensor]] = []

    def _last_steps(self) -> Tensor:
        """The number of steps each replica takes."""
        epochs = self.config.n_epochs
        if epochs is None:
            return torch.full((self.n,), self.config.n_steps)
        return torch.tensor([epochs * math.ceil(len(rows) / self.stream.batch) for rows in self.rows])

    # ---- the loop ------------------------------------------------------------------------

    def train(self, callbacks: Sequence[Callback], progress: Progress, deadline: Deadline) -> Training:
        started = time.perf_counter()
        status, step, last = TrainingStatus.FINISHED, 0, int(self.last_step.max())
        rungs = {max(1, round(at * last)): kept for at, kept in self.config.rungs}
        to_look_at = sorted({*rungs, *self.last_step.tolist()})
        self.network.train()
        try:
            self._look(0)
            while step < last:
                regular = step + self.config.evaluate_every - step % self.config.evaluate_every
                next_look = min(regular, to_look_at[bisect_right(to_look_at, step)])
                step += self.steps.advance(step, next_look - step)
                look_at_clock()
                late = deadline.is_over
                if step < next_look and not late:
                    continue
                self._look(step)
                if step in rungs:
                    self._halve(rungs[step], step)
                self._compact()
                progress.update(step, last, self._message())
                if len(self.alive) == 0:
                    status = TrainingStatus.STOPPED_EARLY if step < last else TrainingStatus.FINISHED
                    break
                answers = [callback(self._state(step)) for callback in callbacks]
                if any(answers):
                    status = TrainingStatus.CALLBACK
                    break
                if late and step < last:
                    status = TrainingStatus.OUT_OF_TIME
                    break
        except KeyboardInterrupt:
            status = TrainingStatus.INTERRUPTED
        return self._record(status, step, time.perf_counter() - started)

    def _message(self) -> str:
        best = float(self.best_loss.min())
        return f"{len(self.alive)} replicas" + (f", best loss {best:.3g}" if np.isfinite(best) else "")

    # ---- judging -------------------------------------------------------------------------

    @torch.no_grad()
    def _look(self, step: int) -> None:
        """Judges the replicas that still train, keeps improved weights, ends those that are done."""
        if self.data.validation is not None:
            self._validate(step, self.data.validation)
        loss = self.steps.mean_losses()
        if loss is not None:
            self._end(~torch.isfinite(loss), ReplicaStatus.DIVERGED, step)
            if self.config.stop_at_loss is not None:
                self._end(loss <= self.config.stop_at_loss, ReplicaStatus.REACHED, step)
        self._end(self.last_step[self.alive] <= step, ReplicaStatus.FINISHED, step)

    def _validate(self, step: int, validation: Sequence[Tensor]) -> None:
        losses = self._losses([validation[i] for i in self.alive.tolist()])
        row = torch.full((self.n,), torch.nan)
        row[self.alive] = losses
        self.history.append((step, row))
        improved = self.trains[self.alive] & (losses < self.best_loss[self.alive])
        winners = self.alive[improved]
        self.best_loss[winners], self.best_step[winners] = losses[improved], step
        self._keep_weights(improved)
        self.looks_without_gain[self.alive] += 1
        self.looks_without_gain[winners] = 0
        self._end(~torch.isfinite(losses), ReplicaStatus.DIVERGED, step)
        if self.config.patience is not None:
            tired = self.looks_without_gain[self.alive] >= self.config.patience
            self._end(tired & torch.isfinite(losses), ReplicaStatus.STOPPED_EARLY, step)

    @torch.no_grad()
    def _losses(self, rows: Sequence[Tensor]) -> Tensor:
        """Weighted mean loss of each training replica on its rows, on the CPU."""
        at = padded(rows, self.device)
        lengths = torch.tensor([len(r) for r in rows], device=self.device)
        weight = (torch.arange(at.shape[1], device=self.device) < lengths[:, None]).to(self.parameters[0].dtype)
        if self.data.sample_weight is not None:
            weight = weight * self.data.sample_weight[at]
        same = all(r is rows[0] or torch.equal(r, rows[0]) for r in rows)
        parts = at.chunk(math.ceil(at.numel() / _MOST_ROWS_AT_ONCE), dim=1)
        self.network.eval()
        prediction = torch.cat(
            [self.network(self.data.X[p[0] if same else p]).reshape(len(rows), p.shape[1], -1) for p in parts], dim=1
        )
        self.network.train()
        return self.loss.mean(prediction, self.data.y[at], weight).cpu().float()

    def _end(self, which: Tensor, why: ReplicaStatus, step: int) -> None:
        """Ends those of the replicas in the program that still train; without validation their weights stay as now."""
        ends = which & self.trains[self.alive]
        if not bool(ends.any()):
            return
        ended = self.alive[ends]
        self.trains[ended] = False
        for i in ended.tolist():
            self.status[i] = why
        if self.data.validation is None:
            self._keep_weights(ends)
            self.best_step[ended] = step

    def _keep_weights(self, which: Tensor) -> None:
        chosen, at = which.to(self.device), self.alive[which].to(self.device)
        for kept, parameter in zip(self.best, self.parameters, strict=True):
            kept[at] = parameter.detach()[chosen]
        for kept, (_, _, buffer) in zip(self.best_buffers, replica_buffers(self.network), strict=True):
            kept[at] = buffer[chosen]

    def _halve(self, kept: float, step: int) -> None:
        training = [i for i in self.alive.tolist() if self.trains[i]]
        ranked = sorted(training, key=lambda i: float(self.best_loss[i]))
        dropped = torch.isin(self.alive, torch.tensor(ranked[max(1, round(kept * len(training))) :], dtype=torch.long))
        self._end(dropped, ReplicaStatus.DROPPED, step)

    def _compact(self) -> None:
        """Leaves replicas that have ended out of the program once that pays."""
        training = [k for k, i in enumerate(self.alive.tolist()) if self.trains[i]]
        if training and len(training) > _COMPACT_BELOW * len(self.alive):
            return
        self.alive = self.alive[training]
        if not training:
            return
        self.stream.keep(training)
        chosen = torch.tensor(training, dtype=torch.long)
        keep_(self.network, chosen)
        self.steps.keep(chosen)

    # ---- the end -------------------------------------------------------------------------

    def _state(self, step: int) -> TrainingState:
        alive = self.alive.numpy()
        best, trains = self.best_loss.numpy()[alive], self.trains.numpy()[alive]
        return TrainingState(step, self.config.n_steps, self.network, alive, best, trains)

    def _record(self, status: TrainingStatus, step: int, seconds: float) -> Training:
        if self.data.validation is None:
            self._end(torch.ones_like(self.alive, dtype=torch.bool), ReplicaStatus.FINISHED, step)
        for parameter, kept in zip(self.parameters, self.best, strict=True):
            parameter.data = kept
        for kept, (module, name, _) in zip(self.best_buffers, replica_buffers(self.network), strict=True):
            setattr(module, name, kept)
        for parameter in self.parameters:
            parameter.grad = None
        self.alive = torch.arange(self.n)
        train_loss = self._losses([rows[:: 1 + len(rows) // _MOST_ROWS_OF_TRAIN_LOSS] for rows in self.rows])
        self.network.eval()
        if self.data.validation is None:
            self.status = [
                old if math.isfinite(loss) else ReplicaStatus.DIVERGED
                for old, loss in zip(self.status, train_loss.tolist(), strict=True)
            ]
        judged = self.data.validation is not None
        return Training(
            network=self.network,
            status=status,
            replica_status=tuple(self.status),
            train_loss=train_loss.double().numpy(),
            validation_loss=(self.best_loss if judged else torch.full((self.n,), torch.nan)).double().numpy(),
            best_step=self.best_step.numpy(),
            n_steps=step,
            seconds=seconds,
            history_steps=np.array([at for at, _ in self.history], dtype=int),
            history=torch.stack([row for _, row in self.history]).double().numpy()
            if self.history
            else np.empty((0, self.n)),
        )
