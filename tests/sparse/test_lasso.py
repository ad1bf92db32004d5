"""Every solver of the Lasso meets its optimality conditions; that is the test."""

import subprocess
import sys
from textwrap import dedent

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso

from compsparse.certificate import Rigour
from compsparse.errors import ConfigError, DataError
from compsparse.sparse import (
    SignalStatus,
    fista,
    gaussian_dictionary,
    lasso,
    lasso_breakpoints,
    lasso_gap,
    lasso_path,
)

RNG = np.random.default_rng(0)
W = gaussian_dictionary(20, 50, random_state=0)
X = RNG.standard_normal((12, 20))
LAMS = RNG.uniform(0.05, 1.5, 12)


def kkt_violation(X, W, codes, lam, positive=False):
    """Distance of 0 from the subdifferential of 1/2 |x - Wz|^2 + lam |z|_1, over lam."""
    correlation = (X - codes @ W.T) @ W
    lam = np.broadcast_to(lam, len(X))[:, None]
    beyond = correlation - lam if positive else np.abs(correlation) - lam
    off = np.where(codes == 0, np.maximum(beyond, 0), np.abs(correlation - lam * np.sign(codes)))
    return (off / lam).max()


def solve_as_tensor(X, W, lam, tol, dtype=torch.float64, **options):
    solution = lasso(*(torch.as_tensor(v, dtype=dtype) for v in (X, W, lam)), tol, **options)
    return solution, solution.codes.numpy()


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("method", ["homotopy", "proximal"])
def test_codes_meet_the_optimality_conditions(method, positive):
    solution = lasso(X, W, LAMS, 1e-13, scaling="half", method=method, positive=positive)
    assert kkt_violation(X, W, solution.codes, LAMS, positive) < 1e-9
    assert solution.converged
    assert not positive or solution.codes.min() >= 0
    objective, gap = lasso_gap(X, W, solution.codes, LAMS, positive)
    np.testing.assert_allclose(solution.objective, objective)
    np.testing.assert_allclose(solution.gap, gap, atol=1e-12)
    np.testing.assert_array_equal(solution.support_sizes, np.count_nonzero(solution.codes, axis=1))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 12), st.booleans(), st.booleans())
def test_small_integers_with_ties_and_repeated_columns(seed, d, n_atoms, positive, warm):
    rng = np.random.default_rng(seed)
    W = rng.integers(-2, 3, (d, n_atoms)).astype(float)
    W[:, ~W.any(axis=0)] = 1
    W = np.hstack([W, W[:, :1], -W[:, -1:]])
    X = rng.integers(-3, 4, (3, d)).astype(float)
    lam = rng.choice([0.01, 0.5, 1.0, 2.0], 3)
    start = rng.integers(-1, 2, (3, n_atoms + 2)) if warm else None
    solution = lasso(X, W, lam, 1e-9, scaling="half", positive=positive, start=start)
    assert solution.converged
    assert np.isfinite(solution.codes).all()
    assert not positive or solution.codes.min() >= 0
    # a gap of g leaves correlations beyond lam by at most sqrt(2 g) times the largest column
    slack = np.sqrt(1e-9 * (X**2).sum(1)) * np.linalg.norm(W, axis=0).max() + 1e-9
    beyond = ((X - solution.codes @ W.T) @ W).max(1) - lam
    assert (beyond <= slack).all()


def test_agrees_with_scikit_learn():
    lam = 0.4
    solution = lasso(X, W, lam, 1e-12)
    model = Lasso(alpha=lam / (2 * W.shape[0]), fit_intercept=False, tol=1e-12, max_iter=100_000)
    np.testing.assert_allclose(solution.codes, [model.fit(W, x).coef_ for x in X], atol=1e-5)


def test_the_scalings_are_the_full_square_and_half_of_it():
    full, half = lasso(X, W, 2 * LAMS), lasso(X, W, LAMS, scaling="half")
    np.testing.assert_array_equal(full.codes, half.codes)
    np.testing.assert_allclose(full.objective, 2 * half.objective)
    np.testing.assert_allclose(full.relative_gap, half.relative_gap)
    by_definition = ((X - full.codes @ W.T) ** 2).sum(1) + 2 * LAMS * np.abs(full.codes).sum(1)
    np.testing.assert_allclose(full.objective, by_definition)
    steps = fista(X, W, 0.5, 3000)
    np.testing.assert_allclose(lasso(X, W, 0.5, 1e-13).codes, steps.numpy(), atol=2e-5)


def test_each_signal_has_its_own_penalty_and_tolerance():
    tols = np.where(np.arange(12) % 2, 1e-2, 1e-12)
    together = lasso(X, W, LAMS, tols)
    assert (together.relative_gap <= tols).all()
    for i in range(12):
        alone = lasso(X[i : i + 1], W, LAMS[i], tols[i])
        assert alone.objective[0] - alone.gap[0] <= together.objective[i] + 1e-12
        assert together.objective[i] - together.gap[i] <= alone.objective[0] + 1e-12
        if tols[i] < 1e-6:
            np.testing.assert_allclose(together.codes[i], alone.codes[0], atol=1e-5)


def test_columns_of_any_length_and_more_signal_entries_than_atoms():
    tall = np.random.default_rng(1).standard_normal((20, 6)) * np.array([0.01, 1, 5, 100, 1, 1])
    solution = lasso(X, tall, 0.3, 1e-13, scaling="half")
    assert kkt_violation(X, tall, solution.codes, 0.3) < 1e-7


def test_zero_signals_and_penalties_beyond_the_largest_give_zero_codes():
    signals = np.vstack([np.zeros(20), X[0]])
    lam_max = 2 * np.abs(X[0] @ W).max()
    solution = lasso(signals, W, [1.0, lam_max * 1.001])
    assert not solution.codes.any()
    assert solution.converged
    assert (solution.gap == 0).all()
    assert lasso(X[:1], W, 0.999 * lam_max, 1e-12).support_sizes[0] == 1


def test_single_precision_correlations_meet_the_tolerance():
    # tolerances above 1e-8 follow inactive atoms in float32; the gap that is returned is of the codes
    dictionary = gaussian_dictionary(64, 256, random_state=0)
    signals = np.random.default_rng(0).standard_normal((40, 64))
    lam = 0.01 * np.abs(signals @ dictionary).max(axis=1)
    loose, exact = (lasso(signals, dictionary, lam, tol, scaling="half") for tol in (1e-7, 1e-13))
    assert loose.converged
    assert exact.converged
    assert (loose.objective - exact.objective <= loose.gap + 1e-12).all()
    assert kkt_violation(signals, dictionary, exact.codes, lam) < 1e-8


def test_small_penalties_use_as_many_atoms_as_the_signal_has_entries():
    solution = lasso(X, W, 1e-7, 1e-14, scaling="half")
    assert kkt_violation(X, W, solution.codes, 1e-7) < 1e-4
    assert (solution.support_sizes == 20).all()


@pytest.mark.parametrize("positive", [False, True])
def test_warm_starts_end_where_cold_ones_do(positive):
    cold = lasso(X, W, LAMS, 1e-13, positive=positive)
    for start in (lasso(X, W, 1.3 * LAMS).codes, RNG.standard_normal(cold.codes.shape), cold.codes):
        warm = lasso(X, W, LAMS, 1e-13, positive=positive, start=start)
        np.testing.assert_allclose(warm.codes, cold.codes, atol=1e-9)
    assert warm.iterations.max() == 0


@pytest.mark.parametrize("positive", [False, True])
def test_paths_agree_with_single_solutions(positive):
    lams = np.array([5.0, 1.0, 0.3, 0.3, 0.01])
    path = lasso_path(X, W, lams, positive=positive)
    for p, lam in enumerate(lams):
        np.testing.assert_allclose(path.codes[:, p], lasso(X, W, lam, 1e-14, positive=positive).codes, atol=1e-9)
    assert path.relative_gap.max() < 1e-12
    own = lasso_path(X, W, np.outer(LAMS, [1, 0.5]))
    np.testing.assert_allclose(own.codes[:, 1], lasso(X, W, LAMS / 2, 1e-14).codes, atol=1e-9)


def test_breakpoints_hold_the_whole_path():
    path = lasso_breakpoints(X[0], W, 1e-3)
    assert (np.diff(path.lams) < 0).all()
    assert path.lams[0] == pytest.approx(2 * np.abs(X[0] @ W).max())
    for lam in np.geomspace(path.lams[0] * 1.1, 1.01e-3, 25):
        np.testing.assert_allclose(path.code_at(lam), lasso(X[:1], W, lam, 1e-14).codes[0], atol=1e-8)
    inner = np.count_nonzero(path.codes[1:-1], axis=1)
    assert (np.abs(np.diff(inner)) <= 1).all()
    with pytest.raises(ConfigError, match=r"followed down to lam = 0\.001"):
        path.code_at(1e-4)


def test_limits_leave_an_answer_with_its_true_gap():
    few = lasso(X, W, 0.01, max_iter=3)
    assert set(few.status) == {SignalStatus.ITERATIONS}
    late = lasso(np.repeat(X, 20, axis=0), W, 0.01, time_limit=1e-9)
    assert SignalStatus.TIME_LIMIT in late.status
    for solution, signals in ((few, X), (late, np.repeat(X, 20, axis=0))):
        _, gap = lasso_gap(signals, W, solution.codes, np.full(len(signals), 0.005))
        np.testing.assert_allclose(solution.gap, 2 * gap)
        best = lasso(signals, W, 0.01, 1e-13).objective
        assert (solution.objective - solution.gap <= best + 1e-12).all()
    tensors, _ = solve_as_tensor(X, W, 0.01 * np.ones(12), 1e-12, max_iter=2)
    assert SignalStatus.ITERATIONS in tensors.status


def test_each_signal_has_its_certificate():
    rough, best = lasso(X, W, LAMS, 0.05), lasso(X, W, LAMS, 1e-13)
    assert rough.gap.max() > 1e-6
    for i in range(12):
        certificate = rough.certificate(i)
        assert (certificate.value, certificate.upper) == (rough.objective[i], rough.objective[i])
        assert certificate.gap == pytest.approx(rough.gap[i], abs=1e-12)
        assert certificate.lower <= best.objective[i] + 1e-12 <= certificate.upper + 1e-11
        assert certificate.rigour is Rigour.RIGOROUS
        assert f"row {i + 1} " in certificate.quantity
    assert rough.worst == rough.certificate(int(rough.relative_gap.argmax()))
    path = lasso_path(X, W, [1.0, 0.1])
    assert path.certificate(3, 1).value == path.objective[3, 1]
    assert "lam = 0.1 of row 4 " in path.certificate(3, 1).quantity
    worst = np.unravel_index(path.relative_gap.argmax(), (12, 2))
    assert path.worst == path.certificate(int(worst[0]), int(worst[1]))
    for wrong in (12, -1, 0.5):
        with pytest.raises(ConfigError, match="the position of a signal must be"):
            rough.certificate(wrong)
    with pytest.raises(ConfigError, match="no certificate of no signals"):
        _ = lasso(X[:0], W, 0.5).worst


def test_kernels_that_call_others_are_kept_under_a_name_that_knows_their_edition():
    from compsparse.sparse import homotopy, kernels

    assert kernels._EDITION in homotopy.follow_paths.py_func.__qualname__
    assert kernels._EDITION in kernels.pursue.py_func.__qualname__


def test_threads_do_not_change_the_answer():
    many = np.repeat(X, 30, axis=0)
    one, two = lasso(many, W, 0.3, n_threads=1), lasso(many, W, 0.3, n_threads=2)
    np.testing.assert_array_equal(one.codes, two.codes)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("dtype", "tol"), [(torch.float64, 1e-13), (torch.float32, 1e-6)])
def test_tensors_give_the_codes_of_arrays(dtype, tol, positive):
    expected = lasso(X, W, LAMS, 1e-13, positive=positive)
    solution, codes = solve_as_tensor(X, W, LAMS, tol, dtype, positive=positive)
    assert solution.converged
    assert solution.codes.dtype == dtype
    np.testing.assert_allclose(codes, expected.codes, atol=1e-9 if tol < 1e-9 else 5e-3)
    _, gap = lasso_gap(X, W, codes.astype(np.float64), LAMS / 2, positive)
    np.testing.assert_allclose(2 * gap, solution.gap, atol=1e-5)


def test_tensors_with_repeated_columns_and_starts():
    twice = np.hstack([W, W])
    solution, codes = solve_as_tensor(X, twice, LAMS, 1e-9)
    assert solution.converged
    np.testing.assert_allclose(codes[:, :50] + codes[:, 50:], lasso(X, W, LAMS, 1e-13).codes, atol=1e-3)
    start = torch.as_tensor(lasso(X, W, LAMS, 1e-13).codes)
    warm, _ = solve_as_tensor(X, W, LAMS, 1e-9, start=start)
    assert warm.converged


def test_codes_are_differentiable_in_signals_dictionary_and_penalties():
    torch.manual_seed(0)
    inputs = [torch.randn(3, 5), torch.randn(5, 8), torch.tensor([0.5, 0.7, 0.9])]
    inputs = [v.double().requires_grad_() for v in inputs]
    assert torch.autograd.gradcheck(lambda x, w, lam: lasso(x, w, lam, 1e-14).codes, inputs)
    scalar = torch.tensor(0.6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda lam: lasso(inputs[0].detach(), inputs[1].detach(), lam, 1e-14).codes, scalar)


def test_codes_and_memorisation_need_no_torch():
    code = """
        import sys
        import numpy as np
        import compsparse as cs
        X, W = np.ones((40, 2)), np.eye(2)
        assert cs.lasso(X, W, 0.1).converged
        assert cs.memorise([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]).residual < 1e-8
        assert "torch" not in sys.modules
        assert not any(name.startswith(("compsparse.training", "compsparse.networks")) for name in sys.modules)
        assert cs.sparse.UnrolledNetwork and cs.sparse.memorisation.descend
        assert "torch" in sys.modules
    """
    subprocess.run([sys.executable, "-c", dedent(code)], check=True)


def test_importing_the_package_compiles_nothing():
    code = "import sys, compsparse.sparse; assert 'numba' not in sys.modules and 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


BAD = [
    ({"lam": 0.0}, ConfigError, "lam must be finite and positive, got 0"),
    ({"lam": -1.0}, ConfigError, "lam must be finite and positive, got -1"),
    ({"lam": [1.0, 2.0]}, ConfigError, "one for each of the 12 signals, got shape"),
    ({"lam": "much"}, ConfigError, "lam must be a number"),
    ({"tol": np.nan}, ConfigError, "tol must be finite"),
    ({"scaling": "sklearn"}, ConfigError, "scaling must be one of 'full', 'half'"),
    ({"method": "magic"}, ConfigError, "method must be one of"),
    ({"positive": "yes"}, ConfigError, "positive must be True or False"),
    ({"n_threads": 1.5}, ConfigError, "n_threads must be a whole number >= 1"),
    ({"max_iter": 0}, ConfigError, "max_iter must be a whole number >= 1"),
    ({"time_limit": 0}, ConfigError, "time_limit must be a finite number > 0"),
    ({"X": X[0]}, DataError, r"one signal is x\[None\]"),
    ({"X": X[:, :3]}, DataError, "signals of 3 entries do not fit a dictionary of shape"),
    (
        {"X": np.where(X > 2, np.nan, X)},
        DataError,
        r"X holds NaN .* in row \d+ \(counted from 1\)",
    ),
    ({"X": [["a"] * 20]}, DataError, "table of numbers"),
    ({"W": W.T, "X": X}, DataError, "signals of 20 entries do not fit a dictionary of shape .* is W transposed"),
    ({"W": np.hstack([W, np.zeros((20, 1))])}, DataError, "column 50 of the dictionary is zero"),
    ({"W": np.where(W > 0.5, np.inf, W)}, DataError, "NaN or infinite"),
    ({"start": np.zeros((2, 2))}, DataError, "start must hold one code per signal"),
]


@pytest.mark.parametrize(("change", "error", "message"), BAD)
def test_bad_input_is_named(change, error, message):
    with pytest.raises(error, match=message):
        lasso(**{"X": X, "W": W, "lam": 0.5, **change})


def test_bad_tensors_are_named():
    x, w = torch.as_tensor(X), torch.as_tensor(W)
    with pytest.raises(DataError, match="column 0 of the dictionary is zero"):
        lasso(x, w * 0, 0.1)
    with pytest.raises(DataError, match="do not fit"):
        lasso(x, w.T, 0.1)
    with pytest.raises(DataError, match="must share dtype"):
        lasso(x.float(), w, 0.1)
    with pytest.raises(DataError, match="float32 or float64"):
        lasso(x.half(), w.half(), 0.1)
    with pytest.raises(ConfigError, match="method 'proximal'"):
        lasso(x, w, 0.1, method="homotopy")


def test_paths_must_fall():
    for lams in ([1.0, 2.0], [1.0, -1.0], [[1.0]], []):
        with pytest.raises(ConfigError, match="lams must be"):
            lasso_path(X, W, lams)
