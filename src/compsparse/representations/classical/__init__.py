"""Classical forms of functions: Kolmogorov's superposition, ridge powers, the Haar basis."""

from compsparse.representations.classical.haar_basis import haar, inverse_haar
from compsparse.representations.classical.inner_function import InnerFunction, Level
from compsparse.representations.classical.ridge_powers import (
    monomials,
    power_by_differences,
    ridge_count,
    ridge_directions,
    ridge_form,
    ridge_matrix,
    ridge_rank,
    ridge_value,
)
from compsparse.representations.classical.superposition import OuterFunction, Superposition, superpose

__all__ = [
    "InnerFunction",
    "Level",
    "OuterFunction",
    "Superposition",
    "haar",
    "inverse_haar",
    "monomials",
    "power_by_differences",
    "ridge_count",
    "ridge_directions",
    "ridge_form",
    "ridge_matrix",
    "ridge_rank",
    "ridge_value",
    "superpose",
]
