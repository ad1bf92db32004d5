"""Parts of the claims on sparse inference and depth that have closed forms."""

import numpy as np
import pytest
from scipy import integrate

from compsparse.claims import Outcome
from compsparse.claims.subjects import (
    depth_separation,
    memorisation,
    sparse_inference,
    sparse_recovery,
)
from compsparse.claims.trials import Trials
from compsparse.networks import dense
from compsparse.progress import Silent
from compsparse.sparse import SparseCodes, fista, gaussian_dictionary, ista


def test_heavy_tailed_inputs_have_the_density_of_sinc_squared():
    x = depth_separation.heavy_tailed((200_000,), np.random.default_rng(0))
    for edge in (0.5, 1.0, 3.0, 10.0):
        share, _ = integrate.quad(lambda t: (np.sin(t) / t) ** 2 / np.pi, 1e-12, edge)
        assert np.mean(np.abs(x) < edge) == pytest.approx(2 * share, abs=0.004)
    assert abs(np.median(x)) < 0.02


def test_the_target_oscillates_on_the_unit_circle():
    target = depth_separation.oscillation(3)
    X, y = target.draw(100, 0)
    assert np.linalg.norm(target.omega) == pytest.approx(27)
    phase = np.maximum(X @ target.U.T + target.b, 0) @ target.omega
    assert np.allclose(y, np.stack([np.cos(phase), np.sin(phase)], axis=1))


def test_built_networks_meet_the_bar_and_widths_the_budget():
    target = depth_separation.oscillation(2)
    assert depth_separation._built(target).error <= 0.1
    for layers in (2, 3):
        width = depth_separation._width_of(4, layers, 1000)
        network = dense(4, width, layers - 1, activation="relu", out_channels=2)
        smaller = dense(4, width - 1, layers - 1, activation="relu", out_channels=2)
        n, m = (sum(p.numel() for p in net.parameters()) for net in (network, smaller))
        assert m < 1000 <= n


def test_ridge_functions_fit_a_single_wave_but_not_two():
    wave = depth_separation.Oscillation(np.eye(2), np.array([1e9, 1e9]), np.array([2.0, 1.0]))  # never at rest
    assert depth_separation._best_along_directions(wave, 5000) < 0.2
    assert depth_separation._best_along_directions(depth_separation.oscillation(2), 5000) > 0.1


def test_width_needed_is_read_off_between_widths():
    errors = {w: Trials(np.array([e])) for w, e in ((8, 0.4), (16, 0.2), (32, 0.05))}
    assert sparse_inference._width_needed(errors) == pytest.approx(16 * 2**0.5)
    assert sparse_inference._width_needed({8: Trials(np.array([0.05]))}) == 8
    assert sparse_inference._width_needed({8: Trials(np.array([0.5]))}) == np.inf
    assert sparse_inference._width_needed({8: Trials(np.array([np.nan]))}) == np.inf


def test_powers_and_exponentials_are_told_apart():
    exponent, power, exponential = sparse_inference._growth([8, 16, 32], [64, 256, 1024])
    assert exponent == pytest.approx(2)
    assert power < 1e-9 < exponential
    _, power, exponential = sparse_inference._growth([8, 16, 32], [2**8, 2**16, 2**32])
    assert exponential < 1e-9 < power


def test_two_bases_meet_the_isometry_condition():
    from compsparse.sparse import isometry_constant

    for d in (8, 16):
        setting = sparse_inference._two_bases(d)
        assert isometry_constant(setting.W, 2 * setting.k).value <= setting.isometry + 1e-12 <= 0.6


def test_all_signs_are_all_faces():
    Z = sparse_recovery._all_signs(5, 2)
    assert len({tuple(row) for row in np.sign(Z)}) == len(Z) == 40
    assert (np.count_nonzero(Z, axis=1) == 2).all()


def test_the_midpoint_of_a_logistic_curve():
    x = np.linspace(0, 1, 21)
    points = list(zip(x, 1 / (1 + np.exp(30 * (x - 0.37))), strict=True))
    assert sparse_recovery.logistic_midpoint(points) == pytest.approx(0.37, abs=0.005)


def three(centre, spread=1.01):
    return Trials(centre * np.array([1 / spread, 1.0, spread]))


@pytest.mark.parametrize(
    ("learned", "spread", "outcome"),
    [
        (0.01, 1.1, Outcome.SUPPORTED),
        (0.5, 1.1, Outcome.REFUTED),
        (0.09, 1.5, Outcome.INCONCLUSIVE),
        (0.099, 1.0, Outcome.INCONCLUSIVE),  # ahead by next to nothing
    ],
)
def test_unrolled_networks_are_judged_by_every_seed(learned, spread, outcome):
    depths = (1, 2)
    plain = {(name, depth): three(0.1) for name in ("ISTA", "FISTA") for depth in depths}
    errors = plain | {(name, d): three(learned, spread) for name in sparse_inference._FAMILIES for d in depths}
    gaps = plain | {("SLISTA", depth): three(0.01) for depth in depths}
    assert sparse_inference.judge_unrolled(depths, errors, gaps).outcome is outcome


def test_ista_and_fista_get_the_lambda_that_is_best_for_them_on_other_signals():
    W = gaussian_dictionary(16, 32, random_state=0)
    task = SparseCodes(W, 3)
    found = sparse_inference._plain_errors(W, task, (1, 4))
    fresh = task.sample(5000, random_state=7)
    for name, method in (("ISTA", ista), ("FISTA", fista)):
        for depth in (1, 4):
            errors = [
                ((method(fresh.X, W, lam, depth).numpy() - fresh.Z) ** 2).sum() / (fresh.Z**2).sum()
                for lam in sparse_inference._LAMBDAS
            ]
            assert found[name, depth].median == pytest.approx(min(errors), rel=0.03)
            at_given = ((method(fresh.X, W, sparse_inference._LAM, depth).numpy() - fresh.Z) ** 2).sum()
            assert found[name, depth].median <= 1.01 * at_given / (fresh.Z**2).sum()


def test_untrained_networks_are_ista():
    assert sparse_inference.unrolled_starts_as_ista("quick", Silent()).outcome is Outcome.SUPPORTED


@pytest.mark.parametrize(
    ("widths", "outcome"),
    [
        ([16, 33, 63, 129, 255], Outcome.SUPPORTED),
        ([16, 16 * 2**4.1, 16 * 2**8, 16 * 2**12.1, 16 * 2**16], Outcome.REFUTED),
        ([2**2, 2**4, 2**8, 2**16, 2**32], Outcome.REFUTED),
        ([16, 1000, 10, 3000, 40], Outcome.INCONCLUSIVE),
    ],
)
def test_polynomial_widths_are_judged_by_the_interval_of_their_exponent(widths, outcome):
    sizes = [8, 16, 32, 64, 128]
    assert sparse_inference._polynomial(sizes, widths, *sparse_inference._growth(sizes, widths)[1:]) is outcome


def test_the_midpoint_has_an_interval_that_narrows_with_draws():
    points = [(x, 1 / (1 + np.exp(40 * (x - 0.37)))) for x in np.linspace(0.2, 0.5, 9)]
    few, many = (sparse_recovery._midpoint_interval(points, draws) for draws in (20, 2000))
    assert few.low < many.low < 0.37 < many.high < few.high


@pytest.mark.parametrize(
    ("best", "outcome"),
    [
        ({2: 0.2, 3: 0.4, 4: 0.6}, Outcome.SUPPORTED),
        ({2: 0.2, 3: 0.15, 4: 0.05}, Outcome.REFUTED),
        ({2: 0.2, 3: 0.4, 4: 0.45}, Outcome.INCONCLUSIVE),
    ],
)
def test_shallow_errors_are_judged_as_they_grow(best, outcome):
    assert depth_separation._outcome((2, 3, 4), best) is outcome


@pytest.mark.parametrize(
    ("wide", "outcome"),
    [
        ([1.01, 1.02, 1.03], Outcome.SUPPORTED),
        ([1.3, 1.35, 1.4], Outcome.REFUTED),
        ([1.0, 1.2, 1.1], Outcome.INCONCLUSIVE),
        ([1.0, np.inf, np.inf], Outcome.INCONCLUSIVE),
        ([1.0, 1.0, 1.0], Outcome.INCONCLUSIVE),  # the optimum to the last digit: no descent was run
        ([0.5, 1.0, 1.0], Outcome.INCONCLUSIVE),  # below the optimum: a mistake, no answer
    ],
)
def test_widths_are_judged_by_intervals_over_data_sets(wide, outcome):
    ratios = {2: [1.5, 1.4, np.inf], 5: [1.2, 1.3, 1.1], 20: [1.01, 1.02, 1.0], 80: wide}
    assert memorisation.judge_widths(5, 4, ratios).outcome is outcome


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        ([1.1, 1.2, 1.15], Outcome.SUPPORTED),
        ([1.8, 1.9, 1.85], Outcome.REFUTED),
        ([2.9, 3.2, 3.1], Outcome.REFUTED),
        ([1.1, 2.5, 1.2], Outcome.INCONCLUSIVE),
    ],
)
def test_label_noise_is_judged_by_intervals_over_data_sets(last, outcome):
    assert memorisation.judge_label_noise({100: [2.5, 2.4, 2.6], 1000: last}, "three sets").outcome is outcome


@pytest.mark.slow
def test_codes_below_the_coherence_bound_are_found():
    assert sparse_recovery.l1_equals_l0("quick", Silent()).outcome is Outcome.SUPPORTED
