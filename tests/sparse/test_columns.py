"""The Lasso without the whole Gram matrix: the same codes, little memory, in the precision of the signals."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compsparse.errors import DataError
from compsparse.sparse import SignalStatus, gaussian_dictionary, lasso, lasso_gap, lasso_path, penalised, screened
from compsparse.sparse.screened import Found, LassoTask
from compsparse.sparse.searches import search_by_columns, search_by_gram

RNG = np.random.default_rng(0)
W = gaussian_dictionary(24, 90, random_state=0)
X = RNG.standard_normal((40, 24))
LAM = 0.05 * np.abs(X @ W).max(axis=1)


def kkt_violation(X, W, codes, lam, positive=False):
    """Distance of 0 from the subdifferential of 1/2 |x - Wz|^2 + lam |z|_1, over lam."""
    correlation = (X - codes @ W.T) @ W
    beyond = correlation - lam[:, None] if positive else np.abs(correlation) - lam[:, None]
    off = np.where(codes == 0, np.maximum(beyond, 0), np.abs(correlation - lam[:, None] * np.sign(codes)))
    return (off / lam[:, None]).max()


def searched(kernel, X, W, lam, tol=1e-12, positive=False, most=None, starts=None, together=4):
    n, m = len(X), W.shape[1]
    found = np.zeros((n, m), W.dtype), np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
    most = min(m, 4 * len(W) + 64) if most is None else most
    if kernel is search_by_gram:
        kernel(X, W, W.T @ W, lam, np.full(n, tol), positive, 1.0, most, 10**6, *found)
    else:
        starts = np.zeros((0, m)) if starts is None else starts
        kernel(X, W, starts, lam, np.full(n, tol), positive, 1.0, most, 10**6, together, *found)
    return found


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("positive", [False, True])
def test_columns_on_demand_and_the_gram_matrix_give_the_same_codes(positive, order):
    dictionary = np.array(W, order=order)
    by_gram, by_columns = (
        searched(k, X, dictionary, LAM, positive=positive) for k in (search_by_gram, search_by_columns)
    )
    np.testing.assert_allclose(by_columns[0], by_gram[0], atol=1e-9)
    assert kkt_violation(X, W, by_columns[0], LAM, positive) < 1e-8
    for codes, objective, gap, _ in (by_gram, by_columns):
        expected = lasso_gap(X, W, codes, LAM, positive)
        np.testing.assert_allclose(objective, expected[0])
        np.testing.assert_allclose(gap, expected[1], atol=1e-12)


def test_candidates_that_do_not_fit_are_forgotten_and_found_again():
    few, all_ = (searched(search_by_columns, X, W, 0.02 * LAM, most=most) for most in (40, 90))
    np.testing.assert_allclose(few[0], all_[0], atol=1e-8)
    assert (few[3] != all_[3]).any()


@pytest.mark.parametrize("together", [1, 7, 40])
def test_signals_together_do_not_change_their_codes(together):
    np.testing.assert_allclose(
        searched(search_by_columns, X, W, LAM, together=together)[0], searched(search_by_gram, X, W, LAM)[0], atol=1e-9
    )


def test_a_wide_dictionary_takes_little_memory():
    wide = np.asfortranarray(gaussian_dictionary(16, 12_000, random_state=0))
    x = np.random.default_rng(1).standard_normal((1, 16))
    lam = 0.01 * np.abs(x @ wide).max(axis=1)
    lasso(x[:, :8], wide[:8], lam)
    tracemalloc.start()
    solution = lasso(x, wide, lam, 1e-10, scaling="half")
    path = lasso_path(x, wide, 2 * lam * [4, 2, 1])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50e6 < 8 * 12_000**2  # the Gram matrix would take 1.2 GB
    assert solution.converged
    assert kkt_violation(x, wide, solution.codes, lam) < 1e-6
    np.testing.assert_allclose(path.codes[0, -1], solution.codes[0], atol=1e-6)
    assert path.relative_gap.max() < 1e-11


def test_paths_of_wide_dictionaries_are_those_of_the_gram_matrix(monkeypatch):
    expected = lasso_path(X, W, [2.0, 1.0, 0.1])
    monkeypatch.setattr(penalised, "LARGEST_GRAM", 10)
    np.testing.assert_allclose(lasso_path(X, W, [2.0, 1.0, 0.1]).codes, expected.codes, atol=1e-8)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("n", [1, 40], ids=["columns", "gram"])
def test_single_precision_in_single_precision_out(n, positive):
    short, dictionary = X[:n].astype(np.float32), W.astype(np.float32)
    solution = lasso(short, dictionary, LAM[:n], 1e-6, scaling="half", positive=positive)
    assert solution.codes.dtype == np.float32
    assert solution.gap.dtype == np.float64
    assert solution.converged
    wide = [v.astype(np.float64) for v in (short, dictionary, solution.codes)]
    objective, gap = lasso_gap(*wide, LAM[:n], positive)
    np.testing.assert_allclose(solution.objective, objective, rtol=1e-12)
    best = lasso(wide[0], wide[1], LAM[:n], 1e-14, scaling="half", positive=positive)
    assert best.codes.dtype == np.float64
    assert (objective - solution.gap <= best.objective + 1e-13).all()
    assert (2 * gap <= 1e-5 * (wide[0] ** 2).sum(1)).all()


def test_single_precision_goes_on_in_double_where_it_is_too_coarse():
    near = np.hstack([W[:, :30], W[:, :30] + 1e-4 * RNG.standard_normal((24, 30))]).astype(np.float32)
    signals = X[:6].astype(np.float32)
    lam = 1e-3 * np.abs(signals @ near).max(axis=1).astype(np.float64)
    solution = lasso(signals, near, lam, 1e-7, scaling="half")
    assert solution.codes.dtype == np.float32
    best = lasso(signals.astype(float), near.astype(float), lam, 1e-12, scaling="half")
    assert (solution.objective - solution.gap <= best.objective + 1e-12).all()
    assert best.converged


def test_numbers_that_single_precision_cannot_square_are_solved():
    for scale in (1e-15, 1e15):
        tiny = (scale * X[:3]).astype(np.float32), (scale * W).astype(np.float32)
        lam = 0.1 * np.abs(tiny[0].astype(float) @ tiny[1].astype(float)).max(axis=1)
        assert lasso(*tiny, lam, scaling="half").converged


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from([1e-3, 1e-5, 1e-7, 1e-9]), st.sampled_from([0.1, 1e-2, 1e-4]), st.booleans()
)
def test_near_parallel_columns_meet_the_stated_gap(seed, angle, share, positive):
    rng = np.random.default_rng(seed)
    base = gaussian_dictionary(20, 25, rng)
    dictionary = np.hstack([base, base + angle * rng.standard_normal(base.shape), base[:, :3]])
    signals = rng.standard_normal((2, 20))
    lam = share * np.abs(signals @ dictionary).max(axis=1)
    solution = lasso(signals, dictionary, lam, 1e-9, scaling="half", positive=positive)
    assert solution.converged
    assert np.linalg.cond(dictionary[:, [0, 25]]) > 0.2 / angle
    # a gap of g leaves correlations beyond lam by at most sqrt(2 g) times the largest column
    correlation = (signals - solution.codes @ dictionary.T) @ dictionary
    beyond = (correlation if positive else np.abs(correlation)).max(1) - lam
    assert (beyond <= np.sqrt(1e-9 * (signals**2).sum(1)) * 1.1 + 1e-12).all()


def test_what_a_search_leaves_is_mended():
    n, m = len(X), W.shape[1]
    squares = (X**2).sum(1)
    task = LassoTask(X, W, squares, 1.0, LAM, np.full(n, 1e-10))
    found = Found(np.zeros((n, m)), squares / 2, squares / 2, np.zeros(n, np.int64), np.zeros(n, bool))
    screened._mend(task, found)
    assert (2 * found.gap <= 1e-10 * squares).all()
    np.testing.assert_allclose(found.codes, lasso(X, W, LAM, 1e-13, scaling="half").codes, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 40])
def test_zero_columns_are_named_and_equal_ones_share_their_weight(n, dtype):
    signals, dictionary = X[:n].astype(dtype), W.astype(dtype)
    with pytest.raises(DataError, match="column 90 of the dictionary is zero"):
        lasso(signals, np.hstack([dictionary, np.zeros((24, 1), dtype)]), LAM[:n])
    twice = np.hstack([dictionary, dictionary, -dictionary])
    solution = lasso(signals, twice, LAM[:n], 1e-6, scaling="half")
    assert solution.converged
    once = lasso(signals, dictionary, LAM[:n], 1e-6, scaling="half")
    merged = solution.codes[:, :90] + solution.codes[:, 90:180] - solution.codes[:, 180:]
    np.testing.assert_allclose(merged, once.codes, atol=5e-3)
    np.testing.assert_allclose(solution.objective, once.objective, rtol=1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_single_precision_with_bad_entries_is_named(bad):
    dictionary, signals = W.astype(np.float32), X[:2].astype(np.float32)
    dictionary[3, 4] = bad
    with pytest.raises(DataError, match="NaN or infinite values, first in column 4"):
        lasso(signals, dictionary, 0.1)
    signals[1, 0] = bad
    with pytest.raises(DataError, match="X holds NaN or infinite values, first in row 2"):
        lasso(signals, W.astype(np.float32), 0.1)


@pytest.mark.parametrize("n", [1, 40])
@pytest.mark.parametrize("positive", [False, True])
def test_signals_that_time_left_out_have_the_gap_of_their_start(n, positive):
    start = RNG.standard_normal((n, 90))
    late = lasso(X[:n], W, LAM[:n], scaling="half", positive=positive, start=start, time_limit=1e-9)
    assert set(late.status) == {SignalStatus.TIME_LIMIT}
    np.testing.assert_array_equal(late.codes, np.maximum(start, 0) if positive else start)
    objective, gap = lasso_gap(X[:n], W, late.codes, LAM[:n], positive)
    np.testing.assert_allclose(late.objective, objective)
    np.testing.assert_allclose(late.gap, gap)
