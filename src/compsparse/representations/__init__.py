"""Other forms of functions: Boolean circuits and Walsh polynomials, tensors on grids, superpositions. No torch."""

from compsparse.representations import boolean as boolean
from compsparse.representations import classical as classical
from compsparse.representations import machine as machine
from compsparse.representations import tensors as tensors
