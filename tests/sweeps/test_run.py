import json
import threading
from dataclasses import dataclass

import pytest
from tests.sweeps.conftest import toys
from tests.sweeps.toy import Toy, lines

from compsparse.errors import ConfigError, EngineError
from compsparse.sweeps import Adaptive, Sweep, SweepStatus, get_engine, open_store, run_stage, run_sweep
from compsparse.sweeps.engines.work import run_pack
from compsparse.sweeps.packing import Pack


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
    record = run_sweep(sweep, tmp_path / "s.sqlite", engine, workers=2, n_replicas=4, progress=heard)
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

    class Forbidden:
        workers = 1

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
    assert list(finer.crossing_frame()["x"]) == [5.0, 300.0]
    assert run_sweep(sweep(1.1), place, workers=1).done == 0
    wrong = Adaptive("n", "eror", 0.1, start=16, most=100)
    with pytest.raises(ConfigError, match="no number 'eror' to search by; did you mean 'error'"):
        run_sweep(Sweep("w", Toy, {"folder": str(tmp_path), "x": 5.0}, {"seed": [0]}, adaptive=wrong), place, workers=1)


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


class Odd(Toy):
    kind = "odd"

    @classmethod
    def run(cls, specs, *, device, progress):
        answers = {0.0: [], 1.0: [3], 2.0: [{"f": print}], 3.0: [{"ok": 1}]}
        if specs[0].x == 4.0:
            raise SystemExit(3)
        return answers[specs[0].x]


@pytest.mark.parametrize(
    ("x", "message"),
    [(0, "returned 0 results for 1 specs"), (1, "must return mappings"), (2, "must be made of numbers"), (4, "Exit")],
)
def test_odd_results_are_failures(x, message):
    (row,) = run_pack(Pack((Odd(float(x), "f"),)), "cpu")
    assert row.status == "failed"
    assert message in row.traceback


def test_numbers_of_numpy_and_torch_are_plain_in_the_store(tmp_path):
    import numpy as np
    import torch

    class Numbers(Toy):
        @classmethod
        def run(cls, specs, *, device, progress):
            return [{"a": np.float32(0.5), "b": torch.tensor([1, 2]), "c": np.arange(2), "d": torch.tensor(2.0)}]

    (row,) = run_pack(Pack((Numbers(1.0, "f"),)), "cpu")
    assert row.result == {"a": 0.5, "b": [1, 2], "c": [0, 1], "d": 2.0}


def test_kinds_that_workers_cannot_import_are_an_error(tmp_path):
    class Here(Toy):
        pass

    Here.__qualname__ = "Here"
    import sys

    module = sys.modules[__name__]
    module.Here = Here  # the driver finds it here, the worker does not
    try:
        sweep = Sweep("s", Here, {"folder": str(tmp_path), "x": 1.0})
        with pytest.raises(EngineError, match="a worker cannot import"):
            run_sweep(sweep, tmp_path / "s.sqlite", workers=1)
    finally:
        del module.Here


@pytest.mark.parametrize(
    ("name", "workers", "message"),
    [
        ("locl", None, "no engine 'locl'; did you mean 'local'"),
        ("slurm", None, "no engine 'slurm'; known: local, dask"),
        ("dask://", None, "write dask://host:port"),
        ("dask://host", None, "write dask://host:port"),
        ("dask://host:1", 3, "has its own workers"),
        ("local", 0, "at least one worker"),
        ("dask", 0, "at least one worker"),
    ],
)
def test_unknown_engines_are_refused(name, workers, message):
    with pytest.raises(ConfigError, match=message):
        get_engine(name, workers=workers)


def test_a_scheduler_that_is_not_there(tmp_path, monkeypatch):
    from compsparse.sweeps.engines import dask

    monkeypatch.setattr(dask, "_CONNECT_SECONDS", 0.5)
    with pytest.raises(EngineError, match=r"cannot reach a Dask scheduler at 127\.0\.0\.1:9"):
        run_sweep(toys(tmp_path, n=1), tmp_path / "s.sqlite", "dask://127.0.0.1:9")
    with open_store(tmp_path / "s.sqlite") as store:
        now, (state,) = store.sweeps.all()
        assert state.status(now) == "ended by an error"
        assert store.leases.claim([toys(tmp_path, n=1).specs()[0].key], "a/1/b", 1)


def test_a_cluster_that_is_there_is_used_and_its_loss_is_said(tmp_path, monkeypatch):
    from distributed import LocalCluster

    from compsparse.sweeps.engines import dask

    monkeypatch.setattr(dask, "_CONNECT_SECONDS", 1.0)
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0") as cluster:
        engine = f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"
        assert run_sweep(toys(tmp_path, n=6), tmp_path / "s.sqlite", engine, n_replicas=1).done == 6
        closing = threading.Timer(2.0, cluster.close)
        closing.start()
        with pytest.raises(EngineError, match="run the same command to go on"):
            run_sweep(toys(tmp_path, n=100, sleep=0.5), tmp_path / "s.sqlite", engine, n_replicas=1)
        closing.join()
    with open_store(tmp_path / "s.sqlite") as store:
        assert 0 < len(list(store.results.all())) < 106


def test_a_search_ends_where_the_kind_has_no_runs(tmp_path):
    search = Adaptive("n", "error", 0.1, start=16, most=10**5)
    sweep = Sweep("s", Small, {"folder": str(tmp_path), "x": 300.0}, {"seed": [0]}, adaptive=search)
    ((_, crossing),) = run_sweep(sweep, tmp_path / "s.sqlite", workers=1).crossings
    assert (crossing.low, crossing.high) == (256, None)


@dataclass(frozen=True)
class Small(Toy):
    kind = "small"

    def __post_init__(self):
        if self.n > 500:
            raise ConfigError("too large")


def test_results_are_json(tmp_path):
    run_sweep(toys(tmp_path, n=1), tmp_path / "s.sqlite", workers=1)
    with open_store(tmp_path / "s.sqlite") as store:
        (row,) = store.results.all()
    assert json.loads(row.to_json())["result"]["many"] == [1, 2]
