"""Forms of a node over its parents, up to the node's link: sums of shapes, and sums of products of powers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product

import numpy as np

from compsparse.graph.formula import Apply, Argument, Constant, Formula, substitute
from compsparse.models.formulas.algebra import arguments_of, with_numbers
from compsparse.models.formulas.calculus import value_of
from compsparse.models.formulas.correlation import Link, rest_behind_link
from compsparse.models.formulas.shapes import LIBRARY, Fitted, Shape, fitted_shapes

_MEASURED = 24
"""Forms whose remainder is measured."""
_UNTOLD = 1e-5
"""Shares up to a link below which splines and learned values tell nothing."""
_SHAPES_EACH = 5
_ABOUT = 1.03
_PLAIN = 2
"""Constants that a product of powers of all parents, or their weighted sum, is given for free."""
_ALIKE = ("itself", "log")
"""A sum and a product of powers are tried of all parents, whatever their curves look like."""
_MOST_TERMS = 4
_MOST_COST = {2: 5, 3: 4, 4: 3}
_BEAM = 30
_MOST_PLAIN = 42
_MOST_PARENTS = 4


@dataclass(frozen=True, eq=False)
class NodeForm:
    """A formula of the parents, numbers included, and what it leaves of the node's values.

    Attributes:
        rest: 1 - rho^2 up to a link.
        n_constants: numbers in it that were fitted.
        is_plain: whether it is a sum or a product of powers of all parents.
    """

    formula: Formula
    rest: float
    n_constants: int
    is_plain: bool = False

    def score(self, n: float, floor: float) -> float:
        """Smaller is better: what is left, and what the constants cost (Schwarz 1978)."""
        return float(n * np.log(self.rest + floor) + np.log(n) * (self.n_constants - _PLAIN * self.is_plain))


def forms_of(values: np.ndarray, parents: Sequence[np.ndarray], n: float, most: int) -> list[NodeForm]:
    """Forms of a node, the best first.

    Args:
        values: of the node at the rows, right up to a monotone change.
        n: how many rows' worth of evidence the values are.
    """
    link = Link(values)
    found = _sums_of_shapes(link, parents, n)
    if 2 <= len(parents) <= _MOST_PARENTS:
        found += _sums_of_products(link, parents) + _products_of_sums(link, parents)
    # a link may hide errors of the node where they are large: what is left is measured in its own units
    found.sort(key=lambda form: form.score(n, _UNTOLD))
    found = found[:_MEASURED] + [form for form in found[_MEASURED:] if form.is_plain]
    with np.errstate(all="ignore"):
        found = [_measured(form, values, parents) for form in found]
    found = [form for form in found if np.isfinite(form.rest)]
    floor = 0.1 * min((form.rest for form in found), default=1.0) + _UNTOLD
    found.sort(key=lambda form: form.score(n, floor))
    found = [form for i, form in enumerate(found) if form.is_plain or not _is_beaten(form, found[:i])]
    return found[:most] + [form for form in found[most:] if form.is_plain]


def _measured(form: NodeForm, values: np.ndarray, parents: Sequence[np.ndarray]) -> NodeForm:
    """The form with what it leaves in the node's units, turned so that it is positive where it never changes sign."""
    inner = value_of(form.formula, parents, ())
    formula = Apply("neg", (form.formula,)) if (inner < 0).all() else form.formula
    return replace(form, formula=formula, rest=rest_behind_link(values, inner))


def _is_beaten(form: NodeForm, better: Sequence[NodeForm]) -> bool:
    """Whether a form with fewer constants leaves about as little."""
    return any(b.n_constants < form.n_constants and b.rest <= form.rest * _ABOUT for b in better)


# ---- sums of shapes ---------------------------------------------------------------------------


def _sums_of_shapes(link: Link, parents: Sequence[np.ndarray], n: float) -> list[NodeForm]:
    """The additive fit, its curves read as shapes; then one shape after another is exchanged."""
    if len(parents) == 1:
        return [NodeForm(Argument(0), 0.0, 0)]
    rest, curves, _ = link.additive(parents)
    offered = [fitted_shapes(u, curve, _SHAPES_EACH, rest + 1e-6) for u, curve in zip(parents, curves, strict=True)]
    if not all(offered):
        return []
    floor = 0.3 * rest + 1e-7
    chosen = [fits[0] for fits in offered]
    tried: dict[tuple[tuple[str, tuple[float, ...]], ...], NodeForm] = {}

    def form(fits: Sequence[Fitted]) -> NodeForm:
        key = tuple((fit.shape.name, fit.constants) for fit in fits)
        if key not in tried:
            tried[key] = _sum_form(link, parents, fits)
        return tried[key]

    for shape in (s for s in LIBRARY if s.name in _ALIKE and not (s.needs_positive and min(map(np.min, parents)) <= 0)):
        form([Fitted(shape, (), 0.0)] * len(parents))
    improved = True
    while improved:
        improved = False
        for i, fits in enumerate(offered):
            for fit in fits:
                other = [*chosen[:i], fit, *chosen[i + 1 :]]
                if form(other).score(n, floor) < form(chosen).score(n, floor) - 1e-9:
                    chosen, improved = other, True
    return list(tried.values())


def _sum_form(link: Link, parents: Sequence[np.ndarray], fits: Sequence[Fitted]) -> NodeForm:
    """One shape of every parent: a product where logarithms take part, else a sum."""
    columns = [f.shape.value(u, np.array(f.constants)[:, None] if f.constants else np.empty((0, 1)))
               for f, u in zip(fits, parents, strict=True)]  # fmt: skip
    stacked = np.stack([np.broadcast_to(np.atleast_2d(c)[0], parents[0].shape) for c in columns], axis=1)
    rest, coefficients, _ = link.against(stacked)
    logs = [abs(c) for c, f in zip(coefficients, fits, strict=True) if f.shape.is_log]
    constants = len(fits) - 1 + sum(len(f.constants) for f in fits)
    if not np.isfinite(rest) or not np.all(coefficients):
        return NodeForm(Constant(0.0), np.inf, 0)
    parts = [_shape_formula(f.shape, i, f.constants) for i, f in enumerate(fits)]
    is_plain = {f.shape.name for f in fits} in ({"log"}, {"itself"})
    if logs:
        scale = max(logs)
        factors = [
            Apply("pow", (part, Constant(c / scale))) if f.shape.is_log else Apply("exp", (_times(c / scale, part),))
            for part, c, f in zip(parts, coefficients, fits, strict=True)
        ]
        return NodeForm(_folded("mul", factors), rest, constants, is_plain)
    scale = coefficients[int(np.argmax(np.abs(coefficients) * stacked.std(0)))]
    terms = [_times(c / scale, part) for part, c in zip(parts, coefficients, strict=True)]
    return NodeForm(_folded("add", terms), rest, constants, is_plain)


def _shape_formula(shape: Shape, parent: int, constants: Sequence[float]) -> Formula:
    return substitute(shape.formula, [Argument(parent), *(Constant(float(c)) for c in constants)])


def _times(factor: float, part: Formula) -> Formula:
    return part if factor == 1 else Apply("mul", (Constant(float(factor)), part))


def _folded(operation: str, parts: Sequence[Formula]) -> Formula:
    found = parts[0]
    for part in parts[1:]:
        found = Apply(operation, (found, part))
    return found


# ---- sums of products ---------------------------------------------------------------------------


def _sums_of_products(link: Link, parents: Sequence[np.ndarray]) -> list[NodeForm]:
    """The best sums of a few products of powers: all sums of up to three plain ones, and pairs of any with a beam."""
    found: list[NodeForm] = []
    formulas, columns, costs = _products(parents)
    plain = np.argsort(costs, kind="stable")[:_MOST_PLAIN]
    for size in (1, 2, 3):
        found += _best_sums(link, formulas, columns, plain[_sets_of(len(plain), size)], size)
    sets = _sets_of(len(formulas), 2)
    for size in range(2, _MOST_TERMS + 1):
        best = np.argsort(link.rests_of_sets(columns, sets))[:_BEAM]
        found += _best_sums(link, formulas, columns, sets[best], size)
        if size < _MOST_TERMS:
            longer = {tuple(sorted((*s, j))) for s in sets[best].tolist() for j in range(len(formulas)) if j not in s}
            sets = np.array(sorted(longer)).reshape(-1, size + 1)
    return found


def _products_of_sums(link: Link, parents: Sequence[np.ndarray]) -> list[NodeForm]:
    """Products of powers of parents and of sums and differences of two: (a - b)/(a + b), a (a + b)^(-2/3)."""
    bases: list[tuple[Formula, np.ndarray]] = [(Argument(i), u) for i, u in enumerate(parents)]
    for i, j in combinations(range(len(parents)), 2):
        a, b = Argument(i), Argument(j)
        bases.append((Apply("add", (a, b)), parents[i] + parents[j]))
        bases.append((Apply("sub", (a, b)), parents[i] - parents[j]))
        bases.append((Apply("sub", (b, a)), parents[j] - parents[i]))
    bases = [(formula, column) for formula, column in bases if (column > 0).all()]
    if not bases:
        return []
    logs = np.log(np.stack([column for _, column in bases], axis=1))
    found = []
    for size in (2, 3):
        for places in _sets_of(len(bases), size):
            chosen = [bases[j][0] for j in places]
            if set().union(*map(arguments_of, chosen)) != set(range(len(parents))):
                continue
            rest, exponents, _ = link.against(logs[:, places])
            if np.isfinite(rest) and np.all(exponents):
                scale = exponents[int(np.argmax(np.abs(exponents)))]
                powers = [Apply("pow", (f, Constant(float(e / scale)))) for f, e in zip(chosen, exponents, strict=True)]
                found.append(NodeForm(_folded("mul", powers), rest, size))
    return sorted(found, key=lambda form: form.rest)[:_BEST_PRODUCTS]


_BEST_PRODUCTS = 6


@lru_cache(maxsize=16)
def _sets_of(n: int, size: int) -> np.ndarray:
    return np.array(list(combinations(range(n), size)), dtype=int).reshape(-1, size)


def _best_sums(
    link: Link, formulas: Sequence[Formula], columns: np.ndarray, sets: np.ndarray, size: int
) -> list[NodeForm]:
    """Forms of the three sets that leave least."""
    if not len(sets):
        return []
    found = []
    for places in sets[np.argsort(link.rests_of_sets(columns, sets))[:3]]:
        rest, coefficients, _ = link.against(columns[:, places])
        scale = coefficients[0] or 1.0
        terms = [_times(c / scale, formulas[j]) for c, j in zip(coefficients, places, strict=True)]
        found.append(NodeForm(_folded("add", terms), rest, size - 1 + _EXTRA * size))
    return found


_MOST_EXPONENT = 8.0
_EXTRA = 1
"""What the choice of a product among many costs, in constants."""


def _products(parents: Sequence[np.ndarray]) -> tuple[list[Formula], np.ndarray, np.ndarray]:
    """Products of one option of each parent, no dearer than is allowed, with their columns and costs."""
    options = [_options(u, i) for i, u in enumerate(parents)]
    most = _MOST_COST[len(parents)]
    formulas, columns, costs = [], [], []
    for chosen in product(*options):
        cost = sum(option[0] for option in chosen)
        if 0 < cost <= most:
            parts = [option[1] for option in chosen if option[1] is not None]
            formulas.append(_folded("mul", parts))
            columns.append(np.prod([option[2] for option in chosen], axis=0))
            costs.append(cost)
    kept = [i for i, c in enumerate(columns) if np.isfinite(c).all() and c.std() > 1e-9 * np.abs(c).max()]
    return [formulas[i] for i in kept], np.stack([columns[i] for i in kept], axis=1), np.array([costs[i] for i in kept])


def _options(u: np.ndarray, i: int) -> list[tuple[int, Formula | None, np.ndarray]]:
    """Cost, formula and values of what may stand for a parent in a product."""
    own = Argument(i)
    exponents: dict[float, int] = {1: 1, 2: 2, 3: 3}
    if u.min() > 0:
        exponents |= {-1: 1, -2: 2, 0.5: 2, -0.5: 2}
    found: list[tuple[int, Formula | None, np.ndarray]] = [(0, None, np.ones_like(u))]
    for exponent, cost in exponents.items():
        found.append((cost, own if exponent == 1 else Apply("pow", (own, Constant(float(exponent)))), u**exponent))
    for name, inner, values in (("exp", own, u), ("exp of inverse", Apply("div", (Constant(1.0), own)), 1 / u)):
        if name == "exp" or u.min() > 0:
            for sign in (1, -1):
                if np.ptp(values) > 1 and np.abs(values).max() < _MOST_EXPONENT:
                    part = inner if sign == 1 else Apply("neg", (inner,))
                    found.append((2, Apply("exp", (part,)), np.exp(sign * values)))
    if -np.pi <= u.min() and u.max() <= 2 * np.pi:
        for name in ("sin", "cos", "tan"):
            value = getattr(np, name)(u)
            if np.abs(value).max() < 50:
                found.append((2, Apply(name, (own,)), value))
                if name != "tan":
                    found.append((3, Apply("pow", (Apply(name, (own,)), Constant(2.0))), value**2))
                if name == "cos" and np.abs(value).min() > 0.02:
                    found.append((3, Apply("pow", (Apply(name, (own,)), Constant(-2.0))), value**-2))
    return found


# ---- links ------------------------------------------------------------------------------------


def with_links(form: NodeForm, parents: Sequence[np.ndarray], y: np.ndarray, most: int, floor: float) -> list[Formula]:
    """Formulas of the target: the form behind the links that follow the target best, with factor and summand."""
    with np.errstate(all="ignore"):
        inner = value_of(form.formula, parents, ())
    if not np.isfinite(inner).all() or np.ptp(inner) == 0:
        return []
    formula = form.formula
    found: list[Formula] = []
    for fit in fitted_shapes(inner, y, most, floor):
        link = _shape_formula(fit.shape, 0, fit.constants)
        column = value_of(with_numbers(link, 1, ()), [inner], ())
        if fit.shape.is_log:
            link, column = Apply("log", (link,)), np.log(column)
        centred = column - column.mean()
        size = float(centred @ centred)
        if not (np.isfinite(size) and size > 0):
            continue
        slope = float(centred @ y) / size
        level = float(y.mean() - slope * column.mean())
        linked = _times(slope, substitute(link, [formula]))
        found.append(Apply("add", (linked, Constant(level))))
        if not fit.shape.is_log:
            found.append(_times(float((column @ y) / (column @ column)), substitute(link, [formula])))
    return found
