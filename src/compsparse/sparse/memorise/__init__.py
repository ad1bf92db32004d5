"""Memorisation by the smallest shallow ReLU network (de Dios and Bruna 2020; Bruna's talk)."""

from compsparse.sparse.memorise.cells import Cells, count_cells, enumerate_cells, generic_count
from compsparse.sparse.memorise.descent import Descended, Descents, descend
from compsparse.sparse.memorise.drawing import draw_cells
from compsparse.sparse.memorise.label_noise import balanced_penalty, penalty
from compsparse.sparse.memorise.record import Memorised
from compsparse.sparse.memorise.solve import memorise

__all__ = [
    "Cells",
    "Descended",
    "Descents",
    "Memorised",
    "balanced_penalty",
    "count_cells",
    "descend",
    "draw_cells",
    "enumerate_cells",
    "generic_count",
    "memorise",
    "penalty",
]
