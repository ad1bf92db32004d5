"""Kolmogorov's superposition: inner functions tell cubes apart, gaps do not meet, and the error falls as it must."""

import numpy as np
import pytest

from compsparse.errors import ConfigError, DataError
from compsparse.representations.classical import InnerFunction, inner_function, superpose


def wave(X):
    return np.sin(np.pi * X[:, 0]) * X[:, 1] ** 2


PSI = InnerFunction(n_inputs=2, n_families=5, base=11, n_levels=3)


def test_inner_functions_increase_and_their_slopes_grow_by_one_over_the_gap():
    x = np.sort(np.random.default_rng(0).random(3000)) * (1 + 1 / 11)
    assert (np.diff(PSI(x)) > 0).all()
    slopes = [level.slope for level in PSI.levels]
    np.testing.assert_allclose(slopes, [5.5, 5.5**2, 5.5**3], rtol=0.05)
    # the largest rise over a gap of each level has the Hölder order for its exponent
    widths = [PSI.gap * level.length for level in PSI.levels]
    rises = [s * w for s, w in zip(slopes, widths, strict=True)]
    orders = np.diff(np.log(rises)) / np.diff(np.log(widths))
    np.testing.assert_allclose(orders, PSI.hoelder_order, atol=0.03)
    assert PSI.hoelder_order == pytest.approx(np.log(2) / np.log(11))


@pytest.mark.parametrize("level", [0, 1, 2])
def test_sums_map_cubes_to_intervals_that_do_not_meet(level):
    this = PSI.levels[level]
    corners = np.unique(np.random.default_rng(1).integers(0, 11 ** (level + 1), (400, 2)), axis=0)
    # the sums over a cube are known from its corners, since the function increases, later levels included
    left, right = (PSI.sums((corners + share) * this.length, 0) for share in (0, 1 - PSI.gap))
    order = np.argsort(left)
    assert (left[order][1:] > right[order][:-1]).all()
    assert (right > left).all()
    assert (right - left).max() <= 0.6 * this.separation


def test_no_two_images_coincide_by_arithmetic(monkeypatch):
    assert InnerFunction(2, 5, 16, 2).levels[1].separation > 1e-10
    monkeypatch.setattr(inner_function, "_SHARE", 0.5)  # with a rational share two of them do, and that is said
    with pytest.raises(ConfigError, match="double precision cannot tell apart"):
        _ = InnerFunction(2, 5, 16, 2).levels


def test_a_point_is_in_the_gap_of_at_most_one_family_for_each_input():
    x = np.random.default_rng(2).random(4000)
    for level in PSI.levels:
        place = (x[:, None] + PSI.shift * np.arange(5)) / level.length % 1
        assert (place > 1 - PSI.gap + 1e-9).sum(axis=1).max() <= 1


@pytest.mark.parametrize(("n", "families", "base"), [(2, 5, 21), (2, 10, 31), (2, 20, 41), (3, 7, 8), (3, 15, 16)])
def test_one_level_leaves_no_more_than_the_theorem_says(n, families, base):
    def function(X):
        return np.cos(X.sum(axis=1))

    found = superpose(function, InnerFunction(n, families, base, 1, 1), 4000, random_state=0)
    # half the range times n / (Q - n), and how much the cosine changes within a cell
    within = np.sqrt(n) / base
    assert found.error.value <= 0.5 * n / (families - n) + within
    assert found.error.value >= 0.3 * n / (families - n)  # nor much less: the factor is attained in the middle
    X = np.random.default_rng(9).random((500, n))
    extent = 1 - np.cos(n) if n < 4 else 2
    assert np.abs(found(X) - function(X)).max() / extent <= 0.5 * n / (families - n) + 2 * within


def test_levels_go_on_where_the_first_ended():
    found = superpose(wave, InnerFunction(2, 6, 13, 2), 4000, random_state=0)
    assert len(found.outer) == 2
    X = np.random.default_rng(5).random((4000, 2))
    first = superpose(wave, InnerFunction(2, 6, 13, 1), 4000, random_state=0)
    off, off_first = (np.sqrt(np.mean((s(X) - wave(X)) ** 2)) for s in (found, first))
    assert off < 0.7 * off_first  # most of the square is seen; in the gaps of the first level the second is too coarse
    assert found.outside[0] > 0.5
    assert found.n_units == 2 * 6 * found.inner.n_pieces + sum(len(g.knots) - 1 for f in found.outer for g in f)


def test_outer_functions_go_up_and_down_with_every_cube():
    few = superpose(wave, InnerFunction(2, 10, 11, 1), 1000, random_state=0)
    many = superpose(wave, InnerFunction(2, 10, 31, 1), 1000, random_state=0)
    assert many.variation > 2 * few.variation  # the function's own stays what it is


def test_all_copies_are_lipschitz_in_the_new_parameter():
    psi = InnerFunction(2, 5, 11, 3)
    x = np.linspace(0, 1, 20_001)
    t = psi.lipschitz_parameter(x)
    assert (np.diff(t) > 0).all()
    for q in range(5):
        slopes = np.diff(psi(x + q * psi.shift)) / np.diff(t)
        assert slopes.max() <= 6 + 1e-6
        assert slopes.min() < 1e-3  # flat beside steep: the derivative is not continuous
    assert (np.diff(psi(x)) / np.diff(x)).max() > 150


def test_what_is_refused():
    with pytest.raises(ConfigError, match="1 more than a multiple of the 5 families, such as 6 or 11"):
        InnerFunction(2, 5, 10, 1)
    with pytest.raises(ConfigError, match="base must be 11 or more"):
        InnerFunction(2, 5, 6, 2)
    with pytest.raises(ConfigError, match="gap_cells must be at most 2"):
        InnerFunction(2, 5, 11, 1, 3)
    with pytest.raises(ConfigError, match="number of cubes"):
        InnerFunction(3, 7, 15, 3)
    found = superpose(wave, InnerFunction(2, 5, 6, 1), 100, random_state=0)
    with pytest.raises(DataError, match="unit cube"):
        found([[0.5, 1.5]])
