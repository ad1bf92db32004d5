"""Penalties that plug into the training loop.

A smooth penalty adds its ``value`` to the loss; a proximal one acts on the weights after each
step, by the proximal operator of the penalty times the current learning rate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import torch
from torch import Tensor

from compsparse.checks import brief, check_list, check_number
from compsparse.errors import ConfigError
from compsparse.networks.replicas import ReplicatedNetwork, check_network

Selector: TypeAlias = Callable[[str], bool]
"""Which parameters a penalty acts on, by name."""


def weights_only(name: str) -> bool:
    """Everything but biases."""
    return "bias" not in name


class _Penalty:
    """A strength, and the parameters it applies to."""

    def __init__(self, strength: float, applies_to: Selector = weights_only):
        self.strength = check_number(f"the strength of {type(self).__name__}", strength, least=0)
        if not callable(applies_to):
            raise ConfigError(f"applies_to must be a function of a parameter's name, got {brief(applies_to)}")
        self.applies_to = applies_to

    def selected(self, network: ReplicatedNetwork) -> Iterator[Tensor]:
        """The parameters that the penalty acts on."""
        return (p for name, p in check_network(network).named_parameters() if self.applies_to(name))


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
    def prox_(self, network: ReplicatedNetwork, step: float) -> None:
        """Replaces weights w by the minimiser u of ``|u - w|^2 / 2 + step * penalty(u)``, in place."""


Penalty: TypeAlias = SmoothPenalty | ProximalPenalty
"""What the training loop takes."""


class SquaredNorm(SmoothPenalty):
    r"""Weight decay as part of the loss: :math:`\lambda \|w\|_2^2`."""

    def value(self, network: ReplicatedNetwork) -> Tensor:
        """The strength times the squared norm of each replica's weights."""
        return self.strength * sum_over(p.square().flatten(1).sum(1) for p in self.selected(network))


class ProximalL1(ProximalPenalty):
    r""":math:`\lambda \|w\|_1` by soft thresholding, which sets weights to exactly zero."""

    def value(self, network: ReplicatedNetwork) -> Tensor:
        """The strength times the sum of the sizes of each replica's weights."""
        return self.strength * sum_over(p.abs().flatten(1).sum(1) for p in self.selected(network))

    @torch.no_grad()
    def prox_(self, network: ReplicatedNetwork, step: float) -> None:
        """Moves every weight towards zero by the strength times the step, and no further than zero."""
        step = check_number("step", step, least=0)
        for parameter in self.selected(network):
            parameter.copy_(torch.nn.functional.softshrink(parameter, self.strength * step))


def check_penalties(penalties: Any) -> list[Penalty]:
    """Penalties that the training loop knows how to apply."""
    found = check_list("penalties", penalties)
    for penalty in found:
        if not isinstance(penalty, (SmoothPenalty, ProximalPenalty)):
            raise ConfigError(f"penalties must be smooth or proximal penalties, got {brief(penalty)}")
    return found


def sum_over(terms: Iterator[Tensor]) -> Tensor:
    """The sum of at least one term per parameter."""
    total = None
    for term in terms:
        total = term if total is None else total + term
    if total is None:
        raise ConfigError("the penalty applies to no parameter of the network")
    return total
