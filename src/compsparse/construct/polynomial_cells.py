r"""Explicit networks that use as many derivatives as a function has: local polynomials, glued and multiplied by ReLUs.

On a grid of N cells a side, :math:`f \approx \sum_k \varphi_k(x) P_k(x)` with hats :math:`\varphi_k` around the middles
of cells, which add up to one, and polynomials :math:`P_k` of degree m - 1 fitted to values of the function in the cell.
The error is :math:`O(N^{-m})` where m derivatives are bounded. Every product is one of Yarotsky's, so that with
:math:`O(N^d \log(1/\varepsilon))` ReLUs the whole is within :math:`\varepsilon`: the count
:math:`\varepsilon^{-d/m}` up to a logarithm (Mhaskar and Poggio 2016, Yarotsky 2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import numpy as np
from scipy import sparse

from compsparse.checks import brief, check_count, check_number, check_numbers
from compsparse.construct.explicit import ExplicitReLU, SparseLayer
from compsparse.construct.products import levels_for
from compsparse.errors import ConfigError, DataError
from compsparse.sizes import check_size
from compsparse.text import in_a_line

_MOST_INPUTS = 16
_Function = Callable[[np.ndarray], np.ndarray]


@in_a_line
@dataclass(frozen=True, eq=False)
class LocalPolynomials:
    """The network, and what it was made of.

    Attributes:
        levels: of every product, each of which takes 2 + 2 * levels ReLUs; 0 where there is no product.
    """

    network: ExplicitReLU
    n_cells: int
    order: int
    levels: int

    @property
    def n_units(self) -> int:
        """ReLUs."""
        return self.network.size.units

    @property
    def units_without_logarithm(self) -> float:
        """ReLUs over those of a product, whose number grows with the logarithm of the accuracy."""
        return self.n_units / (2 + 2 * self.levels) if self.levels else float(self.n_units)


def local_polynomials(
    function: _Function, n_inputs: int, n_cells: int, order: int, product_error: float
) -> LocalPolynomials:
    """A ReLU network near a function on the unit cube, from its values.

    Args:
        function: from points (n, d) to values (n,), or (n, outputs), which share all hats and products.
        order: m, the derivatives that are used: polynomials have degree m - 1.
        product_error: of each product in the network.

    >>> found = local_polynomials(lambda X: X[:, 0] * (1 - X[:, 0]), 1, 4, 3, 1e-6)
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> bool(np.abs(found.network.values(x)[:, 0] - x[:, 0] * (1 - x[:, 0])).max() < 1e-4)
    True
    """
    if not callable(function):
        raise ConfigError(f"a function of points is approximated, got {brief(function)}")
    d, n, m = (
        check_count("n_inputs", n_inputs, most=_MOST_INPUTS),
        check_count("n_cells", n_cells),
        check_count("order", order),
    )
    levels = levels_for(1.0, check_number("product_error", product_error, above=0, below=1))
    n_terms = n**d * math.comb(d + m - 1, d)
    check_size(f"{n_terms:,} terms", 200.0 * n_terms * (levels + 2), "ask for fewer cells or a lower order")
    stack = _Stack(d)
    hats, places = stack.hats(n)
    patches: list[tuple[int, ...]] = [(k,) for k in range(n)]
    glue = [hats[0][k] for k in range(n)]
    for axis in range(1, d):  # hats of several variables, one variable after the other
        longer = [(i, k) for i in range(len(patches)) for k in range(n)]
        kept = [form for forms in (*hats[axis + 1 :], *places) for form in forms]
        glue, kept = stack.products([(glue[i], hats[axis][k]) for i, k in longer], kept, levels)
        patches = [(*patches[i], k) for i, k in longer]
        later = _split(kept, n)
        hats, places = [*[[]] * (axis + 1), *later[:-d]], later[-d:]
    coefficients = _fitted(function, patches, n, d, m)
    totals = [stack.sum(glue, c) for c in coefficients[()]]
    terms: dict[tuple[int, ...], list[_Form]] = {(): glue}
    for degree in range(1, m):  # a monomial of each patch is one of lower degree times a variable
        wanted = list(combinations_with_replacement(range(d), degree))
        pairs = [(terms[a[:-1]][i], places[a[-1]][k[a[-1]]]) for a in wanted for i, k in enumerate(patches)]
        kept = [*totals, *(form for forms in places for form in forms)]
        found, kept = stack.products(pairs, kept, levels)
        terms = {a: found[i * len(patches) : (i + 1) * len(patches)] for i, a in enumerate(wanted)}
        totals, places = kept[: len(totals)], _split(kept[len(totals) :], n)
        for a in wanted:
            parts = [stack.sum(terms[a], c) for c in coefficients[a]]
            totals = [total.combined(part, 1.0, 1.0) for total, part in zip(totals, parts, strict=True)]
    return LocalPolynomials(stack.network(totals), n, m, levels if d > 1 or m > 1 else 0)


def _split(forms: list[_Form], n: int) -> list[list[_Form]]:
    return [forms[i : i + n] for i in range(0, len(forms), n)]


def _fitted(
    function: _Function, patches: list[tuple[int, ...]], n: int, d: int, m: int
) -> dict[tuple[int, ...], np.ndarray]:
    """By monomial, for every output its coefficients in all cells: least squares at Chebyshev points of the cell."""
    monomials = [a for degree in range(m) for a in combinations_with_replacement(range(d), degree)]
    nodes = 0.5 * np.cos(np.pi * (np.arange(m + 1) + 0.5) / (m + 1))
    t = np.array(list(product(nodes, repeat=d)))
    basis = np.stack([np.prod(t[:, list(a)], axis=1) for a in monomials], axis=1)
    to_coefficients = np.linalg.pinv(basis)
    places = (np.array(patches)[:, None, :] + 0.5 + t[None]) / n
    points = places.reshape(-1, d)
    found = check_numbers("the values of the function", function(points))
    if found.shape[:1] != points.shape[:1]:
        raise DataError(f"the function must give a value a point, got shape {found.shape} for {len(points)} points")
    values = found.reshape(len(patches), len(t), -1)
    return dict(zip(monomials, np.einsum("at,pto->aop", to_coefficients, values), strict=True))


# ---- layers ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Form:
    """A number of the network: weights on rows of the last layer, and a constant."""

    weights: dict[int, float]
    constant: float = 0.0

    def combined(self, other: _Form, mine: float, theirs: float) -> _Form:
        weights = {row: mine * w for row, w in self.weights.items()}
        for row, w in other.weights.items():
            weights[row] = weights.get(row, 0.0) + theirs * w
        return _Form(weights, mine * self.constant + theirs * other.constant)


class _Stack:
    """Layers so far; forms speak of the rows of the last one."""

    def __init__(self, n_inputs: int):
        self.width, self.layers = n_inputs, list[SparseLayer]()

    def _layer(self, forms: list[_Form], relu: np.ndarray) -> None:
        sizes = [len(f.weights) for f in forms]
        rows = np.repeat(np.arange(len(forms)), sizes)
        columns = np.fromiter((c for f in forms for c in f.weights), dtype=np.int64, count=sum(sizes))
        values = np.fromiter((w for f in forms for w in f.weights.values()), dtype=float, count=sum(sizes))
        W = sparse.csr_matrix((values, (rows, columns)), shape=(len(forms), self.width))
        self.layers.append(SparseLayer.of(W, [f.constant for f in forms], relu))
        self.width = len(forms)

    def hats(self, n: int) -> tuple[list[list[_Form]], list[list[_Form]]]:
        """By variable, the hat of every cell, flat beyond the outermost middles, and the place from -1 to 1 in it."""
        d = self.width
        ramps = [_Form({i: float(n)}, 1.0 - s - k - 0.5) for i in range(d) for k in range(n) for s in range(3)]
        self._layer(ramps, np.ones(len(ramps), dtype=bool))
        hats: list[list[_Form]] = [[] for _ in range(d)]
        places: list[list[_Form]] = [[] for _ in range(d)]
        for i, k in product(range(d), range(n)):
            before, at, after = (3 * (i * n + k) + s for s in range(3))
            # 1 on the outer side of the first and of the last middle
            rise = {before: 1.0, at: -1.0} if k > 0 else {}
            fall = {at: -1.0, after: 1.0} if k < n - 1 else {}
            weights = {r: rise.get(r, 0.0) + fall.get(r, 0.0) for r in (*rise, *fall)}
            hats[i].append(_Form(weights, 0.0 if k > 0 else 1.0))
            places[i].append(_Form({before: 1.0, after: -1.0}, -1.0))
        return hats, places

    def products(
        self, pairs: list[tuple[_Form, _Form]], kept: list[_Form], levels: int
    ) -> tuple[list[_Form], list[_Form]]:
        """x y = ((x + y)/2)^2 - ((x - y)/2)^2 of numbers from -1 to 1, side by side; the others are carried along."""
        p, n_kept = 2 * len(pairs), len(kept)
        halves = [x.combined(y, 0.5, sign) for sign in (0.5, -0.5) for x, y in pairs]
        self._layer([*halves, *halves, *kept], np.arange(2 * p + n_kept) < p)
        z = [_Form({i: 2.0, p + i: -1.0}) for i in range(p)]  # |u| from relu(u) and u
        total = [z[i].combined(z[p // 2 + i], 1.0, -1.0) for i in range(p // 2)]
        kept = [_Form({2 * p + i: 1.0}) for i in range(n_kept)]
        first = 2 * p + p // 2
        for level in range(1, levels + 1):
            shifted = [_Form(f.weights, f.constant - 0.5) for f in z]
            self._layer([*shifted, *z, *total, *kept], np.arange(first + n_kept) < p)
            z = [_Form({i: -4.0, p + i: 2.0}) for i in range(p)]
            share = 4.0**-level
            total = [
                _Form({2 * p + i: 1.0}).combined(z[i].combined(z[p // 2 + i], share, -share), 1.0, -1.0)
                for i in range(p // 2)
            ]
            kept = [_Form({first + i: 1.0}) for i in range(n_kept)]
        return total, kept

    @staticmethod
    def sum(forms: list[_Form], coefficients: np.ndarray) -> _Form:
        """The forms, each times a number."""
        weights: dict[int, float] = {}
        for row, w in _entries(forms, coefficients):
            weights[row] = weights.get(row, 0.0) + w
        return _Form(weights, float(sum(c * f.constant for c, f in zip(coefficients, forms, strict=True))))

    def network(self, outputs: list[_Form]) -> ExplicitReLU:
        self._layer(outputs, np.zeros(len(outputs), dtype=bool))
        return ExplicitReLU(self.layers)


def _entries(forms: list[_Form], coefficients: np.ndarray) -> Iterator[tuple[int, float]]:
    for c, form in zip(coefficients.tolist(), forms, strict=True):
        for row, w in form.weights.items():
            yield row, c * w
