"""Unit counts of the Mhaskar-Poggio theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import check_number
from compsparse.graph.formula import singular_operations
from compsparse.graph.function_graph import FunctionGraph
from compsparse.text import in_a_line


@dataclass(frozen=True)
class ComplexityTerm:
    """One node's share of the deep count: eps^(-arity/smoothness)."""

    node: str
    arity: int
    smoothness: float
    log10_units: float


@in_a_line
@dataclass(frozen=True)
class Complexity:
    """Shallow and deep unit counts up to the theorem's constants, as powers of ten.

    Attributes:
        log10_shallow: log10 of eps^(-n/m), m the least smoothness of any constituent.
        log10_deep: log10 of the sum over nodes of eps^(-d_v/m_v).
        terms: the deep sum, node by node.
        assumptions: what the counts take for granted.
    """

    eps: float
    log10_shallow: float
    log10_deep: float
    terms: tuple[ComplexityTerm, ...]
    assumptions: tuple[str, ...]

    @property
    def shallow(self) -> float:
        """The shallow count itself; infinite where it is too large for a number."""
        return 10**self.log10_shallow if self.log10_shallow < 308 else math.inf

    @property
    def deep(self) -> float:
        """The deep count itself; infinite where it is too large for a number."""
        return 10**self.log10_deep if self.log10_deep < 308 else math.inf

    @property
    def deep_certificate(self) -> Certificate:
        """The theorem's upper bound for networks with the graph of the function."""
        return self._certificate("deep network with this graph", self.log10_deep)

    @property
    def shallow_certificate(self) -> Certificate:
        """The theorem's upper bound for shallow networks.

        A lower bound matches it for the whole Sobolev ball, not for every single function.
        """
        return self._certificate("shallow network", self.log10_shallow)

    def _certificate(self, network: str, log10_units: float) -> Certificate:
        quantity = f"log10 of the units of a {network} for accuracy {self.eps:g}, up to constants"
        return Certificate(
            quantity, log10_units, -math.inf, log10_units, Rigour.PROVED, self.assumptions, "Mhaskar and Poggio 2016"
        )


def complexity(graph: FunctionGraph, eps: float, derivatives: float = 2.0) -> Complexity:
    r"""Counts of memo Theorem 7 (Mhaskar and Poggio 2016) for a target accuracy.

    .. math:: N_s = \varepsilon^{-n/m}, \qquad N_d = \sum_v \varepsilon^{-d_v/m_v}

    Args:
        derivatives: most derivatives of a constituent that the count uses, and the number assumed
            where none is declared. The memo's class has Lipschitz first derivatives: two.

    >>> from compsparse.graph import balanced_tree
    >>> count = balanced_tree(8).complexity(0.1)
    >>> count.log10_shallow, round(count.deep)
    (4.0, 70)
    """
    eps = check_number("eps", eps, above=0, below=1)
    if not (isinstance(derivatives, float) and derivatives == math.inf):
        derivatives = check_number("derivatives", derivatives, above=0)
    digits = -math.log10(eps)
    terms, assumed, rough = [], [], []
    singular: set[str] = set()
    for node in graph.nodes:
        declared = node.constituent.smoothness if node.constituent is not None else None
        if declared is None:
            assumed.append(node.name)
        if declared == 0:
            rough.append(node.name)
        if node.constituent is not None and node.constituent.formula is not None:
            singular |= singular_operations(node.constituent.formula)
        m = derivatives if declared is None else min(declared, derivatives)
        terms.append(ComplexityTerm(node.name, node.arity, m, digits * node.arity / m if m else math.inf))
    least = min((t.smoothness for t in terms), default=math.inf)
    active = graph.n_inputs - len(graph.unread)
    return Complexity(
        eps=eps,
        log10_shallow=digits * active / least if least else math.inf,
        log10_deep=_log10_sum([t.log10_units for t in terms]),
        terms=tuple(terms),
        assumptions=tuple(_assumptions(assumed, rough, sorted(singular), derivatives)),
    )


def _assumptions(assumed: list[str], rough: list[str], singular: list[str], default: float) -> list[str]:
    lines = [
        "both counts are upper bounds; the shallow one is matched from below for the whole Sobolev ball only",
        "constants are left out: they hold the constituents' norms and the Lipschitz products along paths",
        "activation functions are smooth and not polynomial",
        f"at most {default:g} derivatives of each constituent are used",
    ]
    if assumed:
        lines.append(f"smoothness m = {default:g} for {len(assumed)} nodes that declare none, such as {assumed[0]!r}")
    if rough:
        lines.append(f"{len(rough)} constituents have no bounded derivative, such as {rough[0]!r}: no rate")
    if singular:
        lines.append(f"inputs stay away from the singularities of {', '.join(singular)}")
    return lines


def _log10_sum(logs: list[float]) -> float:
    if not logs:
        return -math.inf
    top = max(logs)
    return top if math.isinf(top) else top + math.log10(sum(10 ** (v - top) for v in logs))
