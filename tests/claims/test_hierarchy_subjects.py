"""The rules by which claims on hierarchies are judged, and the data they make."""

import numpy as np
import pytest

from compsparse.claims import Outcome, all_claims
from compsparse.claims.laws import LawPart, law_finding
from compsparse.claims.p_star import MeasuredComplexity
from compsparse.claims.rules import StatedExponent
from compsparse.claims.subjects import hierarchy_laws, hierarchy_transfer
from compsparse.measures import Threshold
from compsparse.report import Figure
from compsparse.sweeps.kinds.hierarchy import HierarchyRun

FIGURE = Figure("a", ({"x": 1.0, "y": 1.0},), "x", "y")


def at(value, spread=1.0, bracketed=True):
    return Threshold(value, value / spread, value * spread, 0.9, bracketed)


def measured(p_star, s0=0, v=4):
    return MeasuredComplexity(HierarchyRun(n_train=2, n_features=v, n_empty=s0), p_star, ())


def part(values, **changes):
    stated = StatedExponent(2.0, rivals=(1.0, 3.0))
    points = [measured(at(value, **changes), s0) for s0, value in enumerate(values)]
    return LawPart("L=2", points, {"s0 + 1": lambda p: p.setting.n_empty + 1}, {"s0 + 1": stated})


@pytest.mark.parametrize(
    ("exponent", "noise", "outcome"),
    [(2.0, 0.01, Outcome.SUPPORTED), (3.0, 0.01, Outcome.REFUTED), (2.0, 1.5, Outcome.INCONCLUSIVE)],
)
def test_laws_are_judged_by_exponent_and_interval(exponent, noise, outcome):
    x = np.array([1.0, 2.0, 3.0, 4.0])
    values = 500 * x**exponent * np.exp(noise * np.random.default_rng(0).standard_normal(4))
    finding = law_finding([part(values)], FIGURE)
    assert finding.outcome is outcome
    assert "s0 + 1 at L=2: 2 (margin 0.1, rivals 1, 3)" in finding.expected
    assert finding.numbers["exponent of s0 + 1 at L=2"] == pytest.approx(exponent, abs=5 * noise)


def test_what_was_not_bracketed_supports_nothing_and_needs_no_fit():
    for value in (4.0, np.inf):
        finding = law_finding([part([1.0, 4.0, 9.0, value], bracketed=False)], FIGURE)
        assert finding.outcome is Outcome.INCONCLUSIVE
        assert "not seen from both sides: L=2" in finding.measured


def test_one_part_that_is_refuted_refutes_the_law():
    good, bad = part([1.0, 4.0, 9.01, 16.0]), part([1.0, 8.0, 27.01, 64.0])
    assert law_finding([good], FIGURE).outcome is Outcome.SUPPORTED
    assert law_finding([good, bad], FIGURE).outcome is Outcome.REFUTED


def test_the_laws_of_cnns_and_lcns_are_told_apart_at_depth_3(monkeypatch):
    """Data of the one law refute the other, in the quick profile too."""
    monkeypatch.setattr(hierarchy_laws, "measure_p_star", fake_p_star(exponent=2))
    assert run(hierarchy_laws.sparse_cnn_law) is Outcome.SUPPORTED
    assert run(hierarchy_laws.sparse_lcn_law) is Outcome.REFUTED
    monkeypatch.setattr(hierarchy_laws, "measure_p_star", fake_p_star(exponent=3))
    assert run(hierarchy_laws.sparse_cnn_law) is Outcome.REFUTED
    assert run(hierarchy_laws.sparse_lcn_law) is Outcome.SUPPORTED
    monkeypatch.setattr(hierarchy_laws, "measure_p_star", fake_p_star(exponent=2.5, noise=1.0))
    assert run(hierarchy_laws.sparse_cnn_law) is Outcome.INCONCLUSIVE


def fake_p_star(exponent, noise=0.02):
    rng = np.random.default_rng(0)

    def measure(setting, guess, **settings):
        assert setting.n_levels == 3
        p_star = 9 * setting.model.natural_size * (setting.n_empty + 1) ** exponent * np.exp(rng.normal(0, noise))
        return MeasuredComplexity(setting, at(p_star), ())

    return measure


def run(experiment):
    from compsparse.progress import Silent

    return experiment("quick", Silent()).outcome


@pytest.mark.parametrize(
    ("ratio", "spread", "outcome"),
    [(1.2, 1.1, Outcome.SUPPORTED), (4.0, 1.2, Outcome.REFUTED), (1.8, 1.5, Outcome.INCONCLUSIVE)],
)
def test_sensitivities_are_judged_by_intervals_of_ratios(ratio, spread, outcome):
    setting = HierarchyRun(n_train=2)
    one_run = MeasuredComplexity(setting, at(100, 1.05), ((setting, {"test_error": 0.1, "synonym": [1.0, 1.0]}),))
    together = hierarchy_laws._Together("CNN", one_run, {"synonym": at(100 * ratio, spread)})
    assert hierarchy_laws.judge_together([together]).outcome is outcome


def test_a_sensitivity_that_never_falls_leaves_its_ratio_open_above():
    together = hierarchy_laws._Together("CNN", measured(at(100)), {"synonym": at(np.inf, bracketed=False)})
    assert next(iter(together.ratios.values())).high == np.inf


@pytest.mark.parametrize(
    ("fcn", "spread", "outcome"),
    [(500, 1.1, Outcome.SUPPORTED), (150, 1.1, Outcome.REFUTED), (320, 1.3, Outcome.INCONCLUSIVE)],
)
def test_fully_connected_networks_are_judged_by_intervals(fcn, spread, outcome):
    points = {("cnn", 4): measured(at(100, spread)), ("lcn", 4): measured(at(140, spread))}
    points["fcn", 4] = measured(at(fcn, spread))
    assert hierarchy_laws.judge_more((4,), points).outcome is outcome


def curve(p_star, noise=0.0):
    rng = np.random.default_rng(0)
    sizes = 2 ** np.arange(4, 14)
    return {n: (0.2 * p_star / (n + p_star) * np.exp(rng.normal(0, noise, 5))).tolist() for n in sizes}


@pytest.mark.parametrize(
    ("carried", "noise", "outcome"),
    [(100, 0.02, Outcome.SUPPORTED), (700, 0.02, Outcome.REFUTED), (300, 0.02, Outcome.INCONCLUSIVE),
     (700, 1.0, Outcome.INCONCLUSIVE)],
)  # fmt: skip
def test_what_carries_over_to_depth_is_judged_by_intervals(carried, noise, outcome):
    errors = {"from scratch": curve(1000, noise), "from depth 2": curve(carried, noise)}
    assert hierarchy_transfer.judge_transfer_to_depth(errors, [0.02] * 5, 4, 5).outcome is outcome


def test_layers_that_learned_nothing_carry_nothing_over():
    errors = {"from scratch": curve(1000), "from depth 2": curve(700)}
    finding = hierarchy_transfer.judge_transfer_to_depth(errors, [0.8] * 5, 4, 5)
    assert finding.outcome is Outcome.INCONCLUSIVE
    assert "test error of the networks of depth 2 is at most 0.1, but it is 0.8" in finding.measured_under_premises()


@pytest.mark.parametrize(
    ("unseen", "outcome"),
    [
        ([0.05, 0.06, 0.05], Outcome.SUPPORTED),
        ([0.6, 0.7, 0.65], Outcome.REFUTED),
        ([0.1, 0.3, 0.2], Outcome.INCONCLUSIVE),
    ],
)
def test_what_carries_over_to_sparsity_is_judged_by_intervals(unseen, outcome):
    shift = hierarchy_transfer._Shift([0.0, 0.01, 0.0], unseen)
    assert hierarchy_transfer.judge_sparsity({"cnn": shift}, 4, 3, 1, 2).outcome is outcome
    other = hierarchy_transfer._Shift([0.0, 0.0, 0.0], [0.6, 0.6, 0.61])
    mixed = Outcome.REFUTED if outcome is Outcome.REFUTED else Outcome.INCONCLUSIVE
    assert hierarchy_transfer.judge_sparsity({"cnn": shift, "net": other}, 4, 3, 1, 2).outcome is mixed


def test_networks_that_did_not_learn_say_nothing_of_sparsity():
    shift = hierarchy_transfer._Shift([0.5, 0.5, 0.5], [0.6, 0.7, 0.65])
    assert hierarchy_transfer.judge_sparsity({"cnn": shift}, 4, 3, 1, 2).outcome is Outcome.INCONCLUSIVE


def test_spread_data_keep_to_the_first_slots_and_to_the_rules():
    spec = HierarchyRun(n_train=150, n_features=4, n_empty=2, n_test=500)
    train, test = hierarchy_transfer._spread(spec, narrow=1, n_train=200)
    assert all(set((level % 3).ravel()) == {0, 1} for level in train.slots)
    np.testing.assert_array_equal(spec.model.read(train.X).y, train.y)
    assert not {row.tobytes() for row in train.X} & {row.tobytes() for row in test.X}


def test_hierarchies_have_their_claims():
    names = set(all_claims())
    assert {"hierarchy-sample-complexity", "sparse-hierarchy-cnn", "sparse-hierarchy-lcn"} <= names
    assert all(set(c.profiles) == {"quick", "full"} for n, c in all_claims().items() if "hierarchy" in n)
