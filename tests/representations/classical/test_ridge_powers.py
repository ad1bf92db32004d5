"""Ridge powers: ranks against dimensions, polynomials rebuilt, powers from difference quotients."""

from math import comb

import numpy as np
import pytest

from compsparse.errors import ConfigError
from compsparse.representations.classical import (
    monomials,
    power_by_differences,
    ridge_count,
    ridge_directions,
    ridge_form,
    ridge_matrix,
    ridge_rank,
    ridge_value,
)


@pytest.mark.parametrize(("n", "k"), [(1, 3), (2, 1), (2, 6), (3, 4), (4, 3), (5, 2), (3, 0)])
def test_generic_directions_span_with_as_many_powers_as_the_dimension_and_no_fewer(n, k):
    W = ridge_directions(n, k, random_state=0)
    assert len(W) == ridge_count(n, k) == len(monomials(n, k)) == comb(n - 1 + k, k)
    assert ridge_rank(W, k) == len(W)
    more = np.vstack([W, ridge_directions(n, k, random_state=1)])
    assert ridge_rank(more, k) == len(W)
    if len(W) > 1:
        assert ridge_rank(W[:-1], k) == len(W) - 1


def test_rows_are_the_coefficients_of_powers():
    W = np.random.default_rng(0).normal(size=(3, 2))
    # <(w.x)^k, (v.x)^k> = (w.v)^k in the basis that was chosen
    for k in (1, 2, 5):
        M = ridge_matrix(W, k)
        np.testing.assert_allclose(M @ M.T, (W @ W.T) ** k, rtol=1e-12)


def test_special_directions_may_fail():
    on_a_line = [[1, t, 0] for t in range(6)]  # six directions in a plane cannot see the third variable
    assert ridge_rank(on_a_line, 2) == 3
    with pytest.raises(ConfigError, match="take 6 directions in general position"):
        ridge_form({(0, 0, 2): 1.0}, on_a_line)


def test_a_polynomial_is_rebuilt_from_its_ridge_form():
    rng = np.random.default_rng(0)
    n, k = 3, 4
    polynomial = {e: float(rng.normal()) for degree in range(k + 1) for e in monomials(n, degree)}
    W = ridge_directions(n, k, random_state=1)
    form = ridge_form(polynomial, W)
    X = rng.uniform(-1, 1, (50, n))
    direct = sum(c * np.prod(X ** np.array(e), axis=1) for e, c in polynomial.items())
    np.testing.assert_allclose(ridge_value(form, W, X), direct, atol=1e-8)
    assert sorted(form) == [0, 1, 2, 3, 4]  # the same directions hold all lower degrees


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_difference_quotients_tend_to_powers_with_the_square_of_the_step(k):
    x = np.linspace(-1, 1, 41)

    def error(step):
        return np.abs(power_by_differences(np.exp, k, 0.3, step)(x) - x**k).max()

    rate = np.log2(error(0.2) / error(0.1))
    assert rate == pytest.approx(2, abs=0.2)


def test_polynomial_activations_give_no_higher_powers():
    with pytest.raises(ConfigError, match="derivative of order 3"):
        power_by_differences(lambda t: t**2, 3, 0.1, 0.1)
