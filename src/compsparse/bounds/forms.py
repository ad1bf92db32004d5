"""The bounds on the Rademacher complexity, each by itself: what it computes, from which norms, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch

from compsparse.bounds import memo_forms
from compsparse.bounds.blocks import BlockGraph, block_graph
from compsparse.bounds.layer_norms import LayerNorms, layer_norms, path_sums
from compsparse.bounds.network_graph import NetworkGraph
from compsparse.bounds.rademacher import (
    degree_product,
    degree_reach,
    dense_reach,
    distance,
    moment_distance,
    norm_product,
    path_reach,
    peeled_complexity,
    published_log_terms,
    sharpest_complexity,
    unit_distance,
    unit_reach,
)
from compsparse.certificate import Rigour


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
    def shapes(self) -> memo_forms.LayerShapes:
        """As the memos see it."""
        return memo_forms.layer_shapes(self.network)

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


Terms = dict[str, float]


class Computed(NamedTuple):
    """A complexity and the numbers that it is made of.

    Attributes:
        norms: that the class of networks is described by; along a path it is homogeneous in at most one for each level.
    """

    value: float
    terms: Terms
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
    """rho times the root of the largest product of degrees and patch energy along a path."""
    blocks = member.blocks
    logs = published_log_terms(blocks, member.network.depth)
    reach = distance(blocks, degree_reach(blocks))
    rho = norm_product(blocks)
    terms = {"rho": rho, "degrees above the first layer": degree_product(blocks), "log terms": logs}
    terms["degrees and data"] = reach / rho if rho else 0.0
    norms = blocks.tier_maximum(blocks.norms)[blocks.inner_tiers]
    return Computed(peeled_complexity(reach, logs, member.n_rows), terms, _with_outputs(blocks, norms))


def unit_degree_bound(member: Member) -> Computed:
    """The same argument unit by unit, which needs no homogeneity."""
    blocks = member.blocks
    reach = unit_distance(blocks, unit_reach(blocks))
    norms = _with_outputs(blocks, blocks.largest_units[blocks.inner_tiers])
    value = peeled_complexity(reach, blocks.log_terms, member.n_rows)
    return Computed(value, {"norms, degrees and data": reach}, norms)


def golowich_bound(member: Member) -> Computed:
    """Frobenius norms of whole matrices: each shared kernel counts at every place."""
    merged, reach = dense_reach(member.blocks)
    logs = max(member.network.depth * math.log(2) + math.log(len(merged.output_blocks)), merged.log_terms)
    product = distance(merged, reach)
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
        n_paths = path_sums(network, None)
        norms = np.sqrt(path_sums(network, torch.square))
        norm, terms = float(np.sqrt(n_paths) @ norms), {"l2 path norm": float(norms.sum())}
        terms["paths"] = float(n_paths.sum())
    else:
        norm = float(path_sums(network, torch.abs).sum())
        terms = {"l1 path norm": norm}
    return Computed(norm * member.largest_input * math.sqrt(2 * logs) / member.n_rows, terms, [norm])


def _with_outputs(blocks: BlockGraph, norms: np.ndarray) -> list[float]:
    return [*norms.tolist(), *blocks.output_norms.tolist()]


def _memo(form: Callable[[memo_forms.LayerShapes, float], float]) -> Callable[[Member], Computed]:
    def computed(member: Member) -> Computed:
        shapes = member.shapes
        overlap = float(np.prod(shapes.multiplicities))
        terms = {"kernel norms": shapes.norm_product, "multiplicity": overlap}
        return Computed(form(shapes, member.data), terms, shapes.norms)

    return computed


def kernel_class_complexity(member: Member) -> float:
    """What is proved of the networks that the memos speak of: no kernel's norm is above the largest of its level.

    Infinite where there are several outputs, of which the memos do not speak.
    """
    blocks, norms = member.blocks, np.array(member.shapes.norms)
    levels = blocks.level[blocks.tier]
    if len(blocks.output_blocks) > 1 or levels[blocks.output_blocks[0]] < member.network.depth:
        return math.inf
    return sharpest_complexity(replace(blocks, norms=norms[levels - 1], output_norms=norms[-1:]))


def _published(top_degree: bool) -> Callable[[Member], Computed]:
    def computed(member: Member) -> Computed:
        shapes, n_outputs = member.shapes, member.network.n_outputs
        value = memo_forms.published_code(shapes, n_outputs, member.largest_input, member.n_rows, top_degree=top_degree)
        terms = {"rho": shapes.norm_product, "degrees": float(np.prod(np.array(shapes.degrees, dtype=float)))}
        return Computed(value, terms, shapes.norms)

    return computed


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


_MEMO_TREE = "patches do not overlap and blocks are single units; the proof is a sketch"
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
    BoundForm(
        "memo, Theorem 11",
        "2^(L-1) times the kernels' norms (Poggio 2023; printed 2^L)",
        _memo(memo_forms.theorem_11),
        Rigour.MEMO,
        assumes=(_MEMO_TREE,),
        is_corollary=True,
    ),
    BoundForm(
        "memo, Theorem 11, root",
        "sqrt(2 log(2) L) + 1 times the kernels' norms (Poggio 2023)",
        _memo(memo_forms.theorem_12),
        Rigour.MEMO,
        assumes=(_MEMO_TREE,),
        is_corollary=True,
    ),
    BoundForm(
        "memo, Theorem 12",
        "the same for convolutional networks (Poggio 2023; printed without the sample size)",
        _memo(memo_forms.theorem_12),
        Rigour.MEMO,
        assumes=(_MEMO_TREE, "patches are centred and uncorrelated"),
        is_corollary=True,
    ),
    BoundForm(
        "memo, Conjecture 5",
        "Theorem 11 with the root of every layer's overlap, ceil(K/(K-O)) (Poggio 2023; printed K/(K-O))",
        _memo(memo_forms.conjecture_5),
        Rigour.MEMO,
        assumes=("blocks are single units; a conjecture",),
        is_corollary=True,
    ),
)
"""Every bound on the Rademacher complexity, in the order of the table."""
