"""Splines, squares, products and grids: their errors against closed forms, and against a search."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from compsparse.construct import ExplicitReLU
from compsparse.construct.forms import AffineForm
from compsparse.construct.kuhn import KuhnGrid, grid_for, grid_network, kuhn
from compsparse.construct.products import levels_for, product, square
from compsparse.construct.splines import spline
from compsparse.construct.tolerances import Price, cheapest_split
from compsparse.errors import ConfigError
from compsparse.graph.formula import formula_value
from compsparse.graph.parser import parse_formula

X, Y = AffineForm.wire(0), AffineForm.wire(1)


def parsed(text, names="ab"):
    return parse_formula(text, list(names))


def run(gadget, *columns):
    return ExplicitReLU(gadget.layers)(torch.tensor(np.stack(columns, axis=1)))[:, 0].numpy()


def square_of(box):
    a, b = np.meshgrid(np.linspace(*box[0], 47), np.linspace(*box[1], 53))
    return a.ravel(), b.ravel()


@pytest.mark.parametrize("text", ["sin(3*a)", "exp(a)", "tanh(4*a)", "a**3 - a", "1/(a + 1.5)", "sqrt(a + 1)", "a**2"])
@pytest.mark.parametrize("uniform", [False, True])
def test_splines_keep_their_bound_and_come_close_to_it(text, uniform):
    if uniform and "sqrt" in text:
        pytest.skip("equal pieces are too many at an infinite slope")
    found = spline(parsed(text, "a"), X, -1.0, 1.0, 1e-3, uniform=uniform)
    x = np.linspace(-1, 1, 40_001)
    observed = np.abs(run(found, x) - formula_value(parsed(text, "a"), x)).max()
    assert observed <= found.error <= 1e-3 + 1e-12
    assert observed >= 0.5 * found.error


def test_the_error_of_equal_pieces_is_an_eighth():
    """Correction 3: h^2/8 max|f''|, about sqrt(M/(2 eps)) pieces on [-1, 1], not h^2/2 and sqrt(2M/eps)."""
    eps = 1e-3
    found = spline(parsed("a**2", "a"), X, -1.0, 1.0, eps, uniform=True)
    right, printed = math.sqrt(2 / (2 * eps)), math.sqrt(2 * 2 / eps)
    assert found.n_units == math.ceil(right) == 32
    assert found.n_units < 0.6 * printed
    # attained in the middle of a piece: h^2/8 max|f''| = h^2/4
    h = 2 / found.n_units
    middle = -1 + h / 2
    assert run(found, np.array([middle]))[0] - middle**2 == pytest.approx(h * h / 4, rel=1e-9)


def test_free_knots_need_as_many_pieces_as_the_integral_says():
    eps = 1e-5
    found = spline(parsed("exp(a)", "a"), X, 0.0, 5.0, eps)
    best = (2 * (math.exp(2.5) - 1)) / math.sqrt(8 * eps)
    assert best <= found.n_units <= 1.15 * best
    assert found.n_units < 0.5 * spline(parsed("exp(a)", "a"), X, 0.0, 5.0, eps, uniform=True).n_units


def test_clipped_splines_are_constant_outside():
    found = spline(parsed("exp(a)", "a"), X, 0.0, 1.0, 1e-3, clip=True)
    outside = run(found, np.array([-5.0, 0.0, 1.0, 7.0]))
    assert outside[0] == outside[1] == pytest.approx(1, abs=1e-12)
    assert outside[2] == pytest.approx(outside[3], abs=1e-10)


def test_splines_of_forms_read_several_wires():
    form = X.scaled(2) - Y + AffineForm.number(Fraction(1, 3))
    found = spline(parsed("sin(a)", "a"), form, -3.0, 4.0, 1e-3)
    a, b = np.random.default_rng(0).uniform(-1, 1, (2, 5000))
    assert np.abs(run(found, a, b) - np.sin(2 * a - b + 1 / 3)).max() <= found.error


@pytest.mark.parametrize("levels", [0, 1, 3, 6])
def test_squares_have_the_error_that_yarotsky_gives(levels):
    found = square(X, 1.0, 2.0 ** (-2 * levels - 2))
    assert found.n_units == levels + 1
    network = ExplicitReLU(found.layers)
    step = Fraction(1, 2**levels)
    assert network.exact([step]) == [step**2]
    assert network.exact([-step]) == [step**2]
    middle = step / 2
    assert network.exact([middle])[0] - middle**2 == Fraction(1, 4 ** (levels + 1)) == Fraction(found.error)


def test_units_for_a_square_grow_with_the_logarithm():
    """Correction 4: smoothness can be used by depth, eps^(-1/2) at fixed depth against log(1/eps)."""
    units = [square(X, 1.0, 4.0**-k).n_units for k in range(2, 13)]
    assert np.diff(units).tolist() == [1] * 10
    shallow = [spline(parsed("a**2", "a"), X, -1.0, 1.0, 4.0**-k).n_units for k in (3, 6)]
    assert shallow[1] == pytest.approx(8 * shallow[0], rel=0.1)


def test_products_keep_their_bound_on_boxes_off_centre():
    found = product(X - AffineForm.number(4), Y + AffineForm.number(0.75), (1.0, 1.25), 1e-3)
    a, b = square_of(((3.0, 5.0), (-2.0, 0.5)))
    affine = 4 * b - 0.75 * a + 3  # a b = (a - 4)(b + 3/4) + 4 b - 3/4 a + 3
    observed = np.abs(run(found, a, b) + affine - a * b).max()
    assert 0.3 * found.error <= observed <= found.error <= 1e-3
    assert found.n_units == 2 * (levels_for(1.25, 1e-3) + 1)


def test_products_vanish_with_a_factor():
    found = product(X, Y, (1.0, 1.0), 1e-2)
    network = ExplicitReLU(found.layers)
    for other in (Fraction(1, 3), Fraction(-5, 7)):
        assert network.exact([Fraction(0), other]) == network.exact([other, Fraction(0)]) == [Fraction(0)]


def test_hats_add_up_to_one_and_keep_affine_functions():
    grid = KuhnGrid(((-1.0, 1.0),) * 3, (3, 4, 2), 0.0)
    points = np.stack([p.ravel() for p in np.meshgrid(*grid.edges, indexing="ij")])
    forms = [AffineForm.wire(i) for i in range(3)]
    x = np.random.default_rng(0).uniform(-1, 1, (3, 200))
    ones = grid_network(forms, grid, np.ones(points.shape[1]), 0.0)
    np.testing.assert_allclose(run(ones, *x), 1, atol=1e-12)
    plane = np.array([2.0, -1.0, 0.5])
    np.testing.assert_allclose(run(grid_network(forms, grid, plane @ points, 0.0), *x), plane @ x, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_bound_for_grids_is_attained_by_half_the_squared_norm(d):
    names = "abc"[:d]
    formula = parsed(" + ".join(f"{n}**2/2" for n in names), names)
    found = grid_for(formula, [(0.0, 1.0)] * d, 0.01)
    h = 1 / np.array(found.cells)
    assert found.error == pytest.approx(np.sum(h**2) / 8, rel=1e-9)
    gadget = kuhn(formula, [AffineForm.wire(i) for i in range(d)], [(0.0, 1.0)] * d, 0.01)
    centre = run(gadget, *[np.array([s / 2]) for s in h])[0]
    assert centre - np.sum((h / 2) ** 2) / 2 == pytest.approx(found.error, rel=1e-9)


@pytest.mark.parametrize("text", ["sin(2*a - b + a*b)", "exp(a)*b", "abs(a - b)", "hypot(a, b)", "max(a, b**2)"])
def test_grids_keep_their_bound(text):
    eps = 0.02 if "sin" in text or "exp" in text else 0.08
    found = kuhn(parsed(text), [X, Y], [(-1.0, 1.0)] * 2, eps)
    a, b = square_of([(-1, 1)] * 2)
    observed = np.abs(run(found, a, b) - formula_value(parsed(text), a, b)).max()
    assert observed <= found.error <= eps + 1e-9


def test_grids_are_finer_where_the_function_bends_more():
    found = grid_for(parsed("a**2 + 100*b**2"), [(-1.0, 1.0)] * 2, 0.1)
    assert found.cells[1] == pytest.approx(10 * found.cells[0], rel=0.2)


def test_grids_too_large_are_refused():
    with pytest.raises(ConfigError, match="needs more than 300,000 grid points"):
        kuhn(parsed("sin(50*a)*sin(50*b)"), [X, Y], [(-1.0, 1.0)] * 2, 1e-6)
    with pytest.raises(ConfigError, match="beyond double precision"):
        square(X, 1.0, 1e-17)


def test_the_cheapest_split_meets_its_conditions():
    rng = np.random.default_rng(0)
    prices = [Price(c, p) for c, p in zip(rng.uniform(0.1, 10, 12), rng.choice([0.0, 0.5, 1.0, 1.5], 12), strict=True)]
    a = rng.uniform(0.1, 10, 12)
    eps = cheapest_split(prices, a, 0.01)
    assert a @ eps == pytest.approx(0.01, rel=1e-6)
    marginal = [p.weight * e ** (-p.power - 1) / f for p, e, f in zip(prices, eps, a, strict=True)]
    np.testing.assert_allclose(marginal, marginal[0], rtol=1e-6)

    def cost(errors):
        return sum(p.scale * (e**-p.power if p.power else np.log(1 / e)) for p, e in zip(prices, errors, strict=True))

    for _ in range(200):
        other = eps * np.exp(0.3 * rng.standard_normal(12))
        other *= 0.01 / (a @ other)
        assert cost(other) >= cost(eps) * (1 - 1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_of_gadgets_stays_within_its_bound(dtype):
    rng = np.random.default_rng(0)
    points = torch.tensor(rng.uniform(-1, 1, (30, 2))).to(dtype)
    low, high = -np.ones(2), np.ones(2)
    made = [
        spline(parsed("sin(3*a)", "a"), X.scaled(Fraction(1, 3)) + Y, -2.0, 2.0, 1e-2),
        product(X, Y, (1.0, 1.0), 1e-4),
        kuhn(parsed("sin(a*b)"), [X, Y], [(-1.0, 1.0)] * 2, 0.02),
    ]
    for gadget in made:
        computed = ExplicitReLU(gadget.layers, dtype)(points)[:, 0].double().tolist()
        network = ExplicitReLU(gadget.layers)
        bound = gadget.rounding(low, high, dtype)
        for point, answer in zip(points.double().tolist(), computed, strict=True):
            assert abs(answer - float(network.exact(point)[0])) <= bound
        assert bound < 1e5 * torch.finfo(dtype).eps
