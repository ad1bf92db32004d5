r"""The Walsh transform: \(\sum_x f(x)\,\chi_S(x)\) for every set S of inputs at once, with \(n 2^n\) additions.

Inputs are 0 and 1, and \(\chi_S(x) = (-1)^{\sum_{i\in S} x_i}\): with \(\pm1\) for the bits it is the product of those
in S. A set is a row number like an assignment, the first input as the most significant bit.

A Walsh polynomial is a sum of few of these parities, kept as sets and coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.checks import (
    check_array,
    check_count,
    check_flag,
    check_indices,
    check_mapping,
    check_numbers,
    input_names,
)
from compsparse.errors import ConfigError, DataError
from compsparse.representations.boolean.bits import MOST_BITS, Words, as_numbers, check_bits, mask_of, members_of, ones
from compsparse.sizes import check_size
from compsparse.text import in_a_line

_AT_ONCE = 1 << 22
_IN_PLACE = tuple(np.dtype(kind) for kind in (np.int32, np.int64, np.float64))


def walsh_transform(values: npt.ArrayLike, *, overwrite: bool = False, n_threads: int = 1) -> npt.NDArray[Any]:
    """All 2^n sums of a table's values with signs; applied twice it gives 2^n times the table.

    Whole numbers stay whole and exact: 32 bits where they are enough, else 64. Floats are summed in double precision.

    Args:
        values: shape (2^n,), the first input as the most significant bit of the row's number.
        overwrite: transform the array itself, which must be contiguous and of a type that can hold the answer
            (int32, int64, float64). Without it a copy is made.
        n_threads: threads that share the work of a large table.

    Raises:
        DataError: no table of 2^n numbers, or whole numbers whose sums would pass 64 bits.

    >>> walsh_transform([1, 1, 1, -1]).tolist()  # the conjunction of two, with -1 for true
    [2, 2, 2, -2]
    """
    check_flag("overwrite", overwrite)
    n_threads = check_count("n_threads", n_threads)
    found = check_array("values", values)
    if found.ndim != 1 or len(found) < 1 or len(found) & (len(found) - 1):
        raise DataError(f"a Walsh transform needs 2^n values in one row, got shape {found.shape}")
    if not overwrite:
        check_size("the sums of the table", 2.0 * len(found), "give a table of fewer inputs")
        found = found.astype(_working_type(found))
    elif found is not values:
        raise ConfigError("overwrite=True needs a numpy array, which it transforms itself")
    elif found.dtype not in _IN_PLACE or not found.flags.c_contiguous or not found.flags.writeable:
        raise ConfigError(
            f"overwrite=True needs a contiguous writable array of int32, int64 or float64, got one of {found.dtype}"
        )
    _transform(found, n_threads)
    return found


def _working_type(values: npt.NDArray[Any]) -> np.dtype[Any]:
    if values.dtype.kind == "f":
        return np.dtype(np.float64)
    if values.dtype.kind not in "biu":
        raise DataError(f"the table must hold numbers, got values of type {values.dtype}")
    largest = max(abs(int(values.max())), abs(int(values.min()))) * len(values)
    if largest >= 2**63:
        raise DataError(f"sums of whole numbers up to {largest // len(values):,} pass 64 bits: give them as floats")
    return np.dtype(np.int32 if largest < 2**31 else np.int64)


def _transform(a: npt.NDArray[Any], n_threads: int) -> None:
    from compsparse.representations.boolean import kernels

    size, block = len(a), min(len(a), kernels.BLOCK)
    _shared(lambda first, last: kernels.transform_blocks(a, block, first, last), size // block, n_threads)
    if size > block:
        width = kernels.panel_width(size)
        _shared(lambda first, last: kernels.transform_panels(a, width, first, last), block // width, n_threads)


def _shared(work: Callable[[int, int], None], n_parts: int, n_threads: int) -> None:
    n_threads = min(n_threads, n_parts)
    if n_threads == 1:
        work(0, n_parts)
        return
    ends = [n_parts * i // n_threads for i in range(n_threads + 1)]
    with ThreadPoolExecutor(n_threads) as threads:
        list(threads.map(work, ends[:-1], ends[1:]))


# ---- polynomials ---------------------------------------------------------------------------------


@in_a_line
@dataclass(frozen=True, eq=False)
class WalshPolynomial:
    r"""\(p(x) = \sum_S c_S \chi_S(x)\), a multilinear polynomial in the signs \((-1)^{x_i}\).

    Attributes:
        n_inputs: at most 64.
        sets: a set of inputs per term, the first input as the most significant of ``n_inputs`` bits.
        coefficients: one for each set.

    >>> p = WalshPolynomial.of(3, {(0,): 0.5, (1,): 0.5, (2,): 0.5, (0, 1, 2): -0.5})
    >>> p([[0, 0, 0], [0, 1, 1]]).tolist()  # the majority of three, with -1 for true
    [1.0, -1.0]
    >>> print(p)
    0.5 x0 + 0.5 x1 + 0.5 x2 - 0.5 x0 x1 x2
    """

    n_inputs: int
    sets: Words
    coefficients: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        check_count("n_inputs", self.n_inputs, most=MOST_BITS)
        coefficients = check_numbers("coefficients", self.coefficients, shape=(None,))
        object.__setattr__(self, "coefficients", coefficients)
        object.__setattr__(self, "sets", np.asarray(self.sets, dtype=np.uint64))
        if self.sets.shape != self.coefficients.shape:
            raise ConfigError(f"{len(self.coefficients)} coefficients need as many sets, got {self.sets.shape}")

    @classmethod
    def of(cls, n_inputs: int, terms: dict[tuple[int, ...], float]) -> WalshPolynomial:
        """From positions of inputs to coefficients."""
        n_inputs = check_count("n_inputs", n_inputs, most=MOST_BITS)
        given = dict(check_mapping("terms", terms))
        masks = [mask_of(set(check_indices("a set", members, n_inputs)), n_inputs) for members in given]
        values = check_numbers("the coefficients", list(given.values()), shape=(None,)) if given else np.zeros(0)
        return cls(n_inputs, np.array(masks, dtype=np.uint64), values)

    @property
    def n_terms(self) -> int:
        """How many terms are kept."""
        return len(self.coefficients)

    @cached_property
    def degree(self) -> int:
        """Inputs of the largest set with a coefficient that is not zero."""
        kept = ones(self.sets[self.coefficients != 0])
        return int(kept.max()) if len(kept) else 0

    @property
    def energy(self) -> float:
        """The mean square of its values over all inputs, by Parseval."""
        return float(self.coefficients @ self.coefficients)

    @cached_property
    def terms(self) -> dict[tuple[int, ...], float]:
        """From positions of inputs to coefficients."""
        pairs = zip(self.sets.tolist(), self.coefficients.tolist(), strict=True)
        return {members_of(mask, self.n_inputs): value for mask, value in pairs}

    def __call__(self, X: Any) -> npt.NDArray[np.float64]:
        """Values at rows of 0 and 1."""
        rows = as_numbers(check_bits("X", X, self.n_inputs))
        values = np.empty(len(rows))
        step = max(1, _AT_ONCE // max(1, self.n_terms))
        for start in range(0, len(rows), step):
            values[start : start + step] = characters(rows[start : start + step], self.sets) @ self.coefficients
        return values

    def largest(self, n_terms: int) -> WalshPolynomial:
        """The terms with the largest coefficients."""
        order = np.argsort(-np.abs(self.coefficients), kind="stable")[: check_count("n_terms", n_terms, least=0)]
        return WalshPolynomial(self.n_inputs, self.sets[order], self.coefficients[order])

    def __str__(self) -> str:
        return self.text()

    def text(self, names: Sequence[str] | None = None, most_terms: int = 20) -> str:
        """The polynomial as text, with the inputs' signs by their names."""
        called = input_names(self.n_inputs) if names is None else names
        parts: list[str] = []
        for mask, value in zip(self.sets[:most_terms].tolist(), self.coefficients.tolist(), strict=False):
            term = " ".join([f"{abs(value):g}", *(called[i] for i in members_of(mask, self.n_inputs))])
            parts.append((" - " if value < 0 else " + ") + term if parts else ("-" if value < 0 else "") + term)
        left = self.n_terms - len(parts)
        return ("".join(parts) or "0") + (f" + {left:,} more terms" if left else "")


def characters(rows: Words, sets: Words) -> npt.NDArray[np.float64]:
    """The sign of every row (down) under every set (across)."""
    return np.asarray(1.0 - 2.0 * (ones(rows[:, None] & sets[None, :]) & 1), dtype=float)
