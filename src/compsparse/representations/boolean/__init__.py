"""Boolean functions: Walsh spectra, gates, decomposition. Needs no torch."""

from compsparse.representations.boolean.cofactors import column_multiplicity, wires
from compsparse.representations.boolean.spectra import Spectrum, spectrum
from compsparse.representations.boolean.walsh import walsh_transform
from compsparse.representations.boolean.walsh_polynomial import WalshPolynomial

__all__ = [
    "Spectrum",
    "WalshPolynomial",
    "column_multiplicity",
    "spectrum",
    "walsh_transform",
    "wires",
]
