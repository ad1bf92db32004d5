"""Levenberg-Marquardt: a second-order finish for small networks under squared loss.

Gradient descent crawls along the narrow valleys that compositions have; Gauss-Newton steps do not.
Per-sample Jacobians come from the replica dimension: every sample is given a copy of the weights,
and one backward pass returns a gradient per copy.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from compsparse.checks import check_count, check_number
from compsparse.clock import Deadline
from compsparse.errors import DataError
from compsparse.networks.replicas import ReplicatedNetwork, check_network
from compsparse.progress import Progress, check_progress
from compsparse.surroundings import usual_settings
from compsparse.text import in_a_line
from compsparse.training.data import TrainingData, data_for
from compsparse.training.memory import reused_allocations
from compsparse.training.record import TrainingStatus

_SHRINK, _GROW, _LARGEST, _SMALLEST = 0.4, 4.0, 1e6, 1e-8
_TRIES = 6


@in_a_line
@dataclass(frozen=True)
class Refinement:
    """What :func:`refine` did. Arrays have one entry per replica.

    Attributes:
        train_loss: penalised loss at the weights kept.
        validation_loss: their validation loss; equal to ``train_loss`` without validation rows.
        n_iterations: iterations taken.
        status: finished, out of time, or interrupted.
    """

    train_loss: Tensor
    validation_loss: Tensor
    n_iterations: int
    status: TrainingStatus


@usual_settings()
def refine(
    network: ReplicatedNetwork,
    data: TrainingData | tuple[Any, Any],
    n_iterations: int = 60,
    *,
    ridge: float = 1e-6,
    damping: float = 1e-2,
    patience: int = 15,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Refinement:
    r"""Improves every replica in place by Levenberg-Marquardt steps.

    Minimises :math:`\frac1n \sum_i w_i (f(x_i) - y_i)^2 + \text{ridge}\,\|\theta\|^2`. Each
    replica has its own damping; weights are kept where the validation loss is lowest.

    Args:
        patience: stop when no replica has improved on validation for so many iterations.

    Raises:
        DataError: the target holds classes, or replicas have unequal numbers of rows.
    """
    check_network(network)
    data = data_for(data, network)
    progress, deadline = check_progress(progress), Deadline.after(time_limit)
    if not data.y.is_floating_point():
        raise DataError("refinement is for squared loss: y must hold numbers, not classes")
    n_iterations, patience = check_count("n_iterations", n_iterations, least=0), check_count("patience", patience)
    ridge, damping = check_number("ridge", ridge, least=0), check_number("damping", damping, above=0)
    rows = data.train_rows(network.n_replicas)
    if data.X.shape[1] != network.n_inputs or data.y.shape[1] != network.n_outputs or len(rows) != network.n_replicas:
        raise DataError(
            f"a network of {network.n_replicas} replicas from {network.n_inputs} inputs to {network.n_outputs} outputs "
            f"does not fit data of {data.X.shape[1]} columns, {data.y.shape[1]} targets and {len(rows)} subsets of rows"
        )
    if any(len(r) != len(rows[0]) for r in rows):
        raise DataError("refinement needs equally many training rows for every replica")
    with reused_allocations():
        return _Refiner(network, data, rows, ridge, damping).run(n_iterations, patience, deadline, progress)


class _Refiner:
    def __init__(
        self, network: ReplicatedNetwork, data: TrainingData, rows: Sequence[Tensor], ridge: float, damping: float
    ):
        self.network, self.data, self.ridge = network, data, ridge
        parameter = next(network.parameters())
        self.rows = torch.stack(list(rows)).to(parameter.device)
        self.theta = flat_weights(network)
        self.damping = self.theta.new_full((network.n_replicas,), damping)
        self.objective = self._objective()

    def run(self, n_iterations: int, patience: int, deadline: Deadline, progress: Progress) -> Refinement:
        best, best_loss = self.theta.clone(), self._validation_loss()
        since_gain, done, status = 0, 0, TrainingStatus.FINISHED
        try:
            for done in range(1, n_iterations + 1):
                moved = self._iterate()
                loss = self._validation_loss()
                gained = loss < best_loss
                best[gained], best_loss[gained] = self.theta[gained], loss[gained]
                since_gain = 0 if bool(gained.any()) else since_gain + 1
                progress.update(done, n_iterations, f"best loss {float(best_loss.min()):.3g}")
                if not moved or since_gain >= patience:
                    break
                if deadline.is_over:
                    status = TrainingStatus.OUT_OF_TIME
                    break
        except KeyboardInterrupt:
            status = TrainingStatus.INTERRUPTED
        set_flat_weights(self.network, best)
        self.theta = best
        return Refinement(self._objective(), best_loss, done, status)

    def _iterate(self) -> bool:
        """One accepted step per replica where there is one; False when no replica can move."""
        J, residual = jacobian(self.network, self.data, self.rows)
        gradient = torch.einsum("rnp,rn->rp", J, residual) - self.ridge * self.theta
        solve = _DampedSystem(J, gradient)
        for _ in range(_TRIES):
            trial = self.theta + solve(self.damping + self.ridge)
            set_flat_weights(self.network, trial)
            value = self._objective(trial)
            better = value < self.objective
            self.theta = torch.where(better[:, None], trial, self.theta)
            self.objective = torch.where(better, value, self.objective)
            self.damping = torch.where(better, self.damping * _SHRINK, self.damping * _GROW)
            self.damping.clamp_(_SMALLEST, _LARGEST)
            if bool(better.any()):
                set_flat_weights(self.network, self.theta)
                return True
        set_flat_weights(self.network, self.theta)
        return bool((self.damping < _LARGEST).any())

    def _objective(self, theta: Tensor | None = None) -> Tensor:
        theta = self.theta if theta is None else theta
        return self._loss(self.rows) + self.ridge * theta.square().sum(1)

    def _validation_loss(self) -> Tensor:
        if self.data.validation is None:
            return self.objective.clone()
        if len({len(r) for r in self.data.validation}) > 1:
            raise DataError("refinement needs equally many validation rows for every replica")
        return self._loss(torch.stack(list(self.data.validation)).to(self.rows.device))

    @torch.no_grad()
    def _loss(self, rows: Tensor) -> Tensor:
        out = self.network(self.data.X[rows]).reshape(*rows.shape, -1)
        errors: Tensor = _root_weights(self.data, rows) * (out - self.data.y[rows])
        return errors.square().sum((1, 2))


class _DampedSystem:
    """Solves (J^T J + s I) d = g for many s, in the smaller of the two spaces."""

    def __init__(self, J: Tensor, gradient: Tensor):
        self.J, self.gradient = J, gradient
        self.dual = J.shape[1] < J.shape[2]
        self.gram = J @ J.transpose(1, 2) if self.dual else J.transpose(1, 2) @ J
        self.identity = torch.eye(self.gram.shape[-1], dtype=J.dtype, device=J.device)

    def __call__(self, shift: Tensor) -> Tensor:
        factor, failed = torch.linalg.cholesky_ex(self.gram + shift[:, None, None] * self.identity)
        right = torch.einsum("rnp,rp->rn", self.J, self.gradient) if self.dual else self.gradient
        solution = torch.cholesky_solve(right.unsqueeze(-1), factor).squeeze(-1)
        if self.dual:  # Woodbury: (s I + J^T J)^-1 g = (g - J^T (s I + J J^T)^-1 J g) / s
            solution = (self.gradient - torch.einsum("rnp,rn->rp", self.J, solution)) / shift[:, None]
        return torch.where((failed == 0)[:, None], solution, torch.zeros_like(solution))


def jacobian(network: ReplicatedNetwork, data: TrainingData, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Jacobian (R, nk, P) and residual y - f (R, nk), weighted so that |residual|^2 is the loss."""
    replicas, n = rows.shape
    per_sample = copy.deepcopy(network)
    for mine, theirs in zip(per_sample.parameters(), network.parameters(), strict=True):
        spread = theirs.detach().unsqueeze(1).expand(-1, n, *theirs.shape[1:])
        mine.data = spread.reshape(replicas * n, *theirs.shape[1:])
    per_sample.has_replicas = True
    out = per_sample(data.X[rows].reshape(replicas * n, 1, -1)).reshape(replicas, n, -1)
    scale = _root_weights(data, rows)
    weights = list(per_sample.parameters())
    parts = []
    for k in range(out.shape[-1]):
        gradients = torch.autograd.grad(out[..., k].sum(), weights, retain_graph=k < out.shape[-1] - 1)
        parts.append(torch.cat([g.reshape(replicas, n, -1) for g in gradients], dim=2) * scale)
    residual = scale * (data.y[rows] - out.detach())
    return torch.cat(parts, dim=1), residual.transpose(1, 2).flatten(1)


def _root_weights(data: TrainingData, rows: Tensor) -> Tensor:
    """sqrt(w_i / sum w / k) as (R, n, 1): a sum of squares becomes the weighted mean loss."""
    equal = torch.ones(rows.shape, dtype=data.X.dtype, device=rows.device)
    w = equal if data.sample_weight is None else data.sample_weight[rows]
    return (w / w.sum(1, keepdim=True) / data.y.shape[1]).sqrt().unsqueeze(-1)


def flat_weights(network: ReplicatedNetwork) -> Tensor:
    """All weights of each replica as one row."""
    return torch.cat([p.detach().flatten(1) for p in network.parameters()], dim=1)


def set_flat_weights(network: ReplicatedNetwork, flat: Tensor) -> None:
    """The way back from :func:`flat_weights`."""
    start = 0
    for parameter in network.parameters():
        size = parameter[0].numel()
        parameter.data = flat[:, start : start + size].reshape(parameter.shape).contiguous()
        start += size
