"""A fit that fails leaves the estimator as it was."""

import warnings

import numpy as np
import pandas
import pytest

import compsparse as cs
from compsparse.errors import DataError
from compsparse.estimators import MinimalReLURegressor, SparseCoder

RNG = np.random.default_rng(0)
X = pandas.DataFrame(RNG.normal(size=(40, 2)), columns=["a", "b"])
OTHER = pandas.DataFrame(RNG.normal(size=(40, 3)), columns=["c", "d", "e"])
Y = X["a"] * X["b"]
WRONG = r"missing value|missing in every row|one class|contains NaN|has no codes for rows of 3 columns"
QUICK = {"n_restarts": 1, "n_steps": 1}
CASES = {
    "GraphRegressor": (cs.GraphRegressor([[0, 1]], **QUICK, refine_iterations=0), Y, Y * np.nan),
    "GraphClassifier": (cs.GraphClassifier([[0, 1]], **QUICK, refine_iterations=0), Y > 0, Y > 1e9),
    "CompositionalRegressor": (cs.CompositionalRegressor(**QUICK, effort=0.01), Y, Y * np.nan),
    "CompositionalClassifier": (cs.CompositionalClassifier(**QUICK, effort=0.01), Y > 0, Y > 1e9),
    "MinimalReLURegressor": (MinimalReLURegressor(max_rounds=1), Y, Y * np.nan),
    "SparseCoder": (SparseCoder(np.eye(2), lam=1.0), None, None),
}


def answers(model):
    return (model.transform if isinstance(model, SparseCoder) else model.predict)(X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_a_fit_that_fails_changes_nothing(name):
    model, y, bad = CASES[name]
    with pytest.raises(ValueError, match=WRONG):
        model.fit(OTHER, bad if bad is not None else y)
    assert not [key for key in vars(model) if key.endswith("_")]
    model.fit(X, y)
    before, expected = dict(vars(model)), answers(model)
    with pytest.raises(ValueError, match=WRONG):
        model.fit(OTHER, bad)
    assert vars(model) == before
    assert list(model.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(answers(model), expected)


def test_a_warning_that_is_made_an_error_is_such_a_failure():
    model = cs.GraphRegressor([[0, 1]], n_restarts=2, time_limit=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="time limit"):
            model.fit(X, Y)
    assert not hasattr(model, "model_")


def test_estimators_look_at_every_column_and_models_at_those_they_read():
    model = cs.GraphRegressor("sin(a)", **QUICK).fit(X, X["a"])
    assert model.model_.graph.inert == ("b",)
    np.testing.assert_array_equal(model.model_.predict(X[["a"]]), model.predict(X))
    np.testing.assert_array_equal(model.predict(X.assign(b=np.nan)), model.predict(X))
    with pytest.raises(DataError, match="column 'b'"):
        model.predict(X.assign(b=[[1]] * len(X)))
