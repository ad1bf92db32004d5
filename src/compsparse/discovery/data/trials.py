"""Trials of candidates: trained on every fold at once, measured on the rows each fold left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from compsparse.clock import Deadline, TimeIsOver
from compsparse.discovery.data.candidates import Candidate, CandidateNetwork
from compsparse.discovery.data.limits import (
    DIVERGED_LOSS,
    FEWEST_STEPS,
    FOLDS,
    LARGEST_EVALUATION,
    SOUND,
    TRIAL_BATCH,
    USUAL_EFFORT,
    Effort,
)
from compsparse.discovery.data.units import Layers, Units
from compsparse.discovery.structure.statistics import t_statistic
from compsparse.networks.mirroring import MirrorNetwork
from compsparse.networks.programs import ProgramBuilder
from compsparse.networks.replicas import ReplicatedNetwork, select
from compsparse.training.config import TrainingConfig
from compsparse.training.data import TrainingData
from compsparse.training.loop import train
from compsparse.training.losses import SquaredLoss
from compsparse.training.record import TrainingStatus


def check_ended(status: TrainingStatus) -> None:
    """Ends the search where a training was ended from outside.

    Raises:
        TimeIsOver, KeyboardInterrupt: by the clock, by the user.
    """
    if status is TrainingStatus.INTERRUPTED:
        raise KeyboardInterrupt
    if status is TrainingStatus.OUT_OF_TIME:
        raise TimeIsOver("the time for the search was over")


class _Stacked(ReplicatedNetwork):
    """The learned units below, a candidate on top; both train."""

    def __init__(self, below: MirrorNetwork | None, top: CandidateNetwork, units: Units):
        super().__init__(units.graph.n_inputs, top.n_outputs, top.n_replicas)
        self.below, self.top = below, top
        if below is None:
            graph = units.graph
            read = torch.tensor([graph.index[wire] for wire in graph.outputs])
            self.register_buffer("read", read, persistent=False)

    def run(self, columns: Tensor) -> Tensor:
        return self.top.run(self.wires(columns))

    def lower(self, program: ProgramBuilder, rows: Sequence[int]) -> list[int]:
        """Adds itself to a program; see :mod:`compsparse.networks.programs`."""
        below = (
            [rows[i] for i in self.get_buffer("read").tolist()]
            if self.below is None
            else self.below.lower(program, rows)
        )
        return self.top.lower(program, below)

    def wires(self, columns: Tensor) -> Tensor:
        return columns.index_select(1, self.get_buffer("read")) if self.below is None else self.below.run(columns)


@dataclass(frozen=True)
class Trial:
    """Held-out losses of candidates over the same units.

    Attributes:
        losses: (candidates, rows) loss per row, of the mean prediction of a fold's replicas.
        weight: (rows,) sample weights.
    """

    candidates: tuple[Candidate, ...]
    units: Units
    losses: np.ndarray
    weight: np.ndarray
    network: _Stacked
    best: np.ndarray
    """(candidates, folds) replica of the lowest training loss."""

    def mean(self, c: int) -> float:
        """Mean held-out loss of candidate c."""
        return float(np.average(self.losses[c], weights=self.weight))

    def t(self, c: int, other: int) -> float:
        """Paired t of candidate c against another; negative where c is better."""
        return self.t_of(self.losses[c], self.losses[other])

    def t_of(self, losses: np.ndarray, others: np.ndarray) -> float:
        """The same for any losses on the same rows."""
        return float(t_statistic(losses - others, self.weight))


class TrialTable:
    """The data of a search, split once into folds."""

    def __init__(
        self,
        X: Tensor,
        y: Tensor,
        weight: Tensor | None = None,
        *,
        n_folds: int = FOLDS,
        seed: int = 0,
        effort: float = USUAL_EFFORT,
        deadline: Deadline | None = None,
    ):
        self.X, self.y, self.weight, self.loss = X, y, weight, SquaredLoss()
        self.n_folds, self.seed, self.effort, self.deadline = n_folds, seed, effort, deadline or Deadline()
        order = np.random.default_rng(seed).permutation(len(X))
        self.held_out = [torch.as_tensor(np.sort(order[k::n_folds])) for k in range(n_folds)]
        self.kept = [torch.as_tensor(np.sort(np.delete(order, np.s_[k::n_folds]))) for k in range(n_folds)]
        rows = np.concatenate([r.numpy() for r in self.held_out])
        self.row_weight = np.ones(len(rows)) if weight is None else weight.cpu().numpy()[rows].astype(float)
        self.constant = self._constant_losses()
        self.trained = self.trials = 0

    # ---- one trial -----------------------------------------------------------------------

    def fit(self, units: Units, candidates: Sequence[Candidate], effort: Effort) -> Trial:
        """Trains every candidate on every fold.

        Raises:
            TimeIsOver, KeyboardInterrupt: the time is up, or Ctrl-C was pressed.
        """
        self.trials += 1
        folds, reps = self.n_folds, effort.replicas
        plan = [(c, k) for c in candidates for k in range(folds) for _ in range(reps)]
        self.trained += len(plan)
        # rivals share their starts and batches, so that differences are theirs
        first = (self.seed * 100_003 + self.trials) * 10_007
        seeds = [first + 101 * k + r for _ in candidates for k in range(folds) for r in range(reps)]
        device = self.X.device
        below = units.network([k for _, k in plan], seeds, device)
        top = CandidateNetwork([c for c, _ in plan], units.blocks, self.y.shape[1], seeds).to(device)
        network = _Stacked(below, top, units).to(device)
        data = TrainingData(self.X, self.y, self.weight, tuple(self.kept[k] for _, k in plan))
        n_steps = max(FEWEST_STEPS, round(self.effort * effort.steps))
        # nothing is judged on the way
        config = TrainingConfig(n_steps=n_steps, batch_size=TRIAL_BATCH, evaluate_every=n_steps)
        training = train(network, data, config, loss=self.loss, seeds=seeds, time_limit=self.deadline.time_limit)
        check_ended(training.status)
        train_loss = np.nan_to_num(training.train_loss, nan=np.inf).reshape(len(candidates), folds, reps)
        best = train_loss.argmin(2)
        losses = self._held_out_losses(network, train_loss)
        return Trial(tuple(candidates), units, losses, self.row_weight, network, best)

    @torch.no_grad()
    def _held_out_losses(self, network: _Stacked, train_loss: np.ndarray) -> np.ndarray:
        """Losses of the mean prediction of a fold's replicas.

        Where fits are variance (few rows for the structure so far), the mean of all replicas is best; where
        they are optimisation, those that ended in a poor minimum must stay out. The trial as a whole takes
        the way under which its best candidate does better.
        """
        n_candidates, folds, reps = train_loss.shape
        longest = max(len(rows) for rows in self.held_out)
        padded = torch.stack([torch.cat([r, r[:1].expand(longest - len(r))]) for r in self.held_out])
        padded = padded.to(self.X.device)
        rows = padded.repeat_interleave(reps, 0).repeat(n_candidates, 1)
        parts = max(1, rows.numel() * 32 // LARGEST_EVALUATION)
        out = torch.cat([network(self.X[part]) for part in rows.chunk(parts, dim=1)], dim=1)
        out = out.view(n_candidates, folds, reps, longest, -1)
        sound = train_loss <= SOUND * train_loss.min(2, keepdims=True)
        ways = [self._losses_of_mean(out, kept, padded) for kept in (np.isfinite(train_loss), sound)]
        return min(ways, key=lambda losses: np.average(losses, axis=1, weights=self.row_weight).min())

    def _losses_of_mean(self, out: Tensor, kept: np.ndarray, padded: Tensor) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            share = kept / kept.sum(2, keepdims=True)  # NaN where all diverged
        weights = torch.as_tensor(share, dtype=out.dtype, device=out.device)[..., None, None]
        mean = torch.where(weights == 0, 0.0, out * weights).sum(2)
        per_row = self.loss.per_sample(mean, self.y[padded]).cpu().numpy().astype(float)
        per_fold = [per_row[:, k, : len(rows)] for k, rows in enumerate(self.held_out)]
        losses: np.ndarray = np.nan_to_num(np.concatenate(per_fold, axis=1), nan=DIVERGED_LOSS, posinf=DIVERGED_LOSS)
        return losses

    def _constant_losses(self) -> np.ndarray:
        """Held-out losses of the best constant."""
        parts = []
        for rows, kept in zip(self.held_out, self.kept, strict=True):
            weight = torch.ones(len(kept)) if self.weight is None else self.weight.cpu()[kept]
            y = self.y.cpu()
            mean = (y[kept] * weight[:, None]).sum(0) / weight.sum()
            parts.append(self.loss.per_sample(mean.expand(len(rows), -1), y[rows]))
        return torch.cat(parts).numpy().astype(float)

    # ---- what a trial teaches ------------------------------------------------------------

    def relearned(self, trial: Trial, c: int) -> Units:
        """The units as candidate c's networks learned them, the best replica of each fold."""
        return trial.units.relearned(trial.network.below, self._replicas(trial, c))

    @torch.no_grad()
    def learned(self, trial: Trial, c: int) -> Layers:
        """Candidate c's g, scaled to mean 0 and standard deviation 1 on each fold's training rows."""
        chosen = self._replicas(trial, c)
        inner, candidate = trial.network.top.free_inner, trial.candidates[c]
        blocks = trial.units.blocks
        columns = [column for i in sorted(candidate.inner) for column in blocks[i]]
        weights = [w[chosen].clone() for w in inner.weights]
        biases = [b[chosen].clone() for b in inner.biases]
        weights[0] = weights[0][:, :, columns]
        values = self._inner_values(trial, chosen)
        for k in range(self.n_folds):
            g = values[k][self.kept[k].to(values.device)]
            scale = g.std().clamp(min=1e-6)
            weights[-1][k] /= scale
            biases[-1][k] = (biases[-1][k] - g.mean()) / scale
        return (*weights, *biases)

    def _replicas(self, trial: Trial, c: int) -> list[int]:
        reps = trial.network.n_replicas // (len(trial.candidates) * self.n_folds)
        return [(c * self.n_folds + k) * reps + int(trial.best[c, k]) for k in range(self.n_folds)]

    def _inner_values(self, trial: Trial, replicas: Sequence[int]) -> Tensor:
        chosen = select(trial.network, replicas)
        columns = self.X.T.expand(len(replicas), -1, -1)
        return chosen.top.combined(chosen.wires(columns))[:, 0]
