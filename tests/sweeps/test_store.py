import math
import os
import sqlite3
import sys
import threading
from dataclasses import replace

import numpy as np
import pandas
import pytest
from tests.sweeps.kinds.toy import Toy

from compsparse.errors import CompsparseError, StoreError
from compsparse.sweeps import get_engine, open_store
from compsparse.sweeps.records import Row
from compsparse.sweeps.store import Spill
from compsparse.sweeps.store.leases import is_gone, new_owner


def row(x, result=None, **fields):
    return Row.of(Toy(float(x), "f", **fields), result, traceback=None if result else "Traceback: bad", seconds=1.0)


def test_what_is_put_comes_back(place):
    rows = [row(i, {"loss": 0.1 * i, "deep": {"a": 1}, "nan": math.inf}) for i in range(3)] + [row(9)]
    with open_store(place) as store:
        for r in rows:
            store.results.put(r)
    with open_store(place) as store:
        assert list(store.results.all()) == sorted(rows, key=lambda r: (r.finished, r.key))
        assert store.results.get([rows[1].key, "nothing"]) == {rows[1].key: rows[1]}
        assert [(c[0], c[2], c[3]) for c in store.results.counts()] == [("toy", "done", 3), ("toy", "failed", 1)]
        assert list(store.results.all("other")) == []


def test_done_stays_and_failed_gives_way(place):
    with open_store(place) as store:
        store.results.put(row(1))
        store.results.put(row(1, {"loss": 1.0}))
        store.results.put(row(1, {"loss": 2.0}))
        store.results.put(row(1))
        (kept,) = store.results.all()
        assert kept.result == {"loss": 1.0}


def test_a_lease_has_one_owner_until_it_expires_or_its_result_is_there(place):
    me, other = "here/1/a", "there/1/b"
    with open_store(place) as store:
        key = row(1).key
        assert store.leases.claim([key, "k2"], me, 60) == {key, "k2"}
        assert store.leases.claim([key, "k2", "k3"], other, 60) == {"k3"}
        assert store.leases.claim([key], me, 60) == {key}
        store.leases.renew(me, -1)
        assert store.leases.claim(["k2"], other, 60) == {"k2"}
        store.leases.release(other)
        assert store.leases.claim(["k3"], me, 60) == {"k3"}
        store.results.put(row(1, {"loss": 1.0}))
        assert store.leases.claim([key], other, 60) == set()
        store.leases.renew(me, -1)
        assert store.leases.drop_expired() == 1


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


def test_a_lease_is_free_when_its_sign_has_not_changed_for_so_long(place, monkeypatch):
    """However the clocks of the two disagree: only the one that watches has a clock that counts."""
    me, other = "here/1/a", "there/1/b"
    with open_store(place) as store, open_store(place) as theirs:
        clock = Clock()
        watching = replace(store.leases, clock=clock)
        with monkeypatch.context() as patch:
            patch.setattr("time.time", lambda: 4e9)  # a clock that is decades ahead
            assert theirs.leases.claim(["k"], other, 100) == {"k"}
        for _ in range(3):  # it lives, and says so
            assert watching.claim(["k"], me, 100) == set()
            clock.seconds += 24
            assert watching.claim(["k"], me, 100) == set()
            theirs.leases.renew(other, 100)
        for _ in range(5):  # and then says no more
            assert watching.claim(["k"], me, 100) == set()
            clock.seconds += 24
        assert watching.claim(["k"], me, 100) == {"k"}


def test_time_in_which_the_watcher_was_stopped_does_not_count(place):
    """Both may have been stopped together, as when a machine sleeps."""
    with open_store(place) as store:
        clock = Clock()
        watching = replace(store.leases, clock=clock)
        store.leases.claim(["k"], "there/1/b", 100)
        assert watching.claim(["k"], "here/1/a", 100) == set()
        clock.seconds += 3600
        assert watching.claim(["k"], "here/1/a", 100) == set()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tell")
def test_leases_of_dead_processes_of_this_machine_are_free(place):
    mine = new_owner()
    dead = mine.replace(f"/{os.getpid()}/", "/4194999/")
    assert not is_gone(mine)
    assert not is_gone("elsewhere/4194999/x")
    assert is_gone(dead)  # no process has so high a number
    with open_store(place) as store:
        store.leases.claim(["k"], dead, 3600)
        assert store.leases.claim(["k"], mine, 60) == {"k"}


def test_many_claim_at_once_and_each_key_goes_to_one(place):
    keys = [f"key{i:03}" for i in range(200)]
    taken = {}

    def claim(name):
        with open_store(place) as store:
            got = set()
            for first in range(0, 200, 20):
                got |= store.leases.claim(keys[first : first + 20][:: -1 if name % 2 else 1], f"h/{name}/x", 60)
            taken[name] = got

    threads = [threading.Thread(target=claim, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(k for got in taken.values() for k in got) == keys


# ---- tables -------------------------------------------------------------------------------------


def test_export_flattens(place, tmp_path):
    with open_store(place) as store:
        store.results.put(row(1, {"loss": 0.5, "x": 7, "deep": {"a": {"b": 1}}, "curve": [1, 2], "seconds": 3}))
        store.results.put(row(2, {"loss": "none", "np": np.float64(2).item()}))
        store.results.put(row(3))
        for name, read in (("t.parquet", pandas.read_parquet), ("t.csv", pandas.read_csv)):
            assert store.export(tmp_path / name) == 3
            table = read(tmp_path / name).set_index("x")
            assert list(table.loc[[1.0, 3.0], "status"]) == ["done", "failed"]
            assert table.loc[1.0, "result.x"] == 7
            assert table.loc[1.0, "deep.a.b"] == 1
            assert table.loc[1.0, "curve"] == "[1, 2]"
            assert table.loc[1.0, "run.seconds"] == 1.0
            assert table.loc[2.0, "np"] == 2.0
            assert table.loc[3.0, "traceback"] == "Traceback: bad"
        with pytest.raises(CompsparseError, match=r"expected a \.parquet or \.csv"):
            store.export(tmp_path / "t.xlsx")
        with pytest.raises(CompsparseError, match="no results"):
            store.export(tmp_path / "t.csv", kind="other")


def test_compact_removes_what_is_of_no_use(place):
    with open_store(place) as store:
        store.results.put(row(1, {"loss": 1.0}))
        store.results.put(row(2))
        store.leases.claim(["a", "b"], "h/1/x", -1)
        store.leases.claim(["c"], "h/1/y", 60)
        assert store.compact() == {"leases": 2, "sweeps": 0, "failed": 0}
        assert store.compact(failed=True) == {"leases": 0, "sweeps": 0, "failed": 1}
        assert [r.status for r in store.results.all()] == ["done"]


# ---- what is no store ---------------------------------------------------------------------------


def test_a_newer_store_is_refused(place):
    from sqlalchemy import update

    from compsparse.sweeps.store.schema import meta_table

    with open_store(place) as store, store.database.write() as connection:
        connection.execute(update(meta_table).values(value="99"))
    with pytest.raises(StoreError, match="has schema 99, this compsparse reads 2: install a newer"):
        open_store(place)


def test_what_is_no_store_is_said_in_one_sentence(tmp_path):
    (tmp_path / "text.sqlite").write_text("this is no database, but it is long enough to be looked at" * 100)
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE TABLE t (a)")
    other.close()
    for place, message in (
        (tmp_path / "text.sqlite", "text.sqlite is not a database"),
        (tmp_path / "other.sqlite", "no store of compsparse: it holds other tables"),
        (tmp_path, "it is a folder"),
        (tmp_path / "no" / "s.sqlite", "there is no folder"),
        ("mysql://host/x", "a store is a path or postgresql://"),
        ("postgresql://user:secret@127.0.0.1:1/x", r"cannot reach the store postgresql://user:\*\*\*@127.0.0.1:1/x"),
        ("postgresql://host:port/x", "cannot read the address"),
    ):
        with pytest.raises(CompsparseError, match=message) as caught:
            open_store(place)
        assert "\n" not in str(caught.value)
        assert "secret" not in str(caught.value)
    with pytest.raises(CompsparseError, match="there is no store"):
        open_store(tmp_path / "none.sqlite", create=False)


@pytest.mark.parametrize(
    "place",
    [
        "postgresql://me:secret@host:port/x",
        "postgresql://me:se/cr@et:secret@host:port/x",
        "postgresql://me:secret@host:1:2/x",
        "mysql://me:secret@host/x",
        "mysql://host/x?password=secret",
        "postgresql://host:x/db?user=me&p%61ssword=secret&sslmode=require",
        "postgresql://127.0.0.1:1/x?password=secret&sslmode=disable",
        "postgresql://127.0.0.1:1/x?sslpassword=secret&nonsense=1",
        "postgresql:/me:secret@host/x",
        "me:secret@host/x",
        "host=h password = 'a secret' dbname=/x",
        "dask://me:secret@host",
    ],
)
def test_passwords_are_not_printed(place):
    with pytest.raises(CompsparseError) as caught:
        get_engine(place) if place.startswith("dask") else open_store(place, create=False)
    assert "secret" not in str(caught.value)
    assert "***" in str(caught.value) or "host/x" not in place


# ---- spill files --------------------------------------------------------------------------------


def test_a_spill_goes_to_the_first_folder_that_takes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spill = Spill([tmp_path / "gone"], "s.sqlite")
    rows = [row(1, {"loss": math.nan}), row(2), row(1, {"loss": 3.0})]
    for r in rows:
        spill.put(r)
    (path,) = spill.paths
    assert path.parent == tmp_path
    assert str(path) in spill.sentence()
    with open_store(tmp_path / "s.sqlite") as store:
        assert store.import_spill(path) == (3, 2)
        assert store.import_spill(path) == (3, 0 + 1)  # a failed one counts as new, for it may be replaced
        assert len(list(store.results.all())) == 2
        path.write_text(path.read_text() + "{}\n")
        for bad, message in ((path, "line 4: this line holds no result"), (tmp_path / "none", "there is no file")):
            with pytest.raises(CompsparseError, match=message):
                store.import_spill(bad)


def test_sweeps_show_how_far_they_are(place):
    from compsparse.sweeps.store import SweepState

    with open_store(place) as store:
        state = store.sweeps.begin(SweepState.new("s", total=10, existing=2))
        store.sweeps.beat(replace(state, done=3, failed=1, running=2, share=0.5))
        now, (seen,) = store.sweeps.all()
        assert (seen.done, seen.failed, seen.running, seen.status(now)) == (3, 1, 2, "running")
        assert seen.seconds_left == pytest.approx(seen.heartbeat - seen.started)
        assert "lost" in seen.status(now + 3600)
        store.sweeps.beat(replace(state, message="interrupted"), finished=True)
        now, (seen,) = store.sweeps.all()
        assert seen.status(now) == "interrupted"
        assert store.compact()["sweeps"] == 1
