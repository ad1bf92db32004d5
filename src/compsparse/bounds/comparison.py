"""All bounds of one model, on one data term."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from compsparse.bounds import memo_forms
from compsparse.bounds.blocks import BlockGraph, block_graph
from compsparse.bounds.layer_norms import LayerNorms, layer_norms, path_sums
from compsparse.bounds.losses import BoundedLoss, bounded_loss
from compsparse.bounds.lowering import LoweredModel, lower
from compsparse.bounds.network_graph import NetworkGraph
from compsparse.bounds.pac_bayes import SIGMAS, noisy_bound
from compsparse.bounds.rademacher import (
    degree_product,
    degree_reach,
    dense_reach,
    distance,
    norm_product,
    path_reach,
    peeled_complexity,
    published_log_terms,
    unit_distance,
    unit_reach,
)
from compsparse.bounds.record import Bound, BoundTable
from compsparse.certificate import Rigour
from compsparse.checks import RandomState, check_flag, check_number, generator_from
from compsparse.errors import DataError

_FIXED = "the graph and the norms were fixed before the data were seen"
_HOMOGENEOUS = "activations are 1-Lipschitz, zero at zero and positively homogeneous, such as the ReLU"
_LIPSCHITZ = "activations are Lipschitz and zero at zero"
_BIASES = "a bias is the weight of a constant input of one"
_VECTOR = "several outputs: the complexity has a sign for each row and output, as in Maurer's contraction"


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
Computed = tuple[float, Terms]
"""A complexity and the numbers that it is made of."""


# ---- one function a bound -----------------------------------------------------------------------


def block_path_bound(member: Member) -> Computed:
    """The sharpest of the peeling bounds: an l2 norm over paths of blocks, each with its patch's energy."""
    blocks = member.blocks
    reach = distance(blocks, path_reach(blocks))
    terms = {"path norm times data": reach, "log terms": blocks.log_terms}
    return peeled_complexity(reach, blocks.log_terms, member.n_rows), terms


def degree_aware_bound(member: Member) -> Computed:
    """rho times the root of the largest product of degrees and patch energy along a path."""
    blocks = member.blocks
    logs = published_log_terms(blocks, member.network.depth)
    reach = distance(blocks, degree_reach(blocks))
    rho = norm_product(blocks)
    terms = {"rho": rho, "degrees above the first layer": degree_product(blocks), "log terms": logs}
    return peeled_complexity(reach, logs, member.n_rows), terms | {"degrees and data": reach / rho if rho else 0.0}


def unit_degree_bound(member: Member) -> Computed:
    """The same argument unit by unit, which needs no homogeneity."""
    blocks = member.blocks
    reach = unit_distance(blocks, unit_reach(blocks))
    return peeled_complexity(reach, blocks.log_terms, member.n_rows), {"norms, degrees and data": reach}


def golowich_bound(member: Member) -> Computed:
    """Frobenius norms of whole matrices: each shared kernel counts at every place."""
    merged, reach = dense_reach(member.blocks)
    logs = max(member.network.depth * math.log(2) + math.log(len(merged.output_blocks)), merged.log_terms)
    product = distance(merged, reach)
    terms = {"Frobenius product": product / member.total if member.total else 0.0, "data": member.total}
    return peeled_complexity(product, logs, member.n_rows), terms | {"log terms": logs}


def range_bound(member: Member) -> Computed:
    """How large outputs can be at all, sqrt(C / m) times: it does not fall with more data."""
    size = member.total * math.prod(layer.spectral * layer.lipschitz for layer in member.layers)
    n = member.n_rows * member.network.n_outputs
    return size * math.sqrt(n) / member.n_rows, {"spectral product": size / member.total if member.total else 0.0}


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
    return (4 * end * math.sqrt(n) + integral) / member.n_rows, terms


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
    return norm * member.largest_input * math.sqrt(2 * logs) / member.n_rows, terms


def _memo(form: Callable[[memo_forms.LayerShapes, float], float]) -> Callable[[Member], Computed]:
    def computed(member: Member) -> Computed:
        shapes = member.shapes
        overlap = float(np.prod(shapes.multiplicities))
        return form(shapes, member.data), {"kernel norms": shapes.norm_product, "multiplicity": overlap}

    return computed


def _published(top_degree: bool) -> Callable[[Member], Computed]:
    def computed(member: Member) -> Computed:
        shapes, n_outputs = member.shapes, member.network.n_outputs
        value = memo_forms.published_code(shapes, n_outputs, member.largest_input, member.n_rows, top_degree=top_degree)
        return value, {"rho": shapes.norm_product, "degrees": float(np.prod(np.array(shapes.degrees, dtype=float)))}

    return computed


# ---- the list of them ---------------------------------------------------------------------------


@dataclass(frozen=True)
class BoundForm:
    """A bound on the Rademacher complexity, before it meets a network.

    Attributes:
        rigour: where its assumptions are met.
        homogeneous: whether it needs a positively homogeneous activation.
        largest: whether it holds with max pooling.
        assumes: what it takes for granted beyond :data:`_FIXED`.
    """

    name: str
    says: str
    compute: Callable[[Member], Computed]
    rigour: Rigour = Rigour.PROVED
    homogeneous: bool = True
    largest: bool = False
    assumes: tuple[str, ...] = ()


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
    ),
    BoundForm(
        "memo, Theorem 11, root",
        "sqrt(2 log(2) L) + 1 times the kernels' norms (Poggio 2023)",
        _memo(memo_forms.theorem_12),
        Rigour.MEMO,
        assumes=(_MEMO_TREE,),
    ),
    BoundForm(
        "memo, Theorem 12",
        "the same for convolutional networks (Poggio 2023; printed without the sample size)",
        _memo(memo_forms.theorem_12),
        Rigour.MEMO,
        assumes=(_MEMO_TREE, "patches are centred and uncorrelated"),
    ),
    BoundForm(
        "memo, Conjecture 5",
        "Theorem 11 with the root of every layer's overlap, ceil(K/(K-O)) (Poggio 2023; printed K/(K-O))",
        _memo(memo_forms.conjecture_5),
        Rigour.MEMO,
        assumes=("blocks are single units; a conjecture",),
    ),
)
"""Every bound on the Rademacher complexity, in the order of the table."""


# ---- the table ----------------------------------------------------------------------------------


def compare_bounds(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    margin: float = 1.0,
    confidence: float = 0.95,
    classification: bool | None = None,
    random_state: RandomState = 0,
) -> BoundTable:
    """All bounds of a model on the data that it was fitted to, side by side.

    Args:
        model: a fitted estimator or model of compsparse, one of its networks, or a torch module of layers in a row.
        X, y: the training data, as the model takes them; without y nothing is said of losses.
        margin: classes: by how much the right one must be ahead to cost nothing; numbers: the distance that costs 1,
            in units of the target (standardised for fitted models).
        confidence: of the statements on the expected loss.
        classification: whether y holds classes; None takes whole numbers for classes.
        random_state: of the noise in the PAC-Bayes bound.

    >>> from compsparse.networks import convolutional, dense
    >>> X = np.random.default_rng(0).normal(size=(200, 16))
    >>> net = convolutional(16, kernel=2, stride=2, width=4, activation="relu", random_state=0)
    >>> table = compare_bounds(net, X)
    >>> table["block paths"].complexity < table["degree-aware"].complexity < table["Golowich"].complexity
    True
    """
    margin = check_number("margin", margin, above=0)
    check_number("confidence", confidence, above=0, below=1)
    if classification is not None:
        check_flag("classification", classification)
    rng = generator_from(random_state)
    lowered = lower(model, X)
    loss = None
    if y is not None:
        loss = bounded_loss(model, y, lowered.outputs, margin=margin, classification=classification)
    energies = lowered.X.square().sum(0).cpu().numpy()
    if not energies.any():
        raise DataError("all inputs are zero: no bound from data says anything")
    delta = 1 - confidence
    training = math.nan if loss is None else float(loss.values(lowered.outputs).mean())
    members = [Member(network, energies, len(lowered.X)) for network in lowered.members]
    bounds = [_rademacher(form, members, loss, margin, delta, training) for form in FORMS]
    bounds.append(_counting(lowered, delta, training))
    if loss is not None:
        bounds.append(_pac_bayes(lowered, loss, delta, rng))
    error = math.nan if loss is None or not loss.classes else float(loss.mistakes(lowered.outputs).mean())
    notes = tuple(note for member in lowered.members[:1] for note in member.notes)
    return BoundTable(tuple(bounds), len(lowered.X), lowered.n_parameters, confidence, margin, training, error, notes)


def _rademacher(
    form: BoundForm, members: Sequence[Member], loss: BoundedLoss | None, margin: float, delta: float, training: float
) -> Bound:
    """A mean of networks has at most the mean of their complexities."""
    computed = [form.compute(member) for member in members]
    value = float(np.mean([c for c, _ in computed]))
    terms = {name: float(np.mean([t[name] for _, t in computed])) for name in computed[0][1]}
    rigour, assumes = _standing(form, members[0].network)
    n_outputs, m = members[0].network.n_outputs, members[0].n_rows
    gap = _gap(form, value, terms, loss, n_outputs, margin, delta, m)
    return Bound(form.name, form.says, value, gap, rigour, terms, assumes, training + gap)


def _standing(form: BoundForm, network: NetworkGraph) -> tuple[Rigour, tuple[str, ...]]:
    """How sure a form is of this network, and what it takes for granted of it."""
    assumes = [_FIXED, _HOMOGENEOUS if form.homogeneous else _LIPSCHITZ, *form.assumes]
    rigour = form.rigour
    if network.has_biases and form.rigour is Rigour.PROVED:
        assumes.append(_BIASES)
    if network.n_outputs > 1:
        assumes.append(_VECTOR)
    if form.homogeneous and not network.homogeneous:
        names = sorted({s.activation for s in network.stages} - {"identity", "relu"})
        assumes.append(f"NOT MET: {', '.join(names)} is not positively homogeneous")
        rigour = Rigour.HEURISTIC
    if network.takes_largest and not form.largest:
        assumes.append("NOT MET: max pooling is treated as if it were linear")
        rigour = Rigour.HEURISTIC
    return rigour, tuple(assumes)


def _gap(
    form: BoundForm,
    value: float,
    terms: Terms,
    loss: BoundedLoss | None,
    n_outputs: int,
    margin: float,
    delta: float,
    m: int,
) -> float:
    """2 R of the loss and the confidence term; the published program has its own."""
    if loss is None:
        return math.nan
    if form.name.startswith("published"):
        rho = terms["rho"]
        return 2**1.5 * value / margin + 3 * math.sqrt(math.log(2 * (rho + 2) ** 2 / delta) / (2 * m))
    return 2 * loss.steepness(n_outputs) * value + 3 * math.sqrt(math.log(2 / delta) / (2 * m))


def _counting(lowered: LoweredModel, delta: float, training: float) -> Bound:
    """A finite class: every weight is one of 2^bits numbers."""
    n, m = lowered.n_parameters, len(lowered.X)
    gap = math.sqrt((n * lowered.bits * math.log(2) + math.log(1 / delta)) / (2 * m))
    return Bound(
        "parameter counting",
        f"Hoeffding's inequality for each of the networks whose weights have {lowered.bits} bits",
        math.nan,
        gap,
        Rigour.PROVED,
        {"parameters": float(n), "bits": float(lowered.bits)},
        ("the graph was fixed before the data were seen", "the loss is between 0 and 1"),
        training + gap,
    )


def _pac_bayes(lowered: LoweredModel, loss: BoundedLoss, delta: float, rng: np.random.Generator) -> Bound:
    found = noisy_bound(lowered.members, lowered.X, loss, delta, rng)
    what = "share of wrong classes" if loss.classes else "loss"
    return Bound(
        "PAC-Bayes, Gaussian",
        f"the expected {what} of the network with noise on its weights (Langford and Caruana 2002, Maurer 2004)",
        math.nan,
        found.bound - found.noisy_loss,
        Rigour.PROVED,
        {
            "sigma": found.sigma,
            "divergence": found.divergence,
            "noisy loss": found.noisy_loss,
            "rows of the estimate": float(found.n_estimate),
        },
        (
            f"sigma is one of {len(SIGMAS)} fixed values, for which a union is paid",
            "it speaks of the noisy network, not of the network itself",
        ),
        found.bound,
    )
