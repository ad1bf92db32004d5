"""Hierarchical networks: patches that do not overlap, one layer per level of the data's tree."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn

from compsparse.checks import check_count, check_flag
from compsparse.errors import ConfigError
from compsparse.networks.symbols.base import Affine, Readout, SymbolNetwork, SymbolNetworkOptions, initial_generators


class HierarchicalNetwork(SymbolNetwork):
    """Layers whose filters and strides are one patch of the data.

    Args:
        patch: neighbouring positions that a filter reads, and the distance to the next.
        n_layers: None takes as many as reduce the input to one position.
        width: channels of every layer.
        bias_per_position: every position has a bias of its own, as in the code of the papers; else all patches share
            one, where they share weights. Locally connected networks have it anyway.
    """

    shared: ClassVar[bool]

    def __init__(
        self,
        n_slots: int,
        n_symbols: int,
        n_outputs: int,
        patch: int,
        n_layers: int | None = None,
        width: int = 64,
        *,
        bias_per_position: bool = False,
        **options: Unpack[SymbolNetworkOptions],
    ):
        super().__init__(n_slots, n_symbols, n_outputs, **options)
        own_biases = check_flag("bias_per_position", bias_per_position) and self.shared
        patch, width = check_count("patch", patch), check_count("width", width)
        self.patch, self.width = patch, width
        generators = initial_generators(options)
        self.layers = nn.ModuleList()
        channels, positions = n_symbols, n_slots
        for _ in range(_depth(n_slots, patch, n_layers)):
            positions //= patch
            count = 1 if self.shared else positions
            n_biases = positions if own_biases else 1
            layer = Affine(count, patch * channels, width, generators, scale=1 / math.sqrt(channels), n_biases=n_biases)
            self.layers.append(layer)
            channels = width
        self.readout = Readout(width, n_outputs, generators)

    def states(self, x: Tensor) -> Iterator[Tensor]:
        """The activations of every layer; see :meth:`SymbolNetwork.states`."""
        h = x if self.shared else x.transpose(1, 2)
        for layer in self.layers:
            h = self._shared(layer, h) if self.shared else self._local(layer, h)
            yield h if self.shared else h.transpose(1, 2)
        yield self.readout(h.mean(2 if self.shared else 1))

    def _shared(self, layer: nn.Module, h: Tensor) -> Tensor:
        """From (R, batch, positions, channels) to (R, batch, positions / patch, width)."""
        replicas, batch, positions, channels = h.shape
        rows = h.reshape(replicas, batch * positions // self.patch, self.patch * channels)
        return torch.relu(layer(rows)).view(replicas, batch, positions // self.patch, self.width)

    def _local(self, layer: nn.Module, h: Tensor) -> Tensor:
        """From (R, positions, batch, channels) to (R, positions / patch, batch, width)."""
        replicas, positions, batch, channels = h.shape
        patches = h.reshape(replicas, positions // self.patch, self.patch, batch, channels).transpose(2, 3)
        out = torch.relu(layer(patches.reshape(-1, batch, self.patch * channels)))
        return out.view(replicas, positions // self.patch, batch, self.width)


class HierarchicalCNN(HierarchicalNetwork):
    """The convolutional one: all patches of all data are rows of one product.

    >>> net = HierarchicalCNN(8, n_symbols=4, n_outputs=4, patch=2, width=16, random_state=0)
    >>> [tuple(h.shape) for h in net.activations(torch.zeros(5, 8, dtype=torch.int8))]
    [(1, 5, 4, 16), (1, 5, 2, 16), (1, 5, 1, 16), (1, 5, 4)]
    """

    shared = True


class HierarchicalLCN(HierarchicalNetwork):
    """The locally connected one: every position has weights of its own, and the product is batched over them."""

    shared = False


def _depth(n_slots: int, patch: int, n_layers: int | None) -> int:
    deepest = _n_divisions(n_slots, patch)
    n_layers = deepest if n_layers is None else check_count("n_layers", n_layers)
    if not deepest:
        raise ConfigError(f"{n_slots} slots cannot be divided into patches of {patch}")
    if n_layers > deepest:
        raise ConfigError(f"{n_slots} slots can be read by 1 to {deepest} layers of patch {patch}, got {n_layers}")
    return n_layers


def _n_divisions(n: int, by: int) -> int:
    """How often n can be divided without remainder."""
    count = 0
    while by > 1 and n % by == 0:
        n, count = n // by, count + 1
    return count
