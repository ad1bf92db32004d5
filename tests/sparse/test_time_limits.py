"""Limits of time: compiling does not count, no step is begun that would not end, and what time took away is said."""

import math
import os
import subprocess
import sys
import tracemalloc
from dataclasses import is_dataclass
from textwrap import dedent

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from scipy import sparse

from compsparse import clock, compilation
from compsparse.certificate import Rigour
from compsparse.errors import ConfigError
from compsparse.sparse import (
    SparseCodes,
    best_subset,
    gaussian_dictionary,
    isometry_constant,
    lasso,
    lasso_breakpoints,
    lasso_path,
    omp,
    sparsest,
)
from compsparse.sparse.memorisation import (
    Descended,
    Descents,
    MemoriseStatus,
    cone,
    enumerate_cells,
    memorise,
    pricing,
    solve,
)
from compsparse.sparse.memorisation.certificate import DualBound
from compsparse.sparse.memorisation.cone import ConeBlock
from compsparse.sparse.memorisation.network import AtomSolution, eliminated, reduced, starting_atoms
from compsparse.sparse.memorisation.problem import make_problem

# ---- compiling is not the user's time ----------------------------------------------------


def kernel_of(module, function):
    """A kernel of a module of this name, which is compiled anew in every process."""
    function.__module__ = module
    return njit(function)


def test_the_clock_stands_still_while_a_kernel_is_compiled():
    assert compilation.NOTICE  # whoever compiles has imported it
    twice, thrice = kernel_of("compsparse.none", lambda x: 2 * x), kernel_of("elsewhere", lambda x: 3 * x)
    before = clock._PAUSES.seconds
    assert thrice(2.0) == 6.0
    assert clock._PAUSES.seconds == before
    assert twice(2.0) == 4.0
    assert clock._PAUSES.seconds > before
    assert clock._PAUSES.depth == 0


def test_the_clock_goes_on_after_a_kernel_that_cannot_be_compiled():
    wrong = kernel_of("compsparse.none", lambda x: x.no_such_thing)
    with pytest.raises(TypingError):
        wrong(2.0)
    assert clock._PAUSES.depth == 0


def test_pauses_lie_in_each_other(monkeypatch):
    times = iter([10.0, 17.0, 20.0, 21.0, 25.0])
    monkeypatch.setattr(clock, "_PAUSES", clock._Pauses())
    monkeypatch.setattr(clock.time, "perf_counter", lambda: next(times))
    assert clock.now() == 10.0
    clock.stop()
    clock.stop()
    clock.go_on()
    assert clock.now() == 17.0
    clock.go_on()
    assert clock.now() == 21.0 - 3.0
    assert clock.now() == 25.0 - 3.0


@pytest.mark.heavy
def test_on_a_cold_machine_the_first_answer_is_as_good_as_the_second(tmp_path):
    call = """
        import numpy as np
        from compsparse.sparse import memorise
        rng = np.random.default_rng(0)
        net = memorise(rng.normal(size=(20, 2)), rng.normal(size=20), time_limit=4)
        print(net.status.name, net.certificate.rigour.value, net.value)
    """
    run = [sys.executable, "-c", dedent(call)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2)
    )
    assert first == second
    assert first.startswith("GAP rigorous")


# ---- memorisation -------------------------------------------------------------------------


def points(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


@pytest.fixture
def fake_clock(monkeypatch):
    class Clock:
        time = 0.0

        def now(self):
            return self.time

    mine = Clock()
    for module in (clock, solve, cone):
        monkeypatch.setattr(module, "now", mine.now)
    return mine


def test_neurons_that_time_left_unpriced_are_said_to_be(fake_clock, monkeypatch):
    def too_slow(problem, lam, tol, is_late):
        fake_clock.time += 30
        assert is_late()
        return DualBound(math.inf, np.zeros((0, 3)), np.zeros(0, int), np.zeros(0))

    monkeypatch.setattr(pricing, "dual_bound", too_slow)
    for method in ("exact", "columns"):
        fake_clock.time = 0.0
        net = memorise(*points(8, 2), method=method, time_limit=20.0)
        assert net.status is MemoriseStatus.TIME
        assert net.certificate.rigour is Rigour.HEURISTIC
        assert net.certificate.obtained.startswith("time ran out before every neuron was priced")
        assert net.residual <= 1e-8


@pytest.mark.parametrize("setting", [{}, {"bias": "free"}, {"norm": "label-noise"}, {"goal": "margin"}], ids=str)
def test_no_step_is_begun_that_would_not_end(fake_clock, monkeypatch, setting):
    """Time stands still here: what is left out was left out by its estimate alone."""
    X, y = points(300, 3)
    y = np.sign(y) if setting.get("goal") == "margin" else y
    for step in ("solve_atoms", "solve_cone", "cells_of"):
        monkeypatch.setattr(solve, step, lambda *given: pytest.fail("a step was begun for which there is no time"))
    net = memorise(X, y, time_limit=0.3, **setting)
    assert net.status is MemoriseStatus.TIME
    assert "no time" in net.method
    assert net.certificate.holds
    assert net.certificate.is_consistent
    assert net.n_neurons <= 300
    assert net.residual <= 1e-8
    f = net.predict(X)
    assert (y * f).min() >= 1 - 1e-8 if "goal" in setting else np.abs(f - y).max() <= 1e-8 * np.ptp(y)


def test_many_points_take_little_memory(fake_clock):
    X, y = points(1200, 2)
    tracemalloc.start()
    net = memorise(X, y, time_limit=5)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert net.residual <= 1e-8
    assert most < 0.3e9  # the program over all starting neurons would hold 1.6 GB


def test_points_too_many_for_the_limit_are_refused(fake_clock):
    X, y = points(20_000, 1)
    with pytest.raises(ConfigError, match=r"20,000 neurons .* about 1e\+02 s, more than the time limit of 3 s: give"):
        memorise(X, y, time_limit=3)


def test_charts_that_do_not_fit_in_memory_are_refused(monkeypatch):
    monkeypatch.setattr("compsparse.sizes.memory_limit", lambda: 10**9)
    with pytest.raises(ConfigError, match="the 9,000 charts of a free bias do not fit in memory"):
        memorise(*points(9000, 2), bias="free")


def test_without_a_limit_nothing_is_left_out():
    net = memorise(*points(12, 2), time_limit=None)
    assert net.certificate.rigour is Rigour.RIGOROUS
    assert net.gap <= 1e-8


@pytest.mark.parametrize("pivots", [False, True])
@pytest.mark.parametrize("bias", ["penalised", "free"])
def test_elimination_meets_the_labels_with_as_many_neurons_as_points(pivots, bias):
    problem = make_problem(*points(40, 3), "weight-decay", bias, "interpolate")
    atoms = starting_atoms(problem, np.random.default_rng(0), 80)
    found = eliminated(problem, atoms, pivots)
    assert np.count_nonzero(found.z) <= 40
    np.testing.assert_allclose(atoms.columns @ found.z + found.constant, problem.y, atol=1e-9)


@pytest.mark.parametrize("bias", ["penalised", "free"])
def test_reduction_keeps_values_and_never_costs(bias):
    problem = make_problem(*points(20, 2), "weight-decay", bias, "interpolate")
    atoms = starting_atoms(problem, np.random.default_rng(0), 90)
    z = np.random.default_rng(1).normal(size=len(atoms.u))
    before = AtomSolution(z, 0.3 * (bias == "free"), np.zeros(20))
    after = reduced(problem, atoms, before)
    assert np.count_nonzero(after.z) <= 20
    assert after.value <= before.value * (1 + 1e-12)
    np.testing.assert_allclose(atoms.columns @ after.z + after.constant, atoms.columns @ z + before.constant, atol=1e-9)


def test_close_points_are_told_apart_by_divided_differences():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    X[10:20] = X[:10] + 1e-5 * rng.normal(size=(10, 2))
    X[20:25] = X[:5] + 1e-4 * rng.normal(size=(5, 2))
    problem = make_problem(X, np.arange(30.0), "weight-decay", "penalised", "interpolate")
    rows, places = problem.differences.toarray(), problem.charts[0].Z
    assert np.linalg.matrix_rank(rows) == 30
    plain = (rows == np.eye(30)).all(axis=1)
    assert plain.sum() == 15  # one equation for each place is as it was
    for row in rows[~plain]:
        i, j = np.flatnonzero(row > 0)[0], np.flatnonzero(row < 0)[0]
        assert np.count_nonzero(row) == 2
        assert row[i] == -row[j] == pytest.approx(1 / np.linalg.norm(places[i] - places[j]))
        assert row[i] > 1e3


def test_programs_are_sparse_arrays_not_matrices():
    problem = make_problem(*points(6, 2), "weight-decay", "free", "interpolate")
    pattern = problem.charts[0].Z[:, 0] > 0
    (P, _, A, *_), _ = cone._program(problem, [ConeBlock(0, pattern, 1, problem.charts[0].rows)], 1.0)
    assert isinstance(A, sparse.sparray)
    assert isinstance(P, sparse.sparray)


# ---- exact sparse codes --------------------------------------------------------------------


def test_searches_for_codes_keep_one_limit_for_all_their_programs(monkeypatch):
    W = gaussian_dictionary(12, 24, random_state=0)
    x = W @ np.where(np.arange(24) < 3, 1.0, 0.0)
    late = sparsest(x, W, time_limit=1e-9)
    assert late.certificate.is_consistent
    assert late.residual <= 1e-8
    assert late.status.name in ("TIME_LIMIT", "UNPROVED")
    few = best_subset(x, W, 3, time_limit=1e-9)
    assert few.certificate.lower <= few.error
    assert not math.isinf(few.largest)


# ---- records -------------------------------------------------------------------------------


def test_records_of_arrays_are_equal_to_themselves_alone():
    W = gaussian_dictionary(4, 8, random_state=0)
    X = np.ones((2, 4))
    for make in (lambda: lasso(X, W, 0.1), lambda: lasso_path(X, W, [1.0, 0.1]), lambda: memorise(*points(4, 1))):
        one, other = make(), make()
        assert is_dataclass(one)
        assert one in [one]
        assert (one == other) is False
        assert len({one, other}) == 2


def test_records_say_what_they_hold_in_a_line_or_two():
    W = gaussian_dictionary(20, 40, random_state=0)
    task = SparseCodes(W, 3)
    signals = task.sample(30, random_state=0)
    net = memorise(*points(6, 2))
    records = [
        task, signals, lasso(signals.X, W, 0.1), lasso(signals.X[:0], W, 0.1), lasso_path(signals.X, W, [1.0, 0.1]),
        lasso_breakpoints(signals.X[0], W), omp(signals.X, W, 3), sparsest(signals.X[0], W),
        best_subset(signals.X[0, :8], W[:8, :12], 2), net, enumerate_cells(points(6, 2)[0]), isometry_constant(W, 2),
        Descended(net.theta, net.z, 0.0), Descents((Descended(net.theta, net.z, 0.0),), 1.0),
    ]  # fmt: skip
    for record in records:
        shown = repr(record)
        assert shown.startswith(f"{type(record).__name__}(")
        assert len(shown) <= 300
        assert "array" not in shown
    assert repr(records[2]).startswith("CodeSolution(30 codes over 40 atoms, all converged, largest relative gap ")
    assert repr(net).startswith(f"Memorised({net.n_neurons} neurons, cost ")
