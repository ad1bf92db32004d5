"""Classification with a network that mirrors a given function graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import special
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from compsparse.errors import DataError
from compsparse.estimators.base import GraphEstimator
from compsparse.training import CrossEntropy


class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Classifies with networks that mirror a known function graph of one output.

    The output node carries one channel per class. Parameters are those of
    :class:`~compsparse.estimators.GraphRegressor`; ``refine_iterations`` has no effect, since the
    second-order finish is for squared loss.

    Attributes:
        classes_: the labels, in the order of the columns of ``predict_proba``.
        graph_, network_: the graph and the ensemble of networks that mirror it.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphClassifier:
        X, y, weight = self._checked(X, y, sample_weight)
        check_classification_targets(y)
        if len(self.graph_.outputs) != 1:
            raise DataError(f"a classifier needs a graph with one output, got {len(self.graph_.outputs)}")
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(f"the target has one class only ({self.classes_[0]!r}): there is nothing to learn")
        self._fit_network(X, torch.as_tensor(codes), weight, CrossEntropy(), len(self.classes_))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, one column per entry of ``classes_``."""
        return special.softmax(self._outputs(X), axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        best = self._outputs(X).argmax(axis=1)
        return self.classes_[best]
