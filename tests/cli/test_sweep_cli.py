import json
import re
import sqlite3
import subprocess
import sys

import pandas
import pytest
from tests.sweeps.conftest import KINDS, ROOT, toml_of
from tests.sweeps.kinds.toy import Toy, lines
from typer.testing import CliRunner

from compsparse.cli import app
from compsparse.errors import CompsparseError
from compsparse.sweeps import Adaptive, Row, Sweep, UnreadableResults, open_store, run_sweep

RUNNER = CliRunner()


def run(*arguments, status=0):
    result = RUNNER.invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result.output


def test_a_sweep_from_a_file_and_all_that_follows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = toml_of(tmp_path, n=5, bad=[3.0])
    shown = run("sweep", path, "--kinds", KINDS, "--workers", 1, status=1)
    assert "5 runs: 0 existed, 4 done now, 1 failed" in shown
    assert "3.0 is a bad number" in shown
    told = json.loads(run("sweep", "run", path, "--kinds", KINDS, "--workers", 1, "--json", status=1))
    assert (told["status"], told["total"], told["existing"], told["done"]) == ("finished", 5, 5, 0)
    assert len(lines(tmp_path / "runs.txt")) == 4
    (state,) = json.loads(run("sweep", "status", "--json"))["sweeps"]
    assert (state["name"], state["done"], state["failed"], state["status"]) == ("toys", 4, 1, "finished")
    assert "finished" in run("sweep", "status")
    assert "toy" in run("store", "list")
    assert {r["status"]: r["runs"] for r in json.loads(run("store", "list", "--json"))["results"]} == {
        "done": 4,
        "failed": 1,
    }
    assert "ArithmeticError" in run("store", "list", "--failed")
    assert "ArithmeticError" in json.loads(run("store", "list", "--failed", "--json"))["failed"][0]["traceback"]
    run("store", "export", "r.parquet")
    assert sorted(pandas.read_parquet("r.parquet")["x"]) == [0, 1, 2, 3, 4]
    assert "1 failed" in run("store", "compact", "--failed")
    assert "4 existed, 0 done now, 1 failed" in run("sweep", path, "--kinds", KINDS, "--workers", 1, status=1)
    assert "1 failed" in run("sweep", path, "--kinds", KINDS, "--workers", 1, "--retry-failed", status=1)


def test_an_adaptive_sweep_shows_where_it_crosses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(
        f"name = 'search'\nkind = 'toy'\n[base]\nfolder = '{tmp_path}'\n"
        "[grid]\nx = [1.0, 5.0]\nseed = [0]\n"
        "[adaptive]\nover = 'n'\nmetric = 'error'\nthreshold = 0.1\nstart = 16\nmost = 1000\nresolution = 1.2\n"
    )
    assert "crosses at" in run("sweep", "a.toml", "--kinds", KINDS, "--workers", 1)
    crossings = json.loads(run("sweep", "a.toml", "--kinds", KINDS, "--json"))["crossings"]
    assert [round(c["value"] / c["settings"]["x"]) for c in crossings] == [10, 10]


def test_the_files_of_the_docs_are_sweeps(tmp_path):
    text = (ROOT / "docs" / "sweeps.md").read_text()
    blocks = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for block in blocks:  # all toml blocks
        (tmp_path / "s.toml").write_text(block)
        assert Sweep.from_toml(tmp_path / "s.toml").specs()
    assert len(blocks) == 2


def test_help_presets_and_stores_without_sweeps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments in (["sweep"], ["sweep", "status"], ["sweep", "run"], ["store"], ["store", "import"]):
        assert "Usage" in run(*arguments, "--help")
    told = {p["name"]: (p["kind"], p["runs"]) for p in json.loads(run("sweep", "presets", "--json"))["presets"]}
    assert told["rhm-quick"] == ("hierarchy", 15)
    assert all(name in run("sweep", "presets") for name in told)
    open_store("sweeps.sqlite").close()
    assert "no sweep has been run" in run("sweep", "status")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "none.toml"], "there is no file none.toml"),
        (["sweep", "--engine", "local"], "give a sweep"),
        (["sweep", "toys.toml", "--kinds", KINDS, "--preset", "x"], "give a sweep"),
        (["sweep", "--preset", "nonsense"], "there is no preset 'nonsense'"),
        (["sweep", "toys.toml", "--kinds", KINDS, "--engine", "dusk"], "no engine 'dusk'; did you mean 'dask'"),
        (["sweep", "toys.toml", "--kinds", KINDS, "--device", "abacus"], "cannot use device 'abacus'"),
        (["sweep", "toys.toml", "--kinds", KINDS, "--store", "no/s.sqlite"], "there is no folder no"),
        (["sweep", "toys.toml", "--kinds", KINDS, "--store", "toys.toml"], "toys.toml is not a database"),
        (["sweep", "toys.toml", "--kinds", KINDS, "--workers", "0"], "workers must be a whole number >= 1"),
        (["sweep", "status", "--store", "none.sqlite"], "there is no store none.sqlite"),
        (["store", "list", "--store", "none.sqlite"], "there is no store none.sqlite"),
        (["store", "import", "none.jsonl"], "there is no file none.jsonl"),
        (["store", "export", "no/t.csv"], "there is no folder no"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    toml_of(tmp_path, n=1)
    with pytest.raises(CompsparseError, match=message):
        run(*arguments)


# ---- what is shown, and what is kept from being overwritten ---------------------------------------

ESCAPE = "\x1b[2J[red]:smile:[/]"


def broken_store(folder):
    """A store with good rows, and one row broken in each way."""
    place = folder / "s.sqlite"
    toml_of(folder, n=12)
    sweep = Sweep.from_toml(folder / "toys.toml", kinds=KINDS)
    with open_store(place) as store:
        for spec in sweep.specs():
            store.results.put(Row.of(spec, {"square": spec.x**2}, seconds=1.0))
    keys = [spec.key for spec in sweep.specs()]
    changes = [
        ("spec", "{"),
        ("spec", "[" * 100_000),
        ("spec", "3"),
        ("result", "{'a': 1}"),
        ("result", None),
        ("seconds", "long"),
        ("finished", "then"),
        ("status", ESCAPE),
        ("version", "new"),
        ("result", b"\xff\xfe"),
    ]
    with sqlite3.connect(place) as connection:
        for key, (column, value) in zip(keys, changes, strict=False):
            connection.execute(f"UPDATE compsparse_results SET {column} = ? WHERE key = ?", (value, key))
    connection.close()
    return place, len(changes)


def test_broken_rows_are_named_and_left_out(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    place, n_broken = broken_store(tmp_path)
    for arguments in (["list"], ["list", "--json"], ["list", "--failed"], ["export", "t.csv"], ["compact"]):
        shown = RUNNER.invoke(app, ["store", *arguments, "--store", str(place)])
        assert shown.exit_code == 0, shown.output
        assert "\x1b[2J" not in shown.output
    assert len(pandas.read_csv("t.csv")) == 12 - n_broken
    with pytest.warns(UnreadableResults, match=f"{n_broken} results .*its seconds is not a finite number"):
        assert len(list(open_store(place).results.all())) == 12 - n_broken
    shown = run("sweep", "toys.toml", "--kinds", KINDS, "--store", place, "--workers", 1, status=1)
    assert "12 runs: 12 existed, 0 done now" in shown
    assert "spec must be a JSON object" in shown
    again = run("sweep", "toys.toml", "--kinds", KINDS, "--store", place, "--workers", 1, "--retry-failed")
    assert f"12 runs: {12 - n_broken} existed, {n_broken} done now, 0 failed" in again
    assert len(list(open_store(place).results.all())) == 12


def test_a_broken_row_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place, n_broken = broken_store(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "compsparse.cli", "store", "export", "t.csv", "--store", str(place)],
        cwd=tmp_path, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0
    assert ended.stderr.startswith(f"warning: {n_broken} results of the store")
    assert ended.stderr.count(" (") == n_broken


def test_adaptive_sweeps_survive_broken_rows(tmp_path):
    fields = {"folder": str(tmp_path), "x": 1.0}
    search = Adaptive("n", "error", 0.1, start=16, most=1000)
    sweep = Sweep("search", Toy, fields, adaptive=search)
    with open_store(tmp_path / "s.sqlite") as store:
        store.results.put(Row.of(Toy(n=16, **fields), {"error": "small"}, seconds=1.0))
        with pytest.warns(UnreadableResults, match="its error is no number"):
            record = run_sweep(sweep, store, workers=1)
    assert record.crossings[0][1].value is None


def test_names_are_shown_not_obeyed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = json.dumps(ESCAPE)
    (tmp_path / "s.toml").write_text(
        f"name = {name}\nkind = 'toy'\n[base]\nfolder = '{tmp_path}'\n[grid]\nx = [1.0]\nmode = [{name}]\n"
    )
    options = ("--kinds", KINDS, "--store", "s[red].sqlite", "--workers", 1)
    for arguments in (
        ["sweep", "s.toml", *options],
        ["sweep", "status", "--store", "s[red].sqlite"],
        ["store", "list", "--store", "s[red].sqlite"],
    ):
        shown = run(*arguments)
        assert "\x1b[2J" not in shown
    assert "\\x1b[2J[red]:smile:[/]" in run("sweep", "s.toml", *options)
    assert "s[red].sqlite" in run("sweep", "s.toml", *options)
    for bad in (f"kind = {name}", f"kind = 'toy'\n{name} = 1", f"kind = 'toy'\n[base]\n{name} = 1"):
        (tmp_path / "bad.toml").write_text(bad)
        ended = subprocess.run(
            [sys.executable, "-m", "compsparse.cli", "sweep", "bad.toml", "--kinds", str(KINDS)],
            cwd=tmp_path, check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert ended.returncode == 2
        assert "\x1b[2J" not in ended.stderr
        assert "[red]:smile:[/]" in ended.stderr.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "toys.toml", "--report", "toys.toml"], "read by the same command"),
        (["sweep", "toys.toml", "--report", "s.sqlite", "--store", "s.sqlite"], "read by the same command"),
        (["sweep", "toys.toml", "--report", "s.sqlite-wal", "--store", "./s.sqlite"], "read by the same command"),
        (["sweep", "toys.toml", "--report", "n" * 300], "longer than 255 bytes"),
        (["store", "export", "s.sqlite", "--store", "s.sqlite"], "read by the same command"),
        (["store", "export", "/dev/null", "--store", "s.sqlite"], "a device"),
        (["sweep", "--preset", "rhm-quick", "--kinds", "."], "a preset has its own kind"),
        (["sweep", "toys.toml", "--workers", "1000000", "--kinds", str(KINDS)], "workers must be at most"),
        (["sweep", "toys.toml"], "no kind of run 'toy'"),
    ],
)
def test_inputs_are_not_written_to(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    toml_of(tmp_path, n=1)
    open_store("s.sqlite").close()
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(CompsparseError, match=message):
        run(*arguments)
    assert {p: p.read_bytes() for p in before} == before
