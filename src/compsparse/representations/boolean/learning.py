r"""Learning functions on the Boolean cube from queries and from uniform samples, with what is promised and what is not.

- Sparse spectra by queries (Goldreich and Levin 1989; Kushilevitz and Mansour 1993): the energy of all sets that agree
  on some inputs is \(\mathrm{E}\, f(y,z) f(y',z) \chi_S(y + y')\), so that only branches with much energy are followed.
- Low degrees from samples (Linial, Mansour and Nisan 1993): every coefficient up to a degree is a mean.
- Juntas, functions of few inputs: see :mod:`compsparse.representations.boolean.juntas`.

Whole numbers and Booleans are truth values, 0 and 1, and count as 1 and -1; floats count as they are and must lie
between -1 and 1. The type decides, not the values, since a few answers may well be all 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.checks import RandomState, brief, check_array, check_count, check_number, generator_from
from compsparse.errors import DataError
from compsparse.representations.boolean.bits import MOST_BITS, Words, as_bits, as_numbers, check_bits, mask_of
from compsparse.representations.boolean.walsh import WalshPolynomial, characters, walsh_transform
from compsparse.sizes import check_work

Query = Callable[[npt.NDArray[np.uint8]], Any]
"""Takes rows of 0 and 1 and answers each with a truth value or a float."""
_AT_ONCE = 1 << 22
_MOST_QUERIES = 1e9
_MOST_TERMS = 2_000_000
_INPUTS_A_ROUND = 10


@dataclass(frozen=True, eq=False)
class LearnedPolynomial:
    """A Walsh polynomial that was learned, and how sure it is.

    Attributes:
        method: how it was learned.
        n_values: values of the function that were used, asked or given.
        accuracy: every coefficient is within this of the true one …
        failure: … except with at most this probability.
        threshold: no coefficient at least so large was missed, under the same proviso; None where all of the terms
            that the method looks at are kept.
        caveats: what is not promised.
    """

    polynomial: WalshPolynomial
    method: str
    n_values: int
    accuracy: float
    failure: float
    threshold: float | None
    caveats: tuple[str, ...]

    def __call__(self, X: Any) -> npt.NDArray[np.float64]:
        """The polynomial's values at rows of 0 and 1."""
        return self.polynomial(X)

    def truth(self, X: Any) -> npt.NDArray[np.bool_]:
        """Its sign as a truth value: true where it is negative."""
        return self.polynomial(X) < 0


def learn_heavy_terms(
    f: Query, n_inputs: int, threshold: float, *, failure: float = 0.05, random_state: RandomState = None
) -> LearnedPolynomial:
    """All large Walsh coefficients of a function that can be asked, among 2^n, with queries polynomial in n.

    Args:
        f: takes rows of 0 and 1 of shape (m, n_inputs) and answers with truth values or floats from -1 to 1.
        threshold: coefficients of at least this size are found, none below half of it is kept. The number of queries
            grows as its fourth inverse power.
        failure: largest probability that this goes wrong.

    Raises:
        DataError: the function's answers cannot be used.
        ConfigError: the threshold would take more than a thousand million queries.

    >>> learned = learn_heavy_terms(lambda x: x[:, 3] & x[:, 17], 40, 0.4, random_state=0)
    >>> sorted(learned.polynomial.terms)
    [(), (3,), (3, 17), (17,)]
    """
    n = check_count("n_inputs", n_inputs, most=MOST_BITS)
    threshold = check_number("threshold", threshold, least=1e-3, most=1)
    failure = check_number("failure", failure, above=0, below=1)
    search = _Branches(f, n, threshold, failure / 2, generator_from(random_state))
    sets = search.heavy()
    accuracy = threshold / 4
    m = math.ceil(2 / accuracy**2 * math.log(4 * max(1, len(sets)) / failure))
    rows = search.drawn(m)
    coefficients = _means(rows, search.asked(rows), sets)
    kept = np.abs(coefficients) >= threshold - accuracy
    return LearnedPolynomial(
        WalshPolynomial(n, sets[kept], coefficients[kept]),
        "Goldreich-Levin queries",
        search.n_queries,
        accuracy,
        failure,
        threshold,
        ("terms below the threshold may be missing, whatever their number",),
    )


class _Branches:
    """Sets of the inputs seen so far, of which only those are kept whose extensions hold much energy."""

    def __init__(self, f: Query, n: int, threshold: float, failure: float, rng: np.random.Generator):
        self.f, self.n, self.rng = f, n, rng
        self.energy = threshold**2
        self.rounds = -(-n // _INPUTS_A_ROUND)
        # at most 4/energy branches live (Parseval), each with 2^inputs children that are estimated at once
        estimates = self.rounds * 4 / self.energy * 2 ** min(n, _INPUTS_A_ROUND)
        self.pairs = math.ceil(32 / self.energy**2 * math.log(2 * estimates / failure))
        check_work("the number of queries", 2.0 * self.rounds * self.pairs, _MOST_QUERIES, "raise the threshold")
        self.n_queries = 0

    def heavy(self) -> Words:
        """Sets whose own energy is at least the threshold's, with high probability, and few others."""
        live = np.zeros(1, dtype=np.uint64)
        seen = 0
        for _ in range(self.rounds):
            k = min(_INPUTS_A_ROUND, self.n - seen)
            live = self._extended(live, seen, k)
            seen += k
        return live

    def _extended(self, live: Words, seen: int, k: int) -> Words:
        """The sets of the next k inputs added to the live ones, where the energy stays large."""
        rest = self.n - seen - k
        sums = np.zeros((len(live), 1 << k))
        for start in range(0, self.pairs, _AT_ONCE // 4):
            differences, products = self._pairs_of(min(_AT_ONCE // 4, self.pairs - start), rest)
            group = (differences >> np.uint64(rest) & np.uint64((1 << k) - 1)).astype(np.int64)
            for i, prefix in enumerate(live):
                signed = products * characters(differences, prefix[None])[:, 0]
                sums[i] += np.bincount(group, weights=signed, minlength=1 << k)
        weights = np.stack([walsh_transform(row) for row in sums]) / self.pairs
        chosen, children = np.nonzero(weights >= self.energy / 2)
        return np.asarray(live[chosen] | (children.astype(np.uint64) << np.uint64(rest)))

    def _pairs_of(self, m: int, rest: int) -> tuple[Words, npt.NDArray[np.float64]]:
        """Pairs of rows that share their last inputs: where they differ, and the product of their values."""
        one, other = self.drawn(m), self.drawn(m)
        shared = np.uint64((1 << rest) - 1)
        other = (other & ~shared) | (one & shared)
        values = self.asked(np.concatenate([one, other]))
        return one ^ other, values[:m] * values[m:]

    def drawn(self, m: int) -> Words:
        """Random rows, as numbers."""
        words = self.rng.integers(0, 2**64, m, dtype=np.uint64)
        return words >> np.uint64(64 - self.n)

    def asked(self, numbers: Words) -> npt.NDArray[np.float64]:
        self.n_queries += len(numbers)
        return as_values("the function's answer", answers(self.f, as_bits(numbers, self.n)), len(numbers))


def learn_low_degree(X: Any, y: Any, degree: int, *, failure: float = 0.05) -> LearnedPolynomial:
    """All Walsh coefficients up to a degree, from values at uniformly random rows.

    Args:
        X: rows of 0 and 1, drawn uniformly and independently.
        y: truth values, or floats from -1 to 1.
        degree: coefficients of larger sets are taken as zero.
        failure: largest probability that a coefficient is off by more than ``accuracy``.

    >>> rows = np.random.default_rng(0).integers(0, 2, (4000, 12))
    >>> learned = learn_low_degree(rows, rows[:, 0] ^ rows[:, 5], degree=2)
    >>> bool((learned.truth(rows) == (rows[:, 0] ^ rows[:, 5])).all()), round(learned.accuracy, 2)
    (True, 0.06)
    """
    bits = check_bits("X", X)
    n = bits.shape[1]
    check_count("the number of inputs", n, most=MOST_BITS)
    if not len(bits):
        raise DataError("X has no rows to learn from")
    degree = check_count("degree", degree, least=0, most=n)
    failure = check_number("failure", failure, above=0, below=1)
    values = as_values("y", y, len(bits))
    n_terms = sum(math.comb(n, k) for k in range(degree + 1))
    check_work("the number of sets", n_terms, _MOST_TERMS, "ask for a lower degree")
    members = (c for k in range(degree + 1) for c in combinations(range(n), k))
    sets = np.fromiter((mask_of(c, n) for c in members), dtype=np.uint64, count=n_terms)
    coefficients = _means(as_numbers(bits), values, sets)
    return LearnedPolynomial(
        WalshPolynomial(n, sets, coefficients),
        f"means over samples, degree at most {degree}",
        len(bits),
        math.sqrt(2 * math.log(2 * n_terms / failure) / len(bits)),
        failure,
        None,
        (
            "the rows are taken to be uniform and independent",
            f"energy above degree {degree} is an error that these samples were not asked about",
        ),
    )


# ---- values --------------------------------------------------------------------------------------


def answers(f: Query, rows: npt.NDArray[np.uint8]) -> Any:
    """What a function says of rows."""
    try:
        return f(rows)
    except Exception as error:
        raise DataError(f"the function failed on {len(rows):,} rows: {type(error).__name__}: {error}") from error


def as_values(what: str, values: Any, n_rows: int) -> npt.NDArray[np.float64]:
    """Truth values as 1 and -1, floats as they are."""
    found = _one_each(what, values, n_rows)
    if found.dtype.kind != "f":
        return np.asarray(1.0 - 2.0 * as_truth(what, found, n_rows), dtype=float)
    if not (np.abs(found) <= 1).all():
        raise DataError(f"{what} must hold truth values, or floats from -1 to 1")
    return found.astype(float)


def as_truth(what: str, values: Any, n_rows: int) -> npt.NDArray[np.bool_]:
    """0 and 1 of any type as truth values."""
    found = _one_each(what, values, n_rows)
    if not ((found == 0) | (found == 1)).all():
        raise DataError(f"{what} must hold truth values, 0 and 1 alone; signs may be given as floats where they count")
    return found.astype(bool)


def _one_each(what: str, values: Any, n_rows: int) -> npt.NDArray[Any]:
    found = check_array(what, values)
    if found.shape != (n_rows,):
        raise DataError(f"{what} must have shape ({n_rows},), got {found.shape}")
    if found.dtype.kind not in "biuf":
        raise DataError(f"{what} must hold numbers, got {brief(found.flat[0]) if found.size else found.dtype}")
    return found


def _means(rows: Words, values: npt.NDArray[np.float64], sets: Words) -> npt.NDArray[np.float64]:
    """The mean of value times sign, for every set."""
    total = np.zeros(len(sets))
    step = max(1, _AT_ONCE // max(1, len(sets)))
    for start in range(0, len(rows), step):
        total += values[start : start + step] @ characters(rows[start : start + step], sets)
    return total / len(rows)
