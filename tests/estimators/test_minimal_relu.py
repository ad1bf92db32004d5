import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from compsparse.errors import DataError
from compsparse.estimators import MinimalReLURegressor


@pytest.mark.filterwarnings("ignore:the limit of rounds:UserWarning")
@parametrize_with_checks([MinimalReLURegressor(max_rounds=1)])
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


def test_two_labels_at_one_point_are_refused():
    with pytest.raises(DataError, match="rows 1 and 2"):
        MinimalReLURegressor().fit([[0.0], [0.0], [1.0]], [1.0, 2.0, 3.0])


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
