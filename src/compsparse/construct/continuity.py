r"""Choices that are continuous, written without a choice.

A condition such as ``u > v`` cuts space along :math:`u = v`. Let a function be :math:`F` above it and :math:`G` below.
It is continuous across the cut if :math:`F = G` wherever :math:`u = v`, which is shown by algebra and not by samples:

* if :math:`F - G = q (u - v)` with a number q, the function is :math:`G + q (u - v)_+`;
* if the cut is :math:`x = r` for a part x, and :math:`F` and :math:`G` have one normal form when r stands for x, it is
  :math:`F(\max(x, r)) + G(\min(x, r)) - F(r)`.

The result takes each branch only where it was chosen, so that a logarithm guarded by a condition stays guarded. What
cannot be shown to be continuous stays as it is, and is refused later if the box holds both sides.

Sides that people make to meet may miss each other by the rounding of their numbers: of the doubles 0.1, 0.2 and 0.3 the
first two do not add up to the third. The same formulas then close the jump, and its size is said.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from compsparse.construct.terms import BudgetSpentError, Polynomial, Term, TermTable, as_number, minus, scaled
from compsparse.graph import Constituent, FunctionGraph, Node, fused
from compsparse.graph.builder import OperationRecorder
from compsparse.graph.formula import Apply, Argument, Constant, Formula, walk

_COMPARISONS = {"greater", "less", "greater_equal", "less_equal"}
_SWITCHES = _COMPARISONS | {"sign", "where"}
_JOINS = {"where", "mul", "add", "sub", "div", "maximum", "minimum"}
_MOST_TERMS = 5_000
_MOST_CASES = 3
"""Other conditions that are taken apart to show that two sides agree."""
_ROUNDINGS = 4
"""Sides that miss each other by no more roundings of the largest number in them are taken to meet."""


def without_choices(graph: FunctionGraph) -> tuple[FunctionGraph, float]:
    """The same function, with no choice where the two sides provably meet, and the largest jump that was closed.

    >>> free, jump = without_choices(FunctionGraph.from_expression("where(a > 0, a, -a)"))
    >>> print(free.nodes[-1].label, jump)
    -a + 2*relu(a) 0.0
    """
    formulas = [n.constituent.formula for n in graph.nodes if n.constituent is not None and n.constituent.formula]
    if not any(isinstance(p, Apply) and p.operation in _SWITCHES for f in formulas for p in walk(f)):
        return graph, 0.0
    terms = TermTable(_MOST_TERMS)
    found = _Rewriting(terms)
    values: dict[str, int] = {name: terms.input(name) for name in graph.inputs}
    try:
        for node in graph.nodes:
            values[node.name] = found.node(node, [values[p] for p in node.parents])
    except BudgetSpentError:
        return graph, 0.0
    if not found.count:
        return graph, 0.0
    return fused(_as_graph(graph, terms, [values[name] for name in graph.outputs])), found.jump


@dataclass(frozen=True)
class _Cut:
    """Where conditions change: the zeros of a normal form, and how each condition falls above, below and on it."""

    form: Polynomial
    falls: dict[int, tuple[bool, bool, bool]]


class _Rewriting:
    def __init__(self, terms: TermTable):
        self.terms = terms
        self.count = 0
        self.jump = 0.0
        self.done: dict[int, int] = {}

    def node(self, node: Node, parents: list[int]) -> int:
        formula = None if node.constituent is None else node.constituent.formula
        if formula is None or node.channels != 1:
            return self.terms.opaque(node, parents)
        return self.of(formula, parents, {})

    def of(self, formula: Formula, parents: list[int], known: dict[Formula, int]) -> int:
        """The formula as a term, with what can be continued freed of its choices."""
        for part in walk(formula):
            if part in known:
                continue
            match part:
                case Argument(index):
                    known[part] = parents[index]
                case Constant(value):
                    known[part] = self.terms.constant(value)
                case Apply("sign", (inside,)):
                    zero = self.terms.constant(0.0)
                    sides = [self.terms.make(name, known[inside], zero) for name in ("greater", "less")]
                    known[part] = self.terms.make("sub", *sides)
                case Apply(operation, operands):
                    made = self.terms.make(operation, *(known[o] for o in operands))
                    self.count += self.terms.all[made].operation != operation
                    known[part] = self.freed(made)
        return known[formula]

    def freed(self, term: int) -> int:
        """The term without its choices, if all of them are continuous in it.

        A term that keeps one keeps all: a larger term may be continuous in them together.
        """
        if self.terms.all[term].operation not in _JOINS:
            return term
        if term not in self.done:
            current, again, jump = term, True, self.jump
            while again:
                again = False
                for cut in self.cuts(current):
                    before = self.jump
                    other = self.across(current, cut)
                    # a condition that may be undefined must leave a trace
                    if other is not None and self.terms.poles(*cut.falls) <= self.terms.poles(other):
                        current, again = other, True
                        break
                    self.jump = before
            is_free = not self.cuts(current)
            self.count += is_free and current != term
            self.done[term] = current if is_free else term
            self.jump = self.jump if is_free else jump
        return self.done[term]

    def cuts(self, *terms: int) -> list[_Cut]:
        """The conditions on which terms depend, those that change together as one."""
        found: dict[Polynomial, _Cut] = {}
        for t in self.terms.below(*terms):
            condition = self.terms.all[t]
            if condition.operation not in _COMPARISONS:
                continue
            u, v = (self.terms.form(o) for o in condition.operands)
            difference = minus(u, v)
            if as_number(difference) is not None:
                continue
            lead = difference[0][1]
            rises = (lead > 0) == condition.operation.startswith("greater")
            cut = found.setdefault(form := scaled(difference, 1 / lead), _Cut(form, {}))
            cut.falls[t] = (rises, not rises, condition.operation.endswith("equal"))
        return list(found.values())

    def agree(self, terms: list[int], signs: dict[Polynomial, int]) -> bool:
        """Whether all have one normal form, in each case that other conditions leave open."""
        first, *others = (self.terms.assuming(self.terms.form(t), signs) for t in terms)
        if all(self.meet(minus(other, first), terms) for other in others):
            return True
        cuts = [cut for cut in self.cuts(*terms) if cut.form not in signs]
        if not cuts or len(signs) >= _MOST_CASES:
            return False
        for k, sign in enumerate((1, -1, 0)):
            sides = [self.state(t, cuts[0], k) for t in terms]
            if not self.agree(sides, {**signs, cuts[0].form: sign}):
                return False
        return True

    def meet(self, difference: Polynomial, terms: Collection[int]) -> bool:
        """Whether sides made of these terms differ by nothing, or by what the rounding of their numbers may be."""
        off = as_number(difference)
        if off:
            sizes = (abs(v) for t in self.terms.below(*terms) if (v := self.terms.value(t)) is not None)
            largest = max(filter(math.isfinite, sizes), default=0.0)
            if abs(off) > _ROUNDINGS * math.ulp(1.0) * largest:
                return False
            self.jump = max(self.jump, float(abs(off)))
        return off is not None

    # ---- one cut -------------------------------------------------------------------------

    def state(self, term: int, cut: _Cut, k: int) -> int:
        """The term above, below or on a cut: that p > 0 decides p + c > 0 where c > 0, and so for the other cases."""
        falls = {t: side[k] for t, side in cut.falls.items()}
        for other in self.cuts(term):
            apart = as_number(minus(other.form, cut.form))
            if apart and ((k == 0 and apart > 0) or (k == 1 and apart < 0) or k == 2):
                falls |= {t: side[0 if apart > 0 else 1] for t, side in other.falls.items()}
        return self.terms.replaced(term, {t: self.terms.constant(float(fall)) for t, fall in falls.items()})

    def across(self, term: int, cut: _Cut) -> int | None:
        """The term without the conditions of a cut, if its two sides and the cut itself provably meet."""
        above, below, on = (self.state(term, cut, k) for k in range(3))
        if any(map(self.terms.has_lost_pole, (above, below, on))):
            return None
        simple = self.with_relu(cut, above, below, on)
        if simple is not None:
            return simple
        for x, r, is_above in self.places(cut):
            above, below, on = (self.with_even(side, x) for side in (above, below, on))
            at = [self.terms.replaced(side, {x: r}) for side in (above, below, on)]
            if self.agree(at, {}):
                high, low = self.terms.make("maximum", r, x), self.terms.make("minimum", x, r)
                first, second = (above, below) if is_above else (below, above)
                return self.joined(first, second, {x: high}, {x: low}, at[0], x)
        return None

    def with_relu(self, cut: _Cut, above: int, below: int, on: int) -> int | None:
        """G + q (u - v)_+ where F - G is q (u - v)."""
        forms = [self.terms.form(side) for side in (above, below, on)]
        difference = minus(forms[0], forms[1])
        if not self.terms.poles(above) <= self.terms.poles(below):
            return None  # the side that is left out may be undefined, which must show
        q = _slope(difference, cut.form)
        for off in (difference, minus(forms[2], forms[1])):
            if not self.meet(minus(off, scaled(cut.form, _slope(off, cut.form))), (above, below, on, *cut.falls)):
                return None
        if not q:
            return below
        u, v = self.terms.all[next(iter(cut.falls))].operands
        lead = minus(self.terms.form(u), self.terms.form(v))[0][1]
        factor = q / abs(lead)
        if Fraction(float(factor)) != factor:
            return None
        sides = (u, v) if lead > 0 else (v, u)
        unit = self.terms.make("relu", self.terms.make("sub", *sides))
        return self.terms.make("add", below, self.terms.make("mul", self.terms.constant(float(factor)), unit))

    def places(self, cut: _Cut) -> Iterator[tuple[int, int, bool]]:
        """Parts x and terms r such that the cut is x = r, and whether x > r is above it."""
        for t in cut.falls:
            u, v = self.terms.all[t].operands
            rises = minus(self.terms.form(u), self.terms.form(v))[0][1] > 0
            for x, r, is_above in ((u, v, rises), (v, u, not rises)):
                if self.terms.value(x) is None:
                    yield x, r, is_above
        for monomial, c in cut.form:
            if len(monomial) != 1 or monomial[0][1] != 1 or monomial[0][0] not in self.terms.atom_terms:
                continue
            rest = scaled(tuple(item for item in cut.form if item[0] != monomial), -1 / c)
            r_term = self.terms.term_of(rest)
            if r_term is not None:
                yield self.terms.atom_terms[monomial[0][0]], r_term, c > 0

    def with_even(self, term: int, x: int) -> int:
        """Where x is an absolute value, even functions of what is inside are functions of x."""
        size = self.terms.all[x]
        if size.operation != "abs":
            return term
        inside, found = size.operands[0], {}
        for t in self.terms.below(term):
            operation, operands = self.terms.all[t].operation, self.terms.all[t].operands
            power = self.terms.value(operands[-1]) if operation == "pow" else None
            is_even = operation in ("square", "cos", "cosh") or (power is not None and power % 2 == 0)
            if operands[:1] == (inside,) and is_even:
                found[t] = self.terms.make(operation, x, *operands[1:])
            elif operation == "mul" and operands == (inside, inside):
                found[t] = self.terms.make("mul", x, x)
        return self.terms.replaced(term, found)

    def joined(self, first: int, second: int, high: dict[int, int], low: dict[int, int], at: int, x: int) -> int:
        """F(max(x, r)) + G(min(x, r)) - F(r), without what cancels where a side does not depend on x."""
        if x not in self.terms.below(second) and self.terms.poles(second) <= self.terms.poles(first):
            return self.terms.replaced(first, high)
        if x not in self.terms.below(first) and self.terms.poles(first) <= self.terms.poles(second):
            return self.terms.replaced(second, low)
        both = self.terms.make("add", self.terms.replaced(first, high), self.terms.replaced(second, low))
        return self.terms.make("sub", both, at)


def _slope(form: Polynomial, of: Polynomial) -> Fraction:
    """How often the other is in it, by the first monomial."""
    return form[0][1] / of[0][1] if form and form[0][0] == of[0][0] else Fraction(0)


# ---- back to a graph --------------------------------------------------------------------------------


def _as_graph(graph: FunctionGraph, terms: TermTable, outputs: list[int]) -> FunctionGraph:
    """One node a term; outputs keep their names."""
    recorder = OperationRecorder(graph.inputs, reserved=[n.name for n in graph.nodes])
    values: dict[int, str | Formula] = {}
    for t in terms.below(*outputs):
        term = terms.all[t]
        operands = [values[o] for o in term.operands]
        match term:
            case Term("input", (), name):
                values[t] = name
            case Term("constant", (), number):
                values[t] = Constant(number)
            case _ if terms.is_constant(t):
                values[t] = Apply(term.operation, tuple(o for o in operands if not isinstance(o, str)))
            case Term("opaque", _, node):
                names = [_named(recorder, o, graph) for o in operands]
                recorder.nodes.append(replace(node, parents=tuple(recorder.distinct(names))))
                values[t] = node.name
            case _:
                values[t] = recorder.apply(term.operation, operands)
    made = recorder.distinct([_named(recorder, values[t], graph) for t in outputs])
    found = recorder.build(made)
    return found.rename({new: old for new, old in zip(made, graph.outputs, strict=True) if new not in graph})


def _named(recorder: OperationRecorder, value: str | Formula, graph: FunctionGraph) -> str:
    """The name of a value; a constant becomes a node that does not depend on its parent."""
    if isinstance(value, str):
        return value
    name = f"constant_{len(recorder.nodes)}"
    nothing = Apply("mul", (Constant(0.0), Argument(0)))
    recorder.nodes.append(Node(name, graph.inputs[:1], Constituent.from_formula(Apply("add", (nothing, value)), 1)))
    return name
