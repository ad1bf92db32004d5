import warnings
from inspect import Parameter, signature

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from compsparse.errors import ConfigError, DataError
from compsparse.estimators import SparseCoder
from compsparse.sparse import SparseCodes, basis_pursuit, gaussian_dictionary, lasso, omp

W = gaussian_dictionary(12, 30, random_state=0)
SIGNALS = SparseCodes(W, 2).sample(40, random_state=0)


@parametrize_with_checks([SparseCoder(), SparseCoder(method="omp", n_nonzero=1)])
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of dictionaries learned from few rows
        check(estimator)


def test_methods_are_the_functions_they_name():
    X = SIGNALS.X
    coder = SparseCoder(W, lam=0.2, tol=np.full(40, 1e-9)).fit(X)
    np.testing.assert_array_equal(coder.transform(X), lasso(X, W, 0.2, 1e-9).codes)
    assert coder.gap_.max() <= 1e-9
    assert coder.solution(X).converged
    exact = SparseCoder(W, method="basis_pursuit").fit(X)
    np.testing.assert_array_equal(exact.transform(X), basis_pursuit(X, W).codes)
    np.testing.assert_allclose(exact.inverse_transform(exact.transform(X)), X, atol=1e-8)
    greedy = SparseCoder(W, method="omp", n_nonzero=2).fit(X)
    np.testing.assert_array_equal(greedy.transform(X), omp(X, W, 2).codes)
    assert SparseCoder(W, positive=True).fit(X).transform(X).min() >= 0


@pytest.mark.parametrize("function", [lasso, basis_pursuit])
def test_defaults_are_those_of_the_functions(function):
    own, theirs = (signature(f).parameters for f in (SparseCoder.__init__, function))
    shared = [name for name in own if name in theirs and theirs[name].default is not Parameter.empty]
    assert "tol" in shared
    for name in shared:
        assert name == "method" or own[name].default == theirs[name].default


def test_learned_dictionaries_explain_rows_and_fit_into_pipelines():
    coder = SparseCoder(n_atoms=20, random_state=0).fit(SIGNALS.X)
    assert coder.dictionary_.shape == (12, 20)
    np.testing.assert_allclose(np.linalg.norm(coder.dictionary_, axis=0), 1)
    codes = coder.transform(SIGNALS.X)
    error = np.linalg.norm(SIGNALS.X - coder.inverse_transform(codes)) / np.linalg.norm(SIGNALS.X)
    assert error < 0.5
    np.testing.assert_array_equal(clone(coder).fit(SIGNALS.X).transform(SIGNALS.X), codes)
    assert list(coder.get_feature_names_out()[:2]) == ["sparsecoder0", "sparsecoder1"]
    pipe = make_pipeline(SparseCoder(W), Ridge()).fit(SIGNALS.X, SIGNALS.Z[:, 0])
    assert pipe.predict(SIGNALS.X).shape == (40,)


def test_bad_settings_are_named():
    with pytest.raises(ConfigError, match="method must be one of"):
        SparseCoder(W, method="lars").fit(SIGNALS.X)
    with pytest.raises(ConfigError, match="random_state must be"):
        SparseCoder(random_state=-1).fit(SIGNALS.X)
    with pytest.raises(ConfigError, match="n_atoms must be"):
        SparseCoder(n_atoms=0).fit(SIGNALS.X)
    with pytest.raises(DataError, match="no codes for rows of 12 columns"):
        SparseCoder(W.T).fit(SIGNALS.X)
    with pytest.raises(DataError, match="codes must have shape"):
        SparseCoder(W).fit(SIGNALS.X).inverse_transform(np.zeros((2, 3)))
