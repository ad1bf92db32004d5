"""Grids: interpolation and integration against closed forms, and what they refuse."""

import numpy as np
import pytest

from compsparse.errors import ConfigError, DataError
from compsparse.representations.tensors import Grid
from compsparse.representations.tensors.grid import chebyshev_coefficients


def test_chebyshev_interpolation_reproduces_polynomials():
    grid = Grid(((-1.0, 2.0), (0.0, 1.0)), (6, 3))
    x = np.concatenate([np.linspace(-1, 2, 37), grid.points(0)])
    for degree in range(6):
        np.testing.assert_allclose(grid.basis(0, x) @ grid.points(0) ** degree, x**degree, atol=1e-13)


def test_linear_interpolation_is_that_of_numpy():
    grid = Grid.of([(-1, 2)], 7, "linear")
    x = np.concatenate([np.random.default_rng(0).uniform(-1, 2, 50), grid.points(0)])
    values = np.cos(3 * grid.points(0))
    np.testing.assert_allclose(grid.basis(0, x) @ values, np.interp(x, grid.points(0), values), atol=1e-14)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9])
def test_clenshaw_curtis_integrates_polynomials(n):
    grid = Grid.of([(-1, 3)], n)
    for degree in range(n):
        exact = (3.0 ** (degree + 1) - (-1.0) ** (degree + 1)) / (degree + 1)
        assert grid.weights(0) @ grid.points(0) ** degree == pytest.approx(exact, rel=1e-12)


def test_trapezoids_integrate_lines():
    grid = Grid.of([(-1, 3)], 6, "linear")
    assert grid.weights(0) @ (2 * grid.points(0) + 1) == pytest.approx(12, rel=1e-13)


def test_coefficients_are_those_of_chebyshev_polynomials():
    n = 7
    points = Grid.of([(-1, 1)], n).points(0)
    values = np.polynomial.chebyshev.chebvander(points, n - 1)
    np.testing.assert_allclose(chebyshev_coefficients(n) @ values, np.eye(n), atol=1e-13)


def test_what_a_grid_refuses():
    with pytest.raises(ConfigError, match="low < high"):
        Grid.of([(1, 0)], 5)
    with pytest.raises(ConfigError, match="as many numbers of points"):
        Grid(((0, 1), (0, 1)), (5,))
    with pytest.raises(ConfigError, match="rule must be one of"):
        Grid.of([(0, 1)], 5, "cubic")
    grid = Grid.of([(0, 1)] * 2, 5)
    with pytest.raises(DataError, match=r"input 1 has the value 1.5, outside the grid's \[0, 1\]"):
        grid.basis(1, [0.5, 1.5])
    with pytest.raises(DataError, match="values of the function must have shape"):
        grid.sample(lambda X: X)
    with pytest.raises(DataError, match="NaN or infinite"):
        grid.sample(lambda X: np.full(len(X), np.nan))
    with pytest.raises(ConfigError, match="do not fit in memory"):
        Grid.of([(0, 1)] * 20, 17).sample(lambda X: X[:, 0])
