"""Reads expressions such as ``tanh(a*b + sin(c*d))``; never evaluates the text.

A name that is no identifier stands in backquotes: `` `wing area` * rho ``; a backquote in a name is doubled.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from compsparse.checks import brief
from compsparse.errors import ConfigError, ExpressionError
from compsparse.graph.derived import derived, derived_names
from compsparse.graph.formula import Apply, Argument, Constant, Formula
from compsparse.graph.operations import ALIASES, OPERATIONS, Operation, operation

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<quoted>`(?:[^`]|``)+`)"
    r"|(?P<symbol>\*\*|<=|>=|[-+*/^(),<>]))"
)
_NUMBERS = {"pi": math.pi}
_BINARY = {"+": ("add", 1), "-": ("sub", 1), "*": ("mul", 2), "/": ("div", 2), "**": ("pow", 4), "^": ("pow", 4)}
_COMPARISONS = {"<": "less", ">": "greater", "<=": "less_equal", ">=": "greater_equal"}
_UNARY_LEVEL = 3
_MOST_NESTED = 200
_LONGEST_TEXT = 10_000_000


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int


def in_backquotes(name: str) -> str:
    """A name as it stands in an expression: in backquotes unless it is an identifier.

    >>> in_backquotes("rho"), in_backquotes("wing area")
    ('rho', '`wing area`')
    """
    return name if name.isidentifier() else "`" + name.replace("`", "``") + "`"


def variables(text: str) -> list[str]:
    """The variable names of an expression, in order of first appearance."""
    names: dict[str, Formula] = {}

    def collect(name: str, position: int) -> Formula:
        if name in _NUMBERS:
            raise ExpressionError(f"{name!r} is a number", text, position)
        return names.setdefault(name, Argument(len(names)))

    _parse(text, collect)
    return list(names)


def parse_formula(text: str, arguments: Sequence[str]) -> Formula:
    """An expression over the given argument names as a formula."""
    index = {name: i for i, name in enumerate(arguments)}

    def lookup(name: str, position: int) -> Formula:
        if name not in index:
            near = difflib.get_close_matches(name, index, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ExpressionError(
                f"unknown variable {name!r}, expected one of {brief(list(index))}{hint}", text, position
            )
        return Argument(index[name])

    return _parse(text, lookup)


def _parse(text: str, variable: Callable[[str, int], Formula]) -> Formula:
    """Parses ``text``; ``variable(name, position)`` says what each variable stands for."""
    if not isinstance(text, str):
        raise ConfigError(f"an expression must be a text, got {brief(text)}")
    if len(text) > _LONGEST_TEXT:
        raise ConfigError(f"an expression may have {_LONGEST_TEXT:,} characters, got {len(text):,}")
    return _Parser(text, variable).whole()


class _Parser:
    """A Pratt parser: an operator takes operands that bind more tightly than itself."""

    def __init__(self, text: str, variable: Callable[[str, int], Formula]):
        self.text, self.variable = text, variable
        self.tokens = self._tokenise()
        self.at = 0
        self.nesting = 0

    def _tokenise(self) -> list[_Token]:
        tokens, position, end = [], 0, len(self.text.rstrip())
        while position < end:
            found = _TOKEN.match(self.text, position)
            if not found:
                position += len(self.text[position:]) - len(self.text[position:].lstrip())
                if self.text[position] == "`":
                    raise self._error("a name in backquotes needs a second one at its end", position)
                raise self._error(f"unexpected character {self.text[position]!r}", position)
            kind = str(found.lastgroup)
            tokens.append(_Token(kind, found[kind], found.start(kind)))
            position = found.end()
        return [*tokens, _Token("end", "", end)]

    def _error(self, problem: str, position: int | None = None) -> ExpressionError:
        return ExpressionError(problem, self.text, self.peek.position if position is None else position)

    @property
    def peek(self) -> _Token:
        return self.tokens[self.at]

    def next(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, symbol: str) -> None:
        if self.peek.text != symbol:
            found = f"found {self.peek.text!r}" if self.peek.text else "the expression ends"
            raise self._error(f"expected {symbol!r}, {found}")
        self.next()

    def whole(self) -> Formula:
        if self.peek.kind == "end":
            raise self._error("the expression is empty")
        formula = self.comparison()
        if self.peek.kind != "end":
            raise self._error(f"expected an operator, found {self.peek.text!r}")
        return formula

    def comparison(self) -> Formula:
        left = self.operand(0)
        if self.peek.text not in _COMPARISONS:
            return left
        name = _COMPARISONS[self.next().text]
        return self.apply(name, left, self.operand(0))

    def operand(self, level: int) -> Formula:
        self.nesting += 1
        if self.nesting > _MOST_NESTED:
            raise self._error(f"the expression nests more than {_MOST_NESTED} levels deep")
        left = self.prefix()
        while self.peek.text in _BINARY and _BINARY[self.peek.text][1] > level:
            name, binding = _BINARY[self.next().text]
            # ** groups from the right, the others from the left
            left = self.apply(name, left, self.operand(binding - 1 if name == "pow" else binding))
        self.nesting -= 1
        return left

    def prefix(self) -> Formula:
        token = self.next()
        if token.text == "-":
            return self.apply("neg", self.operand(_UNARY_LEVEL))
        if token.text == "+":
            return self.operand(_UNARY_LEVEL)
        if token.text == "(":
            inner = self.comparison()
            self.expect(")")
            return inner
        if token.kind == "number":
            if not math.isfinite(float(token.text)):
                raise self._error(f"the number {token.text} is too large", token.position)
            return Constant(float(token.text))
        if token.kind == "quoted":
            return self.variable(token.text[1:-1].replace("``", "`"), token.position)
        if token.kind == "name":
            return self.call(token) if self.peek.text == "(" else self.name(token)
        problem = f"expected a value, found {token.text!r}" if token.text else "the expression ends too early"
        raise self._error(problem, token.position)

    def name(self, token: _Token) -> Formula:
        try:
            return self.variable(token.text, token.position)
        except ExpressionError:
            if token.text in _NUMBERS:
                return Constant(_NUMBERS[token.text])
            raise

    def call(self, token: _Token) -> Formula:
        found, builder = operation(token.text), derived(token.text)
        if builder is None and found is None:
            near = difflib.get_close_matches(token.text, [*OPERATIONS, *ALIASES, *derived_names()], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise self._error(f"unknown function {token.text!r}{hint}", token.position)
        self.expect("(")
        operands = [self.comparison()]
        while self.peek.text == ",":
            self.next()
            operands.append(self.comparison())
        self.expect(")")
        if found is not None:
            return self._applied(found, operands, token)
        assert builder is not None
        self._count(builder.arity, operands, token)
        made: Formula = builder.build(self._do, *operands)
        return made

    def _do(self, name: str, *operands: Formula | float) -> Formula:
        return self.apply(name, *(Constant(float(o)) if isinstance(o, (int, float)) else o for o in operands))

    def _applied(self, found: Operation, operands: list[Formula], token: _Token) -> Formula:
        if found.family and len(operands) >= 2 and found.name in {"maximum", "minimum", "add", "mul"}:
            return reduce(lambda a, b: self.apply(found.name, a, b), operands)
        if found.name == "log" and len(operands) == 2:  # to a base, as math.log
            return self.apply("div", *(self.apply("log", o) for o in operands))
        self._count(found.arity, operands, token)
        return self.apply(found.name, *operands)

    def _count(self, wanted: int, operands: list[Formula], token: _Token) -> None:
        if len(operands) != wanted:
            wants = f"{wanted} argument{'s' * (wanted > 1)}"
            raise self._error(f"{token.text} takes {wants}, found {len(operands)}", token.position)

    def apply(self, name: str, *operands: Formula) -> Formula:
        """Constants are folded, so that ``2*pi*f`` is one coefficient."""
        values = [o.value for o in operands if isinstance(o, Constant)]
        if len(values) < len(operands):
            return Apply(name, operands)
        with np.errstate(all="ignore"):
            value = float(OPERATIONS[name].numpy(*values))
        if not math.isfinite(value):
            raise self._error(f"the constant {name}{tuple(values)} has no finite value")
        return Constant(value)
