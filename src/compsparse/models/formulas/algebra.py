"""Formulas brought to one form: sums of products of powers, without constants that say the same twice.

Inside a power, a logarithm or an exponential no scale or summand is left that could stand outside, so that the
constants of a formula can be told from data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from compsparse.graph.formula import Apply, Argument, Constant, Formula, substitute, walk
from compsparse.models.formulas.calculus import value_of

_ALMOST = 1e-12


@dataclass(frozen=True)
class Product:
    """A product: a coefficient and powers of variables (by number), functions and sums."""

    coefficient: float
    powers: tuple[tuple[Base, float], ...] = ()


@dataclass(frozen=True)
class Function:
    """An operation of one variable applied to a sum."""

    name: str
    of: Sum


@dataclass(frozen=True)
class Sum:
    """Terms added up; that without powers is the constant."""

    terms: tuple[Product, ...]


Base: TypeAlias = int | Function | Sum
Number: TypeAlias = Callable[[float, bool], Formula]
"""What a number becomes, given whether it is an exponent."""
CanVary: TypeAlias = Callable[[Base], bool]
"""Whether the exponent of a part may take any value."""


class Algebra:
    """Brings formulas to the one form, over rows that say which powers may be taken apart.

    Args:
        variables: values of the variables at the rows.
    """

    def __init__(self, variables: Sequence[np.ndarray]):
        self.variables = variables

    def normal(self, formula: Formula) -> Sum:
        """The form of a formula without free constants."""
        match formula:
            case Argument(index):
                return Sum((Product(1.0, ((index, 1.0),)),))
            case Constant(value):
                return Sum((Product(float(value)),))
        parts = [self.normal(operand) for operand in formula.operands]
        match formula.operation:
            case "add":
                return added(*parts)
            case "sub":
                return added(parts[0], times_number(parts[1], -1.0))
            case "neg":
                return times_number(parts[0], -1.0)
            case "mul":
                return multiplied(*parts)
            case "div":
                return multiplied(parts[0], self.power(parts[1], -1.0))
            case "square":
                return self.power(parts[0], 2.0)
            case "sqrt":
                return self.power(parts[0], 0.5)
            case "pow":
                return self.power(parts[0], constant_of(parts[1]))
            case "log":
                return self.logarithm(parts[0])
            case "exp":
                return _exponential(parts[0])
        return Sum((Product(1.0, ((Function(formula.operation, parts[0]), 1.0),)),))

    def power(self, base: Sum, exponent: float) -> Sum:
        """base ** exponent, taken apart where its parts are positive or the exponent is whole."""
        if exponent == 0:
            return Sum((Product(1.0),))
        term = as_term(base)
        apart = float(exponent).is_integer() or (
            term.coefficient > 0 and all(self.is_positive(part) for part, _ in term.powers)
        )
        if not apart:
            return Sum((Product(1.0, ((base, exponent),)),))
        powers = tuple((part, e * exponent) for part, e in term.powers)
        return as_sum(Product(float(term.coefficient**exponent) if term.coefficient else 0.0, powers))

    def logarithm(self, inside: Sum) -> Sum:
        """log(inside), with what can stand outside put there."""
        term = as_term(inside)
        if not term.powers or term.coefficient <= 0 or not all(self.is_positive(part) for part, _ in term.powers):
            return Sum((Product(1.0, ((Function("log", inside), 1.0),)),))
        outside = [Sum((Product(float(np.log(term.coefficient))),))]
        kept = []
        for part, exponent in term.powers:
            if isinstance(part, Function) and part.name == "exp":
                outside.append(times_number(part.of, exponent))
            else:
                kept.append((part, exponent))
        if kept:
            first = kept[0][1]
            within = as_sum(Product(1.0, tuple((part, e / first) for part, e in kept)))
            outside.append(Sum((Product(first, ((Function("log", within), 1.0),)),)))
        return added(*outside)

    def is_positive(self, part: Base) -> bool:
        """Whether a part is positive at every row."""
        with np.errstate(all="ignore"):
            return bool((value_of(_formula_of(part), self.variables, ()) > 0).all())


def constant_of(part: Sum) -> float:
    """The number that a sum is."""
    if any(term.powers for term in part.terms):
        raise ValueError("an exponent that is no number cannot be brought to the one form")
    return sum(term.coefficient for term in part.terms)


def added(*parts: Sum) -> Sum:
    """The sum of sums, with like terms together."""
    found: dict[frozenset[tuple[Base, float]], Product] = {}
    for term in (term for part in parts for term in part.terms):
        key = frozenset(term.powers)
        before = found.get(key)
        found[key] = term if before is None else replace(before, coefficient=before.coefficient + term.coefficient)
    kept = tuple(term for term in found.values() if term.coefficient != 0)
    return Sum(kept or (Product(0.0),))


def times_number(part: Sum, factor: float) -> Sum:
    """Every term times a number."""
    return Sum(tuple(replace(term, coefficient=term.coefficient * factor) for term in part.terms))


def multiplied(a: Sum, b: Sum) -> Sum:
    """The product, with like powers together; sums of several terms are not multiplied out."""
    left, right = as_term(a), as_term(b)
    powers: dict[Base, float] = {}
    for part, exponent in (*left.powers, *right.powers):
        powers[part] = powers.get(part, 0.0) + exponent
    powers = {part: exponent for part, exponent in powers.items() if abs(exponent) > _ALMOST}
    exponentials = [(p, e) for p, e in powers.items() if isinstance(p, Function) and p.name == "exp"]
    if len(exponentials) > 1 or any(e != 1 for _, e in exponentials):
        together = added(*(times_number(p.of, e) for p, e in exponentials))
        powers = {p: e for p, e in powers.items() if (p, e) not in exponentials} | {Function("exp", together): 1.0}
    return as_sum(Product(left.coefficient * right.coefficient, tuple(powers.items())))


def as_term(part: Sum) -> Product:
    """A sum as a product: itself where it has one term, else its scale times the rest."""
    if len(part.terms) == 1:
        return part.terms[0]
    scale = _leading(part)
    return Product(scale, ((times_number(part, 1 / scale), 1.0),))


def _leading(part: Sum) -> float:
    """The coefficient that is made 1: of the first term that has powers."""
    return next(term.coefficient for term in part.terms if term.powers)


def as_sum(term: Product) -> Sum:
    """A product as a sum; a number times a sum is that sum with other coefficients."""
    match term.powers:
        case ((Sum() as inner, exponent),) if exponent == 1:
            return times_number(inner, term.coefficient)
    return Sum((term,))


def _exponential(inside: Sum) -> Sum:
    """exp(inside) with its constant taken out, and logarithms undone."""
    coefficient, rest, powers = 1.0, [], []
    for term in inside.terms:
        match term.powers:
            case ():
                coefficient *= float(np.exp(term.coefficient))
            case ((Function("log", of), exponent),) if exponent == 1:
                powers.append((of, term.coefficient))
            case _:
                rest.append(term)
    found = Sum((Product(coefficient),))
    for of, exponent in powers:
        inner = as_term(of)
        found = multiplied(
            found, as_sum(Product(inner.coefficient**exponent, tuple((p, e * exponent) for p, e in inner.powers)))
        )
    return multiplied(found, Sum((Product(1.0, ((Function("exp", Sum(tuple(rest))), 1.0),)),))) if rest else found


# ---- back to formulas ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Freed:
    """A formula whose numbers are constants behind the variables.

    Attributes:
        values: of the constants.
        is_exponent: which of them are exponents.
    """

    formula: Formula
    values: tuple[float, ...]
    is_exponent: tuple[bool, ...]


def freed(part: Sum, n_variables: int, can_vary: CanVary, fixed: Sequence[float] = ()) -> Freed:
    """The formula of a sum, with every number but 1 and -1 in front a constant of its own.

    Args:
        can_vary: whether the exponent of a part may take any value.
        fixed: numbers that stay as they are.
    """
    values: list[float] = []
    roles: list[bool] = []

    def number(value: float, is_exponent: bool) -> Formula:
        if value in fixed:
            return Constant(value)
        values.append(value)
        roles.append(is_exponent)
        return Argument(n_variables + len(values) - 1)

    formula = _sum_formula(part, number, can_vary)
    return Freed(formula, tuple(values), tuple(roles))


def _as_constant(value: float, _: bool) -> Formula:
    return Constant(value)


def _always(_: Base) -> bool:
    return True


def _formula_of(part: Base) -> Formula:
    return _part_formula(part, _as_constant, _always)


def formula_of_sum(part: Sum) -> Formula:
    """The formula with its numbers in it."""
    return _sum_formula(part, _as_constant, _always)


def _sum_formula(part: Sum, number: Number, can_vary: CanVary) -> Formula:
    ordered = sorted(part.terms, key=lambda term: not term.powers)  # the constant stands last
    found: Formula | None = None
    for term in ordered:
        minus = term.coefficient < 0 and found is not None
        own = _term_formula(replace(term, coefficient=abs(term.coefficient)) if minus else term, number, can_vary)
        found = own if found is None else Apply("sub" if minus else "add", (found, own))
    assert found is not None
    return found


def _term_formula(term: Product, number: Number, can_vary: CanVary) -> Formula:
    above: list[Formula] = []
    below: list[Formula] = []
    for base, exponent in term.powers:
        inner = _part_formula(base, number, can_vary)
        size = abs(exponent)
        if size == 1:
            own = inner
        elif size == 0.5:
            own = Apply("sqrt", (inner,))
        else:
            own = Apply("pow", (inner, number(size, True) if can_vary(base) else Constant(size)))
        (above if exponent > 0 else below).append(own)
    if term.coefficient == -1 and above:
        above[0] = Apply("neg", (above[0],))
    elif term.coefficient != 1 or not above:
        above.insert(0, number(term.coefficient, False) if term.coefficient != 1 else Constant(1.0))
    found = _product(above)
    return Apply("div", (found, _product(below))) if below else found


def _product(factors: list[Formula]) -> Formula:
    found = factors[0]
    for factor in factors[1:]:
        found = Apply("mul", (found, factor))
    return found


def _part_formula(part: Base, number: Number, can_vary: CanVary) -> Formula:
    if isinstance(part, int):
        return Argument(part)
    if isinstance(part, Function):
        return Apply(part.name, (_sum_formula(part.of, number, can_vary),))
    return _sum_formula(part, number, can_vary)


def with_numbers(form: Formula, n_variables: int, constants: Sequence[float]) -> Formula:
    """A form with numbers in place of its constants."""
    variables: list[Formula] = [Argument(i) for i in range(n_variables)]
    return substitute(form, [*variables, *(Constant(float(c)) for c in constants)])


def arguments_of(formula: Formula) -> set[int]:
    """Numbers of the variables and constants that a formula reads."""
    return {part.index for part in walk(formula) if isinstance(part, Argument)}
