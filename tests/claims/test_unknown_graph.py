"""The rules by which claims on sparse training and pruning are judged, and the trials they rest on."""

import numpy as np
import pytest

from compsparse.claims import Outcome
from compsparse.claims.image_trials import ImageData, PatchData, l2, run_patches
from compsparse.claims.subjects import unknown_graph
from compsparse.measures import Locality
from compsparse.training import TrainingConfig

NEAR = np.array([0.99, 1.0, 1.01, 1.0])


def local(value):
    return Locality(value * NEAR, 0.1 * NEAR, 0.01 * NEAR, np.full(4, 10))


def test_a_known_graph_is_judged_by_errors_and_weights():
    def outcome(l1, l2_error, kept):
        return unknown_graph.judge_known(l1 * NEAR, l2_error * NEAR, kept * NEAR, NEAR).outcome

    assert outcome(0.02, 0.03, 0.5) is Outcome.SUPPORTED
    assert outcome(0.02, 0.3, 0.5) is Outcome.REFUTED
    assert outcome(0.02, 0.03, 1.0) is Outcome.REFUTED
    wide = np.array([0.01, 0.3, 0.02, 0.05])
    assert unknown_graph.judge_known(wide, wide, 0.5 * NEAR, NEAR).outcome is Outcome.INCONCLUSIVE


def test_l1_is_judged_by_errors_and_locality():
    names = (unknown_graph._WIRED, unknown_graph._L1, unknown_graph._L2)

    def outcome(errors, places, spread=NEAR):
        by_name = dict(zip(names, errors, strict=True))
        where = dict(zip(names, (1.0, *places), strict=True))
        return unknown_graph.judge_l1(
            {n: e * spread for n, e in by_name.items()}, {n: local(v) for n, v in where.items()}
        ).outcome

    assert outcome((0.01, 0.1, 0.9), (0.8, 0.15)) is Outcome.SUPPORTED
    assert outcome((0.01, 0.8, 0.9), (0.8, 0.15)) is Outcome.REFUTED
    assert outcome((0.01, 0.1, 0.9), (0.2, 0.15)) is Outcome.REFUTED
    errors = {names[0]: 0.01 * NEAR, names[1]: np.array([0.01, 0.9, 0.1, 1.5]), names[2]: 0.9 * NEAR}
    places = {n: local(v) for n, v in zip(names, (1.0, 0.8, 0.15), strict=True)}
    assert unknown_graph.judge_l1(errors, places).outcome is Outcome.INCONCLUSIVE


def test_pruning_is_judged_against_every_control():
    def outcome(images, shuffled=0.0, twin=0.0, white=0.0):
        noise = np.array([-0.01, 0.0, 0.01, 0.0])
        excess = {
            "motifs": images + noise,
            "shuffled": shuffled + noise,
            "twin": twin + noise,
            "Gaussian": white + noise,
        }
        return unknown_graph.judge_pruning(excess, [(0, np.ones(1), "motifs")]).outcome

    assert outcome(0.2) is Outcome.SUPPORTED
    assert outcome(0.2, twin=0.2) is Outcome.REFUTED
    assert outcome(-0.1) is Outcome.REFUTED
    assert outcome(0.2, shuffled=0.06) is Outcome.INCONCLUSIVE


def test_survival_is_judged_by_the_cost():
    def outcome(cost, spread=0.005, error=0.1):
        dense = np.full(4, error)
        pruned = dense + cost + spread * np.array([-1, 1, 0, 0])
        return unknown_graph.judge_survival(dense, pruned, [dense, pruned]).outcome

    assert outcome(0.0) is Outcome.SUPPORTED
    assert outcome(0.1) is Outcome.REFUTED
    assert outcome(0.03, 0.05) is Outcome.INCONCLUSIVE
    assert outcome(0.0, error=0.75) is Outcome.INCONCLUSIVE  # at chance, both


def test_embedding_is_judged_at_the_time_that_other_rows_choose():
    def switched(share, error, chosen_by, spread=0.001, kept=0.2):
        noise = spread * np.array([-1, 1, 0.5, -0.5])
        return unknown_graph._Switched(share, np.full(4, chosen_by), error + noise, np.full(4, kept), 0.1)

    def outcome(*found):
        return unknown_graph.judge_embedded(list(found)).outcome

    assert outcome(switched(0.1, 0.3, 0.3), switched(0.5, 0.1, 0.1)) is Outcome.SUPPORTED
    assert outcome(switched(0.1, 0.3, 0.1), switched(0.5, 0.1, 0.3)) is Outcome.REFUTED
    assert outcome(switched(0.5, 0.2, 0.1, spread=0.1)) is Outcome.INCONCLUSIVE
    assert outcome(switched(0.5, 0.9, 0.9, spread=0.0, kept=0.9)) is Outcome.INCONCLUSIVE  # wrong, and no change
    assert outcome(switched(0.5, 0.7, 0.7, kept=0.9)) is Outcome.INCONCLUSIVE  # better, and nothing was learned
    assert outcome(switched(0.5, 0.2, 0.2, spread=0.0)) is Outcome.INCONCLUSIVE  # no change
    assert outcome(switched(0.5, 0.199, 0.2, spread=1e-5)) is Outcome.INCONCLUSIVE  # sure and next to nothing


def test_patch_trials_give_every_seed_its_own_target_and_best_strength():
    data = PatchData(60, 2, first_seed=0)
    assert data.graphs[0] != data.graphs[1]
    trial = run_patches(data, l2, (0.0, 1.0), TrainingConfig(n_steps=3, weight_decay=0), width=32, wired=True)
    assert trial.error.shape == (2,)
    np.testing.assert_allclose(trial.locality.value, 1)
    np.testing.assert_allclose(trial.density, 1 / 16)
    shuffled = PatchData(60, 2, shuffled=True, first_seed=0).tables[1]
    assert not np.array_equal(shuffled[:, :60], data.tables[1][:, :60])
    np.testing.assert_array_equal(shuffled[:, 60:], data.tables[1][:, 60:])


@pytest.mark.parametrize("kind", ["motifs", "shuffled", "twin", "Gaussian"])
def test_image_trials_run_on_every_kind(kind):
    data = ImageData(kind, n=50, n_seeds=2, first_seed=0)
    X, y = data.tables
    assert X.shape == (2, 1050, 144)
    assert set(np.unique(y)) == {0, 1, 2, 3}
