"""Calls one after the other: an estimator or a model answers as it should whatever came before.

Random sequences of fit, a fit that is refused, predict, clone, pickle and copy, compared with an estimator that was
only fitted; ``make fuzz`` runs more of them.
"""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import compsparse as cs
from compsparse.errors import CompsparseError
from compsparse.estimators import MinimalReLURegressor, SparseCoder
from compsparse.models import FittedGraph
from compsparse.training import TrainingConfig, train, training_data

SAMPLE, MANY, LENGTH = 8, 300, 8
RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(60, 2)), RNG.normal(size=(7, 2))
Y = X[:, 0] * X[:, 1]
QUICK = {"n_restarts": 1, "n_steps": 3, "width": 3, "random_state": 0}

MAKERS: dict[str, tuple[Callable[[], Any], np.ndarray]] = {
    "GraphRegressor": (lambda: cs.GraphRegressor([[0, 1]], **QUICK), Y),
    "GraphClassifier": (lambda: cs.GraphClassifier([[0, 1]], **QUICK), Y > 0),
    "CompositionalRegressor": (lambda: cs.CompositionalRegressor(**QUICK, effort=0.01), Y),
    "SparseCoder": (lambda: SparseCoder(dictionary=np.eye(2), lam=0.1), Y),
    "MinimalReLURegressor": (lambda: MinimalReLURegressor(random_state=0), Y),
}


def ask(estimator: Any) -> np.ndarray:
    return np.asarray(estimator.transform(NEW) if hasattr(estimator, "transform") else estimator.predict(NEW))


def rows_for(name: str) -> slice:
    return slice(5) if name == "MinimalReLURegressor" else slice(None)


def fitted(name: str, estimator: Any, flipped: bool = False) -> Any:
    _, y = MAKERS[name]
    rows = rows_for(name)
    return estimator.fit(X[rows][:, ::-1] if flipped else X[rows], y[rows])


def refused(estimator: Any) -> None:
    with pytest.raises((CompsparseError, ValueError)):
        estimator.fit(np.full((60, 2), np.nan), np.zeros(60))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sequence" in metafunc.fixturenames:
        n = MANY if metafunc.config.getoption("--all-cases", default=False) else SAMPLE
        rng = random.Random(3)
        quick = [name for name in MAKERS if name != "CompositionalRegressor" or n == MANY]
        steps = ["fit", "fit flipped", "refused", "ask", "clone", "pickle", "copy"]
        drawn = [(rng.choice(quick), tuple(rng.choices(steps, k=LENGTH))) for _ in range(n)]
        metafunc.parametrize(
            ("name", "sequence"), drawn, ids=lambda part: part if isinstance(part, str) else "-".join(part)
        )


@pytest.fixture(scope="module")
def expected() -> dict[tuple[str, bool], np.ndarray]:
    return {}


@pytest.mark.filterwarnings("ignore")
def test_only_the_last_fit_counts(name: str, sequence: tuple[str, ...], expected: dict[Any, np.ndarray]) -> None:
    """A fit that was refused leaves what was fitted before, or nothing; it never mixes the two."""
    estimator, holds = MAKERS[name][0](), None
    for step in sequence:
        if step.startswith("fit"):
            estimator, holds = fitted(name, estimator, flipped="flipped" in step), step
        elif step == "refused":
            refused(estimator)
        elif step == "clone":
            estimator, holds = clone(estimator), None
        elif step in ("pickle", "copy"):
            estimator = pickle.loads(pickle.dumps(estimator)) if step == "pickle" else copy.deepcopy(estimator)
        elif holds is None:
            with pytest.raises((NotFittedError, CompsparseError)):
                ask(estimator)
        else:
            if (name, holds) not in expected:
                expected[name, holds] = ask(fitted(name, MAKERS[name][0](), flipped="flipped" in holds))
            np.testing.assert_array_equal(ask(estimator), expected[name, holds])


def test_a_model_is_the_same_however_often_it_is_saved(tmp_path):
    model = fitted("GraphRegressor", MAKERS["GraphRegressor"][0]()).model_
    path = tmp_path / "model.json"
    model.save(path)
    first = path.read_bytes()
    for _ in range(2):
        model = FittedGraph.load(path)
        np.testing.assert_array_equal(model.predict(NEW), FittedGraph.load(path).predict(NEW))
        model.save(path)
        assert path.read_bytes() == first


def test_a_training_that_was_refused_leaves_the_network_alone():
    network, data = cs.dense(2, 4, n_replicas=2, random_state=0), training_data(X, Y)
    before = copy.deepcopy(network.state_dict())
    with pytest.raises(CompsparseError):
        train(network, training_data(X[:, :1], Y), TrainingConfig(n_steps=2))
    assert all(bool((before[name] == value).all()) for name, value in network.state_dict().items())
    one = train(copy.deepcopy(network), data, TrainingConfig(n_steps=5), random_state=0)
    two = train(network, data, TrainingConfig(n_steps=5), random_state=0)
    np.testing.assert_array_equal(one.train_loss, two.train_loss)
