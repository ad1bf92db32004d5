"""How replicas take steps: by torch's gradients, whatever the network and the loss, or by a compiled kernel."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor

from compsparse.networks.programs import LayerProgram, program_of
from compsparse.networks.replicas import ReplicatedNetwork
from compsparse.training.config import TrainingConfig
from compsparse.training.cuda_graph import CapturedStep
from compsparse.training.data import BatchStream, TrainingData
from compsparse.training.losses import Loss, SquaredLoss
from compsparse.training.penalties import Penalty, ProximalPenalty, SmoothPenalty
from compsparse.training.schedules import schedule
from compsparse.training.sgd import ReplicaSGD
from compsparse.training.threads import ThreadPace

_BETAS, _EPSILON = (0.9, 0.99), 1e-8
_WIDEST_COMPILED = 128
"""Widest layer up to which the kernel beats products of matrices: see benchmarks/steps.py."""
_BURST_SECONDS = 0.2
"""How long the kernel runs before the clock is looked at; its first step tells how many that are."""
_PARTS_PER_THREAD = 4
"""Parts into which the replicas are divided: a thread that was put aside leaves the rest to the others."""


class Steps(ABC):
    """Takes steps with all replicas of a network that still train.

    Args:
        longest: steps of the replica that takes most, over which the schedule runs.
    """

    def __init__(
        self, network: ReplicatedNetwork, data: TrainingData, config: TrainingConfig, stream: BatchStream, longest: int
    ):
        self.network, self.data, self.config, self.stream, self.longest = network, data, config, stream, longest
        self.loss_sums = torch.zeros(network.n_replicas, device=data.X.device)
        self.n_summed = 0

    @abstractmethod
    def advance(self, done: int, most: int) -> int:
        """Takes one or more steps, at most so many, after those done; how many it took."""

    @abstractmethod
    def keep(self, chosen: Tensor) -> None:
        """Goes on with the chosen replicas; the network and the stream hold no others by now."""

    def mean_losses(self) -> Tensor | None:
        """Each replica's training loss, averaged over the steps since this was asked last; None without any."""
        means = (self.loss_sums / self.n_summed).cpu() if self.n_summed else None
        self.loss_sums.zero_()  # in place: a recorded step adds to it
        self.n_summed = 0
        return means

    def _rate(self, done: int, last: int) -> float:
        return self.config.learning_rate * schedule(self.config.schedule)(min(done / last, 1.0))


class GradientSteps(Steps):
    """By torch: any network, loss, penalty and optimiser; recorded as one CUDA graph on a GPU."""

    def __init__(
        self,
        network: ReplicatedNetwork,
        data: TrainingData,
        config: TrainingConfig,
        stream: BatchStream,
        last_steps: Tensor,
        loss: Loss,
        penalties: Sequence[Penalty],
        pace: ThreadPace,
    ):
        super().__init__(network, data, config, stream, int(last_steps.max()))
        self.last_steps, self.loss, self.pace = last_steps, loss, pace
        self.smooth = [p for p in penalties if isinstance(p, SmoothPenalty)]
        self.proximal = [p for p in penalties if isinstance(p, ProximalPenalty)]
        self.parameters = list(network.parameters())
        self.device = self.parameters[0].device
        self.padding = stream.padding_weights()
        self.records = self.device.type == "cuda" and not self.proximal
        self.optimizer = self._make_optimizer()
        self.recorded = CapturedStep(self._descend) if self.records else None

    def _make_optimizer(self) -> torch.optim.Optimizer | ReplicaSGD:
        c = self.config
        if c.optimizer == "sgd":
            return ReplicaSGD(self.parameters, c.momentum, c.weight_decay)
        # a recorded step reads its learning rate from a tensor
        rate = torch.tensor(c.learning_rate, device=self.device) if self.records else c.learning_rate
        return torch.optim.AdamW(
            self.parameters,
            rate,
            betas=_BETAS,
            eps=_EPSILON,
            weight_decay=c.weight_decay,
            fused=True,
            capturable=self.records,
        )

    def advance(self, done: int, most: int) -> int:
        """One step."""
        self.pace.run(partial(self._step, done))
        return 1

    def _step(self, done: int) -> None:
        self._set_rates(done)
        self.n_summed += 1
        rows = self.stream.next()
        if self.recorded is not None:
            self.recorded(rows)
        else:
            self._descend(rows)
        for proximal in self.proximal:
            proximal.prox_(self.network, self._rates())

    def _set_rates(self, done: int) -> None:
        self.rate = self._rate(done, self.longest)
        if isinstance(self.optimizer, ReplicaSGD):
            lasts = self.last_steps.tolist()
            by_last = {last: self._rate(done, last) for last in set(lasts)}
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
        self.loss_sums += means.detach()
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

    def keep(self, chosen: Tensor) -> None:
        """Goes on with the chosen replicas; a recorded step is recorded anew."""
        if self.recorded is not None:
            self.recorded.forget()
        here = chosen.to(self.device)
        self.last_steps = self.last_steps[chosen]
        self.padding = None if self.padding is None else self.padding[here]
        self.smooth = [p.for_replicas(chosen.tolist()) for p in self.smooth]
        self.proximal = [p.for_replicas(chosen.tolist()) for p in self.proximal]
        self.loss_sums = self.loss_sums[here]
        if isinstance(self.optimizer, ReplicaSGD):
            self.optimizer.keep(here)
            return
        for state in self.optimizer.state.values():
            for key, value in state.items():
                if isinstance(value, Tensor) and value.ndim > 0:
                    state[key] = value[chosen.to(value.device)]


class CompiledSteps(Steps):
    """By a compiled kernel on the CPU: replica after replica, each with all its numbers in the nearest cache.

    Threads take replicas from one queue, so that a busy machine costs its share and no more.
    """

    def __init__(
        self,
        program: LayerProgram,
        network: ReplicatedNetwork,
        data: TrainingData,
        config: TrainingConfig,
        stream: BatchStream,
        longest: int,
        n_threads: int,
    ):
        super().__init__(network, data, config, stream, longest)
        self.program, self.n_threads = program, n_threads
        self.parameters = list(network.parameters())
        self.momentum, self.square = (np.zeros(program.learns.shape, np.float32) for _ in range(2))
        self.X, self.y = (np.ascontiguousarray(table.numpy()) for table in (data.X, data.y))
        weight = data.sample_weight
        self.row_weight = np.empty(0, np.float32) if weight is None else np.ascontiguousarray(weight.numpy())
        self.burst = 1

    def advance(self, done: int, most: int) -> int:
        """As many steps as take a fraction of a second."""
        # imported here: compiled kernels need numba, which takes its time to load
        from compsparse.training.step_kernel import take_steps

        n_steps, program, config = min(self.burst, most), self.program, self.config
        started = time.perf_counter()
        batches = np.ascontiguousarray(torch.stack([self.stream.next() for _ in range(n_steps)], 1).numpy())
        weights, losses = self._packed(), np.empty(len(batches))
        counts = np.minimum(self.stream.lengths, self.stream.batch)
        rates = np.array([self._rate(done + k, self.longest) for k in range(n_steps)])

        def run(part: np.ndarray) -> None:
            take_steps(
                part[0],
                part[-1] + 1,
                losses,
                weights,
                program.learns.numpy(),
                self.momentum,
                self.square,
                self.X,
                self.y,
                self.row_weight,
                batches,
                counts,
                rates,
                done,
                config.weight_decay,
                _BETAS,
                _EPSILON,
                np.inf if config.clip_norm is None else config.clip_norm,
                program.operations,
                program.reads,
                program.outputs,
                program.n_rows,
            )

        parts = np.array_split(np.arange(len(weights)), min(len(weights), _PARTS_PER_THREAD * self.n_threads))
        if self.n_threads == 1 or len(parts) == 1:
            run(np.arange(len(weights)))
        else:
            with ThreadPoolExecutor(self.n_threads) as pool:
                list(pool.map(run, parts))
        self._unpack(weights)
        self.loss_sums += torch.from_numpy(losses)
        self.n_summed += n_steps
        self.burst = max(1, int(_BURST_SECONDS * n_steps / (time.perf_counter() - started)))
        return n_steps

    def _packed(self) -> np.ndarray:
        """All weights of a replica in a row, as the program numbers them."""
        own = torch.cat([p.detach().flatten(1) for p in self.parameters], 1) * self.program.learns
        return torch.cat([own, self.program.constants], 1).numpy()

    @torch.no_grad()
    def _unpack(self, weights: np.ndarray) -> None:
        start = 0
        for parameter in self.parameters:
            size = parameter[0].numel()
            parameter.copy_(torch.from_numpy(weights[:, start : start + size]).view_as(parameter))
            start += size

    def keep(self, chosen: Tensor) -> None:
        """Goes on with the chosen replicas."""
        program = program_of(self.network)
        assert program is not None
        self.program = program
        self.momentum, self.square = self.momentum[chosen.numpy()], self.square[chosen.numpy()]
        self.loss_sums = self.loss_sums[chosen]


def steps_for(
    network: ReplicatedNetwork,
    data: TrainingData,
    config: TrainingConfig,
    stream: BatchStream,
    last_steps: Tensor,
    loss: Loss,
    penalties: Sequence[Penalty],
    pace: ThreadPace,
) -> Steps:
    """The faster way that fits: small networks under the mean square on a CPU go through the kernel."""
    weight = [] if data.sample_weight is None else [data.sample_weight]
    tensors = [data.X, data.y, *weight, *network.parameters()]
    plain = all(t.device.type == "cpu" and t.dtype == torch.float32 for t in tensors)
    # the kernel checks no index; torch says what is wrong with one
    plain = plain and int(stream.rows.min()) >= 0 and int(stream.rows.max()) < len(data.X) == len(data.y)
    learns = all(p.requires_grad for p in network.parameters())
    usual = config.optimizer == "adamw" and type(loss) is SquaredLoss and not penalties
    if plain and learns and usual and find_spec("numba") is not None:
        program = program_of(network)
        if program is not None and program.widest <= _WIDEST_COMPILED:
            longest = int(last_steps.max())
            return CompiledSteps(program, network, data, config, stream, longest, pace.most)
    return GradientSteps(network, data, config, stream, last_steps, loss, penalties, pace)
