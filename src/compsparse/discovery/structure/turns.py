"""The table of turns: which inputs change how a pair of inputs acts, the one record that structure is read off.

An input k *turns* a pair (i, j) when the direction of (f_i, f_j) changes with x_k. Strong modules, conditional modules
and kinds follow from the table; queries, data and truth tables differ in where it comes from. Each triple has one of
three answers, because a turn that was not seen may be too small to be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from compsparse.discovery.structure.closure import close
from compsparse.discovery.structure.forest import Members
from compsparse.graph.modules import ModuleTree


class TurnAnswer(Enum):
    """Whether an input turns a pair."""

    YES = "turned"
    NO = "not turned"
    UNKNOWN = "cannot be told"


@dataclass(frozen=True, eq=False, repr=False)
class TurnTable:
    """For every pair of inputs and every third one, how far it turns the pair, and what would have been seen.

    Attributes:
        names: the inputs that act; all arrays are (inputs, inputs, inputs), the turning input last.
        sizes: the turn that was seen, in units of the largest that passes for none.
        unseen: the smallest turn that would have been seen, as a share of the largest that the third input could make.
        visible: share up to which a turn would have been seen well enough to say that there is none.
    """

    names: tuple[str, ...]
    sizes: np.ndarray
    unseen: np.ndarray
    visible: float = 1.0

    @cached_property
    def turned(self) -> np.ndarray:
        """The triples whose turn was seen."""
        return np.asarray(self.sizes > 1)

    @cached_property
    def hidden(self) -> np.ndarray:
        """The triples of which neither answer is known."""
        return np.asarray(~self.turned & (self.unseen > self.visible) & three_inputs(len(self.names)))

    @cached_property
    def surely(self) -> ModuleTree:
        """The strong modules that stand even if every triple that cannot be told is turned."""
        return close(self.turned | self.hidden, self.names).tree

    def answer(self, one: str, other: str, by: str) -> TurnAnswer:
        """Whether ``by`` turns the pair of ``one`` and ``other``."""
        place = tuple(self.names.index(name) for name in (one, other, by))
        if self.turned[place]:
            return TurnAnswer.YES
        return TurnAnswer.UNKNOWN if self.hidden[place] else TurnAnswer.NO

    def turning(self, members: Iterable[str], answer: TurnAnswer = TurnAnswer.YES) -> Members:
        """The inputs outside a set that turn some pair inside it; or of which no better answer is known."""
        chosen = set(members)
        is_inside = np.array([name in chosen for name in self.names])
        inside, outside = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
        table = {TurnAnswer.YES: self.turned, TurnAnswer.UNKNOWN: self.hidden}[answer]
        seen = table[np.ix_(inside, inside, outside)].any(axis=(0, 1))
        return frozenset(self.names[k] for k in outside[seen])

    def between(self, parts: Iterable[Members], names: tuple[str, ...]) -> TurnTable:
        """The table between disjoint groups, each of which acts through one number: every member tells of it."""
        index = [[self.names.index(name) for name in sorted(part)] for part in parts]
        sizes, unseen = np.zeros((2, *3 * [len(index)]))
        for a, b, c in np.ndindex(sizes.shape):
            if len({a, b, c}) == 3:
                block = np.ix_(index[a], index[b], index[c])
                sizes[a, b, c], unseen[a, b, c] = self.sizes[block].max(), self.unseen[block].min()

        return TurnTable(names, sizes, unseen, self.visible)

    def rows(self) -> list[dict[str, Any]]:
        """One row per pair and turning input, as plain data."""
        d = len(self.names)
        return [
            {
                "pair": [self.names[i], self.names[j]],
                "by": self.names[k],
                "size": float(self.sizes[i, j, k]),
                "unseen": float(self.unseen[i, j, k]),
                "answer": self.answer(self.names[i], self.names[j], self.names[k]).value,
            }
            for i in range(d)
            for j in range(i + 1, d)
            for k in range(d)
            if k not in (i, j)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data, to four digits; what is infinite or larger than is told apart is the largest."""
        arrays = {"sizes": self.sizes, "unseen": self.unseen}
        plain = {name: [float(f"{v:.4g}") for v in _capped(a).ravel().tolist()] for name, a in arrays.items()}
        return {"names": list(self.names), "visible": self.visible, **plain}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TurnTable:
        """Reads what :meth:`to_dict` gave."""
        d = len(data["names"])
        sizes, unseen = (np.array(data[key], dtype=float).reshape(d, d, d) for key in ("sizes", "unseen"))
        return cls(tuple(str(name) for name in data["names"]), sizes, unseen, float(data["visible"]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TurnTable) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        d = len(self.names)
        counts = {"turned": int(self.turned.sum()) // 2, "cannot be told": int(self.hidden.sum()) // 2}
        total = d * (d - 1) * (d - 2) // 2
        return f"<TurnTable of {d} inputs: {counts['turned']} of {total} turned, {counts['cannot be told']} unknown>"


_LARGEST = 1e9


def _capped(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.minimum(np.nan_to_num(values, nan=_LARGEST, posinf=_LARGEST), _LARGEST))


def three_inputs(d: int) -> np.ndarray:
    """Triples of three different inputs."""
    i, j, k = np.ogrid[:d, :d, :d]
    return np.asarray((i != j) & (j != k) & (i != k))


Tables = Mapping[str, TurnTable]
"""The table of every output for which turns were measured."""
