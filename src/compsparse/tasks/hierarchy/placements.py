"""Where the children of a node stand in its patch: drawn, numbered, and read from their number.

A: digits to the base ``n_empty + 1``, one per child. B: the combinatorial number system, in which the
slots c_1 < … < c_s have number C(c_1, 1) + … + C(c_s, s).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from compsparse.tasks.hierarchy.model import RandomHierarchy
from compsparse.tasks.hierarchy.trees import small_int

_LARGEST_TABLE = 2**16


def draw_slots(model: RandomHierarchy, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Slots of the children of ``shape`` nodes, uniform over the placements, ``(*shape, s)``."""
    s, dtype = model.s, small_int(model.patch - 1)
    if model.n_placements == 1:
        return np.broadcast_to(np.arange(s, dtype=dtype), (*shape, s))
    if model.n_placements <= _LARGEST_TABLE:
        codes = rng.integers(model.n_placements, size=shape, dtype=small_int(model.n_placements - 1))
        return np.take(_table(model), codes, axis=0)
    if model.placement == "A":
        slots = rng.integers(model.n_empty + 1, size=(*shape, s), dtype=dtype)
        slots += starts(model)
        return slots
    keys = rng.random((*shape, model.patch))
    return np.sort(np.argpartition(keys, s, axis=-1)[..., :s].astype(dtype), axis=-1)


def starts(model: RandomHierarchy) -> np.ndarray:
    """First slot of every sub-patch of placement A."""
    return np.arange(0, model.patch, model.n_empty + 1, dtype=small_int(model.patch - 1))


def rank(model: RandomHierarchy, slots: np.ndarray) -> np.ndarray:
    """Number of each placement, from 0 to ``n_placements`` - 1.

    >>> from compsparse.tasks.hierarchy import SparseRandomHierarchy
    >>> rank(SparseRandomHierarchy(n_empty=1, placement="B"), np.array([[0, 1], [0, 2], [2, 3]]))
    array([0, 1, 5])
    """
    places = _places(model)
    values = slots - starts(model) if model.placement == "A" else slots
    return sum((places[j][values[..., j]] for j in range(model.s)), start=places[0][0])


def unrank(model: RandomHierarchy, codes: np.ndarray) -> np.ndarray:
    """Slots of the placements with these numbers."""
    places, rest = _places(model), codes
    slots = np.empty((*codes.shape, model.s), dtype=small_int(model.patch - 1))
    for j in reversed(range(model.s)):
        slots[..., j] = np.searchsorted(places[j], rest, side="right") - 1
        rest = rest - places[j][slots[..., j]]
    return slots + starts(model) if model.placement == "A" else slots


def _places(model: RandomHierarchy) -> list[np.ndarray]:
    """What child j adds to the number of a placement, by its slot (B) or its slot in the sub-patch (A)."""
    base, children = model.n_empty + 1, range(model.s)
    if model.placement == "A":
        values = [[digit * base**j for digit in range(base)] for j in children]
    else:
        values = [[math.comb(slot, j + 1) for slot in range(model.patch)] for j in children]
    return [np.array(v, dtype=integers_up_to(model.n_placements)) for v in values]


def integers_up_to(largest: int) -> type:
    """int64 where it is large enough, Python's integers where it is not."""
    return np.int64 if largest < 2**63 else object


@lru_cache(maxsize=32)
def _table(model: RandomHierarchy) -> np.ndarray:
    return unrank(model, np.arange(model.n_placements))
