"""torch modules as network graphs: layers in a row, walked with the rows that they read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from compsparse.bounds.description import Choice, zeros_choice
from compsparse.bounds.network_graph import NetworkGraph, StageBuilder, pooling
from compsparse.checks import brief
from compsparse.errors import ConfigError, DataError

SUPPORTED = (
    "Linear, Conv1d, Conv2d, ReLU, Tanh, SiLU, GELU, Identity, Dropout, Flatten, Unflatten, AvgPool1d, AvgPool2d, "
    "AdaptiveAvgPool1d and AdaptiveAvgPool2d to one place, MaxPool1d, MaxPool2d, BatchNorm1d and BatchNorm2d after a "
    "Linear or Conv layer, in Sequential"
)
_ACTIVATIONS: dict[type[nn.Module], str] = {nn.ReLU: "relu", nn.Tanh: "tanh", nn.SiLU: "silu", nn.GELU: "gelu"}
_NOTHING = (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d)
_POOLS: dict[type[nn.Module], int] = {nn.AvgPool1d: 1, nn.AvgPool2d: 2, nn.MaxPool1d: 1, nn.MaxPool2d: 2}
_CONVOLUTIONS: dict[type[nn.Module], int] = {nn.Conv1d: 1, nn.Conv2d: 2}
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)


def lower_module(module: nn.Module, shape: tuple[int, ...]) -> tuple[NetworkGraph, Choice]:
    """The graph of a module over data of the given shape, the rows left out, and which weights are zero.

    What made a weight zero cannot be seen: pruning, a penalty or a plan.
    """
    layers = [(name, layer) for name, layer in _layers(module) if not isinstance(layer, _NOTHING)]
    if not any(isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d) for _, layer in layers):
        raise ConfigError(f"the module has no Linear or Conv layer to bound, got {brief(module)}")
    sparse = _sparse_layers([layer for _, layer in layers])
    walk = _Walk(shape, sparse)
    for name, layer in layers:
        walk.step(name, layer)
    return walk.builder.finished(walk.rows), zeros_choice([layer.weight for layer in sparse], len(layers))


def _sparse_layers(layers: Sequence[nn.Module]) -> list[nn.Linear]:
    """Layers some of whose weights are zero; what a normalisation is folded into is taken whole."""
    found = []
    for layer, follower in zip(layers, [*layers[1:], None], strict=True):
        if isinstance(layer, nn.Linear) and not isinstance(follower, _NORMS):
            is_zero = layer.weight == 0
            found += [layer] if is_zero.any() and not is_zero.all() else []
    return found


def _layers(module: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    if not isinstance(module, nn.Sequential):
        yield f"{type(module).__name__}{f' {prefix!r}' if prefix else ''}", module
        return
    for name, child in module.named_children():
        yield from _layers(child, f"{prefix}.{name}" if prefix else name)


class _Walk:
    """Where the walk stands: rows in the shape of one datum, and the stages that an activation would belong to."""

    def __init__(self, shape: tuple[int, ...], sparse: Sequence[nn.Module]):
        self.sparse = sparse
        self.builder = StageBuilder(int(torch.tensor(shape).prod()))
        self.rows = self.builder.inputs(*shape)
        self.last = 0  # the first stage of the last layer
        self.follows_weights = False

    def step(self, name: str, layer: nn.Module) -> None:
        kind = type(layer)
        if kind in _ACTIVATIONS:
            self._activate(name, layer, _ACTIVATIONS[kind])
        elif isinstance(layer, nn.Flatten | nn.Unflatten):
            self._reshape(name, layer)
        elif isinstance(layer, nn.Linear):
            self._linear(name, layer)
        elif kind in _CONVOLUTIONS:
            self._convolve(name, layer, _CONVOLUTIONS[kind])
        elif kind in _POOLS:
            self._pool(name, layer, _POOLS[kind])
        elif isinstance(layer, nn.AdaptiveAvgPool1d | nn.AdaptiveAvgPool2d):
            self._pool_all(name, layer)
        elif isinstance(layer, _NORMS):
            self._normalise(name, layer)
        else:
            raise ConfigError(f"the bounds do not know {name}; they read {SUPPORTED}")

    def _activate(self, name: str, layer: nn.Module, activation: str) -> None:
        if getattr(layer, "approximate", "none") != "none":
            raise ConfigError(f"{name} is an approximation of the GELU; the bounds read the exact one")
        if not self.builder.stages or not self.builder.activate(self.last, activation):
            raise ConfigError(f"{name} must follow a Linear, Conv or pooling layer, and no other activation")
        self.follows_weights = False

    def _reshape(self, name: str, layer: nn.Flatten | nn.Unflatten) -> None:
        try:
            self.rows = layer(self.rows[None])[0]
        except (RuntimeError, IndexError):
            raise DataError(f"{name} does not fit data of shape {tuple(self.rows.shape)} there") from None

    def _linear(self, name: str, layer: nn.Linear) -> None:
        if self.rows.ndim != 1 or len(self.rows) != layer.in_features:
            raise DataError(
                f"{name} reads {layer.in_features} numbers, but is given an array of shape {tuple(self.rows.shape)}; "
                "put a Flatten before it or pass data of another shape"
            )
        self._begin()
        if any(layer is one for one in self.sparse):
            self.rows = self.builder.masked(name, self.rows, layer.weight, layer.weight != 0, layer.bias)
        else:
            bias = None if layer.bias is None else layer.bias[None]
            self.rows = self.builder.blocks(name, self.rows[None], layer.weight[None], bias)[0]

    def _convolve(self, name: str, layer: Any, dimensions: int) -> None:
        if self.rows.ndim != dimensions + 1 or self.rows.shape[0] != layer.in_channels:
            raise DataError(
                f"{name} reads {layer.in_channels} channels of {dimensions} dimensions, but is given an array of shape "
                f"{tuple(self.rows.shape)}"
            )
        if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
            raise ConfigError(f"{name} must pad with zeros, by numbers, got {layer.padding!r} {layer.padding_mode!r}")
        self._begin()
        settings = [_sizes(v, dimensions) for v in (layer.kernel_size, layer.stride, layer.padding, layer.dilation)]
        windows, shape = _windows(name, self.rows, *settings)
        bias = None if layer.bias is None else layer.bias[None]
        reads = windows.reshape(len(windows), -1)
        made = self.builder.blocks(name, reads, _whole_kernel(layer)[None], bias)
        self.rows = made.T.reshape(-1, *shape)

    def _pool(self, name: str, layer: Any, dimensions: int) -> None:
        is_largest = isinstance(layer, nn.MaxPool1d | nn.MaxPool2d)
        padded = any(_sizes(layer.padding, dimensions))
        spread = any(d != 1 for d in _sizes(getattr(layer, "dilation", 1), dimensions))
        if padded or spread or layer.ceil_mode or self.rows.ndim != dimensions + 1:
            raise ConfigError(f"{name} must have no padding, dilation or ceil_mode, over channels of its dimensions")
        self._begin()
        settings = [_sizes(v, dimensions) for v in (layer.kernel_size, layer.stride, 0, 1)]
        windows, shape = _windows(name, self.rows, *settings)
        self.rows = pooling(name, self.builder, windows, largest=is_largest).T.reshape(-1, *shape)

    def _pool_all(self, name: str, layer: Any) -> None:
        dimensions = 1 if isinstance(layer, nn.AdaptiveAvgPool1d) else 2
        if set(_sizes(layer.output_size, dimensions)) != {1} or self.rows.ndim != dimensions + 1:
            raise ConfigError(f"{name} must average each channel to one place")
        self._begin()
        self.rows = pooling(name, self.builder, self.rows.flatten(1)[None])[0].view(-1, *[1] * dimensions)

    def _normalise(self, name: str, layer: Any) -> None:
        """Folds the scale and the shift into the weights before it."""
        if layer.training or layer.running_mean is None:
            raise ConfigError(f"{name} depends on the batch: call eval() on the module first, with running statistics")
        if not self.follows_weights or len(self.builder.stages) != self.last + 1:
            raise ConfigError(f"{name} must follow a Linear or Conv layer, so that it can be folded in")
        scale = (layer.running_var.double() + layer.eps).rsqrt()
        scale = scale if layer.weight is None else scale * layer.weight.detach().double()
        shift = -layer.running_mean.double() * scale
        shift = shift if layer.bias is None else shift + layer.bias.detach().double()
        stage = self.builder.stages[-1]
        bias = shift if stage.bias is None else stage.bias * scale + shift
        weight = stage.weight * scale[None, :, None]
        self.builder.stages[-1] = replace(stage, weight=weight, bias=bias.reshape(1, -1))
        own = (layer.weight, layer.bias, layer.running_mean, layer.running_var)
        # as many numbers as the module stores, of which the folded bias is there already
        self.builder.n_folded += sum(n.numel() for n in own if n is not None) - (stage.bias is None) * len(shift)

    def _begin(self) -> None:
        self.last, self.follows_weights = len(self.builder.stages), True


def _sizes(value: int | tuple[int, ...], dimensions: int) -> tuple[int, ...]:
    """One whole number for each dimension."""
    return (value,) * dimensions if isinstance(value, int) else tuple(int(v) for v in value)


def _windows(
    name: str,
    rows: Tensor,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[Tensor, tuple[int, ...]]:
    """(places, channels, size) rows of every window, channels first, and the shape of the places."""
    shape = []
    for n, size, step, pad, spread in zip(rows.shape[1:], kernel, stride, padding, dilation, strict=True):
        reach = (size - 1) * spread + 1
        if n + 2 * pad < reach:
            raise DataError(f"{name} reads windows of {reach}, but there are only {n + 2 * pad} places")
        shape.append((n + 2 * pad - reach) // step + 1)
    flat = 2 - len(kernel)  # torch unfolds images: a line is one of height 1; beyond the edge it puts zero, PADDING
    one, zero = (1,) * flat, (0,) * flat
    image = rows.double().view(1, len(rows), -1, rows.shape[-1])
    found = nn.functional.unfold(image, (*one, *kernel), (*one, *dilation), (*zero, *padding), (*one, *stride))
    return found[0].T.reshape(found.shape[2], len(rows), -1).long(), tuple(shape)


def _whole_kernel(layer: Any) -> Tensor:
    """(out, in * size) weights, with zeros where groups do not read."""
    weight: Tensor = layer.weight
    groups: int = layer.groups
    if groups == 1:
        return weight.flatten(1)
    parts = [
        torch.block_diag(*part)  # type: ignore[no-untyped-call]
        for part in zip(*(w.flatten(2).unbind(2) for w in weight.chunk(groups)), strict=True)
    ]
    return torch.stack(parts, dim=2).flatten(1)
