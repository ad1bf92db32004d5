"""Estimators that discover the function graph and fit the network that mirrors it."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, _check_sample_weight, check_is_fitted, validate_data

from compsparse.discovery import Discovery, DiscoveryStatus
from compsparse.discovery.data.strategy import from_data
from compsparse.errors import DataError
from compsparse.graph import FunctionGraph
from compsparse.progress import ProgressBar, Silent
from compsparse.tables.coding import columns_of, first_missing, is_numeric
from compsparse.tables.targets import free_names, names_in
from compsparse.training import FitConfig, TrainingConfig
from compsparse.training.recipes import HALVING_TWICE


class _CompositionalEstimator(BaseEstimator):
    """What the two estimators share: the settings, the table, the discovery."""

    def __init__(
        self,
        *,
        effort: float = 1.0,
        width: int = 24,
        n_restarts: int = 64,
        n_steps: int = 4000,
        time_limit: float | None = None,
        device: str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.effort = effort
        self.width = width
        self.n_restarts = n_restarts
        self.n_steps = n_steps
        self.time_limit = time_limit
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _discover(
        self,
        table: Any,
        y: np.ndarray,
        weight: np.ndarray | None,
        *,
        classification: bool,
        outputs: list[str] | None = None,
    ) -> None:
        training = TrainingConfig(n_steps=self.n_steps, batch_size=128, rungs=HALVING_TWICE)
        listener = ProgressBar("discovering") if self.verbose else nullcontext(Silent())
        with listener as progress:
            self.discovery_: Discovery = from_data(
                table,
                y,
                outputs=outputs,
                sample_weight=weight,
                classification=classification,
                fit_config=FitConfig(n_restarts=self.n_restarts, training=training),
                width=self.width,
                effort=self.effort,
                random_state=int(check_random_state(self.random_state).randint(2**31 - 1)),
                device=self.device,
                time_limit=self.time_limit,
                progress=progress,
            )
        self.n_iter_ = self.n_steps
        if self.discovery_.status is not DiscoveryStatus.FINISHED:
            warnings.warn(self.discovery_.status.value, UserWarning, stacklevel=3)

    def _checked(self, X: Any, y: Any, sample_weight: Any, classification: bool) -> tuple[Any, Any, Any]:
        """Numbers go through scikit-learn's checks; a table with texts in it is left to discovery's own."""
        if _has_text(X):
            _check_feature_names(self, X, reset=True)
            self.n_features_in_ = X.shape[1]
            table: Any = X
            y = np.asarray(y)
        else:
            options = {} if classification else {"y_numeric": True, "multi_output": True}
            table, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, **options)
            if hasattr(self, "feature_names_in_"):
                table = _Named(table, self.feature_names_in_)
        weight = None
        if sample_weight is not None:
            rows = np.empty((len(y), 1))
            weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
            if not weight.any():
                raise DataError("all sample weights are zero")
        return table, y, weight

    def _table(self, X: Any) -> Any:
        check_is_fitted(self, "discovery_")
        if _has_text(X):
            _check_feature_names(self, X, reset=False)
            return X
        return validate_data(self, X, dtype=np.float64, reset=False)

    @property
    def graph_(self) -> FunctionGraph:
        """The function graph that was found; draws itself in a notebook."""
        check_is_fitted(self, "discovery_")
        return self.discovery_.graph


class _Named:
    """A checked array with its column names; a stand-in for a table."""

    def __init__(self, values: np.ndarray, names: np.ndarray):
        self.values, self.columns, self.shape = values, list(names), values.shape

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[:, self.columns.index(name)]

    def __len__(self) -> int:
        return len(self.values)


def _has_text(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "shape") and not all(is_numeric(c) for c in columns_of(X)[1])


class CompositionalRegressor(RegressorMixin, _CompositionalEstimator):
    """Finds the function graph of a table and predicts with the network that mirrors it.

    Args:
        effort: multiplies the training steps of every trial in the search.
        width: units in each hidden layer of a node network.
        n_restarts, n_steps: of the final fit.
        time_limit: seconds for discovery and fit together; the best so far is kept.
        device: where to train, such as ``"cuda"``.
        verbose: show progress.

    Attributes:
        discovery_: the :class:`~compsparse.discovery.Discovery`: graph, evidence, path, caveats, model.
        graph_: its graph.

    >>> from compsparse.tasks import tanh_tree
    >>> sample = tanh_tree(4).sample(300, random_state=0)
    >>> model = CompositionalRegressor(n_restarts=4, n_steps=300, random_state=0).fit(sample.X, sample.y)
    >>> sorted(sorted(m) for m in model.discovery_.modules)
    [['x0', 'x1'], ['x2', 'x3']]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CompositionalRegressor:
        named = names_in(y)
        table, y, weight = self._checked(X, y, sample_weight, classification=False)
        outputs = free_names(named, getattr(self, "feature_names_in_", ())) if named else None
        self._discover(table, y, weight, classification=False, outputs=outputs)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predicted values, shaped like the target of ``fit``."""
        table = self._table(X)
        return self.discovery_.model.predict(table)  # type: ignore[union-attr]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class CompositionalClassifier(ClassifierMixin, _CompositionalEstimator):
    """Finds the function graph of the classes' log odds and predicts with the network that mirrors it.

    Arguments and attributes are those of :class:`CompositionalRegressor`; also ``classes_``.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CompositionalClassifier:
        table, y, weight = self._checked(X, y, sample_weight, classification=True)
        check_classification_targets(y)
        missing = first_missing(np.asarray(y))
        if missing is not None:
            raise DataError(f"the target has a missing value (NaN) in row {missing}")
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError("the classifier needs at least 2 classes, the target holds 1 class")
        self._discover(table, numbers, weight, classification=True)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class, in the order of ``classes_``."""
        table = self._table(X)
        return self.discovery_.model.predict_proba(table)  # type: ignore[union-attr]

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        likeliest = self.predict_proba(X).argmax(1)
        return self.classes_[likeliest]
