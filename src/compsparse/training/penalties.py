"""Penalties that plug into the training loop.

A smooth penalty adds its ``value`` to the loss; a proximal one acts on the weights after each
step, by the proximal operator of the penalty times the current learning rate.

A strength is one number, or one per replica: a path of strengths is one tensor program. ``layers``
restricts a penalty to some of a network's layers.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor

from compsparse.checks import brief, check_choice, check_list, check_number, check_numbers
from compsparse.errors import ConfigError
from compsparse.networks.replicas import ReplicatedNetwork, check_network

Selector: TypeAlias = Callable[[str], bool]
"""Which parameters a penalty acts on, by name."""
LayerChoice: TypeAlias = Sequence[int] | slice | None
"""Which of the parameters that a selector leaves, counted from the input; None for all."""
Strength: TypeAlias = float | Sequence[float] | Tensor
"""One number >= 0, or one for each replica."""


def weights_only(name: str) -> bool:
    """Everything but biases and the scales of a normalisation."""
    return "bias" not in name and "scale" not in name


_Kind = TypeVar("_Kind", bound="_Penalty")


class _Penalty:
    """A strength, and the parameters it applies to."""

    def __init__(self, strength: Strength, applies_to: Selector = weights_only, *, layers: LayerChoice = None):
        self.strength = _checked_strength(f"the strength of {type(self).__name__}", strength)
        if not callable(applies_to):
            raise ConfigError(f"applies_to must be a function of a parameter's name, got {brief(applies_to)}")
        self.applies_to = applies_to
        self.layers = _checked_layers(layers)

    def selected(self, network: ReplicatedNetwork) -> Iterator[Tensor]:
        """The parameters that the penalty acts on."""
        found = [p for name, p in check_network(network).named_parameters() if self.applies_to(name)]
        if isinstance(self.layers, slice):
            found = found[self.layers]
        elif self.layers is not None:
            last = max(self.layers, default=0)
            if last >= len(found):
                raise ConfigError(f"the penalty is for layer {last} (counted from 0) of a network with {len(found)}")
            found = [found[i] for i in self.layers]
        self._check_replicas(network)
        return iter(found)

    def for_replicas(self: _Kind, chosen: Sequence[int]) -> _Kind:
        """The same penalty for some of the replicas, where each has a strength of its own."""
        if not isinstance(self.strength, Tensor):
            return self
        some = copy.copy(self)
        some.strength = self.strength[list(chosen)]
        return some

    def _check_replicas(self, network: ReplicatedNetwork) -> None:
        if isinstance(self.strength, Tensor) and len(self.strength) != network.n_replicas:
            raise ConfigError(
                f"{len(self.strength)} strengths do not go with a network of {network.n_replicas} replicas"
            )

    def _total(self, terms: Iterator[Tensor]) -> Tensor:
        """The strength times a sum over parameters, per replica."""
        total = sum_over(terms)
        return total * self._times(total, 1.0)

    def _times(self, like: Tensor, step: float | Tensor) -> float | Tensor:
        """Strength times step as it goes with a parameter: a number, or a tensor (R, 1, …)."""
        if isinstance(self.strength, Tensor) and self.strength.device != like.device:
            self.strength = self.strength.to(like.device)  # once: a recorded step may not copy from the host
        strength, step = (
            t.to(device=like.device, dtype=like.dtype).view(-1, *[1] * (like.ndim - 1)) if isinstance(t, Tensor) else t
            for t in (self.strength, step)
        )
        return strength * step


class SmoothPenalty(_Penalty, ABC):
    """A penalty that is added to the loss."""

    @abstractmethod
    def value(self, network: ReplicatedNetwork) -> Tensor:
        """The penalty of each replica, differentiable in the weights."""


class ProximalPenalty(_Penalty, ABC):
    """A penalty that acts on the weights after each step."""

    @abstractmethod
    def value(self, network: ReplicatedNetwork) -> Tensor:
        """The penalty of each replica."""

    @abstractmethod
    def prox_(self, network: ReplicatedNetwork, step: float | Tensor) -> None:
        """Replaces weights w by the minimiser u of ``|u - w|^2 / 2 + step * penalty(u)``, in place.

        Args:
            step: one number, or one per replica.
        """


Penalty: TypeAlias = SmoothPenalty | ProximalPenalty
"""What the training loop takes."""


class SquaredNorm(SmoothPenalty):
    r"""Weight decay as part of the loss: :math:`\lambda \|w\|_2^2`."""

    def value(self, network: ReplicatedNetwork) -> Tensor:
        """The strength times the squared norm of each replica's weights."""
        return self._total(p.square().flatten(1).sum(1) for p in self.selected(network))


class WeightDecay(ProximalPenalty):
    r""":math:`\frac{\lambda}{2} \|w\|_2^2` apart from the gradient, as in AdamW; also for single layers."""

    def value(self, network: ReplicatedNetwork) -> Tensor:
        """Half the strength times the squared norm of each replica's weights."""
        return self._total(p.square().flatten(1).sum(1) / 2 for p in self.selected(network))

    @torch.no_grad()
    def prox_(self, network: ReplicatedNetwork, step: float | Tensor) -> None:
        """Divides every weight by one plus the strength times the step."""
        step = check_step(step)
        for parameter in self.selected(network):
            parameter.div_(1 + self._times(parameter, step))


class ProximalL1(ProximalPenalty):
    r""":math:`\lambda \|w\|_1` by soft thresholding, which sets weights to exactly zero."""

    def value(self, network: ReplicatedNetwork) -> Tensor:
        """The strength times the sum of the sizes of each replica's weights."""
        return self._total(p.abs().flatten(1).sum(1) for p in self.selected(network))

    @torch.no_grad()
    def prox_(self, network: ReplicatedNetwork, step: float | Tensor) -> None:
        """Moves every weight towards zero by the strength times the step, and no further than zero."""
        step = check_step(step)
        for parameter in self.selected(network):
            most = self._times(parameter, step)
            if isinstance(most, Tensor):
                parameter.sub_(torch.clamp(parameter, -most, most))
            else:
                parameter.copy_(torch.nn.functional.softshrink(parameter, most))


class BetaLasso(SmoothPenalty, ProximalPenalty):
    r"""Neyshabur's :math:`\beta`-LASSO: a subgradient step of :math:`\lambda\|w\|_1`, then small weights are zeroed.

    .. math:: w \leftarrow w - \eta(\nabla + \lambda\,\mathrm{sign}\,w), \qquad
        w \leftarrow w \cdot 1(|w| \ge \beta\lambda)

    The rule of the paper takes plain gradient steps: ``optimizer="sgd", momentum=0``. With ``beta=0`` it is
    L1 by subgradients.
    """

    def __init__(
        self,
        strength: Strength,
        applies_to: Selector = weights_only,
        *,
        layers: LayerChoice = None,
        beta: float = 50.0,
    ):
        super().__init__(strength, applies_to, layers=layers)
        self.beta = check_number("beta", beta, least=0)

    def value(self, network: ReplicatedNetwork) -> Tensor:
        """The strength times the sum of the sizes of each replica's weights."""
        return self._total(p.abs().flatten(1).sum(1) for p in self.selected(network))

    @torch.no_grad()
    def prox_(self, network: ReplicatedNetwork, step: float | Tensor) -> None:
        """Sets weights below beta times the strength to zero, whatever the step."""
        check_step(step)
        for parameter in self.selected(network):
            parameter.mul_(parameter.abs() >= self._times(parameter, self.beta))


class GroupLasso(ProximalPenalty):
    r""":math:`\lambda \sum_g \sqrt{|g|}\,\|w_g\|_2`: whole groups of weights become zero together.

    Args:
        groups: ``inputs`` groups what leaves an input of a layer, ``units`` what enters a unit.
    """

    def __init__(
        self,
        strength: Strength,
        applies_to: Selector = weights_only,
        *,
        layers: LayerChoice = None,
        groups: str = "inputs",
    ):
        super().__init__(strength, applies_to, layers=layers)
        self.groups = check_choice("groups", groups, ("inputs", "units"))

    def value(self, network: ReplicatedNetwork) -> Tensor:
        """The strength times the sum of the norms of the groups, each times the root of its size."""
        return self._total(self._norms(p).flatten(1).sum(1) for p in self.selected(network))

    @torch.no_grad()
    def prox_(self, network: ReplicatedNetwork, step: float | Tensor) -> None:
        """Shortens every group by strength times step times the root of its size, and no further than to zero."""
        step = check_step(step)
        for parameter in self.selected(network):
            size = parameter.shape[self._dimension]
            # norms carry the root of the size, so the shortening is by the size over them
            parameter.mul_((1 - self._times(parameter, step) * size / self._norms(parameter)).clamp(min=0).nan_to_num())

    @property
    def _dimension(self) -> int:
        """Of (…, out, in) weights, along which a group runs."""
        return -2 if self.groups == "inputs" else -1

    def _norms(self, parameter: Tensor) -> Tensor:
        if parameter.ndim < 3:
            raise ConfigError("GroupLasso groups matrices of weights: let applies_to leave out biases")
        size = parameter.shape[self._dimension]
        norms: Tensor = torch.linalg.vector_norm(parameter, dim=self._dimension, keepdim=True)
        return norms * math.sqrt(size)


def sum_over(terms: Iterator[Tensor]) -> Tensor:
    """The sum of at least one term per parameter."""
    total = None
    for term in terms:
        total = term if total is None else total + term
    if total is None:
        raise ConfigError("the penalty applies to no parameter of the network")
    return total


def check_step(step: Any) -> float | Tensor:
    """A step of the optimiser: one number >= 0, or a tensor of one per replica."""
    return step if isinstance(step, Tensor) else check_number("step", step, least=0)


def _checked_strength(what: str, strength: Any) -> float | Tensor:
    if isinstance(strength, (str, bytes)) or not hasattr(strength, "__len__"):
        return check_number(what, strength, least=0)
    values = strength.detach().cpu().numpy() if isinstance(strength, Tensor) else check_list(what, strength)
    numbers = check_numbers(what, values, shape=(None,), form="a number, or one for each replica", error=ConfigError)
    if not len(numbers) or (numbers < 0).any():
        raise ConfigError(f"{what} must hold one number >= 0 for each replica, got {brief(strength)}")
    return torch.as_tensor(numbers)


def _checked_layers(layers: Any) -> list[int] | slice | None:
    if layers is None or isinstance(layers, slice):
        return layers
    found = check_list("layers", layers)
    if not found or not all(isinstance(i, int) and not isinstance(i, bool) and i >= 0 for i in found):
        raise ConfigError(f"layers must be numbers of layers, counted from 0, or a slice, got {brief(layers)}")
    return found
