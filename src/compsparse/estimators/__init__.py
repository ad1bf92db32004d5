"""scikit-learn estimators."""

from compsparse.estimators.compositional import CompositionalClassifier, CompositionalRegressor
from compsparse.estimators.kernels import to_kernel
from compsparse.estimators.known_graph import GraphClassifier, GraphRegressor
from compsparse.estimators.minimal_relu import MinimalReLURegressor
from compsparse.estimators.module_values import ModuleValues
from compsparse.estimators.sparse_coder import SparseCoder

__all__ = [
    "CompositionalClassifier",
    "CompositionalRegressor",
    "GraphClassifier",
    "GraphRegressor",
    "MinimalReLURegressor",
    "ModuleValues",
    "SparseCoder",
    "to_kernel",
]
