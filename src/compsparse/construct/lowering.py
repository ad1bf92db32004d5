"""From a function graph to steps: affine forms, ReLUs, curves of one form, products of two, grids of few.

Sums and multiples are fused into affine forms and cost nothing. Whatever a formula does with one form alone becomes a
single curve. Ranges are those of the exact function, by interval arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from compsparse.boxes import Side
from compsparse.clock import look_at_clock
from compsparse.construct.curves import CURVES
from compsparse.construct.enclosure import BoxBounds, FormulaBounds, bounds_on, enclose
from compsparse.construct.forms import AffineForm, Ranges, centred_at, coefficients, rounded_up
from compsparse.construct.intervals import IntervalArray
from compsparse.construct.opaque import Opaque
from compsparse.construct.splines import mesh_on
from compsparse.errors import GraphError
from compsparse.graph import FunctionGraph, Node
from compsparse.graph.derived import spelled_out
from compsparse.graph.formula import Apply, Argument, Constant, Formula, render, walk

StepKind = Literal["relu", "curve", "square", "product", "grid"]
_CELLS = 1024
_JUMPS = {"sign", "floor", "greater", "less", "greater_equal", "less_equal", "where", "arctan2"}
_X, _Y = Argument(0), Argument(1)
_RELU, _SQUARE, _PRODUCT = Apply("relu", (_X,)), Apply("square", (_X,)), Apply("mul", (_X, _Y))
_LONGEST_CURVE = 40
"""Parts of a curve beyond which it becomes a step before the next node adds to it."""


@dataclass(frozen=True)
class ProgramStep:
    """One number that the network computes: a function of affine forms of earlier wires.

    Attributes:
        wire: the number of its result; inputs come first.
        node: the node of the graph that needed it first.
        formula: the function of the forms.
        range: where its exact value lies.
    """

    wire: int
    node: str
    kind: StepKind
    forms: tuple[AffineForm, ...]
    formula: Formula | Opaque
    range: Side


@dataclass(frozen=True)
class Curve:
    """A function of one affine form that was not yet made a step."""

    base: AffineForm
    formula: Formula


@dataclass(frozen=True)
class Program:
    """Steps in order, the form of every node, and exact ranges: of forms, and of inputs and nodes by name.

    A node in ``curves`` has no form: it was folded into those who read it.
    """

    graph: FunctionGraph
    formulas: dict[str, Formula | Opaque]
    steps: tuple[ProgramStep, ...]
    forms: dict[str, AffineForm]
    curves: dict[str, Curve]
    ranges: Ranges
    node_bounds: dict[str, FormulaBounds]
    sides: dict[str, Side]

    @property
    def outputs(self) -> list[AffineForm]:
        """The forms of the outputs."""
        return [self.forms[name] for name in self.graph.outputs]


def lower_graph(
    graph: FunctionGraph,
    domain: Sequence[Side],
    tol: float,
    grids: Collection[str] = (),
    opaque: Mapping[str, Opaque] | None = None,
) -> Program:
    """Steps for a graph on a box; the nodes in ``grids`` become one grid each, ``opaque`` stands for formulas."""
    return _Lowering(graph, domain, tol, grids, opaque or {}).program()


class _Lowering:
    def __init__(
        self,
        graph: FunctionGraph,
        domain: Sequence[Side],
        tol: float,
        grids: Collection[str],
        opaque: Mapping[str, Opaque],
    ):
        self.graph, self.tol, self.grids, self.opaque = graph, tol, frozenset(grids), opaque
        self.steps: list[ProgramStep] = []
        self.ranges = Ranges(dict(enumerate(domain)))
        self.values: dict[str, AffineForm | Curve] = {name: AffineForm.wire(i) for i, name in enumerate(graph.inputs)}
        self.places = dict(zip(graph.inputs, domain, strict=True))
        self.bounds: dict[str, FormulaBounds] = {}
        self.formulas: dict[str, Formula | Opaque] = {}
        self.made: dict[object, AffineForm] = {}

    def program(self) -> Program:
        for node in self.graph.nodes:
            look_at_clock()
            formula = self.formulas[node.name] = self.opaque.get(node.name) or _formula_of(node)
            box = [self.places[p] for p in node.parents]
            self.bounds[node.name] = bounds = self.checked(node, formula, box)
            self.places[node.name] = bounds.side
            worker = _NodeLowering(self, node, [self.values[p] for p in node.parents], box)
            self.values[node.name] = worker.whole(formula)
        return self.needed()

    def checked(self, node: Node, formula: Formula | Opaque, box: Sequence[Side]) -> FormulaBounds:
        found = bounds_on(formula, box, 4 * _CELLS)
        if isinstance(formula, Opaque) or found.is_finite:
            return found
        found = bounds_on(formula, box, 64 * _CELLS)
        if not found.is_finite:
            raise GraphError(_pole(node, formula, box))
        return found

    def needed(self) -> Program:
        """Without the steps that no output uses."""
        forms = {name: value for name, value in self.values.items() if isinstance(value, AffineForm)}
        curves = {name: value for name, value in self.values.items() if isinstance(value, Curve)}
        wanted = {w for name in self.graph.outputs for w in forms[name].wires}
        for step in reversed(self.steps):
            if step.wire in wanted:
                wanted |= {w for form in step.forms for w in form.wires}
        steps = tuple(step for step in self.steps if step.wire in wanted)
        return Program(self.graph, self.formulas, steps, forms, curves, self.ranges, self.bounds, self.places)

    def step(
        self, node: str, kind: StepKind, forms: tuple[AffineForm, ...], formula: Formula | Opaque, where: Side
    ) -> AffineForm:
        key = (kind, forms, formula)
        if key not in self.made:
            wire = self.graph.n_inputs + len(self.steps)
            self.steps.append(ProgramStep(wire, node, kind, forms, formula, where))
            self.ranges.wires[wire] = where
            self.made[key] = AffineForm.wire(wire)
        return self.made[key]


class _NodeLowering:
    """Lowers the formula of one node; every part of it has a range in terms of the node's parents."""

    def __init__(self, all_of_it: _Lowering, node: Node, arguments: list[AffineForm | Curve], box: list[Side]):
        self.all, self.node, self.arguments, self.box = all_of_it, node, arguments, box
        self.owner = node.name
        self.known: dict[Formula, AffineForm | Curve] = {}
        self.ranges: dict[Formula, Side] = {}
        self.bounds = BoxBounds(box, _CELLS)

    def whole(self, formula: Formula | Opaque) -> AffineForm | Curve:
        if isinstance(formula, Opaque):
            kind: StepKind = "curve" if len(self.arguments) == 1 else "grid"
            where = bounds_on(formula, self.box, _CELLS).side
            return self.all.step(self.node.name, kind, self.parents(), formula, where)
        if self.node.name in self.all.grids and not _is_exact(formula) and len(self.arguments) > 1:
            if bounds_on(formula, self.box).jumps:
                raise GraphError(_jump(self.node, formula))
            return self.all.step(self.node.name, "grid", self.parents(), formula, self.range(formula))
        value = self.value(formula)
        is_short = isinstance(value, Curve) and sum(1 for _ in walk(value.formula)) <= _LONGEST_CURVE
        if is_short and self.node.name not in self.all.graph.outputs:
            return value
        return self.form(formula)

    def parents(self) -> tuple[AffineForm, ...]:
        return tuple(self.form(Argument(i)) for i in range(len(self.arguments)))

    def range(self, part: Formula) -> Side:
        if part not in self.ranges:
            self.ranges[part] = self.bounds.of(part).side
        return self.ranges[part]

    def form(self, part: Formula) -> AffineForm:
        """The part as an affine form of wires; a curve becomes a step."""
        value = self.value(part)
        if isinstance(value, AffineForm):
            found = value
        elif isinstance(part, Argument):
            found = self.settled(part, value)
        else:
            found = self.made(value, self.range(part))
        self.all.ranges.learn(found, self.range(part))
        return found

    def settled(self, part: Argument, curve: Curve) -> AffineForm:
        """A parent that was left as a curve becomes a step, which belongs to the parent."""
        parent, self.owner = self.node.parents[part.index], self.node.parents[part.index]
        found = self.made(curve, self.range(part))
        self.owner = self.node.name
        self.all.values[parent] = self.arguments[part.index] = self.known[part] = found
        return found

    def made(self, curve: Curve, where: Side) -> AffineForm:
        found = coefficients(curve.formula)
        if found is not None and len(found) <= 2:
            return curve.base.scaled(found[1] if len(found) > 1 else 0) + AffineForm.number(found[0])
        base_range = self.all.ranges.of(curve.base)
        if found is not None and (len(found) == 3 or self.products_are_cheaper(curve, base_range, len(found) - 1)):
            return self.polynomial(curve.base, found, base_range)
        own = bounds_on(curve.formula, [base_range], _CELLS).side
        met = IntervalArray.of(*where).meet(IntervalArray.of(*own))
        return self.all.step(self.owner, "curve", (curve.base,), curve.formula, met.total())

    def products_are_cheaper(self, curve: Curve, where: Side, degree: int) -> bool:
        """Two units a level and a level for every factor of four, against |f''|^(1/2) over sqrt(8 eps)."""
        low, high = where
        if not low < high:
            return False
        eps = self.all.tol / 4
        mesh = mesh_on(curve.formula, np.linspace(low, high, 65))
        size = max(float(mesh.value.width.max()), float(np.ptp([*mesh.value.total()])), eps)
        by_depth = (degree - 1) * 2 * (math.log2(size / eps) / 2 + 2)
        return by_depth < mesh.root_curvature / math.sqrt(8 * eps)

    def polynomial(self, base: AffineForm, found: list[Fraction], where: Side) -> AffineForm:
        """Horner's rule in x - c, with the middle c of the range: one square, then products."""
        c = _centred(*where)[0]
        terms = centred_at(found, c)
        x = base - AffineForm.number(c)
        square = self.square(x, self.all.ranges.of(x))
        total = square.scaled(terms[-1]) + x.scaled(terms[-2])
        for i in reversed(range(len(terms) - 2)):
            total = total + AffineForm.number(terms[i])
            if i:
                total = self.product(total, x, (self.all.ranges.of(total), self.all.ranges.of(x)))
        return total

    def square(self, x: AffineForm, where: Side) -> AffineForm:
        c, r = _centred(*where)
        if not r:
            return x.scaled(2 * c) - AffineForm.number(c * c)
        inner = x - AffineForm.number(c)
        curved = self.all.step(self.owner, "square", (inner,), _SQUARE, (0.0, rounded_up(r * r)))
        return curved + x.scaled(2 * c) - AffineForm.number(c * c)

    def product(self, x: AffineForm, y: AffineForm, box: tuple[Side, Side]) -> AffineForm:
        """x y = (x - c)(y - d) + c y + d x - c d: only the first is no affine form."""
        (c, r), (d, s) = _centred(*box[0]), _centred(*box[1])
        rest = y.scaled(c) + x.scaled(d) - AffineForm.number(c * d)
        if not r or not s:
            return rest
        size = rounded_up(r * s)
        forms = sorted(
            [x - AffineForm.number(c), y - AffineForm.number(d)], key=lambda f: (f.wires, f.terms, f.constant)
        )
        return self.all.step(self.owner, "product", (forms[0], forms[1]), _PRODUCT, (-size, size)) + rest

    # ---- values ----------------------------------------------------------------------------

    def value(self, part: Formula) -> AffineForm | Curve:
        if part not in self.known:
            found = self.known[part] = self._fresh(part)
            if isinstance(found, AffineForm):
                self.all.ranges.learn(found, self.range(part))
        return self.known[part]

    def _fresh(self, part: Formula) -> AffineForm | Curve:  # noqa: PLR0912 (one case an operation)
        match part:
            case Argument(index):
                return self.arguments[index]
            case Constant(value):
                return AffineForm.number(value)
            case Apply("add" | "sub" | "mul" | "div" as name, (a, b)):
                return self.arithmetic(name, a, b, part)
            case Apply("neg", (a,)):
                inside = self.value(a)
                return inside.scaled(-1) if isinstance(inside, AffineForm) else self.folded(part, a)
            case Apply("pow", (a, Constant())):
                return self.folded(part, a)
            case Apply("pow", (a, b)):
                if isinstance(a, Constant):
                    return self.folded(part, b)
                return self.value(Apply("exp", (Apply("mul", (b, Apply("log", (a,)))),)))
            case Apply("maximum", (a, b)):
                return self.largest(a, b, 1)
            case Apply("minimum", (a, b)):
                return self.largest(a, b, -1)
            case Apply("relu", (a,)):
                return self.relu(self.form(a), self.range(a))
            case Apply("abs", (a,)):
                inside = self.form(a)
                return self.relu(inside, self.range(a)).scaled(2) - inside
            case Apply("hypot", (a, b)):
                squares = Apply("add", (Apply("square", (a,)), Apply("square", (b,))))
                return self.value(Apply("sqrt", (squares,)))
            case Apply("mod", _) if (other := spelled_out(part)) is not None:
                return self.value(other)
            case Apply(name, operands) if name in _JUMPS:
                return self.decided(part, operands)
            case Apply(name, (a,)) if name in CURVES:
                return self.folded(part, a)
        raise GraphError(f"node {self.node.name!r} uses {part}, which cannot be compiled")

    def arithmetic(self, name: str, a: Formula, b: Formula, part: Formula) -> AffineForm | Curve:
        x, y = self.value(a), self.value(b)
        if isinstance(x, AffineForm) and isinstance(y, AffineForm):
            if name in ("add", "sub"):
                return x + y if name == "add" else x - y
            if y.is_constant and name == "mul":
                return x.scaled(y.constant)
            if y.is_constant and y.constant:
                return x.scaled(1 / y.constant)
            if x.is_constant and name == "mul":
                return y.scaled(x.constant)
        fused = self.fused(name, x, y)
        if fused is not None:
            return fused
        if name == "div":
            return self.arithmetic("mul", a, Apply("reciprocal", (b,)), part)
        left, right = self.form(a), self.form(b)
        if name in ("add", "sub"):
            return left + right if name == "add" else left - right
        return self.product(left, right, (self.range(a), self.range(b)))

    def fused(self, name: str, x: AffineForm | Curve, y: AffineForm | Curve) -> Curve | None:
        """One curve of both, where they are functions of the same form."""
        bases = [v.base for v in (x, y) if isinstance(v, Curve)]
        if not bases and isinstance(x, AffineForm) and isinstance(y, AffineForm):
            bases = [_based(v)[0] for v in (x, y) if not v.is_constant]
            if len(bases) == 2 and bases[0] != bases[1]:
                return None
        if not bases:
            return None
        parts = [_over(v, bases[0]) for v in (x, y)]
        if parts[0] is None or parts[1] is None:
            return None
        return Curve(bases[0], Apply(name, (parts[0], parts[1])))

    def folded(self, part: Apply, varying: Formula) -> AffineForm | Curve:
        """An operation of which one operand varies: a curve, or a number where that is constant."""
        inside = self.value(varying)

        def with_operand(found: Formula) -> Apply:
            return Apply(part.operation, tuple(found if o is varying else o for o in part.operands))

        if isinstance(inside, Curve):
            return Curve(inside.base, with_operand(inside.formula))
        if inside.is_constant:
            return AffineForm.number(_number(with_operand(Constant(float(inside.constant)))))
        base, formula = _based(inside)
        return Curve(base, with_operand(formula))

    # ---- kinks and jumps -------------------------------------------------------------------

    def relu(self, form: AffineForm, where: Side) -> AffineForm:
        low, high = where
        if low >= 0 or form.is_constant:
            return form if low >= 0 or form.constant >= 0 else AffineForm.number(0)
        if high <= 0:
            return AffineForm.number(0)
        return self.all.step(self.node.name, "relu", (form,), _RELU, (0.0, high))

    def largest(self, a: Formula, b: Formula, sign: int) -> AffineForm:
        """max(a, b) = a + (b - a)_+ and min(a, b) = a - (a - b)_+."""
        x, y = self.form(a), self.form(b)
        difference = Apply("sub", (b, a)) if sign > 0 else Apply("sub", (a, b))
        return x + self.relu((y - x).scaled(sign), self.range(difference)).scaled(sign)

    def decided(self, part: Apply, operands: tuple[Formula, ...]) -> AffineForm | Curve:
        """Operations that jump are what they are on the one side where the whole box lies."""
        if part.operation == "where":
            low, high = self.range(operands[0])
            if low > 0 or high < 0:
                return self.value(operands[1])
            if low == high == 0:
                return self.value(operands[2])
        elif part.operation == "arctan2":
            return self.angle(part)
        else:
            low, high = self.range(part)
            if low == high:
                return AffineForm.number(low)
        raise GraphError(_jump(self.node, part))

    def angle(self, part: Apply) -> AffineForm | Curve:
        y, x = part.operands
        (y_low, y_high), (x_low, _) = self.range(y), self.range(x)
        if x_low > 0:
            return self.value(Apply("arctan", (Apply("div", (y, x)),)))
        if y_low > 0 or y_high < 0:
            turn = Constant(float(np.copysign(np.pi / 2, y_low if y_low > 0 else y_high)))
            return self.value(Apply("sub", (turn, Apply("arctan", (Apply("div", (x, y)),)))))
        raise GraphError(_jump(self.node, part))


# ---- small things -------------------------------------------------------------------------------


def _formula_of(node: Node) -> Formula:
    if node.constituent is None or node.constituent.formula is None:
        raise GraphError(
            f"node {node.name!r} has no formula, so its derivatives cannot be bounded: write it with known operations, "
            "declare bounds for it, or ask for an estimate from samples with estimate=True"
        )
    return node.constituent.formula


def _centred(low: float, high: float) -> tuple[Fraction, Fraction]:
    """Centre and radius of an interval, exactly."""
    a, b = Fraction(low), Fraction(high)
    return (a + b) / 2, (b - a) / 2


def _is_exact(formula: Formula) -> bool:
    """Whether ReLUs and sums alone compute it."""
    return all(
        p.operation in ("add", "sub", "neg", "maximum", "minimum", "abs", "relu")
        or (p.operation in ("mul", "div") and any(isinstance(o, Constant) for o in p.operands[-1:]))
        or (p.operation == "mul" and isinstance(p.operands[0], Constant))
        for p in walk(formula)
        if isinstance(p, Apply)
    )


def _based(form: AffineForm) -> tuple[AffineForm, Formula]:
    """A form as a function of its wire, where it has one and double precision holds its numbers; else of itself."""
    if len(form.terms) == 1:
        (wire, weight), shift = form.terms[0], form.constant
        if Fraction(float(weight)) == weight and Fraction(float(shift)) == shift:
            inside: Formula = _X if weight == 1 else Apply("mul", (Constant(float(weight)), _X))
            return AffineForm.wire(wire), inside if not shift else Apply("add", (inside, Constant(float(shift))))
    return form, _X


def _over(value: AffineForm | Curve, base: AffineForm) -> Formula | None:
    """The value as a function of the base, or None."""
    if isinstance(value, Curve):
        return value.formula if value.base == base else None
    if value.is_constant:
        number = float(value.constant)
        return Constant(number) if Fraction(number) == value.constant else None
    if value == base:
        return _X
    own, formula = _based(value)
    return formula if own == base else None


def _number(formula: Formula) -> float:
    """The value of a formula of constants, to double precision."""
    found = enclose(formula, [IntervalArray.of(0.0)], order=0).value
    return float(0.5 * (found.lower + found.upper))


def _pole(node: Node, formula: Formula, box: Sequence[Side]) -> str:
    """Names the first operation whose values cannot be bounded, and the range of what it is taken of."""
    for part in walk(formula):
        if not bounds_on(part, box, _CELLS).is_finite and isinstance(part, Apply):
            inside, does = part.operands[-1], f"takes {part.operation} of"
            if part.operation == "div":
                does = "divides by"
            elif part.operation == "pow":
                inside, does = part.operands[0], f"takes the power {render(inside, node.parents, digits=4)} of"
            there = bounds_on(inside, box, _CELLS)
            return (
                f"node {node.name!r} {does} {render(inside, node.parents, digits=4)}, which may lie anywhere from "
                f"{there.lower:.4g} to {there.upper:.4g} on this domain, where it cannot be bounded: narrow the domain"
            )
    return f"node {node.name!r} cannot be bounded on this domain: narrow the domain"


def _jump(node: Node, part: Formula) -> str:
    name = next((p.operation for p in walk(part) if isinstance(p, Apply) and p.operation in _JUMPS), "a jump")
    return (
        f"node {node.name!r} jumps on this domain ({name}), as far as algebra shows, and no continuous network comes "
        "close to a jump in the sup norm: narrow the domain to one side of it"
    )
