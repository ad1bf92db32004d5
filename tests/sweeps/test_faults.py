"""What can go wrong in the middle of a sweep, done for real: nothing that ended is lost or run again."""

import contextlib
import json
import os
import re
import resource
import signal
import sqlite3
import sys
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest
from sqlalchemy import select
from tests.sweeps.conftest import KINDS, command_line, toml_of, toys, until
from tests.sweeps.kinds.toy import lines

from compsparse.errors import EngineError, StoreError
from compsparse.sweeps import SweepStatus, driver, open_store, run_sweep
from compsparse.sweeps.engines import dask
from compsparse.sweeps.engines.local import LocalEngine
from compsparse.sweeps.store.schema import leases_table


def counted(folder):
    return Counter(key for key, _ in lines(folder / "runs.txt"))


def kept(place):
    with open_store(place) as store:
        return {row.key: row.status for row in store.results.all()}


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"


class InThread(threading.Thread):
    """A sweep beside the test, with what it returned or raised."""

    def __init__(self, *arguments, **settings):
        super().__init__(daemon=True)
        self.arguments, self.settings = arguments, settings
        self.record = self.error = None
        self.start()

    def run(self):
        try:
            self.record = run_sweep(*self.arguments, **self.settings)
        except StoreError as error:
            self.error = error

    def ended(self):
        self.join(timeout=90)
        assert not self.is_alive()
        return self


# ---- processes that die -------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_driver_that_was_killed_goes_on(place, tmp_path):
    path = toml_of(tmp_path, n=10, sleep=0.2)
    process = command_line("sweep", path, "--kinds", KINDS, "--store", place, "--workers", 2, "--max-replicas", 1)
    until(lambda: len(lines(tmp_path / "runs.txt")) >= 3)
    process.kill()
    process.communicate()
    before = kept(place)
    assert len(before) >= 1
    workers = {int(pid) for _, pid in lines(tmp_path / "started.txt")}
    until(lambda: not any(is_alive(pid) for pid in workers))  # workers do not outlive their driver
    record = run_sweep(toys(tmp_path, n=10, sleep=0.2), place, workers=2, max_replicas=1)
    assert (record.total, record.existing, record.done) == (10, len(before), 10 - len(before))
    assert set(kept(place).values()) == {"done"}
    counts = counted(tmp_path)
    assert all(counts[key] == 1 for key in before)
    assert sum(counts.values()) <= 10 + 2  # at most what the two workers had in hand ran twice


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_a_worker_that_was_killed_costs_only_what_it_ran(tmp_path, engine):
    sweep = InThread(toys(tmp_path, sleep=0.6), tmp_path / "s.sqlite", engine, workers=2, max_replicas=1)
    until(lambda: len(kept(tmp_path / "s.sqlite")) >= 2)
    until(lambda: len(lines(tmp_path / "started.txt")) >= 4)
    key, pid = lines(tmp_path / "started.txt")[-1]
    os.kill(int(pid), signal.SIGKILL)
    record = sweep.ended().record
    assert (record.done, record.failed) == (8, 0)
    starts = Counter(k for k, _ in lines(tmp_path / "started.txt"))
    assert {k for k, n in starts.items() if n > 1} == {key}
    assert set(counted(tmp_path).values()) == {1}


@pytest.mark.parametrize("trial", [0, *(pytest.param(n, marks=pytest.mark.heavy) for n in (1, 2, 3))])
def test_all_dask_workers_may_be_killed_at_once(tmp_path, trial):
    """Later trials kill them again, as they start or in the middle of a run."""
    sweep = InThread(toys(tmp_path, n=8, sleep=0.3), tmp_path / "s.sqlite", "dask", workers=2, max_replicas=1)
    until(lambda: len(lines(tmp_path / "started.txt")) >= 3)
    for n in range(1 + trial % 3):
        time.sleep(0.5 * n * trial)
        for pid in {int(pid) for _, pid in lines(tmp_path / "started.txt")[-2:]}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    record = sweep.ended().record
    assert (record.done, record.failed, record.left) == (8, 0, 0)


def test_a_cluster_whose_workers_do_not_come_back_is_said(tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(dask, "_ALONE_SECONDS", (60.0, 1.0))
    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster:
        engine = f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"
        with pytest.raises(
            EngineError, match=r"no Dask worker has been there for \d+ s; run the same command to go on"
        ):
            run_sweep(toys(tmp_path, n=2), tmp_path / "s.sqlite", engine)


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_a_run_that_kills_its_worker_is_found_out(tmp_path, engine):
    sweep = toys(tmp_path, n=2, deadly=(1.0,))
    record = run_sweep(sweep, tmp_path / "s.sqlite", engine, workers=1, max_replicas=2)
    assert (record.done, record.failed) == (1, 1)
    assert record.failures[0].spec["x"] == 1.0
    assert "died" in record.failures[0].traceback


def test_an_interrupted_sweep_keeps_its_results_and_gives_its_leases_back(tmp_path):
    path, place = toml_of(tmp_path, n=10, sleep=0.2), tmp_path / "s.sqlite"
    process = command_line("sweep", path, "--kinds", KINDS, "--store", place, "--workers", 1, "--max-replicas", 1)
    until(lambda: len(lines(tmp_path / "started.txt")) >= 3)  # so that a lease is in hand
    os.killpg(process.pid, signal.SIGINT)
    said, complained = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted: what is done is kept" in said
    assert complained == "Ctrl-C: the sweep stops here, and what is done is kept\n"
    assert 2 <= len(kept(place)) < 10
    with open_store(place) as store:
        with store.database.read() as connection:  # leases of the dead can be claimed, so look at the table itself
            assert connection.execute(select(leases_table)).all() == []
        now, (state,) = store.sweeps.all()
        assert state.status(now) == "interrupted"


# ---- two drivers --------------------------------------------------------------------------------


@pytest.mark.parametrize("skew", [86_400, pytest.param(-600, marks=pytest.mark.heavy)])
def test_two_drivers_share_the_work_however_their_clocks_disagree(place, tmp_path, skew):
    path = toml_of(tmp_path, n=16, sleep=0.1)
    arguments = ("sweep", path, "--kinds", KINDS, "--store", place, "--workers", 1, "--max-replicas", 2, "--json")
    drivers = [command_line(*arguments, skew=skew) for skew in (0, skew)]
    told = []
    for process in drivers:
        said, complained = process.communicate(timeout=120)
        assert process.returncode == 0, complained
        told.append(json.loads(said))
    assert [t["total"] for t in told] == [16, 16]
    assert sum(t["done"] for t in told) == 16
    assert [t["twice"] for t in told] == [0, 0]
    assert len(counted(tmp_path)) == 16
    assert set(counted(tmp_path).values()) == {1}


def test_a_driver_that_was_stopped_says_what_was_run_twice(tmp_path):
    """Its runs are taken over while it gives no sign; when it goes on it finds results that it did not put."""
    place, sweep = tmp_path / "s.sqlite", toys(tmp_path, n=2, sleep=0.5)
    with open_store(place) as store:

        class Slow(LocalEngine):
            def completed(self, timeout):
                rows = super().completed(timeout)
                for row in rows:  # another was faster
                    other.results.put(replace(row, host="elsewhere"))
                return rows

        with open_store(place) as other:
            record = run_sweep(sweep, store, Slow(workers=1))
    assert (record.total, record.existing, record.done, record.twice) == (2, 2, 0, 2)
    assert {row.host for row in record.rows.values()} == {"elsewhere"}


# ---- stores that fail ---------------------------------------------------------------------------


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of preexec_fn, in a process with threads
def test_a_full_disk_loses_nothing(tmp_path):
    path, place = toml_of(tmp_path, n=12, size=60_000), tmp_path / "s.sqlite"
    arguments = ("sweep", path, "--kinds", KINDS, "--store", place, "--workers", 1, "--max-replicas", 1)
    process = command_line(*arguments, preexec_fn=small_files)
    said, complained = process.communicate(timeout=60)
    assert process.returncode == 2, said + complained
    assert "Traceback" not in complained
    assert complained.count("\n") == 1
    (spill,) = tmp_path.glob("compsparse-spill-*.jsonl")
    assert f"store import {spill}" in complained
    in_store, spilled = len(kept(place)), len(spill.read_text().splitlines())
    assert in_store > 0
    assert spilled > 0
    assert in_store + spilled == sum(counted(tmp_path).values())
    importing = command_line("store", "import", spill, "--store", place)
    assert f"{spilled} of them new" in importing.communicate()[0]
    record = run_sweep(toys(tmp_path, n=12, size=60_000), place, workers=1)
    assert (record.existing, record.done) == (in_store + spilled, 12 - in_store - spilled)
    assert set(counted(tmp_path).values()) == {1}


@pytest.mark.parametrize("how", ["deleted", "replaced", "emptied"])
def test_a_store_that_is_lost_in_the_middle_is_noticed(tmp_path, monkeypatch, how):
    """Its results, those that were there before too, go to a file that brings them back."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "store").mkdir()
    place = tmp_path / "store" / "s.sqlite"
    run_sweep(toys(tmp_path, n=2), place, workers=1)
    running = InThread(toys(tmp_path, n=6, sleep=0.0), place, workers=1, max_replicas=1, progress=After(4, place, how))
    error = str(running.ended().error)
    assert ("has lost" if how == "emptied" else "was deleted or replaced") in error
    (spill,) = place.parent.glob("compsparse-spill-*.jsonl")
    assert f"store import {spill}" in error
    with open_store(place) as store:
        n, _ = store.import_spill(spill)
    ran = sum(counted(tmp_path).values())
    assert n >= ran - (2 if how == "emptied" else 0)
    record = run_sweep(toys(tmp_path, n=6, sleep=0.0), place, workers=1)
    assert (record.existing, record.done) == (ran, 6 - ran)
    assert set(counted(tmp_path).values()) == {1}


class After:
    """A listener that takes a store away when so many runs have ended."""

    def __init__(self, n, place, how):
        self.n, self.place, self.how = n, place, how

    def update(self, done, total, message=""):
        if int(message.partition(" ")[0]) < self.n or self.how is None:
            return
        if self.how == "emptied":
            with sqlite3.connect(self.place) as connection:
                connection.execute("DELETE FROM compsparse_results")
            connection.close()
        else:
            for path in self.place.parent.glob("s.sqlite*"):
                path.unlink()
        if self.how == "replaced":
            open_store(self.place).close()
        self.how = None


def test_a_database_that_goes_away_loses_nothing(postgres, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(driver, "_PAUSES_AWAY", (0.1,))
    place, sweep = postgres.database(), toys(tmp_path, n=8, sleep=0.3)
    running = InThread(sweep, place, workers=2, max_replicas=1)
    until(lambda: len(kept(place)) >= 2)
    postgres.stop()
    error = str(running.ended().error)
    (spill,) = tmp_path.glob("compsparse-spill-*.jsonl")
    assert error.startswith("cannot reach the store postgresql://")
    assert f"store import {spill}" in error
    assert "\n" not in error
    postgres.start()
    before = kept(place)
    with open_store(place) as store:
        n, new = store.import_spill(spill)
    assert n == new > 0
    record = run_sweep(sweep, place, workers=2)
    assert record.existing == len(before) + n == sum(counted(tmp_path).values()) - record.done
    assert (record.total, record.failed) == (8, 0)
    assert set(counted(tmp_path).values()) == {1}


def test_a_database_that_comes_back_soon_is_waited_for(postgres, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = postgres.database()
    running = InThread(toys(tmp_path, n=8, sleep=0.2), place, workers=1, max_replicas=1)
    until(lambda: len(kept(place)) >= 2)
    postgres.stop()
    postgres.start()
    assert running.ended().record.done == 8
    assert list(tmp_path.glob("compsparse-spill-*")) == []
    assert set(counted(tmp_path).values()) == {1}


def test_a_database_that_is_down_at_the_start_is_waited_for(postgres, tmp_path):
    place = postgres.database()
    postgres.stop()
    heard = Messages()
    running = InThread(toys(tmp_path, n=2), place, workers=1, progress=heard)
    until(lambda: "waiting for the store" in heard)
    postgres.start()
    assert running.ended().record.done == 2


def test_what_a_server_refuses_is_not_waited_for(postgres, tmp_path):
    place = postgres.database().replace("/sweeps", "/no_such_sweeps")
    heard = Messages()
    with pytest.raises(StoreError, match="does not exist"):
        run_sweep(toys(tmp_path, n=2), place, workers=1, progress=heard)
    assert heard == []


class Messages(list):
    """A listener that keeps what it is told."""

    def update(self, done, total, message=""):
        self.append(message)


# ---- time limits ---------------------------------------------------------------------------------


def test_a_sweep_out_of_time_says_what_is_left_and_goes_on(tmp_path):
    place, sweep = tmp_path / "s.sqlite", toys(tmp_path, n=4, sleep=30.0, bad=())
    short = toys(tmp_path, n=3)
    run_sweep(short, place, workers=1)
    record = run_sweep(sweep, place, workers=1, max_replicas=1, time_limit=1.0)
    assert record.status is SweepStatus.OUT_OF_TIME
    assert (record.total, record.done, record.left) == (4, 0, 4)
    with open_store(place) as store:
        assert store.leases.claim([spec.key for spec in sweep.specs()], "a/1/b", 60)  # given back
        now, states = store.sweeps.all()
        assert states[0].status(now) == "out of time"


def test_a_time_limit_on_the_command_line(tmp_path):
    path, place = toml_of(tmp_path, n=4, sleep=0.5), tmp_path / "s.sqlite"
    arguments = ("sweep", path, "--kinds", KINDS, "--store", place, "--workers", 1, "--max-replicas", 1)
    process = command_line(*arguments, "--time-limit", "1s")
    said, complained = process.communicate(timeout=90)
    assert (process.returncode, complained) == (0, "")
    found = re.search(
        r"4 runs: 0 existed, (\d) done now, 0 failed, in \d+ s, (\d) left\nout of time: what is done", said
    )
    assert sum(map(int, found.groups())) == 4
    record = run_sweep(toys(tmp_path, n=4, sleep=0.5), place, workers=1)
    assert (record.existing, record.left) == (int(found[1]), 0)
