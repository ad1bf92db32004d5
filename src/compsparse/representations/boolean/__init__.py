"""Boolean functions: Walsh spectra, learning, circuits, decomposition. Needs no torch."""

from compsparse.representations.boolean.binarisation import BinarisedFunction, BinarisedGraph, binarise, binarise_graph
from compsparse.representations.boolean.circuit_builder import CircuitBuilder, circuit_of
from compsparse.representations.boolean.cofactors import column_multiplicity, wires
from compsparse.representations.boolean.counting import circuits_log2, least_gates
from compsparse.representations.boolean.curtis import CurtisDecomposition, CurtisStep, curtis_decomposition
from compsparse.representations.boolean.juntas import Junta, junta_from_samples, learn_junta
from compsparse.representations.boolean.learning import LearnedPolynomial, learn_heavy_terms, learn_low_degree
from compsparse.representations.boolean.packed import BooleanProgram, boolean_program, evaluate_bits
from compsparse.representations.boolean.spectra import Spectrum, spectrum
from compsparse.representations.boolean.walsh import WalshPolynomial, walsh_transform

__all__ = [
    "BinarisedFunction",
    "BinarisedGraph",
    "BooleanProgram",
    "CircuitBuilder",
    "CurtisDecomposition",
    "CurtisStep",
    "Junta",
    "LearnedPolynomial",
    "Spectrum",
    "WalshPolynomial",
    "binarise",
    "binarise_graph",
    "boolean_program",
    "circuit_of",
    "circuits_log2",
    "column_multiplicity",
    "curtis_decomposition",
    "evaluate_bits",
    "junta_from_samples",
    "learn_heavy_terms",
    "learn_junta",
    "learn_low_degree",
    "least_gates",
    "spectrum",
    "walsh_transform",
    "wires",
]
