"""Generalisation bounds of a network, side by side: values, terms, assumptions and how sure each is."""

from compsparse.bounds.comparison import compare_bounds as compare
from compsparse.bounds.layer_norms import overlap_multiplicity
from compsparse.bounds.lowering import LoweredModel, lower
from compsparse.bounds.maximisation import FoundComplexity, empirical_rademacher
from compsparse.bounds.network_graph import NetworkGraph
from compsparse.bounds.record import Bound, BoundTable

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
