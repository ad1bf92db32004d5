r"""Gates as few ReLU units and an affine part, exact on 0 and 1.

A conjunction of k literals is one unit, \(\mathrm{relu}(\sum_i \ell_i - k + 1)\). Three ways to write a gate of d
arguments with such units are compared, and the one with the fewest is taken:

- its polynomial in the arguments or their complements: a unit for every product of two or more (one for any gate of
  two arguments);
- its minterms, or those of its complement: at most \(2^{d-1}\) units;
- where it depends on the number of true literals alone, a piecewise linear function of that number: at most d - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from compsparse.checks import check_array
from compsparse.errors import DataError
from compsparse.representations.boolean.bits import ones
from compsparse.representations.boolean.cofactors import Cube

_MOST_POLARITIES = 6
"""Arguments up to which all choices of complements are tried."""


@dataclass(frozen=True)
class HiddenUnit:
    """coefficient · relu(factors · arguments + bias)."""

    factors: tuple[int, ...]
    bias: int
    coefficient: int


@dataclass(frozen=True)
class GateUnits:
    """constant + linear · arguments + the hidden units: the gate's value wherever its arguments are 0 and 1.

    Every number is whole, so floating-point arithmetic makes no error.
    """

    constant: int
    linear: tuple[int, ...]
    hidden: tuple[HiddenUnit, ...]

    @property
    def n_units(self) -> int:
        """How many ReLUs it takes."""
        return len(self.hidden)


def gate_units(gate: Cube) -> GateUnits:
    """The gate, with one axis of length 2 per argument, as ReLU units.

    >>> exclusive_or = gate_units(np.array([[0, 1], [1, 0]], dtype=bool))
    >>> exclusive_or.linear, exclusive_or.hidden  # x + y - 2 relu(x + y - 1)
    ((1, 1), (HiddenUnit(factors=(1, 1), bias=-1, coefficient=-2),))
    """
    found = check_array("a gate", gate)
    if found.dtype != bool or found.shape != (2,) * found.ndim or not found.ndim:
        raise DataError(f"a gate is a Boolean array with an axis of length 2 per argument, got shape {found.shape}")
    return _cached(found.tobytes(), found.ndim)


@lru_cache(maxsize=4096)
def _cached(table: bytes, arity: int) -> GateUnits:
    gate = np.frombuffer(table, dtype=bool).reshape((2,) * arity)
    return min(_ways(gate), key=lambda way: (way.n_units, np.count_nonzero(way.linear)))


def _ways(gate: Cube) -> Iterator[GateUnits]:
    d = gate.ndim
    for complements in range(1 << d if d <= _MOST_POLARITIES else 1):
        flipped = [d - 1 - i for i in range(d) if complements >> i & 1]
        seen = np.flip(gate, tuple(flipped)) if flipped else gate
        signs = np.array([-1 if axis in flipped else 1 for axis in range(d)])
        symmetric = _of_a_sum(seen, signs)
        if symmetric is not None:
            yield symmetric
        yield _of_products(seen, signs)
    yield _of_minterms(gate)


def _of_a_sum(gate: Cube, signs: npt.NDArray[np.int64]) -> GateUnits | None:
    """A function of the number of true literals."""
    d = gate.ndim
    totals = ones(np.arange(1 << d)).reshape(gate.shape)
    values = np.array([gate[totals == k][0] for k in range(d + 1)], dtype=int)
    if not np.array_equal(values[totals], gate):
        return None
    slopes = np.diff(values)
    n_complements = int((signs < 0).sum())  # the number of true literals is signs · x + this
    hidden = tuple(
        HiddenUnit(tuple(signs.tolist()), n_complements - k, int(bend))
        for k, bend in enumerate(np.diff(slopes), start=1)
        if bend
    )
    first = int(slopes[0])
    return GateUnits(int(values[0]) + first * n_complements, tuple((first * signs).tolist()), hidden)


def _of_products(gate: Cube, signs: npt.NDArray[np.int64]) -> GateUnits:
    """The multilinear polynomial in the literals, by differences along every axis."""
    d = gate.ndim
    terms = gate.astype(int)
    for axis in range(d):
        low, high = (np.take(terms, [i], axis) for i in (0, 1))
        terms = np.concatenate([low, high - low], axis)
    constant, linear, hidden = int(terms.flat[0]), np.zeros(d, dtype=int), []
    for place in np.argwhere(terms):
        members = np.flatnonzero(place)
        value = int(terms[tuple(place)])
        if len(members) == 1:
            axis = members[0]
            linear[axis] += value * signs[axis]
            constant += value * int(signs[axis] < 0)
        elif len(members):
            hidden.append(_conjunction(place * signs, value))
    return GateUnits(constant, tuple(linear.tolist()), tuple(hidden))


def _of_minterms(gate: Cube) -> GateUnits:
    value = bool(2 * np.count_nonzero(gate) <= gate.size)
    coefficient = 1 if value else -1
    hidden = tuple(_conjunction(2 * place - 1, coefficient) for place in np.argwhere(gate == value))
    return GateUnits(int(not value), (0,) * gate.ndim, hidden)


def _conjunction(literals: npt.NDArray[np.int64], coefficient: int) -> HiddenUnit:
    """All arguments marked 1 are true and all marked -1 false."""
    n_true = int((literals > 0).sum())
    return HiddenUnit(tuple(int(v) for v in literals), 1 - n_true, coefficient)
