from inspect import signature

import numpy as np
import pytest
from tests.contract import contract

from compsparse.errors import ConfigError, DataError
from compsparse.estimators import MinimalReLURegressor
from compsparse.sparse import memorise


@pytest.mark.filterwarnings("ignore:the limit of rounds:UserWarning")
@contract(
    MinimalReLURegressor(bias="free", max_rounds=1, time_limit=None),
    light={"check_regressors_train": 1, "check_regressor_data_not_an_array": 0},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_it_meets_every_label_with_few_neurons():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(20, 2))
    y = np.maximum(X @ [1.0, -2.0] + 0.3, 0) - X[:, 0]
    model = MinimalReLURegressor().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)
    assert model.n_neurons_ <= 20
    assert model.gap_ <= 1e-6


def test_lists_and_read_only_arrays_give_what_arrays_give():
    X = np.random.default_rng(0).normal(size=(12, 2)).astype(np.float32)
    y = np.maximum(X[:, 0], X[:, 1]).astype(float)
    plain = MinimalReLURegressor().fit(X, y).predict(X)
    np.testing.assert_array_equal(MinimalReLURegressor().fit(X.tolist(), y.tolist()).predict(X), plain)
    X.setflags(write=False)
    np.testing.assert_array_equal(MinimalReLURegressor().fit(X, y).predict(X), plain)


def test_two_labels_at_one_point_are_refused():
    with pytest.raises(DataError, match="rows 1 and 2"):
        MinimalReLURegressor().fit([[0.0], [0.0], [1.0]], [1.0, 2.0, 3.0])


def test_defaults_are_those_of_memorise():
    own, function = (signature(f).parameters for f in (MinimalReLURegressor.__init__, memorise))
    shared = set(own) & set(function)
    assert shared == {"norm", "bias", "time_limit", "max_rounds", "tol", "random_state"}
    assert {name: own[name].default for name in shared} == {name: function[name].default for name in shared}


def test_seeds_are_checked_and_generators_of_scikit_learn_taken():
    X, y = np.linspace(-1, 1, 5)[:, None], np.arange(5.0)
    for wrong in (-1, 0.5, "seed"):
        with pytest.raises(ConfigError, match="random_state must be a whole number >= 0"):
            MinimalReLURegressor(random_state=wrong).fit(X, y)
    one, other = (MinimalReLURegressor(random_state=s).fit(X, y) for s in (3, np.random.RandomState(3)))
    np.testing.assert_array_equal(one.memorised_.theta, other.memorised_.theta)


def test_running_out_of_time_warns():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="time limit"):
        MinimalReLURegressor(time_limit=0.01).fit(rng.normal(size=(60, 4)), rng.normal(size=60))


def test_running_out_of_rounds_warns_and_fits_all_the_same():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.normal(size=40)
    with pytest.warns(UserWarning, match="limit of rounds"):
        model = MinimalReLURegressor(max_rounds=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)
    assert model.memorised_.rounds == 1
    assert model.gap_ > 1e-6
