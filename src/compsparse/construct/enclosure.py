r"""Where a formula, its gradient and its second derivatives lie on boxes, by interval arithmetic.

The rules of differentiation are carried out on intervals, for all boxes at once. At a kink (abs, max, min, relu) the
slopes on both sides are kept and the second derivative is unknown; beyond a pole nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from compsparse.boxes import Side
from compsparse.construct.curves import CURVES, ONE, Derivatives, power_curve
from compsparse.construct.intervals import IntervalArray
from compsparse.construct.opaque import Opaque
from compsparse.errors import GraphError
from compsparse.graph import FunctionGraph
from compsparse.graph.derived import spelled_out
from compsparse.graph.formula import Apply, Argument, Constant, Formula

_ZERO = IntervalArray.of(0.0)
_Slopes = dict[int, IntervalArray]
_Bends = dict[tuple[int, int], IntervalArray]


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Intervals for a value, its slopes and its second derivatives (i <= j); what is missing is zero.

    Attributes:
        jumps: boxes on which the function may jump.
    """

    value: IntervalArray
    first: _Slopes
    second: _Bends
    jumps: np.ndarray

    def slope(self, i: int) -> IntervalArray:
        """The derivative by argument i."""
        return self.first.get(i, _ZERO)

    def bend(self, i: int, j: int) -> IntervalArray:
        """The second derivative by arguments i and j."""
        return self.second.get((min(i, j), max(i, j)), _ZERO)


def enclose(formula: Formula | Opaque, boxes: Sequence[IntervalArray], *, order: int = 2) -> Enclosure:
    """Encloses the formula on boxes, given as one array of intervals per argument.

    Args:
        order: how many derivatives are wanted.

    >>> from compsparse.graph.parser import parse_formula
    >>> found = enclose(parse_formula("a*b", ["a", "b"]), [IntervalArray.of(0.0, 1.0), IntervalArray.of(2.0, 3.0)])
    >>> [round(bound, 9) for bound in (*found.value.total(), *found.slope(0).total())]
    [0.0, 3.0, 2.0, 3.0]
    """
    with np.errstate(all="ignore"):
        if isinstance(formula, Opaque):
            return Enclosure(*formula.enclosure(boxes, order), np.zeros(np.shape(boxes[0].lower), dtype=bool))
        nowhere = np.zeros(np.shape(boxes[0].lower) if boxes else (), dtype=bool)
        arguments = [Enclosure(box, {i: ONE} if order else {}, {}, nowhere) for i, box in enumerate(boxes)]
        return _Evaluator(arguments, order, nowhere).of(formula)


def enclose_graph(graph: FunctionGraph, boxes: Sequence[IntervalArray], *, order: int = 2) -> dict[str, Enclosure]:
    """Every node of a graph of formulas as a function of the inputs, with its derivatives by them."""
    nowhere = np.zeros(np.shape(boxes[0].lower), dtype=bool)
    found = {
        name: Enclosure(box, {i: ONE} if order else {}, {}, nowhere)
        for i, (name, box) in enumerate(zip(graph.inputs, boxes, strict=True))
    }
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            if node.constituent is None or node.constituent.formula is None:
                raise GraphError(f"node {node.name!r} has no formula")
            evaluator = _Evaluator([found[p] for p in node.parents], order, nowhere)
            found[node.name] = evaluator.of(node.constituent.formula)
    return found


class _Evaluator:
    def __init__(self, arguments: list[Enclosure], order: int, nowhere: np.ndarray):
        self.arguments, self.order, self.nowhere = arguments, order, nowhere
        self.known: dict[Formula, Enclosure] = {}

    def of(self, formula: Formula) -> Enclosure:
        if formula not in self.known:
            self.known[formula] = self._fresh(formula)
        return self.known[formula]

    def _fresh(self, formula: Formula) -> Enclosure:  # noqa: PLR0912 (one case an operation)
        match formula:
            case Argument(index):
                return self.arguments[index]
            case Constant(value):
                return Enclosure(IntervalArray.of(value), {}, {}, self.nowhere)
            case Apply("pow", (inside, Constant(p))):
                return self.curve(self.of(inside), power_curve(self.of(inside).value, p))
            case Apply("pow", (base, exponent)):
                return self.of(Apply("exp", (Apply("mul", (exponent, Apply("log", (base,)))),)))
            case Apply("add", (left, right)):
                a, b = self.of(left), self.of(right)
                return self.sum(a, b, a.value + b.value)
            case Apply("sub", (left, right)):
                a, b = self.of(left), self.of(right)
                return self.sum(a, _negated(b), a.value - b.value)
            case Apply("mul", (left, right)):
                return self.product(self.of(left), self.of(right))
            case Apply("div", (top, Constant(c))) if c:
                return self.product(self.of(top), Enclosure(IntervalArray.of(c).reciprocal(), {}, {}, self.nowhere))
            case Apply("div", (top, bottom)):
                below = self.of(bottom)
                return self.product(self.of(top), self.curve(below, CURVES["reciprocal"](below.value)))
            case Apply("neg", (inside,)):
                return _negated(self.of(inside))
            case Apply("maximum", (left, right)):
                return self.largest(self.of(left), self.of(right))
            case Apply("minimum", (left, right)):
                return _negated(self.largest(_negated(self.of(left)), _negated(self.of(right))))
            case Apply("relu", (inside,)):
                return self.largest(self.of(inside), self.of(Constant(0.0)))
            case Apply("abs", (inside,)):
                a = self.of(inside)
                return self.either(a, _negated(a), a.value.absolute(), a.value.lower >= 0, a.value.upper <= 0)
            case Apply("sign" | "floor" as name, (inside,)):
                a, step = self.of(inside), np.sign if name == "sign" else np.floor
                return self.step(a, IntervalArray(step(a.value.lower), step(a.value.upper)))
            case Apply("greater" | "greater_equal" as name, (left, right)):
                return self.compared(self.of(left), self.of(right), or_equal=name == "greater_equal")
            case Apply("less" | "less_equal" as name, (left, right)):
                return self.compared(self.of(right), self.of(left), or_equal=name == "less_equal")
            case Apply("hypot", (left, right)):
                return self.hypot(self.of(left), self.of(right))
            case Apply("arctan2", (left, right)):
                return self.angle(self.of(left), self.of(right))
            case Apply("where", (condition, left, right)):
                return self.choice(self.of(condition), self.of(left), self.of(right))
            case Apply(name, (inside,)) if name in CURVES:
                return self.curve(self.of(inside), CURVES[name](self.of(inside).value))
            case Apply("mod", _) if (other := spelled_out(formula)) is not None:
                return self.of(other)
        raise TypeError(f"not a formula: {formula!r}")

    # ---- smooth operations ---------------------------------------------------------------

    def sum(self, a: Enclosure, b: Enclosure, value: IntervalArray) -> Enclosure:
        first, second = dict(a.first), dict(a.second)
        for i, slope in b.first.items():
            first[i] = first[i] + slope if i in first else slope
        for key, bend in b.second.items():
            second[key] = second[key] + bend if key in second else bend
        return Enclosure(value, first, second, a.jumps | b.jumps)

    def product(self, a: Enclosure, b: Enclosure) -> Enclosure:
        value = a.value.square() if a is b else a.value * b.value
        first, second = {}, {}
        for i in sorted({*a.first, *b.first}) if self.order else ():
            first[i] = _dot((b.value, a.first.get(i)), (a.value, b.first.get(i)))
        for i, j in _pairs(first) if self.order > 1 else ():
            second[i, j] = _dot(
                (b.value, a.second.get((i, j))),
                (a.value, b.second.get((i, j))),
                (a.slope(i), b.first.get(j)),
                (a.slope(j), b.first.get(i)),
            )
        return Enclosure(value, first, second, a.jumps | b.jumps)

    def curve(self, inside: Enclosure, outside: Derivatives) -> Enclosure:
        """f(u): the slope is f'(u) u_i, the second derivative f''(u) u_i u_j + f'(u) u_ij."""
        first, second = {}, {}
        for i, slope in inside.first.items():
            first[i] = outside.first * slope
        for i, j in _pairs(first) if self.order > 1 else ():
            u_i = inside.first[i]
            pair = u_i.square() if i == j else u_i * inside.first[j]
            second[i, j] = _dot((outside.second, pair), (outside.first, inside.second.get((i, j))))
        return Enclosure(outside.value, first, second, inside.jumps)

    def surface(
        self,
        a: Enclosure,
        b: Enclosure,
        value: IntervalArray,
        slopes: Sequence[IntervalArray],
        bends: Sequence[IntervalArray],
    ) -> Enclosure:
        """f(u, v) with its partial derivatives f_u, f_v and f_uu, f_uv, f_vv."""
        first, second = {}, {}
        for i in sorted({*a.first, *b.first}) if self.order else ():
            first[i] = _dot((slopes[0], a.first.get(i)), (slopes[1], b.first.get(i)))
        for i, j in _pairs(first) if self.order > 1 else ():
            second[i, j] = _dot(
                (slopes[0], a.second.get((i, j))),
                (slopes[1], b.second.get((i, j))),
                (bends[0] * a.slope(i), a.first.get(j)),
                (bends[1] * a.slope(i), b.first.get(j)),
                (bends[1] * a.slope(j), b.first.get(i)),
                (bends[2] * b.slope(i), b.first.get(j)),
            )
        return Enclosure(value, first, second, a.jumps | b.jumps)

    def hypot(self, a: Enclosure, b: Enclosure) -> Enclosure:
        x, y = a.value, b.value
        r = CURVES["sqrt"](x.square() + y.square()).value
        inverse = r.reciprocal()
        unit = IntervalArray.of(-1.0, 1.0)
        cosine, sine = unit.meet(x * inverse), unit.meet(y * inverse)
        bends = [sine.square() * inverse, -(cosine * sine * inverse), cosine.square() * inverse]
        return self.surface(a, b, r, [cosine, sine], bends)

    def angle(self, a: Enclosure, b: Enclosure) -> Enclosure:
        """arctan2(y, x), away from the cut along y = 0, x <= 0."""
        y, x = a.value, b.value
        inverse = (x.square() + y.square()).reciprocal()
        cut = (x.lower <= 0) & (y.lower <= 0) & (y.upper >= 0)
        corners = [
            IntervalArray(u, u).monotone(lambda t, v=v: np.arctan2(t, v))  # type: ignore[misc]
            for u in (y.lower, y.upper)
            for v in (x.lower, x.upper)
        ]
        value = corners[0]
        for corner in corners[1:]:
            value = value.hull(corner)
        f_y, f_x = (x * inverse).only(~cut), (-(y * inverse)).only(~cut)
        twice = (x * y * inverse.square()).scaled(2.0)
        mixed = (y.square() - x.square()) * inverse.square()
        found = self.surface(a, b, value, [f_y, f_x], [-twice, mixed, twice])
        return replace(found, jumps=found.jumps | cut)

    # ---- kinks and jumps -------------------------------------------------------------------

    def largest(self, a: Enclosure, b: Enclosure) -> Enclosure:
        value = IntervalArray(np.maximum(a.value.lower, b.value.lower), np.maximum(a.value.upper, b.value.upper))
        return self.either(a, b, value, a.value.lower >= b.value.upper, b.value.lower >= a.value.upper)

    def either(self, a: Enclosure, b: Enclosure, value: IntervalArray, is_a: np.ndarray, is_b: np.ndarray) -> Enclosure:
        """One of two; where it is open which, slopes of both are possible and second derivatives unknown."""
        first, second = {}, {}
        for i in sorted({*a.first, *b.first}):
            left, right = a.slope(i), b.slope(i)
            first[i] = left.where(is_a, right.where(is_b, left.hull(right)))
        for i, j in _pairs(first) if self.order > 1 else ():
            second[i, j] = a.bend(i, j).where(is_a, b.bend(i, j).only(is_b))
        return Enclosure(value, first, second, (a.jumps & ~is_b) | (b.jumps & ~is_a))

    def step(self, a: Enclosure, value: IntervalArray) -> Enclosure:
        open_ = value.lower != value.upper
        either = IntervalArray.of(np.zeros(np.shape(value.lower))).only(~open_)
        first = dict.fromkeys(a.first, either)
        second = dict.fromkeys(_pairs(first), either) if self.order > 1 else {}
        return Enclosure(value, first, second, a.jumps | open_)

    def compared(self, a: Enclosure, b: Enclosure, *, or_equal: bool) -> Enclosure:
        """a > b, or a >= b."""
        if or_equal:
            true, false = a.value.lower >= b.value.upper, a.value.upper < b.value.lower
        else:
            true, false = a.value.lower > b.value.upper, a.value.upper <= b.value.lower
        value = IntervalArray(np.where(true, 1.0, 0.0), np.where(false, 0.0, 1.0))
        both = Enclosure(value, {**a.first, **b.first}, {}, a.jumps | b.jumps)
        return self.step(both, value)

    def choice(self, condition: Enclosure, a: Enclosure, b: Enclosure) -> Enclosure:
        c = condition.value
        is_a, is_b = (c.lower > 0) | (c.upper < 0), (c.lower == 0) & (c.upper == 0)
        value = a.value.where(is_a, b.value.where(is_b, a.value.hull(b.value)))
        found = self.either(a, b, value, is_a, is_b)
        open_ = ~(is_a | is_b)
        first = {i: found.slope(i).only(~open_) for i in {*found.first, *condition.first}}
        return replace(found, first=first, jumps=found.jumps | open_)


def _negated(a: Enclosure) -> Enclosure:
    first = {i: -slope for i, slope in a.first.items()}
    return Enclosure(-a.value, first, {pair: -bend for pair, bend in a.second.items()}, a.jumps)


def _dot(*terms: tuple[IntervalArray, IntervalArray | None]) -> IntervalArray:
    """The sum of products; a factor None is zero."""
    total: IntervalArray | None = None
    for left, right in terms:
        if right is not None:
            product = left * right
            total = product if total is None else total + product
    return _ZERO if total is None else total


def _pairs(first: _Slopes) -> list[tuple[int, int]]:
    return [(i, j) for i in first for j in first if i <= j]


# ---- bounds on one box, by cutting it up ------------------------------------------------------


def cut_box(box: Sequence[Side], most: int = 4096) -> list[IntervalArray]:
    """The box cut into equal cells, as one array of intervals per side; sides without width are not cut."""
    wide = sum(low < high for low, high in box)
    per_side = max(int(most ** (1 / wide)), 1) if wide else 1
    edges = [even_edges(low, high, per_side if low < high else 1) for low, high in box]
    lows = np.meshgrid(*(e[:-1] for e in edges), indexing="ij")
    highs = np.meshgrid(*(e[1:] for e in edges), indexing="ij")
    return [IntervalArray(a.ravel(), b.ravel()) for a, b in zip(lows, highs, strict=True)]


def even_edges(low: float, high: float, n: int) -> np.ndarray:
    """The ends of n equal pieces, the outermost of them exactly."""
    edges = np.linspace(low, high, n + 1)
    edges[0], edges[-1] = low, high
    return edges


@dataclass(frozen=True)
class FormulaBounds:
    """Over a whole box: the range, the largest slope by each argument, and whether the function may jump."""

    lower: float
    upper: float
    slopes: tuple[float, ...]
    jumps: bool

    @property
    def side(self) -> Side:
        """The range."""
        return self.lower, self.upper

    @property
    def is_finite(self) -> bool:
        """Whether the range has two ends."""
        return bool(np.isfinite(self.side).all())


class BoxBounds:
    """Certified bounds of many formulas over one box, cut into so many cells; shared parts are enclosed once."""

    def __init__(self, box: Sequence[Side], most: int = 4096):
        self.cells = cut_box(box, most)
        nowhere = np.zeros(np.shape(self.cells[0].lower), dtype=bool)
        self.middles = [IntervalArray.of(np.clip(0.5 * (c.lower + c.upper), c.lower, c.upper)) for c in self.cells]
        whole = [Enclosure(c, {i: ONE}, {}, nowhere) for i, c in enumerate(self.cells)]
        points = [Enclosure(m, {}, {}, nowhere) for m in self.middles]
        self.on_cells, self.at_middles = _Evaluator(whole, 1, nowhere), _Evaluator(points, 0, nowhere)

    def of(self, formula: Formula | Opaque) -> FormulaBounds:
        """Range and slopes; values also as f(c) + f'(cell) (cell - c) around the middles c of cells."""
        with np.errstate(all="ignore"):
            if isinstance(formula, Opaque):
                found = enclose(formula, self.cells, order=1)
                value = found.value
            else:
                found = self.on_cells.of(formula)
                value = self.at_middles.of(formula).value
                for i, slope in found.first.items():
                    value = value + slope * (self.cells[i] - self.middles[i])
                value = found.value.meet(value).where(~found.jumps, found.value)
            slopes = tuple(float(np.max(found.slope(i).magnitude)) for i in range(len(self.cells)))
        return FormulaBounds(*value.total(), slopes, bool(np.any(found.jumps)))


def bounds_on(formula: Formula | Opaque, box: Sequence[Side], most: int = 4096) -> FormulaBounds:
    """Certified bounds of a formula over a box, from so many cells."""
    return BoxBounds(box, most).of(formula)
