"""Stores that were damaged, protected or deleted: nothing changes without a word."""

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
    """Also where the digest is right; what has none is not read."""
    row = rows_of(2)[1]
    wrong = replace(row, spec={**row.spec, "x": 2.0})
    with open_store(tmp_path / "s.sqlite") as store:
        store.results.put(wrong)
        with pytest.warns(UnreadableResults, match="its key is not that of its kind, version and spec"):
            assert list(store.results.all()) == []
    with pytest.raises(CompsparseError, match="its key is not that"):
        Row.from_json(wrong.to_json())
    unsealed = {name: value for name, value in json.loads(row.to_json()).items() if name != "digest"}
    for line in (json.dumps(unsealed), row.to_json().replace(row.host, "elsewhere")):
        with pytest.raises(CompsparseError, match="changed or damaged"):
            Row.from_json(line)
    assert Row.from_json(row.to_json()) == row


def test_keys_that_leave_later_fields_out_fit(tmp_path):
    from compsparse.sweeps.kinds.hierarchy import HierarchyRun

    row = Row.of(HierarchyRun(n_train=20, n_features=4), {"test_error": 0.5}, seconds=1.0)
    with open_store(tmp_path / "s.sqlite") as store:
        store.results.put(row)
        assert list(store.results.all()) == [row]
    assert Row.from_json(row.to_json()) == row


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
    """One that was closed, and one with its log as after a crash."""
    folder, rows = tmp_path / "medium", rows_of(4)
    folder.mkdir()
    if on_a_read_only_medium(folder, "true").returncode:
        pytest.skip("no folder can be mounted read-only here")
    places = [folder / name for name in ("closed.sqlite", "log.sqlite")]
    store = open_store(tmp_path / "s.sqlite")
    for row in rows:
        store.results.put(row)
    for tail in ("", "-wal"):
        shutil.copy(tmp_path / f"s.sqlite{tail}", folder / f"log.sqlite{tail}")
    store.close()
    shutil.copy(tmp_path / "s.sqlite", places[0])
    before = {path: path.read_bytes() for path in folder.iterdir()}
    ended = on_a_read_only_medium(folder, sys.executable, "-c", LOOK, "LOOK", *places)
    told, listed = map(json.loads, ended.stdout.splitlines())
    for found, *refused in (told[:3], told[3:]):
        assert [Row.from_json(line) for line in found] == rows
        assert all("cannot be written to: it is on a medium" in sentence for sentence in refused)
        assert len(refused) == 2
    assert {r["status"]: r["runs"] for r in listed["results"]} == {"done": 3, "failed": 1}
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
