"""ReLU networks without biases: scaling a layer scales the answer, so norms and directions come apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from compsparse.checks import MOST_LAYERS, RandomState, check_count
from compsparse.networks.replicas import (
    ReplicatedNetwork,
    check_weights,
    chosen_seeds,
    generators_for,
    per_replica_normal,
)


class HomogeneousNetwork(ReplicatedNetwork):
    r"""Dense ReLU layers without biases: :math:`f = \rho \bar f`, the product of the layers' norms times a network of
    layers of norm 1.

    Args:
        width: units of every hidden layer.
        depth: hidden layers; 0 makes a linear map.
        n_replicas: how many independent copies to hold; None for an ordinary module.
        random_state: seed of the initial weights; replica r gets the same ones in any company.
        seeds: a list with one seed per replica instead.

    >>> network = HomogeneousNetwork(4, 2, width=8, depth=2, random_state=0)
    >>> x = torch.ones(3, 4)
    >>> torch.allclose(network(5 * x), 5 * network(x))
    True
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int = 1,
        width: int = 64,
        depth: int = 2,
        *,
        n_replicas: int | None = None,
        random_state: RandomState = None,
        seeds: Sequence[int] | None = None,
    ):
        n_inputs, n_outputs = check_count("n_inputs", n_inputs), check_count("n_outputs", n_outputs)
        width = check_count("width", width)
        depth = check_count("depth", depth, least=0, most=MOST_LAYERS)
        super().__init__(n_inputs, n_outputs, n_replicas)
        sizes = [n_inputs, *[width] * depth, n_outputs]
        check_weights(sum(float(a) * b for a, b in pairwise(sizes)), n_replicas)
        generators = generators_for(chosen_seeds(random_state, seeds, n_replicas or 1))
        self.weights = nn.ParameterList(
            per_replica_normal((n_out, n_in), generators) * math.sqrt((2 if i < depth else 1) / n_in)
            for i, (n_in, n_out) in enumerate(pairwise(sizes))
        )

    @property
    def n_layers(self) -> int:
        """How many weight matrices there are."""
        return len(self.weights)

    def run(self, columns: Tensor) -> Tensor:
        """From ``(R, n_inputs, batch)`` to ``(R, n_outputs, batch)``; see :meth:`ReplicatedNetwork.run`."""
        return torch.bmm(self.weights[-1], self.hidden(columns))

    def hidden(self, columns: Tensor) -> Tensor:
        """What the last layer reads, ``(R, width, batch)``; the inputs themselves where nothing is hidden."""
        h = columns
        for weight in list(self.weights)[:-1]:
            h = torch.relu(torch.bmm(weight, h))
        return h
