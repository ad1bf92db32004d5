"""The rules by which claims on sparse training and pruning are judged, and the trials they rest on."""

import numpy as np
import pytest
from tests.claims.declared import outcome_of

from compsparse.claims import Outcome
from compsparse.claims.image_trials import ImageData, PatchData, l2, run_patches
from compsparse.training import TrainingConfig

NEAR = np.array([0.99, 1.0, 1.01, 1.0])


S, R, U = Outcome.SUPPORTED, Outcome.REFUTED, Outcome.INCONCLUSIVE
WIDE = np.array([0.01, 0.3, 0.02, 0.05])


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({}, S),
        ({"error of l2": 0.3 * NEAR}, R),
        ({"weights kept by l1": NEAR}, R),
        ({"error of l1": WIDE, "error of l2": WIDE}, U),
        ({"training error of l1": 0.1 * NEAR}, U),  # what was not fitted says nothing of zero loss
        ({"parameters over rows": 0.7 * NEAR}, U),
    ],
)
def test_a_known_graph_is_judged_by_errors_and_weights_inside_the_premises(changed, outcome):
    values = {
        "error of l1": 0.02 * NEAR, "error of l2": 0.03 * NEAR, "training error of l1": 1e-3 * NEAR,
        "training error of l2": 1e-3 * NEAR, "weights kept by l1": 0.5 * NEAR, "weights kept by l2": NEAR[::-1],
        "parameters over rows": 5 * NEAR,
    }  # fmt: skip
    measured = {f"{name}, 1000 rows": v for name, v in (values | changed).items()}
    assert outcome_of("known-graph-l1-and-l2", measured) is outcome


@pytest.mark.parametrize(
    ("wired", "dense", "grows", "fitted", "outcome"),
    [(0.05, 0.45, 0.1, 0.0, S), (0.4, 0.45, 0.1, 0.0, R), (0.05, 0.45, -0.1, 0.0, R), (0.05, 0.45, 0.1, 0.3, U)],
)
def test_the_exponential_loss_must_generalise_where_it_fitted(wired, dense, grows, fitted, outcome):
    values = {
        "test error, wired": wired, "test error, dense": dense, "training error, wired": fitted,
        "training error, dense": 0.0, "margin over rho, wired early": 0.01, "margin over rho, wired late": 0.01 + grows,
        "parameters over rows, wired": 5.0,
    }  # fmt: skip
    assert outcome_of("exponential-loss-needs-no-regulariser", {n: v * NEAR for n, v in values.items()}) is outcome


@pytest.mark.parametrize(
    ("errors", "localities", "outcome"),
    [
        ((0.01, 0.1, 0.9), (0.8, 0.15), S),
        ((0.01, 0.8, 0.9), (0.8, 0.15), R),
        ((0.01, 0.1, 0.9), (0.2, 0.15), R),
        ((0.9, 0.1, 0.9), (0.8, 0.15), U),
        ((0.01, np.array([0.01, 0.9, 0.1, 1.5]), 0.9), (0.8, 0.15), U),
    ],
)
def test_l1_is_judged_by_errors_and_locality(errors, localities, outcome):
    names = ("wired", "dense l1", "dense l2")
    without = {"error, dense, no constraint": 0.95 * NEAR}
    values = {f"error, {name}": e * NEAR for name, e in zip(names, errors, strict=True)}
    values |= {f"locality, {name}": v * NEAR for name, v in zip(names[1:], localities, strict=True)}
    assert outcome_of("dense-l1-approaches-local", values | without) is outcome
    if outcome is S:  # what is found without any constraint needs none
        assert outcome_of("dense-l1-approaches-local", values | {"error, dense, no constraint": 0.01 * NEAR}) is R


@pytest.mark.parametrize(
    ("error", "locality", "outcome"), [(0.8, 0.5, S), (0.8, 0.15, R), (1.5, 0.5, R), (1.0, 0.5, U)]
)
def test_the_modified_l1_must_be_local_and_no_worse(error, locality, outcome):
    values = {"error, dense l2": 1.0, "error, dense beta-lasso": error, "locality, dense l2": 0.15}
    values = {n: v * NEAR[::-1] for n, v in values.items()} | {"locality, dense beta-lasso": locality * NEAR}
    values["error, dense beta-lasso"] = error * NEAR
    assert outcome_of("modified-l1-approaches-local", values) is outcome


@pytest.mark.parametrize(
    ("images", "controls", "outcome"),
    [(0.2, {}, S), (0.2, {"twin": 0.2}, R), (-0.1, {}, R), (0.2, {"shuffled": 0.065}, U)],
)
def test_pruning_is_judged_against_every_control(images, controls, outcome):
    noise = np.array([-0.01, 0.0, 0.01, 0.0])
    kinds = {"motifs": images, "shuffled": 0.0, "twin": 0.0, "Gaussian": 0.0} | controls
    assert outcome_of("pruning-uncovers-locality", {f"excess, {k}": v + noise for k, v in kinds.items()}) is outcome


@pytest.mark.parametrize(
    ("cost", "spread", "error", "outcome"),
    [(0.0, 0.005, 0.1, S), (0.1, 0.005, 0.1, R), (0.03, 0.05, 0.1, U), (0.0, 0.005, 0.75, U)],
)
def test_survival_is_judged_by_the_cost(cost, spread, error, outcome):
    dense = np.full(4, error)
    values = {"dense": dense, "pruned": dense + cost + spread * np.array([-1, 1, 0, 0])}
    assert outcome_of("networks-survive-pruning", values) is outcome


@pytest.mark.parametrize(
    ("error", "spread", "kept", "outcome"),
    [
        (0.1, 0.001, 0.2, S),
        (0.3, 0.001, 0.2, R),
        (0.2, 0.1, 0.2, U),
        (0.9, 0.0, 0.9, U),  # wrong, and no change
        (0.7, 0.001, 0.9, U),  # better, and nothing was learned
        (0.2, 0.0, 0.2, U),  # no change
        (0.199, 1e-5, 0.2, U),  # sure and next to nothing
    ],
)
def test_embedding_is_judged_by_what_it_gains(error, spread, kept, outcome):
    values = {"let go": error + spread * np.array([-1, 1, 0.5, -0.5]), "kept": np.full(4, kept)}
    assert outcome_of("embedded-convolution-can-win", values) is outcome


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
