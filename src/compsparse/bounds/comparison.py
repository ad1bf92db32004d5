"""All bounds of one model, on one data term, with what their statements on losses pay for choices made on the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from compsparse.bounds.bound import Bound, BoundTable
from compsparse.bounds.description import GRID_SLACK, Choice, norms_nats, step_nats
from compsparse.bounds.forms import FORMS, BoundForm, Computed, Member, kernel_class_complexity
from compsparse.bounds.losses import BoundedLoss, bounded_loss
from compsparse.bounds.lowering import LoweredModel, lower
from compsparse.bounds.network_graph import NetworkGraph
from compsparse.bounds.pac_bayes import SIGMAS, noisy_bound
from compsparse.certificate import Rigour
from compsparse.checks import RandomState, check_flag, check_number, generator_from, suggests_options
from compsparse.errors import DataError
from compsparse.origin import Origin

_CLASS = "the complexity is that of all networks of this graph whose norms are at most these"
_HOMOGENEOUS = "activations are 1-Lipschitz, zero at zero and positively homogeneous, such as the ReLU"
_LIPSCHITZ = "activations are Lipschitz and zero at zero"
_BIASES = "a bias is the weight of a constant input of one"
_VECTOR = "several outputs: the complexity has a sign for each row and output, as in Maurer's contraction"
_ROWS = (
    "losses: rows are independent draws, and the columns of X and how they were prepared, the kind of network, its "
    "layers and their sizes were fixed before the data were seen"
)
_AT_ONCE = "losses: all rows of the table hold at once with the stated confidence"
_N_STATEMENTS = len(FORMS) + 2


@dataclass(frozen=True, eq=False)
class Statement:
    """What statements on the expected loss share: the loss, what they may fail with, and what was chosen on the data.

    Attributes:
        loss: at a margin of the grid, nowhere below the loss at the stated margin.
        outputs: of the model on its data.
        stated: mean loss at the stated margin.
        delta: probability with which one row may fail.
        choices: made before the weights, on the data or not.
    """

    loss: BoundedLoss
    outputs: Tensor
    stated: float
    delta: float
    choices: tuple[Choice, ...]

    @property
    def training(self) -> float:
        """Mean loss at the margin of the grid."""
        return float(self.loss.values(self.outputs).mean())

    def nats(self, norms: Sequence[Sequence[float]] = (), depth: int = 1) -> float:
        """All that is paid for: structure, margin, and the norms of every member."""
        structure = sum(choice.nats for choice in self.choices if choice.is_paid)
        return structure + step_nats(self.loss.step) + sum(norms_nats(own, depth) for own in norms)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the statements take for granted, and what they paid for."""
        return (_ROWS, *(f"losses: {choice.sentence}" for choice in self.choices), _AT_ONCE)

    def with_loss(self, made: Bound, loss: float, nats: float, paid: str) -> Bound:
        """A bound that also says what the expected loss is at most, and what that paid for."""
        terms, assumes = {**made.terms, "nats paid for": nats}, (*made.assumes, *self.assumes, paid)
        return replace(made, gap=loss - self.stated, expected_loss=loss, terms=terms, assumes=assumes)


@suggests_options
def compare_bounds(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    margin: float = 1.0,
    confidence: float = 0.95,
    classification: bool | None = None,
    given: bool = False,
    random_state: RandomState = None,
) -> BoundTable:
    """All bounds of a model on the data that it was fitted to, side by side.

    Args:
        model: a fitted estimator or model of compsparse, one of its networks, or a torch module of layers in a row.
        X, y: the training data, as the model takes them; without y nothing is said of losses.
        margin: classes: by how much the right one must be ahead to cost nothing; numbers: the distance that costs 1,
            in units of the target (standardised for fitted models).
        confidence: of all statements on the expected loss at once.
        classification: whether y holds classes; None takes whole numbers for classes.
        given: you vouch that graph, masks and zeros were fixed before the data were seen; otherwise statements on
            losses pay for all that is not known to be.
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
    check_flag("given", given)
    rng = generator_from(random_state)
    lowered = lower(model, X)
    if given:
        lowered = replace(lowered, structure=tuple(replace(c, origin=Origin.GIVEN) for c in lowered.structure))
    said = None
    if y is not None:
        loss = bounded_loss(model, y, lowered.outputs, margin=margin, classification=classification)
        stated = float(loss.values(lowered.outputs).mean())
        delta = (1 - confidence) / _N_STATEMENTS
        said = Statement(loss.on_grid(), lowered.outputs, stated, delta, (*lowered.structure, *lowered.coding))
    energies = lowered.X.square().sum(0).cpu().numpy()
    if not energies.any():
        raise DataError("all inputs are zero: no bound from data says anything")
    members = [Member(network, energies, len(lowered.X)) for network in lowered.members]
    bounds = [_rademacher(form, members, said, margin) for form in FORMS]
    bounds.append(_counting(lowered, said))
    if said is not None:
        bounds.append(_pac_bayes(lowered, said, rng))
    error = math.nan if said is None or not said.loss.classes else float(said.loss.mistakes(lowered.outputs).mean())
    return BoundTable(
        tuple(bounds),
        len(lowered.X),
        lowered.n_parameters,
        confidence,
        margin,
        math.nan if said is None else said.stated,
        error,
        tuple(choice.sentence for choice in (*lowered.structure, *lowered.coding)) if said is not None else (),
    )


def _rademacher(form: BoundForm, members: Sequence[Member], said: Statement | None, margin: float) -> Bound:
    """A mean of networks has at most the mean of their complexities."""
    computed = [form.compute(member) for member in members]
    value = float(np.mean([c.value for c in computed]))
    terms = {name: float(np.mean([c.terms[name] for c in computed])) for name in computed[0].terms}
    rigour, assumes = _standing(form, members, computed)
    made = Bound(form.name, form.says, value, math.nan, rigour, terms, assumes)
    if said is None:
        return made
    if form.name.startswith("published"):
        return _as_published(made, said, members[0].n_rows, margin)
    depth, n_outputs, m = members[0].network.depth, members[0].network.n_outputs, members[0].n_rows
    nats = said.nats([c.norms for c in computed], depth)
    complexity = 2 * said.loss.steepness(n_outputs) * GRID_SLACK * value
    loss = said.training + complexity + 3 * math.sqrt((math.log(2 / said.delta) + nats) / (2 * m))
    by = f"by a union over a grid and a factor {GRID_SLACK:.3g} on the complexity"
    return said.with_loss(made, loss, nats, f"losses: margin and norms are paid for, {by}")


def _as_published(made: Bound, said: Statement, m: int, margin: float) -> Bound:
    """The published program has a confidence term of its own, with a union over norms and none over graphs."""
    delta = said.delta * _N_STATEMENTS
    union = 3 * math.sqrt(math.log(2 * (made.terms["rho"] + 2) ** 2 / delta) / (2 * m))
    gap = 2**1.5 * made.complexity / margin + union
    return replace(made, gap=gap, expected_loss=said.stated + gap)


def _standing(
    form: BoundForm, members: Sequence[Member], computed: Sequence[Computed]
) -> tuple[Rigour, tuple[str, ...]]:
    """How sure a form is of this network, and what it takes for granted of it."""
    network: NetworkGraph = members[0].network
    assumes = [_CLASS, _HOMOGENEOUS if form.homogeneous else _LIPSCHITZ]
    if network.has_biases and form.rigour is Rigour.PROVED:
        assumes.append(_BIASES)
    if network.n_outputs > 1:
        assumes.append(_VECTOR)
    if form.homogeneous and not network.homogeneous:
        names = sorted({s.activation for s in network.stages} - {"identity", "relu"})
        unmet = f"NOT MET: {', '.join(names)} is not positively homogeneous"
        return Rigour.HEURISTIC, (*assumes, *form.assumes, unmet)
    if network.takes_largest and not form.largest:
        return Rigour.HEURISTIC, (*assumes, *form.assumes, "NOT MET: max pooling is treated as if it were linear")
    if form.is_corollary:
        least = [kernel_class_complexity(member) for member in members]
        if all(c.value >= proved * (1 - 1e-12) for c, proved in zip(computed, least, strict=True)):
            told = f"a corollary of block paths here: {np.mean(least):.4g} is proved for these norms"
            return Rigour.PROVED, (*assumes, told)
    return form.rigour, (*assumes, *form.assumes)


def _counting(lowered: LoweredModel, said: Statement | None) -> Bound:
    """A finite class: every weight is one of 2^bits numbers."""
    n, m = lowered.n_parameters, len(lowered.X)
    made = Bound(
        "parameter counting",
        f"Hoeffding's inequality for each of the networks whose weights have {lowered.bits} bits",
        math.nan,
        math.nan,
        Rigour.PROVED,
        {"parameters": float(n), "bits": float(lowered.bits)},
        ("the loss is between 0 and 1",),
    )
    if said is None:
        return made
    nats = said.nats()
    loss = said.training + math.sqrt((n * lowered.bits * math.log(2) + nats + math.log(1 / said.delta)) / (2 * m))
    return said.with_loss(made, loss, nats, "losses: the margin is paid for, by a union over a grid")


def _pac_bayes(lowered: LoweredModel, said: Statement, rng: np.random.Generator) -> Bound:
    nats = said.nats()
    found = noisy_bound(lowered.members, lowered.X, said.loss, said.delta, nats, rng)
    what = "share of wrong classes" if said.loss.classes else "loss"
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
            "nats paid for": nats,
        },
        (
            f"sigma is one of {len(SIGMAS)} fixed values, for which a union is paid",
            "it speaks of the noisy network, not of the network itself",
            "the gap is to the noisy network's loss on the data, which is estimated",
            *said.assumes,
        ),
        found.bound,
        gap_rigour=Rigour.ESTIMATED,
        of="the noisy network",
    )
