"""Enclosures hold the values, slopes and second derivatives at every point, and are tight on small boxes."""

import math

import numpy as np
import pytest
import torch

from compsparse.construct.enclosure import bounds_on, cut_box, enclose
from compsparse.construct.intervals import IntervalArray
from compsparse.graph.formula import formula_value
from compsparse.graph.parser import parse_formula

SMOOTH = [
    "sin(2*a - b + a*b)",
    "exp(-a**2) * cos(b)",
    "tanh(a*b) / (2 + a)",
    "log(2 + a) * sqrt(2 + b)",
    "(2 + a)**(1.5) - (3 + b)**(-2)",
    "arctan2(2 + a, 3 + b) + hypot(2 + a, b)",
    "sigmoid(3*a) + softplus(-b) + erf(a - b)",
    "sinh(a) * cosh(b) + tan(a/2)",
    "arcsin(a/2) + arccos(b/3) + arctan(a*b)",
    "expm1(a) + log1p(b/2) + log2(3 + a) + log10(4 + b)",
    "(2 + a)**(b)",
    "1/(2 + a*b) - a/3",
    "arcsinh(3*a - b) + arccosh(2.5 + a) + arctanh(a/3)",
    "cbrt(2 + a*b) + sinc(a) * sinc(4*b)",
    "logaddexp(2*a, b) + exp2(a) + mod(a + 9.25, 20)",
]
KINKS = ["abs(a - b) + relu(a)", "max(a*b, sin(a)) - min(a, b**2)"]


def derivatives(formula, point):
    x = torch.tensor(point, dtype=torch.float64, requires_grad=True)

    def f(x):
        return formula_value(formula, x[0], x[1])

    return f(x).item(), torch.autograd.functional.jacobian(f, x), torch.autograd.functional.hessian(f, x)


@pytest.mark.parametrize("text", SMOOTH + KINKS)
def test_points_lie_in_their_boxes(text):
    formula = parse_formula(text, ["a", "b"])
    rng = np.random.default_rng(0)
    low = rng.uniform(-1, 0.9, (2, 12))
    high = low + rng.choice([1e-9, 1e-3, 0.1], (2, 12))
    found = enclose(formula, [IntervalArray(low[i], high[i]) for i in (0, 1)])
    for k in range(12):
        for _ in range(3):
            value, slope, bend = derivatives(formula, rng.uniform(low[:, k], high[:, k]))
            slack = 1e-13
            assert found.value.lower[k] - slack <= value <= found.value.upper[k] + slack
            for i in (0, 1):
                s = found.slope(i)
                assert np.broadcast_to(s.lower, 12)[k] - slack <= slope[i] <= np.broadcast_to(s.upper, 12)[k] + slack
                for j in (0, 1):
                    b = found.bend(i, j)
                    assert np.broadcast_to(b.lower, 12)[k] - 1e-12 <= bend[i, j]
                    assert bend[i, j] <= np.broadcast_to(b.upper, 12)[k] + 1e-12


@pytest.mark.parametrize("text", SMOOTH)
def test_small_boxes_have_small_enclosures(text):
    formula = parse_formula(text, ["a", "b"])
    found = enclose(formula, [IntervalArray.of([0.3], [0.3 + 1e-6]), IntervalArray.of([0.4], [0.4 + 1e-6])])
    value, slope, bend = derivatives(formula, [0.3, 0.4])
    np.testing.assert_allclose(found.value.total(), value, rtol=1e-4, atol=1e-4)
    for i in (0, 1):
        np.testing.assert_allclose(found.slope(i).total(), slope[i], rtol=1e-4, atol=1e-4)
        for j in (0, 1):
            np.testing.assert_allclose(found.bend(i, j).total(), bend[i, j], rtol=1e-3, atol=1e-3)


def test_sine_waves_know_their_peaks():
    for text in ("sin(a)", "cos(a)"):
        formula = parse_formula(text, ["a"])
        for low, high in [(0.0, 3.5), (1.0, 7.9), (-1.0, 1.0), (1.5, 1.6), (4.6, 4.8), (-200.0, -198.0)]:
            points = np.linspace(low, high, 2001)
            values = formula_value(formula, points)
            found = enclose(formula, [IntervalArray.of(low, high)]).value
            assert found.lower <= values.min() <= found.lower + 1e-5
            assert found.upper >= values.max() >= found.upper - 1e-5


def test_kinks_have_slopes_and_no_second_derivative():
    found = enclose(parse_formula("abs(a)", ["a"]), [IntervalArray.of([-1.0, 0.5], [1.0, 2.0])])
    assert found.slope(0).lower.tolist() == [-1.0, 1.0]
    assert found.slope(0).upper.tolist() == [1.0, 1.0]
    assert found.bend(0, 0).upper.tolist() == [math.inf, 0.0]
    assert not found.jumps.any()


def test_the_cube_root_and_sinc_are_enclosed_across_zero():
    """On boxes that hold 0, touch it, and on both sides of where the series of sinc ends."""
    for text, exact in (("cbrt(a)", np.cbrt), ("sinc(a)", np.sinc)):
        formula = parse_formula(text, ["a"])
        for low, high in [(-1, 2), (0, 1e-3), (-1e-9, 1e-9), (0.5, 0.7), (0.63, 0.64), (-0.9, 0.1), (-30, 40)]:
            x = np.linspace(low, high, 5001)
            found = enclose(formula, [IntervalArray.of(float(low), float(high))])
            y, slopes = exact(x), np.diff(exact(x)) / np.diff(x)
            bends = np.diff(slopes) / np.diff(x)[1:]
            for enclosed, seen, slack in ((found.value, y, 0), (found.slope(0), slopes, 1e-6)):
                assert enclosed.lower <= seen.min() + slack * abs(seen.min())
                assert seen.max() <= enclosed.upper + slack * abs(seen.max())
            if text == "sinc(a)" and high - low > 0.1:
                assert found.bend(0, 0).lower <= bends.min() + 1e-4
                assert bends.max() - 1e-4 <= found.bend(0, 0).upper <= math.pi**2 / 3 + 1e-9
    assert enclose(parse_formula("sinc(a)", ["a"]), [IntervalArray.of(0.0)]).value.total() == pytest.approx((1, 1))


@pytest.mark.parametrize(
    "text", ["log(a)", "1/a", "sqrt(a - 2)", "arccosh(a)", "tan(a*2)", "a**(-1)", "a**(0.5)", "arcsin(2*a)"]
)
def test_beyond_a_pole_nothing_is_known(text):
    found = enclose(parse_formula(text, ["a"]), [IntervalArray.of(-1.0, 1.0)])
    assert found.value.lower == -math.inf or found.value.upper == math.inf


@pytest.mark.parametrize(
    "text", ["floor(a)", "mod(a, 2)", "sign(a)", "where(a > 0, 1, 2)", "greater(a, 0)", "arctan2(a, -1)"]
)
def test_jumps_are_seen(text):
    formula = parse_formula(text, ["a"])
    assert bounds_on(formula, [(-0.5, 0.5)]).jumps
    assert not bounds_on(formula, [(0.25, 0.5)]).jumps


def test_cutting_a_box_tightens_and_covers():
    cells = cut_box([(-1.0, 2.0), (0.0, 0.0), (3.0, 5.0)], 100)
    assert len(cells[0].lower) == 100
    assert cells[0].total() == (-1.0, 2.0)
    formula = parse_formula("a - a*a", ["a"])
    rough, fine = bounds_on(formula, [(0.0, 1.0)], 1), bounds_on(formula, [(0.0, 1.0)], 1000)
    assert rough.lower <= fine.lower <= 0
    assert 0.25 <= fine.upper < 0.2505 < rough.upper
    assert 1 <= fine.slopes[0] < 1.01
