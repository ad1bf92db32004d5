"""Classical forms of functions of several variables: Kolmogorov's superposition, ridge powers."""

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
