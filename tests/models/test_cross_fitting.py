"""Members of folds, what their rows say of them, and how they are blended."""

import json
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from compsparse.clock import Deadline
from compsparse.digest import sealed
from compsparse.discovery.data import from_data
from compsparse.errors import ConfigError, DataError
from compsparse.models import FittedGraph, blending, contest
from compsparse.models.boosting import cross_fit_trees
from compsparse.models.contest import contest_of
from compsparse.models.cross_fitting import Recipe, cross_fit, fold_numbers, in_pieces, standardised
from compsparse.models.fitting import over_every_input
from compsparse.models.json_format import packed_array
from compsparse.progress import check_progress
from compsparse.tables import Target, coded_table
from compsparse.training import FitConfig, TrainingConfig

QUICK = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=150))
SETTINGS = {"config": QUICK, "width": 8, "seed": 0, "device": None, "deadline": Deadline()}


def rows(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] * X[:, 1] + (X[:, 2] > 0) + 0.3 * rng.normal(size=n)


def blended(y, predict_with="blend", **settings):
    table = coded_table(rows()[0], y, leaves_out=True)
    graph = over_every_input(table.code)
    return contest_of(graph, table, predict_with, progress=check_progress(None), **{**SETTINGS, **settings})


@pytest.fixture(scope="module")
def numbers():
    return blended(rows()[1])


@pytest.fixture(scope="module")
def classes():
    return blended(np.array(["low", "mid", "top"])[np.digitize(rows()[1], [-0.3, 1.0])])


# ---- folds and members ---------------------------------------------------------------------------


def test_every_fold_has_as_many_rows_of_each_class():
    target = Target(np.repeat([0, 1], [80, 16]), ("y",), ("a", "b"))
    fold = fold_numbers(target, seed=3)
    for k in range(2):
        assert set(np.bincount(fold[target.values == k])) == {80 // 8 if k == 0 else 2}
    assert not np.array_equal(fold, fold_numbers(target, seed=4))


def test_no_member_that_speaks_of_a_row_has_seen_it():
    """A target of pure noise, learned by heart: members explain their own rows, and rows not seen they do not."""
    X = np.random.default_rng(0).normal(size=(64, 2))
    y = np.random.default_rng(1).normal(size=64)
    table = coded_table(X, y)
    fold = fold_numbers(table.target, 0)
    by_heart = Recipe("by heart", TrainingConfig(n_steps=1500, batch_size=None, learning_rate=0.02, weight_decay=0))
    by_heart = [
        cross_fit(
            over_every_input(table.code), table, fold, by_heart,
            out_channels=1, seed=0, device=None, progress=check_progress(None),
        )
    ][0]  # fmt: skip
    seen = by_heart.model.predict(X)
    z = standardised(table)[0].numpy()
    assert np.mean((seen - y) ** 2) < 0.5 * y.var()
    assert np.mean((by_heart.out_of_fold - z) ** 2) > 1


def test_pieces_add_up_to_any_piecewise_linear_function():
    X, y = rows()
    cut = in_pieces(coded_table(X, y), 4)
    column = cut.code.inputs[0]
    x = np.linspace(column.low, column.high, 50)
    codes = column.codes(x)
    assert codes.shape == (50, 1 + 4) == (50, column.width)
    bent = np.interp(x, column.mean + column.scale * np.array(column.knots), [0, 2, -1, 5, 3])
    basis = np.column_stack([codes[:, 1:], np.ones(50)])
    left = bent - basis @ np.linalg.lstsq(basis, bent, rcond=None)[0]
    np.testing.assert_allclose(left, 0, atol=1e-9)
    np.testing.assert_allclose(cut.code.encoded(X), cut.X)


def test_numbers_beyond_those_of_the_fit_are_moved_to_their_ends(numbers):
    X = rows()[0]
    far, end = X[:3].copy(), X[:3].copy()
    far[:, 0], end[:, 0] = 1e6, X[:, 0].max()
    np.testing.assert_array_equal(numbers.predict(far), numbers.predict(end))
    np.testing.assert_array_equal(numbers.inside.predict(far), numbers.inside.predict(end))
    outside = numbers.code.outside(far)
    assert list(outside) == ["x0"]
    np.testing.assert_array_equal(outside["x0"], [0, 1, 2])


# ---- trees ---------------------------------------------------------------------------------------


def test_trees_answer_as_scikit_learn_s_do():
    X, y = rows()
    fold = np.arange(len(y)) % 2
    labels = np.digitize(y, [-0.3, 1.0])
    of_numbers, said = cross_fit_trees(coded_table(X, y), fold, y[:, None], 0, Deadline())
    of_classes, logits = cross_fit_trees(coded_table(X, labels, classification=True), fold, labels, 0, Deadline())
    each = []
    for k in range(2):
        learned = fold != k
        codes = coded_table(X, y).X
        model = HistGradientBoostingRegressor(random_state=0).fit(codes[learned], y[learned])
        each.append(model.predict(codes))
        np.testing.assert_allclose(said[fold == k, 0], each[-1][fold == k], atol=1e-9)
        classifier = HistGradientBoostingClassifier(random_state=0).fit(codes[learned], labels[learned])
        expected = np.log(classifier.predict_proba(codes[fold == k]))
        np.testing.assert_allclose(log_softmax(logits[fold == k], -1), expected, atol=1e-9)
    np.testing.assert_allclose(of_numbers[0](codes), np.mean(each, axis=0), atol=1e-9)
    assert len(of_classes) == 3


# ---- weights and calibration ---------------------------------------------------------------------


def test_weights_are_those_of_least_loss():
    rng = np.random.default_rng(0)
    y, weight = rng.normal(size=(50, 1)), rng.uniform(0.5, 2, 50)
    each = np.stack([y + rng.normal(size=y.shape) for _ in range(3)] + [-y])
    found = blending.weigh_numbers(each, y, weight)[:, 0]

    def loss(w):
        return np.sum(weight * (np.tensordot(np.abs(w), each, 1) - y)[:, 0] ** 2)

    best = minimize(loss, np.full(4, 0.3), method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-8})
    assert loss(found) <= best.fun * (1 + 1e-6)
    assert found[3] == 0


def test_a_mixture_of_classes_is_that_of_least_log_loss():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    each = rng.dirichlet(np.ones(3), (2, 60))
    each[0, np.arange(60), y] += 0.5
    each /= each.sum(2, keepdims=True)
    share = blending.weigh_classes(each, y, np.ones(60))[0, 0]
    grid = np.linspace(0, 1, 1001)
    given = each[:, np.arange(60), y]
    best = grid[np.argmax([np.log(s * given[0] + (1 - s) * given[1]).sum() for s in grid])]
    assert share == pytest.approx(best, abs=0.01)


def test_calibrated_models_are_no_worse_than_a_constant():
    rng = np.random.default_rng(0)
    y, labels, weight = rng.normal(size=(80, 1)), rng.integers(0, 3, 80), np.ones(80)
    wrong, sure = 5 * rng.normal(size=(80, 1)), 20 * rng.normal(size=(80, 3))
    shrunk = blending.calibrated_numbers(wrong, y, weight) * wrong
    assert np.mean((shrunk - y) ** 2) <= np.mean(y**2)
    prior = np.log(blending.shares_of(labels, 3, weight))
    factor = blending.calibrated_logits(sure, labels, weight)
    given = log_softmax(factor * sure + (1 - factor) * prior, -1)[np.arange(80), labels]
    assert -given.mean() <= -prior[labels].mean() + 1e-5


# ---- blends --------------------------------------------------------------------------------------


def test_a_blend_is_no_worse_than_the_models_in_it(numbers, classes):
    for blend in (numbers, classes):
        *models, both = blend.scores
        assert both.unexplained < 1.02 * min(model.unexplained for model in models)
        assert all(score.unexplained <= 1 + 1e-6 for score in models)
        assert blend.scores[0].difference == 0


def test_intervals_hold_the_share_of_new_rows_that_was_asked_for(numbers):
    X, y = rows(4000, seed=1)
    for coverage in (0.5, 0.9):
        low, high = numbers.predict_interval(X, coverage)
        assert np.mean((low <= y) & (y <= high)) == pytest.approx(coverage, abs=0.07)
    with pytest.raises(Exception, match="must be a finite number > 0 and < 1"):
        numbers.predict_interval(X, 1.0)


def test_classes_have_probabilities_and_no_intervals(classes):
    X = rows()[0]
    shares = classes.predict_proba(X)
    np.testing.assert_allclose(shares.sum(1), 1)
    assert list(classes.predict(X)) == [classes.classes[k] for k in shares.argmax(1)]
    with pytest.raises(Exception, match="intervals are of numbers"):
        classes.predict_interval(X)


def test_the_graph_alone_fits_nothing_else(monkeypatch):
    monkeypatch.setattr(contest, "cross_fit_trees", None)
    alone = blended(rows()[1], predict_with="graph")
    assert not alone.others
    assert len(alone.scores) == 1
    np.testing.assert_allclose(alone.predict(rows()[0]), alone.inside.predict(rows()[0]))


def test_one_sentence_says_who_predicts_best_and_what_the_graph_costs(numbers):
    graph, other = blending.HonestScore("the graph", 0.2), blending.HonestScore("boosting", 0.1, -0.1, 0.02)
    told = replace(numbers, scores=(graph, other)).sentence
    assert told == (
        "of rows that no member had seen, the graph leaves 20.00% of y unexplained, boosting 10.00%: "
        "boosting predicts best; the graph alone costs 10.00% ± 2.00%"
    )


def test_a_graph_that_clearly_loses_to_a_network_without_it_is_told_so(numbers):
    graph = blending.HonestScore("the graph", 0.2)
    worse = blending.HonestScore(blending.FREE, 0.1, -0.1, 0.02)
    blend = blending.HonestScore("a blend", 0.1, -0.1, 0.02)
    assert replace(numbers, scores=(graph, worse, blend)).regret is worse
    even = blending.HonestScore(blending.FREE, 0.19, -0.01, 0.02)
    assert replace(numbers, scores=(graph, even, blend)).regret is None


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_a_file_holds_the_whole_blend(kind, request):
    blend, X = request.getfixturevalue(kind), rows()[0]
    read = blending.Blend.from_dict(json.loads(json.dumps(blend.to_dict())), blend.graph)
    np.testing.assert_array_equal(read.predict(X), blend.predict(X))
    assert read.scores == blend.scores
    np.testing.assert_array_equal(read.misses, blend.misses)
    assert blend.others


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_onnx_holds_pieces_ends_and_calibration(kind, request, tmp_path):
    blend, X = request.getfixturevalue(kind), 3 * rows()[0]
    models = [model for model in (blend.inside, *blend.others) if isinstance(model, FittedGraph)]
    assert max(len(column.knots) for model in models for column in model.code.inputs) > 2
    for model in models:
        model.to_onnx(tmp_path / "model.onnx")
        (said,) = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, {"x": X})
        expected = model.predict_proba(X) if model.classes else model.predict(X)[:, None]
        np.testing.assert_allclose(said, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("misses"),
        lambda data: data["others"].pop(),
        lambda data: data["weights"].update(shape=[1]),
        lambda data: data["others"][0].update(scale=[]),
        lambda data: next(o for o in data["others"] if "trees" in o)["trees"][0].update(feature=_numbers(10**6)),
        lambda data: next(o for o in data["others"] if "trees" in o)["trees"][0].update(low=_numbers(0)),
    ],
    ids=["misses", "a model", "weights", "outputs", "columns", "a circle"],
)
def test_damaged_blends_get_one_sentence(numbers, change):
    data = numbers.to_dict()
    data.pop("digest")
    change(data)
    with pytest.raises(DataError, match=r"damaged or incomplete|other outputs"):
        blending.Blend.from_dict(sealed(data), numbers.graph)
    with pytest.raises(DataError, match="changed"):
        blending.Blend.from_dict({**numbers.to_dict(), "scores": []}, numbers.graph)


def _numbers(value):
    return packed_array(np.full(5, value))


def test_a_discovery_keeps_what_predicts(tmp_path):
    X, y = rows()
    found = from_data(X, y, effort=0.01, fit_config=QUICK, width=8, random_state=0)
    (tmp_path / "found.json").write_text(found.to_json())
    best, alone = (blending.load_predictor(tmp_path / "found.json", way) for way in ("blend", "graph"))
    np.testing.assert_array_equal(best.predict(X), found.predictor.predict(X))
    np.testing.assert_array_equal(alone.predict(X), found.model.predict(X))
    assert found.blend.sentence in found.caveats
    low, high = found.predict_interval(X)
    assert (low < high).all()
    found.model.save(tmp_path / "model.json")
    model = blending.load_predictor(tmp_path / "model.json")
    np.testing.assert_array_equal(model.predict(X), found.model.predict(X))
    with pytest.raises(ConfigError, match="intervals need a model that was judged"):
        replace(found, blend=None).predict_interval(X)
