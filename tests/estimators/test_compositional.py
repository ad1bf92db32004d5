import pickle

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from compsparse.discovery import Discovery
from compsparse.errors import DataError
from compsparse.estimators import CompositionalClassifier, CompositionalRegressor
from compsparse.tasks import tanh_tree

QUICK = {"effort": 0.1, "n_restarts": 3, "n_steps": 250, "width": 12, "random_state": 0}
QUICKER = {**QUICK, "effort": 0.03}
SAMPLE = tanh_tree(4).sample(300, random_state=0)
FRAME = pandas.DataFrame(SAMPLE.X, columns=["mass", "speed", "angle", "drag"])

# as for the estimators of a known graph: batches and folds are drawn at random
EXPECTED_FAILURES = {"check_sample_weight_equivalence_on_dense_data": "weights and repeats are batched differently"}


@parametrize_with_checks(
    [CompositionalRegressor(**QUICKER), CompositionalClassifier(**QUICKER)],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def model():
    return CompositionalRegressor(**{**QUICK, "effort": 0.5, "n_steps": 500}).fit(FRAME, SAMPLE.y)


def test_column_names_reach_the_graph(model):
    assert model.graph_.inputs == ("mass", "speed", "angle", "drag")
    assert model.discovery_.modules == {frozenset({"mass", "speed"}), frozenset({"angle", "drag"})}
    assert list(model.feature_names_in_) == list(FRAME.columns)
    assert model.score(FRAME, SAMPLE.y) > 0.98


def test_target_names_reach_the_graph():
    targets = pandas.DataFrame({"range": SAMPLE.y, "mass": SAMPLE.X[:, 0]})
    found = CompositionalRegressor(**{**QUICK, "effort": 0.1, "n_steps": 50}).fit(FRAME, targets)
    assert found.graph_.outputs == ("range", "mass_")
    assert found.predict(FRAME).shape == targets.shape


def test_models_repeat_and_survive_pickling_and_cloning(model):
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(FRAME), model.predict(FRAME))
    again = clone(model).fit(FRAME, SAMPLE.y)
    assert again.discovery_.evidence == model.discovery_.evidence
    np.testing.assert_allclose(again.predict(FRAME), model.predict(FRAME), rtol=1e-6)


def test_polars_tables_and_pipelines():
    table = polars.DataFrame({name: FRAME[name].to_numpy() for name in FRAME})
    found = CompositionalRegressor(**QUICK).fit(table, SAMPLE.y)
    assert found.graph_.inputs == tuple(FRAME.columns)
    pipe = make_pipeline(StandardScaler(), CompositionalRegressor(**QUICK)).fit(SAMPLE.X, SAMPLE.y)
    assert pipe.score(SAMPLE.X, SAMPLE.y) > 0.9


def test_text_columns_and_text_classes():
    rng = np.random.default_rng(0)
    side = rng.choice(["left", "right"], 200)
    x = rng.uniform(-1, 1, 200)
    table = pandas.DataFrame({"side": side, "x": x})
    label = np.where((side == "left") == (x > 0), "win", "lose")
    found = CompositionalClassifier(**{**QUICK, "n_steps": 400}).fit(table, label)
    assert list(found.classes_) == ["lose", "win"]
    assert found.score(table, label) > 0.95
    with pytest.raises((DataError, ValueError)):
        found.predict(table[["x"]])


def test_the_record_keeps_the_labels():
    y = np.where(SAMPLE.y > 0, 5, 2)
    found = CompositionalClassifier(**{**QUICK, "n_steps": 30}).fit(FRAME, y)
    read_back = Discovery.from_json(found.discovery_.to_json()).model
    assert read_back.classes == found.discovery_.model.classes == (2, 5)
    np.testing.assert_array_equal(read_back.predict(FRAME), found.predict(FRAME))
    assert set(found.predict(FRAME)) <= {2, 5}
    assert read_back.predict(FRAME).dtype.kind == "i"


def test_several_targets_keep_their_shape():
    y = np.stack([SAMPLE.y, SAMPLE.X[:, 0] * SAMPLE.X[:, 1]], 1)
    found = CompositionalRegressor(**QUICK).fit(SAMPLE.X, y)
    assert found.predict(SAMPLE.X[:7]).shape == (7, 2)
    assert found.graph_.outputs == ("y0", "y1")


def test_running_out_of_time_warns_and_still_predicts():
    task = tanh_tree(8).sample(300, random_state=0)
    with pytest.warns(UserWarning, match="best graph so far"):
        found = CompositionalRegressor(time_limit=2.0, random_state=0).fit(task.X, task.y)
    assert np.isfinite(found.predict(task.X)).all()
