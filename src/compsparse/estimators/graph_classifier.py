"""Classification with a network that mirrors a given function graph."""

from __future__ import annotations

from typing import Any

from compsparse.estimators.base import GraphEstimator, PredictsClasses, classes_like, whole_or_not_at_all


class GraphClassifier(PredictsClasses, GraphEstimator):
    """Classifies with networks that mirror a known function graph of one output.

    The output node carries one channel per class. Parameters are those of
    :class:`~compsparse.estimators.GraphRegressor`; ``refine_iterations`` has no effect, since the
    second-order finish is for squared loss.

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
