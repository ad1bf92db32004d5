r"""Ridge powers: polynomials of several variables as sums of powers of one (memo 2023, Section 6.8.1).

The powers :math:`(w_i \cdot x)^k` of :math:`\binom{n-1+k}{k}` generic directions span the homogeneous polynomials of
degree k in n variables, so that as many polynomials of one variable, one for each direction, hold every polynomial of
degree up to k (equations 4 and 5). Powers of one variable are limits of shifted and dilated copies of one smooth
activation (equations 6 and 8).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations_with_replacement
from math import comb, factorial
from typing import Any

import numpy as np

from compsparse.checks import (
    RandomState,
    brief,
    check_count,
    check_mapping,
    check_number,
    check_numbers,
    generator_from,
)
from compsparse.errors import ConfigError
from compsparse.sizes import check_work

_MOST = 20_000
"""Most monomials whose coefficients are written down."""
Exponents = tuple[int, ...]
"""The exponent of each variable in a monomial."""


def ridge_count(n_inputs: int, degree: int) -> int:
    """Directions whose powers span the homogeneous polynomials of a degree: C(n - 1 + k, k), their dimension.

    >>> ridge_count(3, 4)
    15
    """
    n, k = check_count("n_inputs", n_inputs, most=10**6), check_count("degree", degree, least=0, most=10**6)
    return comb(n - 1 + k, k)


def monomials(n_inputs: int, degree: int) -> list[Exponents]:
    """Exponents of all monomials of exactly this degree.

    >>> monomials(2, 2)
    [(2, 0), (1, 1), (0, 2)]
    """
    check_count("n_inputs", n_inputs, most=1000)
    check_count("degree", degree, least=0, most=1000)
    check_work("the number of monomials", float(ridge_count(n_inputs, degree)), _MOST, "ask for a lower degree")
    chosen = combinations_with_replacement(range(n_inputs), degree)
    return [tuple(c.count(i) for i in range(n_inputs)) for c in chosen]


def ridge_matrix(directions: Any, degree: int) -> np.ndarray:
    """Coefficients of (w . x)^k in the monomials of degree k, one row for each direction w.

    Each column is divided by the root of its multinomial coefficient, in which the powers of orthogonal directions
    are orthogonal; that changes no rank.
    """
    W = check_numbers("directions", directions, shape=(None, None))
    exponents = monomials(W.shape[1], degree)
    powers = W[:, None, :] ** np.array(exponents, dtype=float)[None]
    return np.asarray(powers.prod(axis=2) * np.sqrt([_multinomial(e) for e in exponents]))


def ridge_rank(directions: Any, degree: int) -> int:
    """Dimension of the span of the powers of the directions.

    >>> ridge_rank([[1, 0], [0, 1], [1, 1]], 2), ridge_rank([[1, 0], [2, 0], [1, 1]], 2)
    (3, 2)
    """
    return int(np.linalg.matrix_rank(ridge_matrix(directions, degree)))


def ridge_form(polynomial: Mapping[Exponents, float], directions: Any) -> dict[int, np.ndarray]:
    """A polynomial as a sum of powers: for each degree in it, one coefficient for each direction.

    Args:
        polynomial: coefficient of each monomial, by its exponents.
        directions: one row each; as many as :func:`ridge_count` of the highest degree, in general position.

    Raises:
        ConfigError: the powers of the directions do not hold the polynomial.

    >>> form = ridge_form({(1, 1): 1.0}, [[1, 1], [1, -1], [0, 1]])
    >>> np.abs(form[2]).round(6)  # 4xy = (x+y)^2 - (x-y)^2
    array([0.25, 0.25, 0.  ])
    """
    W = check_numbers("directions", directions, shape=(None, None))
    n = W.shape[1]
    by_degree: dict[int, dict[Exponents, float]] = {}
    for exponents, coefficient in check_mapping("polynomial", polynomial).items():
        if not isinstance(exponents, tuple) or len(exponents) != n:
            raise ConfigError(f"a monomial of {n} variables has as many exponents, got {exponents!r}")
        whole = tuple(check_count("an exponent", e, least=0) for e in exponents)
        by_degree.setdefault(sum(whole), {})[whole] = check_number("a coefficient", coefficient)
    form = {}
    for degree, part in sorted(by_degree.items()):
        wanted = np.array([part.get(e, 0.0) / np.sqrt(_multinomial(e)) for e in monomials(n, degree)])
        columns = ridge_matrix(W, degree).T
        found = np.linalg.lstsq(columns, wanted, rcond=None)[0]
        if np.linalg.norm(columns @ found - wanted) > 1e-8 * np.linalg.norm(wanted):
            raise ConfigError(
                f"the powers of {len(W)} directions do not hold the part of degree {degree}: "
                f"take {ridge_count(n, degree)} directions in general position"
            )
        form[degree] = found
    return form


def ridge_value(form: Mapping[int, np.ndarray], directions: Any, X: Any) -> np.ndarray:
    """Values of a sum of ridge powers at the rows of X."""
    W = check_numbers("directions", directions, shape=(None, None))
    projected = check_numbers("X", X, shape=(None, W.shape[1])) @ W.T
    total = np.zeros(len(projected))
    for degree, coefficients in check_mapping("form", form).items():
        c = check_numbers("the coefficients of a form", coefficients, shape=(len(W),))
        total += projected ** check_count("a degree of a form", degree, least=0) @ c
    return total


def ridge_directions(n_inputs: int, degree: int, random_state: RandomState = None) -> np.ndarray:
    """As many random unit directions as span the homogeneous polynomials of a degree."""
    count = len(monomials(n_inputs, degree))
    W = generator_from(random_state).normal(size=(count, n_inputs))
    return np.asarray(W / np.linalg.norm(W, axis=1, keepdims=True))


def power_by_differences(
    activation: Callable[[np.ndarray], np.ndarray], degree: int, bias: float, step: float
) -> Callable[[np.ndarray], np.ndarray]:
    r"""x^k from k + 1 copies of an activation: the k-th central difference of :math:`\sigma(\lambda x + b)` in lambda.

    It tends to :math:`x^k \sigma^{(k)}(b)`, off by the square of the step; the result is divided by its value at 1.

    >>> cube = power_by_differences(np.exp, 3, 0.0, 0.01)
    >>> cube(np.array([0.5, 1.0])).round(4).tolist()
    [0.125, 1.0]
    """
    k = check_count("degree", degree, most=20)
    bias, step = check_number("bias", bias), check_number("step", step, above=0)
    if not callable(activation):
        raise ConfigError(f"activation must be a function of arrays, got {brief(activation)}")
    dilations = step * (np.arange(k + 1) - k / 2)
    signs = np.array([(-1.0) ** (k - j) * comb(k, j) for j in range(k + 1)])

    def raw(x: np.ndarray) -> np.ndarray:
        return np.asarray(activation(np.multiply.outer(x, dilations) + bias) @ signs)

    at_one = float(raw(np.ones(1))[0])
    if abs(at_one) < 1e-8 * step**k:
        raise ConfigError(f"the derivative of order {k} of the activation vanishes at {bias:g}: take another bias")
    return lambda x: raw(check_numbers("x", x)) / at_one


def _multinomial(exponents: Exponents) -> int:
    result = factorial(sum(exponents))
    for e in exponents:
        result //= factorial(e)
    return result
