"""Regression and classification with networks that mirror a given function graph."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from compsparse.checks import suggests_options
from compsparse.estimators.base import (
    PredictsClasses,
    PredictsNumbers,
    TableEstimator,
    check_verbose,
    classes_like,
    drawn_seed,
    target_names,
    whole_or_not_at_all,
)
from compsparse.models import FittedGraph, fit_model
from compsparse.networks import Sharing
from compsparse.progress import shown
from compsparse.tables import Table
from compsparse.training import FitConfig, TrainingConfig, TrainingStatus
from compsparse.training.recipes import HALVING_TWICE, usual_steps


@suggests_options
@dataclass(eq=False, repr=False)
class GraphEstimator(TableEstimator):
    """Base of :class:`GraphRegressor` and :class:`GraphClassifier`; they document the parameters."""

    graph: Any = None
    _: KW_ONLY
    width: int = 24
    depth: int = 2
    activation: str = "silu"
    channels: int = 1
    share: Sharing = "none"
    n_restarts: int = 64
    n_keep: int = 4
    n_steps: int | None = None
    batch_size: int | None = 128
    learning_rate: float = 1.5e-2
    weight_decay: float = 1e-3
    refine_iterations: int = 60
    layerwise: bool = False
    penalties: Any = ()
    validation_fraction: float = 0.2
    time_limit: float | None = None
    device: str | None = None
    random_state: Any = None
    verbose: bool = False

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, classification: bool) -> None:
        """Fits ``model_``."""
        table = self._table(X, reset=True)
        target = self._target(y, classification=classification)
        with shown(f"fitting {type(self).__name__}", check_verbose(self.verbose), n_stages=2) as progress:
            self.model_: FittedGraph = fit_model(
                self.graph,
                table,
                target,
                outputs=target_names(y, table),
                classification=classification,
                sample_weight=sample_weight,
                width=self.width,
                depth=self.depth,
                activation=self.activation,
                channels=self.channels,
                share=self.share,
                config=self._fit_config(table.n_rows),
                penalties=self.penalties,
                validation_fraction=self.validation_fraction,
                random_state=drawn_seed(self.random_state),
                device=self.device,
                progress=progress,
                time_limit=self.time_limit,
            )
        self.graph_, self.network_ = self.model_.graph, self.model_.network
        self.n_iter_, self.fit_seconds_ = self.model_.n_iter, self.model_.seconds
        self.validation_loss_ = self.model_.validation_loss
        if self.model_.status in (TrainingStatus.INTERRUPTED, TrainingStatus.OUT_OF_TIME):
            warnings.warn(self.model_.status.value, UserWarning, stacklevel=3)

    def _fit_config(self, n_rows: int) -> FitConfig:
        return FitConfig(
            n_restarts=self.n_restarts,
            n_keep=self.n_keep,
            training=TrainingConfig(
                n_steps=usual_steps(n_rows) if self.n_steps is None else self.n_steps,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                weight_decay=self.weight_decay,
                rungs=HALVING_TWICE,
            ),
            layerwise=self.layerwise,
            refine_iterations=self.refine_iterations,
        )

    @property
    def _predictor(self) -> FittedGraph:
        return self.model_

    def _rows_to_predict(self, X: Any) -> Table:
        check_is_fitted(self, "model_")
        return self._table_for(self.model_.code, X)


class GraphRegressor(PredictsNumbers, GraphEstimator):
    """Fits networks that mirror a known function graph, and averages the best few.

    Many restarts train at once, the worse ones leave, and the best are finished by a second-order
    method; see :mod:`compsparse.training.recipes`.

    Parameters:
        graph: a :class:`~compsparse.graph.FunctionGraph`, an expression, or nested groups of
            columns. Inputs are matched to the columns of a data frame by name. None means one
            node over all columns: an ordinary dense network. Columns of texts are categories.
        width, depth, activation: shape of each node's network.
        channels: numbers that each inner wire carries.
        share: ``none``, ``level`` or ``all``: which nodes share weights.
        n_restarts: networks that start; n_keep: most networks that are averaged in the end.
        n_steps, batch_size, learning_rate, weight_decay: settings of the training loop; without ``n_steps`` it
            takes 4000, or 20 for every row where that is less.
        refine_iterations: most Levenberg-Marquardt steps at the end; 0 leaves them out.
        layerwise: learn the lower levels of the graph first.
        penalties: strengths by name, such as ``{"l1": 1e-3}`` (:data:`compsparse.training.PENALTIES`), or penalties;
            with any, the Levenberg-Marquardt steps are left out.
        validation_fraction: share of the rows that choose among restarts, 5,000 at most; tables of fewer
            than 20 rows train on all.
        time_limit: seconds after which the best network so far is taken, with a warning.
        device: where to train, for instance ``cuda``; prediction runs on the CPU.
        random_state: an integer gives the same numbers twice.
        verbose: show progress.

    Attributes:
        model_: the :class:`~compsparse.models.FittedGraph`, which can be saved.
        graph_: the graph that was mirrored.
        network_: the fitted network; its replicas are the members of the ensemble.
        n_iter_, fit_seconds_: training steps and seconds.
        validation_loss_: squared error of the standardised target on the validation rows.

    >>> from compsparse.tasks import tanh_tree
    >>> sample = tanh_tree(4).sample(300, random_state=0)
    >>> model = GraphRegressor([[0, 1], [2, 3]], n_restarts=4, n_steps=200, random_state=0)
    >>> bool(model.fit(sample.X, sample.y).score(sample.X, sample.y) > 0.99)
    True
    """

    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphRegressor:
        """Fits the networks to rows of numbers."""
        self._fit(X, y, sample_weight, classification=False)
        self.flat_target_ = np.asarray(y).ndim == 1
        return self


class GraphClassifier(PredictsClasses, GraphEstimator):
    """Classifies with networks that mirror a known function graph of one output.

    The output node carries one channel per class. Parameters are those of :class:`GraphRegressor`;
    ``refine_iterations`` has no effect, since the second-order finish is for squared loss.

    Attributes:
        classes_: the labels, in the order of the columns of ``predict_proba``.
        model_: the :class:`~compsparse.models.FittedGraph`.
        graph_, network_: the graph and the ensemble of networks that mirror it.
    """

    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphClassifier:
        """Fits the networks to labelled rows."""
        self._fit(X, y, sample_weight, classification=True)
        self.classes_ = classes_like(self.model_, y)
        return self
