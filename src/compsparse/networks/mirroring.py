"""Networks that mirror a function graph: one small network per node, wired like the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph, pyramid, single_node
from compsparse.networks.activations import activation as check_activation
from compsparse.networks.cells import Cells
from compsparse.networks.plan import Group, Plan, Read, Sharing, make_plan
from compsparse.networks.replicas import ReplicatedNetwork, generators_for, replica_seeds


@dataclass(frozen=True)
class MirrorConfig:
    """The shape of a mirrored network.

    Attributes:
        width: units in each hidden layer of a node network.
        depth: hidden layers of a node network; 0 makes nodes affine.
        channels: numbers each inner wire carries.
        out_channels: numbers each output wire carries (classes, for instance).
        share: see :func:`~compsparse.networks.plan.make_plan`.
    """

    width: int = 16
    depth: int = 2
    activation: str = "silu"
    channels: int = 1
    out_channels: int = 1
    share: Sharing | Mapping[str, object] = "none"

    def __post_init__(self) -> None:
        for name, least in (("width", 1), ("depth", 0), ("channels", 1), ("out_channels", 1)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < least:
                raise ConfigError(f"{name} must be an integer >= {least}, got {value!r}")
            object.__setattr__(self, name, int(value))
        check_activation(self.activation)


class MirrorNetwork(ReplicatedNetwork):
    """The network that :func:`mirror` makes."""

    def __init__(self, graph: FunctionGraph, config: MirrorConfig, n_replicas: int | None, seeds: Sequence[int]):
        plan = make_plan(graph, config.channels, config.out_channels, config.share)
        super().__init__(graph.n_inputs, plan.n_outputs, n_replicas)
        self.graph, self.config, self.plan = graph, config, plan
        generators = generators_for(seeds)
        self.blocks = nn.ModuleList(
            Cells(b.count, b.fan_in, b.channels, config.width, config.depth, config.activation, generators)
            for b in plan.blocks
        )
        for i, read in enumerate(_reads(plan)):
            rows = None if read.rows is None else torch.tensor(read.rows)
            self.register_buffer(f"rows_{i}", rows, persistent=False)

    def run(self, columns: Tensor) -> Tensor:
        return self._gather(self.wires(columns), self.plan.output, len(self.plan.groups))

    def wires(self, columns: Tensor) -> list[Tensor]:
        """What the inputs and then each group of the plan carry, (R, wires, batch) each."""
        buffers = [columns]
        for i, group in enumerate(self.plan.groups):
            cells = self.cells(group)
            wires = self._gather(buffers, group.read, i)
            x = wires.view(wires.shape[0], len(group.nodes), cells.fan_in, wires.shape[-1])
            y = cells.shared(x) if group.shared else cells(x)
            buffers.append(y.reshape(y.shape[0], -1, y.shape[-1]))
        return buffers

    def cells(self, group: Group) -> Cells:
        """The weights of a group of the plan."""
        return self.blocks[group.block]  # type: ignore[return-value]

    def _gather(self, buffers: list[Tensor], read: Read, i: int) -> Tensor:
        parts = [buffers[b] for b in read.buffers]
        source = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
        rows = self.get_buffer(f"rows_{i}") if read.rows is not None else None
        return source if rows is None else source.index_select(1, rows)


def _reads(plan: Plan) -> list[Read]:
    return [*(group.read for group in plan.groups), plan.output]


def mirror(
    graph: FunctionGraph,
    width: int = 16,
    depth: int = 2,
    activation: str = "silu",
    *,
    channels: int = 1,
    out_channels: int = 1,
    share: Sharing | Mapping[str, object] = "none",
    n_replicas: int | None = None,
    random_state: int | np.random.Generator | None = None,
    seeds: Sequence[int] | None = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.float32,
) -> MirrorNetwork:
    """A torch module with the shape of the graph.

    Every node becomes a network of its parents, ``depth`` hidden layers of ``width`` units; all
    nodes of a level run together. See :class:`MirrorConfig` for the other settings.

    Args:
        n_replicas: how many independent copies to hold; None for an ordinary module.
        random_state: seed of the initial weights; replica r gets the same ones in any company.
        seeds: one seed per replica instead.

    >>> from compsparse.graph import balanced_tree
    >>> net = mirror(balanced_tree(8), width=16, random_state=0)
    >>> net(torch.zeros(5, 8)).shape
    torch.Size([5, 1])
    """
    graph = graph.pruned()
    if graph.size == 0:
        raise ConfigError("the graph has no nodes to mirror: its outputs are inputs")
    config = MirrorConfig(width, depth, activation, channels, out_channels, share)
    if seeds is None:
        seeds = replica_seeds(random_state, n_replicas or 1)
    elif len(seeds) != (n_replicas or 1):
        raise ConfigError(f"{n_replicas or 1} replicas need as many seeds, got {len(seeds)}")
    return MirrorNetwork(graph, config, n_replicas, seeds).to(device=device, dtype=dtype)


def dense(n_inputs: int, width: int = 64, depth: int = 2, **settings: object) -> MirrorNetwork:
    """An ordinary dense network: the mirror of a single node over all inputs."""
    return mirror(single_node(n_inputs), width, depth, **settings)  # type: ignore[arg-type]


def local(
    n_inputs: int, kernel: int, stride: int, width: int = 16, depth: int = 1, **settings: object
) -> MirrorNetwork:
    """A locally connected network: the mirror of a convolutional pyramid, weights not shared."""
    return mirror(pyramid(n_inputs, kernel, stride), width, depth, **settings)  # type: ignore[arg-type]


def convolutional(
    n_inputs: int, kernel: int, stride: int, width: int = 16, depth: int = 1, **settings: object
) -> MirrorNetwork:
    """A convolutional network: the same pyramid with the weights of each level shared."""
    return mirror(pyramid(n_inputs, kernel, stride), width, depth, share="level", **settings)  # type: ignore[arg-type]
