"""BlockAnswers at designed rows: what both ways of asking share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from compsparse.errors import ConfigError, DataError
from compsparse.models.influence.estimates import block_means, share
from compsparse.models.influence.questioned import Questioned
from compsparse.models.influence.record import Importance, PairStrength
from compsparse.tables.columns import Table

FEWEST_BLOCKS, MOST_BLOCKS = 64, 128
"""Independent blocks of rows, whose differences give the errors."""
FOR_PAIRS = 1 / 3
"""Share of the answers that pairs get."""
TWICE = 8
"""One row in so many is asked twice, to see noise."""
SMALLEST = 1e-3
"""Total share of an input below which its pairs are not asked."""
ROWS_PER_CALL = 65_536


@dataclass(eq=False)
class BlockAnswers:
    """Asks a subject at arrays of columns, and counts.

    Attributes:
        n_blocks: into which the rows of every question fall, in order.
    """

    subject: Questioned
    names: Sequence[str] | None
    n_blocks: int
    n_evaluations: int = 0
    n_lost: int = 0

    def __call__(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """(rows, outputs), with NaN in every row of which an answer is not finite."""
        names = None if self.names is None else tuple(self.names)
        n = len(columns[0])
        starts = range(0, n, ROWS_PER_CALL)
        parts = [tuple(column[i : i + ROWS_PER_CALL] for column in columns) for i in starts]
        values = np.concatenate([self.subject.answers(Table(names, part, len(part[0]))) for part in parts])
        self.n_evaluations += n
        bad = ~np.isfinite(values).all(1)
        self.n_lost += int(bad.sum())
        if 2 * self.n_lost > self.n_evaluations:
            raise DataError("most of the function's answers are not finite: shrink the box, or leave out such rows")
        values[bad] = np.nan
        return values

    def means(self, values: np.ndarray) -> np.ndarray:
        """Means of the blocks."""
        return block_means(values, self.n_blocks)


def spread_of(values: np.ndarray) -> float:
    """Standard deviation of all outputs together, 1 where there is none; squares of large answers do not overflow."""
    unit = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    return unit * float(np.sqrt(np.nanvar(values / unit, axis=0).sum())) or 1.0


@dataclass(frozen=True, eq=False)
class Singles:
    """Means of blocks for every set of inputs: numerators of first and of total shares, with what is zero on average.

    Attributes:
        scale: of the answers, by which they were divided.
        variance: of the answers without their noise, the denominator of all.
        noise: variance of the noise.
    """

    scale: float
    first: Mapping[str, np.ndarray]
    total: Mapping[str, np.ndarray]
    variance: np.ndarray
    noise: np.ndarray
    controls: Mapping[str, tuple[np.ndarray, ...]]

    def importance(self, name: str, members: tuple[str, ...]) -> Importance:
        """The shares of one input or module."""
        kept = np.isfinite(self.variance + self.first[name] + self.total[name])
        controls = tuple(c[kept] for c in self.controls.get(name, ()))
        variance = self.variance[kept]
        first, total = (share(values[name][kept], variance, controls) for values in (self.first, self.total))
        return Importance(name, members, *first, *total)

    def pair(self, pair: tuple[str, str], squares: np.ndarray) -> PairStrength:
        """The strength of a pair from the mean squares of its mixed differences."""
        kept = np.isfinite(self.variance + squares)
        strength, error = share(squares[kept] / 4 - self.noise[kept], self.variance[kept])
        return PairStrength(pair, strength, error)


def pairs_worth_asking(inputs: Sequence[Importance], most: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Pairs of inputs that act, those that can be strongest first, and those for which there is no room.

    A pair is no stronger than the smaller total share of the two.
    """
    acting = [i for i in inputs if i.total > max(2 * i.total_error, SMALLEST)]
    ranked = sorted(combinations(acting, 2), key=lambda pair: -min(p.total for p in pair))
    names = [(a.name, b.name) for a, b in ranked]
    return names[:most], names[most:]


def check_varies(variance: np.ndarray) -> None:
    """Refuses a function that is constant: there is nothing to share out."""
    if not np.nanmean(variance) > 0:
        raise DataError("the function gives the same answer everywhere, so no input has an importance")


def blocks_of(budget: float, n_questions: int) -> tuple[int, int]:
    """Rows of a block, a power of two as quasi-random points need it, and the number of blocks.

    Args:
        n_questions: answers that each row needs, beside those asked twice.

    Raises:
        ConfigError: the budget is too small.
    """

    def cost(size: int) -> int:
        return size * n_questions + len(range(0, size, TWICE))

    if budget < FEWEST_BLOCKS * cost(1):
        needed = int(np.ceil(FEWEST_BLOCKS * cost(1) / (1 - FOR_PAIRS)))
        raise ConfigError(f"n_evaluations must be at least {needed:,} for so many inputs and modules")
    size = 1
    while budget >= FEWEST_BLOCKS * cost(2 * size):
        size *= 2
    return size, min(int(budget / cost(size)), MOST_BLOCKS)
