import json
import subprocess
import sys
from dataclasses import dataclass

import pytest
from tests.sweeps.conftest import toys
from tests.sweeps.kinds.toy import Toy, lines

from compsparse.errors import ConfigError, EngineError
from compsparse.sweeps import Adaptive, Engine, Sweep, SweepStatus, open_store, run_stage, run_sweep


class Heard:
    def __init__(self):
        self.shares, self.messages = [], []

    def update(self, done, total, message=""):
        self.shares.append(done / total)
        self.messages.append(message)


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_a_sweep_runs_once_and_goes_on_past_what_raises(tmp_path, engine):
    sweep = toys(tmp_path, bad=(3.0,), sleep=0.02)
    heard = Heard()
    record = run_sweep(sweep, tmp_path / "s.sqlite", engine, workers=2, max_replicas=4, progress=heard)
    assert (record.status, record.total, record.existing) == (SweepStatus.FINISHED, 8, 0)
    assert (record.done, record.failed) == (7, 1)
    assert {r.spec["x"]: r.result["square"] for r in record.rows.values() if r.result} == {
        float(i): i**2 for i in range(8) if i != 3
    }
    (failure,) = record.failures
    assert failure.spec["x"] == 3.0
    assert failure.traceback.count("Traceback") == 1
    assert failure.traceback.rstrip().endswith("ArithmeticError: 3.0 is a bad number")
    assert [r.spec["x"] for r in record.rows.values()] == list(range(8))
    assert heard.messages[0].startswith("0 of 8 runs")
    assert heard.shares == sorted(heard.shares)
    ran = lines(tmp_path / "runs.txt")

    class Forbidden(Engine):
        workers, room = 1, 1

        def start(self):
            pytest.fail("nothing is missing")

        submit = completed = stop = start

    again = run_sweep(sweep, tmp_path / "s.sqlite", Forbidden())  # what exists is returned, without an engine
    assert (again.existing, again.done, again.failed) == (8, 0, 0)
    assert again.rows == record.rows
    assert lines(tmp_path / "runs.txt") == ran
    table = again.frame()
    assert list(table["square"].dropna()) == [i**2 for i in range(8) if i != 3]


def test_failed_runs_run_again_when_asked(tmp_path):
    sweep = toys(tmp_path, n=2, bad=(1.0,))
    for expected, retry in (((1, 1), False), ((0, 0), False), ((0, 1), True)):
        record = run_sweep(sweep, tmp_path / "s.sqlite", workers=1, retry_failed=retry)
        assert (record.done, record.failed) == expected


def test_an_adaptive_sweep_asks_for_what_it_needs_and_goes_on(place, tmp_path):
    # the error of a toy is x / n, a little more for higher seeds: it crosses 0.1 at 10 x
    def sweep(resolution):
        search = Adaptive("n", "error", 0.1, start=16, most=10**5, resolution=resolution)
        return Sweep("search", Toy, {"folder": str(tmp_path)}, {"x": [5.0, 300.0], "seed": [0, 1, 2]}, adaptive=search)

    record = run_sweep(sweep(1.5), place, workers=1)
    assert record.status is SweepStatus.FINISHED
    for group, crossing in record.crossings:
        assert crossing.low < 10.1 * group["x"] <= crossing.high <= 1.5 * crossing.low
    assert record.done == record.total == len(lines(tmp_path / "runs.txt"))
    finer = run_sweep(sweep(1.1), place, workers=1)
    assert finer.existing == record.total
    assert finer.done == finer.total - record.total > 0
    for group, crossing in finer.crossings:
        assert crossing.low < 10.1 * group["x"] <= crossing.high <= 1.1 * crossing.low
    assert [group["x"] for group, _ in finer.crossings] == [5.0, 300.0]
    assert run_sweep(sweep(1.1), place, workers=1).done == 0
    wrong = Adaptive("n", "eror", 0.1, start=16, most=100)
    with pytest.raises(ConfigError, match="no number to search by: 'eror'; did you mean 'error'"):
        run_sweep(Sweep("w", Toy, {"folder": str(tmp_path), "x": 5.0}, {"seed": [0]}, adaptive=wrong), place, workers=1)


@dataclass(frozen=True)
class Small(Toy):
    kind = "small"

    def __post_init__(self):
        if self.n > 500:
            raise ConfigError("too large")


def test_a_search_ends_where_the_kind_has_no_runs(tmp_path):
    search = Adaptive("n", "error", 0.1, start=16, most=10**5)
    sweep = Sweep("s", Small, {"folder": str(tmp_path), "x": 300.0}, {"seed": [0]}, adaptive=search)
    ((_, crossing),) = run_sweep(sweep, tmp_path / "s.sqlite", workers=1).crossings
    assert (crossing.low, crossing.high) == (256, None)


def test_a_stage_returns_what_exists(tmp_path):
    spec = Toy(3.0, str(tmp_path))
    assert run_stage(spec, tmp_path / "s.sqlite")["square"] == 9.0
    assert run_stage(spec, tmp_path / "s.sqlite")["square"] == 9.0
    assert len(lines(tmp_path / "runs.txt")) == 1
    with pytest.raises(EngineError, match=r"4\.0 is a bad number"):
        run_stage(Toy(4.0, str(tmp_path), bad=(4.0,)), tmp_path / "s.sqlite")


def test_what_runs_elsewhere_is_left_alone(tmp_path):
    sweep = toys(tmp_path, n=4)
    taken = [s.key for s in sweep.specs()[:2]]
    with open_store(tmp_path / "s.sqlite") as store:
        store.leases.claim(taken, "elsewhere/1/x", 3600)
        record = run_sweep(sweep, store, workers=1, wait=False)
        assert record.status is SweepStatus.ELSEWHERE
        assert (record.done, record.total) == (2, 4)
        assert not set(taken) & {key for key, _ in lines(tmp_path / "runs.txt")}
        store.leases.renew("elsewhere/1/x", 1.0)  # and then it is heard of no more
        record = run_sweep(sweep, store, workers=1)
        assert (record.status, record.existing, record.done) == (SweepStatus.FINISHED, 2, 2)


def test_results_are_json(tmp_path):
    run_sweep(toys(tmp_path, n=1), tmp_path / "s.sqlite", workers=1)
    with open_store(tmp_path / "s.sqlite") as store:
        (row,) = store.results.all()
    assert json.loads(row.to_json())["result"]["many"] == [1, 2]


def test_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from compsparse.sweeps import Sweep, run_sweep\n"
        "from compsparse.sweeps.kinds.hierarchy import HierarchyRun\n"
        "base = {'n_features': 4, 'n_epochs': 2, 'width': 4}\n"
        "sweep = Sweep('s', HierarchyRun, base, {'n_train': (20, 40)})\n"
        "print(run_sweep(sweep, 's.sqlite', workers=1).done)\n"
    )
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "2\n", done.stderr


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_replicas": 0}, "max_replicas must be a whole number >= 1, got 0"),
        ({"lease_seconds": 0}, "lease_seconds must be a finite number >= 0.1"),
        ({"device": "abacus"}, "cannot use device 'abacus'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, settings, message):
    with pytest.raises(ConfigError, match=message):
        run_sweep(toys(tmp_path, n=1), tmp_path / "s.sqlite", workers=1, **settings)
