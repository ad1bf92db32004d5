import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from compsparse.cli import _seconds, app
from compsparse.errors import CompsparseError, ConfigError
from compsparse.graph import FunctionGraph, Node
from compsparse.tasks import embedded_table, tanh_tree
from tests.browser import needs_browser, opened

RUNNER = CliRunner()


def run(*arguments):
    result = RUNNER.invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def command_line(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "compsparse.cli", *arguments], check=False, capture_output=True, text=True, cwd=cwd
    )


def test_help_teaches():
    for arguments in ([], ["graph"], ["fit"], ["demo"], ["claims"], ["claims", "run"]):
        result = RUNNER.invoke(app, [*arguments, "--help"])
        assert result.exit_code == 0
        assert "Usage" in result.output
    assert run("--version").output.strip()


def test_graph_draws_and_counts(tmp_path):
    result = run("graph", "tanh(a*b + sin(c*d))", "--svg", str(tmp_path / "g.svg"))
    assert "├─" in result.output
    assert "{a, b}, {c, d}" in result.output
    assert (tmp_path / "g.svg").read_text().startswith("<svg")
    data = json.loads(run("graph", "a*b + c", "--json").output)
    assert data["modules"] == [["a", "b"]]
    (tmp_path / "g.json").write_text(json.dumps(data["graph"]))
    assert "a*b" in run("graph", str(tmp_path / "g.json")).output


def test_odd_names_infinite_counts_and_bad_paths(tmp_path):
    graph = FunctionGraph(["v [m/s]", "t [/s]", "w"], [Node("u", ("v [m/s]", "t [/s]")), Node("y", ("u", "w"))])
    (tmp_path / "g.json").write_text(graph.to_json())
    assert "{t [/s], v [m/s]}" in run("graph", str(tmp_path / "g.json")).output
    assert json.loads(run("graph", "floor(a) + b", "--json").output)["log10_deep"] is None
    for arguments in (["a*b", "--svg", str(tmp_path / "no" / "x.svg")], ["a*b", "--svg", str(tmp_path)]):
        done = command_line("graph", *arguments)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
    (tmp_path / "bad.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CompsparseError, match="not a text file"):
        run("graph", str(tmp_path / "bad.json"))


def test_errors_are_one_sentence_and_status_two(tmp_path):
    done = command_line("graph", "tanh(a*b")
    assert done.returncode == 2
    assert done.stderr.startswith("error: expected ')'")
    assert "Traceback" not in done.stderr
    assert done.stderr.rstrip().endswith("^")
    done = command_line("fit", "nothing.csv", "--target", "y", "--graph", "a + b")
    assert done.returncode == 2
    assert "there is no file nothing.csv" in done.stderr


@pytest.fixture
def csv(tmp_path):
    import pandas

    sample = tanh_tree(4).sample(60, random_state=0)
    frame = pandas.DataFrame(sample.X, columns=list("abcd"))
    frame["y"] = sample.y
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


@needs_browser
def test_fit_writes_a_page_that_a_browser_shows(csv, tmp_path):
    page_path = tmp_path / "report.html"
    with pytest.warns(UserWarning, match="best weights so far"):
        result = run(
            "fit", str(csv), "--target", "y", "--graph", "a*b + c*d", "--time", "3s", "--out", str(page_path), "--json"
        )
    scores = json.loads(result.output.strip().splitlines()[-1])["scores"]
    assert len(scores) == 3
    for width, dark in ((1200, False), (390, True)):
        with opened(page_path, width=width, dark=dark) as (page, troubles):
            page.wait_for_selector(".chart svg")
            assert page.locator(".chart svg").count() == 2
            assert page.locator("svg.cs-graph .node").count() == 7
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert troubles == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "z", "--graph", "a + b"], "no column 'z'"),
        (["--target", "y", "--graph", "a + q"], "input 'q', but X has no such column"),
        (["--target", "y", "--graph", "a + b", "--time", "soon"], "cannot read the time"),
        (["--target", "y", "--graph", "missing.json"], "there is no file"),
        (["--target", "y", "--graph", "a + b", "--out", "nowhere/report.html"], "no folder nowhere"),
        (["--target", "y", "--graph", "a + b", "--out", "."], "it is a folder"),
        (["--target", "y", "--graph", "a + b", "--seed", "-1"], "must not be negative"),
    ],
)
def test_fit_refuses_what_it_cannot_do(csv, arguments, message):
    with pytest.raises(CompsparseError, match=message):
        run("fit", str(csv), *arguments)


def test_too_few_rows_are_refused(tmp_path):
    embedded_table("borehole").head(5).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(CompsparseError, match="too few"):
        run("fit", str(tmp_path / "t.csv"), "--target", "flow", "--graph", "r*rw")


def test_claims_are_listed_and_bad_names_refused(tmp_path):
    names = {c["name"] for c in json.loads(run("claims", "list", "--json").output)["claims"]}
    assert "depth-beats-width" in names
    assert "depth-beats-width" in run("claims", "list").output
    with pytest.raises(ConfigError, match="there is no claim"):
        run("claims", "run", "nonsense")
    with pytest.raises(ConfigError, match="unknown profile"):
        run("claims", "run", "--profile", "slow")
    with pytest.raises(CompsparseError, match="no verdicts"):
        run("claims", "report", "--results", str(tmp_path))


def test_times():
    assert _seconds("90s") == 90
    assert _seconds("1.5m") == 90
    assert _seconds(None) is None
