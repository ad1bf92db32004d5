"""The Takagi class: sums of the hat function composed with itself (memo 2023, Section 6.6).

Over [0, 1], H(x) = 1 - |2x - 1| and H^k is H composed k times, a saw of 2^(k-1) teeth. A member of the class is
sum_k w_k H^k. With w_k = 2^-k it is the Takagi function, continuous and nowhere differentiable; with w_k = 4^-k it is
the parabola x(1 - x).
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, TypeVar

from compsparse.checks import brief, check_count, check_list, check_number, check_numbers
from compsparse.errors import ConfigError
from compsparse.graph import Constituent, FunctionGraph, Node
from compsparse.graph.formula import Apply, Argument, Constant, Formula
from compsparse.tasks.task import Task, on

MOST_TERMS = 1000
"""Most hats composed with one another here."""

_Number = TypeVar("_Number")


def takagi_coefficients(n_terms: int, ratio: float = 0.5) -> list[float]:
    """The coefficients ratio^k, k = 1 … n: of the Takagi function at 1/2, of a parabola at 1/4.

    Between 1/2 and 1 the sum is Hölder continuous of order -log2(ratio), and its graph has dimension 2 + log2(ratio).

    >>> takagi_coefficients(3)
    [0.5, 0.25, 0.125]
    """
    ratio = check_number("ratio", ratio, above=0, below=1)
    return [ratio**k for k in range(1, check_count("n_terms", n_terms, most=MOST_TERMS) + 1)]


def hat_sum(x: _Number, coefficients: Sequence[Any]) -> _Number:
    """The sum of w_k H^k(x): of floats, arrays, or of Fractions without rounding.

    >>> from fractions import Fraction
    >>> hat_sum(Fraction(1, 3), [Fraction(1, 2**k) for k in range(1, 11)])  # 2/3, less 2/3 of 2^-10
    Fraction(341, 512)
    """
    is_number = isinstance(x, numbers.Number) and not isinstance(x, complex)
    if not is_number and not hasattr(x, "shape"):
        raise ConfigError(f"x must be a number or an array, got {brief(x)}")
    value: Any = x if is_number else check_numbers("x", x, finite=False)
    listed = check_list("coefficients", coefficients)
    if not all(isinstance(w, numbers.Real) for w in listed):
        raise ConfigError(f"coefficients must be numbers, got {brief(coefficients)}")
    total: Any = 0 * value
    for w in listed:
        value = 1 - abs(2 * value - 1)
        total = total + w * value
    result: _Number = total
    return result


def takagi_sum(n_terms: int = 12, ratio: float = 0.5, noise: float = 0.0) -> Task:
    """A partial sum of the Takagi class as a task: a chain of hats, all of them read by one sum."""
    return hats(takagi_coefficients(n_terms, ratio), noise)


def hats(coefficients: Sequence[float], noise: float = 0.0) -> Task:
    """A member of the Takagi class with coefficients of one's own.

    >>> import numpy as np
    >>> graph = hats([0.25, 0.0625]).graph
    >>> graph.depth, float(graph(np.array([[0.5]]))[0])
    (3, 0.25)
    """
    listed = [check_number("a coefficient", w) for w in check_list("coefficients", coefficients)]
    if not 1 <= len(listed) <= MOST_TERMS:
        raise ConfigError(f"a member of the Takagi class needs 1 to {MOST_TERMS} coefficients, got {len(listed)}")
    hat = Constituent.from_expression("1 - abs(2*x - 1)", ["x"], name="hat", value_range=None)
    names = [f"h{k}" for k in range(1, len(listed) + 1)]
    nodes = [Node(name, (below,), hat) for name, below in zip(names, ["x", *names], strict=False)]
    nodes.append(Node("y", tuple(names), Constituent.from_formula(_weighted(listed), len(listed), name="sum")))
    return Task("takagi", FunctionGraph(["x"], nodes), on([(0.0, 1.0)]), noise)


def _weighted(weights: Sequence[float], first: int = 0) -> Formula:
    """A weighted sum that nests no deeper than the logarithm of its length."""
    if len(weights) == 1:
        return Apply("mul", (Constant(weights[0]), Argument(first)))
    half = len(weights) // 2
    return Apply("add", (_weighted(weights[:half], first), _weighted(weights[half:], first + half)))
