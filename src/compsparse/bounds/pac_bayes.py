r"""PAC-Bayes for a network with Gaussian noise on its weights.

Prior $N(0, \sigma^2 I)$, posterior $N(w, \sigma^2 I)$: their divergence is $\Vert w\Vert^2 / 2\sigma^2$. With
probability $1 - \delta$, for every $\sigma$ of a grid of $J$ that was fixed before, the expected loss $L$ of the noisy
network and its mean loss $\hat L$ on the data have $\mathrm{kl}(\hat L \Vert L) \le (\mathrm{KL} +
\log(2 \sqrt m J/\delta))/m$ (Seeger, Maurer). $\hat L$ is estimated with fresh noise for every row, which makes the
rows independent, and replaced by its upper confidence bound (half of $\delta$ for each of the two). A prior over
weights that was chosen on the data, such as one on a mask, adds the nats that say which it is to the divergence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from compsparse.bounds.bound import CERTAIN
from compsparse.bounds.losses import BoundedLoss
from compsparse.bounds.network_graph import NetworkGraph, Stage
from compsparse.networks import ACTIVATIONS

SIGMAS = tuple(2.0**-j for j in range(-1, 13))
"""The grid of noise levels, fixed before any data."""
_MOST_NOISE, _MOST_PRODUCTS = 2_000_000, 200_000_000
"""Random numbers and multiplications for one estimate at most; fewer rows are taken where there would be more."""


@dataclass(frozen=True)
class NoisyBound:
    """The best over the grid.

    Attributes:
        bound: upper bound of the expected loss of the noisy network.
        noisy_loss: its mean loss on the data, as estimated; NaN where the divergence alone leaves nothing to promise.
        divergence: KL in nats.
        n_estimate: rows that the estimate rests on.
    """

    bound: float
    noisy_loss: float
    sigma: float
    divergence: float
    n_estimate: int


def noisy_bound(
    members: Sequence[NetworkGraph], X: Tensor, loss: BoundedLoss, delta: float, nats: float, rng: np.random.Generator
) -> NoisyBound:
    """Searches the grid for the best noise level; the union over it was paid for all of it.

    Args:
        delta: probability with which the bound may fail.
        nats: paid for choices of prior and loss; the estimate, of this one network, needs none of them.
    """
    squares = sum(_square_norm(member) for member in members)
    shared = sum(s.n_parameters for m in members for s in m.stages if _shares(s))
    units = sum(s.n_blocks * s.n_units for m in members for s in m.stages)
    products = sum(s.n_blocks * s.n_units * s.reads.shape[1] for m in members for s in m.stages)
    m, J = len(X), len(SIGMAS)
    n = max(1, min(m, _MOST_NOISE // (shared + units), _MOST_PRODUCTS // products))
    rows = np.arange(m) if n == m else rng.integers(m, size=n)
    chosen = torch.as_tensor(rows, device=X.device)
    part = BoundedLoss(loss.target[chosen], loss.margin, loss.classes)
    noise = torch.Generator(device=X.device).manual_seed(int(rng.integers(2**62)))

    def at(j: int) -> NoisyBound:
        divergence = squares / (2 * SIGMAS[j] ** 2)
        allowed = (divergence + nats + math.log(4 * math.sqrt(m) * J / delta)) / m
        if kl_inverse(0.0, allowed) > CERTAIN:  # nothing would be promised, whatever the estimate
            return NoisyBound(1.0, math.nan, SIGMAS[j], divergence, 0)
        outputs = torch.stack([noisy_outputs(g, X[chosen], SIGMAS[j], noise) for g in members]).mean(0)
        mean = float(part.mistakes(outputs).mean())
        likely = kl_inverse(mean, math.log(2 * J / delta) / n)
        return NoisyBound(kl_inverse(likely, allowed), mean, SIGMAS[j], divergence, n)

    return _least(at, J)


def _least(at: Callable[[int], NoisyBound], n: int) -> NoisyBound:
    """The least of a valley, by thirds; what is looked at needs no more union than the grid has paid."""
    seen: dict[int, NoisyBound] = {}

    def value(j: int) -> float:
        if j not in seen:
            seen[j] = at(j)
        return seen[j].bound

    low, high = 0, n - 1
    while high - low > 2:
        left, right = low + (high - low) // 3, high - (high - low) // 3
        if value(left) <= value(right):
            high = right
        else:
            low = left
    for j in range(low, high + 1):
        value(j)
    return min(seen.values(), key=lambda found: found.bound)


def _shares(stage: Stage) -> bool:
    return not stage.fixed and len(stage.weight) == 1 and stage.n_blocks > 1


def _square_norm(network: NetworkGraph) -> float:
    tensors = [t for s in network.stages if not s.fixed for t in (s.weight, s.bias) if t is not None]
    return sum(float(t.square().sum()) for t in tensors)


def noisy_outputs(network: NetworkGraph, x: Tensor, sigma: float, generator: torch.Generator) -> Tensor:
    """Outputs with fresh noise on all weights for every row.

    Weights that blocks do not share give independent Gaussian noise of known size at every unit; those of shared
    kernels are drawn.
    """
    stream = torch.cat([x.new_zeros(len(x), 1), x], dim=1)
    for stage in network.stages:
        if stage.fixed:
            out = stage.answer(stream, stage.weight, stage.bias)
        else:
            out = _noisy(stage, stream[:, stage.reads], sigma, generator)
        stream = torch.cat([stream, out], dim=1)
    return stream[:, network.outputs]


def _noisy(stage: Stage, read: Tensor, sigma: float, generator: torch.Generator) -> Tensor:
    rows, units = len(read), stage.n_units

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, device=read.device, dtype=read.dtype)

    if _shares(stage):
        weight = stage.weight[0] + sigma * drawn(rows, units, read.shape[2])
        out = torch.einsum("nbf,nuf->nbu", read, weight)
    else:
        out = torch.einsum("nbf,buf->nbu", read, stage.weight)
        out = out + sigma * read.norm(dim=2, keepdim=True) * drawn(rows, stage.n_blocks, units)
    if stage.bias is not None:
        out = out + stage.bias + sigma * drawn(rows, len(stage.bias), units)
    return ACTIVATIONS[stage.activation](out).flatten(1)


def kl_inverse(mean: float, bound: float) -> float:
    """The largest p with kl(mean || p) <= bound, by bisection.

    >>> round(kl_inverse(0.0, math.log(2)), 6)
    0.5
    """
    low, high = mean, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _kl(mean, middle) <= bound else (low, middle)
    return high


def _kl(q: float, p: float) -> float:
    first = q * math.log(q / p) if q > 0 else 0.0
    second = (1 - q) * math.log((1 - q) / (1 - p)) if q < 1 and p < 1 else (math.inf if q < 1 else 0.0)
    return first + second
