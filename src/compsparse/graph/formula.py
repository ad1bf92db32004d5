"""Formulas: the small trees of operations that constituents are made of.

A formula refers to its arguments by position, so the same formula serves any node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from compsparse.graph.operations import OPERATIONS, is_torch


@dataclass(frozen=True, slots=True)
class Argument:
    """The value of the parent at ``index``."""

    index: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation, by name, applied to operands."""

    operation: str
    operands: tuple[Formula, ...]


Formula: TypeAlias = Argument | Constant | Apply


def walk(formula: Formula) -> Iterator[Formula]:
    """Every part of the formula, operands before what uses them."""
    if isinstance(formula, Apply):
        for operand in formula.operands:
            yield from walk(operand)
    yield formula


def substitute(formula: Formula, arguments: Sequence[Formula]) -> Formula:
    """The formula with its i-th argument replaced by ``arguments[i]``."""
    match formula:
        case Argument(index):
            return arguments[index]
        case Apply(operation, operands):
            return Apply(operation, tuple(substitute(o, arguments) for o in operands))
    return formula


def summed(terms: list[Formula]) -> Formula:
    """A balanced sum, so that formulas of many terms do not nest deeply."""
    while len(terms) > 1:
        pairs = [Apply("add", pair) for pair in zip(terms[::2], terms[1::2], strict=False)]
        terms = [*pairs, *terms[2 * len(pairs) :]]
    return terms[0]


@lru_cache(maxsize=4096)
def compile_formula(formula: Formula, arity: int, torch: bool) -> Callable[..., Any]:
    """The formula as a function of ``arity`` arrays, for numpy or for torch."""
    match formula:
        case Argument(index):
            return lambda *args: args[index]
        case Constant(value):
            return lambda *args: value
    operation = OPERATIONS[formula.operation]
    function = operation.torch if torch else operation.numpy
    operands = formula.operands
    # the shapes that traces are full of, without a call per operand
    if operands == tuple(Argument(i) for i in range(arity)):
        return function
    match operands:
        case (Argument(0), Constant(value)):
            return lambda a, *_: function(a, value)
        case (Constant(value), Argument(0)):
            return lambda a, *_: function(value, a)
    parts = [compile_formula(operand, arity, torch) for operand in operands]
    return lambda *args: function(*[part(*args) for part in parts])


def formula_value(formula: Formula, *arguments: Any) -> Any:
    """The formula's value on arrays (numpy or torch)."""
    return compile_formula(formula, len(arguments), any(is_torch(a) for a in arguments))(*arguments)


def smoothness(formula: Formula) -> float:
    """Number of bounded derivatives: that of the roughest operation in it."""
    orders = [OPERATIONS[p.operation].smoothness for p in walk(formula) if isinstance(p, Apply)]
    return min(orders, default=math.inf)


def singular_operations(formula: Formula) -> frozenset[str]:
    """Names of operations whose smoothness fails on the boundary of their domain."""
    return frozenset(
        p.operation
        for p in walk(formula)
        if isinstance(p, Apply) and OPERATIONS[p.operation].singular and not _harmless(p)
    )


def _harmless(part: Apply) -> bool:
    match part:
        case Apply("pow", (_, Constant(p))):
            return p >= 0 and float(p).is_integer()
        case Apply("div", (_, Constant(_))):
            return True
    return False


def value_range(formula: Formula) -> tuple[float, float] | None:
    """A closed interval that holds every value, where the outermost operation gives one."""
    match formula:
        case Constant(value):
            return (value, value)
        case Apply("pow", (_, Constant(p))) if p > 0 and p % 2 == 0:
            return (0, math.inf)
        case Apply(name, _):
            return OPERATIONS[name].value_range
    return None


def lipschitz(formula: Formula, arity: int) -> tuple[float, ...] | None:
    """A global Lipschitz constant per argument by the chain rule, or None where there is none."""
    match formula:
        case Argument(index):
            return tuple(float(i == index) for i in range(arity))
        case Constant():
            return (0.0,) * arity
        case Apply("mul", (Constant(c), other)) | Apply("mul", (other, Constant(c))):
            outer, inner = [abs(c)], [other]
        case Apply("div", (other, Constant(c))) if c:
            outer, inner = [1 / abs(c)], [other]
        case Apply(name, operands):
            constants = OPERATIONS[name].lipschitz
            if constants is None:
                return None
            outer, inner = list(constants), list(operands)
    per_operand = [lipschitz(o, arity) for o in inner]
    if any(row is None for row in per_operand):
        return None
    return tuple(
        sum(factor * row[i] for factor, row in zip(outer, per_operand, strict=True) if row is not None)
        for i in range(arity)
    )


_INFIX = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2), "pow": ("**", 4)}
_COMPARISON = {"greater": ">", "less": "<", "greater_equal": ">=", "less_equal": "<="}
_ATOM = 5


def render(formula: Formula, arguments: Sequence[str], digits: int | None = None) -> str:
    """The formula as text that :func:`~compsparse.graph.parser.parse_formula` reads back.

    Args:
        digits: significant digits of constants, for drawings; by default all that matter.
    """
    return _render(formula, arguments, digits)[0]


def _number(value: float, digits: int | None) -> str:
    if digits is not None:
        return f"{value:.{digits}g}"
    return f"{value:g}" if float(f"{value:g}") == value else f"{value:.17g}"


def _render(formula: Formula, arguments: Sequence[str], digits: int | None) -> tuple[str, int]:
    match formula:
        case Argument(index):
            return arguments[index], _ATOM
        case Constant(math.pi) if "pi" not in arguments:
            return "pi", _ATOM
        case Constant(value):
            return _number(value, digits), _ATOM if value >= 0 else 3
        case Apply("neg", (operand,)):
            text, level = _render(operand, arguments, digits)
            return f"-{text if level >= 3 else f'({text})'}", 3
        case Apply(name, (left, right)) if name in _INFIX:
            symbol, level = _INFIX[name]
            left_text, left_level = _render(left, arguments, digits)
            right_text, right_level = _render(right, arguments, digits)
            right_associative = symbol == "**"
            if left_level < level + right_associative:
                left_text = f"({left_text})"
            if right_level < level + (not right_associative) or right_text.startswith("-"):
                right_text = f"({right_text})"
            space = " " if level == 1 else ""
            return f"{left_text}{space}{symbol}{space}{right_text}", level
        case Apply(name, (left, right)) if name in _COMPARISON:
            texts = [_render(o, arguments, digits) for o in (left, right)]
            return f" {_COMPARISON[name]} ".join(t if lv > 0 else f"({t})" for t, lv in texts), 0
        case Apply(name, operands):
            return f"{name}({', '.join(_render(o, arguments, digits)[0] for o in operands)})", _ATOM
    raise TypeError(f"not a formula: {formula!r}")
