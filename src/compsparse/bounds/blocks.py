"""What Rademacher bounds need of a network: blocks with norms, who reads whom, and the energy of each input patch.

Blocks of one level with one activation form a *tier*: one contraction removes the activation of all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from compsparse.bounds.network_graph import PADDING, RESPONSES, NetworkGraph, Stage


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
        found: np.ndarray = np.bincount(self.readers, minlength=len(self.norms))
        return found

    @property
    def inner_tiers(self) -> np.ndarray:
        """Tiers that other blocks read."""
        found: np.ndarray = np.unique(self.tier[self.sources])
        return found

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
    found: np.ndarray = np.unique((stage.reads != PADDING).cpu().numpy(), axis=0, return_index=True)[1]
    return found


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
