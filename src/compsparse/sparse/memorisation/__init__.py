"""Memorisation by the smallest shallow ReLU network (de Dios and Bruna 2020; Bruna's talk).

Gradient descent is loaded on first use, so that the optimum needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from compsparse.sparse.memorisation.cells import HyperplaneCells, count_cells, enumerate_cells, generic_count
from compsparse.sparse.memorisation.drawing import draw_cells
from compsparse.sparse.memorisation.problem import balanced_label_noise_penalty, label_noise_penalty
from compsparse.sparse.memorisation.record import Memorised, MemoriseStatus
from compsparse.sparse.memorisation.solve import memorise

if TYPE_CHECKING:
    from compsparse.sparse.memorisation.descent import Descended, Descents, descend

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


def __getattr__(name: str) -> Any:
    if name in ("Descended", "Descents", "descend"):
        return getattr(importlib.import_module("compsparse.sparse.memorisation.descent"), name)
    raise AttributeError(f"module 'compsparse.sparse.memorisation' has no attribute {name!r}")
