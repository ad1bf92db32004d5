"""Generalisation bounds of a network, side by side: values, terms, assumptions and how sure each is."""

from compsparse.bounds.blocks import overlap_multiplicity
from compsparse.bounds.bound import Bound, BoundTable
from compsparse.bounds.comparison import compare_bounds as compare
from compsparse.bounds.lowering import LoweredModel, lower
from compsparse.bounds.maximisation import FoundComplexity, empirical_rademacher
from compsparse.bounds.network_graph import NetworkGraph

__all__ = [
    "Bound",
    "BoundTable",
    "FoundComplexity",
    "LoweredModel",
    "NetworkGraph",
    "compare",
    "empirical_rademacher",
    "lower",
    "overlap_multiplicity",
]
