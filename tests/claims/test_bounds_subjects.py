"""The rules by which claims on bounds are judged."""

import numpy as np
import pytest
import torch

from compsparse.bounds import Bound, BoundTable, lower
from compsparse.certificate import Rigour
from compsparse.claims import Interval, Outcome
from compsparse.claims.subjects import bounds_of_networks as subject


def trained(gap=5.0, test_error=0.03, **complexities):
    names = {"degree_aware": "degree-aware", "golowich": "Golowich"}
    values = dict.fromkeys(subject._SHOWN, 1.0) | {names[k]: v for k, v in complexities.items()}
    bounds = [Bound(name, "", value, gap, Rigour.PROVED) for name, value in values.items()]
    others = [
        Bound(name, "", float("nan"), gap, Rigour.PROVED)
        for name in ("parameter counting", "PAC-Bayes, Gaussian", "published code")
    ]
    return subject.Trained(None, test_error, BoundTable((*bounds, *others), 1400, 1000, 0.95, 1.0))


def below(*ratios):
    found = [trained(golowich=r, degree_aware=1.0) for r in ratios]
    return subject.judge_below({1: found, subject._DEPTH: found}).outcome


def test_orders_of_magnitude_are_judged_by_what_was_measured():
    assert below(20, 21, 19) is Outcome.SUPPORTED
    assert below(3, 4, 3.5) is Outcome.REFUTED
    assert below(8, 12, 20) is Outcome.INCONCLUSIVE


def test_nearness_to_one_is_judged_by_what_was_measured():
    def outcome(*gaps, test_error=0.03):
        found = {1e-3: [trained(gap=900.0)] * 3, 1e-2: [trained(gap=g, test_error=test_error) for g in gaps]}
        return subject.judge_vacuous(found).outcome

    assert outcome(2, 2.5, 3) is Outcome.SUPPORTED
    assert outcome(2, 2.5, 3, test_error=0.9) is Outcome.INCONCLUSIVE  # small weights say nothing where none learned
    assert outcome(100, 110, 120) is Outcome.REFUTED
    assert outcome(5, 10, 30) is Outcome.INCONCLUSIVE


def test_overlap_is_judged_by_what_was_measured():
    def outcome(low, high):
        return subject.judge_overlap({(2, 1): Interval(1.41, 1.42), (3, 1): Interval(low, high)}).outcome

    assert outcome(1.40, 1.42) is Outcome.SUPPORTED
    assert outcome(1.21, 1.24) is Outcome.REFUTED  # the printed factor
    assert outcome(1.2, 1.5) is Outcome.INCONCLUSIVE


def test_locality_is_judged_by_what_was_measured():
    def outcome(dense, own, shared):
        values = {"dense": dense, "local, own weights": own, "local, shared weights": shared}
        jitter = np.array([0.99, 1.0, 1.01])
        return subject.judge_layers({(16, 4): {name: value * jitter for name, value in values.items()}}).outcome

    assert outcome(4.0, 2.0, 1.9) is Outcome.SUPPORTED
    assert outcome(2.1, 2.0, 0.5) is Outcome.REFUTED


def test_the_memo_is_judged_by_what_was_measured():
    def outcome(low, high):
        ratios = {(2, "Gaussian"): Interval(0.1, 0.2), (3, "positive"): Interval(low, high)}
        return subject.judge_memo(ratios, 0.4).outcome

    assert outcome(0.3, 0.4) is Outcome.SUPPORTED
    assert outcome(1.1, 1.2) is Outcome.REFUTED
    assert outcome(0.9, 1.1) is Outcome.INCONCLUSIVE


def test_layers_of_equal_units_are_equal():
    for network in subject._layers_of_equal_units(8, 4).values():
        (graph,) = lower(network, np.ones((2, 8))).members
        assert torch.allclose(graph.stages[0].unit_energies, torch.ones(1, dtype=torch.double))
        assert float(graph.stages[1].unit_energies) == pytest.approx(1.0)
    (tree,) = lower(subject._binary_tree(3), np.ones((2, 8))).members
    assert [stage.n_blocks for stage in tree.stages] == [4, 2, 1]


def test_the_factor_of_overlap_is_that_of_a_closed_form():
    """Linear units of norm 1: the best readout of patches that all hold the one input is the root of their number."""
    found = subject._overlap_factor(3, 1, rows=6, n_draws=3)
    assert found.low == pytest.approx(2**0.5, rel=0.02)


def test_networks_of_digits_have_the_shapes_they_say():
    for make in (subject.dense_digits, subject.local_digits, subject.convolutional_digits):
        result = subject.train_on_digits(lambda make=make: make(2), 0, n_steps=2)
        assert 0 <= result.test_error <= 1
    shared = subject.convolutional_digits(2)
    assert shared[1].weight.shape == (2, 1, 3, 3)
