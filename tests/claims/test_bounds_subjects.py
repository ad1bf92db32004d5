"""The rules by which claims on bounds are judged."""

import numpy as np
import pytest
import torch
from tests.claims.declared import outcome_of

from compsparse.bounds import lower
from compsparse.claims import Outcome
from compsparse.claims.subjects import bounds_of_networks as subject


def below(*ratios, test_error=0.03):
    values = {"Golowich, 4 convolutions": np.array(ratios), "degree-aware, 4 convolutions": np.ones(len(ratios))}
    return outcome_of("sparse-bound-below-dense", values | {"test error": test_error})


def test_orders_of_magnitude_are_judged_by_what_was_measured():
    assert below(20, 21, 19) is Outcome.SUPPORTED
    assert below(3, 4, 3.5) is Outcome.REFUTED
    assert below(8, 12, 20) is Outcome.INCONCLUSIVE
    assert below(20, 21, 19, test_error=0.9) is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("gaps", "test_error", "outcome"),
    [
        ((2, 2.5, 3), 0.03, Outcome.SUPPORTED),
        ((2, 2.5, 3), 0.9, Outcome.INCONCLUSIVE),  # small weights say nothing where none learned
        ((100, 110, 120), 0.03, Outcome.REFUTED),
        ((5, 10, 30), 0.03, Outcome.INCONCLUSIVE),
    ],
)
def test_nearness_to_one_is_judged_by_what_was_measured(gaps, test_error, outcome):
    values = {"gap": np.array(gaps, dtype=float), "test error": np.full(3, test_error)}
    assert outcome_of("sparse-bound-nearly-not-vacuous", values) is outcome


@pytest.mark.parametrize(
    ("factors", "outcome"),
    [
        ((1.40, 1.41, 1.42), Outcome.SUPPORTED),
        ((1.21, 1.22, 1.24), Outcome.REFUTED),  # the printed factor
        ((1.2, 1.5, 1.35), Outcome.INCONCLUSIVE),
    ],
)
def test_overlap_is_judged_by_what_was_measured(factors, outcome):
    values = {"overlapping, K=3, O=1": np.array(factors), "apart, K=3, O=1": np.ones(3), "root, K=3, O=1": 2**0.5}
    assert outcome_of("overlap-multiplicity", values) is outcome


@pytest.mark.parametrize(
    ("dense", "own", "shared", "outcome"),
    [
        (4.0, 2.0, 1.9, Outcome.SUPPORTED),
        (2.1, 2.0, 0.5, Outcome.REFUTED),
        (8.0, 2.0, 1.9, Outcome.REFUTED),  # not as the root of n over k
    ],
)
def test_locality_is_judged_by_what_was_measured(dense, own, shared, outcome):
    jitter = np.array([0.99, 1.0, 1.01])
    values = {
        "log gain of locality, n=16, k=4": np.log(dense / own * jitter),
        "log gain of sharing, n=16, k=4": np.log(own / shared * jitter[::-1]),
        "dense, n=16, k=4": dense * jitter, "local, n=16, k=4": np.full(3, own), "root of n over k, n=16, k=4": 2.0,
    }  # fmt: skip
    assert outcome_of("locality-lowers-complexity", values) is outcome


@pytest.mark.parametrize(
    ("shares", "outcome"),
    [((0.3, 0.4), Outcome.SUPPORTED), ((1.1, 1.11), Outcome.REFUTED), ((0.9, 1.1), Outcome.INCONCLUSIVE)],
)
def test_the_memo_is_judged_by_what_was_measured(shares, outcome):
    values = {
        "found over proved, 2 layers, Gaussian": np.array([0.1, 0.11]),
        "found over proved, 3 layers, positive": np.array(shares),
    }
    assert outcome_of("kernel-norms-bound-complexity", values) is outcome


@pytest.mark.parametrize(
    ("dense", "local", "outcome"),
    [
        (0.05, 0.02, Outcome.SUPPORTED),
        (0.02, 0.05, Outcome.REFUTED),
        (0.02, 0.018, Outcome.INCONCLUSIVE),
        (0.9, 0.85, Outcome.INCONCLUSIVE),  # nothing was learned
    ],
)
def test_locality_on_digits_needs_a_gain_that_counts(dense, local, outcome):
    jitter = np.array([-1e-3, 1e-3, 0.0])
    values = {"dense": dense + jitter, "local": local + jitter[::-1], "convolutional": local + jitter}
    assert outcome_of("locality-helps-on-digits", values) is outcome


def test_layers_of_equal_units_are_equal():
    for network in subject._layers_of_equal_units(8, 4).values():
        (graph,) = lower(network, np.ones((2, 8))).members
        assert torch.allclose(graph.stages[0].unit_energies, torch.ones(1, dtype=torch.double))
        assert float(graph.stages[1].unit_energies) == pytest.approx(1.0)
    (tree,) = lower(subject._binary_tree(3), np.ones((2, 8))).members
    assert [stage.n_blocks for stage in tree.stages] == [4, 2, 1]


def test_the_factor_of_overlap_is_that_of_a_closed_form():
    """Linear units of norm 1: the best readout of patches that all hold the one input is the root of their number."""
    overlapping, apart = subject._overlapping_and_apart(3, 1, rows=6, n_draws=3)
    assert np.exp(np.log(overlapping / apart).mean()) == pytest.approx(2**0.5, rel=0.02)


def test_networks_of_digits_have_the_shapes_they_say():
    for make in (subject.dense_digits, subject.local_digits, subject.convolutional_digits):
        result = subject.train_on_digits(lambda make=make: make(2), 0, n_steps=2)
        assert 0 <= result.test_error <= 1
    shared = subject.convolutional_digits(2)
    assert shared[1].weight.shape == (2, 1, 3, 3)
