import errno
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest
from rich.console import Console
from tests.browser import needs_browser, opened
from tests.fitted import TINY, discovery_of
from typer.testing import CliRunner

from compsparse import cli
from compsparse.cli import app
from compsparse.cli.app import seconds
from compsparse.discovery import Discovery, DiscoveryStatus
from compsparse.errors import CompsparseError, ConfigError
from compsparse.graph import FunctionGraph, Node
from compsparse.models import FittedGraph, fit_model
from compsparse.tables import embedded_table
from compsparse.tasks import glued_joints, tanh_tree

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
    for arguments in ([], ["graph"], ["fit"], ["discover"], ["predict"], ["demo"], ["claims"], ["claims", "run"]):
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
    (tmp_path / "g.json").write_text(json.dumps(data["graph"]).replace("*", "+"))
    with pytest.raises(CompsparseError, match=r"cannot read .*g\.json: the graph .* 'compsparse accept'"):
        run("graph", str(tmp_path / "g.json"))


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


def _into(folder, name):
    return ["--out", str(folder / f"{name}.html"), "--model", str(folder / f"{name}.json")]


def written_csv(path, n_rows):
    sample = tanh_tree(4).sample(n_rows, random_state=0)
    frame = pandas.DataFrame(sample.X, columns=list("abcd"))
    frame["y"] = sample.y
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def csv(tmp_path):
    return written_csv(tmp_path / "data.csv", 60)


@pytest.fixture
def long_csv(tmp_path):
    """So many rows that half a second is not enough for them."""
    return written_csv(tmp_path / "long.csv", 4000)


@needs_browser
def test_fit_writes_a_page_that_a_browser_shows(tmp_path, monkeypatch):
    # little for its own fit, enough for the models that it is compared with
    monkeypatch.setattr("compsparse.cli.tables.seconds_to_learn", lambda deadline: 0.3)
    page_path, table = tmp_path / "report.html", written_csv(tmp_path / "data.csv", 500)
    paths = ["--out", str(page_path), "--model", str(tmp_path / "model.json")]
    limit = ["--time-limit", "100s", *paths, "--json"]
    result = run("fit", str(table), "--target", "y", "--graph", "a*b + c*d", *limit)
    told = json.loads(result.output.strip().splitlines()[-1])
    assert len(told["scores"]) == 3
    assert told["status"] == "OUT_OF_TIME"
    assert "best weights so far" in told["status_text"]
    assert "best weights so far" in page_path.read_text()
    for width, dark in ((1200, False), (390, True)):
        with opened(page_path, width=width, dark=dark) as (page, troubles):
            page.wait_for_selector(".chart svg")
            assert page.locator(".chart svg").count() == 3
            assert page.locator("svg.cs-graph .node").count() == 7
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert troubles == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "z", "--graph", "a + b"], "no column 'z'"),
        (["--target", "y", "--graph", "a + q"], r"no column 'q'; the columns are a, b, c, d \(the graph needs it\)"),
        (["--target", "y", "--graph", "a + b", "--time-limit", "soon"], "time_limit must be a time such as 90s"),
        (["--target", "y", "--graph", "missing.json"], "there is no file"),
        (["--target", "y", "--graph", "a + b", "--out", "nowhere/report.html"], "no folder nowhere"),
        (["--target", "y", "--graph", "a + b", "--out", "."], "it is a folder"),
        (["--target", "y", "--graph", "a + b", "--random-state", "-1"], "random_state must be a whole number >= 0"),
        (["--target", "y", "--graph", "a + b", "--device", "abacus"], "cannot use device 'abacus'"),
        (["--target", "y", "--target", "a", "--graph", "b + c", "--classification"], "one target at a time"),
        (["--target", "y", "--graph", "a + b", "--model", "nowhere/model.json"], "no folder nowhere"),
    ],
)
def test_fit_refuses_what_it_cannot_do(csv, arguments, message):
    with pytest.raises(CompsparseError, match=message):
        run("fit", str(csv), *arguments)


def test_fit_keeps_its_model_and_predicts_with_it(tmp_path):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"metal": rng.choice(["iron", "tin", "zinc"], 60), "x": rng.normal(size=60), "idle": 1.0})
    frame["heat"], frame["glow"] = frame["x"] * 3 + 50, frame["x"] > 0
    frame.to_csv(tmp_path / "data.csv", index=False)
    data, model, page = (str(tmp_path / name) for name in ("data.csv", "model.json", "page.html"))
    common = [data, "--graph", "metal*x", "--time-limit", "1s", "--random-state", "3", "--out", page, "--model", model]
    shown = run("fit", *common, "--target", "heat", "--exclude", "glow").output
    assert "random_state 3" in shown
    assert f"model: {model}" in shown.replace("\n", " ").replace("model:  ", "model: ")
    printed = pandas.read_csv(io.StringIO(run("predict", model, data).stdout))
    frame[["x", "metal"]].to_csv(tmp_path / "used.csv", index=False)
    assert run("predict", model, str(tmp_path / "used.csv")).stdout == run("predict", model, data).stdout
    np.testing.assert_allclose(printed["heat"], FittedGraph.load(model).predict(frame))
    assert 'class="pic"' in (tmp_path / "page.html").read_text()
    told = json.loads(run("fit", *common, "--target", "glow", "--exclude", "heat", "--json").output.splitlines()[-1])
    assert all("accuracy" in score for score in told["scores"].values())
    assert told["random_state"] == 3
    answer = pandas.read_csv(io.StringIO(run("predict", model, data, "--proba").stdout))
    assert list(answer.columns) == ["glow", "glow=False", "glow=True"]


@pytest.mark.parametrize("command", [["discover"], ["fit", "--graph", "a*b + c*d"]])
def test_a_disk_too_full_for_the_page_has_the_model(command, csv, tmp_path, monkeypatch):
    def write_what_fits(path, text, **options):
        if len(text) > 200_000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return path.write_bytes(text.encode())

    def found_at_once(split, *given, **settings):
        model = fit_model("a*b + c*d", split.X, split.y, width=4, config=TINY, random_state=0)
        return discovery_of(model.graph, model, evidence=(), path=())

    monkeypatch.setattr(Path, "write_text", write_what_fits)
    monkeypatch.setattr(cli.discover, "_discovered", found_at_once)
    monkeypatch.setattr("compsparse.models.comparison.baseline_scores", lambda *asked: [])
    page, model = _into(tmp_path, "full")[1::2]
    arguments = [command[0], str(csv), "--target", "y", *command[1:], "--time-limit", "1s", *_into(tmp_path, "full")]
    result = RUNNER.invoke(app, arguments)
    assert isinstance(result.exception, CompsparseError)
    assert str(result.exception) == f"cannot write {page}: {os.strerror(errno.ENOSPC)}"
    assert f"model: {model}" in result.output
    assert FittedGraph.load(model).code.names == ("a", "b", "c", "d")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "full.json"]


def test_a_seed_that_was_drawn_is_told(csv, tmp_path):
    paths = ["--out", str(tmp_path / "page.html"), "--model", str(tmp_path / "model.json")]
    arguments = ["fit", str(csv), "--target", "y", "--graph", "a*b", "--time-limit", "0.5s", *paths, "--json"]
    told = [json.loads(run(*arguments).output.splitlines()[-1]) for _ in range(2)]
    assert told[0]["random_state"] != told[1]["random_state"]


def test_too_few_rows_are_refused(tmp_path):
    embedded_table("borehole").head(5).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(CompsparseError, match="too few"):
        run("fit", str(tmp_path / "t.csv"), "--target", "flow", "--graph", "r*rw")


# ---- discover and predict -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def discovered(tmp_path_factory):
    """A table, and what the command line found in it."""
    folder = tmp_path_factory.mktemp("discovered")
    sample = tanh_tree(4).sample(240, random_state=0)
    frame = pandas.DataFrame(sample.X, columns=["a", "b [m/s]", "c", "d <°>"]).assign(y=sample.y, idle=0.5)
    frame.to_csv(folder / "data.csv", index=False)
    arguments = ["--target", "y", "--effort", "0.2", "--exclude", "idle", "--random-state", "0", "--json"]
    paths = ["--out", str(folder / "report.html"), "--model", str(folder / "model.json")]
    result = run("discover", str(folder / "data.csv"), *arguments, *paths)
    return folder, json.loads(result.output.strip().splitlines()[-1])


def test_discover_reads_a_formula_where_one_is_asked_for(discovered, tmp_path, monkeypatch):
    found = Discovery.from_json((discovered[0] / "model.json").read_text())
    monkeypatch.setattr(cli.discover, "_discovered", lambda *_, **__: found)
    monkeypatch.setattr("compsparse.models.comparison.baseline_scores", lambda *asked: [])
    arguments = ["discover", str(discovered[0] / "data.csv"), "--target", "y", "--formula", *_into(tmp_path, "formula")]
    arguments += ["--random-state", "0", "--time-limit", "60s"]
    told = json.loads(run(*arguments, "--json").output.splitlines()[-1])["formula"]
    assert told["text"].startswith("y = ")
    assert told["r2"] > 0.9
    page = (tmp_path / "formula.html").read_text()
    assert "The formula" in page
    assert "rows from which the formula was not read" in page
    read = FittedGraph.load(discovered[0] / "model.json")
    several = discovery_of(read.graph, None, evidence=(), path=())
    monkeypatch.setattr(
        cli.discover, "_discovered", lambda *_, **__: replace(several, model=two_targets(discovered[0]))
    )
    output = run(
        "discover", str(discovered[0] / "data.csv"), "--target", "y", "--target", "b [m/s]", *arguments[4:]
    ).output
    assert "no formula: a formula is read of one target, and the model predicts 2" in output


def two_targets(folder):
    table = pandas.read_csv(folder / "data.csv")
    return fit_model(None, table[["a", "c", "d <°>"]], table[["y", "b [m/s]"]], width=4, config=TINY, random_state=0)


def test_discover_says_what_it_found(discovered):
    folder, told = discovered
    assert told["status"] == "FINISHED"
    assert told["modules"] == [["a", "b [m/s]"], ["c", "d <°>"]]
    assert len(told["scores"]) == 3
    assert told["scores"]["discovered graph (compsparse)"]["unexplained"] < 0.01
    assert {entry["name"] for entry in told["influence"]["inputs"]} == {"a", "b [m/s]", "c", "d <°>"}
    assert told["formula"] is None
    assert Discovery.from_json((folder / "model.json").read_text()).graph.inputs == ("a", "b [m/s]", "c", "d <°>")


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_page_of_a_discovery_in_a_browser(discovered, width, dark):
    with opened(discovered[0] / "report.html", width=width, dark=dark) as (page, troubles):
        page.wait_for_function("document.querySelectorAll('.chart svg').length === 6")
        for i in range(2, 6):  # after the two of importances
            assert page.locator(f"#chart-{i} svg .mark-symbol path").count() >= 3
        nodes = page.locator("svg.cs-graph .node:visible")
        assert nodes.count() == 7
        assert page.locator("article svg.pic image.mark").count() == 6  # three heat maps with their colour bars
        card = page.locator("#float")
        hint = card.inner_text()
        assert "Point at a node" in hint
        for name, expected in (
            ("m0", "cuts the error on unseen rows"),
            ("d <°>", "read by m1"),
            ("y", "of the variation in rows that the fit had not seen"),
        ):
            node = nodes.filter(has_text=re.compile(f"^{re.escape(name)}(: .*)?$"))
            node.scroll_into_view_if_needed()
            node.hover()
            assert expected in card.inner_text()
            box, graph = card.bounding_box(), page.locator(".graph").bounding_box()
            assert 0 <= box["x"] <= box["x"] + box["width"] <= width
            assert box["x"] >= graph["x"] + graph["width"] or box["y"] >= graph["y"] + graph["height"]
        assert card.locator("svg.pic image").count() == 2
        nodes.last.click()
        page.mouse.move(1, 1)
        assert expected in card.inner_text()
        page.keyboard.press("Escape")
        assert card.inner_text() == hint
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert troubles == []


def test_discover_in_little_time_says_so(long_csv, tmp_path):
    page, model = tmp_path / "page.html", tmp_path / "model.json"
    arguments = ["--target", "y", "--time-limit", "0.5s", "--out", str(page), "--model", str(model)]
    shown = run("discover", str(long_csv), *arguments).output
    status = Discovery.from_json(model.read_text()).status
    # which of the two depends on the machine
    assert status in (DiscoveryStatus.OUT_OF_TIME, DiscoveryStatus.FIT_CUT_SHORT)
    assert status.value[:40] in shown
    assert 'role="alert"' in page.read_text()
    told = json.loads(run("discover", str(long_csv), *arguments, "--json").output.splitlines()[-1])
    assert told["status"] in ("OUT_OF_TIME", "FIT_CUT_SHORT")


def test_discover_reads_texts_classes_and_parquet(tmp_path):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"metal": rng.choice(["iron", "tin"], 90), "x": rng.normal(size=90)})
    frame["grade"] = np.where(frame["x"] * np.where(frame["metal"] == "tin", 1, -1) > 0, "good", "bad")
    frame.to_parquet(tmp_path / "data.parquet")
    data, model, page = (str(tmp_path / name) for name in ("data.parquet", "model.json", "page.html"))
    output = run("discover", data, "--target", "grade", "--time-limit", "2s", "--out", page, "--model", model).output
    assert "test accuracy" in output
    predicted = tmp_path / "predictions.csv"
    run("predict", model, data, "--proba", "--out", str(predicted))
    answer = pandas.read_csv(predicted)
    assert list(answer.columns) == ["grade", "grade=bad", "grade=good"]
    np.testing.assert_allclose(answer[["grade=bad", "grade=good"]].sum(axis=1), 1)
    frame.assign(metal="lead").to_csv(tmp_path / "new.csv", index=False)
    assert "levels never seen: lead" in run("predict", model, str(tmp_path / "new.csv")).output


def test_predict_prints_what_the_model_says(discovered):
    folder, _ = discovered
    printed = pandas.read_csv(io.StringIO(run("predict", str(folder / "model.json"), str(folder / "data.csv")).stdout))
    data, found = pandas.read_csv(folder / "data.csv"), Discovery.from_json((folder / "model.json").read_text())
    np.testing.assert_allclose(printed["y"], found.predictor.predict(data))


def test_predict_says_how_sure_it_is_and_which_rows_are_far_out(discovered, tmp_path):
    folder, _ = discovered
    data, found = pandas.read_csv(folder / "data.csv"), Discovery.from_json((folder / "model.json").read_text())
    data.loc[1, "c"] = 99
    data.to_csv(tmp_path / "new.csv", index=False)
    asked = run("predict", str(folder / "model.json"), str(tmp_path / "new.csv"), "--interval", "0.8")
    printed = pandas.read_csv(io.StringIO(asked.stdout))
    low, high = found.predict_interval(data, 0.8)
    np.testing.assert_allclose(printed[["y", "y low", "y high"]].T, [found.predictor.predict(data), low, high])
    assert "column 'c' lies outside the numbers of the fit in row 2, and is moved to their ends" in asked.stderr
    alone = run("predict", str(folder / "model.json"), str(tmp_path / "new.csv"), "--predict-with", "graph")
    graph = pandas.read_csv(io.StringIO(alone.stdout))["y"]
    np.testing.assert_allclose(graph, found.blend.inside.predict(data))


def test_predict_refuses_what_it_cannot_do(discovered, tmp_path):
    folder, _ = discovered
    model, data = folder / "model.json", pandas.read_csv(folder / "data.csv")
    data.drop(columns="c").to_csv(tmp_path / "missing.csv", index=False)
    data.assign(c="much").to_csv(tmp_path / "texts.csv", index=False)
    (tmp_path / "text.json").write_text("hello")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "graph.json").write_text(tanh_tree(4).graph.to_json())
    broken = json.loads(model.read_text())
    broken["model"]["weights"].popitem()
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    bare = {**broken, "model": None}
    (tmp_path / "bare.json").write_text(json.dumps(bare))
    for path, table, message in (
        (model, tmp_path / "missing.csv", "no column 'c'"),
        (model, tmp_path / "texts.csv", r"column 'c' must hold numbers, got 'much' in row 1 \(counted from 1\) and in"),
        (model, tmp_path / "nothing.csv", "there is no file"),
        (tmp_path / "nothing.json", folder / "data.csv", "there is no file"),
        (tmp_path / "text.json", folder / "data.csv", "holds no model"),
        (tmp_path / "bytes.json", folder / "data.csv", "bytes.json is not a text file"),
        (tmp_path / "graph.json", folder / "data.csv", "holds no model"),
        (tmp_path / "broken.json", folder / "data.csv", "holds no model"),
        (tmp_path / "bare.json", folder / "data.csv", "without a fitted model"),
    ):
        with pytest.raises(CompsparseError, match=message):
            run("predict", str(path), str(table))
    with pytest.raises(CompsparseError, match="numbers, not classes"):
        run("predict", str(model), str(folder / "data.csv"), "--proba")


GOOD = pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "y"])
BAD_TABLES = {
    "a text": (
        GOOD.assign(a=GOOD["a"].astype(object).where(GOOD.index != 6, "much")),
        r"column 'a' must hold numbers, got 'much' in row 7 \(counted from 1\): .* --na much\)",
    ),
    "infinite": (
        GOOD.assign(y=np.where(GOOD.index == 2, np.inf, GOOD["y"])),
        r"target 'y' has an infinite value \(inf\) in row 3 \(",
    ),
    "no target": (GOOD.assign(y=np.nan), "target 'y' is missing in every row"),
    "both": (
        GOOD.assign(
            a=GOOD["a"].astype(object).where(GOOD.index != 6, "much"), y=np.where(GOOD.index == 2, np.inf, GOOD["y"])
        ),
        "the table has 2 problems:\n- target 'y' .* row 3 .*\n- column 'a' .* row 7",
    ),
    "identifier": (GOOD.assign(y=range(60)), "'y' counts the rows"),
    "text identifier": (GOOD.assign(y=[f"id{i}" for i in range(60)]), "looks like an identifier"),
    "constant": (GOOD.assign(y=1.0), "'y' is constant"),
    "constant inputs": (GOOD.assign(a=1.0, b=2.0), "every column is constant"),
    "few rows": (GOOD.head(5), "5 rows are too few"),
    "no rows": (GOOD.head(0), "has no rows"),
    "no inputs": (GOOD[["y"]], "no column beside the target"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_discover_refuses_bad_tables(name, tmp_path):
    frame, message = BAD_TABLES[name]
    frame.to_csv(tmp_path / "data.csv", index=False)
    paths = ["--out", str(tmp_path / "page.html"), "--model", str(tmp_path / "model.json")]
    with pytest.raises(CompsparseError, match=message):
        run("discover", str(tmp_path / "data.csv"), "--target", "y", *paths)
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "z"], "no column 'z'; the columns are a, b, c, d, y"),
        (["--target", "y", "--exclude", "z"], "no column 'z'"),
        (["--target", "y", "--exclude", "y"], "cannot be left out"),
        (["--target", "y", "--target", "a", "--classification"], "one target at a time"),
        (["--target", "y", "--time-limit", "0s"], "time_limit must be a finite number > 0"),
        (["--target", "y", "--effort", "-1"], "effort must be"),
        (["--target", "y", "--device", "abacus"], "cannot use device 'abacus'"),
        (["--target", "y", "--random-state", "-1"], "random_state must be a whole number >= 0"),
        (["--target", "y", "--out", "nowhere/report.html"], "no folder nowhere"),
        (["--target", "y", "--model", "."], "it is a folder"),
    ],
)
def test_discover_refuses_bad_settings(csv, arguments, message, monkeypatch):
    monkeypatch.chdir(csv.parent)
    with pytest.raises(CompsparseError, match=message):
        run("discover", str(csv), *arguments)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nothing.csv", None, "there is no file"),
        ("empty.csv", b"", "cannot read empty.csv"),
        ("odd.csv", b"a,y\n1,2\n1,2,3,4\n", "cannot read odd.csv"),
        ("bytes.csv", b"\x00\x01\x02", "cannot read bytes.csv"),
        ("fake.parquet", b"no parquet", "cannot read fake.parquet"),
        ("data.ods", b"", "expected a .csv, .tsv, .txt, .xlsx or .parquet file"),
    ],
)
def test_unreadable_files_are_one_sentence_and_status_two(name, content, message, tmp_path, monkeypatch):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["compsparse", "discover", name, "--target", "y"])
    told = io.StringIO()
    monkeypatch.setattr(sys.modules["compsparse.cli.app"], "err", Console(file=told, width=200))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert message in told.getvalue()
    assert told.getvalue().startswith("error: ")
    assert told.getvalue().count("\n") == 1


def with_steps(folder):
    """The inputs of a discovery beside another target, which trees learn and its model knows nothing of."""
    frame = pandas.read_csv(folder / "data.csv")
    return frame.assign(y=np.sign(frame["a"]) + 3 * np.sign(frame["c"]))


def test_where_boosting_predicts_better_terminal_page_and_record_say_so(discovered, tmp_path, monkeypatch):
    found = Discovery.from_json((discovered[0] / "model.json").read_text())
    monkeypatch.setattr(cli.discover, "_discovered", lambda *_, **__: found)
    with_steps(discovered[0]).to_csv(tmp_path / "steps.csv", index=False)
    page, model = tmp_path / "page.html", tmp_path / "model.json"
    arguments = ["--target", "y", "--random-state", "0", "--out", str(page), "--model", str(model)]
    told = json.loads(run("discover", str(tmp_path / "steps.csv"), *arguments, "--json").output.splitlines()[-1])
    boosted, own = (
        told["scores"][name]["r2"] for name in ("gradient boosting (scikit-learn)", "discovered graph (compsparse)")
    )
    assert boosted > own
    sentence = (
        f"Gradient boosting predicts better here: R2 {boosted:.2f} against {own:.2f}. "
        "The graph explains, boosting predicts."
    )
    assert told["caveats"] == [*found.caveats, sentence]
    assert sentence in run("discover", str(tmp_path / "steps.csv"), *arguments).output.splitlines()
    assert page.read_text().count(sentence) == 1
    kept = Discovery.from_json(model.read_text())
    assert kept.caveats == (*found.caveats, sentence)
    # on its own target it predicts better itself, and nothing is said
    told = json.loads(
        run("discover", str(discovered[0] / "data.csv"), *arguments, "--exclude", "idle", "--json").output.splitlines()[
            -1
        ]
    )
    assert told["caveats"] == list(found.caveats)
    assert "predicts better" not in page.read_text()


def test_a_known_graph_that_boosting_beats_is_told(csv, tmp_path, monkeypatch):
    monkeypatch.setattr("compsparse.cli.tables.seconds_to_learn", lambda deadline: 0.3)
    frame = pandas.read_csv(csv)
    frame.assign(y=np.sign(frame["a"]) + 3 * np.sign(frame["c"])).to_csv(csv, index=False)
    page = tmp_path / "page.html"
    paths = ["--out", str(page), "--model", str(tmp_path / "model.json")]
    shown = run("fit", str(csv), "--target", "y", "--graph", "a*b", "--time-limit", "100s", *paths).output
    assert "\nGradient boosting predicts better here: R2 " in shown
    assert page.read_text().count("The graph explains, boosting predicts.") == 1


def test_the_demo_gives_its_verdict_first(tmp_path, monkeypatch):
    groups = [["cure_temperature", "cure_time"], ["resin_flow", "hardener_flow"], "humidity"]
    graph = FunctionGraph.from_groups(groups, glued_joints().graph.inputs)
    graph = graph.rename(dict(zip(graph.outputs, ["strength"], strict=True)))

    def in_no_time(split, seed, quiet):
        model = fit_model(graph, split.X, split.y, outputs=["strength"], config=TINY, random_state=seed)
        return discovery_of(graph, model, evidence=(), path=())

    monkeypatch.setattr(cli.discover, "_discovered", in_no_time)
    page, table = tmp_path / "page.html", tmp_path / "joints.csv"
    paths = ["--out", str(page), "--model", str(tmp_path / "model.json"), "--table", str(table)]
    shown = run("demo", "--seed", "1", *paths).output
    places = [
        shown.index(part)
        for part in (
            "The modules found agree",
            "5 of 60 inputs act: ",
            "R2 on 500",
            "inert:",
            "test R2",
            "made up: strength = 18 +",
        )
    ]
    assert places == sorted(places)
    lead = "The function graph of strength, found in 1,000 rows and tested on 500 others."
    assert f'<p class="lead">{lead} The modules found agree with the formula.</p>' in page.read_text()
    assert f"compsparse predict {tmp_path / 'model.json'} {table}" in page.read_text()
    made = glued_joints(noise=0.02).sample(1500, random_state=1)
    np.testing.assert_allclose(pandas.read_csv(table).to_numpy(), np.column_stack([made.X, made.y]), rtol=1e-5)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(3))
def test_the_demo_is_right_under_any_seed(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = json.loads(run("demo", "--seed", str(seed), "--json").output.splitlines()[-1])
    assert told["beside_the_formula"][0] == "The modules found agree with the formula."
    assert told["modules"] == [["cure_temperature", "cure_time"], ["hardener_flow", "resin_flow"]]
    graph, *others = (score["r2"] for score in told["scores"].values())
    assert graph > 0.98
    assert max(others) < 0.7


def test_claims_are_listed_and_bad_names_refused(tmp_path):
    names = {c["name"] for c in json.loads(run("claims", "list", "--json").output)["claims"]}
    assert "depth-beats-width" in names
    assert "depth-beats-width" in run("claims", "list").output
    with pytest.raises(ConfigError, match="there is no claim"):
        run("claims", "run", "nonsense")
    with pytest.raises(ConfigError, match="profile must be one of 'quick', 'full'"):
        run("claims", "run", "--profile", "slow")
    with pytest.raises(CompsparseError, match="no verdicts"):
        run("claims", "report", "--results", str(tmp_path))


def test_times():
    assert seconds("90s") == 90
    assert seconds("1.5m") == 90
    assert seconds("2 h") == 7200
    assert seconds("7") == 7
    assert seconds(None) is None
