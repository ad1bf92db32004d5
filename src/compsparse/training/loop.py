"""The one training loop: R replicas by gradients, each on its own rows, with its own best weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from compsparse.checks import (
    RandomState,
    brief,
    check_choice,
    check_kind,
    check_list,
    check_number,
    check_numbers,
    check_time_limit,
)
from compsparse.errors import ConfigError, DataError
from compsparse.networks.replicas import ReplicatedNetwork, check_network, chosen_seeds, keep_, replica_buffers
from compsparse.parameters import check_parameters
from compsparse.progress import Progress, Silent
from compsparse.training.cuda_graph import CapturedStep
from compsparse.training.data import BatchStream, TrainingData, padded
from compsparse.training.losses import Loss, SquaredLoss
from compsparse.training.memory import reused_allocations
from compsparse.training.named_penalties import Penalties, check_penalties
from compsparse.training.penalties import Penalty, ProximalPenalty, SmoothPenalty
from compsparse.training.record import ReplicaStatus, Training, TrainingStatus
from compsparse.training.schedules import Schedule, schedule
from compsparse.training.sgd import ReplicaSGD
from compsparse.training.threads import ThreadPace

_COMPACT_BELOW = 0.8
_MOST_ROWS_AT_ONCE = 1_000_000
"""Rows times replicas that one evaluation takes, to bound its memory."""
_MOST_ROWS_OF_TRAIN_LOSS = 20_000
"""Rows, evenly spread, on which a replica's training loss is taken at the end: on hundreds of thousands it would
cost more than the training, and after the time limit."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Settings of the loop; the defaults suit small networks on smooth targets.

    Attributes:
        batch_size: rows per step and replica; None takes all of them.
        optimizer: ``adamw`` or ``sgd``.
        schedule: a name from :mod:`~compsparse.training.schedules`, or a function.
        n_epochs: instead of ``n_steps``: every replica passes so often over rows of its own.
        evaluate_every: steps between looks at the validation rows and at training losses.
        stop_at_loss: end a replica once its training loss, averaged over the steps since the last look, is
            as low; None never does.
        patience: end a replica after so many looks without improvement; None never does.
        clip_norm: largest gradient norm per replica; None does not clip.
        rungs: (share of steps done, share of replicas kept) pairs: successive halving on
            validation loss. Without rungs a replica's result does not depend on the others.
    """

    n_steps: int = 2000
    batch_size: int | None = 256
    learning_rate: float = 1.5e-2
    weight_decay: float = 1e-3
    optimizer: str = "adamw"
    momentum: float = 0.9
    schedule: str | Schedule = "one_cycle"
    n_epochs: int | None = None
    evaluate_every: int = 50
    stop_at_loss: float | None = None
    patience: int | None = None
    clip_norm: float | None = None
    rungs: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        counts = ("n_steps", "evaluate_every", "n_epochs", "batch_size", "patience")
        check_parameters(**{name: getattr(self, name) for name in (*counts, "learning_rate", "weight_decay")})
        for name in ("learning_rate", "weight_decay"):
            object.__setattr__(self, name, float(getattr(self, name)))
        check_number("momentum", self.momentum, least=0, below=1)
        if self.stop_at_loss is not None:
            object.__setattr__(self, "stop_at_loss", check_number("stop_at_loss", self.stop_at_loss))
        if self.clip_norm is not None:
            object.__setattr__(self, "clip_norm", check_number("clip_norm", self.clip_norm, above=0))
        check_choice("optimizer", self.optimizer, ("adamw", "sgd"))
        object.__setattr__(self, "rungs", _rungs(self.rungs))
        schedule(self.schedule)


def _rungs(rungs: Any) -> tuple[tuple[float, float], ...]:
    table = check_numbers(
        "rungs", [list(check_list("a rung", r)) for r in check_list("rungs", rungs)], error=ConfigError
    )
    if table.size and (table.ndim != 2 or table.shape[1] != 2 or not _are_shares(table)):
        raise ConfigError(f"rungs are (share of steps, share kept) pairs between 0 and 1, got {brief(rungs)}")
    return tuple((at, kept) for at, kept in table.tolist())


def _are_shares(table: np.ndarray) -> bool:
    at, kept = table.T
    return bool(((at > 0) & (at < 1) & (kept > 0) & (kept <= 1)).all())


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


def train(
    network: ReplicatedNetwork,
    data: TrainingData,
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
        penalties: as objects, or as strengths by name, ``{"l1": 1e-3}``.
        random_state: seed of the batch order; replica r gets the same one in any company.
        seeds: a list with one seed per replica instead.
    """
    check_network(network)
    check_kind("data", data, TrainingData)
    config = TrainingConfig() if config is None else check_kind("config", config, TrainingConfig)
    loss = SquaredLoss() if loss is None else check_kind("loss", loss, Loss)
    check_parameters(progress=progress, time_limit=time_limit)
    plugged, callbacks = check_penalties(penalties), check_list("callbacks", callbacks)
    for callback in callbacks:
        if not callable(callback):
            raise ConfigError(f"callbacks must be functions of the training's state, got {brief(callback)}")
    n = network.n_replicas
    _check(network, data, config, loss, n)
    seeds, limit = chosen_seeds(random_state, seeds, n), check_time_limit(time_limit)
    run = _Run(network, data, config, loss, plugged, seeds)
    with reused_allocations(), ThreadPace(run.device) as pace:
        return run.train(callbacks, Silent() if progress is None else progress, limit, pace)


def _check(network: ReplicatedNetwork, data: TrainingData, config: TrainingConfig, loss: Loss, n: int) -> None:
    if data.X.shape[1] != network.n_inputs:
        raise DataError(f"the network has {network.n_inputs} inputs but X has {data.X.shape[1]} columns")
    targets = loss.n_targets(network.n_outputs)
    if data.y.is_floating_point() and data.y.shape[1] != targets:
        wanted = "" if targets == network.n_outputs else f"; {type(loss).__name__} compares with {targets}"
        raise DataError(f"the network has {network.n_outputs} outputs but y has {data.y.shape[1]} columns{wanted}")
    for name, subsets in (("train", data.train), ("validation", data.validation)):
        if subsets is not None and len(subsets) != n:
            raise DataError(f"{n} replicas need as many {name} subsets, got {len(subsets)}")
    if data.validation is None and (config.patience is not None or config.rungs):
        raise ConfigError("patience and rungs need validation rows to judge by")
    lengths = {len(rows) for rows in data.train_rows(n)}
    if config.n_epochs is not None and config.optimizer != "sgd" and len(lengths) > 1:
        raise ConfigError("epochs over different numbers of rows need a learning rate per replica: optimizer='sgd'")


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
    ):
        self.network, self.data, self.config, self.loss = network, data, config, loss
        self.smooth = [p for p in penalties if isinstance(p, SmoothPenalty)]
        self.proximal = [p for p in penalties if isinstance(p, ProximalPenalty)]
        self.n = network.n_replicas
        self.parameters = list(network.parameters())
        self.device = self.parameters[0].device
        self.rows = data.train_rows(self.n)
        batch = config.batch_size or max(len(r) for r in self.rows)
        self.stream = BatchStream(self.rows, batch, seeds, self.device)
        self.padding = self.stream.padding_weights()
        self.last_step = self._last_steps()
        self.longest = int(self.last_step.max())
        self.records = self.device.type == "cuda" and not self.proximal
        self.optimizer = self._make_optimizer()
        self.recorded = CapturedStep(self._descend) if self.records else None
        self.alive = torch.arange(self.n)
        self.best = [p.detach().clone() for p in self.parameters]
        self.best_buffers = [buffer.clone() for _, _, buffer in replica_buffers(network)]
        self.best_loss = torch.full((self.n,), torch.inf)
        self.best_step = torch.zeros(self.n, dtype=torch.long)
        self.looks_without_gain = torch.zeros(self.n, dtype=torch.long)
        self.loss_since_look = torch.zeros(self.n, device=self.device)
        self.steps_since_look = 0
        self.trains = torch.ones(self.n, dtype=torch.bool)
        self.status: list[ReplicaStatus] = [ReplicaStatus.FINISHED] * self.n
        self.history: list[tuple[int, Tensor]] = []

    def _last_steps(self) -> Tensor:
        """The number of steps each replica takes."""
        epochs = self.config.n_epochs
        if epochs is None:
            return torch.full((self.n,), self.config.n_steps)
        return torch.tensor([epochs * math.ceil(len(rows) / self.stream.batch) for rows in self.rows])

    def _make_optimizer(self) -> torch.optim.Optimizer | ReplicaSGD:
        c = self.config
        if c.optimizer == "sgd":
            return ReplicaSGD(self.parameters, c.momentum, c.weight_decay)
        # a recorded step reads its learning rate from a tensor
        rate = torch.tensor(c.learning_rate, device=self.device) if self.records else c.learning_rate
        return torch.optim.AdamW(
            self.parameters,
            rate,
            betas=(0.9, 0.99),
            weight_decay=c.weight_decay,
            fused=True,
            capturable=self.records,
        )

    # ---- the loop ------------------------------------------------------------------------

    def train(
        self, callbacks: Sequence[Callback], progress: Progress, time_limit: float | None, pace: ThreadPace
    ) -> Training:
        started = time.perf_counter()
        status, step, last = TrainingStatus.FINISHED, 0, self.longest
        rungs = {max(1, round(at * last)): kept for at, kept in self.config.rungs}
        to_look_at = {*rungs, *self.last_step.tolist()}
        self.network.train()
        try:
            self._look(0)
            for step in range(1, last + 1):
                pace.run(partial(self._step, step - 1))
                late = time_limit is not None and time.perf_counter() - started > time_limit
                if step % self.config.evaluate_every and step not in to_look_at and not late:
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

    def _step(self, done: int) -> None:
        self._set_rates(done)
        self.steps_since_look += 1
        rows = self.stream.next()
        if self.recorded is not None:
            self.recorded(rows)
        else:
            self._descend(rows)
        for proximal in self.proximal:
            proximal.prox_(self.network, self._rates())

    def _set_rates(self, done: int) -> None:
        base, shape = self.config.learning_rate, schedule(self.config.schedule)
        self.rate = base * shape(done / self.longest)
        if isinstance(self.optimizer, ReplicaSGD):
            lasts = self.last_step[self.alive].tolist()
            by_last = {last: base * shape(min(done / last, 1.0)) for last in set(lasts)}
            self.optimizer.set_rates([by_last[last] for last in lasts])
            return
        for group in self.optimizer.param_groups:
            if self.records:
                group["lr"].fill_(self.rate)
            else:
                group["lr"] = self.rate

    def _rates(self) -> float | Tensor:
        """The learning rate of the last step, of each replica where they differ."""
        return self.optimizer.rates if isinstance(self.optimizer, ReplicaSGD) else self.rate

    def _descend(self, rows: Tensor) -> None:
        """One step of the optimiser on the given rows."""
        terms = self.loss.per_sample(self.network(self.data.X[rows]), self.data.y[rows])
        if self.data.sample_weight is not None:
            terms = terms * self.data.sample_weight[rows]
        # replicas share no weights, so the gradient of the sum is each one's own gradient
        means = terms.mean(-1) if self.padding is None else (terms * self.padding).sum(-1) / self.padding.sum(-1)
        self.loss_since_look += means.detach()
        total = means.sum()
        for smooth in self.smooth:
            total = total + smooth.value(self.network).sum()
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(total)
        if self.config.clip_norm is not None:
            self._clip(self.config.clip_norm)
        self.optimizer.step()

    def _clip(self, most: float) -> None:
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        norm = torch.stack([g.flatten(1).square().sum(1) for g in gradients]).sum(0).sqrt()
        factor = (most / norm.clamp(min=most)).nan_to_num(0.0)
        for g in gradients:
            g.mul_(factor.view(-1, *[1] * (g.ndim - 1)))

    # ---- judging -------------------------------------------------------------------------

    @torch.no_grad()
    def _look(self, step: int) -> None:
        """Judges the replicas that still train, keeps improved weights, ends those that are done."""
        if self.data.validation is not None:
            self._validate(step, self.data.validation)
        if self.steps_since_look:
            loss = (self.loss_since_look / self.steps_since_look).cpu()
            self._end(~torch.isfinite(loss), ReplicaStatus.DIVERGED, step)
            if self.config.stop_at_loss is not None:
                self._end(loss <= self.config.stop_at_loss, ReplicaStatus.REACHED, step)
        self._end(self.last_step[self.alive] <= step, ReplicaStatus.FINISHED, step)
        self.loss_since_look.zero_()
        self.steps_since_look = 0

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
        if self.recorded is not None:
            self.recorded.forget()
        self.stream.keep(training)
        chosen = torch.tensor(training, dtype=torch.long)
        if self.padding is not None:
            self.padding = self.padding[chosen.to(self.device)]
        keep_(self.network, chosen)
        self.smooth = [p.for_replicas(training) for p in self.smooth]
        self.proximal = [p.for_replicas(training) for p in self.proximal]
        self.loss_since_look = self.loss_since_look[chosen.to(self.device)]
        if isinstance(self.optimizer, ReplicaSGD):
            self.optimizer.keep(chosen.to(self.device))
            return
        for state in self.optimizer.state.values():
            for key, value in state.items():
                if isinstance(value, Tensor) and value.ndim > 0:
                    state[key] = value[chosen.to(value.device)]

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
