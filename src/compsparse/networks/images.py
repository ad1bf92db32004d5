"""Shallow image networks whose first layer is dense, local or convolutional: S-FC, S-LOCAL and S-CONV.

Neyshabur (2020) compares the three at the same numbers of units. A convolution is a local layer with shared
weights, and a local layer a dense one with zeros: :func:`embedded` goes down that ladder without changing the
function (d'Ascoli et al. 2019 call the result eFCN).
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from compsparse.checks import (
    RandomState,
    brief,
    check_choice,
    check_count,
    check_device,
    check_flag,
    check_kind,
    check_replicas,
)
from compsparse.errors import ConfigError
from compsparse.networks.masked import MaskedNetwork
from compsparse.networks.normalisation import ReplicaBatchNorm
from compsparse.networks.replicas import (
    ReplicatedNetwork,
    check_weights,
    generators_for,
    per_replica_normal,
    replica_seeds,
)
from compsparse.origin import Origin

FirstLayer = Literal["dense", "local", "convolutional"]


class ImageNetwork(ReplicatedNetwork):
    """One layer over an image, then two dense ones; batch normalisation and ReLU after the first two.

    Args:
        first: ``dense`` (S-FC), ``local`` (S-LOCAL) or ``convolutional`` (S-CONV).
        shape: channels, rows and columns of the images; inputs are their pixels in this order.
        channels: units of the first layer at each place.
        kernel, stride: of the first layer's windows, which are padded with zeros to stay centred.
        width: units of the second layer; by default 24 times ``channels``.

    >>> net = ImageNetwork("convolutional", (1, 8, 8), 10, 4, kernel=3, n_replicas=2, random_state=0)
    >>> net(torch.zeros(5, 64)).shape
    torch.Size([2, 5, 10])
    """

    windows: Tensor

    def __init__(
        self,
        first: FirstLayer,
        shape: tuple[int, int, int],
        n_outputs: int,
        channels: int = 8,
        *,
        kernel: int = 9,
        stride: int = 2,
        width: int | None = None,
        batch_norm: bool = True,
        n_replicas: int | None = None,
        random_state: RandomState = None,
        device: str | torch.device | None = None,
    ):
        check_choice("first", first, get_args(FirstLayer))
        image = _checked_shape(shape)
        channels, n_outputs = check_count("channels", channels), check_count("n_outputs", n_outputs)
        width = 24 * channels if width is None else check_count("width", width)
        n_inputs, replicas = math.prod(image), check_replicas(n_replicas) or 1
        windows = _windows(image, check_count("kernel", kernel), check_count("stride", stride, most=100_000))
        places, reach = windows.shape
        sizes = {
            "dense": (places * channels, n_inputs),
            "local": (places, channels, reach),
            "convolutional": (channels, reach),
        }
        check_weights(float(math.prod(sizes[first])) + (places * channels + n_outputs) * float(width), n_replicas)
        super().__init__(n_inputs, n_outputs, n_replicas)
        self.first, self.shape, self.channels = first, image, channels
        self.kernel, self.stride, self.batch_norm = kernel, stride, check_flag("batch_norm", batch_norm)
        self.register_buffer("windows", windows, persistent=False)
        generators = generators_for(replica_seeds(random_state, replicas))
        # a dense layer starts as wide as its inputs ask for, a local one as its windows do
        fan_in = n_inputs if first == "dense" else reach
        shapes = [(sizes[first], fan_in), ((width, places * channels), places * channels), ((n_outputs, width), width)]
        self.weights = nn.ParameterList(per_replica_normal(s, generators) * math.sqrt(2 / n) for s, n in shapes)
        n_first = channels if first == "convolutional" else places * channels
        # a normalisation takes away any bias before it
        biased = (n_outputs,) if batch_norm else (n_first, width, n_outputs)
        self.biases = nn.ParameterList(torch.zeros(replicas, n) for n in biased)
        self.norms = nn.ModuleList(ReplicaBatchNorm(replicas, n) for n in (n_first, width) if batch_norm)
        self.to(check_device(device))

    @property
    def n_places(self) -> int:
        """Windows of the first layer."""
        return self.windows.shape[0]

    def run(self, columns: Tensor) -> Tensor:
        """From ``(R, n_inputs, batch)`` to ``(R, n_outputs, batch)``."""
        h = self._first(columns)
        h = torch.relu(self._shifted(torch.bmm(self.weights[1], h), 1))
        return torch.baddbmm(self.biases[-1].unsqueeze(-1), self.weights[2], h)

    def _first(self, columns: Tensor) -> Tensor:
        """The first layer's answers, ``(R, places * channels, batch)``, the channels of a place side by side."""
        replicas, _, batch = columns.shape
        weight = self.weights[0]
        if self.first == "dense":
            return torch.relu(self._shifted(torch.bmm(weight, columns), 0))
        seen = self._seen(columns)
        if self.first == "local":
            h = torch.bmm(weight.flatten(0, 1), seen.flatten(0, 1)).view(replicas, -1, batch)
            return torch.relu(self._shifted(h, 0))
        side_by_side = seen.transpose(1, 2).reshape(replicas, seen.shape[2], -1)
        h = torch.relu(self._shifted(torch.bmm(weight, side_by_side), 0))
        return h.view(replicas, self.channels, self.n_places, batch).transpose(1, 2).reshape(replicas, -1, batch)

    def _seen(self, columns: Tensor) -> Tensor:
        """What every window sees, ``(R, places, reach, batch)``; the row behind the pixels is the padding."""
        padded = torch.cat([columns, columns.new_zeros(columns.shape[0], 1, columns.shape[2])], dim=1)
        seen = padded.index_select(1, self.windows.flatten())
        return seen.view(columns.shape[0], *self.windows.shape, columns.shape[2])

    def _shifted(self, h: Tensor, layer: int) -> Tensor:
        """Normalised, or with a bias added."""
        shifted: Tensor = self.norms[layer](h) if self.batch_norm else h + self.biases[layer].unsqueeze(-1)
        return shifted

    def effective(self) -> list[Tensor]:
        """The weights of all layers as dense matrices, ``(R, out, in)``: zero where a window does not reach."""
        return [self._dense_first(), self.weights[1], self.weights[2]]

    def _dense_first(self) -> Tensor:
        weight: Tensor = self.weights[0]
        if self.first == "dense":
            return weight
        if self.first == "convolutional":
            weight = weight.unsqueeze(1).expand(-1, self.n_places, -1, -1)
        matrix = weight.new_zeros(len(weight), self.n_places, self.channels, self.n_inputs + 1)
        at = self.windows[:, None, :].expand(len(weight), -1, self.channels, -1)
        return matrix.scatter_add(-1, at, weight)[..., :-1].flatten(1, 2)

    def scale_and_bias(self, layer: int) -> tuple[Tensor, Tensor]:
        """What a layer's answers are multiplied by and what is added in evaluation, ``(R, units)`` each."""
        if self.batch_norm and layer < 2:
            norm = self.norms[layer]
            assert isinstance(norm, ReplicaBatchNorm)
            factor, shift = norm.as_affine()
        else:
            shift = self.biases[-1 if layer == 2 else layer]
            factor = torch.ones_like(shift)
        repeats = self.n_places if layer == 0 and self.first == "convolutional" else 1
        return factor.repeat(1, repeats), shift.repeat(1, repeats)

    def local_mask(self) -> Tensor:
        """Which pixels lie in the window of each unit of the first layer, ``(units, n_inputs)``."""
        reach = torch.zeros(self.n_places, self.n_inputs + 1, device=self.windows.device).scatter(1, self.windows, 1.0)
        return reach[:, :-1].repeat_interleave(self.channels, dim=0)


@torch.no_grad()
def embedded(network: ImageNetwork, first: FirstLayer = "dense") -> ImageNetwork:
    """The same function with a more general first layer: convolutional -> local -> dense.

    What training does from there shows what the constraint was worth: see
    :func:`~compsparse.measures.off_local_mass`.
    """
    check_kind("network", network, ImageNetwork)
    ladder = get_args(FirstLayer)
    check_choice("first", first, ladder)
    if ladder.index(first) > ladder.index(network.first):
        raise ConfigError(
            f"a {network.first} layer is no {first} one: embedded goes from convolutional to local to dense"
        )
    weight = network.weights[0]
    wide = ImageNetwork(
        first,
        network.shape,
        network.n_outputs,
        network.channels,
        kernel=network.kernel,
        stride=network.stride,
        width=network.weights[1].shape[1],
        batch_norm=network.batch_norm,
        n_replicas=network.n_replicas,
        random_state=0,
    ).to(device=weight.device, dtype=weight.dtype)
    wide.has_replicas = network.has_replicas
    wide.train(network.training)
    if first == "dense":
        wide.weights[0].copy_(network.effective()[0])
    else:
        wide.weights[0].copy_(weight.unsqueeze(1) if network.first == "convolutional" else weight)
    for ours, theirs in zip(list(wide.weights)[1:], list(network.weights)[1:], strict=True):
        ours.copy_(theirs)
    repeats = network.n_places if network.first == "convolutional" and first != "convolutional" else 1
    pairs = list(zip(wide.biases, network.biases, strict=True))
    for ours, theirs in zip(wide.norms, network.norms, strict=True):
        pairs += [(getattr(ours, name), getattr(theirs, name)) for name in ("scale", "bias", "mean", "variance")]
    for ours, theirs in pairs:
        ours.copy_(theirs if ours.shape == theirs.shape else theirs.repeat(1, repeats))
    return wide


@torch.no_grad()
def as_masked(network: ImageNetwork) -> MaskedNetwork:
    """The network as masked layers that compute what it computes in evaluation: normalisations become part of them."""
    check_kind("network", network, ImageNetwork)
    windows, units = network.local_mask(), network.weights[1].shape[1]
    if network.first == "dense":
        windows = torch.ones_like(windows)
    masks = [windows.cpu(), torch.ones(units, len(windows)), torch.ones(network.n_outputs, units)]
    active = [torch.ones(len(m), dtype=torch.bool) for m in masks[:-1]]
    active.append(torch.zeros(network.n_outputs, dtype=torch.bool))
    like = network.weights[0]
    masked = MaskedNetwork(
        masks, active, "relu", n_replicas=network.n_replicas, dtype=like.dtype, mask_origin=Origin.GIVEN
    ).to(like.device)
    masked.has_replicas = network.has_replicas
    for i, weight in enumerate(network.effective()):
        factor, bias = network.scale_and_bias(i)
        masked.weights[i].copy_(weight * factor.unsqueeze(-1))
        masked.biases[i].copy_(bias)
    return masked


def _checked_shape(shape: object) -> tuple[int, int, int]:
    if not isinstance(shape, (tuple, list)) or len(shape) != 3:
        raise ConfigError(f"the shape of images is (channels, rows, columns), got {brief(shape)}")
    channels, rows, columns = (check_count("a side of the images", n, most=100_000) for n in shape)
    return channels, rows, columns


def _windows(shape: tuple[int, int, int], kernel: int, stride: int) -> Tensor:
    """The pixels of every window, ``(places, channels * kernel^2)``; what lies outside is number n_inputs."""
    channels, rows, columns = shape
    if kernel > 2 * min(rows, columns):
        raise ConfigError(f"a kernel of {kernel} is too wide for images of {rows} by {columns}")
    outside = channels * rows * columns
    reach = np.arange(kernel) - (kernel - 1) // 2
    across = np.arange(0, rows, stride)[:, None] + reach
    down = np.arange(0, columns, stride)[:, None] + reach
    i, j = across[:, None, None, :, None], down[None, :, None, None, :]
    c = np.arange(channels)[None, None, :, None, None]
    inside = (i >= 0) & (i < rows) & (j >= 0) & (j < columns)
    pixels = np.where(inside, (c * rows + i) * columns + j, outside)
    return torch.as_tensor(pixels.reshape(len(across) * len(down), -1))
