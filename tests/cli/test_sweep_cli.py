import json
import re

import pandas
import pytest
from tests.sweeps.conftest import ROOT, toml_of
from tests.sweeps.kinds.toy import lines
from typer.testing import CliRunner

from compsparse.cli import app
from compsparse.errors import CompsparseError
from compsparse.sweeps import Sweep, open_store

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
    shown = run("sweep", path, "--workers", 1, status=1)
    assert "5 runs: 0 existed, 4 done now, 1 failed" in shown
    assert "3.0 is a bad number" in shown
    told = json.loads(run("sweep", "run", path, "--workers", 1, "--json", status=1))
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
    assert "4 existed, 0 done now, 1 failed" in run("sweep", path, "--workers", 1, status=1)
    assert "1 failed" in run("sweep", path, "--workers", 1, "--retry-failed", status=1)


def test_an_adaptive_sweep_shows_where_it_crosses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(
        f"name = 'search'\nkind = 'tests.sweeps.kinds.toy:Toy'\n[base]\nfolder = '{tmp_path}'\n"
        "[grid]\nx = [1.0, 5.0]\nseed = [0]\n"
        "[adaptive]\nover = 'n'\nmetric = 'error'\nthreshold = 0.1\nstart = 16\nmost = 1000\nresolution = 1.2\n"
    )
    assert "crosses at" in run("sweep", "a.toml", "--workers", 1)
    crossings = json.loads(run("sweep", "a.toml", "--json"))["crossings"]
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
        (["sweep", "toys.toml", "--preset", "x"], "give a sweep"),
        (["sweep", "--preset", "nonsense"], "there is no preset 'nonsense'"),
        (["sweep", "toys.toml", "--engine", "dusk"], "no engine 'dusk'; did you mean 'dask'"),
        (["sweep", "toys.toml", "--device", "abacus"], "cannot use device 'abacus'"),
        (["sweep", "toys.toml", "--store", "no/s.sqlite"], "there is no folder no"),
        (["sweep", "toys.toml", "--store", "toys.toml"], "toys.toml is not a database"),
        (["sweep", "toys.toml", "--workers", "0"], "workers must be a whole number >= 1"),
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
