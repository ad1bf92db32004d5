r"""Rademacher bounds by peeling, for any network graph.

One argument proves them all. Write $Q(v) = \Vert\sum_i \epsilon_i v(x_i)\Vert$ for a vector $v$ of values. A block
$z = \sigma(Wv)$ with a positively homogeneous activation has $Q(z) \le \Vert W\Vert_F \sup_{\Vert u\Vert\le 1}
\lvert\sum_i\epsilon_i\sigma(u\cdot v(x_i))\rvert$, and inside $\mathbb{E}\exp$ a contraction removes $\sigma$ for a
factor 2 (1 where it is linear), jointly for all blocks of a tier and all networks of the class. What a block reads is
$Q(v)^2 = \sum_p Q(z_p)^2 + Q(x_{\text{patch}})^2$, over the blocks that it reads and its input patch. At the patches
$Q$ has mean at most $S$, its root energy, and is sub-Gaussian with that variance. With $D$ the product of what was
pulled out and $K$ the number of exponentials, $m \mathcal{R} \le D\,(1 + \sqrt{2 \log K})$.

The same steps with squares in the place of exponentials need no $K$: the contraction removes $\sigma$ from
$\mathbb{E}\sup\lvert\cdot\rvert^2$ for a factor 4, and the squares of parts add up. Networks of few
layers have less by this.

The bounds differ in how they pull a maximum out of the sum over $p$.
"""

from __future__ import annotations

import math

import numpy as np

from compsparse.bounds.blocks import BlockGraph, merged_tiers


def path_reach(blocks: BlockGraph, *, moments: bool = False) -> np.ndarray:
    """What each block reads, when every part of the sum is weighed by its own bound: the l2 norm over block paths.

    V_b^2 = sum_p norm_p^2 V_p^2 + S_b^2; by second moments the factor of a contraction stands beside norm_p.
    """
    gains = blocks.norms * (blocks.factor[blocks.tier] if moments else 1.0)
    energy = blocks.patch_energy.astype(float).copy()
    for own, edges in blocks.by_tier():
        passed = gains[blocks.sources[edges]] ** 2 * energy[blocks.sources[edges]]
        energy[own] += np.bincount(blocks.readers[edges], passed, len(energy))[own]
    reach: np.ndarray = np.sqrt(energy)
    return reach


def degree_reach(blocks: BlockGraph) -> np.ndarray:
    """What each block reads, when the sum is its number of blocks times the largest, and norms are those of tiers.

    U_b^2 = degree_b max_p norm(tier of p)^2 U_p^2 + S_b^2: the maximum over paths by dynamic programming.
    """
    norms, degrees = blocks.tier_maximum(blocks.norms), blocks.degrees
    energy, largest = np.zeros(len(blocks.norms)), np.zeros(len(blocks.norms))
    for own, edges in blocks.by_tier():
        sources = blocks.sources[edges]
        np.maximum.at(largest, blocks.readers[edges], norms[blocks.tier[sources]] ** 2 * energy[sources])
        energy[own] = degrees[own] * largest[own] + blocks.patch_energy[own]
    reach: np.ndarray = np.sqrt(energy)
    return reach


def unit_reach(blocks: BlockGraph) -> np.ndarray:
    """What each block reads, unit by unit and with one radius a tier: no homogeneity is needed.

    V_b^2 = sum_t n_bt G_t^2 + S_b^2 with G_t = lipschitz_t * (largest norm of a unit in t) * max_b V_b.
    """
    energy = blocks.patch_energy.astype(float).copy()
    widest = np.zeros(blocks.n_tiers)
    for t, (own, edges) in enumerate(blocks.by_tier()):
        passed = blocks.n_read[edges] * widest[blocks.tier[blocks.sources[edges]]] ** 2
        energy[own] += np.bincount(blocks.readers[edges], passed, len(energy))[own]
        widest[t] = blocks.lipschitz[t] * blocks.largest_units[t] * math.sqrt(energy[own].max())
    reach: np.ndarray = np.sqrt(energy)
    return reach


def peeled_complexity(distance: float, log_terms: float, n_rows: int) -> float:
    """D (1 + sqrt(2 log K)) / m."""
    return distance * (1 + math.sqrt(2 * max(log_terms, 0.0))) / n_rows


def sharpest_complexity(blocks: BlockGraph) -> float:
    """Over paths of blocks, by exponential or by second moments, whichever is less."""
    by_exponentials = peeled_complexity(distance(blocks, path_reach(blocks)), blocks.log_terms, blocks.n_rows)
    return min(by_exponentials, moment_distance(blocks) / blocks.n_rows)


def moment_distance(blocks: BlockGraph) -> float:
    """D by second moments: no logarithms, but a factor 2 for every contraction on a path."""
    factors = blocks.factor[blocks.tier[blocks.output_blocks]]
    return float((factors * blocks.output_norms) @ path_reach(blocks, moments=True)[blocks.output_blocks])


def distance(blocks: BlockGraph, reach: np.ndarray) -> float:
    """D: what the outputs add up to."""
    return float(blocks.output_norms @ reach[blocks.output_blocks])


def unit_distance(blocks: BlockGraph, reach: np.ndarray) -> float:
    """D where activations are not homogeneous: outputs behind one share the largest reach."""
    tiers = blocks.tier[blocks.output_blocks]
    if (blocks.factor[tiers] == 1).all():
        return distance(blocks, reach)
    widest = blocks.lipschitz[tiers] * blocks.output_norms.max() * reach[blocks.output_blocks].max()
    return float(widest.sum())


def published_log_terms(blocks: BlockGraph, depth: int) -> float:
    """L log 2 + sum over the layers above the first of log degree + log C, and at least what peeling gives.

    Paths from an output to the patches are at most the product of the degrees above the first layer.
    """
    degrees = blocks.tier_maximum(blocks.degrees.astype(float))
    reads_blocks = np.unique(blocks.tier[blocks.readers])
    paths = float(np.log(np.maximum(degrees[reads_blocks], 1)).sum())
    stated = depth * math.log(2) + paths + math.log(len(blocks.output_blocks))
    return max(stated, blocks.log_terms)


def degree_product(blocks: BlockGraph) -> float:
    """The product over the layers above the first of the largest number of blocks that one reads."""
    degrees = blocks.tier_maximum(blocks.degrees.astype(float))
    return float(np.prod(degrees[np.unique(blocks.tier[blocks.readers])]))


def norm_product(blocks: BlockGraph) -> float:
    """rho: the sum of the outputs' norms times the largest block norm of every tier below."""
    norms = blocks.tier_maximum(blocks.norms)
    below = np.ones(blocks.n_tiers, dtype=bool)
    below[blocks.tier[blocks.output_blocks]] = False
    return float(blocks.output_norms.sum() * np.prod(norms[below]))


def dense_reach(blocks: BlockGraph) -> tuple[BlockGraph, np.ndarray]:
    """The network with one block a tier, and what each reads: Frobenius norms of whole matrices."""
    merged = merged_tiers(blocks)
    return merged, path_reach(merged)
