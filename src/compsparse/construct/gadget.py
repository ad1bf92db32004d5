"""What every construction returns: layers from some wires to one number, and how far that number can be off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from compsparse.construct.explicit import SparseLayer
from compsparse.construct.rounding import rounding_error

N_ROUNDINGS = 4
"""How often a weight of a construction was rounded on its way from exact numbers."""


@dataclass(frozen=True, eq=False)
class Gadget:
    """A small network with one output.

    Attributes:
        wires: the wires that its first layer reads, in the order of the columns.
        layers: the last of them has one row and no ReLU.
        error: certified bound on its distance to the function it stands for, in exact arithmetic.
        method: the construction, in a word or two.
        own_rounding: a sharper bound on rounding than the general analysis, from ranges of the wires.
    """

    wires: tuple[int, ...]
    layers: tuple[SparseLayer, ...]
    error: float
    method: str
    own_rounding: Callable[[np.ndarray, np.ndarray, torch.dtype], float] | None = None

    @property
    def n_units(self) -> int:
        """Rows with a ReLU."""
        return sum(layer.n_units for layer in self.layers)

    @property
    def depth(self) -> int:
        """Layers from its wires to its output."""
        return len(self.layers)

    def rounding(self, lower: np.ndarray, upper: np.ndarray, dtype: torch.dtype) -> float:
        """How far rounding can take it from exact arithmetic, for wires in these ranges; infinite on overflow."""
        found = rounding_error(self.layers, lower, upper, dtype, n_roundings=N_ROUNDINGS)
        if self.own_rounding is None or not found.fits:
            return float(found.error[0])
        return self.own_rounding(lower, upper, dtype)
