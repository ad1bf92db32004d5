"""From function graphs to explicit sparse ReLU networks with a certified error."""

from compsparse.construct.compiling import CompileMethod, Domain, check_domain, compile, path_factors
from compsparse.construct.counts import UnitCounts, shallow_log10_units, unit_counts
from compsparse.construct.fitted import fitted_graph_formulas, model_graph, network_graph
from compsparse.construct.indicator import IndicatorNetwork, indicator_cells, indicator_network, indicator_units
from compsparse.construct.opaque import DeclaredBounds
from compsparse.construct.record import Compiled, CompiledNode
from compsparse.construct.search import LargestError, largest_error

__all__ = [
    "CompileMethod",
    "Compiled",
    "CompiledNode",
    "DeclaredBounds",
    "Domain",
    "IndicatorNetwork",
    "LargestError",
    "UnitCounts",
    "check_domain",
    "compile",
    "fitted_graph_formulas",
    "indicator_cells",
    "indicator_network",
    "indicator_units",
    "largest_error",
    "model_graph",
    "network_graph",
    "path_factors",
    "shallow_log10_units",
    "unit_counts",
]
