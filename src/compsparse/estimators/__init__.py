"""scikit-learn estimators."""

from compsparse.estimators.compositional import CompositionalClassifier, CompositionalRegressor
from compsparse.estimators.graph_classifier import GraphClassifier
from compsparse.estimators.graph_regressor import GraphRegressor
from compsparse.estimators.minimal_relu import MinimalReLURegressor
from compsparse.estimators.sparse_coder import SparseCoder

__all__ = [
    "CompositionalClassifier",
    "CompositionalRegressor",
    "GraphClassifier",
    "GraphRegressor",
    "MinimalReLURegressor",
    "SparseCoder",
]
