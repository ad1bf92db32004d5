"""The largest price of any direction: against every cell, against random directions, and where it is cut short."""

import math

import numpy as np
import pytest

from compsparse.sparse.memorisation import memorise
from compsparse.sparse.memorisation.branching import largest_price
from compsparse.sparse.memorisation.cells import cells_of
from compsparse.sparse.memorisation.certificate import mending_cost, primal_bound
from compsparse.sparse.memorisation.pricing import ExhaustivePricing, price_all
from compsparse.sparse.memorisation.problem import make_problem, penalised_chart, with_one


def never() -> bool:
    return False


def price(Z: np.ndarray, lam: np.ndarray, u: np.ndarray) -> np.ndarray:
    return np.abs(np.maximum(u @ Z.T, 0.0) @ lam) / np.linalg.norm(u, axis=1)


@pytest.mark.parametrize(("n", "d", "seed"), [(4, 1, 0), (9, 1, 1), (12, 2, 2), (25, 2, 3), (9, 3, 4), (12, 4, 5)])
def test_it_is_the_largest_over_all_cells(n, d, seed):
    rng = np.random.default_rng(seed)
    X, lam = rng.normal(size=(n, d)), rng.normal(size=n)
    chart = penalised_chart(X)
    listed = price_all([ExhaustivePricing(0, cells_of(chart), "weight-decay")], lam, 0.0, True, 1).most
    lam /= listed
    found = largest_price(with_one(X), lam, 1 - 1e-7, is_late=never)
    assert found.upper == pytest.approx(1.0, abs=1e-9)
    assert price(with_one(X), lam, found.directions[:1])[0] == pytest.approx(1.0, abs=1e-6)
    assert largest_price(with_one(X), lam, 1 + 1e-9, is_late=never).upper == 1 + 1e-9


@pytest.mark.parametrize("apart", [1e-3, 1e-8, 1e-13])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_no_direction_is_dearer_though_points_nearly_coincide(apart, far):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(6, 2)) + far
    X[5] = X[0] + apart
    lam = rng.normal(size=6)
    lam[[0, 5]] = [1 / apart, -1 / apart]
    Z = with_one(X)
    upper = largest_price(Z, lam, 0.0, is_late=never).upper
    thin = rng.normal(size=(2000, 3))
    thin -= (thin @ Z[0])[:, None] / (Z[0] @ Z[0]) * Z[0] * (1 + apart * rng.normal(size=(2000, 1)))
    assert price(Z, lam, np.concatenate([rng.normal(size=(2000, 3)), thin])).max() <= upper * (1 + 1e-6)


def test_without_time_nothing_is_said():
    rng = np.random.default_rng(0)
    assert largest_price(rng.normal(size=(20, 3)), rng.normal(size=20), 1e-3, is_late=lambda: True).upper == math.inf
    few = largest_price(rng.normal(size=(20, 3)), rng.normal(size=20), 1e-3, is_late=never, most_leaves=1)
    assert few.upper == math.inf


def test_points_and_multipliers_of_zero_cost_nothing():
    assert largest_price(np.zeros((3, 2)), np.ones(3), 1.0, is_late=never).upper == 1.0
    assert largest_price(np.ones((3, 2)), np.zeros(3), 1.0, is_late=never).upper == 1.0


@pytest.mark.parametrize("bias", ["penalised", "free"])
def test_mending_costs_no_less_than_the_least_cost(bias):
    """One value off, at the end of a line, costs at least its slope."""
    problem = make_problem(
        np.array([[0.0], [1.0], [3.0]]), np.array([0.0, 1.0, 0.0]), "weight-decay", bias, "interpolate"
    )
    assert mending_cost(problem, np.zeros(3)) == 0
    assert mending_cost(problem, np.array([0.0, 0.0, 4.0])) >= 2.0
    exact = primal_bound(problem, np.array([[1.0, 0.0]]), np.array([1.0]), 0.0, 1.0)
    assert exact.residual == pytest.approx(3.0)
    assert exact.upper > 1.0


def test_projections_on_cones_meet_their_optimality_conditions():
    """The cone of a cell for which a solver of non-negative least squares has been seen to return something else."""
    rng = np.random.default_rng(5)
    X, lam = rng.normal(size=(12, 4)), rng.normal(size=12)
    pricing = ExhaustivePricing(0, cells_of(penalised_chart(X)), "weight-decay")
    _, found, _ = pricing.price(lam, 0.0, True)
    for value, block, u in found:
        neuron = u @ pricing.cells.chart.lift
        assert price(with_one(X), block.sign * lam, neuron[None])[0] == pytest.approx(value, rel=1e-9)


def test_steps_that_are_lost_in_rounding_warn_of_nothing():
    X = 1e-5 * np.array([[2, -1, 1], [-1, -2, -2], [2, -1, 1], [2, 1, 0], [-2, -1, 0], [-1, -2, 1]])
    X[0] = [1.9999999999999998e-05, -9.99999999999998e-06, 1.000000000000001e-05]  # as good as the third
    found = memorise(X, [0, -2, 2, 2, 1, -1], bias="penalised")
    assert not found.status.is_solved
    assert found.certificate.lower <= found.certificate.upper
