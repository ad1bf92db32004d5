r"""What a choice that was made on the data costs: the length, in nats, of a prefix code that says which one it was.

A statement that fails with probability $\delta e^{-n(c)}$ at most for the choice $c$ fails for some choice with
probability $\delta \sum_c e^{-n(c)} \le \delta$ at most, because the sum over a prefix code is at most 1 (Kraft).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from compsparse.graph import FunctionGraph
from compsparse.models import FittedGraph
from compsparse.networks import MaskedNetwork
from compsparse.origin import Origin
from compsparse.tables.inputs import DateColumn, Input, LeftOutColumn, MeanColumn, TextColumn

PER_DOUBLING = 8
"""Points of the grid of margins between 1 and 2."""
GRID_SLACK = 2.0 ** (1 / PER_DOUBLING)
"""By this factor at most a margin, or a complexity through all norms together, is moved to reach a grid."""
_FLOAT = 64 * math.log(2)


@dataclass(frozen=True)
class Choice:
    """Something about a model that was chosen before its weights.

    Attributes:
        what: it is, in words.
        nats: length of the code that says which one it is.
    """

    what: str
    origin: Origin
    nats: float

    @property
    def is_paid(self) -> bool:
        """Whether it has to be paid for: whatever is not known to be fixed before the data."""
        return self.origin is not Origin.GIVEN

    @property
    def sentence(self) -> str:
        """What statements on losses take for granted of it, or pay for it."""
        paid = f", paid for with {self.nats:.3g} nats" if self.is_paid else ""
        return f"{self.what}: {self.origin.value}{paid}"


def count_nats(n: int) -> float:
    """A whole number from 0 up.

    >>> round(sum(math.exp(-count_nats(n)) for n in range(100_000)), 4)
    1.0
    """
    return math.log((n + 1) * (n + 2))


def subset_nats(n: int, k: int) -> float:
    """Which k of n things were chosen, where k is known.

    >>> round(math.exp(subset_nats(5, 2)))
    10
    """
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def order_nats(n: int, k: int) -> float:
    """Which k of n things were chosen, in which order."""
    return math.lgamma(n + 1) - math.lgamma(n - k + 1)


def support_nats(n: int, k: int) -> float:
    """Which of n weights are in, where their number k from 0 to n is part of the choice."""
    return math.log(n + 1) + subset_nats(n, k)


# ---- sizes on a grid ----------------------------------------------------------------------------


def step_above(size: float, depth: int = 1) -> int:
    """The number of the first point of the grid GRID_SLACK^(j / depth) that is not below a size."""
    return math.ceil(depth * PER_DOUBLING * math.log2(size) - 1e-9)


def step_below(size: float) -> int:
    """The number of the last point of the grid GRID_SLACK^j that is not above a size."""
    return math.floor(PER_DOUBLING * math.log2(size) + 1e-9)


def step_nats(step: int) -> float:
    """A point of the grid; the count 0 is left for a size of zero."""
    return count_nats(1 + abs(step)) + (math.log(2) if step else 0.0)


def norms_nats(norms: Iterable[float], depth: int) -> float:
    """The class of networks whose norms are these, each rounded up to the grid GRID_SLACK^(j / depth).

    A complexity in which every path meets ``depth`` norms at most grows by the factor GRID_SLACK at most.
    """
    nats = 0.0
    for norm in norms:
        if not math.isfinite(norm):
            return math.inf
        nats += step_nats(step_above(norm, depth)) if norm > 0 else count_nats(0)
    return nats


# ---- graphs, masks, tables ----------------------------------------------------------------------


def graph_choice(graph: FunctionGraph, n_columns: int, *, ordered: bool) -> Choice:
    """Which graph it is: which columns it reads, how many nodes, of each which parents and how many channels.

    Args:
        ordered: whether it matters in which order parents are read, as where nodes share their weights.
    """
    chosen = order_nats if ordered else subset_nats
    nats = support_nats(n_columns, graph.n_inputs) + count_nats(graph.size) + count_nats(len(graph.outputs))
    for known, node in enumerate(graph.nodes, start=graph.n_inputs):
        nats += count_nats(node.arity) + chosen(known, node.arity) + count_nats(node.channels - 1)
    nats += order_nats(graph.n_inputs + graph.size, len(graph.outputs))
    return Choice("the graph", graph.origin, nats)


def mask_choice(network: MaskedNetwork) -> Choice:
    """Which weights and activations of a masked network are in, of all replicas, and how wide its layers are."""
    nats = 0.0
    for i in range(network.n_layers):
        mask, active = network.mask(i), network.get_buffer(f"active_{i}")
        nats += sum(support_nats(own.numel(), int(own.sum())) for own in ([mask] if mask.ndim == 2 else mask))
        nats += support_nats(active.numel(), int(active.sum())) + count_nats(len(active))
    return Choice("which weights are masked", network.mask_origin, nats)


def zeros_choice(sparse: Sequence[Tensor], n_layers: int) -> Choice:
    """Which weights of a module are zero; that no layer has any has half of the code for itself.

    Args:
        sparse: the weights of those of the layers that have zeros.
    """
    nats = math.log(2) + (n_layers * math.log(2) if len(sparse) else 0.0)
    nats += sum(support_nats(weight.numel(), int((weight != 0).sum())) for weight in sparse)
    return Choice("which weights are zero" + " (none)" * (not sparse), Origin.UNKNOWN, nats)


def code_choice(model: FittedGraph) -> Choice:
    """How the columns and the target were scaled, which texts are levels, and how many networks are averaged."""
    nats = count_nats(model.network.n_replicas) + 2 * _FLOAT * len(model.scale)
    for column in model.code.inputs:
        nats += _column_nats(column)
    return Choice("how the table is coded", Origin.FITTED, nats)


def _column_nats(column: Input) -> float:
    """How a column is read; which kind it is of stands in its values and in a choice among the kinds."""
    kind = math.log(5)
    if isinstance(column, LeftOutColumn):
        return kind
    if isinstance(column, DateColumn):
        return kind + math.log(4 * 4) + _FLOAT + _column_nats(column.coded)
    if isinstance(column, MeanColumn):
        return kind + _levels_nats(column.levels) + _FLOAT * column.width * (len(column.levels) + 2)
    if isinstance(column, TextColumn):
        return kind + _levels_nats(column.levels) + 2 * math.log(2)
    # mean, scale and ends; the sign for decimals, what stands beside numbers, whether gaps are marked and ends clip
    nats = kind + 4 * _FLOAT + math.log(3) + _levels_nats([column.unit]) + 2 * math.log(2)
    return nats + count_nats(len(column.knots)) + _FLOAT * len(column.knots)


def _levels_nats(levels: Sequence[str]) -> float:
    """Texts, each with a sign for its end."""
    return count_nats(len(levels)) + sum(
        len(level.encode("utf-8", "surrogatepass")) + 1 for level in levels
    ) * math.log(257)
