"""Inner functions of Kolmogorov's superposition: increasing staircases, steeper with every level.

At level k the line is cut into cells of length base^-k. On the first part of a cell the function hardly rises; on the
rest, the *gap*, it does all of its rising. A sum of such functions, one of each input, then maps every cube of cells
to an interval of its own, and shifted copies have their gaps elsewhere (Kolmogorov 1957; the form with one function,
shifts and rationally independent factors is Sprecher's and Lorentz's).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from compsparse.checks import check_count, check_numbers
from compsparse.errors import ConfigError
from compsparse.sizes import check_work
from compsparse.text import in_a_line

_MOST_CUBES = 2e7
"""Most cubes of a level: their images are sorted to see how far apart they lie."""
_SHARE = np.pi / 6
"""Transcendental, so that no sum of later levels falls on another by arithmetic."""
_FINEST = 1e-13
"""Images nearer than this cannot be told apart in double precision."""


@in_a_line
@dataclass(frozen=True)
class Level:
    """One level of an inner function.

    Attributes:
        n_cells: cells on [0, 1 + 1/base], so that shifted inputs stay inside.
        length: of a cell.
        starts: values of the function at the left ends of the cells.
        rise: by which it rises before the gap of a cell.
        separation: least distance of two cubes' images from one another, left end to left end.
        slope: largest slope of the function.
    """

    n_cells: int
    length: float
    starts: np.ndarray
    rise: float
    separation: float
    slope: float


@dataclass(frozen=True)
class InnerFunction:
    r"""An increasing continuous function for sums :math:`\sum_p \lambda_p \psi(x_p + q a)` that tell cubes apart.

    Attributes:
        n_inputs: number of summands that the images of cubes must differ for.
        n_families: number of shifts; the gaps of different shifts do not overlap.
        base: cells of the next level in a cell; 1 more than a multiple of ``n_families``, so that gaps stay apart at
            every level.
        n_levels: levels of the staircase.
        gap_cells: cells of the next level that make up the gap of a cell: as many of ``base`` as fit between the
            shifts, or fewer.

    As levels go on, the function is Hölder continuous of order log(gap_cells)/log(base) and no better, its derivative
    is 0 outside the gaps, and slopes grow by base/gap_cells from level to level.

    >>> psi = InnerFunction(n_inputs=2, n_families=5, base=11, n_levels=3)
    >>> [round(level.slope, 1) for level in psi.levels]
    [5.4, 29.8, 163.8]
    """

    n_inputs: int
    n_families: int
    base: int
    n_levels: int
    gap_cells: int | None = None

    def __post_init__(self) -> None:
        check_count("n_inputs", self.n_inputs, least=2, most=6)
        check_count("n_families", self.n_families, least=2 * self.n_inputs + 1, most=1000)
        check_count("base", self.base, least=2)
        check_count("n_levels", self.n_levels, most=20)
        if self.base % self.n_families != 1:
            raise ConfigError(
                f"base must be 1 more than a multiple of the {self.n_families} families, such as "
                f"{self.n_families + 1} or {2 * self.n_families + 1}, got {self.base}"
            )
        least, most = (1 if self.n_levels == 1 else 2), self.base // self.n_families
        if most < least:
            raise ConfigError(
                f"a staircase of several levels needs a gap of at least two cells: with {self.n_families} families "
                f"the base must be {2 * self.n_families + 1} or more, got {self.base}"
            )
        cells = most if self.gap_cells is None else check_count("gap_cells", self.gap_cells, least, most)
        object.__setattr__(self, "gap_cells", cells)
        n_cubes = (float(self.base + 1) * float(self.base) ** (self.n_levels - 1)) ** self.n_inputs
        check_work(
            "the number of cubes of the last level", n_cubes, _MOST_CUBES, "ask for fewer levels or a lower base"
        )

    @property
    def gap(self) -> float:
        """The share of a cell in which the function rises."""
        assert self.gap_cells is not None
        return self.gap_cells / self.base

    @property
    def shift(self) -> float:
        """By how much the inputs of one family are ahead of those of the one before."""
        return 1 / (self.n_families * self.base)

    @property
    def factors(self) -> np.ndarray:
        """The lambda_p: powers of a root of 1/2, which no whole numbers relate."""
        return np.asarray(2.0 ** (-np.arange(self.n_inputs) / self.n_inputs))

    @property
    def hoelder_order(self) -> float:
        """The order that the staircase has as its levels go on."""
        assert self.gap_cells is not None
        return float(np.log(self.gap_cells) / np.log(self.base))

    @cached_property
    def _built(self) -> tuple[np.ndarray, np.ndarray, list[Level]]:
        x = y = np.array([0.0, 1 + 1 / self.base])
        levels: list[Level] = []
        for k in range(1, self.n_levels + 1):
            n, length = (self.base + 1) * self.base ** (k - 1), float(self.base) ** -k
            ends = np.arange(n + 1) * length
            values = np.interp(ends, x, y)
            separation = float(np.diff(np.sort(self._images(values[:-1]))).min())
            # images of neighbours may take up some half of the room between them, and cells a tenth of their rise
            rise = min(_SHARE * separation / float(self.factors.sum()), 0.1 * float(np.diff(values).min()))
            if rise < _FINEST:
                raise ConfigError(
                    f"level {k} needs images {rise:.1g} wide, which double precision cannot tell apart: "
                    "ask for fewer levels or a lower base"
                )
            x, y = np.empty(2 * n + 1), np.empty(2 * n + 1)
            x[::2], y[::2] = ends, values
            x[1::2], y[1::2] = ends[:-1] + (1 - self.gap) * length, values[:-1] + rise
            slope = float((np.diff(y) / np.diff(x)).max())
            levels.append(Level(n, length, values[:-1], rise, separation, slope))
        return x, y, levels

    def _images(self, starts: np.ndarray) -> np.ndarray:
        """Left ends of the images of all cubes, the last input running fastest."""
        images = np.zeros(1)
        for factor in self.factors:
            images = (images[:, None] + factor * starts).reshape(-1)
        return images

    @property
    def levels(self) -> list[Level]:
        """The levels, coarsest first."""
        return self._built[2]

    @property
    def knots(self) -> np.ndarray:
        """Where the last level bends."""
        return self._built[0]

    @property
    def n_pieces(self) -> int:
        """Straight pieces of the last level, which is as many ReLU units."""
        return len(self.knots) - 1

    def __call__(self, x: Any) -> np.ndarray:
        """Values on [0, 1 + 1/base]."""
        return np.asarray(np.interp(check_numbers("x", x), self._built[0], self._built[1]))

    def sums(self, X: np.ndarray, family: int) -> np.ndarray:
        """What one outer function reads: the sum over the inputs, for the rows of X."""
        points = check_numbers("X", X, shape=(None, self.n_inputs))
        shift = check_count("family", family, 0, self.n_families - 1) * self.shift
        return np.asarray(sum(f * self(points[:, p] + shift) for p, f in enumerate(self.factors)))

    def lipschitz_parameter(self, x: Any) -> np.ndarray:
        """A parameter of the line in which all shifted copies are Lipschitz continuous with constant 1 + n_families.

        It is the mean of x and of all copies, so none of them can rise faster than that many times the parameter.
        What f gains there in its inner functions it pays itself: it must be read in the new parameter.
        """
        values = check_numbers("x", x)
        copies = sum(self(values + q * self.shift) for q in range(self.n_families))
        return np.asarray((values + copies) / (1 + self.n_families))
