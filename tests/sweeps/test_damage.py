"""Stores that were damaged, made by an earlier version, protected or deleted: nothing changes without a word."""

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import warnings
from dataclasses import replace

import pytest
from tests.sweeps.kinds.toy import Toy

from compsparse.errors import CompsparseError, StoreError
from compsparse.sweeps import Row, UnreadableResults, open_store

N_FLIPS, N_SAMPLED = 400, 40


def rows_of(n):
    return [
        Row.of(Toy(float(i), "f", size=i), {"loss": i / 7, "curve": [i, 0.5]} if i % 5 else None, seconds=1.0)
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a store and what it holds."""
    place = tmp_path_factory.mktemp("whole") / "s.sqlite"
    with open_store(place) as store:
        for row in rows_of(60):
            store.results.put(row)
        store.leases.claim(["k1", "k2"], "elsewhere/1/x", 60)
        seen = seen_in(store)
    assert not place.with_name("s.sqlite-wal").exists()
    return place.read_bytes(), seen


def seen_in(store):
    keys = [row.key for row in rows_of(60)]
    return list(store.results.all()), store.results.get(keys), store.results.counts()


def look(place, **settings):
    """What a store shows, and what it says beside."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            with open_store(place, **settings) as store:
                return seen_in(store), told
        except CompsparseError as error:
            return None, [error]


def pytest_generate_tests(metafunc):
    if "flip" in metafunc.fixturenames:
        n = N_FLIPS if metafunc.config.getoption("--all-cases") else N_SAMPLED
        metafunc.parametrize("flip", range(n))


def test_a_flipped_bit_is_harmless_or_named(whole, tmp_path, flip):
    data, seen = bytearray(whole[0]), whole[1]
    bit = random.Random(flip).randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    for settings in ({}, {"read_only": True}):
        (tmp_path / "s.sqlite").write_bytes(data)
        found, told = look(tmp_path / "s.sqlite", **settings)
        assert told or found == seen


def changed(place, statement, *values):
    with sqlite3.connect(place) as connection:
        connection.execute(statement, values)
    connection.close()


@pytest.mark.parametrize("column", ["spec", "result", "status", "traceback", "seconds", "host", "kind", "version"])
def test_a_row_that_was_changed_is_named_and_not_used(tmp_path, column):
    one, other = rows_of(12)[1:3]
    with open_store(tmp_path / "s.sqlite") as store:
        store.results.put(one)
        store.results.put(other)
    values = {"status": "failed", "seconds": 7.0, "version": 2, "spec": json.dumps({**one.spec, "x": 8.0})}
    value = values.get(column, '{"loss": 0.5}')
    changed(tmp_path / "s.sqlite", f"UPDATE compsparse_results SET {column} = ? WHERE key = ?", value, one.key)
    with open_store(tmp_path / "s.sqlite") as store:
        with pytest.warns(UnreadableResults, match=one.key[:12]):
            assert list(store.results.all()) == [other]
        for kind, status in (("toy", None), (None, "done"), (None, "failed")):
            with pytest.warns(UnreadableResults, match=one.key[:12]):  # it may be one of those that are asked for
                list(store.results.all(kind, status))
        with pytest.warns(UnreadableResults, match="1 result .* cannot be used"):
            assert store.results.counts()[0][3] == 1
        with pytest.warns(UnreadableResults):
            assert store.results.get([one.key])[one.key].status == "failed"
        assert store.results.forget_failed() == 1
        store.results.put(one)
        assert store.results.get([one.key]) == {one.key: one}


def test_a_key_is_compared_with_what_it_names(tmp_path):
    """Also where the digest is right, and in files that an earlier version wrote without one."""
    row = rows_of(2)[1]
    wrong = replace(row, spec={**row.spec, "x": 2.0})
    with open_store(tmp_path / "s.sqlite") as store:
        store.results.put(wrong)
        with pytest.warns(UnreadableResults, match="its key is not that of its kind, version and spec"):
            assert list(store.results.all()) == []
    for row_ in (row, wrong):
        line = json.loads(row_.to_json())
        del line["digest"]
        if row_ is row:
            assert Row.from_json(json.dumps(line)) == row
        else:
            with pytest.raises(CompsparseError, match="its key is not that"):
                Row.from_json(json.dumps(line))
    with pytest.raises(CompsparseError, match="changed or damaged"):
        Row.from_json(row.to_json().replace(row.host, "elsewhere"))


def test_keys_that_leave_later_fields_out_fit(tmp_path):
    from compsparse.sweeps.kinds.hierarchy import HierarchyRun

    row = Row.of(HierarchyRun(n_train=20, n_features=4), {"test_error": 0.5}, seconds=1.0)
    with open_store(tmp_path / "s.sqlite") as store:
        store.results.put(row)
        assert list(store.results.all()) == [row]
    line = json.loads(row.to_json())
    assert Row.from_json(json.dumps({name: value for name, value in line.items() if name != "digest"})) == row


def test_an_index_that_lies_is_seen(tmp_path):
    """A row that only the index knows, or only the table, is there for some questions and not for others."""
    place = tmp_path / "s.sqlite"
    rows = rows_of(30)
    with open_store(place) as store:
        for row in rows:
            store.results.put(row)
    data = place.read_bytes()
    named = rows[7].key.encode()
    in_index = max(i for i in range(len(data)) if data.startswith(named, i))
    in_table = min(i for i in range(len(data)) if data.startswith(named, i))
    for at in (in_index, in_table):
        place.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with (
            pytest.raises(StoreError, match=r"is damaged \(.*store import .*s.sqlite --store NEW"),
            open_store(place) as s,
        ):
            s.results.get([rows[7].key])
        with pytest.raises(StoreError, match="is damaged"), open_store(place) as store:
            store.results.put(rows[8])
        with (
            open_store(tmp_path / f"{at}.sqlite") as saved,
            pytest.warns(UnreadableResults, match="is damaged"),
            pytest.warns(UnreadableResults, match=rf"{rows[7].key[1:12]} \(the index names it, but it is not there"),
        ):
            n, new = saved.import_spill(place)
        assert n == new >= 29
        assert saved.results.keys([r.key for r in rows]) >= {r.key for r in rows if r is not rows[7]}


# ---- an earlier version ---------------------------------------------------------------------------


OLD = """
CREATE TABLE compsparse_meta (name VARCHAR(64) NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name));
CREATE TABLE compsparse_results (key VARCHAR(64) NOT NULL, kind TEXT NOT NULL, version INTEGER NOT NULL,
  spec TEXT NOT NULL, status VARCHAR(16) NOT NULL, result TEXT, traceback TEXT, seconds DOUBLE NOT NULL,
  started DOUBLE NOT NULL, finished DOUBLE NOT NULL, host TEXT NOT NULL, code TEXT NOT NULL, PRIMARY KEY (key));
CREATE INDEX ix_compsparse_results_kind ON compsparse_results (kind);
CREATE TABLE compsparse_leases (key VARCHAR(64) NOT NULL, owner TEXT NOT NULL, heartbeat DOUBLE NOT NULL,
  expires DOUBLE NOT NULL, PRIMARY KEY (key));
CREATE INDEX ix_compsparse_leases_owner ON compsparse_leases (owner);
CREATE TABLE compsparse_sweeps (id VARCHAR(64) NOT NULL, name TEXT NOT NULL, host TEXT NOT NULL,
  pid INTEGER NOT NULL, total INTEGER NOT NULL, done INTEGER NOT NULL, failed INTEGER NOT NULL,
  running INTEGER NOT NULL, existing INTEGER NOT NULL, share DOUBLE NOT NULL, started DOUBLE NOT NULL,
  heartbeat DOUBLE NOT NULL, finished DOUBLE, message TEXT NOT NULL, PRIMARY KEY (id));
INSERT INTO compsparse_meta VALUES ('schema_version', '1');
"""


def old_store(place, rows):
    """A store as version 0.1 made it, before digests."""
    with sqlite3.connect(place) as connection:
        connection.executescript("PRAGMA journal_mode=WAL;" + OLD)
        for row in rows:
            columns = {name: value for name, value in row.to_columns().items() if name != "digest"}
            marks = ", ".join("?" * len(columns))
            statement = f"INSERT INTO compsparse_results ({', '.join(columns)}) VALUES ({marks})"
            connection.execute(statement, list(columns.values()))
    connection.close()


def test_a_store_of_an_earlier_version_is_brought_up_to_date(tmp_path):
    place, rows = tmp_path / "s.sqlite", rows_of(6)
    wrong = replace(rows[5], spec={**rows[5].spec, "x": 7.0})
    old_store(place, [*rows[:5], wrong])
    before = place.read_bytes()
    with open_store(place, read_only=True) as store, pytest.warns(UnreadableResults, match=wrong.key[:12]):
        assert list(store.results.all()) == rows[:5]  # keys alone tell
    assert place.read_bytes() == before
    for _ in range(2):
        with open_store(place) as store, pytest.warns(UnreadableResults, match=f"1 result .*{wrong.key[:12]}"):
            assert list(store.results.all()) == rows[:5]
    changed(place, "UPDATE compsparse_results SET host = 'x' WHERE key = ?", rows[0].key)
    with open_store(place) as store:
        with pytest.warns(UnreadableResults, match="2 results"):
            assert list(store.results.all()) == rows[1:5]
        assert store.leases.claim(["k"], "a/1/b", 60) == {"k"}


def test_a_store_in_the_hands_of_an_earlier_version_is_left_alone(tmp_path):
    place = tmp_path / "s.sqlite"
    old_store(place, rows_of(2))
    changed(place, "INSERT INTO compsparse_leases VALUES ('k', 'elsewhere/1/x', 0.0, 4e9)")
    with pytest.raises(
        StoreError, match=r"an earlier version .* is running a sweep .* end it first, or if it died wait"
    ):
        open_store(place)
    changed(place, "UPDATE compsparse_leases SET expires = 1.0")
    open_store(place).close()


# ---- protected media -----------------------------------------------------------------------------

LOOK = """
import json, sys
from compsparse.errors import StoreError
from compsparse.sweeps import open_store
told = []
for place in sys.argv[2:]:
    with open_store(place) as store:
        told.append([row.to_json() for row in store.results.all()])
        for act in (store.compact, lambda: store.leases.claim(["k"], "a/1/b", 60)):
            try:
                act()
            except StoreError as error:
                told.append(str(error))
print(json.dumps(told))
sys.argv = ["compsparse", "store", "list", "--json", "--store", sys.argv[2]]
from compsparse.cli import main
main()
"""


def on_a_read_only_medium(folder, *arguments):
    """A process that sees the folder mounted so that nothing can be written there."""
    mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, folder, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_stores_on_a_read_only_medium_are_read(tmp_path):
    """One that was closed, one with its log as after a crash, and one that an earlier version made."""
    folder, rows = tmp_path / "medium", rows_of(4)
    folder.mkdir()
    if on_a_read_only_medium(folder, "true").returncode:
        pytest.skip("no folder can be mounted read-only here")
    places = [folder / name for name in ("closed.sqlite", "log.sqlite", "old.sqlite")]
    store = open_store(tmp_path / "s.sqlite")
    for row in rows:
        store.results.put(row)
    for tail in ("", "-wal"):
        shutil.copy(tmp_path / f"s.sqlite{tail}", folder / f"log.sqlite{tail}")
    store.close()
    shutil.copy(tmp_path / "s.sqlite", places[0])
    old_store(places[2], rows)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    ended = on_a_read_only_medium(folder, sys.executable, "-c", LOOK, "LOOK", *places)
    told, listed = map(json.loads, ended.stdout.splitlines())
    for found, *refused in (told[:3], told[3:6], told[6:]):
        assert [Row.from_json(line) for line in found] == rows
        assert all("cannot be written to: it is on a medium" in sentence for sentence in refused)
        assert len(refused) == 2
    assert {r["status"]: r["runs"] for r in listed["results"]} == {"done": 3, "failed": 1}
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
