"""What Rademacher bounds need of a network: blocks with norms, who reads whom, and the energy of each input patch.

Blocks of one level with one activation form a *tier*: one contraction removes the activation of all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from compsparse.bounds.network_graph import PADDING, RESPONSES, NetworkGraph, Stage, Weights
from compsparse.checks import check_count


@dataclass(frozen=True, eq=False)
class BlockGraph:
    """Blocks in the order in which they run.

    Attributes:
        norms: Frobenius norm of each block's weights; of a fixed linear map its operator norm.
        patch_energy: sum over rows of the squared norm of the inputs that a block reads, the constant one included;
            0 where it reads none.
        free: blocks whose norms tell those of all others: one for each kernel and place of padding, none that is fixed.
        tier: of each block; later tiers stand higher.
        level: of each tier, 1 for what reads inputs alone.
        factor: of each tier, 1 where it is linear and 2 where a contraction removes its activation.
        lipschitz: of each tier's activation.
        n_patches: different input patches that blocks of each tier read.
        n_inputs_read: different inputs that each tier reads, the constant included.
        tier_norms: of each tier the Frobenius norm of its whole matrix, a shared kernel counted at every place.
        tier_energy: of each tier the energy of all inputs that one of its blocks reads.
        largest_units: of each tier the largest norm of the weights of one unit.
        readers, sources, n_read: an edge for each block that another one reads, and how many of its units.
        output_blocks, output_norms: the block and the norm of the weights of each output.
        n_rows: of the data.
    """

    norms: np.ndarray
    patch_energy: np.ndarray
    free: np.ndarray
    tier: np.ndarray
    level: np.ndarray
    factor: np.ndarray
    lipschitz: np.ndarray
    n_patches: np.ndarray
    n_inputs_read: np.ndarray
    tier_norms: np.ndarray
    tier_energy: np.ndarray
    largest_units: np.ndarray
    readers: np.ndarray
    sources: np.ndarray
    n_read: np.ndarray
    output_blocks: np.ndarray
    output_norms: np.ndarray
    n_rows: int

    @property
    def n_tiers(self) -> int:
        """How many tiers there are."""
        return len(self.factor)

    @property
    def degrees(self) -> np.ndarray:
        """Blocks that each block reads; inputs are none."""
        return np.asarray(np.bincount(self.readers, minlength=len(self.norms)))

    @property
    def inner_tiers(self) -> np.ndarray:
        """Tiers that other blocks read."""
        return np.asarray(np.unique(self.tier[self.sources]))

    def tier_maximum(self, values: np.ndarray) -> np.ndarray:
        """The largest value in each tier."""
        found = np.zeros(self.n_tiers)
        np.maximum.at(found, self.tier, values)
        return found

    def by_tier(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """From the lowest tier up, its blocks and the edges that they read by."""
        edge_tier = self.tier[self.readers]
        for t in range(self.n_tiers):
            yield np.flatnonzero(self.tier == t), np.flatnonzero(edge_tier == t)

    @property
    def log_terms(self) -> float:
        """The logarithm of how many exponentials the peeling ends with.

        A contraction doubles them, every different input patch is one of its own, and so is every output.
        """
        edge_tiers = np.unique(np.stack([self.tier[self.readers], self.tier[self.sources]]), axis=1)
        count = np.bincount(self.tier[self.output_blocks], minlength=self.n_tiers).astype(float)
        scale, ended = 0.0, 0.0  # counts are kept below the largest float by a common logarithm
        for t in reversed(range(self.n_tiers)):
            passed = self.factor[t] * count[t]
            ended += passed * self.n_patches[t]
            below = edge_tiers[1, edge_tiers[0] == t]
            count[below] += passed
            largest = max(float(count[:t].max(initial=0.0)), ended)
            if largest > 1e200:
                count, ended, scale = count / largest, ended / largest, scale + math.log(largest)
        return scale + math.log(max(ended, 1e-300))


def block_graph(network: NetworkGraph, energies: np.ndarray, n_rows: int) -> BlockGraph:
    """The blocks of a network over data of the given energies.

    Args:
        energies: sum of squares of each input over the rows.
    """
    first_block = np.cumsum([0, *(stage.n_blocks for stage in network.stages)])
    staged = list(zip(network.stages, network.levels, strict=True))
    tiers = sorted({(level, stage.activation) for stage, level in staged})
    place = [tiers.index((level, stage.activation)) for stage, level in staged]
    row_energy = np.concatenate([[0.0], energies])
    block_of_row = np.full(1 + network.n_inputs, -1)
    patches: list[set[bytes]] = [set() for _ in tiers]
    read_by = np.zeros((len(tiers), 1 + network.n_inputs), dtype=bool)
    constant = np.zeros(len(tiers))
    edges, energy, free = [], [], []
    for k, stage in enumerate(network.stages):
        reads, t = stage.reads.cpu().numpy(), place[k]
        from_inputs = np.where(reads <= network.n_inputs, reads, PADDING)
        has_bias = stage.bias is not None
        energy.append(row_energy[from_inputs].sum(1) + n_rows * has_bias)
        read_by[t, from_inputs.ravel()] = True
        constant[t] = max(constant[t], n_rows * has_bias)
        patches[t] |= _different_patches(from_inputs, has_bias)
        free.append(first_block[k] + _free_blocks(stage))
        edges.append(_edges(block_of_row[reads], int(first_block[k]), int(first_block[-1])))
        block_of_row = np.concatenate([block_of_row, np.repeat(np.arange(*first_block[k : k + 2]), stage.n_units)])
    norms = [_block_norms(stage) for stage in network.stages]
    unit_norms = [np.sqrt(stage.unit_energies.cpu().numpy()) for stage in network.stages]
    outputs = network.outputs.cpu().numpy()
    readers, sources, n_read = np.concatenate(edges, axis=1)
    return BlockGraph(
        norms=np.concatenate(norms),
        patch_energy=np.concatenate(energy),
        free=np.concatenate(free),
        tier=np.repeat(place, [stage.n_blocks for stage in network.stages]),
        level=np.array([level for level, _ in tiers]),
        factor=np.array([1.0 if name == "identity" else 2.0 for _, name in tiers]),
        lipschitz=np.array([RESPONSES[name].lipschitz for _, name in tiers]),
        n_patches=np.array([len(found) for found in patches]),
        n_inputs_read=read_by[:, 1:].sum(1) + (constant > 0),
        tier_norms=np.sqrt(np.bincount(place, list(map(_whole_energy, network.stages, norms)), len(tiers))),
        tier_energy=read_by @ row_energy + constant,
        largest_units=np.array(
            [max(float(u.max()) for u, at in zip(unit_norms, place, strict=True) if at == t) for t in range(len(tiers))]
        ),
        readers=readers,
        sources=sources,
        n_read=n_read,
        output_blocks=block_of_row[outputs],
        output_norms=np.concatenate([u.ravel() for u in unit_norms])[outputs - 1 - network.n_inputs],
        n_rows=n_rows,
    )


def _edges(read_blocks: np.ndarray, first: int, n_blocks: int) -> np.ndarray:
    """(3, edges) readers, sources and how many rows are read, each pair once."""
    readers = np.broadcast_to(first + np.arange(len(read_blocks))[:, None], read_blocks.shape)
    is_block = read_blocks >= 0
    pairs, counts = np.unique(readers[is_block] * np.int64(n_blocks) + read_blocks[is_block], return_counts=True)
    return np.stack([pairs // n_blocks, pairs % n_blocks, counts])


def _different_patches(from_inputs: np.ndarray, has_bias: bool) -> set[bytes]:
    """The patches as sets of inputs; one that holds nothing but the constant is empty."""
    ordered = np.unique(np.sort(from_inputs, axis=1), axis=0)
    is_patch = (ordered != PADDING).any(1)
    found = {np.unique(row[row != PADDING]).tobytes() for row in ordered[is_patch]}
    return found | {b""} if has_bias and not is_patch.all() else found


def _block_norms(stage: Stage) -> np.ndarray:
    if stage.takes_largest:
        return np.ones(stage.n_blocks)
    energies = stage.unit_energies.cpu().numpy()
    if stage.fixed and stage.activation == "identity":
        # the rows of a mean over windows read different columns: its operator norm is the largest of their norms
        norms: np.ndarray = np.sqrt(energies.max(1))
    else:
        norms = np.sqrt(energies.sum(1))
    return norms


def _free_blocks(stage: Stage) -> np.ndarray:
    """Of blocks that share a kernel one for each place of padding; the norms of the others are the same."""
    if stage.fixed:
        return np.zeros(0, dtype=int)
    if len(stage.weight) > 1 or (stage.bias is not None and len(stage.bias) > 1):
        return np.arange(stage.n_blocks)
    return np.asarray(np.unique((stage.reads != PADDING).cpu().numpy(), axis=0, return_index=True)[1])


def _whole_energy(stage: Stage, norms: np.ndarray) -> float:
    """The squared norm of all blocks of a stage as one matrix."""
    if stage.takes_largest or (stage.fixed and stage.activation == "identity"):
        return row_multiplicity(stage) * float(norms.max()) ** 2
    return float(norms @ norms)


def row_multiplicity(stage: Stage) -> int:
    """How many blocks read one row at most: the overlap of its patches."""
    counts = np.bincount(stage.reads.cpu().numpy().ravel())
    counts[PADDING] = 0
    return int(counts.max(initial=0))


def merged_tiers(blocks: BlockGraph) -> BlockGraph:
    """The same network with one block a tier, which reads whole tiers: what bounds for dense networks see."""
    edges = np.unique(np.stack([blocks.tier[blocks.readers], blocks.tier[blocks.sources]]), axis=1)
    return replace(
        blocks,
        norms=blocks.tier_norms,
        patch_energy=blocks.tier_energy,
        tier=np.arange(blocks.n_tiers),
        n_patches=(blocks.tier_energy > 0).astype(int),
        readers=edges[0],
        sources=edges[1],
        n_read=np.ones(edges.shape[1], dtype=int),
        output_blocks=blocks.tier[blocks.output_blocks],
    )


# ---- norms of whole layers and over paths -----------------------------------------------------------


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
    sizes = [1 + network.n_inputs, *(stage.n_blocks * stage.n_units for stage in network.stages)]
    level_of_row = np.repeat([0, *network.levels], sizes)
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
        of_weight = of or ((lambda w: (w != 0).to(w)) if stage.fixed else torch.ones_like)
        read, along = stream[stage.reads], of_weight(weight)
        out = read @ along[0].T if len(along) == 1 else torch.einsum("bf,buf->bu", read, along)
        stream = torch.cat([stream, (out if bias is None else out + of_weight(bias)).reshape(-1)])
    return stream[network.outputs]


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
    return np.asarray((is_new & (rows >= 0)).sum(1))
