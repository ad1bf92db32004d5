"""Runs on hierarchies: keys, packs, networks, protocols."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from compsparse.errors import ConfigError
from compsparse.networks.symbols import HierarchicalLCN
from compsparse.progress import Silent
from compsparse.sweeps import presets
from compsparse.sweeps.kinds.hierarchy import BestTest, HierarchyRun, misclassified
from compsparse.sweeps.kinds.paper import srhm_protocol
from compsparse.training.loop import TrainingState

SMALL = HierarchyRun(n_train=150, n_features=4, n_empty=1, width=16, n_epochs=40, batch_size=32, n_test=500)
NETWORKS = ("cnn", "lcn", "fcn", "plain-cnn", "residual-cnn", "transformer")


def run(specs: list[HierarchyRun]) -> list[dict]:
    return HierarchyRun.run(specs, device="cpu", progress=Silent())


def test_keys_of_hierarchies_stay():
    assert HierarchyRun(n_train=100).key == "7e3bd2d14753dc83472c77e55ca8284c"  # stored results are found by them
    other = HierarchyRun(n_train=100, learner="lcn", seed=3, n_empty=1, batch_size=None)
    assert other.key == "1d8e4c441774e998356f886f09838d13"
    keys = [spec.key for sweep in presets().values() for spec in sweep.specs()]
    assert len(keys) == 393
    assert hashlib.sha256("".join(keys).encode()).hexdigest()[:32] == "ff276ccafc6ec8d40e291107ce005397"


def test_fields_that_came_later_name_a_run_only_where_they_say_something():
    later = {"shifted": True, "bias_per_position": True, "balanced": True, "cosine_share": 0.8, "test_at": "best"}
    assert set(later) == HierarchyRun.later_fields
    keys = {HierarchyRun(n_train=100, **{name: value}).key for name, value in later.items()}
    assert len(keys | {HierarchyRun(n_train=100).key}) == 6
    spec = HierarchyRun(n_train=100, **later)
    assert HierarchyRun.from_json(spec.to_json()) == spec


def test_presets_of_figures_are_the_figures():
    for name, sweep in presets().items():
        if name.startswith("srhm-figure"):
            for spec in sweep.specs():
                said = (spec.shifted, spec.balanced, spec.test_at, spec.schedule, spec.batch_size)
                assert said == (True, True, "best", "constant", None)
                assert spec.bias_per_position is (spec.learner == "cnn")
                assert spec.stop_at_loss == (0.01 if spec.learner == "fcn" else 0.001)
                assert spec.width == 512
    dense = presets()["rhm-sample-complexity"].specs()[0]
    assert (dense.cosine_share, dense.bias_per_position, dense.test_at) == (0.8, True, "best")


def test_balanced_runs_have_balanced_data():
    train, test = replace(SMALL, balanced=True).split()
    for part in (train, test):
        counts = np.bincount(part.y)
        assert counts.max() - counts.min() <= 1


def test_the_best_test_error_is_the_least_of_looks_while_a_replica_trains():
    specs = [replace(SMALL, n_train=32 * n, batch_size=32, seed=n) for n in (5, 10)]
    tests = [spec.split()[1] for spec in specs]
    network = specs[0].network(n_replicas=2, seeds=[1, 2])
    looks, errors = BestTest(specs, tests), misclassified(network, tests)

    def look(step, trains):
        looks(TrainingState(step, 0, network, np.array([0, 1]), np.zeros(2), np.array(trains)))

    look(49, [True, True])
    assert looks.errors.tolist() == [1.0, 1.0]  # ten epochs are 50 steps of the one, 100 of the other
    look(50, [True, True])
    assert looks.errors.tolist() == [errors[0], 1.0]
    with torch.no_grad():
        network.readout.layer.weight.zero_()
    look(100, [False, True])
    assert looks.errors[0] == errors[0]
    assert looks.errors[1] == misclassified(network, tests)[1]


def test_the_best_test_error_is_at_most_that_at_the_end():
    spec = replace(SMALL, n_train=230, n_epochs=60, stop_at_loss=0.0)
    at_end, best = run([spec])[0], run([replace(spec, test_at="best")])[0]
    assert best["test_error"] <= at_end["test_error"]
    assert best["train_loss"] == pytest.approx(at_end["train_loss"], rel=1e-4)


def test_a_run_is_the_same_alone_and_in_a_pack():
    specs = [replace(SMALL, n_train=n, seed=seed, sensitivities=True) for n in (100, 230) for seed in (0, 1)]
    assert len({s.pack_key() for s in specs}) == 1
    together = run(specs)
    for spec, result in zip(specs, together, strict=True):
        alone = run([spec])[0]
        assert alone["n_steps"] == result["n_steps"]
        assert alone["test_error"] == pytest.approx(result["test_error"], abs=0.01)
        assert alone["synonym"] == pytest.approx(result["synonym"], rel=1e-3)


def test_what_changes_the_program_splits_packs():
    key = SMALL.pack_key()
    assert replace(SMALL, multiplicity=2).pack_key() == key
    assert replace(SMALL, n_classes=4).pack_key() == key
    for other in ({"width": 8}, {"learning_rate": 0.2}, {"n_empty": 2}, {"n_classes": 3}, {"learner": "lcn"}):
        assert replace(SMALL, **other).pack_key() != key
    by_adam = replace(SMALL, optimizer="adamw")
    assert by_adam.pack_key() != replace(by_adam, n_train=151).pack_key()


@pytest.mark.parametrize("learner", NETWORKS)
def test_every_network_runs(learner):
    by_adam = {"optimizer": "adamw", "learning_rate": 0.003} if learner not in ("cnn", "lcn", "fcn") else {}
    result = run([replace(SMALL, learner=learner, n_epochs=3, sensitivities=True, **by_adam)])[0]
    assert 0 <= result["test_error"] <= 1
    assert result["n_tested"] == 500
    assert result["n_steps"] > 0
    assert len(result["synonym"]) == len(result["diffeomorphism"])
    json.dumps(result)


def test_clustering_learns_without_a_network():
    spec = HierarchyRun(n_train=400, n_features=6, learner="clustering")
    assert run([spec])[0]["test_error"] < 0.1
    assert run([replace(spec, n_train=20)])[0]["test_error"] > 0.3


def test_test_data_are_never_training_data():
    train, test = replace(SMALL, n_train=1000).split()
    rows = {row.tobytes() for row in train.X}
    assert not any(row.tobytes() in rows for row in test.X)


def test_errors_are_counted_per_replica():
    model = SMALL.model
    tests = [model.sample(n, random_state=n) for n in (70, 300)]
    network = HierarchicalLCN(model.n_inputs, 4, 4, model.patch, width=8, n_replicas=2, random_state=0)

    for r, (error, sample) in enumerate(zip(misclassified(network, tests), tests, strict=True)):
        guess = network(torch.as_tensor(sample.X))[r].argmax(-1).numpy()
        assert error == pytest.approx(np.mean(guess != sample.y))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"n_train": 0}, "n_train must be a whole number >= 1, got 0"),
        ({"n_train": 10**7}, "leave none to test on: the model has"),
        ({"n_train": 10, "multiplicity": 9}, "at most 8 of its own"),
        ({"n_train": 10, "whitened": True, "shifted": True}, "whitened or shifted, not both"),
        ({"n_train": 10, "cosine_share": 0.0}, "cosine_share must be"),
        ({"n_train": 10, "test_at": "start"}, "test_at must be one of"),
        ({"n_train": 10, "learner": "clustering", "sensitivities": True}, "does not have"),
    ],
)
def test_impossible_runs_are_refused(fields, words):
    with pytest.raises(ConfigError, match=words):
        HierarchyRun(**fields)


def test_rates_of_the_paper():
    rates = {
        ("cnn", 2, 1): 0.1, ("cnn", 2, 4): 0.03, ("cnn", 2, 6): 0.01, ("cnn", 3, 2): 0.01, ("cnn", 3, 4): 0.003,
        ("cnn", 2, 3): 0.1, ("cnn", 2, 0): 0.01, ("cnn", 1, 4): 0.03, ("lcn", 2, 2): 0.01, ("lcn", 3, 4): 0.003,
        ("fcn", 2, 2): 0.01, ("fcn", 3, 2): 0.003, ("fcn", 3, 4): 0.001,
    }  # fmt: skip
    for (learner, depth, s0), rate in rates.items():
        assert srhm_protocol(learner, depth, s0)["learning_rate"] == rate
    assert srhm_protocol("cnn", 2, 1, tuple_size=3)["learning_rate"] == 0.01
    assert {"rhm-quick", "srhm-figure-4b", "srhm-figure-4c", "srhm-figure-6"} <= set(presets())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"width": 10**9}, "width 1,000,000,000 .* has about 4e.18 weights, more than 1,000,000,000"),
        ({"width": 10**30}, "width must be at most"),
        ({"width": 0}, "width must be a whole number >= 1"),
        ({"n_levels": 10**9}, "make more than 1,000,000 slots"),
        ({"n_empty": 10**9}, "make more than 1,000,000 slots"),
        ({"n_train": 10**10, "n_levels": 5}, "are more than 10,000,000,000 symbols"),
        ({"n_layers": 10**9}, "weights"),
        ({"n_layers": 10**9, "learner": "transformer"}, "weights"),
        ({"seed": -1}, "seed must be a whole number >= 0"),
        ({"batch_size": 0}, "batch_size must be a whole number >= 1"),
        ({"n_epochs": 0}, "n_epochs must be"),
        ({"learning_rate": -1.0}, "learning_rate must be"),
        ({"momentum": 1.0}, "momentum must be"),
        ({"learner": "tree"}, "learner must be one of"),
        ({"n_features": 10**9}, "weights"),
    ],
)
def test_sizes_are_estimated_before_anything_is_made(fields, message):
    with pytest.raises(ConfigError, match=message):
        HierarchyRun(**{"n_train": 100, **fields})
