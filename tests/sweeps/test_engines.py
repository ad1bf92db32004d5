import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass

import pytest
from tests.sweeps.conftest import KINDS, ROOT, toml_of, toys
from tests.sweeps.kinds.toy import Toy

from compsparse.errors import ConfigError, EngineError
from compsparse.sweeps import Spec, Sweep, get_engine, open_store, run_sweep
from compsparse.sweeps.packs import Pack, run_pack


def test_a_worker_imports_only_what_its_runs_need():
    """What a worker of either engine imports to read a pack and to run it."""
    code = (
        "import sys, tests.sweeps.kinds.toy, compsparse.sweeps.engines.local, compsparse.sweeps.engines.dask\n"
        "heavy = {'torch', 'sklearn', 'scipy', 'pandas', 'altair', 'sqlalchemy', 'distributed', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True)
    assert result.stdout == "[]\n", result.stderr


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


@dataclass(frozen=True)
class Single(Spec):
    kind = "single"

    n: int

    def measure(self, *, device, progress):
        return {"twice": 2 * self.n, "device": device}


@dataclass(frozen=True)
class Nothing(Spec):
    kind = "nothing"

    n: int = 0


def test_a_kind_may_say_no_more_than_how_one_run_is_measured(tmp_path):
    rows = run_pack(Pack((Single(1), Single(2))), "cpu")
    assert [row.result for row in rows] == [{"twice": 2, "device": "cpu"}, {"twice": 4, "device": "cpu"}]
    sweep = Sweep("singles", Single, grid={"n": [1, 2, 3]})
    record = run_sweep(sweep, tmp_path / "s.sqlite", workers=1)
    assert [row.result["twice"] for row in record.rows.values()] == [2, 4, 6]
    (row,) = run_pack(Pack((Nothing(),)), "cpu")
    assert "says neither how to measure one run nor how to run a pack" in row.traceback


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
        ("local", 0, "workers must be a whole number >= 1, got 0"),
        ("dask", 0, "workers must be a whole number >= 1, got 0"),
    ],
)
def test_unknown_engines_are_refused(name, workers, message):
    with pytest.raises(ConfigError, match=message):
        get_engine(name, workers=workers)


def test_only_a_cluster_that_is_there_may_have_devices_that_are_not_here():
    for name in ("local", "dask"):
        with pytest.raises(ConfigError, match="cannot use device 'abacus'"):
            get_engine(name, workers=1, device="abacus")
    assert get_engine("dask://host:1", device="abacus").device == "abacus"


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_workers_find_the_kinds_of_a_folder(tmp_path, engine):
    sweep = Sweep.from_toml(toml_of(tmp_path, n=3), kinds=KINDS)
    record = run_sweep(sweep, tmp_path / "s.sqlite", engine, workers=1)
    assert (record.done, record.failed) == (3, 0)
    again = run_sweep(toys(tmp_path, n=3), tmp_path / "s.sqlite", engine, workers=1)
    assert again.existing == 3  # the same kind from a module has the same keys


def test_a_folder_that_workers_do_not_have_is_said(tmp_path):
    folder = tmp_path / "kinds"
    shutil.copytree(KINDS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    sweep = Sweep.from_toml(toml_of(tmp_path, n=1), kinds=folder)
    shutil.rmtree(folder)
    with pytest.raises(EngineError, match="there is no folder of kinds"):
        run_sweep(sweep, tmp_path / "s.sqlite", workers=1)


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
        assert run_sweep(toys(tmp_path, n=6), tmp_path / "s.sqlite", engine, max_replicas=1).done == 6
        closing = threading.Timer(2.0, cluster.close)
        closing.start()
        with pytest.raises(EngineError, match="run the same command to go on"):
            run_sweep(toys(tmp_path, n=100, sleep=0.5), tmp_path / "s.sqlite", engine, max_replicas=1)
        closing.join()
    with open_store(tmp_path / "s.sqlite") as store:
        assert 0 < len(list(store.results.all())) < 106
