"""Memorisation by the smallest shallow ReLU network (de Dios and Bruna 2020; Bruna's talk)."""

from compsparse.sparse.memorisation.cells import HyperplaneCells, count_cells, enumerate_cells, generic_count
from compsparse.sparse.memorisation.descent import Descended, Descents, descend
from compsparse.sparse.memorisation.drawing import draw_cells
from compsparse.sparse.memorisation.norms import balanced_label_noise_penalty, label_noise_penalty
from compsparse.sparse.memorisation.record import Memorised, MemoriseStatus
from compsparse.sparse.memorisation.solve import memorise

__all__ = [
    "Descended",
    "Descents",
    "HyperplaneCells",
    "MemoriseStatus",
    "Memorised",
    "balanced_label_noise_penalty",
    "count_cells",
    "descend",
    "draw_cells",
    "enumerate_cells",
    "generic_count",
    "label_noise_penalty",
    "memorise",
]
