"""A network as bounds see it: blocks of units, what each reads, and with which weights.

A *block* is a set of units that read the same rows: a channel stack at one position of a convolution, a hidden layer
of a node of a mirrored network, a whole dense layer. Blocks of one shape that run together form a *stage*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import torch
from torch import Tensor

from compsparse.errors import DataError
from compsparse.networks import ACTIVATIONS
from compsparse.text import in_a_line


@dataclass(frozen=True)
class Response:
    """An activation function that is zero at zero.

    Attributes:
        lipschitz: the steepest slope, rounded up.
        homogeneous: whether it multiplies by every c > 0 that its input is multiplied by, as the ReLU does.
    """

    lipschitz: float
    homogeneous: bool


RESPONSES: dict[str, Response] = {
    "identity": Response(1.0, True),
    "relu": Response(1.0, True),
    "tanh": Response(1.0, False),
    "sin": Response(1.0, False),
    "silu": Response(1.09984, False),
    "gelu": Response(1.12891, False),
}
"""By name; that of the GELU is its slope at the square root of two."""


Weights = Sequence[tuple[Tensor, Tensor | None]]
"""Weight and bias of every stage."""
PADDING = 0
"""The row that holds zero, for what lies beyond the edge."""


@dataclass(frozen=True, eq=False)
class Stage:
    """Blocks of one shape.

    Attributes:
        name: as errors and terms call it.
        reads: (blocks, fan_in) rows of the stream; :data:`PADDING` where nothing is read.
        weight: (blocks or 1, units, fan_in); 1 where all blocks share it.
        bias: (blocks or 1, units), or None.
        activation: a name in :data:`~compsparse.bounds.network_graph.RESPONSES`.
        fixed: whether the weights are part of the architecture, as in pooling.
        takes_largest: whether each unit is the largest of what its weight marks, as in max pooling.
    """

    name: str
    reads: Tensor
    weight: Tensor
    bias: Tensor | None = None
    activation: str = "identity"
    fixed: bool = False
    takes_largest: bool = False

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return int(self.reads.shape[0])

    @property
    def n_units(self) -> int:
        """Units of one block."""
        return int(self.weight.shape[1])

    @property
    def n_parameters(self) -> int:
        """Weights that can be chosen; what no block reads is none."""
        if self.fixed:
            return 0
        is_read = (self.reads != PADDING).any(0) if len(self.weight) == 1 else self.reads != PADDING
        biases = 0 if self.bias is None else self.bias.numel()
        return int(is_read.sum()) * self.n_units + biases

    @cached_property
    def unit_energies(self) -> Tensor:
        """(blocks, units) squared norms of the weights that read something, bias included."""
        return self.energies_of(self.weight, self.bias)

    def energies_of(self, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The same of weights of this shape."""
        is_read = (self.reads != PADDING).to(weight.dtype)
        squares = weight.square()
        energies = is_read @ squares[0].T if len(squares) == 1 else torch.einsum("bf,buf->bu", is_read, squares)
        return energies if bias is None else energies + bias.square()

    def answer(self, stream: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """(rows, blocks * units) values, of weights of this shape."""
        read = stream[:, self.reads]
        if self.takes_largest:
            out = read.view(*read.shape[:2], self.n_units, -1).amax(-1)
        elif len(weight) == 1:
            out = read @ weight[0].T
        else:
            out = torch.einsum("nbf,buf->nbu", read, weight)
        return ACTIVATIONS[self.activation](out if bias is None else out + bias).flatten(1)


@in_a_line
@dataclass(frozen=True, eq=False)
class NetworkGraph:
    """Stages in the order in which they run.

    The *stream* has a row of zeros, a row per input, and then the units of every stage, block after block.

    Attributes:
        outputs: rows of the stream that are the network's outputs.
        n_folded: numbers beside the weights and biases that the weights were computed from, as of normalisations.
    """

    n_inputs: int
    stages: tuple[Stage, ...]
    outputs: Tensor
    n_folded: int = 0

    def __post_init__(self) -> None:
        for stage in self.stages:
            if not torch.isfinite(stage.weight).all() or (stage.bias is not None and not stage.bias.isfinite().all()):
                raise DataError(f"the weights of {stage.name} hold NaN or infinite values")
            if bool((stage.reads != PADDING).any()) and not stage.fixed and not bool((stage.unit_energies > 0).any()):
                raise DataError(
                    f"all weights of {stage.name} are zero: the network does not depend on its inputs there, and a "
                    "bound from norms says nothing of it; train or initialise it first"
                )

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The first row of every stage."""
        found, row = [], 1 + self.n_inputs
        for stage in self.stages:
            found.append(row)
            row += stage.n_blocks * stage.n_units
        return tuple(found)

    @property
    def n_outputs(self) -> int:
        """How many numbers the network answers."""
        return len(self.outputs)

    @property
    def n_parameters(self) -> int:
        """Numbers that can be chosen, shared ones counted once."""
        return self.n_folded + sum(stage.n_parameters for stage in self.stages)

    @property
    def homogeneous(self) -> bool:
        """Whether every activation is positively homogeneous, so that norms of layers can be traded."""
        return all(RESPONSES[stage.activation].homogeneous for stage in self.stages)

    @property
    def takes_largest(self) -> bool:
        """Whether there is max pooling."""
        return any(stage.takes_largest for stage in self.stages)

    @property
    def has_biases(self) -> bool:
        """Whether some block reads the constant one."""
        return any(stage.bias is not None for stage in self.stages)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Of every stage, one above the highest that it reads; inputs are at level 0."""
        found: list[int] = []
        level_of_row = torch.zeros(1 + self.n_inputs, dtype=torch.long)
        for stage in self.stages:
            found.append(1 + int(level_of_row[stage.reads.cpu()].max()))
            own = torch.full((stage.n_blocks * stage.n_units,), found[-1])
            level_of_row = torch.cat([level_of_row, own])
        return tuple(found)

    @property
    def depth(self) -> int:
        """The highest level: layers from the inputs to the outputs."""
        return max(self.levels)

    def weights(self) -> Weights:
        """Weight and bias of every stage."""
        return [(stage.weight, stage.bias) for stage in self.stages]

    def __call__(self, x: Tensor, weights: Weights | None = None) -> Tensor:
        """Outputs (rows, n_outputs), of other weights where they are given."""
        stream = torch.cat([x.new_zeros(len(x), 1), x], dim=1)
        for stage, (weight, bias) in zip(self.stages, weights or self.weights(), strict=True):
            stream = torch.cat([stream, stage.answer(stream, weight, bias)], dim=1)
        return stream[:, self.outputs]


# ---- stages under construction: rows are tensors of the shape in which the network has its values ---


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
