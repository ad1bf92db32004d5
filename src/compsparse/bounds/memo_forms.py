"""Bounds as the memos and a published program state them: kernels' norms and overlaps, without the degrees.

They are shown beside the proved ones and carry the status ``memo`` or ``heuristic``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from compsparse.bounds.blocks import row_multiplicity
from compsparse.bounds.network_graph import NetworkGraph
from compsparse.checks import check_count


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

    @property
    def depth(self) -> int:
        """How many levels there are."""
        return len(self.norms)


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


def theorem_11(shapes: LayerShapes, data: float) -> float:
    """2^(L-1) prod norms sqrt(sum norm(x_i)^2) / m; printed 2^L, while the proof gives 2^(L-1).

    Args:
        data: sqrt(sum norm(x_i)^2) / m.
    """
    return 2.0 ** (shapes.depth - 1) * shapes.norm_product * data


def theorem_12(shapes: LayerShapes, data: float) -> float:
    """(sqrt(2 log(2) L) + 1) prod norms sqrt(sum norm(x_i)^2) / m; printed without the sample size."""
    return (math.sqrt(2 * math.log(2) * shapes.depth) + 1) * shapes.norm_product * data


def conjecture_5(shapes: LayerShapes, data: float) -> float:
    """Theorem 11 times the root of the overlap multiplicity of every layer, ceil(K / (K - O)) each."""
    return theorem_11(shapes, data) * math.sqrt(float(np.prod(shapes.multiplicities)))


def published_code(
    shapes: LayerShapes, n_outputs: int, largest_input: float, n_rows: int, *, top_degree: bool
) -> float:
    """The complexity term of the program published with arXiv 2301.12033, with or without the last layer's degree.

    (rho / m) (1 + sqrt(2 (L log(2 deg) + log C))) sqrt(max_j sum_i x_ij^2) sqrt(prod_l k_l); the program has
    2^1.5 (rho + 1) for rho, for its loss.
    """
    below = shapes.degrees[:-1] or shapes.degrees
    used = shapes.degrees if top_degree else below
    logs = shapes.depth * math.log(2 * max(below)) + math.log(n_outputs)
    spread = largest_input * math.sqrt(float(np.prod(np.array(used, dtype=float))))
    return (shapes.norm_product + 1) * (1 + math.sqrt(2 * logs)) * spread / n_rows
