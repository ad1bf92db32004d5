"""Dense layers with masks, and the exact conversion of a mirrored network into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from compsparse.checks import (
    RandomState,
    brief,
    check_count,
    check_device,
    check_dtype,
    check_kind,
    check_list,
    suggests_options,
)
from compsparse.errors import ConfigError
from compsparse.networks.activations import activation
from compsparse.networks.mirroring import MirrorNetwork
from compsparse.networks.plan import Group
from compsparse.networks.replicas import (
    ReplicatedNetwork,
    check_weights,
    generators_for,
    per_replica_normal,
    replica_seeds,
)
from compsparse.origin import Origin
from compsparse.surroundings import usual_settings


class MaskedNetwork(ReplicatedNetwork):
    """Dense layers whose weights are multiplied by 0/1 masks.

    Args:
        masks: per layer an (out, in) mask, or (R, out, in) where every replica has its own.
        active: per layer which units pass through the activation; the others are linear, so
            that a value can be carried past a layer unchanged.
        mask_origin: where the masks come from; bounds pay for those that nobody vouches for.
    """

    def __init__(
        self,
        masks: Sequence[Tensor],
        active: Sequence[Tensor],
        activation_name: str = "silu",
        *,
        n_replicas: int | None = None,
        random_state: RandomState = None,
        dtype: torch.dtype = torch.float32,
        mask_origin: Origin = Origin.UNKNOWN,
    ):
        masks, active = _tensors("masks", masks, (2, 3)), _tensors("active", active, (1,))
        check_dtype(dtype)
        if not masks or len(masks) != len(active):
            raise ConfigError(f"every layer needs a mask and its active units, got {len(masks)} and {len(active)}")
        check_weights(float(sum(mask.shape[-2] * mask.shape[-1] for mask in masks)), n_replicas)
        super().__init__(masks[0].shape[-1], masks[-1].shape[-2], n_replicas)
        self.activation = activation(activation_name)
        self.mask_origin = check_kind("mask_origin", mask_origin, Origin)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        self.all_active = [bool(units.all()) for units in active]
        # masks that hold nothing back cost a pass over the weights in every step
        self.all_in = [mask.ndim == 2 and bool((mask == 1).all()) for mask in masks]
        generators = generators_for(replica_seeds(random_state, n_replicas or 1))
        masks, active = [m.cpu() for m in masks], [a.cpu() for a in active]
        for i, (mask, units) in enumerate(zip(masks, active, strict=True)):
            out, read = mask.shape[-2:]
            if i and read != masks[i - 1].shape[-2]:
                raise ConfigError(f"mask {i} reads {read} units but layer {i - 1} has {masks[i - 1].shape[-2]}")
            if len(units) != out:
                raise ConfigError(f"layer {i} has {out} units but active says it of {len(units)}")
            if mask.ndim == 3 and mask.shape[0] != (n_replicas or 1):
                raise ConfigError(f"mask {i} is for {mask.shape[0]} replicas but there are {n_replicas or 1}")
            degree = mask.sum(-1, keepdim=True).clamp(min=1)
            self.weights.append(per_replica_normal((out, read), generators).to(dtype) * (2 / degree).sqrt().to(dtype))
            self.biases.append(torch.zeros(n_replicas or 1, out, dtype=dtype))
            self.register_buffer(f"mask_{i}", mask.to(dtype))
            self.register_buffer(f"active_{i}", units.bool().unsqueeze(-1))

    @property
    def replica_buffers(self) -> tuple[str, ...]:
        """The masks that every replica has for itself."""
        return tuple(f"mask_{i}" for i in range(self.n_layers) if self.mask(i).ndim == 3)

    @property
    def n_layers(self) -> int:
        """Layers of weights."""
        return len(self.weights)

    def mask(self, layer: int) -> Tensor:
        """The mask of a layer, (out, in) or (R, out, in)."""
        return self.get_buffer(f"mask_{layer}")

    def masks(self) -> list[Tensor]:
        """The masks of all layers as (R, out, in), which may be views of shared ones."""
        return [self.mask(i).expand(self.n_replicas, *self.mask(i).shape[-2:]) for i in range(self.n_layers)]

    def set_masks(self, masks: Sequence[Tensor], mask_origin: Origin = Origin.UNKNOWN) -> None:
        """Gives every replica masks of its own, (R, out, in) per layer."""
        given, origin = _tensors("masks", masks, (3,)), check_kind("mask_origin", mask_origin, Origin)
        if len(given) != self.n_layers:
            raise ConfigError(f"{self.n_layers} layers need as many masks, got {len(given)}")
        for i, (mask, now) in enumerate(zip(given, self.masks(), strict=True)):
            if mask.shape != now.shape:
                raise ConfigError(f"mask {i} must have shape {tuple(now.shape)}, got {tuple(mask.shape)}")
            self.all_in[i] = False
            setattr(self, f"mask_{i}", mask.to(device=now.device, dtype=now.dtype).clone())
        self.mask_origin = origin

    def effective(self) -> list[Tensor]:
        """The weights that count, (R, out, in) per layer: zero where a mask is."""
        return [w if self.all_in[i] else w * self.mask(i) for i, w in enumerate(self.weights)]

    def run(self, columns: Tensor) -> Tensor:
        """From ``(R, n_inputs, batch)`` to ``(R, n_outputs, batch)``, layer after layer."""
        return self.run_with(columns, self.effective())

    def run_with(self, columns: Tensor, matrices: Sequence[Tensor]) -> Tensor:
        """The same with other weights, (R, out, in) per layer, which no mask touches."""
        h = columns
        for i, (weight, bias) in enumerate(zip(matrices, self.biases, strict=True)):
            h = torch.baddbmm(bias.unsqueeze(-1), weight, h)
            h = self.activation(h) if self.all_active[i] else self._partly_active(h, i)
        return h

    def _partly_active(self, h: Tensor, layer: int) -> Tensor:
        return torch.where(self.get_buffer(f"active_{layer}"), self.activation(h), h)


def _tensors(what: str, values: Any, dimensions: tuple[int, ...]) -> list[Tensor]:
    found = check_list(what, values)
    for one in found:
        if not isinstance(one, Tensor) or one.ndim not in dimensions or not one.numel():
            wanted = " or ".join(map(str, dimensions))
            raise ConfigError(f"{what} must be tensors of {wanted} dimensions, got {brief(one)}")
    return found


@usual_settings()
def layered(
    sizes: Sequence[int],
    activation: str = "relu",
    *,
    masks: Sequence[Tensor] | None = None,
    n_replicas: int | None = None,
    random_state: RandomState = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.float32,
) -> MaskedNetwork:
    """Dense layers from ``sizes[0]`` inputs to ``sizes[-1]`` outputs, which is linear; masks can be set later.

    Args:
        masks: one per layer; None leaves every weight in.

    >>> net = layered([144, 64, 1], n_replicas=3, random_state=0)
    >>> net(torch.zeros(5, 144)).shape
    torch.Size([3, 5, 1])
    """
    units = [check_count("a size", n) for n in check_list("sizes", sizes)]
    if len(units) < 2:
        raise ConfigError(f"sizes go from the inputs to the outputs, at least these two, got {brief(sizes)}")
    check_weights(float(sum(a * b for a, b in pairwise(units))), n_replicas)
    mask_origin = Origin.GIVEN if masks is None else Origin.UNKNOWN
    if masks is None:
        masks = [torch.ones(b, a) for a, b in pairwise(units)]
    active = [torch.ones(n, dtype=torch.bool) for n in units[1:-1]] + [torch.zeros(units[-1], dtype=torch.bool)]
    network = MaskedNetwork(
        masks,
        active,
        activation,
        n_replicas=n_replicas,
        random_state=random_state,
        dtype=dtype,
        mask_origin=mask_origin,
    )
    return network.to(check_device(device))


@dataclass
class _Layer:
    """One dense layer under construction: (R, out, in) weights, zero where masked."""

    weight: Tensor
    bias: Tensor
    mask: Tensor
    active: Tensor

    @classmethod
    def empty(cls, like: Tensor, n_out: int, n_in: int) -> _Layer:
        r = like.shape[0]
        return cls(
            like.new_zeros(r, n_out, n_in),
            like.new_zeros(r, n_out),
            torch.zeros(n_out, n_in, dtype=torch.bool, device=like.device),
            torch.zeros(n_out, dtype=torch.bool, device=like.device),
        )

    def put(self, rows: slice, columns: Tensor, weight: Tensor, bias: Tensor, *, active: bool) -> None:
        self.weight[:, rows, columns] = weight
        self.bias[:, rows] = bias
        self.mask[rows, columns] = True
        self.active[rows] = active

    def carry(self, row: int, column: int) -> None:
        self.weight[:, row, column] = 1.0
        self.mask[row, column] = True


@torch.no_grad()
@suggests_options
def to_masked(network: MirrorNetwork) -> MaskedNetwork:
    """The mirrored network as masked dense layers that compute exactly the same function.

    Each level of the graph becomes ``depth + 1`` layers; wires that later levels need are
    carried past them by linear units.
    """
    check_kind("network", network, MirrorNetwork)
    layers: list[_Layer] = []
    like = next(network.parameters())
    wires = [(0, row) for row in range(network.n_inputs)]
    needed_after = _last_use(network)
    level = 0
    groups = list(enumerate(network.plan.groups))
    while groups:
        level += 1
        here = [(i, g) for i, g in groups if network.graph.levels[g.nodes[0]] == level]
        groups = [(i, g) for i, g in groups if (i, g) not in here]
        new, wires = _level_layers(network, here, wires, needed_after, level, like)
        layers += new
    _reorder_output(network, layers[-1], wires)
    masked = MaskedNetwork(
        [layer.mask for layer in layers],
        [layer.active for layer in layers],
        network.config.activation,
        n_replicas=network.n_replicas,
        dtype=like.dtype,
        mask_origin=network.graph.origin,
    ).to(like.device)
    masked.has_replicas = network.has_replicas
    for layer, weight, bias in zip(layers, masked.weights, masked.biases, strict=True):
        weight.copy_(layer.weight)
        bias.copy_(layer.bias)
    return masked


_Wire = tuple[int, int]
"""A row of a buffer of the plan."""


def _read_wires(network: MirrorNetwork, i: int) -> list[_Wire]:
    plan = network.plan
    read = plan.groups[i].read if i < len(plan.groups) else plan.output
    sizes = [network.n_inputs, *(len(g.nodes) * plan.blocks[g.block].channels for g in plan.groups)]
    available = [(b, row) for b in read.buffers for row in range(sizes[b])]
    return available if read.rows is None else [available[row] for row in read.rows]


def _last_use(network: MirrorNetwork) -> dict[_Wire, int]:
    """The last level that reads each wire; outputs are read after the last."""
    last: dict[_Wire, int] = {}
    for i, group in enumerate(network.plan.groups):
        level = network.graph.levels[group.nodes[0]]
        for wire in _read_wires(network, i):
            last[wire] = max(level, last.get(wire, 0))
    for wire in _read_wires(network, len(network.plan.groups)):
        last[wire] = network.graph.depth + 1
    return last


def _level_layers(
    network: MirrorNetwork,
    here: list[tuple[int, Group]],
    wires: list[_Wire],
    needed_after: dict[_Wire, int],
    level: int,
    like: Tensor,
) -> tuple[list[_Layer], list[_Wire]]:
    carried = [w for w in wires if needed_after.get(w, 0) > level]
    column_of = {wire: c for c, wire in enumerate(wires)}
    # where each node's units stand in the previous layer: first the wires it reads
    position: dict[tuple[int, int], Tensor] = {}
    for i, group in here:
        fan_in = network.plan.blocks[group.block].fan_in
        columns = torch.tensor([column_of[w] for w in _read_wires(network, i)], device=like.device)
        for n in range(len(group.nodes)):
            position[i, n] = columns[n * fan_in : (n + 1) * fan_in]
    layers, carried_columns, n_in = [], [column_of[w] for w in carried], len(wires)
    n_layers = network.config.depth + 1
    for k in range(n_layers):
        size = len(carried) + sum(len(g.nodes) * network.cells(g).weights[k].shape[2] for _, g in here)
        layer = _Layer.empty(like, size, n_in)
        for row, column in enumerate(carried_columns):
            layer.carry(row, column)
        row = len(carried)
        for i, group in here:
            cells = network.cells(group)
            weight, bias = cells.weights[k], cells.biases[k]
            for n in range(len(group.nodes)):
                own = 0 if group.shared else n
                rows = slice(row, row + weight.shape[2])
                layer.put(rows, position[i, n], weight[:, own], bias[:, own], active=k < n_layers - 1)
                position[i, n] = torch.arange(rows.start, rows.stop, device=like.device)
                row = rows.stop
        layers.append(layer)
        carried_columns, n_in = list(range(len(carried))), size
    new = [(i + 1, int(r)) for i, g in here for r in range(len(g.nodes) * network.cells(g).channels)]
    return layers, carried + new


def _reorder_output(network: MirrorNetwork, layer: _Layer, wires: list[_Wire]) -> None:
    rows = torch.tensor([wires.index(w) for w in _read_wires(network, len(network.plan.groups))])
    layer.weight, layer.bias = layer.weight[:, rows], layer.bias[:, rows]
    layer.mask, layer.active = layer.mask[rows], layer.active[rows]
