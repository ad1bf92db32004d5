"""Walsh polynomials with few terms: a sum of parities, kept as sets and coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.checks import check_count, check_indices, check_mapping, check_numbers, input_names
from compsparse.errors import ConfigError
from compsparse.representations.boolean.bits import MOST_BITS, Words, as_numbers, check_bits, mask_of, members_of, ones

_AT_ONCE = 1 << 22


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
