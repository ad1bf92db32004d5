"""A formula that was read off a fitted graph: as text, LaTeX and sympy, as a function, and at what price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compsparse.graph import Constituent, FunctionGraph, Node
from compsparse.graph.formula import Apply, Argument, Constant, Formula, render, substitute
from compsparse.models.formulas.algebra import arguments_of
from compsparse.models.formulas.latex import latex_of
from compsparse.optional import needs
from compsparse.text import in_a_line


@dataclass(frozen=True)
class FittedConstant:
    """A number in a formula with its standard error; infinite where the rows do not tell it."""

    value: float
    error: float

    @property
    def shown(self) -> float:
        """The value to two digits more than its error leaves sure."""
        if not np.isfinite(self.error) or not self.value:
            return float(f"{self.value:.2g}")
        if not self.error:
            return self.value
        digits = int(np.clip(np.ceil(np.log10(abs(self.value) / self.error)) + 1, 1, 9))
        return float(f"{self.value:.{digits}g}")


@in_a_line
@dataclass(frozen=True, eq=False)
class FoundFormula:
    """The formula of a target.

    Attributes:
        target: what it gives.
        inputs: symbols of the inputs, in the order of the table.
        form: over the inputs, the learned nodes behind them, and the constants behind those.
        constants: in the order of the form; round numbers that were settled stand in the form itself.
        learned: functions of the inputs that have no formula, by the name of their node.
        r2, r2_network: of the formula and of the fitted model on rows from which the formula was not read.
        n_held_out: how many rows that were.
    """

    target: str
    inputs: tuple[str, ...]
    form: Formula = field(repr=False)
    constants: tuple[FittedConstant, ...]
    r2: float
    r2_network: float
    n_held_out: int
    learned: dict[str, Callable[..., Any]] = field(default_factory=dict, repr=False)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Of the inputs and of the learned nodes."""
        return (*self.inputs, *self.learned)

    @property
    def text(self) -> str:
        """The formula as one line, numbers to as many digits as their errors leave."""
        return f"{self.target} = {render(self._shown, self.symbols)}"

    @property
    def latex(self) -> str:
        """The formula in LaTeX."""
        return latex_of(self._shown, self.symbols, self.target)

    @property
    def _shown(self) -> Formula:
        return with_fractions(self._with([c.shown for c in self.constants]))

    @property
    def formula(self) -> Formula:
        """The formula over inputs and learned nodes, numbers included."""
        return self._with([c.value for c in self.constants])

    @property
    def graph(self) -> FunctionGraph:
        """A function graph that evaluates, prints, and can be compiled; learned nodes are callables in it."""
        if not self.learned:
            return FunctionGraph.from_expression(render(self.formula, self.inputs), self.inputs)
        nodes = [
            Node(name, self.inputs, Constituent.from_callable(function, len(self.inputs), name=name))
            for name, function in self.learned.items()
        ]
        used = [i for i in range(len(self.symbols)) if i in arguments_of(self.formula)]
        places: list[Formula] = [
            Argument(used.index(i)) if i in used else Constant(0.0) for i in range(len(self.symbols))
        ]
        top = Constituent.from_formula(substitute(self.formula, places), len(used))
        return FunctionGraph(self.inputs, [*nodes, Node(self.target, tuple(self.symbols[i] for i in used), top)])

    def __call__(self, X: Any) -> np.ndarray:
        """Values at the rows of an array (rows, inputs)."""
        values: np.ndarray = self.graph(np.asarray(X, dtype=float))
        return values

    def to_sympy(self) -> Any:
        """The formula as a sympy expression; learned nodes are symbols in it."""
        sympy: Any = needs("sympy", "symbolic formulas", "dev")
        symbols = [sympy.Symbol(name) for name in self.symbols]
        return _sympy(self.formula, symbols, sympy)

    @property
    def price(self) -> str:
        """What the formula costs in error beside the network."""
        return (
            f"On {self.n_held_out:,} rows from which the formula was not read, it leaves {1 - self.r2:.2g} of the "
            f"variance unexplained, and the network {1 - self.r2_network:.2g}."
        )

    def __str__(self) -> str:
        lines = [self.text]
        lines += [f"{name}: learned, no formula was found" for name in self.learned]
        return "\n".join([*lines, self.price])

    def _with(self, numbers: Sequence[float]) -> Formula:
        variables: list[Formula] = [Argument(i) for i in range(len(self.symbols))]
        return substitute(self.form, [*variables, *map(Constant, numbers)])


def with_fractions(formula: Formula) -> Formula:
    """Thirds, which have no short decimals, as quotients of whole numbers."""
    match formula:
        case Apply(name, operands):
            return Apply(name, tuple(map(with_fractions, operands)))
        case Constant(value) if value == round(3 * value) / 3 and not value.is_integer():
            return Apply("div", (Constant(float(round(3 * value))), Constant(3.0)))
    return formula


def without_unused(form: Formula, n_inputs: int, learned: Sequence[str]) -> tuple[Formula, list[str]]:
    """The form without learned nodes that it does not read, and the names of those that are left."""
    used = arguments_of(form)
    kept = [name for i, name in enumerate(learned) if n_inputs + i in used]
    n_constants = max(used, default=-1) + 1 - n_inputs - len(learned)
    places: list[Formula] = [Argument(i) for i in range(n_inputs)]
    places += [Argument(n_inputs + kept.index(name)) if name in kept else Constant(0.0) for name in learned]
    places += [Argument(n_inputs + len(kept) + j) for j in range(max(n_constants, 0))]
    return substitute(form, places), kept


def _sympy(formula: Formula, symbols: Sequence[Any], sympy: Any) -> Any:
    match formula:
        case Argument(index):
            return symbols[index]
        case Constant(value):
            return sympy.Integer(int(value)) if float(value).is_integer() else sympy.Float(value)
    parts = [_sympy(operand, symbols, sympy) for operand in formula.operands]
    match formula.operation:
        case "add":
            return parts[0] + parts[1]
        case "sub":
            return parts[0] - parts[1]
        case "mul":
            return parts[0] * parts[1]
        case "div":
            return parts[0] / parts[1]
        case "pow":
            return parts[0] ** parts[1]
        case "square":
            return parts[0] ** 2
        case "neg":
            return -parts[0]
    return getattr(
        sympy, {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}.get(formula.operation, formula.operation)
    )(*parts)
