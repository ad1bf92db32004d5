"""Cells: many small node networks of one shape, run as one batched product per layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from compsparse.networks.activations import activation
from compsparse.networks.replicas import per_replica_normal, per_replica_uniform


class Cells(nn.Module):
    """``count`` networks fan_in -> width -> … -> width -> channels, for each of R replicas.

    Weights have shape (R, count, out, in). Values run feature-major, (R·count, features, batch),
    so that a layer is one ``baddbmm`` with the batch as the long contiguous side.
    """

    def __init__(
        self,
        count: int,
        fan_in: int,
        channels: int,
        width: int,
        depth: int,
        activation_name: str,
        generators: Sequence[torch.Generator],
    ):
        super().__init__()
        self.count, self.fan_in, self.channels = count, fan_in, channels
        self.activation = activation(activation_name)
        sizes = [fan_in, *[width] * depth, channels]
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for layer, (n_in, n_out) in enumerate(pairwise(sizes)):
            last = layer == depth
            # silu and relu halve the variance; kinks start spread over the inputs' range
            gain = 1.0 if last else math.sqrt(2.0)
            self.weights.append(per_replica_normal((count, n_out, n_in), generators) * (gain / math.sqrt(n_in)))
            self.biases.append(per_replica_uniform((count, n_out), generators) * (0.0 if last else 1.0))

    def forward(self, x: Tensor) -> Tensor:
        """From (R, count, fan_in, batch) to (R, count, channels, batch)."""
        replicas, count, _, batch = x.shape
        h = self._layers(x.reshape(replicas * count, self.fan_in, batch))
        return h.view(replicas, count, self.channels, batch)

    def shared(self, x: Tensor) -> Tensor:
        """The same with one set of weights for every node of the group (count is 1)."""
        replicas, nodes, _, batch = x.shape
        side_by_side = x.transpose(1, 2).reshape(replicas, self.fan_in, nodes * batch)
        h = self._layers(side_by_side).view(replicas, self.channels, nodes, batch)
        return h.transpose(1, 2)

    def one(self, x: Tensor, replica: int, place: int) -> Tensor:
        """One node network of one replica alone, from (fan_in, batch) to (channels, batch)."""
        return self._layers(x.unsqueeze(0), replica * self.count + place)[0]

    def _layers(self, h: Tensor, chosen: int | None = None) -> Tensor:
        """All networks side by side, or the chosen one of them."""
        last = len(self.weights) - 1
        for layer, parameters in enumerate(zip(self.weights, self.biases, strict=True)):
            weight, bias = (p.flatten(0, 1) if chosen is None else p.flatten(0, 1)[[chosen]] for p in parameters)
            h = torch.baddbmm(bias.unsqueeze(-1), weight, h)
            if layer < last:
                h = self.activation(h)
        return h

    @property
    def multiplies(self) -> int:
        """Multiplications of one node network on one sample."""
        return sum(w.shape[2] * w.shape[3] for w in self.weights)
