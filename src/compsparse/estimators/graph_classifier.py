"""Classification with a network that mirrors a given function graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from compsparse.estimators.base import GraphEstimator, classes_like


class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Classifies with networks that mirror a known function graph of one output.

    The output node carries one channel per class. Parameters are those of
    :class:`~compsparse.estimators.GraphRegressor`; ``refine_iterations`` has no effect, since the
    second-order finish is for squared loss.

    Attributes:
        classes_: the labels, in the order of the columns of ``predict_proba``.
        model_: the :class:`~compsparse.models.FittedGraph`.
        graph_, network_: the graph and the ensemble of networks that mirror it.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphClassifier:
        """Fits the networks to labelled rows."""
        self._fit(X, y, sample_weight, classification=True)
        self.classes_ = classes_like(self.model_, y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, one column per entry of ``classes_``."""
        table = self._rows_to_predict(X)
        return self.model_.predict_proba(table)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        table = self._rows_to_predict(X)
        best = self.model_.outputs(table).argmax(axis=1)
        labels: np.ndarray = self.classes_[best]
        return labels
