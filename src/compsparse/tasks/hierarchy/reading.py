"""From inputs back to their trees: rules share no tuple, so an input has one tree or none."""

from __future__ import annotations

from typing import Any

import numpy as np

from compsparse.errors import DataError
from compsparse.tasks.hierarchy.model import EMPTY, RandomHierarchy
from compsparse.tasks.hierarchy.placements import starts
from compsparse.tasks.hierarchy.trees import HierarchySample, small_int
from compsparse.tasks.hierarchy.writing import write


def read(model: RandomHierarchy, X: Any) -> HierarchySample:
    """The trees of these inputs; DataError names the first row that the model cannot have made.

    >>> model = RandomHierarchy(n_features=4, n_levels=2)
    >>> data = model.sample(10, random_state=0)
    >>> bool((read(model, data.X).y == data.y).all())
    True
    """
    X = _checked(model, X)
    positions = _occupied(model, X)
    symbols = np.take_along_axis(X, positions, axis=1)
    choices, slots = [], []
    for level in range(1, model.n_levels + 1):
        patches, places = _patches(model, positions.reshape(len(X), -1, model.s))
        symbols, chosen = _parents(model, level, symbols.reshape(len(X), -1, model.s))
        choices.append(chosen.astype(small_int(model.m - 1)))
        slots.append(places.astype(small_int(model.patch - 1)))
        positions = patches
    return write(model, symbols[:, 0].astype(small_int(model.n_labels - 1)), choices, slots)


def _checked(model: RandomHierarchy, X: Any) -> np.ndarray:
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != model.n_inputs or not len(X) or X.dtype.kind not in "iu":
        raise DataError(
            f"the model's inputs are rows of {model.n_inputs} integers, got {X.dtype} values of shape {X.shape}"
        )
    _refuse(((X < EMPTY) | (model.v <= X)).any(axis=1), f"holds values other than {EMPTY} to {model.v - 1}")
    return X


def _occupied(model: RandomHierarchy, X: np.ndarray) -> np.ndarray:
    """Positions of the symbols of every row, rising."""
    full = X != EMPTY
    n_symbols = model.s**model.n_levels
    _refuse(full.sum(axis=1) != n_symbols, f"does not hold {n_symbols} symbols")
    return np.nonzero(full)[1].reshape(len(X), n_symbols)


def _patches(model: RandomHierarchy, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position of the patch that each tuple stands in, and the slots of its symbols."""
    patches, slots = np.divmod(positions, model.patch)
    apart = (patches != patches[..., :1]).any(axis=-1)
    if model.placement == "A":
        apart |= (slots // (model.n_empty + 1) * (model.n_empty + 1) != starts(model)).any(axis=-1)
    _refuse(apart.any(axis=1), "has symbols where no placement puts them")
    return patches[..., 0], slots


def _parents(model: RandomHierarchy, level: int, tuples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The symbol that each tuple is written for, and which of its synonyms the tuple is."""
    digits = model.v ** np.arange(model.s - 1, -1, -1)
    codes, known = tuples @ digits, model.rules[level - 1].reshape(-1, model.s) @ digits
    order = np.argsort(known)
    found = order[np.searchsorted(known, codes, sorter=order).clip(max=len(known) - 1)]
    _refuse((known[found] != codes).any(axis=1), f"has a tuple that no rule of level {level} writes")
    return np.divmod(found, model.m)


def _refuse(bad: np.ndarray, problem: str) -> None:
    if bad.any():
        raise DataError(f"the model cannot have made row {int(np.argmax(bad))}: it {problem}")
