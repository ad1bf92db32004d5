import numpy as np

from compsparse.claims.trials import run_trials, run_vector_trials
from compsparse.networks import dense, mirror
from compsparse.tasks import tanh_tree
from compsparse.training import TrainingConfig


def test_trials_measure_each_seed_on_its_own_sample():
    task = tanh_tree(4)
    trials = run_trials(
        lambda r: mirror(task.graph, 6, n_replicas=r, random_state=0),
        task,
        200,
        TrainingConfig(n_steps=300),
        n_restarts=2,
    )
    assert trials.errors.shape == (3,)
    assert len(set(trials.errors)) == 3
    assert trials.high < 0.05
    assert trials.low <= trials.median <= trials.high


def test_vector_trials_learn_a_linear_map():
    def draw(rows, seed):
        X = np.random.default_rng(seed).standard_normal((rows, 3))
        return X, X[:, :2] * [1.0, -2.0]

    network = dense(3, 16, 1, activation="relu", out_channels=2, n_replicas=2, random_state=0)
    trials = run_vector_trials(network, draw, 1000, TrainingConfig(n_steps=300, batch_size=64, weight_decay=0))
    assert trials.errors.shape == (2,)
    assert trials.high < 0.02
