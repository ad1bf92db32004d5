"""Local polynomials by ReLUs: what they reproduce, what they cost, and what they refuse."""

import math

import numpy as np
import pytest

from compsparse.construct import local_polynomials
from compsparse.errors import CompsparseError


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_polynomials_of_lower_degree_are_reproduced_to_the_error_of_products(d, m):
    rng = np.random.default_rng([d, m])
    a = rng.standard_normal(d)
    found = local_polynomials(lambda X: (X @ a) ** (m - 1), d, 3, m, 1e-6)
    X = rng.random((200, d))
    assert np.abs(found.network.values(X)[:, 0] - (X @ a) ** (m - 1)).max() < 3e-4


@pytest.mark.parametrize(("d", "n", "m"), [(1, 5, 1), (1, 4, 3), (2, 3, 2), (3, 3, 2)])
def test_units_are_those_of_hats_and_of_products(d, n, m):
    """3 ReLUs a cell of each variable, less two that constants make idle at either end, and 2 + 2 levels a product."""
    found = local_polynomials(lambda X: X.sum(1), d, n, m, 1e-3)
    products = sum(n**i for i in range(2, d + 1)) + n**d * (math.comb(d + m - 1, d) - 1)
    hats = 3 * d * n
    assert found.n_units == hats + products * (2 + 2 * found.levels)


def test_outputs_share_hats_and_products():
    one = local_polynomials(lambda X: np.sin(X[:, 0]), 2, 3, 2, 1e-3)
    two = local_polynomials(lambda X: np.stack([np.sin(X[:, 0]), X[:, 1]], axis=1), 2, 3, 2, 1e-3)
    X = np.random.default_rng(0).random((50, 2))
    assert one.n_units == two.n_units
    np.testing.assert_allclose(two.network.values(X)[:, 0], one.network.values(X)[:, 0])


def test_more_cells_and_more_derivatives_help():
    def error(n, m):
        x = np.linspace(0, 1, 301)[:, None]
        return np.abs(local_polynomials(lambda X: np.exp(X[:, 0]), 1, n, m, 1e-9).network.values(x) - np.exp(x)).max()

    assert error(8, 3) < error(8, 2) < error(8, 1)
    assert error(4, 3) / error(16, 3) > 40


@pytest.mark.parametrize("wrong", [{"n_cells": 0}, {"order": 0}, {"product_error": 0.0}, {"n_cells": 10**6}])
def test_what_cannot_be_built_is_refused(wrong):
    with pytest.raises(CompsparseError):
        local_polynomials(
            lambda X: X[:, 0], **{"n_inputs": 2, "n_cells": 3, "order": 2, "product_error": 1e-3, **wrong}
        )
