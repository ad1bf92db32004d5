"""Networks that mirror a function graph: one small network per node, wired like the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

import torch
from torch import Tensor, nn

from compsparse.checks import (
    RandomState,
    check_count,
    check_device,
    check_dtype,
    check_kind,
    check_options,
    check_replicas,
    check_seeds,
    suggests_options,
)
from compsparse.errors import ConfigError
from compsparse.graph import AnyGraph, FunctionGraph, as_graph, pyramid, single_node
from compsparse.graph.function_graph import check_graph
from compsparse.networks.activations import activation as check_activation
from compsparse.networks.cells import Cells
from compsparse.networks.plan import Group, NetworkPlan, Read, Sharing, make_plan
from compsparse.networks.programs import ProgramBuilder
from compsparse.networks.replicas import ReplicatedNetwork, check_weights, chosen_seeds, generators_for
from compsparse.origin import Origin
from compsparse.surroundings import usual_settings


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
        limits = {"width": (1, 10**9), "depth": (0, 1000), "channels": (1, 10**6), "out_channels": (1, 10**6)}
        for name, (least, most) in limits.items():
            object.__setattr__(self, name, check_count(name, getattr(self, name), least, most))
        check_activation(self.activation)


class MirrorOptions(TypedDict, total=False):
    """What :func:`dense`, :func:`local` and :func:`convolutional` hand on to :func:`mirror`, which explains them."""

    activation: str
    channels: int
    out_channels: int
    n_replicas: int | None
    random_state: RandomState
    seeds: Sequence[int] | None
    device: str | torch.device | None
    dtype: torch.dtype


class MirrorNetwork(ReplicatedNetwork):
    """The network that :func:`mirror` makes; nodes that no output needs are left out.

    Args:
        seeds: one per replica, for the initial weights.
    """

    def __init__(self, graph: FunctionGraph, config: MirrorConfig, n_replicas: int | None, seeds: Sequence[int]):
        graph, config = check_graph("graph", graph).pruned(), check_kind("config", config, MirrorConfig)
        seeds = check_seeds(seeds, check_replicas(n_replicas) or 1)
        if graph.size == 0:
            raise ConfigError("the graph has no nodes to mirror: its outputs are inputs")
        plan = make_plan(graph, config.channels, config.out_channels, config.share)
        check_weights(n_weights(plan, config), n_replicas)
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
        """From ``(R, n_inputs, batch)`` to ``(R, n_outputs, batch)``, group after group of the plan."""
        return self._gather(self.wires(columns), self.plan.output, len(self.plan.groups))

    def wires(self, columns: Tensor) -> list[Tensor]:
        """What the inputs and then each group of the plan carry, (R, wires, batch) each."""
        buffers = [columns]
        for i, group in enumerate(self.plan.groups):
            cells = self.cells(group)
            wires = self._gather(buffers, group.read, i)
            x = wires.view(wires.shape[0], len(group.nodes), cells.fan_in, wires.shape[-1])
            y = cells.shared(x) if group.shared else cells(x)
            buffers.append(y.flatten(1, 2))
        return buffers

    def lower(self, program: ProgramBuilder, rows: Sequence[int]) -> list[int]:
        """Adds itself to a program that reads its inputs from the given rows; the rows of its outputs."""
        buffers: list[Sequence[int]] = [rows]
        for group in self.plan.groups:
            read = _rows_read(buffers, group.read)
            buffers.append(program.cells(read, self.cells(group), shared=group.shared))
        return _rows_read(buffers, self.plan.output)

    def cells(self, group: Group) -> Cells:
        """The weights of a group of the plan."""
        return self.blocks[group.block]  # type: ignore[return-value]

    def _gather(self, buffers: list[Tensor], read: Read, i: int) -> Tensor:
        parts = [buffers[b] for b in read.buffers]
        source = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
        rows = self.get_buffer(f"rows_{i}") if read.rows is not None else None
        return source if rows is None else source.index_select(1, rows)


def _rows_read(buffers: Sequence[Sequence[int]], read: Read) -> list[int]:
    side_by_side = [row for b in read.buffers for row in buffers[b]]
    return side_by_side if read.rows is None else [side_by_side[row] for row in read.rows]


def n_weights(plan: NetworkPlan, config: MirrorConfig) -> float:
    """Weights of one replica, as a float: they may be too many for anything else."""
    w, depth = float(config.width), config.depth
    total = 0.0
    for block in plan.blocks:
        one = (
            w * (block.fan_in + block.channels) + max(depth - 1, 0) * w * w if depth else block.fan_in * block.channels
        )
        total += block.count * (one + depth * w + block.channels)
    return total


def _reads(plan: NetworkPlan) -> list[Read]:
    return [*(group.read for group in plan.groups), plan.output]


@suggests_options
@usual_settings()
def mirror(
    graph: AnyGraph,
    width: int = 16,
    depth: int = 2,
    activation: str = "silu",
    *,
    channels: int = 1,
    out_channels: int = 1,
    share: Sharing | Mapping[str, object] = "none",
    n_replicas: int | None = None,
    random_state: RandomState = None,
    seeds: Sequence[int] | None = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.float32,
) -> MirrorNetwork:
    """A torch module with the shape of the graph.

    Every node becomes a network of its parents, ``depth`` hidden layers of ``width`` units; all
    nodes of a level run together. See :class:`MirrorConfig` for the other settings.

    Args:
        graph: a function graph, or what has one: an expression, a Python function that can be traced, a discovery, a
            fitted model.
        n_replicas: how many independent copies to hold; None for an ordinary module.
        random_state: seed of the initial weights; replica r gets the same ones in any company.
        seeds: a list with one seed per replica instead.
        device: where the weights live; None takes the CPU.

    >>> from compsparse.graph import balanced_tree
    >>> net = mirror(balanced_tree(8), width=16, random_state=0)
    >>> net(torch.zeros(5, 8)).shape
    torch.Size([5, 1])
    >>> mirror("tanh(a*b) + c", width=4).graph.inputs
    ('a', 'b', 'c')
    """
    config = MirrorConfig(width, depth, activation, channels, out_channels, share)
    place, dtype = check_device(device), check_dtype(dtype)
    chosen = chosen_seeds(random_state, seeds, check_replicas(n_replicas) or 1)
    return MirrorNetwork(as_graph("graph", graph), config, n_replicas, chosen).to(device=place, dtype=dtype)


def dense(n_inputs: int, width: int = 64, depth: int = 2, **options: Unpack[MirrorOptions]) -> MirrorNetwork:
    """An ordinary dense network: the mirror of a single node over all inputs."""
    check_options("dense", options, MirrorOptions.__annotations__)
    return mirror(single_node(n_inputs).from_origin(Origin.GIVEN), width, depth, **options)


def local(
    n_inputs: int, kernel: int, stride: int, width: int = 16, depth: int = 1, **options: Unpack[MirrorOptions]
) -> MirrorNetwork:
    """A locally connected network: the mirror of a convolutional pyramid, weights not shared."""
    check_options("local", options, MirrorOptions.__annotations__)
    return mirror(pyramid(n_inputs, kernel, stride).from_origin(Origin.GIVEN), width, depth, **options)


def convolutional(
    n_inputs: int, kernel: int, stride: int, width: int = 16, depth: int = 1, **options: Unpack[MirrorOptions]
) -> MirrorNetwork:
    """A convolutional network: the same pyramid with the weights of each level shared."""
    check_options("convolutional", options, MirrorOptions.__annotations__)
    graph = pyramid(n_inputs, kernel, stride).from_origin(Origin.GIVEN)
    return mirror(graph, width, depth, share="level", **options)
