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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch

from compsparse.bounds.blocks import (
    BlockGraph,
    LayerNorms,
    LayerShapes,
    block_graph,
    layer_norms,
    layer_shapes,
    merged_tiers,
    path_sums,
)
from compsparse.bounds.network_graph import NetworkGraph
from compsparse.certificate import Rigour


def path_reach(blocks: BlockGraph, *, moments: bool = False) -> np.ndarray:
    """What each block reads, when every part of the sum is weighed by its own bound: the l2 norm over block paths.

    V_b^2 = sum_p norm_p^2 V_p^2 + S_b^2; by second moments the factor of a contraction stands beside norm_p.
    """
    gains = blocks.norms * (blocks.factor[blocks.tier] if moments else 1.0)
    energy = blocks.patch_energy.astype(float).copy()
    for own, edges in blocks.by_tier():
        passed = gains[blocks.sources[edges]] ** 2 * energy[blocks.sources[edges]]
        energy[own] += np.bincount(blocks.readers[edges], passed, len(energy))[own]
    return np.asarray(np.sqrt(energy))


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
    return np.asarray(np.sqrt(energy))


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
    return np.asarray(np.sqrt(energy))


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


@dataclass(frozen=True, eq=False)
class Member:
    """One network with the data term that all bounds share.

    Attributes:
        energies: sum of squares of each input over the rows.
        n_rows: of the data.
    """

    network: NetworkGraph
    energies: np.ndarray
    n_rows: int

    @cached_property
    def blocks(self) -> BlockGraph:
        """As Rademacher bounds see it."""
        return block_graph(self.network, self.energies, self.n_rows)

    @cached_property
    def layers(self) -> list[LayerNorms]:
        """As spectral bounds see it."""
        return layer_norms(self.network)

    @cached_property
    def shapes(self) -> LayerShapes:
        """As the memos see it."""
        return layer_shapes(self.network)

    @property
    def total(self) -> float:
        """sqrt(sum of squares of all inputs), the constant included where there are biases."""
        return math.sqrt(float(self.energies.sum()) + self.n_rows * self.network.has_biases)

    @property
    def largest_input(self) -> float:
        """The root of the largest energy of one input, the constant included where there are biases."""
        return math.sqrt(max(float(self.energies.max()), self.n_rows * self.network.has_biases))

    @property
    def data(self) -> float:
        """sqrt(sum of squares of all inputs) / m."""
        return self.total / self.n_rows


class Computed(NamedTuple):
    """A complexity and the numbers that it is made of.

    Attributes:
        norms: that the class of networks is described by; along a path it is homogeneous in at most one for each level.
    """

    value: float
    terms: dict[str, float]
    norms: Sequence[float]


# ---- one function a bound -----------------------------------------------------------------------


def block_path_bound(member: Member) -> Computed:
    """The sharpest of the peeling bounds: an l2 norm over paths of blocks, each with its patch's energy."""
    blocks = member.blocks
    terms = {
        "path norm times data": distance(blocks, path_reach(blocks)),
        "log terms": blocks.log_terms,
        "by second moments": moment_distance(blocks),
    }
    inner = blocks.free[np.isin(blocks.free, blocks.sources)]
    return Computed(sharpest_complexity(blocks), terms, _with_outputs(blocks, blocks.norms[inner]))


def degree_aware_bound(member: Member) -> Computed:
    """rho times the root of the largest product of degrees and patch energy along a path.

    rho is the sum of the outputs' norms times the largest block norm of every tier below. The logarithm is L log 2 +
    sum over the layers above the first of log degree + log C, and at least what peeling gives: paths from an output to
    the patches are at most the product of these degrees.
    """
    blocks = member.blocks
    degrees = blocks.tier_maximum(blocks.degrees.astype(float))[np.unique(blocks.tier[blocks.readers])]
    paths = float(np.log(np.maximum(degrees, 1)).sum())
    logs = max(member.network.depth * math.log(2) + paths + math.log(len(blocks.output_blocks)), blocks.log_terms)
    reach = distance(blocks, degree_reach(blocks))
    norms = blocks.tier_maximum(blocks.norms)
    below = np.ones(blocks.n_tiers, dtype=bool)
    below[blocks.tier[blocks.output_blocks]] = False
    rho = float(blocks.output_norms.sum() * np.prod(norms[below]))
    terms = {"rho": rho, "degrees above the first layer": float(np.prod(degrees)), "log terms": logs}
    terms["degrees and data"] = reach / rho if rho else 0.0
    value = peeled_complexity(reach, logs, member.n_rows)
    return Computed(value, terms, _with_outputs(blocks, norms[blocks.inner_tiers]))


def unit_degree_bound(member: Member) -> Computed:
    """The same argument unit by unit, without homogeneity: outputs behind an activation share the largest reach."""
    blocks = member.blocks
    reach, tiers = unit_reach(blocks), blocks.tier[blocks.output_blocks]
    if (blocks.factor[tiers] == 1).all():
        found = distance(blocks, reach)
    else:
        widest = blocks.lipschitz[tiers] * blocks.output_norms.max() * reach[blocks.output_blocks].max()
        found = float(widest.sum())
    norms = _with_outputs(blocks, blocks.largest_units[blocks.inner_tiers])
    value = peeled_complexity(found, blocks.log_terms, member.n_rows)
    return Computed(value, {"norms, degrees and data": found}, norms)


def golowich_bound(member: Member) -> Computed:
    """Frobenius norms of whole matrices: each shared kernel counts at every place."""
    merged = merged_tiers(member.blocks)
    logs = max(member.network.depth * math.log(2) + math.log(len(merged.output_blocks)), merged.log_terms)
    product = distance(merged, path_reach(merged))
    terms = {"Frobenius product": product / member.total if member.total else 0.0, "data": member.total}
    norms = _with_outputs(merged, merged.norms[merged.inner_tiers])
    return Computed(peeled_complexity(product, logs, member.n_rows), terms | {"log terms": logs}, norms)


def range_bound(member: Member) -> Computed:
    """How large outputs can be at all, sqrt(C / m) times: it does not fall with more data."""
    size = member.total * math.prod(layer.spectral * layer.lipschitz for layer in member.layers)
    n = member.n_rows * member.network.n_outputs
    terms = {"spectral product": size / member.total if member.total else 0.0}
    return Computed(size * math.sqrt(n) / member.n_rows, terms, [layer.spectral for layer in member.layers])


def spectral_bound(member: Member) -> Computed:
    """Covering numbers by spectral and (2, 1) norms, then Dudley's integral at its best lower end."""
    product = math.prod(layer.spectral * layer.lipschitz for layer in member.layers)
    ratios = sum((layer.units / layer.spectral) ** (2 / 3) for layer in member.layers if layer.spectral) ** 1.5
    width = max(layer.width for layer in member.layers)
    # Maurey's lemma rounds a count up, which costs at most a factor 2 under the root
    entropy = math.sqrt(2 * math.log(2 * width**2)) * member.total * product * ratios
    size, n = member.total * product, member.n_rows * member.network.n_outputs
    end = min(3 * entropy / math.sqrt(n), size)
    integral = 12 * entropy * math.log(size / end) if end else 0.0
    terms = {"spectral product": product, "(2, 1) to spectral": ratios, "widest layer": float(width)}
    norms = [norm for layer in member.layers for norm in (layer.spectral, layer.units)]
    return Computed((4 * end * math.sqrt(n) + integral) / member.n_rows, terms, norms)


def path_bound(member: Member, *, squared: bool) -> Computed:
    """The sum over paths of the products of weights; squared ones by Cauchy and Schwarz, with the number of paths."""
    network, blocks = member.network, member.blocks
    logs = math.log(2) + replace(blocks, n_patches=blocks.n_inputs_read).log_terms
    if squared:
        n_paths = path_sums(network, None).cpu().numpy()
        norms = np.sqrt(path_sums(network, torch.square).cpu().numpy())
        norm, terms = float(np.sqrt(n_paths) @ norms), {"l2 path norm": float(norms.sum())}
        terms["paths"] = float(n_paths.sum())
    else:
        norm = float(path_sums(network, torch.abs).sum())
        terms = {"l1 path norm": norm}
    return Computed(norm * member.largest_input * math.sqrt(2 * logs) / member.n_rows, terms, [norm])


def _with_outputs(blocks: BlockGraph, norms: np.ndarray) -> list[float]:
    return [*norms.tolist(), *blocks.output_norms.tolist()]


def _memo(factor: Callable[[int], float], *, overlaps: bool = False) -> Callable[[Member], Computed]:
    """A factor of the depth L times prod norms sqrt(sum norm(x_i)^2) / m, and the root of every layer's overlap."""

    def computed(member: Member) -> Computed:
        shapes = member.shapes
        overlap = float(np.prod(shapes.multiplicities))
        terms = {"kernel norms": shapes.norm_product, "multiplicity": overlap}
        value = factor(len(shapes.norms)) * shapes.norm_product * member.data
        return Computed(value * math.sqrt(overlap) if overlaps else value, terms, shapes.norms)

    return computed


def _published(top_degree: bool) -> Callable[[Member], Computed]:
    """The complexity term of the program published with arXiv 2301.12033, with or without the last layer's degree.

    (rho / m) (1 + sqrt(2 (L log(2 deg) + log C))) sqrt(max_j sum_i x_ij^2) sqrt(prod_l k_l); the program has
    2^1.5 (rho + 1) for rho, for its loss.
    """

    def computed(member: Member) -> Computed:
        shapes = member.shapes
        degrees, below = shapes.degrees, shapes.degrees[:-1] or shapes.degrees
        logs = len(degrees) * math.log(2 * max(below)) + math.log(member.network.n_outputs)
        spread = member.largest_input * math.sqrt(_product(degrees if top_degree else below))
        value = (shapes.norm_product + 1) * (1 + math.sqrt(2 * logs)) * spread / member.n_rows
        return Computed(value, {"rho": shapes.norm_product, "degrees": _product(degrees)}, shapes.norms)

    return computed


def _product(degrees: Sequence[int]) -> float:
    return float(np.prod(np.array(degrees, dtype=float)))


def kernel_class_complexity(member: Member) -> float:
    """What is proved of the networks that the memos speak of: no kernel's norm is above the largest of its level.

    Infinite where there are several outputs, of which the memos do not speak.
    """
    blocks, norms = member.blocks, np.array(member.shapes.norms)
    levels = blocks.level[blocks.tier]
    if len(blocks.output_blocks) > 1 or levels[blocks.output_blocks[0]] < member.network.depth:
        return math.inf
    return sharpest_complexity(replace(blocks, norms=norms[levels - 1], output_norms=norms[-1:]))


# ---- the list of them ---------------------------------------------------------------------------


@dataclass(frozen=True)
class BoundForm:
    """A bound on the Rademacher complexity, before it meets a network.

    Attributes:
        rigour: where its assumptions are met.
        homogeneous: whether it needs a positively homogeneous activation.
        largest: whether it holds with max pooling.
        assumes: what it takes for granted.
        is_corollary: whether it is proved wherever it is not below what is proved of the same networks.
    """

    name: str
    says: str
    compute: Callable[[Member], Computed]
    rigour: Rigour = Rigour.PROVED
    homogeneous: bool = True
    largest: bool = False
    assumes: tuple[str, ...] = ()
    is_corollary: bool = False


def _of_memo(name: str, says: str, compute: Callable[[Member], Computed], *assumes: str) -> BoundForm:
    return BoundForm(name, says, compute, Rigour.MEMO, assumes=assumes, is_corollary=True)


_MEMO_TREE = "patches do not overlap and blocks are single units; the proof is a sketch"


def _root(depth: int) -> float:
    return math.sqrt(2 * math.log(2) * depth) + 1


FORMS: tuple[BoundForm, ...] = (
    BoundForm(
        "block paths",
        "peeling with an l2 norm over paths of blocks, each weighed by the energy of its input patch",
        block_path_bound,
    ),
    BoundForm(
        "degree-aware",
        "rho times the root of the largest product of in-degrees and patch energy along a path "
        "(Galanti, Xu, Galanti and Poggio 2023, with the degree of the last layer)",
        degree_aware_bound,
    ),
    BoundForm(
        "degree-aware, unit by unit",
        "largest norm and in-degree of single units, layer by layer",
        unit_degree_bound,
        homogeneous=False,
        assumes=("norms are the largest of each layer",),
    ),
    BoundForm("Golowich", "Frobenius norms of whole matrices (Golowich, Rakhlin and Shamir 2018)", golowich_bound),
    BoundForm(
        "spectral",
        "spectral and (2, 1) norms of whole matrices (Bartlett, Foster and Telgarsky 2017)",
        spectral_bound,
        homogeneous=False,
        largest=True,
    ),
    BoundForm("path norm, l1", "the sum over paths of products of weights", lambda m: path_bound(m, squared=False)),
    BoundForm(
        "path norm, l2",
        "the root sum of squared products over paths, times the root of their number",
        lambda m: path_bound(m, squared=True),
    ),
    BoundForm(
        "range",
        "the largest size of outputs: what a class without any structure has",
        range_bound,
        homogeneous=False,
        largest=True,
    ),
    BoundForm(
        "published code",
        "the program of arXiv 2301.12033: it leaves out the last layer's degree",
        _published(top_degree=False),
        Rigour.HEURISTIC,
        assumes=("the degree of the last layer may be left out", "biases are ignored"),
    ),
    BoundForm(
        "published code, top degree",
        "the program of arXiv 2301.12033, with the last layer's degree",
        _published(top_degree=True),
        Rigour.MEMO,
        assumes=("biases are ignored",),
    ),
    _of_memo(
        "memo, Theorem 11",
        "2^(L-1) times the kernels' norms (Poggio 2023; printed 2^L)",
        _memo(lambda depth: 2.0 ** (depth - 1)),
        _MEMO_TREE,
    ),
    _of_memo(
        "memo, Theorem 11, root",
        "sqrt(2 log(2) L) + 1 times the kernels' norms (Poggio 2023)",
        _memo(_root),
        _MEMO_TREE,
    ),
    _of_memo(
        "memo, Theorem 12",
        "the same for convolutional networks (Poggio 2023; printed without the sample size)",
        _memo(_root),
        _MEMO_TREE,
        "patches are centred and uncorrelated",
    ),
    _of_memo(
        "memo, Conjecture 5",
        "Theorem 11 with the root of every layer's overlap, ceil(K/(K-O)) (Poggio 2023; printed K/(K-O))",
        _memo(lambda depth: 2.0 ** (depth - 1), overlaps=True),
        "blocks are single units; a conjecture",
    ),
)
"""Every bound on the Rademacher complexity, in the order of the table."""
