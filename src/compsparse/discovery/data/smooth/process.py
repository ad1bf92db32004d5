"""A Gaussian process over a table: fitted by its evidence, asked for slopes, with draws from its posterior.

The kernel is a product of one factor per input, (1 + w_i k_i) / (1 + w_i) with a squared exponential k_i of
its own length. Multiplied out, it is a sum over all subsets of inputs: an input of small weight w_i acts
in low orders mostly, one of large length hardly at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from compsparse.blas import one_blas_thread
from compsparse.discovery.data.smooth.limits import (
    FIRST_LENGTH,
    FIRST_NOISE,
    FIRST_WEIGHT,
    FIRST_WEIGHTS,
    FREQUENCIES,
    LEAST_NOISE,
    LENGTHS,
    LEVELS,
    NOISES,
    SETTLED,
    STEPS_FOR_KERNEL,
    STIFFNESS,
    WEIGHTS,
)


@dataclass(frozen=True)
class Kernel:
    """The prior of a function.

    Attributes:
        length, weight: of every input's factor.
        level: variance of the function.
        noise: variance of what the function leaves, as a share of the level.
    """

    length: Tensor
    weight: Tensor
    level: float
    noise: float

    def between(self, one: Tensor, other: Tensor) -> Tensor:
        """Covariances of the function at two sets of points."""
        total = torch.full((len(one), len(other)), self.level, dtype=one.dtype, device=one.device)
        for i in range(one.shape[1]):
            total *= self.factor(self.alike(i, one, other), i)
        return total

    def alike(self, i: int, one: Tensor, other: Tensor) -> Tensor:
        """How near two sets of points are in one input, between 0 and 1."""
        apart = (one[:, i, None] - other[None, :, i]) / self.length[i]
        return torch.exp(-0.5 * apart.square_())

    def factor(self, alike: Tensor, i: int) -> Tensor:
        """What one input contributes to the kernel."""
        return (1 + self.weight[i] * alike) / (1 + self.weight[i])

    def slopes(self, points: Tensor, rows: Tensor, weights: Tensor, inputs: Sequence[int]) -> Tensor:
        """Slopes by some inputs of the functions ``sum_r weights[r] k(., row r)``: (points, inputs, functions)."""
        total = self.between(points, rows)
        found = []
        for i in inputs:
            alike = self.alike(i, points, rows)
            share = self.weight[i] * alike / (1 + self.weight[i] * alike)
            apart = (rows[None, :, i] - points[:, i, None]) / self.length[i] ** 2
            found.append((total * share * apart) @ weights)
        return torch.stack(found, dim=1)


@dataclass(frozen=True)
class _Waves:
    """Random cosines whose sums are draws from the prior."""

    frequency: Tensor
    phase: Tensor
    amplitude: Tensor

    @classmethod
    def drawn(cls, kernel: Kernel, n_draws: int, generator: torch.Generator) -> _Waves:
        d, dtype, device = len(kernel.length), kernel.length.dtype, kernel.length.device
        normal = torch.randn(d, FREQUENCIES, generator=generator, dtype=dtype).to(device)
        uniform = torch.rand(d + 1, FREQUENCIES, generator=generator, dtype=dtype).to(device)
        # a factor (1 + w k)/(1 + w) is a mixture: with probability 1/(1 + w) the input does not matter
        acts = uniform[:d] < (kernel.weight / (1 + kernel.weight))[:, None]
        amplitude = torch.randn(FREQUENCIES, n_draws, generator=generator, dtype=dtype).to(device)
        scale = math.sqrt(2 * kernel.level / FREQUENCIES)
        return cls(normal * acts / kernel.length[:, None], 2 * math.pi * uniform[d], amplitude * scale)

    def values(self, points: Tensor) -> Tensor:
        return torch.cos(points @ self.frequency + self.phase) @ self.amplitude

    def slopes(self, points: Tensor, inputs: Sequence[int]) -> Tensor:
        falling = -torch.sin(points @ self.frequency + self.phase)
        return torch.stack([(falling * self.frequency[i]) @ self.amplitude for i in inputs], dim=1)


@dataclass(frozen=True)
class SmoothFit:
    """The posterior of a Gaussian process: its mean, and draws from it.

    A draw is a draw from the prior, corrected by what it leaves at the rows (Matheron's rule), so
    that mean and draws share one kernel matrix.

    Attributes:
        mean: weights of the kernels of the rows in the posterior mean, (rows, 1).
        corrections: the same for every draw, on top of its waves, (rows, draws).
    """

    kernel: Kernel
    rows: Tensor
    mean: Tensor
    corrections: Tensor
    waves: _Waves

    def values(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean (points,) and draws (points, draws)."""
        both = self.kernel.between(points, self.rows) @ torch.cat([self.mean, self.corrections], dim=1)
        return both[:, 0], both[:, 1:] + self.waves.values(points)

    def slopes(self, points: Tensor, inputs: Sequence[int] | None = None) -> tuple[Tensor, Tensor]:
        """Slopes by some inputs, or all: of the mean (points, inputs) and of the draws (points, inputs, draws)."""
        which = range(points.shape[1]) if inputs is None else inputs
        both = self.kernel.slopes(points, self.rows, torch.cat([self.mean, self.corrections], dim=1), which)
        return both[..., 0], both[..., 1:] + self.waves.slopes(points, which)


def conditioned(kernel: Kernel, X: Tensor, y: Tensor, precision: Tensor, n_draws: int, seed: int) -> SmoothFit:
    """The posterior of a kernel, given rows.

    Args:
        X: (rows, inputs), of spread about one, double precision.
        y: (rows,), of mean zero and variance one.
        precision: (rows,), by which the noise of a row is divided.
    """
    generator = torch.Generator().manual_seed(seed)
    waves = _Waves.drawn(kernel, n_draws, generator)
    noise = kernel.noise * kernel.level / precision
    matrix = kernel.between(X, X)
    matrix.diagonal().add_(noise)
    root = torch.linalg.cholesky(matrix)
    unrest = torch.randn(len(X), n_draws, generator=generator, dtype=X.dtype).to(X.device)
    left = y[:, None] - waves.values(X) - noise.sqrt()[:, None] * unrest
    solved = torch.cholesky_solve(torch.cat([y[:, None], left], dim=1), root)
    return SmoothFit(kernel, X, solved[:, :1], solved[:, 1:], waves)


def fit_kernel(
    X: Tensor,
    y: Tensor,
    precision: Tensor,
    go_on: Callable[[], None] = lambda: None,
    first_noise: float = FIRST_NOISE,
) -> Kernel:
    """The kernel of the largest evidence near its start, with a weak pull of lengths and weights towards that.

    Args:
        go_on: called before every step; raises what is to end the fit.
        first_noise: noise at the start; from little of it, much noise is easily taken for a wild function.
    """
    d, pairs = X.shape[1], Pairs.of(X)
    first = np.r_[np.full(d, FIRST_LENGTH), np.full(d, first_weight(d)), 0.0, math.log(first_noise)]
    limits = [LENGTHS] * d + [WEIGHTS] * d + [LEVELS, NOISES]

    def objective(p: np.ndarray) -> tuple[float, np.ndarray]:
        go_on()
        return evidence(p, pairs, y, precision)

    options = {"maxiter": STEPS_FOR_KERNEL, "ftol": SETTLED}
    with one_blas_thread():
        found = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    return _kernel(found.x, X)


def first_weight(d: int) -> float:
    """Logarithm of the weight of each of d inputs at the start."""
    return min(FIRST_WEIGHT, math.log(FIRST_WEIGHTS / d))


def _kernel(p: np.ndarray, like: Tensor) -> Kernel:
    d = (len(p) - 2) // 2
    values = torch.as_tensor(np.exp(p), dtype=like.dtype, device=like.device)
    return Kernel(values[:d], values[d : 2 * d], float(np.exp(p[-2])), float(np.exp(p[-1])) + LEAST_NOISE)


@dataclass(frozen=True)
class Pairs:
    """All pairs of different rows, once each.

    Attributes:
        index: (2, pairs), the two rows.
        squares: (inputs, pairs), squared distances in every input.
    """

    n_rows: int
    index: Tensor
    squares: Tensor

    @classmethod
    def of(cls, X: Tensor) -> Pairs:
        index = torch.triu_indices(len(X), len(X), offset=1, device=X.device)
        columns = X.T.contiguous()
        return cls(len(X), index, (columns[:, index[0]] - columns[:, index[1]]).square_())


def evidence(p: np.ndarray, pairs: Pairs, y: Tensor, precision: Tensor) -> tuple[float, np.ndarray]:
    """Minus the logarithm of the evidence for a kernel, with its slope.

    Args:
        p: logarithms of all lengths, of all weights, of the level and of the noise.
    """
    kernel = _kernel(p, y)
    length, weight = kernel.length[:, None], kernel.weight[:, None]
    share = pairs.squares.mul(-0.5 / length.square()).exp_().mul_(weight)
    between = share.add(1).div_(1 + weight).prod(0).mul_(kernel.level)
    matrix = torch.zeros(pairs.n_rows, pairs.n_rows, dtype=y.dtype, device=y.device)
    matrix[pairs.index[1], pairs.index[0]] = between  # the lower half is all that is read
    matrix.diagonal().copy_(kernel.level + kernel.noise * kernel.level / precision)
    root, failed = torch.linalg.cholesky_ex(matrix)
    if failed.item():
        return math.inf, np.zeros_like(p)
    inverse = torch.cholesky_inverse(root)
    solved = inverse @ y
    value = 0.5 * float(y @ solved) + float(root.diagonal().log().sum())
    # half the trace of (inverse - solved solved^T) dK
    inverse.addr_(solved, solved, alpha=-1)
    of_noise = float((inverse.diagonal() / precision).sum()) * kernel.level
    of_rows = float(inverse.diagonal().sum()) * kernel.level
    of_pairs = between.mul_(inverse[pairs.index[0], pairs.index[1]])
    whole = 2 * float(of_pairs.sum()) + of_rows
    acting = share.div_(share + 1).mul_(of_pairs)
    saturated = (weight / (1 + weight))[:, 0]
    of_weight = acting.sum(1) + 0.5 * saturated * (of_rows - whole)
    of_length = acting.mul_(pairs.squares).sum(1) / kernel.length.square()
    of_level = 0.5 * np.array([whole + of_noise * kernel.noise, of_noise * (kernel.noise - LEAST_NOISE)])
    slope = np.r_[of_length.cpu().numpy(), of_weight.cpu().numpy(), of_level]
    d = len(kernel.length)
    away = np.r_[p[:d] - FIRST_LENGTH, p[d : 2 * d] - first_weight(d), 0.0, 0.0]
    return value + 0.5 * STIFFNESS * float(away @ away), slope + STIFFNESS * away
