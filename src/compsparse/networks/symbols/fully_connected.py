"""Fully connected networks over symbols, in the mean-field convention of the hierarchical ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Unpack

import torch
from torch import Tensor, nn

from compsparse.checks import MOST_LAYERS, check_count
from compsparse.networks.symbols.base import Affine, Readout, SymbolNetwork, SymbolNetworkOptions, initial_generators


class FullyConnectedNetwork(SymbolNetwork):
    """A dense network of ``n_layers`` hidden layers over one-hot symbols.

    >>> net = FullyConnectedNetwork(8, n_symbols=4, n_outputs=4, random_state=0)
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
        **options: Unpack[SymbolNetworkOptions],
    ):
        super().__init__(n_slots, n_symbols, n_outputs, **options)
        n_layers, width = check_count("n_layers", n_layers, most=MOST_LAYERS), check_count("width", width)
        generators = initial_generators(options)
        sizes = [n_slots * n_symbols, *[width] * (n_layers - 1)]
        self.layers = nn.ModuleList(Affine(1, n, width, generators, scale=1 / math.sqrt(n)) for n in sizes)
        self.readout = Readout(width, n_outputs, generators)

    def states(self, x: Tensor) -> Iterator[Tensor]:
        """The activations of every layer; see :meth:`SymbolNetwork.states`."""
        h = x.flatten(2)
        for layer in self.layers:
            h = torch.relu(layer(h))
            yield h
        yield self.readout(h)
