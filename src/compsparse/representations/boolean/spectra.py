r"""Spectra: the Walsh coefficients of a function on the Boolean cube, and what can be read off them.

A function of n bits is \(\sum_S \hat f(S)\,\chi_S\) with \(\hat f(S) = 2^{-n}\sum_x f(x)\chi_S(x)\), exactly
(O'Donnell, *Analysis of Boolean functions*; Poggio 2023, Section 6.7). A Boolean function is taken as
\((-1)^{f(x)}\), so that true is -1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.checks import check_array, check_choice, check_count, check_list, check_names, check_number, input_names
from compsparse.errors import ConfigError, DataError
from compsparse.representations.boolean.bits import mask_of, members_of, ones
from compsparse.representations.boolean.walsh import WalshPolynomial, walsh_transform
from compsparse.sizes import check_size
from compsparse.text import in_a_line

MOST_SPECTRUM_INPUTS = 26
"""A table of 26 inputs has 67 million rows."""
_BLOCK = 1 << 16


@in_a_line
@dataclass(frozen=True, eq=False)
class Spectrum:
    """All 2^n Walsh coefficients of a function.

    Attributes:
        sums: 2^n times the coefficients; whole numbers, and exact, where the function has whole values.
        is_boolean: whether the function was given by truth values, and taken as 1 for false and -1 for true.
        mean_square: of the function over all inputs, taken from the table; Parseval says that it is the energy.
        names: of the inputs.
    """

    sums: npt.NDArray[Any]
    is_boolean: bool
    mean_square: float
    names: tuple[str, ...]

    @property
    def n_inputs(self) -> int:
        """n."""
        return len(self.names)

    @property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """One for each set of inputs, in the order of rows of a truth table."""
        return np.asarray(self.sums / len(self.sums), dtype=float)

    def coefficient(self, members: Iterable[int | str]) -> float:
        """Of one set of inputs, by name or position.

        >>> spectrum([0, 0, 0, 1]).coefficient(["x0", "x1"])
        -0.5
        """
        given = check_list("members", members)
        positions = [self.names.index(m) if isinstance(m, str) and m in self.names else m for m in given]
        for i in positions:
            if isinstance(i, str):
                raise ConfigError(f"the function has no input {i!r}; it has {', '.join(self.names)}")
            check_count("a position", i, least=0, most=self.n_inputs - 1)
        mask = mask_of({int(i) for i in positions}, self.n_inputs)
        return float(self.sums[mask]) / len(self.sums)

    @property
    def tolerance(self) -> float:
        """Size below which a coefficient counts as zero: none for whole values, else the transform's rounding."""
        if self.sums.dtype.kind == "i":
            return 0.0
        rounding = (self.n_inputs + 1) * float(np.finfo(self.sums.dtype).eps)
        return rounding * float(np.sqrt(self.mean_square))

    # ---- figures ---------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> npt.NDArray[np.float64]:
        """The energy at each degree from 0 to n: sums of squared coefficients."""
        return self._by_degree(self._energies)

    @cached_property
    def energy(self) -> float:
        """The sum of all squared coefficients."""
        return float(self.weights.sum())

    @property
    def parseval_gap(self) -> float:
        """By how much the energy differs from the mean square of the function: rounding alone."""
        return abs(self.energy - self.mean_square)

    @property
    def mean(self) -> float:
        """The coefficient of the empty set."""
        return float(self.sums[0]) / len(self.sums)

    @property
    def variance(self) -> float:
        """Energy above degree 0."""
        return float(self.weights[1:].sum())

    @cached_property
    def sparsity(self) -> int:
        """How many coefficients are not zero."""
        return int(self._counts.sum())

    @property
    def degree(self) -> int:
        """The largest set with a coefficient that is not zero; not the degree of the polynomial over 0 and 1 mod 2."""
        return int(np.max(np.flatnonzero(self._counts), initial=0))

    @cached_property
    def influences(self) -> npt.NDArray[np.float64]:
        """The energy of the sets that hold each input: for a Boolean function, how often flipping it flips the value.

        >>> spectrum([0, 0, 0, 1, 0, 1, 1, 1]).influences.tolist()  # the majority of three
        [0.5, 0.5, 0.5]
        """
        n_high = max(0, self.n_inputs - _BLOCK.bit_length() + 1)
        totals, low = [], np.zeros(self.n_inputs - n_high)
        for _, sums in self._blocks():
            block = self._energies(sums)
            totals.append(block.sum())
            low += _by_input(block)
        return np.concatenate([_by_input(np.array(totals)), low])

    @property
    def total_influence(self) -> float:
        """The sum of the influences; for a Boolean function its average sensitivity."""
        return float(np.arange(self.n_inputs + 1) @ self.weights)

    def stability(self, rho: float) -> float:
        """E f(x)f(y) for inputs x and y whose bits have correlation rho: the sum of rho^degree weights."""
        rho = check_number("rho", rho, least=-1, most=1)
        return float(rho ** np.arange(self.n_inputs + 1) @ self.weights)

    def noise_sensitivity(self, delta: float) -> float:
        """For a Boolean function, how often its value changes when each bit is flipped with probability delta."""
        delta = check_number("delta", delta, least=0, most=1)
        return (self.energy - self.stability(1 - 2 * delta)) / 2

    def degree_of_energy(self, share: float) -> int:
        """The least degree up to which lies this share of the energy."""
        share = check_number("share", share, least=0, most=1)
        return int(np.argmax(np.cumsum(self.weights) >= share * self.energy * (1 - 1e-12)))

    # ---- polynomials -----------------------------------------------------------------------------

    def polynomial(self, *, degree: int | None = None, n_terms: int | None = None) -> WalshPolynomial:
        """The function as a polynomial without its zero terms; up to a degree, or the largest terms alone.

        >>> print(spectrum([0, 0, 0, 1]).polynomial())
        0.5 + 0.5 x1 + 0.5 x0 - 0.5 x0 x1
        """
        kept = np.flatnonzero(np.abs(self.sums) > self.tolerance * len(self.sums))
        if degree is not None:
            kept = kept[ones(kept) <= check_count("degree", degree, least=0)]
        if n_terms is not None and check_count("n_terms", n_terms, least=0) < len(kept):
            kept = np.sort(kept[np.argsort(-np.abs(self.sums[kept]), kind="stable")[:n_terms]])
        return WalshPolynomial(self.n_inputs, kept.astype(np.uint64), self.sums[kept] / len(self.sums))

    def largest(self, n_terms: int = 10) -> list[tuple[tuple[str, ...], float]]:
        """The largest coefficients with the inputs of their sets."""
        terms = self.polynomial(n_terms=n_terms).largest(n_terms)
        return [
            (tuple(self.names[i] for i in members_of(mask, self.n_inputs)), value)
            for mask, value in zip(terms.sets.tolist(), terms.coefficients.tolist(), strict=True)
        ]

    def __str__(self) -> str:
        kind = "Boolean function" if self.is_boolean else "function"
        return (
            f"{kind} of {self.n_inputs} bits: degree {self.degree}, {self.sparsity:,} of {len(self.sums):,} "
            f"coefficients not zero, total influence {self.total_influence:.4g}"
        )

    # ---- passes over the coefficients, a block at a time -------------------------------------------

    def _blocks(self) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Blocks of sums, with the number of inputs that all sets of a block share."""
        for start in range(0, len(self.sums), _BLOCK):
            yield (start // _BLOCK).bit_count(), self.sums[start : start + _BLOCK]

    def _energies(self, sums: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return np.square(sums / len(self.sums), dtype=float)

    def _by_degree(self, of: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
        """The total of something over the coefficients of each degree."""
        found = np.zeros(self.n_inputs + 1)
        for high, sums in self._blocks():
            low = np.bincount(_levels(len(sums)), weights=of(sums))
            found[high : high + len(low)] += low
        return found

    @cached_property
    def _counts(self) -> npt.NDArray[np.int64]:
        """Coefficients of each degree that are not zero."""
        zero = self.tolerance * len(self.sums)
        return self._by_degree(lambda sums: np.abs(sums) > zero).astype(np.int64)


def spectrum(table: npt.ArrayLike, names: Sequence[str] | None = None, *, values: str = "auto") -> Spectrum:
    """The Walsh spectrum of a function given by its 2^n values.

    Args:
        table: shape (2^n,), n at most 26, rows in the order of ``itertools.product``.
        names: of the inputs; x0, x1, … by default.
        values: "truth" takes 0 as 1 and 1 as -1, "numbers" takes values as they are, "auto" takes Booleans and
            whole numbers 0 and 1 as truth values and all else as numbers.

    Raises:
        DataError: no table of 2^n finite numbers, or other values than 0 and 1 where truth values were meant.

    >>> print(spectrum([0, 0, 0, 1, 0, 1, 1, 1]))
    Boolean function of 3 bits: degree 3, 4 of 8 coefficients not zero, total influence 1.5
    """
    found = check_array("the table", table)
    if found.ndim != 1 or len(found) < 2 or len(found) & (len(found) - 1):
        raise DataError(f"a spectrum needs a table of shape (2^n,) with n >= 1, got {found.shape}")
    n_inputs = len(found).bit_length() - 1
    if n_inputs > MOST_SPECTRUM_INPUTS:
        raise DataError(f"a table of {n_inputs} inputs is too large: at most {MOST_SPECTRUM_INPUTS} fit")
    if found.dtype.kind not in "biuf":
        raise DataError(f"the table must hold numbers, got values of type {found.dtype}")
    check_size("the coefficients of the table", 2.0 * len(found), "give a table of fewer inputs")
    labels = input_names(n_inputs) if names is None else check_names(names, n_inputs, "input")
    is_boolean = is_truth(found, values)
    if is_boolean:
        signs = found.astype(np.int32)
        signs *= -2  # in place: a second array would double the memory
        signs += 1
        return Spectrum(walsh_transform(signs, overwrite=True), True, 1.0, labels)
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise DataError("the table holds NaN or infinite values")
    sums = walsh_transform(found)
    mean_square = float(np.mean(np.square(found, dtype=float)))
    return Spectrum(sums, False, mean_square, labels)


def is_truth(found: npt.NDArray[Any], values: str) -> bool:
    """Whether values are truth values, as :func:`spectrum` takes them."""
    check_choice("values", values, ("auto", "truth", "numbers"))
    if values == "numbers":
        return False
    are_bits = found.dtype.kind == "b" or bool(((found == 0) | (found == 1)).all())
    if values == "truth" and not are_bits:
        raise DataError("truth values must be 0 and 1 alone")
    return are_bits and (values == "truth" or found.dtype.kind in "biu")


@lru_cache(maxsize=32)
def _levels(size: int) -> npt.NDArray[np.uint8]:
    return ones(np.arange(size))


def _by_input(energy: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The sum over sets that hold each input, by folding one input after the other."""
    found = []
    while len(energy) > 1:
        without, with_it = energy.reshape(2, -1)
        found.append(with_it.sum())
        energy = without + with_it
    return np.array(found)
