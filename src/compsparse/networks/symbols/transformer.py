"""A small transformer over symbols."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Unpack

import torch
from torch import Tensor, nn
from torch.nn import functional

from compsparse.checks import MOST_LAYERS, check_count
from compsparse.errors import ConfigError
from compsparse.networks.replicas import check_weights, per_replica_normal
from compsparse.networks.symbols.base import Affine, SymbolNetwork, SymbolNetworkOptions, initial_generators


class TransformerNetwork(SymbolNetwork):
    """Pre-norm blocks of attention over the slots, a mean over slots, a linear readout.

    >>> net = TransformerNetwork(8, n_symbols=4, n_outputs=4, width=16, random_state=0)
    >>> net(torch.zeros(5, 8, dtype=torch.int8)).shape
    torch.Size([5, 4])
    """

    def __init__(
        self,
        n_slots: int,
        n_symbols: int,
        n_outputs: int,
        n_layers: int = 2,
        width: int = 64,
        n_heads: int = 4,
        **options: Unpack[SymbolNetworkOptions],
    ):
        super().__init__(n_slots, n_symbols, n_outputs, **options)
        n_layers = check_count("n_layers", n_layers, most=MOST_LAYERS)
        width, n_heads = check_count("width", width), check_count("n_heads", n_heads)
        if width % n_heads:
            raise ConfigError(f"a width of {width} cannot be shared by {n_heads} heads")
        generators = initial_generators(options)
        self.embed = Affine(1, n_symbols, width, generators, scale=1.0)
        check_weights(float(n_slots) * width, len(generators))
        self.places = nn.Parameter(per_replica_normal((1, n_slots, width), generators))
        self.blocks = nn.ModuleList(_Block(width, n_heads, generators) for _ in range(n_layers))
        self.readout = Affine(1, width, n_outputs, generators, scale=1 / math.sqrt(width))

    def states(self, x: Tensor) -> Iterator[Tensor]:
        """The activations of every layer; see :meth:`SymbolNetwork.states`."""
        replicas, batch, slots, _ = x.shape
        h = self.embed(x.reshape(replicas, batch * slots, -1)).view(replicas, batch, slots, -1) + self.places
        for block in self.blocks:
            h = block(h)
            yield h
        yield self.readout(_normed(h).mean(2))


class _Block(nn.Module):
    """Attention, then a two-layer network, each added to what it normalised and read."""

    def __init__(self, width: int, n_heads: int, generators: Sequence[torch.Generator]):
        super().__init__()
        self.n_heads = n_heads
        narrow, wide = 1 / math.sqrt(width), 1 / math.sqrt(4 * width)
        self.to_heads = Affine(1, width, 3 * width, generators, scale=narrow, bias_scale=None)
        self.from_heads = Affine(1, width, width, generators, scale=narrow, bias_scale=None)
        self.up = Affine(1, width, 4 * width, generators, scale=narrow)
        self.down = Affine(1, 4 * width, width, generators, scale=wide)

    def forward(self, h: Tensor) -> Tensor:
        """From (R, batch, slots, width) to the same."""
        h = h + self._attended(_normed(h))
        replicas, batch, slots, width = h.shape
        rows = _normed(h).view(replicas, batch * slots, width)
        change: Tensor = self.down(functional.gelu(self.up(rows)))
        return h + change.view(h.shape)

    def _attended(self, h: Tensor) -> Tensor:
        replicas, batch, slots, width = h.shape
        parts = self.to_heads(h.reshape(replicas, batch * slots, width))
        query, key, value = parts.view(replicas * batch, slots, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value).transpose(1, 2)
        joined: Tensor = self.from_heads(mixed.reshape(replicas, batch * slots, width))
        return joined.view(h.shape)


def _normed(h: Tensor) -> Tensor:
    return functional.layer_norm(h, h.shape[-1:])
