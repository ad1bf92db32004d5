r"""Unrolled networks: iterations of sparse inference as layers whose weights may be learned.

The Lasso, :math:`\min_z \|x - W z\|^2 + \lambda \|z\|_1`, is solved by ISTA:

.. math:: z \leftarrow \eta\big(z + \tfrac1L W^\top (x - W z),\; \tfrac{\lambda}{2L}\big), \quad L = \|W\|_2^2,

with the soft threshold :math:`\eta`. K such steps are a network of K layers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from compsparse.checks import (
    MOST_LAYERS,
    RandomState,
    brief,
    check_choice,
    check_count,
    check_dtype,
    check_flag,
    check_kind,
    check_number,
    check_numbers,
    check_replicas,
)
from compsparse.errors import ConfigError, DataError
from compsparse.graph import Constituent, FunctionGraph, Node
from compsparse.networks.replicas import ReplicatedNetwork, check_weights, replica_seeds
from compsparse.progress import Progress, check_progress
from compsparse.sizes import check_size
from compsparse.sparse.dictionaries import check_dictionary
from compsparse.sparse.moves import AnalyticMove, CoupledMove, FreeMove, Move, StepMove
from compsparse.surroundings import usual_settings
from compsparse.training import Loss, Training, TrainingConfig, TrainingData, train

UnrolledVariant = Literal["tied", "untied", "coupled", "steps", "analytic"]
_MOST_NODES = 5000
_MOST_STEPS = 1_000_000
_ZERO = 1e-9


class UnrolledNetwork(ReplicatedNetwork):
    """K layers, each a step of ISTA until it is trained; reads signals (batch, d), answers codes (batch, n).

    What is learned depends on the variant: ``tied``, two matrices for all layers (LISTA); ``untied``, two for
    each; ``coupled``, one for each (LISTA-CP); ``steps``, a step length for each (SLISTA); ``analytic``, a
    step length and a threshold for each, beside a matrix computed from the dictionary (ALISTA; the only variant
    that does not start as ISTA).

    Args:
        dictionary: (d, n), or (R, d, n) with one for each replica.
        lam: the penalty of the Lasso, in the full scaling; a number or one for each replica.
        select: share of the entries that layer 1 lets through without shrinking them if they are the largest
            (support selection); layer t lets through t times as many. 0 for none.
        select_at_most: the largest such share.
        n_replicas: how many independent copies to hold; None for an ordinary module.

    >>> from compsparse.sparse import spikes_and_hadamard
    >>> net = UnrolledNetwork(spikes_and_hadamard(8), lam=0.1, n_layers=4)
    >>> net(torch.zeros(5, 8)).shape
    torch.Size([5, 16])
    """

    replica_buffers = ("dictionary",)
    dictionary: Tensor

    def __init__(
        self,
        dictionary: ArrayLike,
        lam: float | ArrayLike,
        n_layers: int,
        variant: UnrolledVariant = "untied",
        *,
        select: float = 0.0,
        select_at_most: float = 0.13,
        n_replicas: int | None = None,
        dtype: torch.dtype = torch.float32,
    ):
        check_replicas(n_replicas)
        check_dtype(dtype)
        n_layers = check_count("n_layers", n_layers, most=MOST_LAYERS)
        check_choice("variant", variant, get_args(UnrolledVariant))
        select = check_number("select", select, least=0, most=1)
        select_at_most = check_number("select_at_most", select_at_most, least=0, most=1)
        W = _dictionaries(dictionary, n_replicas)
        n_matrices = n_layers if variant in ("untied", "coupled") else 1
        check_weights(float(W.shape[2]) * (W.shape[1] + W.shape[2]) * n_matrices, n_replicas)
        if not 0 <= select <= select_at_most <= 1 and select != 0:
            raise ConfigError(f"0 <= select <= select_at_most <= 1 must hold, got {select} and {select_at_most}")
        super().__init__(W.shape[1], W.shape[2], n_replicas)
        self.variant, self.n_layers, self.active_layers = variant, n_layers, n_layers
        self.select, self.select_at_most = select, select_at_most
        self.move = _move(variant, W, _penalties(lam, len(W)), n_layers)
        self.register_buffer("dictionary", W)
        self.to(dtype)

    @property
    def starts_as_ista(self) -> bool:
        """Whether the untrained network computes steps of ISTA."""
        return self.move.starts_as_ista and self.select == 0

    def run(self, columns: Tensor) -> Tensor:
        """Codes (R, n, batch) of signals (R, d, batch) after all layers that are active."""
        *_, z = self._states(columns)
        return z

    def iterates(self, x: Tensor) -> Tensor:
        """The code after every layer, stacked: (K, batch, n), or (K, R, batch, n) with replicas."""
        return torch.stack([self.rows(z, x) for z in self._states(self.columns(x))])

    def step(self, layer: int, x: Tensor, z: Tensor | None) -> Tensor:
        """One layer on columns: signals (R, d, batch) and codes (R, n, batch), None for codes of zeros."""
        u = self.move.first(layer, x) if z is None else self.move(layer, x, z, self.dictionary)
        theta = self.move.threshold(layer).relu()
        shrunk = soft_threshold(u, theta)
        count = math.floor(min(self.select * (layer + 1), self.select_at_most) * self.n_outputs) if self.select else 0
        if count == 0:
            return shrunk
        size = u.detach().abs()
        passes = (size >= size.topk(count, dim=1).values[:, -1:]) & (size > theta)
        return torch.where(passes, u, shrunk)

    def _states(self, columns: Tensor) -> Iterator[Tensor]:
        z = None
        for layer in range(self.active_layers):
            z = self.step(layer, columns, z)
            yield z

    @property
    def graph(self) -> FunctionGraph:
        """The computation of the first replica: a node for each entry of the code after every layer."""
        return unrolled_graph(self)


def soft_threshold(u: Tensor, theta: Tensor | float) -> Tensor:
    """Shrinks every entry towards 0 by theta, to 0 if it is smaller: the proximal operator of theta times l1."""
    if not isinstance(u, Tensor):
        raise DataError(f"u must be a tensor, got {brief(u)}")
    if not isinstance(theta, Tensor):
        theta = check_number("theta", theta, least=0)
    return u.sign() * (u.abs() - theta).relu()


@torch.no_grad()
def ista(X: ArrayLike | Tensor, W: ArrayLike, lam: float, n_steps: int, *, history: bool = False) -> Tensor:
    """Codes of the rows of X after steps of ISTA from zero: the untrained network.

    Args:
        history: give the codes after every step, (n_steps, m, n).
    """
    x, columns, network, n_steps = _prepared(X, W, lam, n_steps, history)
    z, codes = None, []
    for _ in range(n_steps):
        z = network.step(0, columns, z)
        if history:
            codes.append(network.rows(z, x))
    assert z is not None
    return torch.stack(codes) if history else network.rows(z, x)


@torch.no_grad()
def fista(X: ArrayLike | Tensor, W: ArrayLike, lam: float, n_steps: int, *, history: bool = False) -> Tensor:
    """As :func:`ista`, each step taken from a point beyond the last code (Beck and Teboulle 2009)."""
    x, columns, network, n_steps = _prepared(X, W, lam, n_steps, history)
    z = network.step(0, columns, None)
    # momentum t = 1 of the first step, which starts at zero, has no effect
    ahead, t, codes = z, (1 + math.sqrt(5)) / 2, [network.rows(z, x)]
    for _ in range(n_steps - 1):
        t_next = (1 + math.sqrt(1 + 4 * t * t)) / 2
        previous, z = z, network.step(0, columns, ahead)
        ahead = z + (t - 1) / t_next * (z - previous)
        t = t_next
        if history:
            codes.append(network.rows(z, x))
    return torch.stack(codes) if history else network.rows(z, x)


def _prepared(
    X: ArrayLike | Tensor, W: ArrayLike, lam: float, n_steps: int, history: bool
) -> tuple[Tensor, Tensor, UnrolledNetwork, int]:
    """Signals, as rows and as columns, a network whose one layer is a step, and how many steps to take."""
    check_flag("history", history)
    x = X if isinstance(X, Tensor) else torch.as_tensor(check_numbers("X", X, finite=False))
    if not x.is_floating_point():
        raise DataError(f"X must hold real numbers, got {brief(X)}")
    if not bool(torch.isfinite(x).all()):
        raise DataError("X holds NaN or infinite values")
    n_steps = check_count("n_steps", n_steps, most=_MOST_STEPS)
    network = UnrolledNetwork(W, lam, 1, "steps", dtype=x.dtype).to(x.device)
    columns = network.columns(x)
    if history:
        n_numbers = float(n_steps) * columns.shape[-1] * network.n_outputs
        check_size(f"{n_steps:,} codes of every signal", n_numbers, "take fewer steps")
    return x, columns, network, n_steps


def _dictionaries(dictionary: ArrayLike, n_replicas: int | None) -> Tensor:
    """(R, d, n) in float64; a single one is shown to all replicas."""
    table = check_numbers("a dictionary", dictionary, finite=False)
    if table.ndim != 3 or not len(table):
        return torch.as_tensor(check_dictionary(table)).expand(n_replicas or 1, -1, -1)
    W = torch.as_tensor(np.stack([check_dictionary(one) for one in table]))
    if len(W) != (n_replicas or 1):
        raise ConfigError(f"{n_replicas or 1} replicas need as many dictionaries, got {len(W)}")
    return W


def _penalties(lam: float | ArrayLike, n_replicas: int) -> Tensor:
    values = check_numbers("lam", lam, finite=False, error=ConfigError)
    if values.shape not in ((), (n_replicas,)) or not (np.isfinite(values) & (values >= 0)).all():
        raise ConfigError(
            f"lam must be a finite number >= 0, or one for each of {n_replicas} replicas, got {brief(lam)}"
        )
    return torch.as_tensor(np.broadcast_to(values, (n_replicas,)).copy())


def _move(variant: UnrolledVariant, W: Tensor, lam: Tensor, n_layers: int) -> Move:
    match variant:
        case "tied" | "untied":
            return FreeMove(W, lam, n_layers, tied=variant == "tied")
        case "coupled":
            return CoupledMove(W, lam, n_layers)
        case "steps":
            return StepMove(W, lam, n_layers)
        case "analytic":
            return AnalyticMove(W, lam, n_layers)


# ---- training ------------------------------------------------------------------------------


UNROLLED_CONFIG = TrainingConfig(n_steps=400, batch_size=256, learning_rate=2e-3, weight_decay=0.0)
"""Settings that suit unrolled networks; weights must not decay, they start from the dictionary."""


class LassoLoss(Loss):
    """The Lasso's objective of predicted codes, in the full scaling; the targets are the signals themselves.

    No codes need to be known: this is unsupervised.
    """

    def __init__(self, dictionary: ArrayLike, lam: float):
        self.W = torch.as_tensor(check_dictionary(dictionary))
        self.lam = check_number("lam", lam, least=0)
        self._copies: dict[tuple[torch.device, torch.dtype], Tensor] = {}

    def n_targets(self, n_outputs: int) -> int:
        """As many as a signal has entries."""
        return int(self.W.shape[0])

    def per_sample(self, prediction: Tensor, target: Tensor) -> Tensor:
        """The objective of each code against its signal."""
        residual = target - prediction @ self._transposed(prediction)
        return residual.square().sum(-1) + self.lam * prediction.abs().sum(-1)

    def _transposed(self, like: Tensor) -> Tensor:
        """Kept for each device, since a recorded step must not copy from another."""
        key = (like.device, like.dtype)
        if key not in self._copies:
            self._copies[key] = self.W.mT.to(*key).contiguous()
        return self._copies[key]


@usual_settings()
def train_layer_by_layer(
    network: UnrolledNetwork,
    data: TrainingData,
    config: TrainingConfig = UNROLLED_CONFIG,
    *,
    loss: Loss | None = None,
    progress: Progress | None = None,
    random_state: RandomState = None,
) -> tuple[Training, ...]:
    """Trains the first layer to answer well, then the first two, up to all; returns what happened at each stage.

    To train all layers at once call :func:`compsparse.training.train`.

    Args:
        config: settings of every stage.
    """
    check_kind("network", network, UnrolledNetwork)
    check_kind("config", config, TrainingConfig)
    progress = check_progress(progress)
    if config.weight_decay:
        raise ConfigError("weight decay would shrink layers that do not train yet: set weight_decay=0")
    seeds = replica_seeds(random_state, network.n_replicas)
    stages = []
    try:
        for layers in range(1, network.n_layers + 1):
            network.active_layers = layers
            stages.append(train(network, data, config, loss=loss, seeds=seeds))
            progress.update(layers, network.n_layers, f"{layers} layers")
    finally:
        network.active_layers = network.n_layers
    return tuple(stages)


# ---- the function graph ------------------------------------------------------------------


@dataclass(frozen=True)
class ThresholdedSum:
    """A weighted sum of the arguments, shrunk towards zero."""

    weights: tuple[float, ...]
    threshold: float

    def __call__(self, *arguments: Any) -> Any:
        total = sum(w * a for w, a in zip(self.weights, arguments, strict=True))
        return total - total.clip(-self.threshold, self.threshold)


@torch.no_grad()
def unrolled_graph(network: UnrolledNetwork) -> FunctionGraph:
    """Inputs ``x0``, …; a node ``z1_0``, … for each entry of the code after every layer; the last ones are outputs.

    Weights of (nearly) zero are no edges, so the graph is sparse where the dictionary's Gram matrix is.
    """
    size = network.active_layers * network.n_outputs
    if size > _MOST_NODES:
        raise ConfigError(
            f"the graph would have {size:,} nodes, more than {_MOST_NODES:,}: take fewer layers or columns"
        )
    if network.select:
        raise ConfigError("support selection ranks all entries of a layer, which is no function of few: set select=0")
    inputs = [f"x{i}" for i in range(network.n_inputs)]
    nodes: list[Node] = []
    before: list[str] = []
    for layer in range(network.active_layers):
        encode = network.move.encoding(layer)[0].double().cpu()
        inhibit = network.move.inhibition(layer, network.dictionary)[0].double().cpu()
        theta = network.move.threshold(layer)[0, :, 0].relu().double().cpu().expand(network.n_outputs)
        weights = torch.cat([encode, inhibit], dim=1) if before else encode
        for j, row in enumerate(weights):
            read = [(name, float(w)) for name, w in zip([*inputs, *before], row, strict=True) if abs(w) > _ZERO]
            function = ThresholdedSum(tuple(w for _, w in read), float(theta[j]))
            constituent = Constituent.from_callable(function, len(read), name="shrink", smoothness=0.0)
            nodes.append(Node(f"z{layer + 1}_{j}", tuple(name for name, _ in read), constituent))
        before = [node.name for node in nodes[-network.n_outputs :]]
    return FunctionGraph(inputs, nodes, before)
