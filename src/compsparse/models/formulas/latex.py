"""Formulas in LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from compsparse.graph.formula import Apply, Argument, Constant, Formula

_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4
_GREEK = frozenset(
    {
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu",
        "xi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi",
        "Sigma", "Phi", "Psi", "Omega",
    }
)  # fmt: skip
_FUNCTIONS = frozenset({"sin", "cos", "tan", "tanh", "exp", "log", "arcsin", "arccos", "arctan"})


def latex_of(formula: Formula, symbols: Sequence[str], target: str) -> str:
    r"""A formula with the symbol of its target.

    >>> latex_of(Apply("div", (Argument(0), Apply("sqrt", (Argument(1),)))), ["rho_1", "mass"], "v")
    'v = \\frac{\\rho_{1}}{\\sqrt{\\mathrm{mass}}}'
    """
    return f"{symbol_in_latex(target)} = {_latex(formula, symbols)[0]}"


def symbol_in_latex(name: str) -> str:
    """A Greek letter, a letter with an index, or a word that stands upright."""
    stem, _, index = name.partition("_")
    match = re.fullmatch(r"([^\W\d_]+)(\d+)", stem)
    if match and not index:
        stem, index = match.groups()
    shown = f"\\{stem}" if stem in _GREEK else stem if len(stem) == 1 else f"\\mathrm{{{stem}}}"
    return f"{shown}_{{{index}}}".replace("_}", "\\_}") if index else shown


def _latex(formula: Formula, symbols: Sequence[str]) -> tuple[str, int]:
    match formula:
        case Argument(index):
            return symbol_in_latex(symbols[index]), _ATOM
        case Constant(value):
            return _number(value), _ATOM if value >= 0 else _SUM
        case Apply("add" | "sub" as name, (a, b)):
            right = _wrapped(b, symbols, _PRODUCT if name == "sub" else _SUM)
            return f"{_latex(a, symbols)[0]} {'+' if name == 'add' else '-'} {right}", _SUM
        case Apply("neg", (a,)):
            return f"-{_wrapped(a, symbols, _PRODUCT)}", _SUM
        case Apply("mul", (a, b)):
            return f"{_wrapped(a, symbols, _PRODUCT)} \\, {_wrapped(b, symbols, _PRODUCT)}", _PRODUCT
        case Apply("div", (a, b)):
            return f"\\frac{{{_latex(a, symbols)[0]}}}{{{_latex(b, symbols)[0]}}}", _PRODUCT
        case Apply("pow", (a, b)):
            return f"{_wrapped(a, symbols, _ATOM)}^{{{_latex(b, symbols)[0]}}}", _POWER
        case Apply("square", (a,)):
            return f"{_wrapped(a, symbols, _ATOM)}^{{2}}", _POWER
        case Apply("sqrt", (a,)):
            return f"\\sqrt{{{_latex(a, symbols)[0]}}}", _ATOM
        case Apply(name, (a,)):
            shown = f"\\{name}" if name in _FUNCTIONS else f"\\operatorname{{{name}}}"
            return f"{shown}\\left({_latex(a, symbols)[0]}\\right)", _POWER
    raise TypeError(f"no LaTeX for {formula!r}")


def _wrapped(part: Formula, symbols: Sequence[str], least: int) -> str:
    text, level = _latex(part, symbols)
    return text if level >= least else f"\\left({text}\\right)"


def _number(value: float) -> str:
    if value == math.pi:
        return "\\pi"
    mantissa, _, exponent = f"{value:.9g}".partition("e")
    return f"{mantissa} \\times 10^{{{int(exponent)}}}" if exponent else mantissa
