"""Convolutional networks in common use, in one dimension: overlapping filters, pooling, residual branches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, Unpack, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from compsparse.checks import MOST_LAYERS, check_choice, check_count
from compsparse.networks.symbols.base import Affine, SymbolNetwork, SymbolNetworkOptions, initial_generators

ConvolutionStyle = Literal["plain", "residual"]
"""As in VGG networks, or with the residual branches of ResNets."""


class CommonCNN(SymbolNetwork):
    """Blocks of two convolutions and a pooling by two, as in VGG (``plain``) or ResNet (``residual``) networks.

    It knows nothing of the data's patches.

    Args:
        n_blocks: None takes as many as pool the input to one position.

    >>> net = CommonCNN(8, n_symbols=4, n_outputs=4, width=16, random_state=0)
    >>> net(torch.zeros(5, 8, dtype=torch.int8)).shape
    torch.Size([5, 4])
    """

    def __init__(
        self,
        n_slots: int,
        n_symbols: int,
        n_outputs: int,
        n_blocks: int | None = None,
        width: int = 64,
        kernel: int = 3,
        variant: ConvolutionStyle = "plain",
        **options: Unpack[SymbolNetworkOptions],
    ):
        super().__init__(n_slots, n_symbols, n_outputs, **options)
        n_blocks = max(1, math.ceil(math.log2(n_slots))) if n_blocks is None else n_blocks
        n_blocks = check_count("n_blocks", n_blocks, most=MOST_LAYERS)
        width, kernel = check_count("width", width), check_count("kernel", kernel)
        check_choice("variant", variant, get_args(ConvolutionStyle))
        self.kernel, self.residual = kernel, variant == "residual"
        generators = initial_generators(options)
        fan_ins = [kernel * n_symbols, *[kernel * width] * (n_blocks - 1)]
        self.first = nn.ModuleList(_he(n, width, generators) for n in fan_ins)
        self.second = nn.ModuleList(_he(kernel * width, width, generators) for _ in fan_ins)
        self.readout = Affine(1, width, n_outputs, generators, scale=1 / math.sqrt(width))

    def states(self, x: Tensor) -> Iterator[Tensor]:
        """The activations of every layer; see :meth:`SymbolNetwork.states`."""
        h = x
        for first, second in zip(self.first, self.second, strict=True):
            h = torch.relu(self._convolved(first, h))
            branch = self._convolved(second, h)
            h = _pooled(torch.relu(h + branch if self.residual else branch))
            yield h
        yield self.readout(h.mean(2))

    def _convolved(self, layer: nn.Module, h: Tensor) -> Tensor:
        """A convolution that keeps the number of positions, then channels normalised at every position."""
        left = (self.kernel - 1) // 2
        windows = functional.pad(h, (0, 0, left, self.kernel - 1 - left)).unfold(2, self.kernel, 1)
        replicas, batch, positions = windows.shape[:3]
        out = layer(windows.reshape(replicas, batch * positions, -1)).view(replicas, batch, positions, -1)
        return functional.layer_norm(out, out.shape[-1:])


def _he(fan_in: int, width: int, generators: Sequence[torch.Generator]) -> Affine:
    return Affine(1, fan_in, width, generators, scale=math.sqrt(2 / fan_in))


def _pooled(h: Tensor) -> Tensor:
    """Halves the positions by the larger of two neighbours; one that is left over stays alone."""
    if h.shape[2] == 1:
        return h
    if h.shape[2] % 2:
        h = torch.cat([h, h[:, :, -1:]], dim=2)
    replicas, batch, positions, channels = h.shape
    return h.view(replicas, batch, positions // 2, 2, channels).amax(3)
