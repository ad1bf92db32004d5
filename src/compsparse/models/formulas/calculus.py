"""Formulas with free constants: their values and their derivatives after the constants, by the chain rule.

In a form over k variables, ``Argument(i)`` is a variable for i < k and the constant i - k from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from compsparse.graph.formula import Argument, Constant, Formula

ByConstant = dict[int, np.ndarray]
"""ByConstant after the constants that something depends on, by their number."""

UNARY: Mapping[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]] = {
    "neg": (np.negative, lambda u, v: -np.ones_like(u)),
    "exp": (np.exp, lambda u, v: v),
    "log": (np.log, lambda u, v: 1 / u),
    "sqrt": (np.sqrt, lambda u, v: 0.5 / v),
    "square": (np.square, lambda u, v: 2 * u),
    "sin": (np.sin, lambda u, v: np.cos(u)),
    "cos": (np.cos, lambda u, v: -np.sin(u)),
    "tan": (np.tan, lambda u, v: 1 + v**2),
    "tanh": (np.tanh, lambda u, v: 1 - v**2),
    "arcsin": (np.arcsin, lambda u, v: 1 / np.sqrt(1 - u**2)),
    "arccos": (np.arccos, lambda u, v: -1 / np.sqrt(1 - u**2)),
    "arctan": (np.arctan, lambda u, v: 1 / (1 + u**2)),
}
"""An operation of one variable and its derivative from the variable and the value."""


def value_and_slopes(
    form: Formula, variables: Sequence[np.ndarray], constants: Sequence[float] | np.ndarray
) -> tuple[np.ndarray, ByConstant]:
    """Values at the rows, and their derivatives after every constant that the form uses.

    >>> from compsparse.graph.parser import parse_formula
    >>> form = parse_formula("c*exp(k*x)", ["x", "c", "k"])
    >>> value, slopes = value_and_slopes(form, [np.array([1.0])], [2.0, 0.0])
    >>> value.tolist(), slopes[0].tolist(), slopes[1].tolist()
    ([2.0], [1.0], [2.0])
    """
    k = len(variables)
    match form:
        case Argument(index) if index < k:
            return variables[index], {}
        case Argument(index):
            one = np.ones_like(variables[0])
            return constants[index - k] * one, {index - k: one}
        case Constant(number):
            return np.full_like(variables[0], number), {}
    (u, du), *rest = [value_and_slopes(operand, variables, constants) for operand in form.operands]
    if not rest:
        function, derivative = UNARY[form.operation]
        value = function(u)
        return value, _scaled(du, derivative(u, value)) if du else {}
    ((v, dv),) = rest
    match form.operation:
        case "add":
            return u + v, _sum(du, dv)
        case "sub":
            return u - v, _sum(du, _scaled(dv, -np.ones_like(v)))
        case "mul":
            return u * v, _sum(_scaled(du, v), _scaled(dv, u))
        case "div":
            return u / v, _sum(_scaled(du, 1 / v), _scaled(dv, -u / v**2))
        case "pow":
            value = u**v
            outer = _scaled(du, v * u ** (v - 1)) if du else {}
            return value, _sum(outer, _scaled(dv, value * np.log(u)) if dv else {})
    raise TypeError(f"no derivative of {form.operation!r} is known here")


def value_of(form: Formula, variables: Sequence[np.ndarray], constants: Sequence[float] | np.ndarray) -> np.ndarray:
    """Values at the rows; NaN or infinite where the form is not defined."""
    k = len(variables)
    match form:
        case Argument(index) if index < k:
            return variables[index]
        case Argument(index):
            return np.full_like(variables[0], constants[index - k])
        case Constant(value):
            return np.full_like(variables[0], value)
    operands = [value_of(operand, variables, constants) for operand in form.operands]
    if len(operands) == 1:
        return UNARY[form.operation][0](operands[0])
    u, v = operands
    return BINARY[form.operation](u, v)


BINARY: Mapping[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
}


def _scaled(slopes: ByConstant, factor: np.ndarray) -> ByConstant:
    return {i: slope * factor for i, slope in slopes.items()}


def _sum(a: ByConstant, b: ByConstant) -> ByConstant:
    return {i: a[i] + b[i] if i in a and i in b else a.get(i, b.get(i)) for i in {*a, *b}}  # type: ignore[misc]
