"""Stochastic gradient descent in which every replica has a learning rate of its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class ReplicaSGD:
    """Momentum and L2 decay as in ``torch.optim.SGD``, with one learning rate per replica."""

    def __init__(self, parameters: Sequence[Tensor], momentum: float, weight_decay: float):
        self.parameters = list(parameters)
        self.momentum, self.weight_decay = momentum, weight_decay
        self.rates = self.parameters[0].new_zeros(self.parameters[0].shape[0])
        self._set: list[float] = []
        self.velocity = [torch.zeros_like(p) for p in self.parameters]

    def set_rates(self, rates: list[float]) -> None:
        """In place, so that a recorded step reads the new ones."""
        if rates != self._set:
            self.rates.copy_(torch.tensor(rates))
            self._set = rates

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One step of every replica at its own rate."""
        for parameter, velocity in zip(self.parameters, self.velocity, strict=True):
            if parameter.grad is None:
                continue
            gradient = parameter.grad.add(parameter, alpha=self.weight_decay) if self.weight_decay else parameter.grad
            velocity.mul_(self.momentum).add_(gradient)
            parameter.addcmul_(velocity, self.rates.view(-1, *[1] * (parameter.ndim - 1)), value=-1)

    def keep(self, replicas: Tensor) -> None:
        """Drops all but the given replicas."""
        self.rates = self.rates[replicas]
        self.velocity = [v[replicas] for v in self.velocity]
