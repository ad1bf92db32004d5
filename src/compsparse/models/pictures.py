"""Records of what the nodes of a model learned: curves and heat maps over their parents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from compsparse.optional import needs
from compsparse.text import in_a_line, notebook_html

if TYPE_CHECKING:
    import pandas

MOST_PICTURES = 12
"""Curves shown of a node with many parents: those along which it moves most."""


@dataclass(frozen=True)
class Axis:
    """One variable of a picture.

    Attributes:
        ticks: the places along it in the reader's units; numbers, or the names of levels.
    """

    label: str
    ticks: tuple[float, ...] | tuple[str, ...]

    @property
    def has_levels(self) -> bool:
        """Whether its places are levels, not numbers."""
        return isinstance(self.ticks[0], str)


@in_a_line
@dataclass(frozen=True, eq=False)
class Picture:
    """A constituent along one axis (a curve per series) or over two (a heat map).

    Attributes:
        values: (series, places) or (places down, places across).
        points: (rows, 2) where the data lie, for heat maps over numbers.
        value_range: what the axis of values should span, where pictures are to be compared.
        here: a place along the axis and the value there, marked on a curve.
    """

    value_label: str
    across: Axis
    values: np.ndarray
    series: tuple[str, ...] = ("",)
    down: Axis | None = None
    points: np.ndarray | None = None
    value_range: tuple[float, float] | None = None
    note: str = ""
    here: tuple[float | str, float] | None = None

    def frame(self) -> pandas.DataFrame:
        """The picture's table, one row a place."""
        library: Any = needs("pandas", "tables", "report")
        if self.down is None:
            places = [(s, x, v) for s, row in zip(self.series, self.values, strict=True) for x, v in self._along(row)]
            curves: pandas.DataFrame = library.DataFrame(
                places, columns=["series", self.across.label, self.value_label]
            )
            return curves
        cells = [(y, x, v) for y, row in zip(self.down.ticks, self.values, strict=True) for x, v in self._along(row)]
        grid: pandas.DataFrame = library.DataFrame(
            cells, columns=[self.down.label, self.across.label, self.value_label]
        )
        return grid

    def _repr_html_(self) -> str:
        return notebook_html(self, "picture_html")

    def _along(self, row: np.ndarray) -> list[tuple[float | str, float]]:
        return list(zip(self.across.ticks, row.tolist(), strict=True))


@in_a_line
@dataclass(frozen=True, eq=False)
class LearnedNodes:
    """What every node of a model learned.

    Attributes:
        pictures: of every node, by its name.
        ranges: smallest and largest value of every numeric input in the data.
        levels: those of every categorical input.
        n_rows: rows of the data.
        n_networks: networks that predict together; the pictures show one of them.
    """

    pictures: Mapping[str, tuple[Picture, ...]]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    n_rows: int = 0
    n_networks: int = 1
