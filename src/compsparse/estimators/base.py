"""What the graph estimators share: checking data, matching it to the graph, fitting, predicting."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph, input_names, single_node
from compsparse.graph.parser import variables
from compsparse.networks import MirrorNetwork, Sharing
from compsparse.progress import ProgressBar, Silent
from compsparse.training import FitConfig, Loss, TrainingConfig, TrainingStatus, fit_graph
from compsparse.training.recipes import HALVING_TWICE

_FEWEST_FOR_VALIDATION = 20


class GraphEstimator(BaseEstimator):
    """Base of :class:`GraphRegressor` and :class:`GraphClassifier`; they document the parameters."""

    def __init__(
        self,
        graph: Any = None,
        *,
        width: int = 24,
        depth: int = 2,
        activation: str = "silu",
        channels: int = 1,
        share: Sharing = "none",
        n_restarts: int = 64,
        n_keep: int = 4,
        n_steps: int = 4000,
        batch_size: int | None = 128,
        learning_rate: float = 1.5e-2,
        weight_decay: float = 1e-3,
        refine_iterations: int = 60,
        layerwise: bool = False,
        validation_fraction: float = 0.2,
        time_limit: float | None = None,
        device: str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.graph = graph
        self.width = width
        self.depth = depth
        self.activation = activation
        self.channels = channels
        self.share = share
        self.n_restarts = n_restarts
        self.n_keep = n_keep
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.refine_iterations = refine_iterations
        self.layerwise = layerwise
        self.validation_fraction = validation_fraction
        self.time_limit = time_limit
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting -------------------------------------------------------------------------

    def _fit_network(
        self, X: np.ndarray, target: torch.Tensor, weight: np.ndarray | None, loss: Loss | None, out_channels: int
    ) -> None:
        """Fits ``network_`` to checked data; the target is already encoded."""
        if not 0 <= self.validation_fraction < 1:
            raise ConfigError(f"validation_fraction must lie in [0, 1), got {self.validation_fraction}")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.x_scaler_ = StandardScaler().fit(X, sample_weight=weight)
        inputs = torch.as_tensor(self.x_scaler_.transform(X), dtype=torch.float32, device=self.device)
        weights = None
        if weight is not None:
            weights = torch.as_tensor(weight / weight.mean(), dtype=torch.float32, device=self.device)
        listener = ProgressBar(f"fitting {type(self).__name__}") if self.verbose else nullcontext(Silent())
        with listener as progress:
            fit = fit_graph(
                self.graph_,
                inputs,
                target.to(self.device),
                self._fit_config(),
                validation=self._validation_rows(len(X), seed),
                sample_weight=weights,
                loss=loss,
                width=self.width,
                depth=self.depth,
                activation=self.activation,
                channels=self.channels,
                out_channels=out_channels,
                share=self.share,
                random_state=seed,
                progress=progress,
                time_limit=self.time_limit,
            )
        if fit.status in (TrainingStatus.INTERRUPTED, TrainingStatus.OUT_OF_TIME):
            warnings.warn(fit.status.value, UserWarning, stacklevel=3)
        self.fit_seconds_, self.validation_loss_ = fit.seconds, fit.validation_loss
        # predictions in double precision do not depend on how rows are batched
        self.network_: MirrorNetwork = fit.network.double().cpu()
        self.n_iter_ = fit.training.n_steps

    def _fit_config(self) -> FitConfig:
        return FitConfig(
            n_restarts=self.n_restarts,
            n_keep=self.n_keep,
            training=TrainingConfig(
                n_steps=self.n_steps,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                weight_decay=self.weight_decay,
                rungs=HALVING_TWICE,
            ),
            layerwise=self.layerwise,
            refine_iterations=self.refine_iterations,
        )

    def _validation_rows(self, n: int, seed: int) -> np.ndarray | None:
        held_out = int(n * self.validation_fraction)
        if n < _FEWEST_FOR_VALIDATION or held_out < 2:
            return None
        return np.random.default_rng(seed).permutation(n)[:held_out]

    def _checked(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> tuple[np.ndarray, np.ndarray, Any]:
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, **options)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            kept = weight > 0
            if not kept.any():
                raise DataError("all sample weights are zero")
            X, y, weight = X[kept], y[kept], weight[kept]
        self.graph_ = resolve_graph(self.graph, self.n_features_in_, getattr(self, "feature_names_in_", None))
        return X[:, self._columns()], y, weight

    def _columns(self) -> list[int]:
        """Which column of X feeds each input of the graph."""
        names = list(getattr(self, "feature_names_in_", ()))
        if not set(names).issuperset(self.graph_.inputs):
            return list(range(self.n_features_in_))
        return [names.index(name) for name in self.graph_.inputs]

    # ---- predicting ----------------------------------------------------------------------

    def _outputs(self, X: Any) -> np.ndarray:
        """Mean output of the ensemble at the rows of X, (n, k)."""
        check_is_fitted(self, "network_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scaled = self.x_scaler_.transform(X[:, self._columns()])
        with torch.no_grad():
            return self.network_(torch.as_tensor(scaled)).mean(0).numpy()


def resolve_graph(graph: Any, n_features: int, names: Any) -> FunctionGraph:
    """The graph to mirror, from what a user may give, checked against the data's columns."""
    if graph is None:
        return single_node(n_features)
    by_position = input_names(n_features)
    columns = by_position if names is None else tuple(str(n) for n in names)
    if isinstance(graph, str):
        free = names is None and not set(by_position).issuperset(variables(graph))
        graph = FunctionGraph.from_expression(graph, None if free else columns)
    elif not isinstance(graph, FunctionGraph):
        graph = FunctionGraph.from_groups(graph, columns)
    if names is not None and graph.inputs != by_position:
        unknown = [name for name in graph.inputs if name not in columns]
        if unknown:
            raise DataError(f"the graph has an input {unknown[0]!r}, but X has no such column")
    elif graph.n_inputs != n_features:
        raise DataError(f"the graph has {graph.n_inputs} inputs, but X has {n_features} features")
    return graph
