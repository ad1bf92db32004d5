r"""Real functions on bits: f is replaced by its value at the middle of each of \(k^d\) cells, a table on bits.

With \(k = 2^b\) cells a variable the cell of a point takes \(d\,b = d\log_2 k\) bits (\(k\,d\) where each variable is
coded one-hot), and the table has \(2^{db} = k^d\) values (Poggio 2023, Section 6.8; it is a function of so many bits,
not of \(k^d\)). As a function on bits it is a Walsh polynomial, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.boxes import Bounds, read_named_box
from compsparse.certificate import Certificate, Rigour
from compsparse.checks import RandomState, brief, check_count, check_names, check_numbers, generator_from
from compsparse.errors import ConfigError, DataError
from compsparse.representations.boolean.bits import as_bits
from compsparse.representations.boolean.spectra import MOST_SPECTRUM_INPUTS, Spectrum, spectrum
from compsparse.representations.boolean.walsh_polynomial import WalshPolynomial
from compsparse.sizes import check_size

_AT_ONCE = 1 << 18
_CHECKED = 20_000


@dataclass(frozen=True, eq=False)
class BinarisedFunction:
    """A function of d real variables as a table on bits.

    Attributes:
        table: its values at the middles of cells, the first variable slowest: 2^(d n_bits) of them.
        bounds: (low, high) of each variable.
        n_bits: bits of each variable; it has 2^n_bits cells.
        certificate: the largest error over the box.
    """

    table: npt.NDArray[np.float64]
    bounds: tuple[tuple[float, float], ...]
    n_bits: int
    names: tuple[str, ...]
    certificate: Certificate

    @property
    def n_cells(self) -> int:
        """Cells of each variable."""
        return 1 << self.n_bits

    @property
    def bit_names(self) -> tuple[str, ...]:
        """Of the bits, the highest of each variable first."""
        return tuple(f"{name}.{b}" for name in self.names for b in range(self.n_bits))

    def bits(self, X: Any) -> npt.NDArray[np.uint8]:
        """The code of the cell of each point: d n_bits bits.

        >>> halves = binarise(lambda x: x[:, 0], [(0, 1), (0, 1)], 2)
        >>> halves.bits([[0.1, 0.6], [0.9, 0.3]]).tolist()
        [[0, 0, 1, 0], [1, 1, 0, 1]]
        """
        return as_bits(self._rows(X), len(self.bounds) * self.n_bits)

    def one_hot(self, X: Any) -> npt.NDArray[np.uint8]:
        """The same with a bit for each cell of each variable: d 2^n_bits bits, d of them 1."""
        cells = self._cells(X)
        hot = cells[:, :, None] == np.arange(self.n_cells)
        return np.asarray(hot.reshape(len(cells), -1), dtype=np.uint8)

    def __call__(self, X: Any) -> npt.NDArray[np.float64]:
        """The table's value at the cell of each point."""
        return np.asarray(self.table[self._rows(X)])

    @cached_property
    def spectrum(self) -> Spectrum:
        """The Walsh spectrum of the table."""
        return spectrum(self.table, self.bit_names, values="numbers")

    def polynomial(self, n_terms: int | None = None, degree: int | None = None) -> tuple[WalshPolynomial, Certificate]:
        """A Walsh polynomial in the bits, with its largest error as an approximation of the real function.

        All terms give the table exactly. Of those left out, the sizes add to the error.
        """
        polynomial = self.spectrum.polynomial(n_terms=n_terms, degree=degree)
        everything = float(np.abs(self.spectrum.coefficients).sum())
        left_out = max(0.0, everything - float(np.abs(polynomial.coefficients).sum()))
        rounding = len(self.table) * self.spectrum.tolerance
        cells = self.certificate
        return polynomial, Certificate(
            "largest error of the Walsh polynomial",
            cells.value + left_out,
            0.0,
            cells.upper + left_out + rounding,
            cells.rigour,
            cells.assumes,
            f"{cells.obtained}, and the sizes of the terms left out",
        )

    def _cells(self, X: Any) -> npt.NDArray[np.int64]:
        points = check_numbers("X", X, shape=(None, len(self.bounds)))
        low, high = np.array(self.bounds).T
        outside = (points < low) | (points > high)
        if outside.any():
            row, column = np.argwhere(outside)[0].tolist()
            raise DataError(
                f"variable {self.names[column]!r} is {points[row, column]:g}, outside its bounds {self.bounds[column]}"
            )
        cells = ((points - low) / (high - low) * self.n_cells).astype(np.int64)
        return np.asarray(np.minimum(cells, self.n_cells - 1))

    def _rows(self, X: Any) -> npt.NDArray[np.int64]:
        cells = self._cells(X)
        rows = np.zeros(len(cells), dtype=np.int64)
        for column in cells.T:
            rows = rows << self.n_bits | column
        return rows


def binarise(
    f: Callable[[npt.NDArray[np.float64]], Any],
    bounds: Bounds,
    n_bits: int,
    *,
    lipschitz: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
    random_state: RandomState = 0,
) -> BinarisedFunction:
    """A real function on a box as a table on bits, with its error.

    Args:
        f: takes points of shape (m, d) and returns m values; a function graph is such a callable.
        bounds: (low, high) of each variable, in order or by name; one pair for all that are named.
        n_bits: bits of each variable, at most 26 for all of them together.
        lipschitz: for each variable a number L such that f changes by at most L times a step along it. The error is
            then proved to be at most half the sum of L times the width of a cell. Without it the error is estimated at
            random points, and nothing bounds it from above.

    >>> made = binarise(lambda x: x[:, 0] * x[:, 1], [(0, 1), (0, 1)], 3, lipschitz=[1, 1])
    >>> made.table.shape, len(made.bit_names), made.certificate.upper
    ((64,), 6, 0.125)
    """
    if not callable(f):
        raise DataError(f"expected a function of points, got {brief(f)}")
    box, names = read_named_box(bounds, names)
    d = len(box)
    n_bits = check_count("n_bits", n_bits)
    if d * n_bits > MOST_SPECTRUM_INPUTS:
        raise ConfigError(
            f"{d} variables of {n_bits} bits make a table of 2^{d * n_bits} values; at most {MOST_SPECTRUM_INPUTS} "
            "bits fit: give fewer bits to each"
        )
    labels = tuple(f"x{i}" for i in range(d)) if names is None else check_names(names, d, "input")
    check_size("the values of the table", 3.0 * 2 ** (d * n_bits), "give fewer bits")
    table = _tabulated(f, box, n_bits)
    unknown = Certificate("largest error over the box", np.nan, 0.0, np.inf, Rigour.ESTIMATED)
    made = BinarisedFunction(table, box, n_bits, labels, unknown)
    certificate = (
        _estimated(f, made, generator_from(random_state)) if lipschitz is None else _proved(box, n_bits, lipschitz)
    )
    return BinarisedFunction(table, box, n_bits, labels, certificate)


def _tabulated(f: Callable[..., Any], box: tuple[tuple[float, float], ...], n_bits: int) -> npt.NDArray[np.float64]:
    low, high = np.array(box).T
    d, k = len(box), 1 << n_bits
    table = np.empty(k**d)
    shifts = n_bits * np.arange(d)[::-1]
    for start in range(0, len(table), _AT_ONCE):
        rows = np.arange(start, min(start + _AT_ONCE, len(table)))
        cells = rows[:, None] >> shifts & (k - 1)
        table[rows] = _values(f, low + (cells + 0.5) / k * (high - low))
    return table


def _values(f: Callable[..., Any], points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return check_numbers("the function's answer", f(points), shape=(len(points),))


def _proved(box: tuple[tuple[float, float], ...], n_bits: int, lipschitz: Sequence[float]) -> Certificate:
    L = check_numbers("lipschitz", lipschitz, shape=(len(box),), error=ConfigError)
    if (L < 0).any():
        raise ConfigError("Lipschitz constants must not be negative")
    low, high = np.array(box).T
    bound = float(L @ (high - low)) / 2 ** (n_bits + 1)  # a cell's middle is at most half its width away
    return Certificate(
        "largest error over the box",
        bound,
        0.0,
        bound,
        Rigour.PROVED,
        ("the Lipschitz constants hold",),
        "half a cell's width times the Lipschitz constants",
    )


def _estimated(f: Callable[..., Any], made: BinarisedFunction, rng: np.random.Generator) -> Certificate:
    low, high = np.array(made.bounds).T
    points = low + rng.random((_CHECKED, len(low))) * (high - low)
    error = float(np.abs(_values(f, points) - made(points)).max())
    return Certificate(
        "largest error over the box", error, error, np.inf, Rigour.ESTIMATED, (), f"{_CHECKED:,} random points"
    )
