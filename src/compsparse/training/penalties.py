"""Penalties that plug into the training loop.

A smooth penalty adds its ``value`` to the loss; a proximal one acts on the weights after each
step, by the proximal operator of the penalty times the current learning rate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TypeAlias

import torch
from torch import Tensor

from compsparse.errors import ConfigError
from compsparse.networks.replicas import ReplicatedNetwork

Selector: TypeAlias = Callable[[str], bool]
"""Which parameters a penalty acts on, by name."""


def weights_only(name: str) -> bool:
    """Everything but biases."""
    return "bias" not in name


class _Penalty:
    def __init__(self, strength: float, applies_to: Selector = weights_only):
        if not strength >= 0:
            raise ConfigError(f"the strength of {type(self).__name__} must be >= 0, got {strength}")
        self.strength, self.applies_to = strength, applies_to

    def selected(self, network: ReplicatedNetwork) -> Iterator[Tensor]:
        return (p for name, p in network.named_parameters() if self.applies_to(name))


class SmoothPenalty(_Penalty, ABC):
    @abstractmethod
    def value(self, network: ReplicatedNetwork) -> Tensor:
        """The penalty of each replica, differentiable in the weights."""


class ProximalPenalty(_Penalty, ABC):
    @abstractmethod
    def value(self, network: ReplicatedNetwork) -> Tensor:
        """The penalty of each replica."""

    @abstractmethod
    def prox_(self, network: ReplicatedNetwork, step: float) -> None:
        """Replaces weights w by the minimiser u of ``|u - w|^2 / 2 + step * penalty(u)``, in place."""


Penalty: TypeAlias = SmoothPenalty | ProximalPenalty


class SquaredNorm(SmoothPenalty):
    r"""Weight decay as part of the loss: :math:`\lambda \|w\|_2^2`."""

    def value(self, network: ReplicatedNetwork) -> Tensor:
        return self.strength * sum_over(p.square().flatten(1).sum(1) for p in self.selected(network))


class ProximalL1(ProximalPenalty):
    r""":math:`\lambda \|w\|_1` by soft thresholding, which sets weights to exactly zero."""

    def value(self, network: ReplicatedNetwork) -> Tensor:
        return self.strength * sum_over(p.abs().flatten(1).sum(1) for p in self.selected(network))

    @torch.no_grad()
    def prox_(self, network: ReplicatedNetwork, step: float) -> None:
        for parameter in self.selected(network):
            parameter.copy_(torch.nn.functional.softshrink(parameter, self.strength * step))


def sum_over(terms: Iterator[Tensor]) -> Tensor:
    total = None
    for term in terms:
        total = term if total is None else total + term
    if total is None:
        raise ConfigError("the penalty applies to no parameter of the network")
    return total
