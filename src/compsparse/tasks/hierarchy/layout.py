"""Where the nodes of one datum's tree are drawn: columns of slots, and levels above them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compsparse.errors import DataError
from compsparse.tasks.hierarchy.model import EMPTY
from compsparse.tasks.hierarchy.trees import HierarchySample

_MOST_SLOTS = 40  # of a datum whose empty slots are drawn one by one


@dataclass(frozen=True)
class DatumLayout:
    """One datum on a grid.

    Attributes:
        symbols: for levels 0 to L, from left to right.
        columns: for each column of the bottom row, its symbol (or EMPTY) and how many slots it stands for.
        across: for levels 0 to L, the column above which each node stands.
        empty: for levels 1 to L - 1 (at index level - 1), the columns above which empty nodes stand, if drawn.
        rules: for levels 1 to L (at index level - 1), one sentence a node.
    """

    symbols: tuple[tuple[int, ...], ...]
    columns: tuple[tuple[int, int], ...]
    across: tuple[tuple[float, ...], ...]
    empty: tuple[tuple[float, ...], ...]
    rules: tuple[tuple[str, ...], ...]

    @property
    def n_levels(self) -> int:
        return len(self.rules)

    def children(self, node: int) -> range:
        """Numbers of a node's children in the level below."""
        s = len(self.symbols[0]) // len(self.symbols[1])
        return range(node * s, (node + 1) * s)

    def name(self, level: int) -> str:
        """What a level is called beside its row."""
        return {0: "input", self.n_levels: "label"}.get(level, f"level {level}")


def lay_out(sample: HierarchySample, i: int, one_by_one: bool | None = None) -> DatumLayout:
    """The datum of row i; runs of empty slots share a column, by default if there are many slots."""
    if not 0 <= i < len(sample):
        raise DataError(f"there is no datum {i}: the sample has {len(sample)}, numbered from 0")
    symbols = tuple(tuple(int(a) for a in level[i]) for level in sample.symbols)
    if one_by_one is None:
        one_by_one = sample.model.n_inputs <= _MOST_SLOTS
    columns, of_symbol = _columns(sample.X[i], one_by_one)
    across = _evenly(sample, i) if one_by_one else _above_children(of_symbol, sample.model.s, sample.model.n_levels)
    empty = _between(across, sample.model.patch) if one_by_one else ((),) * (sample.model.n_levels - 1)
    return DatumLayout(symbols, columns, across, empty, _sentences(sample, i))


def _columns(row: np.ndarray, one_by_one: bool) -> tuple[tuple[tuple[int, int], ...], list[float]]:
    columns: list[tuple[int, int]] = []
    of_symbol: list[float] = []
    for symbol in row.tolist():
        if symbol == EMPTY and not one_by_one and columns and columns[-1][0] == EMPTY:
            columns[-1] = (EMPTY, columns[-1][1] + 1)
            continue
        if symbol != EMPTY:
            of_symbol.append(float(len(columns)))
        columns.append((symbol, 1))
    return tuple(columns), of_symbol


def _evenly(sample: HierarchySample, i: int) -> tuple[tuple[float, ...], ...]:
    """Every node above the middle of the slots that it stands for."""
    patch, L = sample.model.patch, sample.model.n_levels
    position = np.zeros(1, dtype=int)
    across = [((patch**L - 1) / 2,)]
    for level in range(L - 1, -1, -1):
        position = (position[:, None] * patch + sample.slots[level][i]).ravel()
        across.insert(0, tuple(((position + 0.5) * patch**level - 0.5).tolist()))
    return tuple(across)


def _between(across: tuple[tuple[float, ...], ...], patch: int) -> tuple[tuple[float, ...], ...]:
    """Where the nodes of the inner levels that are empty would stand."""
    L = len(across) - 1
    whole = [[(k + 0.5) * patch**level - 0.5 for k in range(patch ** (L - level))] for level in range(L)]
    return tuple(tuple(x for x in whole[level] if x not in across[level]) for level in range(1, L))


def _above_children(of_symbol: list[float], s: int, n_levels: int) -> tuple[tuple[float, ...], ...]:
    across = [of_symbol]
    for _ in range(n_levels):
        below = across[-1]
        across.append([(below[k] + below[k + s - 1]) / 2 for k in range(0, len(below), s)])
    return tuple(map(tuple, across))


def _sentences(sample: HierarchySample, i: int) -> tuple[tuple[str, ...], ...]:
    """What each node is written as, by which synonym, and where."""
    model, found = sample.model, []
    for level in range(1, model.n_levels + 1):
        arrays = (sample.symbols[level], sample.choices[level - 1], sample.slots[level - 1])
        nodes = zip(*(a[i].tolist() for a in arrays), strict=True)
        found.append(
            tuple(
                _sentence(model.rules[level - 1][a, r].tolist(), a, r, slots, model.n_empty == 0)
                for a, r, slots in nodes
            )
        )
    return tuple(found)


def _sentence(written: list[int], symbol: int, choice: int, slots: list[int], dense: bool) -> str:
    sentence = f"{symbol} → {' '.join(map(str, written))} (synonym {choice})"
    if dense:
        return sentence
    return f"{sentence}, in slots {' '.join(map(str, slots))}"
