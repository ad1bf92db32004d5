"""Tensor trains and hierarchical Tucker tensors of functions on grids."""

from compsparse.representations.tensors.approximation import TensorApproximation, train_from_array, tucker_from_array
from compsparse.representations.tensors.conversion import tensor_graph
from compsparse.representations.tensors.cross import train_from_function, tucker_from_function
from compsparse.representations.tensors.cut_rank import CutRank, cut_ranks, module_ranks
from compsparse.representations.tensors.dimension_tree import DimensionTree
from compsparse.representations.tensors.grid import Grid
from compsparse.representations.tensors.hierarchical_tucker import HierarchicalTucker
from compsparse.representations.tensors.tensor_train import TensorTrain

__all__ = [
    "CutRank",
    "DimensionTree",
    "Grid",
    "HierarchicalTucker",
    "TensorApproximation",
    "TensorTrain",
    "cut_ranks",
    "module_ranks",
    "tensor_graph",
    "train_from_array",
    "train_from_function",
    "tucker_from_array",
    "tucker_from_function",
]
