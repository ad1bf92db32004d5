"""Memorisation by the smallest shallow ReLU network (de Dios and Bruna 2020; Bruna's talk)."""

from compsparse.sparse.memorisation.cells import Cells, count_cells, enumerate_cells, generic_count
from compsparse.sparse.memorisation.descent import Descended, Descents, descend
from compsparse.sparse.memorisation.drawing import draw_cells
from compsparse.sparse.memorisation.label_noise import balanced_penalty, penalty
from compsparse.sparse.memorisation.record import Memorised
from compsparse.sparse.memorisation.solve import memorise

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
