import math
import subprocess
import sys

import numpy as np
import pandas
import pytest
from sklearn.metrics import r2_score
from tests.fitted import LABELS, TABLE, Y, classes_model, numbers_model

from compsparse.errors import ConfigError, DataError
from compsparse.models import Assessment, ClassScore, Score, assess
from compsparse.models.comparison import baseline_scores
from compsparse.models.scores import score_classes, score_numbers
from compsparse.tables import split_table


def test_scores_in_closed_form():
    numbers = score_numbers("m", np.array([0.0, 2.0]), np.array([0.0, 1.0]), 1.0)
    assert numbers.unexplained == pytest.approx(0.5)
    both = score_numbers("m", np.array([[0.0, 0], [2, 2]]), np.array([[0.0, 0], [1, 2]]), 1.0)
    assert both.by_output == (0.5, 1.0)
    shares = np.array([[0.5, 0.5], [0.25, 0.75]])
    classes = score_classes("m", np.array([0, 1]), shares, np.array([0.5, 0.5]), 1.0)
    assert classes.accuracy == 1
    assert classes.unexplained == pytest.approx((math.log(2) - math.log(0.75)) / (2 * math.log(2)))


def test_r2_is_scikit_learn_s():
    rng = np.random.default_rng(0)
    observed, predicted = rng.normal(size=(2, 30, 3))
    observed[:, 1] = predicted[:, 2] = observed[:, 2] = 1.0
    each = r2_score(observed, predicted, multioutput="raw_values")
    np.testing.assert_allclose(score_numbers("m", observed, predicted, 0.0).by_output, each)


def assessed(own, *others):
    return Assessment(("y",), np.zeros((3, 1)), np.zeros((3, 1)), own, 6, others)


BOOSTING, DENSE = "gradient boosting (scikit-learn)", "dense network (scikit-learn MLP)"


@pytest.mark.parametrize(
    ("own", "others", "sentence"),
    [
        (0.87, {BOOSTING: 0.914, DENSE: 0.4},
         "Gradient boosting predicts better here: R2 0.91 against 0.87. The graph explains, boosting predicts."),
        (0.8221, {DENSE: 0.876, BOOSTING: 0.8224},
         "Gradient boosting predicts better here: R2 0.8224 against 0.8221. The graph explains, boosting predicts."),
        (0.5, {DENSE: 0.6, BOOSTING: 0.5}, "The dense network predicts better here: R2 0.60 against 0.50. "
         "The graph explains, the dense network predicts."),
        (0.9, {BOOSTING: 0.9, DENSE: -1.0}, ""),
        (0.9, {}, ""),
    ],
)  # fmt: skip
def test_one_sentence_says_so_where_another_model_predicts_better(own, others, sentence):
    scores = [Score(name, r2, 1.0) for name, r2 in others.items()]
    assert assessed(Score("graph", own, 1.0), *scores).better_elsewhere == sentence


def test_classes_are_compared_by_the_log_loss_by_which_they_are_ranked():
    graph, boosting = ClassScore("graph", 0.95, 0.3, 0.7, 1.0), ClassScore(BOOSTING, 0.9, 0.21, 0.7, 1.0)
    told = assessed(graph, boosting).better_elsewhere
    assert told.startswith("Gradient boosting predicts better here: log loss 0.21 against 0.30.")
    assert not assessed(boosting, graph).better_elsewhere


def test_every_class_stays_in_the_rows_to_learn_from():
    labels = pandas.DataFrame({"grade": ["high"] * 60 + ["low"] * 58 + ["mid"] * 2})
    split = split_table(TABLE, labels, random_state=1)
    assert set(split.y) == {"high", "low", "mid"}
    assert len(split.X_test) == 39
    scores = assess(classes_model(), split, others=baseline_scores(split, 2**40)).scores
    assert {type(s) for s in scores} == {ClassScore}
    assert [s.unexplained for s in scores] == sorted(s.unexplained for s in scores)
    with pytest.raises(DataError, match="too few"):
        split_table(TABLE[:6], labels[57:63])


def test_an_assessment_holds_what_the_model_says_of_the_test_rows():
    model = numbers_model()
    split = split_table(TABLE, pandas.DataFrame(Y, columns=["y", "z"]), random_state=0)
    found = assess(model, split, others=[Score("perfect", 1.0, 0.0)])
    np.testing.assert_array_equal(found.predicted, model.predict(split.X_test))
    np.testing.assert_array_equal(found.observed, split.y_test)
    assert (found.n_train, found.n_test) == (80, 40)
    assert [s.model for s in found.scores] == ["perfect", "fitted graph (compsparse)"]
    assert found.own.seconds == model.seconds
    assert found.classes is found.probabilities is None
    split = split_table(TABLE, LABELS, random_state=0)
    found = assess(classes_model(), split)
    assert found.classes == ("high", "low", "mid")
    np.testing.assert_array_equal(np.array(found.classes)[found.observed], split.y_test)
    np.testing.assert_array_equal(found.predicted, found.probabilities.argmax(1))


def test_models_need_no_scikit_learn_and_their_records_no_torch():
    code = (
        "import sys; from compsparse.models import Assessment, LearnedNodes, Score; assert 'torch' not in sys.modules;"
        "from compsparse.models import FittedGraph, assess, fit_model, learned_nodes;"
        "assert 'sklearn' not in sys.modules"
    )
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_a_split_checks_its_settings():
    for settings in ({"test_share": 1.0}, {"random_state": -1}):
        with pytest.raises(ConfigError, match=next(iter(settings))):
            split_table(TABLE, LABELS, **settings)
