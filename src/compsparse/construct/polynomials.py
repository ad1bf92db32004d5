"""Formulas of one argument that are polynomials, with exact coefficients."""

from __future__ import annotations

from fractions import Fraction

from compsparse.graph.formula import Apply, Argument, Constant, Formula

_MOST = 12


def coefficients(formula: Formula) -> list[Fraction] | None:
    """Coefficients from the constant on, or None where the formula is no polynomial of a small degree.

    >>> from compsparse.graph.parser import parse_formula
    >>> [int(c) for c in coefficients(parse_formula("(a - 1)**2 + 3*a", ["a"]))]
    [1, 1, 1]
    """
    match formula:
        case Argument(_):
            return [Fraction(0), Fraction(1)]
        case Constant(value):
            return [Fraction(value)]
        case Apply("neg", (inside,)):
            found = coefficients(inside)
            return None if found is None else [-c for c in found]
        case Apply("square", (inside,)):
            return _power(coefficients(inside), 2)
        case Apply("pow", (inside, Constant(p))) if p >= 0 and float(p).is_integer() and p <= _MOST:
            return _power(coefficients(inside), int(p))
        case Apply("div", (inside, Constant(c))) if c:
            found = coefficients(inside)
            return None if found is None else [x / Fraction(c) for x in found]
        case Apply("add" | "sub" | "mul" as name, (a, b)):
            left, right = coefficients(a), coefficients(b)
            if left is None or right is None:
                return None
            if name == "mul":
                return _times(left, right)
            return _plus(left, right if name == "add" else [-c for c in right])
    return None


def centred_at(found: list[Fraction], centre: Fraction) -> list[Fraction]:
    """Coefficients in powers of x - centre."""
    result = [Fraction(0)]
    for c in reversed(found):
        shifted = _times(result, [centre, Fraction(1)])
        result = _plus(shifted if shifted is not None else [Fraction(0)], [c])
    return result


def _plus(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    total = [x + y for x, y in zip(_padded(a, len(b)), _padded(b, len(a)), strict=True)]
    while len(total) > 1 and not total[-1]:
        total.pop()
    return total


def _padded(a: list[Fraction], n: int) -> list[Fraction]:
    return a + [Fraction(0)] * (n - len(a))


def _times(a: list[Fraction], b: list[Fraction]) -> list[Fraction] | None:
    if len(a) + len(b) - 2 > _MOST:
        return None
    total = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            total[i + j] += x * y
    return _plus(total, [Fraction(0)])


def _power(a: list[Fraction] | None, n: int) -> list[Fraction] | None:
    total: list[Fraction] | None = [Fraction(1)]
    for _ in range(n):
        total = None if total is None or a is None else _times(total, a)
    return total
