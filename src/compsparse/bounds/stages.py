"""Stages under construction: rows of the stream are tensors of the shape in which the network has its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

import torch
from torch import Tensor

from compsparse.bounds.network_graph import PADDING, NetworkGraph, Stage


class StageBuilder:
    """Collects stages; every method takes the rows that it reads and returns those that it made."""

    def __init__(self, n_inputs: int):
        self.n_inputs = n_inputs
        self.stages: list[Stage] = []
        self.n_folded = 0
        self._next = 1 + n_inputs

    def inputs(self, *shape: int) -> Tensor:
        """The rows of the inputs, in the shape of one datum."""
        assert prod(shape) == self.n_inputs
        return torch.arange(1, 1 + self.n_inputs).view(shape)

    def blocks(
        self,
        name: str,
        reads: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        activation: str = "identity",
        *,
        fixed: bool = False,
        takes_largest: bool = False,
    ) -> Tensor:
        """A stage of blocks, (blocks, units) rows."""
        weight = weight.detach().double()
        bias = None if bias is None else bias.detach().double()
        reads = reads.to(weight.device)
        stage = Stage(name, reads, weight, bias, activation, fixed, takes_largest)
        self.stages.append(stage)
        size = stage.n_blocks * stage.n_units
        self._next += size
        return torch.arange(self._next - size, self._next).view(stage.n_blocks, stage.n_units)

    def masked(
        self,
        name: str,
        rows: Tensor,
        weight: Tensor,
        mask: Tensor,
        bias: Tensor | None,
        activation_of: Callable[[int], str] = lambda unit: "identity",
    ) -> Tensor:
        """A block for all units that read the same rows; those of equally many units form one stage."""
        places: dict[tuple[bytes, str], list[int]] = {}
        for unit, row in enumerate(mask.cpu().bool().numpy()):
            places.setdefault((row.tobytes(), activation_of(unit)), []).append(unit)
        shapes: dict[tuple[int, str], list[list[int]]] = {}
        for (_, activation), units in places.items():
            shapes.setdefault((len(units), activation), []).append(units)
        made = torch.zeros(len(mask), dtype=torch.long)
        for (_, activation), blocks in shapes.items():
            members = torch.tensor(blocks)
            columns, is_read = _padded_columns(mask[members[:, 0]].bool().cpu())
            reads = torch.where(is_read, rows[columns], PADDING)
            chosen = weight[members[:, :, None], columns[:, None, :]] * is_read[:, None, :].to(weight)
            own = None if bias is None else bias[members]
            made[members] = self.blocks(name, reads, chosen, own, activation)
        return made

    def activate(self, first: int, activation: str) -> bool:
        """Puts an activation on the stages from the first on; False where they have another."""
        for i in range(first, len(self.stages)):
            if self.stages[i].activation not in ("identity", activation):
                return False
            self.stages[i] = replace(self.stages[i], activation=activation)
        return True

    def finished(self, outputs: Tensor) -> NetworkGraph:
        """The network whose outputs are the given rows."""
        return NetworkGraph(self.n_inputs, tuple(self.stages), outputs.reshape(-1), self.n_folded)


def _padded_columns(mask: Tensor) -> tuple[Tensor, Tensor]:
    """The columns that each row marks, filled up to the longest, and which of them are no filling."""
    degree = mask.sum(1)
    widest = max(int(degree.max()), 1)
    order = torch.argsort(mask.int(), dim=1, descending=True, stable=True)[:, :widest]
    return order, torch.arange(widest)[None] < degree[:, None]


def pooling(name: str, builder: StageBuilder, windows: Tensor, *, largest: bool = False) -> Tensor:
    """Means over windows, (blocks, channels, size) rows, or the largest of them; one unit a channel."""
    channels, size = windows.shape[1:]
    share = torch.full((1, size), 1.0 if largest else 1.0 / size, dtype=torch.double)
    marks = torch.kron(torch.eye(channels, dtype=torch.double), share)
    device = builder.stages[-1].weight.device if builder.stages else marks.device
    reads = windows.reshape(len(windows), -1)
    return builder.blocks(name, reads, marks[None].to(device), None, fixed=True, takes_largest=largest)
