"""Boolean functions: Walsh spectra, circuits, decomposition. Needs no torch."""

from compsparse.representations.boolean.circuit_builder import CircuitBuilder, circuit_of
from compsparse.representations.boolean.cofactors import column_multiplicity, wires
from compsparse.representations.boolean.packed import BooleanProgram, boolean_program, evaluate_bits
from compsparse.representations.boolean.spectra import Spectrum, spectrum
from compsparse.representations.boolean.walsh import walsh_transform
from compsparse.representations.boolean.walsh_polynomial import WalshPolynomial

__all__ = [
    "BooleanProgram",
    "CircuitBuilder",
    "Spectrum",
    "WalshPolynomial",
    "boolean_program",
    "circuit_of",
    "column_multiplicity",
    "evaluate_bits",
    "spectrum",
    "walsh_transform",
    "wires",
]
