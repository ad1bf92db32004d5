"""Formulas as shared terms with an exact normal form, so that it can be shown by algebra that two of them agree.

A term's normal form is a polynomial with rational coefficients in *atoms*: inputs, and operations of other normal
forms. Maxima, minima and absolute values are written with ReLUs of a fixed sign and scale. Equal normal forms are equal
functions wherever both are defined; unequal ones may be equal too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Monomial = tuple[tuple[int, int], ...]
Polynomial = tuple[tuple[Monomial, Fraction], ...]
"""Monomials (atoms with their powers) and coefficients, in order."""

_MOST_MONOMIALS = 100
_MOST_POWER = 12
_ODD = {"sin", "tan", "tanh", "arctan", "arcsin", "sinh", "erf", "cbrt", "arcsinh"}
_EVEN = {"cos", "cosh", "sinc"}
_ZERO, _ONE = Fraction(0), Fraction(1)
_AT_ZERO = {"sqrt": _ZERO, "exp": _ONE, "expm1": _ZERO, "log1p": _ZERO, "sigmoid": Fraction(1, 2)}
_AT_ZERO |= {**dict.fromkeys(_ODD, _ZERO), **dict.fromkeys(_EVEN, _ONE)}
_AT_ONE = {"sqrt": _ONE, "cbrt": _ONE, "log": _ZERO, "log2": _ZERO, "log10": _ZERO, "arccosh": _ZERO}
_COMPARED = {
    "greater": lambda a, b: a > b,
    "less": lambda a, b: a < b,
    "greater_equal": lambda a, b: a >= b,
    "less_equal": lambda a, b: a <= b,
}
_POSITIVE = {"relu", "exp", "sqrt", "sigmoid", "softplus", "cosh", "hypot", "arccosh", *_COMPARED}
_LEFT_NEUTRAL = {("mul", 1.0), ("add", 0.0)}
_RIGHT_NEUTRAL = _LEFT_NEUTRAL | {("sub", 0.0), ("div", 1.0)}
_NOT_EVERYWHERE = {"div", "reciprocal", "pow", "log", "log2", "log10", "log1p", "sqrt", "tan", "arcsin", "arccos"}
_NOT_EVERYWHERE |= {"arccosh", "mod"}


class BudgetSpentError(Exception):
    """More terms were made than are worth it."""


@dataclass(frozen=True)
class Term:
    """An operation on earlier terms, by their numbers; ``payload`` is an input's name, a number or an opaque node."""

    operation: str
    operands: tuple[int, ...] = ()
    payload: Any = None


class TermTable:
    """A table in which equal terms have one number."""

    def __init__(self, most: int):
        self.all: list[Term] = []
        self.most = most
        self._numbers: dict[Term, int] = {}
        self._forms: dict[int, Polynomial] = {}
        self._atoms: dict[Any, int] = {}
        self._keys: list[tuple[Any, ...]] = []
        self.atom_terms: dict[int, int] = {}

    # ---- making --------------------------------------------------------------------------

    def _number(self, term: Term) -> int:
        if term not in self._numbers:
            if len(self.all) >= self.most:
                raise BudgetSpentError
            self._numbers[term] = len(self.all)
            self.all.append(term)
        return self._numbers[term]

    def input(self, name: str) -> int:
        """An input of the graph, or anything else that is only known by its name."""
        return self._number(Term("input", (), name))

    def constant(self, value: float) -> int:
        """A number."""
        return self._number(Term("constant", (), float(value)))

    def opaque(self, payload: Any, operands: Sequence[int]) -> int:
        """A node without a formula."""
        return self._number(Term("opaque", tuple(operands), payload))

    def value(self, term: int) -> float | None:
        """The number that a term is, or None."""
        found = self.all[term]
        return found.payload if found.operation == "constant" else None

    def make(self, operation: str, *operands: int) -> int:
        """An operation on terms. Of constants it is worked out where a double holds the result exactly."""
        values = [self.value(o) for o in operands]
        if operation == "where" and values[0] is not None:
            return operands[1] if values[0] else operands[2]
        if operation == "where" and operands[1] == operands[2]:
            return operands[1]
        if len(operands) == 2:
            (a, b), (x, y) = operands, values
            if operation == "mul" and 0.0 in values and self.is_total(b if x == 0.0 else a):
                return self.constant(0.0)
            if (operation, x) in _LEFT_NEUTRAL:
                return b
            if (operation, y) in _RIGHT_NEUTRAL:
                return a
        made = self._number(Term(operation, operands))
        if all(self.is_constant(o) for o in operands) or (operation in _COMPARED and self.is_total(made)):
            exact = as_number(self.form(made))
            if exact is not None and Fraction(float(exact)) == exact:
                return self.constant(float(exact))
        return made

    def is_constant(self, term: int) -> bool:
        """Whether nothing but numbers is in it."""
        return all(self.all[t].operation not in ("input", "opaque") for t in self.below(term))

    def is_total(self, term: int) -> bool:
        """Whether it is defined for all inputs."""
        return not self.poles(term)

    def has_lost_pole(self, term: int) -> bool:
        """Whether something that is not defined for all inputs is multiplied by zero in it."""
        return any(
            self.all[t].operation == "mul" and 0.0 in [self.value(o) for o in self.all[t].operands]
            for t in self.below(term)
        )

    def poles(self, *terms: int) -> set[int]:
        """The operations in terms that are not defined for all inputs."""
        return {t for t in self.below(*terms) if self.all[t].operation in _NOT_EVERYWHERE and not self._is_harmless(t)}

    def _is_harmless(self, term: int) -> bool:
        """A whole power, or the quotient by a number."""
        value = self.value(self.all[term].operands[-1])
        if value is None or self.all[term].operation not in ("pow", "div"):
            return False
        return value != 0 if self.all[term].operation == "div" else value >= 0 and value.is_integer()

    def below(self, *terms: int) -> list[int]:
        """The terms and all that they are made of, in order."""
        seen, waiting = set(), list(terms)
        while waiting:
            term = waiting.pop()
            if term not in seen:
                seen.add(term)
                waiting.extend(self.all[term].operands)
        return sorted(seen)  # a term comes after what it is made of

    def replaced(self, term: int, by: Mapping[int, int]) -> int:
        """The term with others in the place of some; opaque nodes keep what they read."""
        found: dict[int, int] = {}
        for t in self.below(term):
            old = self.all[t]
            if t in by:
                found[t] = by[t]
            elif not old.operands or old.operation == "opaque":
                found[t] = t
            else:
                new = tuple(found[o] for o in old.operands)
                found[t] = t if new == old.operands else self.make(old.operation, *new)
        return found[term]

    # ---- the normal form -----------------------------------------------------------------

    def form(self, term: int) -> Polynomial:
        """The normal form of a term."""
        for t in self.below(term) if term not in self._forms else ():
            if t not in self._forms:
                self._forms[t] = self._fresh(t)
        return self._forms[term]

    def _fresh(self, term: int) -> Polynomial:
        found = self.all[term]
        match found.operation:
            case "constant":
                return number(Fraction(found.payload)) if math.isfinite(found.payload) else self._atom(term, found)
            case "input" | "opaque":
                return self._atom(term, found)
        parts = [self._forms[o] for o in found.operands]
        exact = self._arithmetic(found.operation, parts)
        if exact is None or len(exact) > _MOST_MONOMIALS:
            exact = self._other(term, found.operation, parts)
        return exact

    def _arithmetic(self, operation: str, parts: list[Polynomial]) -> Polynomial | None:
        match operation, parts:
            case "add", [a, b]:
                return plus(a, b)
            case "sub", [a, b]:
                return minus(a, b)
            case "neg", [a]:
                return scaled(a, Fraction(-1))
            case "mul", [a, b]:
                return times(a, b)
            case "square", [a]:
                return times(a, a)
            case "pow", [a, b]:
                return _power(a, as_number(b))
            case "div", [a, b] if divisor := as_number(b):
                return scaled(a, 1 / divisor)
            case "relu", [a]:
                return self._relu(a)
            case "abs", [a]:
                return minus(scaled(self._relu(a), Fraction(2)), a)
            case "maximum", [a, b]:
                return plus(b, self._relu(minus(a, b)))
            case "minimum", [a, b]:
                return minus(a, self._relu(minus(a, b)))
        return None

    def _relu(self, a: Polynomial) -> Polynomial:
        """(c p)_+ = c p_+ for c > 0 and (-p)_+ = p_+ - p, so that the first coefficient in p can be 1."""
        if all(self._is_positive(m) for m, _ in a) and len({c > 0 for _, c in a}) <= 1:
            return a if a and a[0][1] > 0 else ()
        lead = a[0][1]
        p = scaled(a, 1 / lead)
        own = self._atom(None, ("relu", p))
        return scaled(own if lead > 0 else minus(own, p), abs(lead))

    def _is_positive(self, monomial: Monomial) -> bool:
        """Whether a product of powers is never negative."""
        return all(power % 2 == 0 or self._keys[atom][0] in _POSITIVE for atom, power in monomial)

    def assuming(self, form: Polynomial, signs: Mapping[Polynomial, int]) -> Polynomial:
        """The form where some others are known to be positive, negative or zero: it may hold their ReLUs."""
        total: Polynomial = ()
        for monomial, c in form:
            part: Polynomial | None = number(c)
            for atom, power in monomial:
                name, *inside = self._keys[atom]
                sign = signs.get(inside[0]) if name == "relu" else None
                own = ((((atom, 1),), Fraction(1)),) if sign is None else inside[0] if sign > 0 else ()
                for _ in range(power):
                    part = None if part is None else times(part, own)
            if part is None:
                return form
            total = plus(total, part)
        return total

    def _other(self, term: int, operation: str, parts: list[Polynomial]) -> Polynomial:
        values = [as_number(p) for p in parts]
        if operation in _COMPARED:
            difference = as_number(minus(parts[0], parts[1]))
            if difference is not None:
                return number(Fraction(int(_COMPARED[operation](difference, 0))))
        if operation == "where" and values[0] is not None:
            return parts[1] if values[0] else parts[2]
        if operation == "where" and parts[1] == parts[2]:
            return parts[1]
        for known, at in ((_AT_ZERO, 0), (_AT_ONE, 1)):
            if values == [at] and operation in known:
                return number(known[operation])
        if operation in _ODD | _EVEN and parts[0] and parts[0][0][1] < 0:
            own = self._atom(None, (operation, scaled(parts[0], Fraction(-1))))
            return own if operation in _EVEN else scaled(own, Fraction(-1))
        if operation == "div":
            return times(parts[0], self._atom(None, ("reciprocal", parts[1]))) or self._atom(term, (operation, *parts))
        return self._atom(term, (operation, *parts))

    def _atom(self, term: int | None, key: Any) -> Polynomial:
        atom = self._atoms.setdefault(key, len(self._atoms))
        if atom == len(self._keys):
            self._keys.append(key if isinstance(key, tuple) else ("", key))
        if term is not None:
            self.atom_terms.setdefault(atom, term)
        return ((((atom, 1),), Fraction(1)),)

    # ---- back to terms -------------------------------------------------------------------

    def term_of(self, form: Polynomial) -> int | None:
        """A term with this normal form, where its numbers are doubles and its atoms are terms."""
        total: int | None = None
        for monomial, coefficient in form:
            if Fraction(float(coefficient)) != coefficient or any(a not in self.atom_terms for a, _ in monomial):
                return None
            part = self.constant(float(coefficient))
            for atom, power in monomial:
                for _ in range(power):
                    part = self.make("mul", part, self.atom_terms[atom])
            total = part if total is None else self.make("add", total, part)
        return self.constant(0.0) if total is None else total


# ---- polynomials ------------------------------------------------------------------------------------


def number(value: Fraction) -> Polynomial:
    """A constant."""
    return (((), value),) if value else ()


def as_number(form: Polynomial) -> Fraction | None:
    """The constant that a polynomial is, or None."""
    if not form:
        return Fraction(0)
    return form[0][1] if len(form) == 1 and not form[0][0] else None


def plus(a: Polynomial, b: Polynomial) -> Polynomial:
    """The sum."""
    total = dict(a)
    for monomial, coefficient in b:
        total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return _ordered(total)


def minus(a: Polynomial, b: Polynomial) -> Polynomial:
    """The difference."""
    return plus(a, scaled(b, Fraction(-1)))


def scaled(a: Polynomial, factor: Fraction) -> Polynomial:
    """A multiple."""
    return tuple((monomial, factor * c) for monomial, c in a) if factor else ()


def times(a: Polynomial, b: Polynomial) -> Polynomial | None:
    """The product, or None where it has too many monomials."""
    if len(a) * len(b) > 4 * _MOST_MONOMIALS:
        return None
    total: dict[Monomial, Fraction] = {}
    for left, c in a:
        for right, d in b:
            powers = dict(left)
            for atom, power in right:
                powers[atom] = powers.get(atom, 0) + power
            monomial = tuple(sorted(powers.items()))
            total[monomial] = total.get(monomial, Fraction(0)) + c * d
    return _ordered(total)


def _power(a: Polynomial, p: Fraction | None) -> Polynomial | None:
    if p is None or p.denominator != 1 or not 0 <= p <= _MOST_POWER:
        return None
    total: Polynomial | None = number(Fraction(1))
    for _ in range(int(p)):
        total = None if total is None else times(total, a)
    return total


def _ordered(total: Mapping[Monomial, Fraction]) -> Polynomial:
    """Constants last, so that the first coefficient belongs to an atom where there is one."""
    return tuple(sorted(((m, c) for m, c in total.items() if c), key=lambda item: (not item[0], item[0])))
