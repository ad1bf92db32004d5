"""From function graphs to explicit sparse ReLU networks with a certified error."""

from compsparse.construct.circuit_networks import GateUnits, HiddenUnit, compile_circuit, gate_units
from compsparse.construct.comparisons import (
    IndicatorNetwork,
    UnitCounts,
    indicator_cells,
    indicator_network,
    indicator_units,
    shallow_log10_units,
    unit_counts,
)
from compsparse.construct.compiling import CompileMethod, compile, path_factors
from compsparse.construct.explicit import ExplicitReLU, ExplicitSize, SparseLayer, chained
from compsparse.construct.explicit_files import explicit_to_onnx, load_explicit, save_explicit
from compsparse.construct.fitted import fitted_graph_formulas, model_graph, network_graph
from compsparse.construct.gadget import RoundedRange, rounding_error
from compsparse.construct.opaque import DeclaredBounds
from compsparse.construct.other_units import SquaredReLU, ThresholdNetwork, compile_thresholds, tensor_spline
from compsparse.construct.polynomial_cells import LocalPolynomials, local_polynomials
from compsparse.construct.record import Compiled, CompiledNode
from compsparse.construct.refutation import CertificateError, LargestError, largest_error
from compsparse.construct.self_similar import HAT, StraightPieces, hat_network, self_similar_network, takagi_network
from compsparse.construct.verifying import Verification, verify

__all__ = [
    "HAT",
    "CertificateError",
    "CompileMethod",
    "Compiled",
    "CompiledNode",
    "DeclaredBounds",
    "ExplicitReLU",
    "ExplicitSize",
    "GateUnits",
    "HiddenUnit",
    "IndicatorNetwork",
    "LargestError",
    "LocalPolynomials",
    "RoundedRange",
    "SparseLayer",
    "SquaredReLU",
    "StraightPieces",
    "ThresholdNetwork",
    "UnitCounts",
    "Verification",
    "chained",
    "compile",
    "compile_circuit",
    "compile_thresholds",
    "explicit_to_onnx",
    "fitted_graph_formulas",
    "gate_units",
    "hat_network",
    "indicator_cells",
    "indicator_network",
    "indicator_units",
    "largest_error",
    "load_explicit",
    "local_polynomials",
    "model_graph",
    "network_graph",
    "path_factors",
    "rounding_error",
    "save_explicit",
    "self_similar_network",
    "shallow_log10_units",
    "takagi_network",
    "tensor_spline",
    "unit_counts",
    "verify",
]
