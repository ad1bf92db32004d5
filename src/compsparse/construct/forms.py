"""Affine forms of wires and polynomials, with exact rational numbers, so that fusing them rounds nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from compsparse.boxes import Side
from compsparse.graph.formula import Apply, Argument, Constant, Formula

_HIGHEST_DEGREE = 12
_OF_TWO = {"add": polynomial.polyadd, "sub": polynomial.polysub, "mul": polynomial.polymul}


@dataclass(frozen=True)
class AffineForm:
    """A constant plus a weighted sum of wires, which are numbered.

    >>> form = (AffineForm.wire(0).scaled(2) - AffineForm.wire(1)) + AffineForm.number(1)
    >>> form.terms, form.constant
    (((0, Fraction(2, 1)), (1, Fraction(-1, 1))), Fraction(1, 1))
    >>> form.range({0: (0.0, 1.0), 1: (-1.0, 1.0)})
    (0.0, 4.0)
    """

    terms: tuple[tuple[int, Fraction], ...]
    constant: Fraction

    @classmethod
    def wire(cls, number: int) -> AffineForm:
        """One wire itself."""
        return cls(((number, Fraction(1)),), Fraction(0))

    @classmethod
    def number(cls, value: float | Fraction) -> AffineForm:
        """A constant."""
        return cls((), Fraction(value))

    def __add__(self, other: AffineForm) -> AffineForm:
        weights = dict(self.terms)
        for wire, weight in other.terms:
            weights[wire] = weights.get(wire, Fraction(0)) + weight
        return AffineForm(tuple(sorted((w, c) for w, c in weights.items() if c)), self.constant + other.constant)

    def __sub__(self, other: AffineForm) -> AffineForm:
        return self + other.scaled(-1)

    def scaled(self, factor: float | Fraction) -> AffineForm:
        """Times a number."""
        c = Fraction(factor)
        return AffineForm(tuple((w, c * weight) for w, weight in self.terms) if c else (), c * self.constant)

    @property
    def is_constant(self) -> bool:
        """Whether no wire is in it."""
        return not self.terms

    @property
    def wires(self) -> tuple[int, ...]:
        """The wires it reads."""
        return tuple(wire for wire, _ in self.terms)

    def range(self, ranges: Mapping[int, Side]) -> Side:
        """Where it lies if the wires lie in their ranges, rounded outwards."""
        low = high = self.constant
        for wire, weight in self.terms:
            ends = (weight * Fraction(ranges[wire][0]), weight * Fraction(ranges[wire][1]))
            low, high = low + min(ends), high + max(ends)
        return _below(low), rounded_up(high)

    @property
    def direction(self) -> tuple[AffineForm, Fraction]:
        """The form without its constant, scaled so that its first weight is 1, and the scale."""
        scale = self.terms[0][1]
        return AffineForm(tuple((w, c / scale) for w, c in self.terms), Fraction(0)), scale

    def error(self, errors: Mapping[int, float]) -> float:
        """How far it is off if each wire is off by so much."""
        return sum((abs(float(weight)) * errors[wire] for wire, weight in self.terms), 0.0)

    def weights_on(self, wires: Sequence[int]) -> np.ndarray:
        """Its weights as one row over the wires, each rounded once."""
        known = dict(self.terms)
        return np.array([float(known.get(wire, 0)) for wire in wires])


@dataclass
class Ranges:
    """Where wires lie, and forms of them of which more is known than their wires say.

    >>> ranges = Ranges({0: (0.0, 1.0), 1: (0.0, 1.0)})
    >>> ranges.learn(AffineForm.wire(0) + AffineForm.wire(1), (0.5, 1.0))
    >>> ranges.of((AffineForm.wire(0) + AffineForm.wire(1)).scaled(-2) + AffineForm.number(1))
    (-1.0, 0.0)
    """

    wires: dict[int, Side]
    known: dict[AffineForm, tuple[Fraction, Fraction]] = field(default_factory=dict)

    def learn(self, form: AffineForm, where: Side) -> None:
        """The form lies there."""
        if len(form.terms) < 2:
            return
        direction, scale = form.direction
        ends = sorted((Fraction(end) - form.constant) / scale for end in where)
        low, high = self.known.get(direction, (ends[0], ends[1]))
        self.known[direction] = max(low, ends[0]), min(high, ends[1])

    def of(self, form: AffineForm) -> Side:
        """Where a form lies, rounded outwards."""
        low, high = form.range(self.wires)
        if len(form.terms) < 2:
            return low, high
        direction, scale = form.direction
        if direction in self.known:
            ends = sorted(scale * end + form.constant for end in self.known[direction])
            low, high = max(low, _below(ends[0])), min(high, rounded_up(ends[1]))
        return low, high


def _below(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else float(np.nextafter(nearest, -np.inf))


def rounded_up(value: Fraction) -> float:
    """The nearest double that is not smaller."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else float(np.nextafter(nearest, np.inf))


# ---- polynomials of one argument ----------------------------------------------------------------


def coefficients(formula: Formula) -> list[Fraction] | None:
    """Coefficients from the constant on, or None where the formula is no polynomial of a small degree.

    >>> from compsparse.graph.parser import parse_formula
    >>> [int(c) for c in coefficients(parse_formula("(a - 1)**2 + 3*a", ["a"]))]
    [1, 1, 1]
    """
    operation: Any
    other: Any
    match formula:
        case Argument(_):
            return [Fraction(0), Fraction(1)]
        case Constant(value):
            return [Fraction(value)]
        case Apply("neg", (inside,)):
            return coefficients(Apply("sub", (Constant(0.0), inside)))
        case Apply("square", (inside,)):
            return coefficients(Apply("pow", (inside, Constant(2.0))))
        case Apply("pow", (inside, Constant(p))) if 0 <= p <= _HIGHEST_DEGREE and float(p).is_integer():
            operation, other = polynomial.polypow, int(p)
        case Apply("div", (inside, Constant(c))) if c:
            operation, other = polynomial.polymul, [1 / Fraction(c)]
        case Apply("add" | "sub" | "mul" as name, (inside, right)):
            operation, other = _OF_TWO[name], coefficients(right)
        case _:
            return None
    found = coefficients(inside)
    if found is None or other is None:
        return None
    made = [Fraction(c) for c in operation(found, other)]
    return made if len(made) <= _HIGHEST_DEGREE + 1 else None


def centred_at(found: Sequence[Fraction], centre: Fraction) -> list[Fraction]:
    """Coefficients in powers of x - centre."""
    total: Any = [Fraction(0)]
    for c in reversed(found):
        total = polynomial.polyadd(polynomial.polymul(total, [centre, Fraction(1)]), [c])
    return list(total)
