"""A network as a list of layers over rows of numbers: what a compiled kernel trains.

All that a small network does is read some numbers, multiply, and write others. Written down as integers (which rows a
layer reads, where its weights lie, where it writes), any network of such layers is trained by one kernel, replica
after replica, with all its numbers in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from compsparse.networks.activations import name_of
from compsparse.networks.cells import Cells
from compsparse.networks.replicas import ReplicatedNetwork

LAYER, PRODUCT = 0, 1
"""Operations: activation(weights · read + bias), or the product of 1 + weight · read."""
ACTIVATION_CODES = {"identity": 0, "silu": 1, "tanh": 2, "relu": 3}
"""Activations that the kernel knows."""
NO_BIAS = -1


@dataclass(frozen=True)
class LayerProgram:
    """What a network computes from its inputs, which are the first rows.

    Attributes:
        operations: kind, place in ``reads``, number of rows read, first row written, number of rows written, place of
            the weights, place of the biases, activation; a line each, in the order in which they run.
        reads: rows that operations read.
        outputs: rows that are the network's outputs.
        constants: (R, k) weights that do not learn, after all that do.
        learns: (R, n) 1 for weights that learn and 0 for those that a mask removes.
    """

    n_inputs: int
    n_rows: int
    operations: np.ndarray
    reads: np.ndarray
    outputs: np.ndarray
    constants: Tensor
    learns: Tensor

    @property
    def widest(self) -> int:
        """Most numbers that an operation writes."""
        return int(self.operations[:, 4].max())


class ProgramBuilder:
    """Collects what the parts of a network do; parts add themselves by ``lower``."""

    def __init__(self, network: ReplicatedNetwork):
        self._n_replicas, self._n_inputs = network.n_replicas, network.n_inputs
        self._place: dict[int, int] = {}
        self._n_learned = 0
        for parameter in network.parameters():
            self._place[id(parameter)] = self._n_learned
            self._n_learned += parameter[0].numel()
        self._learns = torch.ones(self._n_replicas, self._n_learned)
        self._constants: list[Tensor] = []
        self._n_constants = 0
        self._operations: list[tuple[int, ...]] = []
        self._reads: list[int] = []
        self._n_rows = network.n_inputs

    def place_of(self, parameter: Tensor) -> int:
        """Where a replica's share of a parameter begins among all its weights."""
        return self._place[id(parameter)]

    def mask(self, parameter: Tensor, mask: Tensor) -> None:
        """Removes the weights of a parameter where the mask, of its shape or one that expands to it, is zero."""
        start, size = self.place_of(parameter), parameter[0].numel()
        kept = mask.expand(parameter.shape).reshape(self._n_replicas, size)
        self._learns[:, start : start + size] = (kept != 0).float().cpu()

    def constant(self, values: Tensor) -> int:
        """The place of weights (R, k) that do not learn."""
        start = self._n_learned + self._n_constants
        self._constants.append(values.float().cpu())
        self._n_constants += values.shape[1]
        return start

    def layer(self, read: Sequence[int], n_out: int, weights: int, biases: int, activation: str) -> list[int]:
        """Adds a dense layer with (n_out, len(read)) weights; the rows that it writes."""
        return self._add(LAYER, read, n_out, weights, biases, ACTIVATION_CODES[activation])

    def product(self, read: Sequence[int], weights: int) -> list[int]:
        """Adds the product of 1 + weight · row over rows."""
        return self._add(PRODUCT, read, 1, weights, NO_BIAS, 0)

    def layers(
        self, read: Sequence[int], weights: Sequence[Tensor], biases: Sequence[Tensor], activation: str, place: int = 0
    ) -> list[int]:
        """Adds dense layers, all but the last followed by the activation.

        Args:
            place: which of several networks side by side in each parameter, (R, count, out, in).
        """
        rows, last = list(read), len(weights) - 1
        for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            n_out, n_in = weight.shape[-2:]
            first_weight, first_bias = self.place_of(weight) + place * n_out * n_in, self.place_of(bias) + place * n_out
            rows = self.layer(rows, n_out, first_weight, first_bias, "identity" if k == last else activation)
        return rows

    def cells(self, read: Sequence[int], cells: Cells, *, shared: bool = False) -> list[int]:
        """Adds networks side by side, each of which reads the next ``fan_in`` rows."""
        name, out = name_of(cells.activation), []
        for i in range(len(read) // cells.fan_in):
            own = read[i * cells.fan_in : (i + 1) * cells.fan_in]
            out += self.layers(own, list(cells.weights), list(cells.biases), name, 0 if shared else i)
        return out

    def built(self, outputs: Sequence[int]) -> LayerProgram:
        """The whole."""
        constants = torch.cat([torch.empty(self._n_replicas, 0), *self._constants], 1)
        return LayerProgram(
            self._n_inputs,
            self._n_rows,
            np.array(self._operations, dtype=np.int64).reshape(-1, 8),
            np.array(self._reads, dtype=np.int64),
            np.array(outputs, dtype=np.int64),
            constants,
            self._learns,
        )

    def _add(self, kind: int, read: Sequence[int], n_out: int, weights: int, biases: int, code: int) -> list[int]:
        first = self._n_rows
        self._operations.append((kind, len(self._reads), len(read), first, n_out, weights, biases, code))
        self._reads += read
        self._n_rows += n_out
        return list(range(first, first + n_out))


def program_of(network: ReplicatedNetwork) -> LayerProgram | None:
    """The program of a network; None where some part of it is no such layer."""
    lower = getattr(network, "lower", None)
    activations = {name_of(m.activation) for m in network.modules() if hasattr(m, "activation")}  # type: ignore[arg-type]
    if lower is None or not activations <= ACTIVATION_CODES.keys():
        return None
    builder = ProgramBuilder(network)
    return builder.built(lower(builder, range(network.n_inputs)))
