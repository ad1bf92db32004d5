"""Other forms of functions: circuits and Walsh polynomials of Boolean ones, tensors on grids. Needs no torch."""

from compsparse.representations import boolean as boolean
from compsparse.representations import tensors as tensors
