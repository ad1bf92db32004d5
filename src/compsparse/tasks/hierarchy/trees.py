"""The latent trees of data: what they hold, the inputs they write, and how inputs are read back.

Rules share no tuple, so an input has one tree or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import brief, check_array, row_text
from compsparse.errors import ConfigError, DataError
from compsparse.tasks.hierarchy.model import EMPTY, RandomHierarchy, check_model
from compsparse.text import in_a_line


@in_a_line
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
        if not isinstance(rows, slice):
            rows = _row_numbers(rows, len(self))
        symbols, choices, slots = (
            tuple(level[rows] for level in levels) for levels in (self.symbols, self.choices, self.slots)
        )
        X = symbols[0] if self.X is self.symbols[0] else self.X[rows]
        return HierarchySample(self.model, X, self.y[rows], symbols, choices, slots)

    @property
    def numbers(self) -> list[int]:
        """Each datum's number among the ``n_data`` of the model; see :mod:`~compsparse.tasks.hierarchy.numbering`."""
        from compsparse.tasks.hierarchy.numbering import numbers

        return numbers(self)

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays hold, those they share counted once."""
        X = () if self.X is self.symbols[0] else (self.X,)
        slots = [level for level in self.slots if 0 not in level.strides]
        return sum(a.nbytes for a in (*X, *self.symbols, *self.choices, *slots))


def _row_numbers(rows: Any, n: int) -> np.ndarray:
    chosen = check_array("rows", rows)
    is_mask = chosen.dtype.kind == "b" and chosen.shape == (n,)
    if not is_mask and (chosen.ndim != 1 or (chosen.dtype.kind not in "iu" and chosen.size)):
        raise ConfigError(f"rows must be a slice or an array of row numbers, got {brief(rows)}")
    if not is_mask and chosen.size and (chosen.min() < -n or chosen.max() >= n):
        raise ConfigError(f"rows must lie between 0 and {n - 1}, got {chosen.min()} to {chosen.max()}")
    return chosen if chosen.size else chosen.astype(np.intp)


def small_int(largest: int) -> np.dtype:
    """The smallest signed integer type that holds 0 to ``largest``, and -1.

    >>> small_int(127), small_int(128)
    (dtype('int8'), dtype('int16'))
    """
    return np.min_scalar_type(-largest - 1)


# ---- from trees to inputs ---------------------------------------------------------------------------


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


# ---- from inputs to trees ---------------------------------------------------------------------------


def read(model: RandomHierarchy, X: Any) -> HierarchySample:
    """The trees of these inputs; DataError names the first row that the model cannot have made.

    >>> model = RandomHierarchy(n_features=4, n_levels=2)
    >>> data = model.sample(10, random_state=0)
    >>> bool((read(model, data.X).y == data.y).all())
    True
    """
    X = check_data(model, X)
    if not len(X):
        raise DataError("there are no data to read: the array has no rows")
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


def _occupied(model: RandomHierarchy, X: np.ndarray) -> np.ndarray:
    """Positions of the symbols of every row, rising."""
    full = X != EMPTY
    n_symbols = model.s**model.n_levels
    _refuse(full.sum(axis=1) != n_symbols, f"does not hold {n_symbols} symbols")
    return np.asarray(np.nonzero(full)[1].reshape(len(X), n_symbols))


def _patches(model: RandomHierarchy, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position of the patch that each tuple stands in, and the slots of its symbols."""
    patches, slots = np.divmod(positions, model.patch)
    apart = (patches != patches[..., :1]).any(axis=-1)
    if model.placement == "A":
        apart |= (slots // (model.n_empty + 1) * (model.n_empty + 1) != sub_patches(model)).any(axis=-1)
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
        raise DataError(f"the model cannot have made {row_text(int(np.argmax(bad)))}: it {problem}")


def sub_patches(model: RandomHierarchy) -> np.ndarray:
    """The first slot of every sub-patch of placement A."""
    return np.arange(0, model.patch, model.n_empty + 1, dtype=small_int(model.patch - 1))


def check_data(model: RandomHierarchy, data: Any) -> np.ndarray:
    """The data as an array of symbols, or an error that says what is wrong with them."""
    check_model(model)
    X = check_array("the data", data)
    if X.ndim != 2 or X.shape[1] != model.n_inputs:
        raise DataError(f"expected data of shape (n, {model.n_inputs}), got {X.shape}")
    if not np.issubdtype(X.dtype, np.integer):
        raise DataError(f"expected symbols as integers, got {X.dtype}; one-hot data must be decoded first")
    bad = np.argwhere((X < EMPTY) | (model.v <= X))
    if len(bad):
        row, slot = bad[0]
        raise DataError(
            f"{row_text(int(row))}, slot {slot} holds {X[row, slot]}: "
            f"symbols are 0 to {model.v - 1}, and {EMPTY} is an empty slot"
        )
    return X
