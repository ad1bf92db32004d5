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
    with pytest.raises(
        DataError, match=r"there is no column 'p'; the columns are r, noise, q, z \(the graph needs it\)"
    ):
        GraphRegressor(graph, **QUICK).fit(frame.rename(columns={"p": "z"}), y)


def test_columns_are_matched_by_name_even_when_they_look_like_positions():
    frame = pandas.DataFrame({"x1": [0.0, 1.0, 2.0], "x0": [5.0, 6.0, 7.0]})
    graph = FunctionGraph.from_expression("x0 - sin(x1)", ["x0", "x1"])
    tiny = {**QUICK, "n_steps": 2, "refine_iterations": 0}
    columns = GraphRegressor(graph, **tiny).fit(frame, np.arange(3.0)).model_.code
    assert columns.names == ("x0", "x1")
    np.testing.assert_array_equal(columns.chosen(frame).columns[0], frame.x0)
    by_text = GraphRegressor("sin(x1)*x0", **tiny).fit(frame.to_numpy(), np.arange(3.0)).model_.code
    place = by_text.names.index("x1")
    assert by_text.inputs[place].mean == frame.to_numpy()[:, 1].mean()
    np.testing.assert_array_equal(by_text.chosen(frame.to_numpy()).columns[place], frame.to_numpy()[:, 1])


def test_inputs_by_position_take_the_names_of_the_columns():
    frame = pandas.DataFrame(SAMPLE.X, columns=["a", "n4", "c", "d"])
    model = GraphRegressor(TREE, **QUICK).fit(frame, SAMPLE.y)
    assert model.graph_.inputs == tuple(frame.columns)
    by_place = GraphRegressor(TREE, **QUICK).fit(SAMPLE.X, SAMPLE.y)
    np.testing.assert_array_equal(model.predict(frame), by_place.predict(SAMPLE.X))
    np.testing.assert_array_equal(model.model_.predict(frame[["d", "c", "n4", "a"]]), model.predict(frame))


def test_texts_are_categories_beside_a_known_graph():
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"side": rng.choice(["left", "right", "none"], 200), "x": rng.uniform(-1, 1, 200)})
    y = table["x"] * table["side"].map({"left": 1.0, "right": -1.0, "none": 0.0})
    model = GraphRegressor("side * x", **QUICK).fit(table, y)
    assert model.score(table, y) > 0.95
    assert GraphClassifier("side * x", **QUICK).fit(table, y > 0).score(table, y > 0) > 0.9
    with pytest.raises(DataError, match=r"column 'x' must hold numbers, got 'much' in row 3 \(counted from 1\)"):
        model.predict(table.assign(x=["1", "2", "much"] + ["0"] * 197))


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


@pytest.mark.parametrize("labels", [np.array([2, 5], np.int16), np.array([False, True]), np.array(["a", "b"], object)])
def test_labels_keep_their_type(labels):
    model = GraphClassifier(TREE, **QUICK).fit(SAMPLE.X, labels[(SAMPLE.y > 0).astype(int)])
    assert model.classes_.dtype == model.predict(SAMPLE.X).dtype == labels.dtype
    assert set(model.model_.predict(SAMPLE.X).tolist()) == set(labels.tolist())


def test_seeds_and_random_states_are_taken_as_scikit_learn_takes_them():
    by_seed = GraphRegressor(TREE, **{**QUICK, "n_steps": 5}).fit(SAMPLE.X, SAMPLE.y)
    by_state = clone(by_seed).set_params(random_state=np.random.RandomState(0)).fit(SAMPLE.X, SAMPLE.y)
    np.testing.assert_array_equal(by_seed.predict(SAMPLE.X), by_state.predict(SAMPLE.X))
    clone(by_seed).set_params(random_state=np.random.default_rng(0)).fit(SAMPLE.X, SAMPLE.y)
    for bad in (-1, 0.5, "seed", 2**40):
        with pytest.raises(ConfigError, match="random_state"):
            clone(by_seed).set_params(random_state=bad).fit(SAMPLE.X, SAMPLE.y)


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
        (GraphRegressor(TREE), np.where(SAMPLE.X > 0.9, 1j, SAMPLE.X), SAMPLE.y, "Complex data not supported"),
        (GraphRegressor(TREE), SAMPLE.X, np.where(SAMPLE.y > 0.5, np.inf, SAMPLE.y), "inf"),
        (GraphRegressor(TREE), SAMPLE.X[:0], SAMPLE.y[:0], "at least 2"),
        (GraphRegressor(TREE), SAMPLE.X[:1], SAMPLE.y[:1], "at least 2"),
        (GraphRegressor(TREE, validation_fraction=1.5), SAMPLE.X, SAMPLE.y, "validation_fraction"),
        (GraphRegressor(TREE, n_restarts=0), SAMPLE.X, SAMPLE.y, "n_restarts"),
        (GraphClassifier(FunctionGraph.from_expression(["a*b", "c*d"])), SAMPLE.X, SAMPLE.y > 0, "one output"),
    ],
)
def test_bad_input_gets_one_clear_sentence(model, X, y, message):
    with pytest.raises((ConfigError, DataError, ValueError), match=message):
        model.fit(X, y)


def test_penalties_by_name_reach_the_weights():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 4))
    y = X[:, 0] * X[:, 1]
    quick = {"n_restarts": 2, "n_steps": 150, "random_state": 0, "width": 6}
    free, sparse = (
        GraphRegressor([[0, 1], [2, 3]], penalties=penalties, **quick).fit(X, y) for penalties in ((), {"l1": 0.5})
    )

    def zeros(model):
        return sum(int((p == 0).sum()) for name, p in model.network_.named_parameters() if "bias" not in name)

    assert zeros(free) == 0
    assert zeros(sparse) > 0
    with pytest.raises(ConfigError, match="there is no penalty 'l3'"):
        GraphRegressor([[0, 1], [2, 3]], penalties={"l3": 0.5}, **quick).fit(X, y)
