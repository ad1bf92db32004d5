"""The check from below: the Rademacher complexity of a small class, found by looking for its best members.

For random signs the correlation of signs and outputs is maximised over the weights by gradient ascent, many restarts
at once; after each step the weights are pulled back into the class. Every point on the way is a member, so that the
largest correlation that was found is below the true one, and its mean over signs below the complexity up to the error
of a mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from compsparse.bounds.blocks import BlockGraph, block_graph, layer_norms, path_sums
from compsparse.bounds.lowering import lower
from compsparse.bounds.network_graph import NetworkGraph, Stage, Weights
from compsparse.certificate import Certificate, Rigour
from compsparse.checks import MOST_STEPS, RandomState, check_choice, check_count, generator_from
from compsparse.errors import ConfigError
from compsparse.sizes import check_size, check_work
from compsparse.surroundings import usual_settings
from compsparse.text import in_a_line

WeightClass = Literal["blocks", "tiers", "layers", "units", "spectral", "l1 paths", "l2 paths"]
"""Which norms of the given network bind the others: of every block, of the largest block of its tier, of whole layers
(Frobenius), of the largest unit of its tier, of whole layers (spectral and (2, 1)), or over paths."""

_MOST_WORK = 10**12


@in_a_line
@dataclass(frozen=True)
class FoundComplexity:
    """A Rademacher complexity as search found it.

    Attributes:
        maxima: for every draw of signs the largest mean correlation that was found.
    """

    maxima: np.ndarray

    @property
    def value(self) -> float:
        """Mean over signs."""
        return float(self.maxima.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return float(self.maxima.std(ddof=1) / math.sqrt(len(self.maxima))) if len(self.maxima) > 1 else math.inf

    @property
    def certificate(self) -> Certificate:
        """The value, estimated."""
        told = f"the best of a search for each of {len(self.maxima)} draws of signs; the truth is likely above"
        return Certificate("Rademacher complexity", self.value, -math.inf, math.inf, Rigour.ESTIMATED, (), told)


@usual_settings()
def empirical_rademacher(
    model: Any,
    X: Any,
    *,
    weight_class: WeightClass = "blocks",
    n_draws: int = 32,
    n_restarts: int = 4,
    n_steps: int = 150,
    random_state: RandomState = None,
) -> FoundComplexity:
    """Maximises over all weights of the same graph that obey the norms of the given ones.

    Args:
        model, X: as in :func:`~compsparse.bounds.compare`; several outputs have a sign each.
        weight_class: which norms bind; see :data:`WeightClass`.
        n_draws: draws of the signs.

    >>> from torch import nn
    >>> linear = nn.Linear(3, 1, bias=False)
    >>> found = empirical_rademacher(linear, np.eye(3), n_draws=4)
    >>> bool(np.allclose(found.maxima, float(linear.weight.detach().norm()) * math.sqrt(3) / 3))  # closed form
    True
    """
    check_choice("weight_class", weight_class, get_args(WeightClass))
    n_draws, n_restarts = check_count("n_draws", n_draws), check_count("n_restarts", n_restarts)
    n_steps = check_count("n_steps", n_steps, most=MOST_STEPS)
    lowered = lower(model, X)
    if len(lowered.members) != 1:
        raise ConfigError(f"the complexity is found of one network, got {len(lowered.members)} replicas")
    (network,) = lowered.members
    searches, rows = float(n_draws) * n_restarts, len(lowered.X)
    read = sum(stage.reads.numel() for stage in network.stages)
    held = searches * (rows * 4 * read + 6 * network.n_parameters)
    check_size(f"{searches:,.0f} searches", held, "take fewer draws or restarts")
    work = searches * n_steps * rows * network.n_parameters
    check_work("rows x weights x draws x restarts x steps", work, _MOST_WORK, "take a smaller network or fewer draws")
    rng = generator_from(random_state)
    generator = torch.Generator(device=lowered.X.device).manual_seed(int(rng.integers(2**62)))
    search = _Search(network, lowered.X, weight_class)
    return FoundComplexity(search.maxima(n_draws, n_restarts, n_steps, generator))


class _Search:
    """Gradient ascent on all draws and restarts at once."""

    def __init__(self, network: NetworkGraph, X: Tensor, weight_class: WeightClass):
        self.network, self.X = network, X
        self.moves = [not stage.fixed for stage in network.stages for _ in _flat([(stage.weight, stage.bias)])]
        retracted = _retraction(network, X, weight_class)
        self.answers = torch.func.vmap(lambda tensors: network(X, _paired(network, tensors)))
        self.retract_all = torch.func.vmap(lambda tensors: _flat(retracted(_paired(network, tensors))))

    def maxima(self, n_draws: int, n_restarts: int, n_steps: int, generator: torch.Generator) -> np.ndarray:
        """The best correlation for every draw."""
        n, n_out = len(self.X), self.network.n_outputs
        signs = self._random(generator, n_draws, n, n_out).sign().repeat_interleave(n_restarts, 0)
        tensors = self.retract_all(self._starts(n_draws * n_restarts, generator))
        means = [torch.zeros_like(t) for t in tensors]
        best = torch.full((n_draws * n_restarts,), -math.inf, dtype=self.X.dtype, device=self.X.device)
        for step in range(n_steps + 1):
            found, slopes = self._ascent(tensors, signs)
            best = torch.maximum(best, found)
            rate = 0.3 * (1 - step / (n_steps + 1))
            moved = []
            for k, (tensor, slope) in enumerate(zip(tensors, slopes, strict=True)):
                means[k] = 0.8 * means[k] + 0.2 * slope
                # one size for a whole tensor: at a maximum on a sphere the weights point along the slope
                step_size = self.moves[k] * rate * _size(tensor) / (_size(means[k]) + 1e-300)
                moved.append(tensor + step_size * means[k])
            tensors = self.retract_all(moved)
        return np.asarray(best.view(n_draws, n_restarts).amax(1).cpu().numpy() / n)

    def _ascent(self, tensors: list[Tensor], signs: Tensor) -> tuple[Tensor, list[Tensor]]:
        followed = [t.detach().requires_grad_() for t in tensors]
        found = (self.answers(followed) * signs).sum((1, 2))
        slopes = torch.autograd.grad(found.sum(), followed, allow_unused=True)
        return found.detach(), [torch.zeros_like(t) if s is None else s for t, s in zip(tensors, slopes, strict=True)]

    def _starts(self, n: int, generator: torch.Generator) -> list[Tensor]:
        """Random weights of the size of the given ones; what is fixed stays."""
        starts = []
        for stage in self.network.stages:
            for tensor in _flat([(stage.weight, stage.bias)]):
                size = stage.weight.square().mean().sqrt()  # also of biases, which may be zero and are free to grow
                own = tensor.expand(n, *tensor.shape)
                starts.append(own if stage.fixed else size * self._random(generator, n, *tensor.shape))
        return starts

    def _random(self, generator: torch.Generator, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=self.X.dtype, device=self.X.device)


def _size(tensor: Tensor) -> Tensor:
    """Root mean square of each search's part of a tensor."""
    return tensor.flatten(1).square().mean(1).sqrt().view(-1, *[1] * (tensor.ndim - 1))


def _flat(weights: Weights) -> list[Tensor]:
    return [tensor for pair in weights for tensor in pair if tensor is not None]


def _paired(network: NetworkGraph, tensors: list[Tensor]) -> Weights:
    following = iter(tensors)
    return [(next(following), None if stage.bias is None else next(following)) for stage in network.stages]


# ---- back into the class ------------------------------------------------------------------------

Retraction = Callable[[Weights], Weights]


def _retraction(network: NetworkGraph, X: Tensor, weight_class: WeightClass) -> Retraction:
    if weight_class.endswith("paths"):
        return _path_retraction(network, torch.abs if weight_class == "l1 paths" else torch.square)
    blocks = block_graph(network, X.square().sum(0).cpu().numpy(), len(X))
    radii = _radii(network, blocks, weight_class)

    def retracted(weights: Weights) -> Weights:
        return [
            pair if stage.fixed else _scaled(stage, pair, radius, weight_class)
            for stage, pair, radius in zip(network.stages, weights, radii, strict=True)
        ]

    return retracted


def _radii(network: NetworkGraph, blocks: BlockGraph, weight_class: WeightClass) -> list[Tensor]:
    """Of every stage the radius of each block or unit, or of the whole."""
    found, first = [], 0
    spectral = _spectral_radii(network) if weight_class == "spectral" else []
    for k, stage in enumerate(network.stages):
        own = slice(first, first + stage.n_blocks)
        tier = int(blocks.tier[first])
        in_tier = float(np.bincount(blocks.tier)[tier])
        first += stage.n_blocks
        match weight_class:
            case "blocks":
                radius = blocks.norms[own]
            case "tiers":
                radius = np.full(stage.n_blocks, blocks.tier_maximum(blocks.norms)[tier])
            case "units":
                radius = np.array(blocks.largest_units[tier])
            case "spectral":
                radius = np.array(spectral[k])
            case _:
                # a stage that shares its tier with others gets its own norm: a part of the class
                is_alone = in_tier == stage.n_blocks
                whole = float(stage.unit_energies.sum().sqrt())
                radius = np.array(blocks.tier_norms[tier] if is_alone else whole)
        found.append(torch.as_tensor(radius, dtype=stage.weight.dtype, device=stage.weight.device))
    return found


def _scaled(
    stage: Stage, pair: tuple[Tensor, Tensor | None], radius: Tensor, weight_class: WeightClass
) -> tuple[Tensor, Tensor | None]:
    energies = stage.energies_of(*pair)
    if weight_class == "units":
        factor = (radius / (energies.sqrt() + 1e-300)).clamp(max=1.0)  # (blocks, units)
        factor = factor.amin(0, keepdim=True) if len(pair[0]) == 1 else factor
    elif weight_class in ("blocks", "tiers"):
        factor = (radius / (energies.sum(1).sqrt() + 1e-300))[:, None]
        factor = factor.amin(0, keepdim=True) if len(pair[0]) == 1 else factor
    elif weight_class == "layers":
        factor = (radius / (energies.sum().sqrt() + 1e-300)).view(1, 1)
    else:
        factor = _spectral_factor(stage, pair, energies, radius).view(1, 1)
    weight, bias = pair
    if bias is None:
        return weight * factor[:, :, None], None
    return weight * factor[:, :, None], bias * (factor if len(bias) == len(factor) else factor.amin(0, keepdim=True))


def _spectral_factor(stage: Stage, pair: tuple[Tensor, Tensor | None], energies: Tensor, radius: Tensor) -> Tensor:
    """Within the spectral and the (2, 1) norm; several blocks are held to the Frobenius norm, which is larger."""
    weight, bias = pair
    if stage.n_blocks > 1:
        spectral = energies.sum().sqrt()
    else:
        joined = weight[0] if bias is None else torch.cat([weight[0], bias.reshape(-1, 1)], dim=1)
        spectral = torch.linalg.matrix_norm(joined, 2)
    units = stage.unit_energies.sqrt().sum() / (energies.sqrt().sum() + 1e-300)
    return torch.minimum(radius / (spectral + 1e-300), units)


def _spectral_radii(network: NetworkGraph) -> list[float]:
    """What each stage may have so that its level, with carried rows, has no larger norm than it had."""
    layers = layer_norms(network)
    stages_of = [network.levels.count(level) for level in network.levels]
    squares = [layers[level - 1].spectral ** 2 - layers[level - 1].carries for level in network.levels]
    return [math.sqrt(max(square, 0.0) / n) for square, n in zip(squares, stages_of, strict=True)]


def _path_retraction(network: NetworkGraph, of: Callable[[Tensor], Tensor]) -> Retraction:
    """Scales the outputs' weights until the sum of the outputs' path norms is the given one."""
    power = 1.0 if of is torch.abs else 0.5
    given = float((path_sums(network, of) ** power).sum())
    last = _output_stages(network)
    # outputs that other stages read stand in longer paths too, which shrink at least as much but may not grow
    is_read = any(bool(torch.isin(stage.reads.cpu(), network.outputs.cpu()).any()) for stage in network.stages)
    most = 1.0 if is_read else math.inf

    def retracted(weights: Weights) -> Weights:
        norm = path_sums(network, of, weights).pow(power).sum()
        factor = (given / (norm + 1e-300)).clamp(max=most)
        return [
            (weight * factor, None if bias is None else bias * factor) if k in last else (weight, bias)
            for k, (weight, bias) in enumerate(weights)
        ]

    return retracted


def _output_stages(network: NetworkGraph) -> set[int]:
    """The stages that hold outputs."""
    ends = [o + s.n_blocks * s.n_units for o, s in zip(network.offsets, network.stages, strict=True)]
    return {int(np.searchsorted(ends, row, side="right")) for row in network.outputs.tolist()}
