"""From labels, choices and slots to the symbols of every level and the input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from compsparse.errors import ConfigError
from compsparse.tasks.hierarchy.model import EMPTY, RandomHierarchy
from compsparse.tasks.hierarchy.trees import HierarchySample, small_int


def write(
    model: RandomHierarchy, y: np.ndarray, choices: Sequence[np.ndarray], slots: Sequence[np.ndarray]
) -> HierarchySample:
    """The data whose trees have these labels, choices and slots."""
    n, L = len(y), model.n_levels
    symbols = [blank(model, n, model.s ** (L - level)) for level in range(L)]
    X = blank(model, n, model.n_inputs) if model.n_empty else symbols[0]
    for rows in blocks(model, n):
        written = expand(model, y[rows], [level[rows] for level in choices])
        for whole, part in zip(symbols, written[:L], strict=True):
            whole[rows] = part
        if model.n_empty:
            embed(model, written[0], [level[rows] for level in slots], out=X[rows])
    return HierarchySample(model, X, y, (*symbols, y[:, None]), tuple(choices), tuple(slots))


def expand(model: RandomHierarchy, y: np.ndarray, choices: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Symbols of levels 0 to L."""
    symbols = [y[:, None]]
    for level in range(model.n_levels, 0, -1):
        codes = np.multiply(symbols[0], model.m, dtype=np.intp)
        codes += choices[level - 1]
        tuples = model._tuples[level - 1].take(codes, axis=0, mode="clip")
        symbols.insert(0, tuples.reshape(len(y), -1))
    return symbols


def embed(model: RandomHierarchy, leaves: np.ndarray, slots: Sequence[np.ndarray], out: np.ndarray) -> None:
    """Writes the symbols of level 0 at their slots of ``out``, and EMPTY elsewhere."""
    if not model.n_empty:
        out[...] = leaves
        return
    # a row's number is the position of its root among roots, so level 0 gets positions in the flat input
    positions = np.arange(len(leaves))[:, None]
    for level in reversed(slots):
        positions = (positions[:, :, None] * model.patch + level).reshape(len(leaves), -1)
    out.fill(EMPTY)
    out.reshape(-1)[positions.ravel()] = leaves.ravel()


def blank(model: RandomHierarchy, n: int, width: int) -> np.ndarray:
    """Room for n rows of symbols of the levels below the label."""
    try:
        return np.empty((n, width), dtype=small_int(model.v - 1))
    except (MemoryError, ValueError, OverflowError):
        raise ConfigError(f"{n} data of {model.n_inputs} slots do not fit in memory: ask for fewer data") from None


def blocks(model: RandomHierarchy, n: int) -> Iterator[slice]:
    """Rows to work on at once, so that what is computed on the way stays in the processor's cache."""
    size = max(1, 2**15 // model.s**model.n_levels)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
