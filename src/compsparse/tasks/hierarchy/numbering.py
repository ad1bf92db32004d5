"""Numbers for everything that can be counted: the placements of a tuple, and the data of a model.

A placement's number has, for placement A, digits to the base ``n_empty + 1``, one per child; for B it is that of the
combinatorial number system, in which the slots c_1 < … < c_s have number C(c_1, 1) + … + C(c_s, s).

Every datum has a number below ``n_data``, and every such number a datum. It is written with the label in front, then
the nodes of the tree from the top down and from left to right, each a digit ``choice * n_placements + placement`` to
the base ``multiplicity * n_placements``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compsparse.checks import brief, check_unmasked
from compsparse.errors import ConfigError
from compsparse.tasks.hierarchy.model import RandomHierarchy
from compsparse.tasks.hierarchy.trees import HierarchySample, blocks, small_int, sub_patches, write

# ---- placements -------------------------------------------------------------------------------------


def rank(model: RandomHierarchy, slots: np.ndarray) -> np.ndarray:
    """Number of each placement, from 0 to ``n_placements`` - 1.

    >>> from compsparse.tasks.hierarchy import SparseRandomHierarchy
    >>> rank(SparseRandomHierarchy(n_empty=1, placement="B"), np.array([[0, 1], [0, 2], [2, 3]]))
    array([0, 1, 5])
    """
    if model.placement == "A" and model.n_placements < 2**15:
        powers = np.int16(model.n_empty + 1) ** np.arange(model.s, dtype=np.int16)
        return np.asarray(slots.astype(np.int16) @ powers - sub_patches(model).astype(np.int16) @ powers)
    places = _places(model)
    values = slots - sub_patches(model) if model.placement == "A" else slots
    return np.asarray(sum((places[j][values[..., j]] for j in range(model.s)), start=places[0][0]))


def unrank(model: RandomHierarchy, codes: np.ndarray) -> np.ndarray:
    """Slots of the placements with these numbers."""
    places, rest = _places(model), codes
    slots = np.empty((*codes.shape, model.s), dtype=small_int(model.patch - 1))
    for j in reversed(range(model.s)):
        slots[..., j] = np.searchsorted(places[j], rest, side="right") - 1
        rest = rest - places[j][slots[..., j]]
    return slots + sub_patches(model) if model.placement == "A" else slots


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


# ---- data -------------------------------------------------------------------------------------------


def numbers(sample: HierarchySample) -> list[int]:
    """The number of each datum, a Python integer however large.

    >>> data = RandomHierarchy(n_features=4, n_levels=3).datum([0, 77, 65535])
    >>> numbers(data)
    [0, 77, 65535]
    """
    return [int(number) for number in _numbers(sample.model, sample.y, sample.choices, sample.slots)]


def datum(model: RandomHierarchy, numbers: Sequence[int] | np.ndarray) -> HierarchySample:
    """The data with these numbers.

    >>> from compsparse.tasks.hierarchy import SparseRandomHierarchy
    >>> datum(SparseRandomHierarchy(n_features=3, n_levels=1, n_empty=1, rules_seed=1), [0, 1, 2, 3]).X.tolist()
    [[1, -1, 2, -1], [-1, 1, 2, -1], [1, -1, -1, 2], [-1, 1, -1, 2]]
    """
    rest = _checked(model, numbers)
    base, L = model.m * model.n_placements, model.n_levels
    choices, slots = [], []
    for level in range(1, L + 1):
        digits = np.empty((len(rest), model.s ** (L - level)), dtype=integers_up_to(base))
        for j in reversed(range(digits.shape[1])):
            digits[:, j], rest = rest % base, rest // base
        choices.append((digits // model.n_placements).astype(small_int(model.m - 1)))
        slots.append(unrank(model, digits % model.n_placements))
    return write(model, rest.astype(small_int(model.n_labels - 1)), choices, slots)


def keys(
    model: RandomHierarchy, y: np.ndarray, choices: Sequence[np.ndarray], slots: Sequence[np.ndarray]
) -> np.ndarray:
    """A 64-bit integer per datum: its number where that fits, a random linear hash of its tree where not.

    Equal data have equal keys; a given pair of different data shares a hash with a chance below 2^-30.
    """
    if model.n_data < 2**63:
        return _numbers(model, y, choices, slots)
    rng = np.random.default_rng(0)
    total = y.astype(np.uint64) * rng.integers(2**64, dtype=np.uint64)
    for level in (*choices, *slots) if model.n_empty else choices:
        for column in level.reshape(len(y), -1).T:
            total += column.astype(np.uint64) * rng.integers(2**64, dtype=np.uint64)
    return total


def _numbers(
    model: RandomHierarchy, y: np.ndarray, choices: Sequence[np.ndarray], slots: Sequence[np.ndarray]
) -> np.ndarray:
    total: np.ndarray = np.empty(len(y), dtype=integers_up_to(model.n_data))
    for rows in blocks(model, len(y)):
        total[rows] = _block_numbers(model, y[rows], [c[rows] for c in choices], [s[rows] for s in slots])
    return total


def _block_numbers(
    model: RandomHierarchy, y: np.ndarray, choices: Sequence[np.ndarray], slots: Sequence[np.ndarray]
) -> np.ndarray:
    total: np.ndarray = y.astype(integers_up_to(model.n_data))
    base = model.m * model.n_placements
    for chosen, places in zip(reversed(choices), reversed(slots), strict=True):
        digits = chosen.astype(integers_up_to(base))
        if model.n_placements > 1:
            digits = digits * model.n_placements + rank(model, places)
        for j in range(chosen.shape[1]):
            total = total * base + digits[:, j]
    return total


def _checked(model: RandomHierarchy, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
    check_unmasked("the numbers of data", numbers, ConfigError)
    if not isinstance(numbers, np.ndarray):
        listed = numbers if isinstance(numbers, Sequence) and not isinstance(numbers, (str, bytes)) else [numbers]
        values = np.empty(len(listed), dtype=object)
        values[:] = [*listed]
    else:
        values = numbers
    if values.ndim != 1 or not len(values):
        raise ConfigError(f"data are asked for by a list of numbers, got an array of shape {values.shape}")
    n_data = model.n_data
    for value in [values.min(), values.max()] if values.dtype.kind in "iu" else values:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < n_data:
            raise ConfigError(f"the model's data have integer numbers from 0 to n_data - 1, got {brief(value)}")
    return values.astype(integers_up_to(model.n_data))
