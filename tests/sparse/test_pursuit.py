"""Basis pursuit, matching pursuit and the exact search agree where theory says so, and certify where not."""

from itertools import combinations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult
from sklearn.linear_model import orthogonal_mp

from compsparse.errors import ConfigError, DataError
from compsparse.sparse import (
    SearchStatus,
    SignalStatus,
    SparseCodes,
    basis_pursuit,
    best_subset,
    gaussian_dictionary,
    lasso,
    omp,
    pursuit,
    recoverable_sparsity,
    sparsest,
    spikes_and_hadamard,
)

W = gaussian_dictionary(12, 30, random_state=0)
X = np.random.default_rng(0).standard_normal((10, 12))


def test_basis_pursuit_agrees_with_linear_programs_and_certifies_itself():
    ours, reference = basis_pursuit(X, W, tol=1e-9), basis_pursuit(X, W, method="highs")
    np.testing.assert_allclose(ours.objective, reference.objective, rtol=1e-7)
    np.testing.assert_allclose(ours.codes, reference.codes, atol=1e-6)
    np.testing.assert_allclose(ours.codes @ W.T, X, atol=1e-9)
    assert ours.converged
    assert reference.converged
    assert ours.relative_gap.max() < 1e-9
    assert ours.certificate(0).holds
    assert ours.certificate(0).quantity.startswith("least l1 norm of a code of row 1 ")


def test_paths_end_with_a_certificate_of_their_own(monkeypatch):
    # towards lam = 0 every correlation falls to zero at once; that once sent all signals to the linear programs
    monkeypatch.setattr("compsparse.sparse.pursuit._linear_program", None)
    dictionary = gaussian_dictionary(64, 256, random_state=0)
    for k in (3, 10, 25):
        signals = SparseCodes(dictionary, k).sample(10, random_state=0)
        solution = basis_pursuit(signals.X, dictionary)
        assert solution.converged
        if k < 10:
            np.testing.assert_array_equal(solution.support_sizes, k)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 10))
def test_basis_pursuit_on_small_integers_with_repeated_columns(seed, d, n_atoms):
    rng = np.random.default_rng(seed)
    W = rng.integers(-2, 3, (d, n_atoms)).astype(float)
    W[:, ~W.any(axis=0)] = 1
    W = np.hstack([W, W[:, ::-1]])
    X = rng.integers(-2, 3, (3, 2 * n_atoms)) @ W.T
    solution = basis_pursuit(X, W)
    assert solution.converged
    np.testing.assert_allclose(solution.codes @ W.T, X, atol=1e-6)
    np.testing.assert_allclose(solution.objective, basis_pursuit(X, W, method="highs").objective, atol=1e-6)


def test_noise_is_used_up_and_the_penalty_is_the_lassos():
    noise = np.linspace(0.1, 2, 10)
    solution = basis_pursuit(X, W, noise=noise)
    np.testing.assert_allclose(np.linalg.norm(X - solution.codes @ W.T, axis=1), noise)
    assert solution.relative_gap.max() < 1e-9
    np.testing.assert_allclose(lasso(X, W, solution.lam, 1e-14).codes, solution.codes, atol=1e-8)
    assert not basis_pursuit(X, W, noise=100.0).codes.any()


def test_signals_out_of_reach_are_named():
    tall = gaussian_dictionary(12, 5, random_state=0)
    for method in ("homotopy", "highs"):
        with pytest.raises(DataError, match="no code explains"):
            basis_pursuit(X, tall, method=method)
    with pytest.raises(DataError, match=r"row 1 \(counted from 1\) to within noise 0.1.* give noise >="):
        basis_pursuit(X, tall, noise=0.1)
    with pytest.raises(DataError, match="no code brings every entry"):
        sparsest(X[0], tall)


def test_l1_and_omp_and_l0_agree_below_the_coherence_bound():
    # Donoho and Elad 2003, Tropp 2004: k < (1 + 1/mu)/2
    dictionary = spikes_and_hadamard(16)
    k = recoverable_sparsity(dictionary)
    assert k == 2
    signals = SparseCodes(dictionary, k).sample(6, random_state=0)
    np.testing.assert_allclose(basis_pursuit(signals.X, dictionary).codes, signals.Z, atol=1e-8)
    np.testing.assert_allclose(omp(signals.X, dictionary, k).codes, signals.Z, atol=1e-8)
    exact = sparsest(signals.X[0], dictionary)
    assert (exact.size, exact.certificate.value, exact.status) == (k, k, SearchStatus.OPTIMAL)
    assert exact.certificate.is_exact
    assert exact.certificate.holds
    assert exact.largest == np.inf
    np.testing.assert_allclose(exact.code, signals.Z[0], atol=1e-6)


def test_omp_agrees_with_scikit_learn():
    solution = omp(X, W, 5)
    np.testing.assert_allclose(solution.codes, orthogonal_mp(W, X.T, n_nonzero_coefs=5).T, atol=1e-9)
    assert (solution.support_sizes == 5).all()
    np.testing.assert_allclose(solution.residual, np.linalg.norm(X - solution.codes @ W.T, axis=1))
    by_residual = omp(X, W, residual=0.7)
    assert (by_residual.residual <= 0.7).all()
    fewer = omp(X, W, int(by_residual.support_sizes.max() - 1))
    assert (fewer.residual > 0.7).any()


def test_omp_skips_repeated_columns_and_stops_at_zero():
    twice = np.hstack([W, W])
    solution = omp(np.vstack([X, np.zeros(12)]), twice, residual=0.0)
    assert np.isfinite(solution.codes).all()
    assert solution.residual.max() < 1e-9
    assert solution.support_sizes[-1] == 0


def brute_force_size(x, W, noise):
    for k in range(1, W.shape[1] + 1):
        for support in combinations(range(W.shape[1]), k):
            code = np.linalg.lstsq(W[:, support], x, rcond=None)[0]
            if np.abs(x - W[:, support] @ code).max() <= noise + 1e-8:
                return k
    return None


def test_sparsest_is_what_all_supports_say():
    rng = np.random.default_rng(3)
    for _ in range(4):
        dictionary = rng.integers(-2, 3, (4, 8)) + 0.1 * rng.standard_normal((4, 8))
        x = dictionary[:, rng.choice(8, 2, replace=False)] @ rng.standard_normal(2)
        found = sparsest(x, dictionary)
        assert found.size == brute_force_size(x, dictionary, 0)
        np.testing.assert_allclose(dictionary @ found.code, x, atol=1e-6)
    noisy = sparsest(x + 0.01, dictionary, noise=0.02)
    assert noisy.size <= 2
    assert noisy.residual <= 0.02 + 1e-6
    assert sparsest(np.zeros(4), dictionary).size == 0


def test_best_subset_is_what_all_supports_say():
    rng = np.random.default_rng(4)
    dictionary, x = rng.standard_normal((5, 7)), rng.standard_normal(5)
    found = best_subset(x, dictionary, 2)
    assert found.status is SearchStatus.OPTIMAL
    assert np.count_nonzero(found.code) <= 2
    grid = [best_subset(x, dictionary[:, list(s)], 2).error for s in combinations(range(7), 2)]
    assert found.error == pytest.approx(min(grid), abs=1e-6)
    assert found.certificate.upper == found.error
    assert found.certificate.lower <= min(grid) + 1e-6


def test_time_limits_give_the_best_code_with_its_bound():
    dictionary = gaussian_dictionary(20, 40, random_state=0)
    x = SparseCodes(dictionary, 9).sample(1, random_state=0).X[0]
    found = sparsest(x, dictionary, time_limit=0.2)
    assert found.status is SearchStatus.TIME_LIMIT
    assert 1 <= found.certificate.lower < found.certificate.upper == found.size <= 20
    assert found.certificate.gap >= 1
    np.testing.assert_allclose(dictionary @ found.code, x, atol=1e-6)
    late = basis_pursuit(np.repeat(X, 20, axis=0), W, time_limit=1e-9)
    assert SignalStatus.TIME_LIMIT in late.status
    for solution in (late, basis_pursuit(X, W, method="highs", time_limit=1e-9)):
        cut = solution.status.index(SignalStatus.TIME_LIMIT)
        assert solution.certificate(cut).upper == np.inf
        assert not solution.certificate(cut).holds


def test_bad_input_is_named():
    with pytest.raises(ConfigError, match="n_nonzero must be at most the number of atoms, 30, got 31"):
        omp(X, W, 31)
    with pytest.raises(ConfigError, match="omp needs n_nonzero"):
        omp(X, W)
    with pytest.raises(ConfigError, match="k must be at most the number of atoms, 30, got 31"):
        best_subset(X[0], W, 31)
    with pytest.raises(ConfigError, match="method must be one of 'homotopy', 'highs'"):
        basis_pursuit(X, W, method="simplex")
    with pytest.raises(ConfigError, match="allow no noise"):
        basis_pursuit(X, W, method="highs", noise=0.1)
    with pytest.raises(ConfigError, match="noise must be finite and not negative"):
        basis_pursuit(X, W, noise=-1)
    with pytest.raises(DataError, match="x must be one signal"):
        sparsest(X, W)
    with pytest.raises(ConfigError, match="largest must be a finite number > 0"):
        sparsest(X[0], W, largest=0)
    with pytest.raises(ConfigError, match="time_limit must be"):
        sparsest(X[0], W, time_limit=0)


def _cut_off(*given, **options):
    """What HiGHS answers when its time is over."""
    return OptimizeResult(x=None, status=1, message="time limit reached")


def test_a_linear_program_that_was_cut_off_certifies_nothing(monkeypatch):
    W = gaussian_dictionary(4, 8, random_state=0)
    X = np.random.default_rng(0).standard_normal((2, 4))
    monkeypatch.setattr(scipy.optimize, "linprog", _cut_off)
    cut = basis_pursuit(X, W, method="highs", time_limit=5.0)
    assert cut.status == (SignalStatus.TIME_LIMIT,) * 2
    assert not cut.converged
    assert np.isinf(cut.gap).all()
    assert cut.certificate(0).lower == -np.inf
    assert not cut.worst.holds
    unlimited = basis_pursuit(X, W, method="highs")
    assert unlimited.status == (SignalStatus.ITERATIONS,) * 2


def test_mending_that_was_cut_off_keeps_the_true_gap(monkeypatch):
    W = gaussian_dictionary(4, 8, random_state=0)
    X = np.random.default_rng(0).standard_normal((1, 4))
    honest = basis_pursuit(X, W)
    monkeypatch.setattr(scipy.optimize, "linprog", _cut_off)
    monkeypatch.setattr(pursuit, "_before_the_end", lambda gram, near: np.zeros_like(near))
    # a tolerance that no gap meets sends every signal to be mended
    cut = basis_pursuit(X, W, tol=1e-300, time_limit=5.0)
    np.testing.assert_array_equal(cut.codes, honest.codes)
    np.testing.assert_array_equal(cut.gap, honest.gap)
    assert cut.status[0] is (SignalStatus.TIME_LIMIT if honest.gap[0] > 0 else SignalStatus.CONVERGED)


def test_sparsest_finds_codes_with_large_entries():
    # two nearly parallel columns: 100 and -100 of them make the signal
    a, e = np.eye(4)[0], np.array([0, 1, 1, 1]) / np.sqrt(3)
    for angle in (1e-2, 1e-4, 1e-7):
        dictionary = np.stack([a, a + angle * e, *np.eye(4)[1:]], axis=1)
        found = sparsest(e, dictionary)
        assert (found.size, found.status) == (2, SearchStatus.OPTIMAL)
        assert found.certificate.is_exact
        np.testing.assert_allclose(found.code[:2] * angle, [-1, 1], rtol=1e-6)
        boxed = sparsest(e, dictionary, largest=10.0)
        assert (boxed.size, boxed.status) == (3, SearchStatus.OPTIMAL_IN_BOX)
        assert "larger than 10" in boxed.certificate.assumes[0]
        assert np.abs(boxed.code).max() <= 10


def sizes_of_all_supports(x, W):
    """The least size and residual, by singular values alone, with no use of the package's solvers."""
    for k in range(1, W.shape[0] + 1):
        for support in combinations(range(W.shape[1]), k):
            U, s, _ = np.linalg.svd(W[:, support], full_matrices=False)
            U = U[:, s > 1e-11 * s[0]]
            if np.abs(x - U @ (U.T @ x)).max() <= 1e-9 * np.abs(x).max():
                return k
    return None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-1, 1e-3, 1e-5]), st.booleans())
def test_sparsest_of_ill_conditioned_and_repeated_columns(seed, angle, repeated):
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((4, 3))
    near = base + (0 if repeated else angle) * rng.standard_normal((4, 3))
    dictionary = np.hstack([base, near, rng.standard_normal((4, 2))])
    support = rng.choice(8, 2, replace=False)
    for x in (dictionary[:, support] @ rng.standard_normal(2), near[:, 0] - base[:, 0], rng.standard_normal(4)):
        if not x.any():
            continue
        found = sparsest(x, dictionary)
        assert found.status is SearchStatus.OPTIMAL
        assert found.size == sizes_of_all_supports(x, dictionary)
        assert found.residual <= 1.0000001e-9 * np.abs(x).max()
        np.testing.assert_allclose(dictionary @ found.code, x, atol=2e-9 * max(np.abs(found.code).max(), 1))


def test_many_atoms_name_the_box_they_were_searched_in():
    dictionary = gaussian_dictionary(8, 60, random_state=0)
    x = np.random.default_rng(1).standard_normal(8)
    found = sparsest(x, dictionary, time_limit=1.0)
    assert found.status is not SearchStatus.OPTIMAL
    assert np.isfinite(found.largest)
    assert f"larger than {found.largest:g}" in found.certificate.assumes[0]
    assert found.certificate.lower >= 4


def test_best_subset_says_whether_its_box_follows_from_the_data():
    rng = np.random.default_rng(5)
    x = rng.standard_normal(5)
    sound = best_subset(x, np.hstack([np.eye(5), rng.standard_normal((5, 1))]), 2)
    assert sound.status is SearchStatus.OPTIMAL
    assert not any("larger than" in text for text in sound.certificate.assumes)
    column = rng.standard_normal((5, 1))
    parallel = np.hstack([np.eye(5), column, column + 1e-7 * rng.standard_normal((5, 1))])
    boxed = best_subset(x, parallel, 2)
    assert boxed.status is SearchStatus.OPTIMAL_IN_BOX
    assert f"larger than {boxed.largest:g}" in boxed.certificate.assumes[0]


def test_zero_columns_are_named_and_equal_ones_are_no_trouble():
    for solver in (sparsest, lambda x, D: best_subset(x, D, 1), lambda x, D: basis_pursuit(x[None], D)):
        with pytest.raises(DataError, match="column 3 of the dictionary is zero"):
            solver(np.ones(3), np.hstack([np.eye(3), np.zeros((3, 1))]))
    twice = np.hstack([np.eye(3), np.eye(3), -np.eye(3), np.ones((3, 1))])
    assert sparsest([2.0, 2.0, 2.0], twice).size == 1
    found = sparsest([1.0, 2.0, 0.0], twice)
    assert (found.size, found.status) == (2, SearchStatus.OPTIMAL)
    assert best_subset([1.0, 2.0, 0.0], twice, 1).error == pytest.approx(1.0)
