"""The rules by which claims on tensors and classical representations are judged."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.claims.declared import outcome_of

from compsparse.claims import Outcome
from compsparse.claims.subjects import classical, tensors
from compsparse.tasks.takagi import hat_sum


def test_tensor_ranks_are_judged_by_what_was_measured():
    def outcome(other, elsewhere, channels=1):
        tree = tensors._Tree([6, 7], [1, channels], other, [2, 3], 5000, elsewhere)
        return tensors.judge_tensor_ranks(
            [tree, replace(tree, evaluations=5100), replace(tree, evaluations=4900)]
        ).outcome

    assert outcome([20, 30], 40_000) is Outcome.SUPPORTED
    assert outcome([5, 6], 40_000) is Outcome.REFUTED
    assert outcome([20, 30], 3000) is Outcome.REFUTED
    assert outcome([8, 9], 40_000) is Outcome.INCONCLUSIVE
    assert outcome([20, 30], 40_000, channels=2) is Outcome.REFUTED


def test_one_function_of_the_tensor_claim(monkeypatch):
    monkeypatch.setattr(tensors, "_MOST_EVALUATIONS", 5000)
    found = tensors._measure(5, 3)
    assert len(found.module_ranks) == len(found.other_ranks) > 0
    assert max(found.module_channels) == 1
    assert found.evaluations <= tensors._MOST_EVALUATIONS


def test_shuffled_trees_hold_every_input_once():
    tree = tensors.DimensionTree.from_nested((((0, 3), 1), (2, 4)))
    shuffled = tensors._shuffled(tree, np.random.default_rng(0))
    assert sorted(shuffled.members) == [0, 1, 2, 3, 4]
    assert [len(p.members) for p in shuffled.bottom_up()] == [len(p.members) for p in tree.bottom_up()]


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(3, 7), Fraction(5, 16), Fraction(1, 225)])
def test_the_takagi_series_at_rational_points(x):
    far = hat_sum(x, [Fraction(1, 2**k) for k in range(1, 80)])
    assert 0 <= classical._takagi_value(x) - far <= Fraction(1, 2**78)
    assert classical._takagi_value(Fraction(1, 3)) == Fraction(2, 3)


def test_takagi_sums_are_judged_by_what_was_measured():
    good = {m: (Fraction(2, 3) / 2**m, 3 * m - 1) for m in (1, 2, 3)}
    splines = dict.fromkeys(good, 0.1)
    assert classical.judge_takagi(good, splines).outcome is Outcome.SUPPORTED
    assert classical.judge_takagi(good | {3: (Fraction(1, 2), 8)}, splines).outcome is Outcome.REFUTED
    assert classical.judge_takagi(good | {3: (Fraction(2, 24), 30)}, splines).outcome is Outcome.REFUTED


def test_superpositions_are_judged_by_what_was_measured():
    def outcome(order, power, noise=0.0):
        rises = [classical._Rise(11, 11.0**-k, 11 ** (-order * k), 0.289) for k in (1, 2, 3)]
        wobble = np.random.default_rng(0).normal(size=6) * noise
        costs = [
            classical._Cost(t, 0, int(1e6 * np.exp(w) * (0.1 / e) ** power), e, 1.0)
            for (t, e), w in zip([(t, e) for t in ("f", "g") for e in (0.1, 0.05, 0.02)], wobble, strict=True)
        ]
        return classical.judge_kolmogorov(rises, costs).outcome

    assert outcome(0.289, 3) is Outcome.SUPPORTED
    assert outcome(1.0, 3) is Outcome.REFUTED
    assert outcome(0.289, 1) is Outcome.REFUTED
    assert outcome(0.289, 2.1, noise=1.0) is Outcome.INCONCLUSIVE


def test_spans_are_judged_by_what_was_measured():
    assert classical.judge_spans({(2, 2): (3, 3), (3, 2): (6, 6)}).outcome is Outcome.SUPPORTED
    assert classical.judge_spans({(2, 2): (3, 3), (3, 2): (5, 6)}).outcome is Outcome.REFUTED


def test_rates_are_judged_by_what_was_measured():
    def outcome(power, noise=0.0):
        wobble = np.random.default_rng(1).normal(size=6) * noise
        points = [classical._Degree(2, k, 1.0) for k in (4, 8, 12, 16, 24, 32)]
        found = [replace(p, error=float(p.units**power * np.exp(w))) for p, w in zip(points, wobble, strict=True)]
        return classical.judge_rates(found).outcome

    assert outcome(-1.5) is Outcome.SUPPORTED
    assert outcome(-1.0) is Outcome.REFUTED
    assert outcome(-1.5, noise=2.0) is Outcome.INCONCLUSIVE


def test_classical_of_their_own_degree_are_exact():
    for n in (1, 2):
        assert classical._polynomial_error(n, 4, 4) < 1e-12


def test_straight_pieces_are_judged_by_what_was_measured():
    def outcome(power, left=0.25):
        pieces = {("f", n): float(n) ** power for n in (8, 16, 32, 64)}
        return classical.judge_pieces(pieces, {m: (3 * m - 1, left**m) for m in (1, 2, 3)}).outcome

    assert outcome(-2) is Outcome.SUPPORTED
    assert outcome(-4) is Outcome.REFUTED
    assert outcome(-2, left=0.5) is Outcome.REFUTED


def test_straight_pieces_on_a_parabola_attain_an_eighth_of_the_square():
    # row 3 of the corrections: h^2/8 max|f''|, not h^2/2, so sqrt(M / (2 eps)) pieces on an interval of length 2
    for n in (4, 10, 50):
        found = classical._free_knot_error(*classical._CURVES["x^2"], n)
        assert found == pytest.approx((1 / n) ** 2 / 8 * 2, rel=1e-4)
        assert n == pytest.approx(0.5 * np.sqrt(2 / (2 * found)), rel=1e-4)


def test_deep_networks_use_smoothness_that_one_layer_cannot():
    # row 4 of the corrections: with as many units, depth leaves 4^-(m+1), one layer about 1/(4 N^2) at best 1/(8 N^2)
    units, error = classical._parabola_error(8)
    assert error == pytest.approx(4.0**-9, rel=1e-6)
    assert error < 0.05 / (8 * units**2)


def test_a_smooth_target_may_have_a_rough_constituent():
    """The cube of the cubic root is the identity, and the root's slope at zero has no bound."""
    x = np.linspace(-1, 1, 2001)
    np.testing.assert_allclose(np.cbrt(x) ** 3, x, atol=1e-12)
    slopes = [np.cbrt(h) / h for h in (1e-2, 1e-4, 1e-6)]
    assert slopes[1] > 20 * slopes[0]
    assert slopes[2] > 20 * slopes[1]


@pytest.mark.parametrize(
    ("smooth", "rough", "outcome"),
    [(0.0, 0.9, Outcome.SUPPORTED), (0.0, 0.0, Outcome.REFUTED), (0.9, 0.9, Outcome.REFUTED)],
)
def test_stability_is_judged_by_how_changes_grow(smooth, rough, outcome):
    powers = {"smooth": smooth, "kinks": rough, "roots": rough, "roots undone": rough}
    values = {f"power of the growth, {n}": p + np.array([-0.01, 0.01]) for n, p in powers.items()}
    assert outcome_of("stability-needs-smooth-constituents", values) is outcome


@pytest.mark.parametrize(
    ("growing", "fixed", "outcome"),
    [(-2.5, -1.0, Outcome.SUPPORTED), (-1.0, -1.0, Outcome.REFUTED), (-2.5, -2.5, Outcome.REFUTED)],
)
def test_smoothness_that_grows_is_judged_beside_one_that_does_not(growing, fixed, outcome):
    values = {f"exponent with growing smoothness, n={n}": growing + np.array([-0.1, 0.1]) for n in (1, 2, 3)}
    values["exponent with fixed smoothness, n=3"] = fixed + np.array([-0.1, 0.1])
    assert outcome_of("smoothness-that-grows-escapes-the-curse", values) is outcome
