"""Estimators that discover the function graph and fit the network that mirrors it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from compsparse.checks import suggests_options
from compsparse.discovery import Discovery, DiscoveryStatus
from compsparse.discovery.data.strategy import from_data
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
from compsparse.graph import FunctionGraph
from compsparse.models import Blend, FittedGraph
from compsparse.models.scores import PredictWith
from compsparse.progress import begin_stage, shown
from compsparse.tables import Table
from compsparse.training import FitConfig
from compsparse.training.recipes import usual_steps, usual_training


@suggests_options
@dataclass(kw_only=True, eq=False, repr=False)
class _CompositionalEstimator(TableEstimator):
    """What the two estimators share: the settings and the discovery."""

    effort: float = 1.0
    width: int = 24
    n_restarts: int = 64
    n_steps: int | None = None
    predict_with: PredictWith = "blend"
    time_limit: float | None = None
    device: str | None = None
    random_state: Any = None
    verbose: bool = False

    def _discover(self, X: Any, y: Any, sample_weight: Any, *, classification: bool) -> None:
        """Finds ``discovery_``, with the labels themselves where there are classes."""
        table = self._table(X, reset=True)
        target = self._target(y, classification=classification)
        training = usual_training(usual_steps(table.n_rows) if self.n_steps is None else self.n_steps)
        with shown("discovering", check_verbose(self.verbose), n_stages=3) as progress:
            begin_stage(progress, "searching for the graph")
            self.discovery_: Discovery = from_data(
                table,
                target,
                outputs=target_names(y, table),
                sample_weight=sample_weight,
                classification=classification,
                fit_config=FitConfig(n_restarts=self.n_restarts, training=training),
                width=self.width,
                predict_with=self.predict_with,
                effort=self.effort,
                random_state=drawn_seed(self.random_state),
                device=self.device,
                time_limit=self.time_limit,
                progress=progress,
            )
        self.n_iter_ = self.model_.n_iter
        if self.discovery_.status is not DiscoveryStatus.FINISHED:
            warnings.warn(self.discovery_.status.value, UserWarning, stacklevel=3)

    def _rows_to_predict(self, X: Any) -> Table:
        return self._table_for(self.model_.code, X)

    @property
    def graph_(self) -> FunctionGraph:
        """The function graph that was found; draws itself in a notebook."""
        check_is_fitted(self, "discovery_")
        return self.discovery_.graph

    @property
    def model_(self) -> FittedGraph:
        """The fitted model, which can be saved."""
        check_is_fitted(self, "discovery_")
        assert self.discovery_.model is not None
        return self.discovery_.model

    @property
    def _predictor(self) -> FittedGraph | Blend:
        return self.discovery_.predictor


class CompositionalRegressor(PredictsNumbers, _CompositionalEstimator):
    """Finds the function graph of a table and predicts with the network that mirrors it.

    Args:
        effort: multiplies the training steps of every trial in the search.
        width: units in each hidden layer of a node network.
        n_restarts, n_steps: of the final fit; None takes 4000 steps, or 20 for every row where that is less.
        predict_with: ``blend`` predicts with the graph and models that know nothing of it, as far as these predict
            better; ``graph`` with the graph alone, and fits nothing else.
        time_limit: seconds for discovery and fit together; the best so far is kept.
        device: where to train, such as ``"cuda"``.
        verbose: show progress.

    Attributes:
        discovery_: the :class:`~compsparse.discovery.Discovery`: graph, evidence, path, caveats, model.
        graph_, model_: its graph and its model; what predicts beside it is ``discovery_.blend``.

    >>> from compsparse.tasks import tanh_tree
    >>> sample = tanh_tree(4).sample(300, random_state=0)
    >>> model = CompositionalRegressor(n_restarts=4, n_steps=300, random_state=0).fit(sample.X, sample.y)
    >>> sorted(sorted(m) for m in model.discovery_.modules)
    [['x0', 'x1'], ['x2', 'x3']]
    """

    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CompositionalRegressor:
        """Finds the graph of the rows and fits the networks to them."""
        self._discover(X, y, sample_weight, classification=False)
        self.flat_target_ = np.asarray(y).ndim == 1
        return self

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """The ends of intervals that hold so large a share of new rows like those of the fit.

        Raises:
            ConfigError: the model was not judged by rows not seen.
        """
        table = self._rows_to_predict(X)
        return self.discovery_.predict_interval(table, coverage)


class CompositionalClassifier(PredictsClasses, _CompositionalEstimator):
    """Finds the function graph of the classes' log odds and predicts with the network that mirrors it.

    Arguments and attributes are those of :class:`CompositionalRegressor`; also ``classes_``.
    """

    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CompositionalClassifier:
        """Finds the graph of the labelled rows and fits the networks to them."""
        self._discover(X, y, sample_weight, classification=True)
        self.classes_ = classes_like(self.model_, y)
        return self
