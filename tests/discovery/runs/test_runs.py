"""Simulators: forms of calls, failures, answers that are kept, surrogates with their error, where to run next."""

import math
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import compsparse as cs
from compsparse.discovery.runs import Simulator
from compsparse.discovery.runs.store import AnswerStore
from compsparse.errors import ConfigError, DataError, StoreError
from compsparse.report import simulator_page
from compsparse.training import FitConfig, TrainingConfig

ROWS = np.random.default_rng(0).uniform(-1, 1, (30, 3))
TRUTH = np.sin(ROWS[:, 0]) * ROWS[:, 1] + ROWS[:, 2]
NAMES = ["a", "b", "c"]
QUICK = {"effort": 0.2, "random_state": 0, "fit_config": FitConfig(n_restarts=2, training=TrainingConfig(n_steps=400))}
BOX = {"load": (1.0, 3.0), "length": (1.0, 2.0), "width": (0.1, 0.3)}


def numbers(a, b, c):
    return math.sin(a) * b + c


def beam(load, length, width):
    if width < 0.12:
        raise RuntimeError("mesh failed\nin line 3")
    return load * length**3 / width


@pytest.mark.parametrize(
    "f",
    [
        lambda rows: np.sin(rows[:, 0]) * rows[:, 1] + rows[:, 2],
        lambda frame: np.sin(frame["a"]) * frame["b"] + frame["c"],
        lambda row: math.sin(row[0]) * row[1] + row[2],
        lambda a, b, c: np.sin(a) * b + c,
        numbers,
    ],
    ids=["table", "frame", "row", "columns", "numbers"],
)
def test_the_form_of_a_function_is_found_out(f):
    simulator = Simulator(f, NAMES)
    assert np.allclose(simulator(ROWS)[:, 0], TRUTH)
    assert (simulator.n_asked, simulator.n_lost) == (30, 0)


def test_a_function_of_one_row_is_not_taken_for_one_of_tables():
    square = ROWS[:2, :2]  # as many rows as inputs
    assert np.allclose(Simulator(lambda row: row[0] * row[1], ["a", "b"])(square)[:, 0], square.prod(1))


def test_a_function_that_takes_no_table_has_no_problem():
    def f(a, b, c):
        return a * b if c > 0 else c  # arrays have no truth value

    simulator = Simulator(f, NAMES)
    assert np.allclose(simulator(ROWS)[:, 0], np.where(ROWS[:, 2] > 0, ROWS[:, 0] * ROWS[:, 1], ROWS[:, 2]))
    assert (simulator.problem, simulator.n_lost) == ("", 0)


def test_several_outputs_and_processes():
    simulator = Simulator(lambda rows: np.stack([rows[:, 0], rows[:, 1] * 2], axis=1), NAMES, n_jobs=2)
    assert np.allclose(simulator(ROWS), ROWS[:, :2] * [1, 2])


def test_runs_that_fail_are_survived_and_counted_and_not_run_twice():
    calls = []

    def f(row):
        calls.append(tuple(row))
        if row[0] < -0.5:
            raise RuntimeError("mesh failed\nin line 3")
        return np.nan if row[1] < -0.9 else row[2]

    simulator = Simulator(f, NAMES)
    answers = simulator(ROWS)[:, 0]
    lost = (ROWS[:, 0] < -0.5) | (ROWS[:, 1] < -0.9)
    assert np.array_equal(np.isnan(answers), lost)
    assert simulator.n_lost == lost.sum() > 2
    assert simulator.problem == "RuntimeError: mesh failed"


@pytest.mark.parametrize(
    ("f", "sentence"),
    [
        (lambda row: 1 / 0, "failed in all of the first 21 runs: ZeroDivisionError"),
        (lambda row: "a", "failed in all of the first 21 runs"),
    ],
)
def test_a_simulator_that_always_fails(f, sentence):
    with pytest.raises(DataError, match=sentence):
        Simulator(f, NAMES)(ROWS)


def test_answers_of_different_lengths():
    with pytest.raises(DataError, match="gave 1 outputs in some runs and 2 in others"):
        Simulator(lambda row: [1.0] if row[0] < 0 else [1.0, 2.0], NAMES)(ROWS)


# ---- the store ----------------------------------------------------------------------------------


def test_what_is_in_the_store_is_not_asked_again(tmp_path):
    first = Simulator(numbers, NAMES, store=tmp_path / "runs.db")
    first(ROWS[:20])
    first.close()
    second = Simulator(numbers, NAMES, store=tmp_path / "runs.db")
    assert np.allclose(second(ROWS)[:, 0], TRUTH)
    assert (second.n_asked, second.n_known) == (10, 20)


def test_stores_that_cannot_be_used(tmp_path):
    AnswerStore(tmp_path / "runs.db", NAMES).close()
    with pytest.raises(StoreError, match="holds answers of a, b, c: name another file"):
        AnswerStore(tmp_path / "runs.db", ["a", "b"])
    (tmp_path / "text.db").write_text("no database at all" * 100)
    with pytest.raises(StoreError, match=r"cannot open the store .*text\.db"):
        AnswerStore(tmp_path / "text.db", NAMES)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE about (format TEXT, names TEXT)")
        other.execute("INSERT INTO about VALUES ('something', '[]')")
    with pytest.raises(StoreError, match="holds answers of something else"):
        AnswerStore(tmp_path / "other.db", NAMES)


def test_a_killed_study_goes_on_where_it_stood(tmp_path):
    program = f"""
import time, numpy as np
from compsparse.discovery.runs import Simulator
def slow(row):
    a, b = map(float, row)  # no table
    with open({str(tmp_path / "log")!r}, "a") as log:
        log.write(",".join(map(repr, row.tolist())) + chr(10))
    time.sleep(0.02)
    return row[0]
rows = np.random.default_rng(0).random((60, 2))
simulator = Simulator(slow, ["a", "b"], store={str(tmp_path / "runs.db")!r})
for start in range(0, 60, 4):
    simulator(rows[start : start + 4])
print(simulator.n_known)
"""
    running = subprocess.Popen([sys.executable, "-c", program])
    log = tmp_path / "log"
    while not (log.exists() and len(log.read_text().splitlines()) > 20):
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    again = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    asked = log.read_text().splitlines()
    assert int(again.stdout) >= 16
    assert len(set(asked)) == 60
    assert len(asked) <= 64  # what was being run when it was killed had no answer yet


# ---- discovery ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    return cs.discover(beam, bounds=BOX, n_runs=160, **QUICK)


def test_a_simulator_gives_graph_surrogate_and_shares(found):
    assert found.source == "runs"
    assert found.graph.inputs == ("load", "length", "width")
    assert found.cost.evaluations == 160
    assert found.runs.n_runs + found.runs.n_failed == 160
    assert "runs failed and were left out; the first with RuntimeError: mesh failed" in found.caveats[0]
    assert found.influence.meaning == "Sobol indices"
    surrogate = found.surrogate()
    assert surrogate.r2 > 0.98
    assert surrogate.n_test == int(found.runs.is_test.sum()) > 10
    X = found.runs.X[found.runs.is_test]
    assert np.allclose(
        np.sqrt(np.mean((surrogate.predict(X) - found.runs.y[found.runs.is_test, 0]) ** 2)), surrogate.rmse
    )
    assert "runs that it has not seen" in str(surrogate)


def test_next_points_are_apart_and_where_the_model_is_poor(found):
    planned = found.next_points(12, random_state=0)
    low, high = np.array(list(BOX.values())).T
    unit = (planned.points - low) / (high - low)
    assert ((unit >= 0) & (unit <= 1)).all()
    apart = np.linalg.norm(unit[:, None] - unit, axis=2)[~np.eye(12, dtype=bool)]
    assert apart.min() > 0.01
    assert planned.doubt.mean() > 0
    assert list(planned.frame().columns) == list(BOX)
    assert found.next_points(3, target=0.5).is_enough
    assert "no more runs are needed" in str(found.next_points(3, target=0.5))
    with pytest.raises(ConfigError, match="target must be"):
        found.next_points(3, target=1.5)


def test_a_simulator_has_a_page(found, tmp_path):
    page = simulator_page(tmp_path / "page.html", found, title="A beam").read_text()
    for part in ("A beam", "Stands for the simulator with R2", "Where to run next", "One row explained", "mesh failed"):
        assert part in page
    with pytest.raises(ConfigError, match="this discovery holds none"):
        simulator_page(tmp_path / "page.html", replace(found, runs=None))


def test_more_runs_begin_with_the_same_points_and_ask_only_the_new_ones(tmp_path):
    options = {"bounds": [(-1, 1)] * 2, "store": tmp_path / "runs.db", "fit_config": QUICK["fit_config"], "effort": 0.1}
    first = cs.discover(lambda a, b: a * b, n_runs=60, **options)
    second = cs.discover(lambda a, b: a * b, n_runs=80, **options)
    assert first.cost.evaluations == 60
    assert second.cost.evaluations == 20
    assert "60 answers were taken from the store" in second.caveats[0]


def test_queries_take_a_store_and_functions_of_numbers(tmp_path):
    options = {"bounds": [(0.0, 1.0)] * 3, "names": NAMES, "store": tmp_path / "asked.db", "random_state": 0}
    found = cs.discover(lambda rows: rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2]), **options)
    assert found.source == "queries"
    assert found.modules == {frozenset("ab")}

    def never(rows):
        raise AssertionError

    assert cs.discover(never, **options).graph == found.graph


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        ({"n_runs": 5}, ConfigError, "n_runs must be a whole number >= 40, got 5"),
        ({"n_runs": 100, "n_jobs": 0}, ConfigError, "n_jobs must be a whole number >= 1, got 0; -1 takes all cores"),
        ({"n_runs": 100, "bounds": None}, ConfigError, "a simulator needs bounds"),
        ({"n_runs": 100, "n_run": 3}, cs.CompsparseError, "n_run"),
    ],
)
def test_options_that_make_no_sense(options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        cs.discover(beam, **({"bounds": BOX} | options))


def test_a_simulator_that_fails_mostly():
    with pytest.raises(DataError, match=r"failed in \d+ of 60 runs, first with RuntimeError: mesh failed: shrink"):
        cs.discover(beam, bounds=BOX | {"width": (0.05, 0.14)}, n_runs=60)


def test_a_discovery_without_runs_says_so():
    found = cs.discover(lambda a, b: a * b, bounds=[(0, 1)] * 2)
    for ask in (found.surrogate, lambda: found.next_points(3)):
        with pytest.raises(ConfigError, match=r"discover\(f, bounds=…, n_runs=500\) makes them"):
            ask()
