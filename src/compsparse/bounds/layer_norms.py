"""Norms of whole layers and over paths: spectral norms with carried rows, sums over paths by one pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from compsparse.bounds.blocks import row_multiplicity
from compsparse.bounds.network_graph import RESPONSES, NetworkGraph, Stage, Weights
from compsparse.checks import check_count

_MOST_ENTRIES, _MOST_SIDE = 4_000_000, 1200
"""Matrices up to this size are formed to find their spectral norm; larger ones get an upper bound."""


@dataclass(frozen=True)
class LayerNorms:
    """One level of a network as a matrix from the rows below that are still needed to those above.

    Attributes:
        spectral: its operator norm, or an upper bound of it.
        units: the sum of the norms of its units, the (2, 1) norm of the transposed matrix; fixed and carried rows
            are part of the reference matrix and count nothing.
        lipschitz: of the steepest activation.
        width: rows above or below, whichever are more.
        carries: whether rows are carried past it.
    """

    spectral: float
    units: float
    lipschitz: float
    width: int
    carries: bool


def layer_norms(network: NetworkGraph) -> list[LayerNorms]:
    """The levels from the lowest up; rows that higher levels read are carried past a level unchanged."""
    found = []
    level_of_row = _levels_of_rows(network)
    last_use = _last_uses(network, len(level_of_row))
    last_bias = max((lv for s, lv in zip(network.stages, network.levels, strict=True) if s.bias is not None), default=0)
    for level in range(1, network.depth + 1):
        here = [i for i, own in enumerate(network.levels) if own == level]
        stages = [network.stages[i] for i in here]
        below = np.flatnonzero((level_of_row < level) & (last_use >= level))
        carried = np.flatnonzero((level_of_row < level) & (last_use > level))
        carries_one = last_bias > level
        n_above = sum(s.n_blocks * s.n_units for s in stages) + len(carried) + carries_one
        carries = bool(len(carried)) or carries_one
        n_below = len(below) + (last_bias >= level)
        if n_above * n_below <= _MOST_ENTRIES and min(n_above, n_below) <= _MOST_SIDE:
            spectral = _spectral(_matrix(stages, below, carried, last_bias >= level, carries_one))
        else:
            spectral = math.sqrt(sum(_spectral_bound(s) ** 2 for s in stages) + carries)
        found.append(
            LayerNorms(
                spectral,
                sum(float(s.unit_energies.sqrt().sum()) for s in stages if not s.fixed),
                max(RESPONSES[s.activation].lipschitz for s in stages),
                max(n_above, n_below),
                carries,
            )
        )
    return found


def _levels_of_rows(network: NetworkGraph) -> np.ndarray:
    parts = [np.zeros(1 + network.n_inputs, dtype=int)]
    for stage, level in zip(network.stages, network.levels, strict=True):
        parts.append(np.full(stage.n_blocks * stage.n_units, level))
    return np.concatenate(parts)


def _last_uses(network: NetworkGraph, n_rows: int) -> np.ndarray:
    """The highest level that reads each row; outputs are read after all."""
    last = np.zeros(n_rows, dtype=int)
    for stage, level in zip(network.stages, network.levels, strict=True):
        rows = np.unique(stage.reads.cpu().numpy())
        last[rows] = np.maximum(last[rows], level)
    last[network.outputs.cpu().numpy()] = network.depth + 1
    last[0] = 0
    return last


def _matrix(stages: list[Stage], below: np.ndarray, carried: np.ndarray, reads_one: bool, carries_one: bool) -> Tensor:
    """The level as one matrix; the last column is the constant one."""
    like = stages[0].weight
    column = np.full(int(below.max(initial=0)) + 1, -1)
    column[below] = np.arange(len(below))
    columns = torch.as_tensor(column, device=like.device)
    n_columns = len(below) + reads_one
    parts = []
    for stage in stages:
        size = stage.n_blocks * stage.n_units
        part = like.new_zeros(size, n_columns + 1)  # what padding would read goes into the extra column
        places = torch.where(stage.reads > 0, columns[stage.reads.clamp(max=len(column) - 1)], n_columns)
        rows = torch.arange(size, device=like.device).view(stage.n_blocks, stage.n_units, 1)
        weight = stage.weight.expand(stage.n_blocks, -1, -1)
        part.index_put_((rows.expand_as(weight), places[:, None, :].expand_as(weight)), weight, accumulate=True)
        if stage.bias is not None:
            part[:, n_columns - 1] += stage.bias.expand(stage.n_blocks, -1).reshape(-1)
        parts.append(part[:, :n_columns])
    carry = like.new_zeros(len(carried) + carries_one, n_columns)
    for i, row in enumerate(carried):
        carry[i, column[row]] = 1.0
    if carries_one:
        carry[-1, -1] = 1.0
    return torch.cat([*parts, carry])


def _spectral(matrix: Tensor) -> float:
    gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    return math.sqrt(max(float(torch.linalg.eigvalsh(gram)[-1]), 0.0))


def _spectral_bound(stage: Stage) -> float:
    """At most sqrt(multiplicity) times the largest spectral norm of a block, and at most the Frobenius norm."""
    if stage.takes_largest:
        return math.sqrt(row_multiplicity(stage))
    largest = max(_spectral(weight) for weight in stage.weight)
    biases = 0.0 if stage.bias is None else float(stage.bias.expand(stage.n_blocks, -1).square().sum())
    whole = float(stage.unit_energies.sum())
    return math.sqrt(min(row_multiplicity(stage) * largest**2 + biases, whole))


def path_sums(network: NetworkGraph, of: Callable[[Tensor], Tensor] | None, weights: Weights | None = None) -> Tensor:
    """For every output the sum over all paths from an input or a bias of the product of ``of(weight)``.

    Args:
        of: None counts the paths: every connection that can be chosen is on one, whatever its weight.
        weights: others of the same shape, in the place of the network's own.
    """
    ones = network.stages[0].weight.new_ones(1 + network.n_inputs)
    stream = torch.cat([ones[:1] * 0, ones[1:]])
    for stage, (weight, bias) in zip(network.stages, weights or network.weights(), strict=True):
        of_weight = of or (_is_there if stage.fixed else torch.ones_like)
        read, along = stream[stage.reads], of_weight(weight)
        out = read @ along[0].T if len(along) == 1 else torch.einsum("bf,buf->bu", read, along)
        stream = torch.cat([stream, (out if bias is None else out + of_weight(bias)).reshape(-1)])
    return stream[network.outputs]


def _is_there(values: Tensor) -> Tensor:
    return (values != 0).to(values)


# ---- shapes, as the memos see them ----------------------------------------------------------------


def overlap_multiplicity(kernel: int, overlap: int) -> int:
    """How many patches of a row hold one place at most: ceil(K / (K - O)).

    Printed is K / (K - O), which is less where the stride K - O does not divide the kernel.

    >>> overlap_multiplicity(3, 1)
    2
    """
    check_count("overlap", overlap, least=0, most=check_count("kernel", kernel) - 1)
    return math.ceil(kernel / (kernel - overlap))


@dataclass(frozen=True)
class LayerShapes:
    """What the memos read off a network.

    Attributes:
        norms: of each level the largest norm of a block, the kernel's; of the last the Frobenius norm.
        multiplicities: of each level in how many blocks one row stands at most.
        degrees: of each level how many places a block reads at most; of the first, inputs.
    """

    norms: tuple[float, ...]
    multiplicities: tuple[int, ...]
    degrees: tuple[int, ...]

    @property
    def norm_product(self) -> float:
        """The product of the norms."""
        return float(np.prod(self.norms))


def layer_shapes(network: NetworkGraph) -> LayerShapes:
    """The kernels of a network, level by level."""
    norms, multiplicities, degrees = [], [], []
    block_of_row = np.arange(-1, network.n_inputs)
    n_blocks = network.n_inputs
    for stage in network.stages:
        own = np.repeat(np.arange(n_blocks, n_blocks + stage.n_blocks), stage.n_units)
        block_of_row, n_blocks = np.concatenate([block_of_row, own]), n_blocks + stage.n_blocks
    for level in range(1, network.depth + 1):
        here = [s for s, own in zip(network.stages, network.levels, strict=True) if own == level]
        energies = [s.unit_energies.sum(1) for s in here]
        norm = max(float(e.max()) for e in energies) if level < network.depth else sum(float(e.sum()) for e in energies)
        norms.append(math.sqrt(norm))
        multiplicities.append(max(row_multiplicity(s) for s in here))
        read = [np.sort(block_of_row[s.reads.cpu().numpy()], axis=1) for s in here]
        degrees.append(max(int(_n_different(rows).max()) for rows in read))
    return LayerShapes(tuple(norms), tuple(multiplicities), tuple(degrees))


def _n_different(rows: np.ndarray) -> np.ndarray:
    """Different blocks in each sorted row; padding counts none."""
    is_new = np.ones(rows.shape, dtype=bool)
    is_new[:, 1:] = rows[:, 1:] != rows[:, :-1]
    found: np.ndarray = (is_new & (rows >= 0)).sum(1)
    return found
