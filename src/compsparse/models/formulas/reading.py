"""Forms of a node over its parents, up to the node's link: sums of shapes, and sums of products of powers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from compsparse.graph.formula import Apply, Argument, Constant, Formula, substitute
from compsparse.models.formulas.algebra import with_numbers
from compsparse.models.formulas.calculus import value_of
from compsparse.models.formulas.correlation import Link
from compsparse.models.formulas.shapes import Fitted, Shape, fitted_shapes

_SHAPES_EACH = 5
_MOST_TERMS = 4
_MOST_COST = {1: 4, 2: 5, 3: 4, 4: 3}
_BEAM = 60
_MOST_PARENTS = 4


@dataclass(frozen=True, eq=False)
class Form:
    """A formula of the parents, numbers included, and what it leaves of the node's values.

    Attributes:
        rest: 1 - rho^2 up to a link.
        n_constants: numbers in it that were fitted.
    """

    formula: Formula
    rest: float
    n_constants: int

    def score(self, n: float, floor: float) -> float:
        """Smaller is better: what is left, and what the constants cost (Schwarz 1978)."""
        return float(n * np.log(self.rest + floor) + np.log(n) * self.n_constants)


def forms_of(values: np.ndarray, parents: Sequence[np.ndarray], n: float, most: int) -> list[Form]:
    """Forms of a node, the best first.

    Args:
        values: of the node at the rows, right up to a monotone change.
        n: how many rows' worth of evidence the values are.
    """
    link = Link(values)
    found = _sums_of_shapes(link, parents, n)
    if len(parents) <= _MOST_PARENTS:
        found += _sums_of_products(link, parents)
    found = [form for form in found if np.isfinite(form.rest)]
    floor = 0.3 * min((form.rest for form in found), default=1.0) + 1e-7
    found.sort(key=lambda form: form.score(n, floor))
    return found[:most]


# ---- sums of shapes ---------------------------------------------------------------------------


def _sums_of_shapes(link: Link, parents: Sequence[np.ndarray], n: float) -> list[Form]:
    """The additive fit, its curves read as shapes; then one shape after another is exchanged."""
    if len(parents) == 1:
        return [Form(Argument(0), 0.0, 0)]
    rest, curves, _ = link.additive(parents)
    offered = [fitted_shapes(u, curve, _SHAPES_EACH, rest + 1e-6) for u, curve in zip(parents, curves, strict=True)]
    if not all(offered):
        return []
    floor = 0.3 * rest + 1e-7
    chosen = [fits[0] for fits in offered]
    tried: dict[tuple[int, ...], Form] = {}

    def form(fits: Sequence[Fitted]) -> Form:
        key = tuple(id(fit) for fit in fits)
        if key not in tried:
            tried[key] = _sum_form(link, parents, fits)
        return tried[key]

    improved = True
    while improved:
        improved = False
        for i, fits in enumerate(offered):
            for fit in fits:
                other = [*chosen[:i], fit, *chosen[i + 1 :]]
                if form(other).score(n, floor) < form(chosen).score(n, floor) - 1e-9:
                    chosen, improved = other, True
    return list(tried.values())


def _sum_form(link: Link, parents: Sequence[np.ndarray], fits: Sequence[Fitted]) -> Form:
    """One shape of every parent: a product where logarithms take part, else a sum."""
    columns = [f.shape.value(u, np.array(f.constants)[:, None] if f.constants else np.empty((0, 1)))
               for f, u in zip(fits, parents, strict=True)]  # fmt: skip
    stacked = np.stack([np.broadcast_to(np.atleast_2d(c)[0], parents[0].shape) for c in columns], axis=1)
    rest, coefficients, _ = link.against(stacked)
    logs = [abs(c) for c, f in zip(coefficients, fits, strict=True) if f.shape.is_log]
    constants = len(fits) - 1 + sum(len(f.constants) for f in fits)
    if not np.isfinite(rest) or not np.all(coefficients):
        return Form(Constant(0.0), np.inf, 0)
    parts = [_shape_formula(f.shape, i, f.constants) for i, f in enumerate(fits)]
    if logs:
        scale = max(logs)
        factors = [
            Apply("pow", (part, Constant(c / scale))) if f.shape.is_log else Apply("exp", (_times(c / scale, part),))
            for part, c, f in zip(parts, coefficients, fits, strict=True)
        ]
        return Form(_folded("mul", factors), rest, constants)
    scale = coefficients[int(np.argmax(np.abs(coefficients) * stacked.std(0)))]
    terms = [_times(c / scale, part) for part, c in zip(parts, coefficients, strict=True)]
    return Form(_folded("add", terms), rest, constants)


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


def _sums_of_products(link: Link, parents: Sequence[np.ndarray]) -> list[Form]:
    """The best sums of one to four products of powers, by trying pairs and adding to the best."""
    formulas, columns = _products(parents)
    if len(formulas) < 2:
        return []
    found: list[Form] = []
    sets = np.array(list(combinations(range(len(formulas)), 2)))
    for size in range(2, _MOST_TERMS + 1):
        rests = np.concatenate([link.rests_of_sets(columns, part) for part in np.array_split(sets, len(sets) // 20_000 + 1)])
        best = np.argsort(rests)[:_BEAM]
        for places in sets[best[:3]]:
            rest, coefficients, _ = link.against(columns[:, places])
            scale = coefficients[0] or 1.0
            terms = [_times(c / scale, formulas[j]) for c, j in zip(coefficients, places, strict=True)]
            found.append(Form(_folded("add", terms), rest, size - 1 + _EXTRA * size))
        if size < _MOST_TERMS:
            sets = np.unique(
                [sorted({*s, j}) for s in sets[best].tolist() for j in range(len(formulas)) if j not in s], axis=0
            )
    return found


_EXTRA = 1
"""What the choice of a product among many costs, in constants."""


def _products(parents: Sequence[np.ndarray]) -> tuple[list[Formula], np.ndarray]:
    """Products of one option of each parent, no dearer than is allowed, with their columns."""
    options = [_options(u, i) for i, u in enumerate(parents)]
    most = _MOST_COST[len(parents)]
    formulas, columns = [], []
    for chosen in product(*options):
        cost = sum(option[0] for option in chosen)
        if 0 < cost <= most:
            parts = [option[1] for option in chosen if option[1] is not None]
            formulas.append(_folded("mul", parts))
            columns.append(np.prod([option[2] for option in chosen], axis=0))
    kept = [i for i, c in enumerate(columns) if np.isfinite(c).all() and c.std() > 1e-9 * np.abs(c).max()]
    return [formulas[i] for i in kept], np.stack([columns[i] for i in kept], axis=1) if kept else np.empty((0, 0))


def _options(u: np.ndarray, i: int) -> list[tuple[int, Formula | None, np.ndarray]]:
    """Cost, formula and values of what may stand for a parent in a product."""
    own = Argument(i)
    exponents = {1: 1, 2: 2, 3: 3}
    if u.min() > 0:
        exponents |= {-1: 1, -2: 2, 0.5: 2, -0.5: 2}
    found: list[tuple[int, Formula | None, np.ndarray]] = [(0, None, np.ones_like(u))]
    for exponent, cost in exponents.items():
        found.append((cost, own if exponent == 1 else Apply("pow", (own, Constant(float(exponent)))), u**exponent))
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


def with_links(form: Form, parents: Sequence[np.ndarray], y: np.ndarray, most: int, floor: float) -> list[Formula]:
    """Formulas of the target: the form behind the links that follow the target best, with factor and summand."""
    with np.errstate(all="ignore"):
        inner = value_of(form.formula, parents, ())
    if not np.isfinite(inner).all() or np.ptp(inner) == 0:
        return []
    formula = form.formula
    if (inner < 0).all():
        formula, inner = Apply("neg", (formula,)), -inner
    found: list[Formula] = []
    for fit in fitted_shapes(inner, y, most, floor):
        link = _shape_formula(fit.shape, 0, fit.constants)
        column = value_of(with_numbers(link, 1, ()), [inner], ())
        if fit.shape.is_log:
            link, column = Apply("log", (link,)), np.log(column)
        slope, level = np.polyfit(column, y, 1)
        linked = _times(float(slope), substitute(link, [formula]))
        found.append(Apply("add", (linked, Constant(float(level)))))
        if not fit.shape.is_log:
            found.append(_times(float((column @ y) / (column @ column)), substitute(link, [formula])))
    return found
