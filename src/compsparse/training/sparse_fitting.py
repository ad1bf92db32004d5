"""Fitting a dense network so that few of its weights stay: one call, several strengths, one graph to look at."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from compsparse.checks import (
    MOST_LAYERS,
    RandomState,
    check_choice,
    check_count,
    check_device,
    check_flag,
    check_kind,
    check_list,
    check_number,
    check_numbers,
    seed_from,
    suggests_options,
)
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.networks.masked import MaskedNetwork, layered
from compsparse.networks.replicas import only, replica_seeds
from compsparse.networks.wiring import graph_of
from compsparse.origin import Origin
from compsparse.progress import Progress
from compsparse.surroundings import usual_settings
from compsparse.text import in_a_line
from compsparse.training.config import TrainingConfig
from compsparse.training.data import TrainingData, training_data
from compsparse.training.loop import train
from compsparse.training.losses import CrossEntropy, Loss, SquaredLoss
from compsparse.training.named_penalties import PENALTIES
from compsparse.training.penalties import Penalty, WeightDecay
from compsparse.training.pruning import PruningConfig, prune
from compsparse.training.regrowth import RegrowthConfig, regrow

_DECAY_ABOVE = 1e-2
"""Weight decay of the layers above a penalised first one, which would grow and undo the penalty."""
_STRENGTHS = {
    "l1": (0.03, 0.1, 0.2, 0.3, 0.5),
    "l2": (0.001, 0.003, 0.01, 0.03),
    "weight_decay": (0.1, 0.3, 1.0, 3.0),
    "beta_lasso": (1e-4, 3e-4, 1e-3),
    "group_inputs": (0.003, 0.01, 0.03, 0.1),
    "group_units": (0.003, 0.01, 0.03, 0.1),
    "regrow": (0.05, 0.1, 0.2),
}
"""Strengths that are tried for standardised data; densities for ``regrow``."""
METHODS = (*PENALTIES, "prune", "regrow")
"""Ways to fit sparsely, by name."""


@dataclass(frozen=True)
class SparsePoint:
    """One candidate of a sparse fit.

    Attributes:
        setting: the strength of the penalty, or the density that was asked for or reached.
        density: share of the first layer's weights that are not zero.
    """

    setting: float
    validation_loss: float
    density: float


@in_a_line
@dataclass(frozen=True)
class SparseFit:
    """The candidate with the lowest validation loss, and the others beside it.

    Attributes:
        network: reads standardised columns; masked where its weights are zero.
        path: all candidates, in the order in which they were tried.
        chosen: which of them the network is.
    """

    method: str
    network: MaskedNetwork
    path: tuple[SparsePoint, ...]
    chosen: int
    names: tuple[str, ...] | None
    x_centre: np.ndarray
    x_scale: np.ndarray
    y_centre: np.ndarray
    y_scale: np.ndarray
    classification: bool

    @property
    def density(self) -> float:
        """Share of the first layer's weights that are not zero."""
        return self.path[self.chosen].density

    @property
    def graph(self) -> FunctionGraph:
        """What the network is wired like; see :func:`~compsparse.networks.graph_of`."""
        return graph_of(self.network, names=self.names)

    @torch.no_grad()
    def predict(self, X: Any) -> np.ndarray:
        """Predicted values, or class numbers."""
        table = check_numbers("X", X, shape=(None, len(self.x_centre)))
        inputs = torch.as_tensor((table - self.x_centre) / self.x_scale, dtype=self.network.weights[0].dtype)
        out = self.network(inputs.to(self.network.weights[0].device)).double().cpu().numpy()
        if self.classification:
            return np.asarray(out.argmax(-1))
        values = out * self.y_scale + self.y_centre
        return np.asarray(values[:, 0] if values.shape[1] == 1 else values)


@suggests_options
@usual_settings()
def sparse_fit(
    X: Any,
    y: Any,
    method: str = "l1",
    *,
    strengths: Sequence[float] | None = None,
    width: int = 128,
    n_layers: int = 1,
    config: TrainingConfig | None = None,
    classification: bool = False,
    validation_fraction: float = 0.2,
    names: Sequence[str] | None = None,
    random_state: RandomState = None,
    device: str | torch.device | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> SparseFit:
    """Fits a dense network of which few weights stay, and chooses how few by rows that it does not train on.

    Args:
        X: a table of numbers.
        y: numbers, one column or several, or class numbers from 0.
        method: a penalty by name (:data:`~compsparse.training.PENALTIES`) on the first layer, ``prune`` or ``regrow``.
        strengths: of the penalty, or densities for ``regrow``; all penalties train together. Not for ``prune``,
            which tries all its rounds.
        width, n_layers: units of a hidden layer, and hidden layers.
        validation_fraction: share of the rows that choose.
        time_limit: seconds for the training of one program.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 10))
    >>> quick = TrainingConfig(n_steps=300, batch_size=64, learning_rate=1e-2, weight_decay=0)
    >>> fit = sparse_fit(X, np.abs(X[:, 0] - X[:, 1]), width=32, config=quick, random_state=0)
    >>> sorted(set(fit.graph.inputs) - set(fit.graph.inert))[:2]
    ['x0', 'x1']
    """
    check_choice("method", method, METHODS)
    width, n_layers = check_count("width", width), check_count("n_layers", n_layers, most=MOST_LAYERS)
    share = check_number("validation_fraction", validation_fraction, above=0, below=1)
    seed = seed_from(random_state)
    is_classes = check_flag("classification", classification)
    table, x_centre, x_scale = _standardised("X", X)
    if is_classes:
        target, y_centre, y_scale = np.asarray(y), np.zeros(1), np.ones(1)
        n_outputs = int(target.max()) + 1 if target.size and target.dtype.kind in "iu" else 1
    else:
        values = check_numbers("y", y)
        target, y_centre, y_scale = _standardised("y", values[:, None] if values.ndim == 1 else values)
        n_outputs = target.shape[1]
    data = training_data(table, target, classification=is_classes, device=check_device(device))
    tried = _settings(method, strengths)
    n = 1 if method in ("prune", "regrow") else len(tried)
    learned, held_out = _split(data, share, seed, n)
    if config is None:
        config = TrainingConfig(n_steps=1500, batch_size=128, learning_rate=3e-3, weight_decay=0)
        if method == "beta_lasso":  # the rule is one of plain gradient steps
            config = replace(config, optimizer="sgd", momentum=0.0, learning_rate=1e-2, clip_norm=1.0, n_steps=3000)
    check_kind("config", config, TrainingConfig)
    sizes = [table.shape[1], *[width] * n_layers, n_outputs]
    network = layered(sizes, n_replicas=n, random_state=seed, device=device)
    loss = CrossEntropy() if is_classes else SquaredLoss()
    fit = _Fit(network, learned, held_out, config, loss, replica_seeds(seed, n), progress, time_limit)
    points, networks = fit.candidates(method, tried)
    chosen = int(np.nanargmin([np.nan_to_num(p.validation_loss, nan=np.inf) for p in points]))
    kept = copy.deepcopy(networks[chosen]).cpu()
    kept.set_masks([m * (w != 0) for m, w in zip(kept.masks(), kept.effective(), strict=True)], Origin.PRUNED)
    labels = None if names is None else tuple(check_list("names", names))
    return SparseFit(method, kept, tuple(points), chosen, labels, x_centre, x_scale, y_centre, y_scale, is_classes)


@dataclass(frozen=True)
class _Fit:
    """What all candidates share.

    Weights of the last step count, not those of the best: penalties take their time to bring weights to zero.
    """

    network: MaskedNetwork
    data: TrainingData
    held_out: Tensor
    config: TrainingConfig
    loss: Loss
    seeds: list[int]
    progress: Progress | None
    time_limit: float | None

    @property
    def given(self) -> tuple[MaskedNetwork, TrainingData, TrainingConfig]:
        return self.network, self.data, self.config

    @property
    def options(self) -> dict[str, Any]:
        names = ("loss", "seeds", "progress", "time_limit")
        return {name: getattr(self, name) for name in names}

    def candidates(self, method: str, tried: Sequence[float]) -> tuple[list[SparsePoint], list[MaskedNetwork]]:
        if method == "prune":
            rewind = min(self.config.n_steps // 10, self.config.n_steps - 1)
            pruning = PruningConfig(n_rounds=12, rewind_step=rewind)
            done = prune(*self.given, pruning=pruning, penalties={"weight_decay": 0.1}, **self.options)
            rounds = done.rounds[: int(done.last_round.max()) + 1]
            return self._judged([float(r.density[0]) for r in rounds], [only(r.network) for r in rounds])
        if method == "regrow":
            densities = [RegrowthConfig(density=d) for d in tried]
            decay = {"weight_decay": 0.1}
            records = [regrow(*self.given, regrowth=d, penalties=decay, **self.options) for d in densities]
            return self._judged(tried, [only(check_kind("network", r.network, MaskedNetwork)) for r in records])
        first: list[Penalty] = [PENALTIES[method](list(tried), layers=[0])]
        above = [WeightDecay(_DECAY_ABOVE, layers=slice(1, None))]
        train(*self.given, penalties=[*first, *above], **self.options)
        return self._judged(tried, [only(self.network, i) for i in range(len(tried))])

    @torch.no_grad()
    def _judged(
        self, settings: Sequence[float], networks: list[MaskedNetwork]
    ) -> tuple[list[SparsePoint], list[MaskedNetwork]]:
        X, y = self.data.X[self.held_out], self.data.y[self.held_out]
        losses = [float(self.loss.mean(n(X).unsqueeze(0), y.unsqueeze(0))) for n in networks]
        densities = [float((n.effective()[0] != 0).double().mean()) for n in networks]
        return [SparsePoint(*point) for point in zip(settings, losses, densities, strict=True)], networks


def _settings(method: str, strengths: Any) -> tuple[float, ...]:
    if method == "prune":
        if strengths is not None:
            raise ConfigError("pruning tries all its rounds: give no strengths")
        return ()
    given = _STRENGTHS[method] if strengths is None else check_list("strengths", strengths)
    if not given:
        raise ConfigError("strengths must hold at least one number")
    return tuple(check_number("a strength", s, least=0) for s in given)


def _standardised(what: str, values: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = check_numbers(what, values, shape=(None, None))
    if len(table) < 5 or not table.shape[1]:
        raise DataError(f"{what} must be a table of at least 5 rows, got shape {table.shape}")
    centre, spread = table.mean(0), table.std(0)
    scale = np.where(spread > 0, spread, 1.0)
    return (table - centre) / scale, centre, scale


def _split(data: TrainingData, share: float, seed: int, n_replicas: int) -> tuple[TrainingData, Tensor]:
    """The data with the rows that train, and the rows that choose."""
    order = torch.as_tensor(np.random.default_rng(seed).permutation(data.n_rows))
    held_out = max(round(share * data.n_rows), 1)
    if held_out >= data.n_rows:
        raise ConfigError(f"a validation_fraction of {share:g} leaves no row to train on")
    return replace(data, train=(order[held_out:],) * n_replicas), order[:held_out].to(data.X.device)
