import numpy as np
import pytest

from compsparse.tables.scaling import scale_of

UNITS = [1e-300, 1e-100, 1e-12, 1.0, 1e6, 1e100, 1e299]


@pytest.fixture
def column():
    return np.random.default_rng(0).normal(3.0, 0.7, 500)


@pytest.mark.parametrize("unit", UNITS)
def test_standardised_values_do_not_depend_on_the_unit(column, unit):
    plain, other = scale_of(column), scale_of(column * unit)
    assert np.abs(plain.standardised(column) - other.standardised(column * unit)).max() < 1e-13
    np.testing.assert_allclose(other.restored(other.standardised(column * unit)), column * unit, rtol=1e-13)


@pytest.mark.parametrize("power", [-900, -1, 0, 3, 900])
def test_powers_of_two_change_no_bit(column, power):
    plain, other = scale_of(column), scale_of(np.ldexp(column, power))
    assert (plain.standardised(column) == other.standardised(np.ldexp(column, power))).all()


def test_ordinary_columns_are_standardised_as_the_formula_says(column):
    found = scale_of(column)
    assert found.centre == pytest.approx(column.mean(), rel=1e-15)
    assert found.spread == pytest.approx(column.std(), rel=1e-15)
    weight = np.random.default_rng(1).uniform(0, 2, 500)
    weighted = scale_of(column, weight)
    centre = np.average(column, weights=weight)
    assert weighted.centre == pytest.approx(centre, rel=1e-14)
    assert weighted.spread == pytest.approx(np.sqrt(np.average((column - centre) ** 2, weights=weight)), rel=1e-14)


def test_differences_beyond_the_largest_number_do_not_overflow():
    far = np.array([-1.7e308, 1.7e308, 1.7e308])
    values = scale_of(far).standardised(far)
    assert np.isfinite(values).all()
    assert values.std() == pytest.approx(1.0)


@pytest.mark.parametrize("value", [0.0, 1e-300, -5.0, 1e300])
def test_a_constant_column_has_spread_one(value):
    found = scale_of(np.full(7, value))
    assert found.spread == 1.0
    assert found.centre == pytest.approx(value, rel=1e-15)
    rounded = np.full(7, 1 / 3) + np.array([0, 1, 0, -1, 0, 2, 0]) * 2e-16
    assert scale_of(rounded).spread == 1.0
