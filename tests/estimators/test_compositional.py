import pickle

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.contract import contract

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


# searches of ten columns; test_lists_and_read_only_arrays_give_what_arrays_give asks the same of three
@contract(
    *(CompositionalRegressor(**QUICKER), CompositionalClassifier(**QUICKER, predict_with="graph")),
    light={"check_regressors_train": 0, "check_regressor_data_not_an_array": 0},
    expected_failures=EXPECTED_FAILURES,
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
    found = CompositionalRegressor(**{**QUICKER, "n_steps": 50}).fit(FRAME[:60], targets[:60])
    assert found.graph_.outputs == ("range", "mass_")
    assert found.predict(FRAME).shape == targets.shape


def test_lists_and_read_only_arrays_give_what_arrays_give():
    X, y = SAMPLE.X[:60, :3].astype(np.float32), SAMPLE.y[:60]
    plain = CompositionalRegressor(**QUICKER).fit(X, y).predict(X)
    np.testing.assert_array_equal(CompositionalRegressor(**QUICKER).fit(X.tolist(), y.tolist()).predict(X), plain)
    X.setflags(write=False)
    y.setflags(write=False)
    np.testing.assert_array_equal(CompositionalRegressor(**QUICKER).fit(X, y).predict(X), plain)
    with pytest.raises(ValueError, match="60 rows but y has 59"):
        CompositionalRegressor(**QUICKER).fit(X, y[:-1])


def test_models_repeat_and_survive_pickling_and_cloning(model):
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(FRAME), model.predict(FRAME))
    small = clone(model).set_params(**QUICKER).fit(FRAME[:100], SAMPLE.y[:100])
    again = clone(small).fit(FRAME[:100], SAMPLE.y[:100])
    assert again.discovery_.evidence == small.discovery_.evidence
    np.testing.assert_allclose(again.predict(FRAME), small.predict(FRAME), rtol=1e-6)


def test_polars_tables_and_pipelines():
    table = polars.DataFrame({name: FRAME[name].to_numpy() for name in FRAME})
    found = CompositionalRegressor(**QUICKER).fit(table[:60], SAMPLE.y[:60])
    assert found.graph_.inputs == tuple(FRAME.columns)
    pipe = make_pipeline(StandardScaler(), CompositionalRegressor(**QUICKER)).fit(SAMPLE.X, SAMPLE.y)
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
    found = CompositionalClassifier(**{**QUICKER, "n_steps": 30}).fit(FRAME[:100], y[:100])
    read_back = Discovery.from_json(found.discovery_.to_json())
    assert read_back.model.classes == found.discovery_.model.classes == (2, 5)
    np.testing.assert_array_equal(read_back.blend.predict(FRAME), found.predict(FRAME))
    assert set(found.predict(FRAME)) <= {2, 5}
    assert read_back.model.predict(FRAME).dtype.kind == "i"


def test_several_targets_keep_their_shape():
    y = np.stack([SAMPLE.y, SAMPLE.X[:, 0] * SAMPLE.X[:, 1]], 1)
    found = CompositionalRegressor(**QUICKER).fit(SAMPLE.X[:60], y[:60])
    assert found.predict(SAMPLE.X[:7]).shape == (7, 2)
    assert found.graph_.outputs == ("y0", "y1")


def test_running_out_of_time_warns_and_still_predicts():
    task = tanh_tree(8).sample(300, random_state=0)
    with pytest.warns(UserWarning, match="best graph so far"):
        found = CompositionalRegressor(time_limit=2.0, random_state=0).fit(task.X, task.y)
    assert np.isfinite(found.predict(task.X)).all()
