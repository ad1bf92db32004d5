"""Parts of the claims on sparse inference and depth that have closed forms."""

import numpy as np
import pytest
from scipy import integrate

from compsparse.claims import Outcome
from compsparse.claims.subjects import depth_separation, sparse_inference, sparse_recovery
from compsparse.claims.trials import Trials
from compsparse.networks import dense


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
    assert depth_separation._best_along_known_directions(wave, 5000) < 0.2
    assert depth_separation._best_along_known_directions(depth_separation.oscillation(2), 5000) > 0.3


def test_width_needed_is_read_off_between_widths():
    errors = {w: Trials(np.array([e])) for w, e in ((8, 0.4), (16, 0.2), (32, 0.05))}
    assert sparse_inference._width_needed(errors) == pytest.approx(16 * 2**0.5)
    assert sparse_inference._width_needed({8: Trials(np.array([0.05]))}) == 8
    assert sparse_inference._width_needed({8: Trials(np.array([0.5]))}) == np.inf


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


@pytest.mark.slow
def test_codes_below_the_coherence_bound_are_found():
    from compsparse.progress import Silent

    assert sparse_recovery.l1_equals_l0("quick", Silent()).outcome is Outcome.SUPPORTED
