"""From function graphs to explicit sparse ReLU networks with a certified error."""

from compsparse.construct.compiling import CompileMethod, compile, path_factors
from compsparse.construct.counts import UnitCounts, shallow_log10_units, unit_counts
from compsparse.construct.fitted import fitted_graph_formulas, model_graph, network_graph
from compsparse.construct.indicator import IndicatorNetwork, indicator_cells, indicator_network, indicator_units
from compsparse.construct.opaque import DeclaredBounds
from compsparse.construct.record import Compiled, CompiledNode
from compsparse.construct.refutation import CertificateError
from compsparse.construct.search import LargestError, largest_error
from compsparse.construct.subject import Domain, check_domain
from compsparse.construct.verifying import Verification, verify

__all__ = [
    "CertificateError",
    "CompileMethod",
    "Compiled",
    "CompiledNode",
    "DeclaredBounds",
    "Domain",
    "IndicatorNetwork",
    "LargestError",
    "UnitCounts",
    "Verification",
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
    "verify",
]
