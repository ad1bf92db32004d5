"""scikit-learn estimators."""

from compsparse.estimators.compositional import CompositionalClassifier, CompositionalRegressor
from compsparse.estimators.graph_classifier import GraphClassifier
from compsparse.estimators.graph_regressor import GraphRegressor

__all__ = ["CompositionalClassifier", "CompositionalRegressor", "GraphClassifier", "GraphRegressor"]
