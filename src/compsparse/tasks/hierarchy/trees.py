"""The latent trees of data: symbols, rules and positions at every level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compsparse.tasks.hierarchy.model import RandomHierarchy


@dataclass(frozen=True)
class HierarchySample:
    """n data of a model with the trees that made them; arrays are of the smallest integer type that fits.

    Attributes:
        X: ``(n, n_inputs)`` symbols of the input; -1 where a slot is empty.
        y: ``(n,)`` labels.
        symbols: for levels 0 to L, ``(n, s^(L - level))`` symbols from left to right.
        choices: for levels 1 to L (at index level - 1), which synonym each symbol is written as, same shape.
        slots: for levels 1 to L (at index level - 1), ``(n, s^(L - level), s)`` positions of the children in
            the patch of their parent, from 0 to ``patch`` - 1, rising.

    Without empty slots ``X`` is ``symbols[0]`` itself, and all slots are views of one row.
    """

    model: RandomHierarchy
    X: np.ndarray
    y: np.ndarray
    symbols: tuple[np.ndarray, ...]
    choices: tuple[np.ndarray, ...]
    slots: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: slice | np.ndarray) -> HierarchySample:
        """Some of the data: a slice shares memory, an array of row numbers copies."""
        symbols, choices, slots = (
            tuple(level[rows] for level in levels) for levels in (self.symbols, self.choices, self.slots)
        )
        X = symbols[0] if self.X is self.symbols[0] else self.X[rows]
        return HierarchySample(self.model, X, self.y[rows], symbols, choices, slots)

    @property
    def numbers(self) -> list[int]:
        """Each datum's number among the ``n_data`` of the model; see :mod:`.numbering`."""
        from compsparse.tasks.hierarchy.numbering import numbers

        return numbers(self)

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays hold, those they share counted once."""
        X = () if self.X is self.symbols[0] else (self.X,)
        slots = [level for level in self.slots if 0 not in level.strides]
        return sum(a.nbytes for a in (*X, *self.symbols, *self.choices, *slots))


def small_int(largest: int) -> np.dtype:
    """The smallest signed integer type that holds 0 to ``largest``, and -1.

    >>> small_int(127), small_int(128)
    (dtype('int8'), dtype('int16'))
    """
    return np.min_scalar_type(-largest - 1)
