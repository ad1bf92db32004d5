import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from compsparse.errors import ConfigError, DataError
from compsparse.estimators import GraphClassifier, GraphRegressor
from compsparse.graph import FunctionGraph, balanced_tree, complete
from compsparse.tasks import tanh_tree

QUICK = {"n_restarts": 3, "n_keep": 2, "n_steps": 150, "width": 8, "refine_iterations": 10, "random_state": 0}
SAMPLE = tanh_tree(4).sample(200, random_state=0)
TREE = balanced_tree(4)

# batches and the validation rows are drawn at random: weights and repeats share the objective
# (test_weights_of_samples_count_like_repeats), not the path to its minimum
EXPECTED_FAILURES = {"check_sample_weight_equivalence_on_dense_data": "weights and repeats are batched differently"}


@parametrize_with_checks(
    [
        GraphRegressor(**{**QUICK, "n_steps": 300, "width": 16}),
        GraphClassifier(**{**QUICK, "n_steps": 300, "width": 16}),
    ],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_fits_repeat_and_survive_pickling_and_cloning():
    model = GraphRegressor(TREE, **QUICK).fit(SAMPLE.X, SAMPLE.y)
    assert model.score(SAMPLE.X, SAMPLE.y) > 0.98
    again = clone(model).fit(SAMPLE.X, SAMPLE.y)
    np.testing.assert_array_equal(again.predict(SAMPLE.X), model.predict(SAMPLE.X))
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(SAMPLE.X), model.predict(SAMPLE.X))


def test_pipelines_cross_validation_and_search():
    pipe = make_pipeline(StandardScaler(), GraphRegressor(TREE, **QUICK))
    assert cross_val_score(pipe, SAMPLE.X, SAMPLE.y, cv=2).min() > 0.9
    search = GridSearchCV(GraphRegressor(TREE, **QUICK), {"width": [2, 8]}, cv=2).fit(SAMPLE.X, SAMPLE.y)
    assert set(search.best_params_) == {"width"}


def test_columns_are_matched_by_name():
    graph = FunctionGraph.from_expression("sin(p*q) + r")
    frame = pandas.DataFrame(np.random.default_rng(0).uniform(-1, 1, (200, 4)), columns=["r", "noise", "q", "p"])
    y = np.sin(2 * frame.p * frame.q) + frame.r
    model = GraphRegressor(graph, **QUICK).fit(frame, y)
    assert model.score(frame, y) > 0.95
    assert list(model.feature_names_in_) == ["r", "noise", "q", "p"]
    with pytest.raises(DataError, match="input 'p', but X has no such column"):
        GraphRegressor(graph, **QUICK).fit(frame.rename(columns={"p": "z"}), y)


def test_columns_are_matched_by_name_even_when_they_look_like_positions():
    frame = pandas.DataFrame({"x1": [0.0, 1.0, 2.0], "x0": [5.0, 6.0, 7.0]})
    model = GraphRegressor(FunctionGraph.from_expression("x0 - sin(x1)", ["x0", "x1"]))
    X, _, _ = model._checked(frame, np.arange(3.0), None, y_numeric=True)
    np.testing.assert_array_equal(X[:, 0], frame.x0)
    by_text = GraphRegressor("sin(x1)*x0")
    X, _, _ = by_text._checked(frame.to_numpy(), np.arange(3.0), None, y_numeric=True)
    np.testing.assert_array_equal(X[:, by_text.graph_.inputs.index("x1")], frame.to_numpy()[:, 1])


def test_complete_groups_survive_cloning():
    model = GraphRegressor([complete(0, 1, 2), 3])
    assert clone(model).graph == model.graph
    assert isinstance(clone(model).graph[0], complete)


def test_expressions_and_groups_make_graphs():
    by_text = GraphRegressor("sin(x0*x1)*(x2 + x3)", **QUICK).fit(SAMPLE.X, SAMPLE.y)
    by_groups = GraphRegressor([[0, 1], [2, 3]], **QUICK).fit(SAMPLE.X, SAMPLE.y)
    assert by_text.graph_.modules == by_groups.graph_.modules
    assert GraphRegressor(**QUICK).fit(SAMPLE.X, SAMPLE.y).graph_.size == 1


def test_several_targets_by_channels_or_by_outputs():
    Y = np.stack([SAMPLE.y, SAMPLE.X[:, 0] * SAMPLE.X[:, 1]], axis=1)
    channels = GraphRegressor(TREE, **QUICK, channels=2).fit(SAMPLE.X, Y)
    assert channels.predict(SAMPLE.X).shape == Y.shape
    assert channels.score(SAMPLE.X, Y) > 0.9
    two = FunctionGraph.from_expression(["sin(a*b)*(c + d)", "a*b"])
    assert GraphRegressor(two, **QUICK).fit(SAMPLE.X, Y).predict(SAMPLE.X[:3]).shape == (3, 2)
    with pytest.raises(DataError, match="2 outputs but the target has 3 columns"):
        GraphRegressor(two, **QUICK).fit(SAMPLE.X, np.tile(SAMPLE.y[:, None], 3))


def test_sample_weights_choose_what_is_learned():
    y = np.where(np.arange(200) < 100, SAMPLE.y, -SAMPLE.y)
    weight = np.where(np.arange(200) < 100, 1.0, 0.0)
    model = GraphRegressor(TREE, **QUICK).fit(SAMPLE.X, y, sample_weight=weight)
    alone = GraphRegressor(TREE, **QUICK).fit(SAMPLE.X[:100], y[:100])
    np.testing.assert_allclose(model.predict(SAMPLE.X), alone.predict(SAMPLE.X), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="zero"):
        GraphRegressor(TREE, **QUICK).fit(SAMPLE.X, y, sample_weight=0 * weight)


def test_classes_and_probabilities():
    labels = np.array(["low", "middle", "high"])[np.digitize(SAMPLE.y, [-0.3, 0.4])]
    model = GraphClassifier(TREE, **QUICK).fit(SAMPLE.X, labels)
    assert list(model.classes_) == ["high", "low", "middle"]
    proba = model.predict_proba(SAMPLE.X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(SAMPLE.X)).all()
    assert model.score(SAMPLE.X, labels) > 0.85


def test_a_time_limit_gives_the_best_so_far_and_says_so():
    model = GraphRegressor(TREE, n_restarts=4, n_steps=10**6, time_limit=0.5, random_state=0)
    with pytest.warns(UserWarning, match="best weights so far"):
        model.fit(SAMPLE.X, SAMPLE.y)
    assert np.isfinite(model.predict(SAMPLE.X)).all()


@pytest.mark.parametrize(
    ("model", "X", "y", "message"),
    [
        (GraphRegressor(TREE), SAMPLE.X, np.ones(200), "constant"),
        (GraphClassifier(TREE), SAMPLE.X, np.ones(200), "one class"),
        (GraphRegressor(TREE), SAMPLE.X[:, :3], SAMPLE.y, "4 inputs, but X has 3 features"),
        (GraphRegressor(TREE), np.where(SAMPLE.X > 0.9, np.nan, SAMPLE.X), SAMPLE.y, "NaN"),
        (GraphRegressor(TREE), SAMPLE.X, np.where(SAMPLE.y > 0.5, np.inf, SAMPLE.y), "infinity"),
        (GraphRegressor(TREE), SAMPLE.X[:0], SAMPLE.y[:0], "minimum of 2"),
        (GraphRegressor(TREE), SAMPLE.X[:1], SAMPLE.y[:1], "minimum of 2"),
        (GraphRegressor(TREE, validation_fraction=1.5), SAMPLE.X, SAMPLE.y, "validation_fraction"),
        (GraphRegressor(TREE, n_restarts=0), SAMPLE.X, SAMPLE.y, "n_restarts"),
        (GraphClassifier(FunctionGraph.from_expression(["a*b", "c*d"])), SAMPLE.X, SAMPLE.y > 0, "one output"),
    ],
)
def test_bad_input_gets_one_clear_sentence(model, X, y, message):
    with pytest.raises((ConfigError, DataError, ValueError), match=message):
        model.fit(X, y)
