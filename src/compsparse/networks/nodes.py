"""Single nodes of a mirrored network: what one computes, and what all of them carry."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from compsparse.checks import did_you_mean
from compsparse.errors import ConfigError
from compsparse.networks.mirroring import MirrorNetwork


def node_function(network: MirrorNetwork, name: str, replica: int = 0) -> Callable[[Tensor], Tensor]:
    """One node of one replica as a function from (fan_in, batch) to (channels, batch)."""
    group = next((group for group in network.plan.groups if name in group.nodes), None)
    if group is None:
        raise ConfigError(f"the network has no node {name!r}{did_you_mean(name, network.graph.index)}")
    cells = network.cells(group)
    place = 0 if group.shared else group.nodes.index(name)

    @torch.no_grad()
    def evaluate(parents: Tensor) -> Tensor:
        return cells.one(parents, replica, place)

    return evaluate


@torch.no_grad()
def node_values(network: MirrorNetwork, x: Tensor, replica: int = 0) -> dict[str, Tensor]:
    """What every input and node of one replica carries over the rows of x, (channels, rows) each."""
    inputs, *groups = network.wires(network.columns(x))
    values = {name: inputs[replica, i : i + 1] for i, name in enumerate(network.graph.inputs)}
    for group, wires in zip(network.plan.groups, groups, strict=True):
        channels = network.cells(group).channels
        for i, name in enumerate(group.nodes):
            values[name] = wires[replica, i * channels : (i + 1) * channels]
    return values
