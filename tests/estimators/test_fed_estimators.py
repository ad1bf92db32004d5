"""Kernels and module values: what a discovery found, inside other estimators of scikit-learn."""

import pickle
import warnings

import numpy as np
import pandas
import pytest
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from tests.contract import contract
from tests.fitted import GRAPH, discovery_of, numbers_model

import compsparse as cs
from compsparse.errors import ConfigError
from compsparse.estimators import ModuleValues, to_kernel
from compsparse.estimators.kernels import ColumnsRBF
from compsparse.models import Importances
from compsparse.training import FitConfig, TrainingConfig

RNG = np.random.default_rng(0)
X = pandas.DataFrame(RNG.uniform(-1, 1, (150, 6)), columns=list("abcdef"))
Y = np.sin(3 * X["a"] * X["b"]) + np.cos(4 * X["c"]) + 0.02 * RNG.standard_normal(150)


@pytest.fixture(scope="module")
def found():
    config = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=300))
    return cs.discover(X, Y, effort=0.2, fit_config=config, random_state=0)


def test_a_kernel_of_columns_is_that_of_the_columns():
    rows = X.to_numpy()[:20]
    kernel, plain = ColumnsRBF((0, 2), [0.5, 2.0]), RBF([0.5, 2.0])
    assert np.allclose(kernel(rows), plain(rows[:, [0, 2]]))
    assert np.allclose(kernel(rows, rows[:5]), plain(rows[:, [0, 2]], rows[:5, [0, 2]]))
    values, slopes = kernel(rows, eval_gradient=True)
    step = 1e-5
    for j in range(2):
        theta = kernel.theta.copy()
        theta[j] += step
        assert np.allclose((kernel.clone_with_theta(theta)(rows) - values) / step, slopes[:, :, j], atol=1e-3)
    assert clone(kernel).columns == (0, 2)


def test_a_process_with_the_kernel_needs_fewer_rows(found):
    fresh = np.random.default_rng(1).uniform(-1, 1, (500, 6))
    truth = np.sin(3 * fresh[:, 0] * fresh[:, 1]) + np.cos(4 * fresh[:, 2])
    few = slice(0, 60)

    def left(kernel):
        process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # lengths of inputs that do nothing have no end
            process.fit(X.to_numpy()[few], Y[few])
        return np.mean((process.predict(fresh) - truth) ** 2) / truth.var()

    plain = RBF(np.full(6, 0.5), (1e-2, 1e5)) + WhiteKernel(0.01)
    assert left(to_kernel(found)) < 0.7 * left(plain)
    assert "ColumnsRBF(0, 1)" in str(to_kernel(found))
    assert "White" not in str(to_kernel(found, noise=False))


def test_what_is_no_kernel():
    model = numbers_model()
    only_texts = discovery_of(GRAPH, model, influence=Importances("Sobol indices", (), (), ()))
    with pytest.raises(ConfigError, match="input 'metal' is no number"):
        to_kernel(only_texts)
    with pytest.raises(ConfigError, match="which inputs act together is not known"):
        to_kernel(discovery_of(GRAPH, model))


def test_module_values_are_columns_for_other_estimators():
    values = ModuleValues(n_restarts=2, n_steps=300, effort=0.2, random_state=0)
    columns = values.fit_transform(X, Y)
    assert list(values.get_feature_names_out()) == ["m0(a, b)", "c"]
    assert columns[:, 1] == pytest.approx(X["c"])
    assert columns[:, 0].mean() == pytest.approx(0, abs=1e-6)
    assert columns[:, 0].std() == pytest.approx(1, abs=1e-6)
    assert np.corrcoef(columns[:, 0], Y)[0, 1] > 0.5  # rising with the target
    assert spearmanr(columns[:, 0], X["a"] * X["b"]).statistic > 0.95  # a module is known up to its scale
    again = pickle.loads(pickle.dumps(values))
    assert np.allclose(again.transform(X), columns)
    predicted = make_pipeline(values, LinearRegression().fit(columns, Y)).predict(X.head(3))
    assert predicted.shape == (3,)
    assert list(values.set_output(transform="pandas").transform(X).columns) == ["m0(a, b)", "c"]
    assert clone(values).get_params() == values.get_params()


@pytest.mark.heavy
@contract(ModuleValues(n_restarts=2, n_steps=20, effort=0.02, random_state=0), light={})
def test_scikit_learn_contract(estimator, check):
    check(estimator)
