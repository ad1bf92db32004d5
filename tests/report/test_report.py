import ast
import base64
import hashlib
import io
import json
import re
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pandas
import pytest
import vl_convert
from tests.browser import needs_browser, opened

import compsparse.report
from compsparse.errors import ConfigError, DataError
from compsparse.report import Figure, Section, render_page, table, write_page
from compsparse.report.page import usage

ROWS = tuple(
    {"n": n, "error": 1 / n, "low": 0.8 / n, "high": 1.2 / n, "net": net} for n in (4, 8, 16) for net in ("a", "b")
)
LINE = Figure("Error", ROWS, "n", "error", series="net", low="low", high="high", log_x=True, log_y=True)
POINTS = Figure("Fit", ROWS, "error", "low", mark="points", diagonal=True)
GRID = tuple({"a": a, "b": b, "c": a * b, "edge": a / 2} for a in (0.1, 0.2, 0.4) for b in (1, 2))
HEAT = Figure("Heat", GRID, "a", "b", mark="heat", value="c", curve="edge")
BARS = Figure("Bars", ROWS[:2], "net", "error", mark="bars", low="low", high="high")


@pytest.mark.parametrize("figure", [LINE, POINTS, BARS, HEAT], ids=["line", "points", "bars", "heat"])
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "html", "json"])
def test_figures_write_every_format(figure, suffix, tmp_path):
    path = figure.save(tmp_path / f"chart.{suffix}")
    content = path.read_bytes()
    start = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF", "html": b"<!DOCTYPE", "json": b"{"}[suffix]
    assert content.lstrip()[: len(start)].lower() == start.lower()


def test_figures_are_data():
    assert list(LINE.frame().columns) == ["n", "error", "low", "high", "net"]
    assert len(LINE.frame()) == 6
    assert Figure.from_dict(json.loads(json.dumps(LINE.to_dict()))) == LINE
    with pytest.raises(ConfigError, match="lacks the column"):
        Figure("x", ROWS, "n", "nothing")
    with pytest.raises(ConfigError, match="suffix"):
        LINE.save("chart.gif")


def test_cells_of_a_heat_map_touch():
    cells, curve = HEAT.chart().to_dict()["layer"]
    across = sorted({(row["_left"], row["_right"]) for row in cells["data"]["values"]})
    assert across == [pytest.approx(e) for e in ((0.05, 0.15), (0.15, 0.3), (0.3, 0.5))]
    assert curve["data"]["values"] == [{"a": a, "edge": a / 2} for a in (0.1, 0.2, 0.4)]
    with pytest.raises(ConfigError, match="needs the column of its colours"):
        Figure("x", GRID, "a", "b", mark="heat")


def test_pages_need_no_network_and_escape_text(tmp_path):
    text = render_page(
        "A <title>", "lead & more", [Section("Part", table(["<b>"], [["</script>"], [1.5], [2]]), (LINE,))]
    )
    assert "A &lt;title&gt;" in text
    assert "lead &amp; more" in text
    assert "&lt;b&gt;" in text
    assert 'src="http' not in text
    assert 'href="http' not in text
    write_page(tmp_path / "p.html", "t", "l", [])
    assert [p.name for p in tmp_path.iterdir()] == ["p.html"]


def policy_of(page: str) -> str:
    return re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)[1]


def test_pages_allow_their_own_scripts_by_digest_and_nothing_from_elsewhere():
    for figures in ((), (LINE,)):
        page = render_page("t", "l", [Section("s", "<p>x</p>", figures)])
        allowed = dict(part.split(" ", 1) for part in policy_of(page).split("; "))
        assert allowed["default-src"] == "'none'"
        assert {name for name in allowed if allowed[name] != "'none'"} == {"script-src", "style-src", "img-src"}
        assert "unsafe" not in allowed["script-src"]
        scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
        assert allowed["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
        assert len(scripts) == 1 + bool(figures)
        assert page.index("Content-Security-Policy") < page.index("<style>")


@needs_browser
@pytest.mark.parametrize("figure", [LINE, POINTS, BARS, HEAT], ids=["line", "points", "bars", "heat"])
def test_charts_are_drawn_under_the_policy_and_nothing_that_slips_in_runs(figure, tmp_path):
    intruders = "<script>window.intruded = 1</script><img src='data:,' onerror='window.intruded = 2'>"
    page = render_page("t", "l", [Section("s", intruders, (figure,))])
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    with opened(tmp_path / "page.html") as (shown, troubles):
        shown.wait_for_selector(".chart svg .mark-symbol path, .chart svg .mark-rect path, .chart svg .mark-line path")
        assert shown.evaluate("window.intruded") is None
        assert troubles
        assert all("Content Security Policy" in trouble for trouble in troubles), troubles


@needs_browser
@pytest.mark.parametrize("figure", [BARS, HEAT], ids=["bars", "heat"])
def test_charts_are_saved_with_one_click(figure, tmp_path):
    with opened(figure.save(tmp_path / "chart.html")) as (page, troubles):
        for kind, starts in (("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"")):
            button = page.locator(".saves button", has_text=kind)
            button.focus()
            with page.expect_download() as saved:
                page.keyboard.press("Enter")
            assert saved.value.suggested_filename.endswith(f".{kind.lower()}")
            content = Path(saved.value.path()).read_bytes()
            assert content.startswith(starts)
            assert len(content) > 20
        rows = pandas.read_csv(io.BytesIO(content))
        assert np.allclose(rows[figure.value or figure.y], figure.frame()[figure.value or figure.y])
        assert troubles == []


@needs_browser
def test_a_chart_saved_as_a_page_is_one(tmp_path):
    with opened(HEAT.save(tmp_path / "chart.html")) as (page, troubles):
        page.wait_for_selector(".chart svg .mark-rect path")
        assert page.locator("h1").inner_text() == "Heat"
        assert troubles == []
    assert "default-src 'none'" in policy_of((tmp_path / "chart.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name", ["a;b.csv", "my data.csv", "$(touch x).csv", "-rf.csv", "it's.csv", "`x`.csv", "größe.csv"]
)
def test_the_shell_line_of_a_page_reads_its_files_back(name):
    (shell,) = re.findall(r"<code>(compsparse predict .*?)</code>", usage("", "model", f"m {name}", name), re.DOTALL)
    command, verb, model, data, *rest = shlex.split(unescape(shell))
    assert (command, verb, model, rest) == ("compsparse", "predict", f"m {name}", ["--out", "predictions.csv"])
    assert Path(data) == Path(name)
    assert not data.startswith("-")


RENDERING = """
import sys
import numpy as np
import pandas
from compsparse.discovery import Cost, Discovery, DiscoveryStatus
from compsparse.graph import FunctionGraph
from compsparse.models import Assessment, LearnedNodes, Picture, Score
from compsparse.models.pictures import Axis
from compsparse.report.discovery_page import DiscoveryReport, discovery_page
from compsparse.report.fit_page import FitReport, fit_page

graph = FunctionGraph.from_expression("a*b")
values = np.linspace(0, 1, 5)
picture = Picture("y", Axis("a", tuple(values.tolist())), values[None])
learned = LearnedNodes({graph.outputs[0]: (picture,)}, {"a": (0.0, 1.0)}, n_rows=5)
found = Assessment(("y",), values[:, None], values[:, None], Score("own", 1.0, 0.1), 5)
record = Discovery(graph, (), DiscoveryStatus.FINISHED, Cost(1.0), "data")
for write, report in (
    (discovery_page, DiscoveryReport("T", record, learned=learned, assessment=found)),
    (fit_page, FitReport("T", graph, found, n_parameters=7, learned=learned, status="it was cut short")),
):
    text = write(sys.argv[1], report).read_text()
    assert 'class="pic"' in text and "Predicted against observed y" in text and "from 0 to 1 in the data" in text
assert "It was cut short." in text and "FittedGraph.load" in text
assert not {"torch", "sklearn"} & set(sys.modules), {"torch", "sklearn"} & set(sys.modules)
"""


def test_pages_are_made_from_records_without_torch_or_scikit_learn(tmp_path):
    arguments = [sys.executable, "-c", RENDERING, str(tmp_path / "page.html")]
    result = subprocess.run(arguments, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_no_page_trains_or_evaluates_a_model():
    for path in Path(compsparse.report.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text())
        modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        modules |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {m.split(".")[0] for m in modules} & {"torch", "sklearn"}, path
        assert not {"compsparse.networks", "compsparse.training"} & {".".join(m.split(".")[:2]) for m in modules}, path
        calls = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not {"predict", "predict_proba", "fit"} & calls, path


ODD = (float("nan"), float("inf"), -float("inf"), 0.0, -1.0, 2.0, np.float64("nan"), np.float32(3), 10**400)
ODD_ROWS = tuple(
    {"n.a[0]": x, "b:Q": y, "low'": y, "high\\": ODD[-1 - i], "mean(c)": s, "v": y}
    for i, x in enumerate(ODD[:-1])
    for y in ODD[:-1]
    for s in ("a", "\x1b[2J</script>")
)


@pytest.mark.parametrize("mark", ["line", "points", "bars", "dots", "heat"])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("rows", [ODD_ROWS, ODD_ROWS[:2], ()], ids=["many", "nan", "none"])
def test_charts_survive_what_is_not_finite(mark, log, rows):
    title = "t\x1b[2J"
    names = {"value": "v"} if mark == "heat" else {"series": "mean(c)", "low": "low'", "high": "high\\"}
    rows = [{**row, "high\\": row["low'"]} for row in rows]
    figure = Figure(title, tuple(rows), "n.a[0]", "b:Q", mark=mark, log_x=log, log_y=log, diagonal=True, **names)
    spec = figure.chart().to_json()
    json.loads(spec, parse_constant=pytest.fail)
    assert vl_convert.vegalite_to_svg(spec).startswith("<svg")
    page = render_page("t", "l", [Section("s", "", (figure,))])
    assert "NaN" not in re.search(r'"chart-0".*', page)[0]


def test_columns_with_signs_are_drawn():
    rows = tuple({"n.a[0]": x, "b:Q": 2.0 * x} for x in (1, 2, 3))
    drawn = vl_convert.vegalite_to_svg(Figure("t", rows, "n.a[0]", "b:Q", mark="points").chart().to_json())
    plain = tuple({"n": x, "b": 2.0 * x} for x in (1, 2, 3))
    other = vl_convert.vegalite_to_svg(Figure("t", plain, "n", "b", mark="points").chart().to_json())
    assert len(re.findall('role="graphics-symbol"', drawn)) == len(re.findall('role="graphics-symbol"', other)) >= 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 3}, "rows of a figure"),
        ({"rows": [3]}, "rows of a figure"),
        ({"title": None}, "title of a figure"),
        ({"mark": "pie"}, "one of 'line'"),
        ({"log_x": "yes"}, "True or False"),
        ({"colour": "red"}, "no place for 'colour'"),
        ({"series": 3}, "must be a text or None"),
    ],
)
def test_what_is_no_figure(change, message):
    with pytest.raises(DataError, match=message):
        Figure.from_dict({**LINE.to_dict(), **change})
    with pytest.raises(DataError, match="a figure has no rows"):
        Figure.from_dict({"title": "t"})


def test_bars_of_several_series_stand_side_by_side():
    rows = [{"net": n, "error": e, "low": e, "high": e, "when": w} for n in "ab" for w, e in (("x", 1.0), ("y", 2.0))]
    chart = Figure("Bars", tuple(rows), "net", "error", mark="bars", series="when", low="low", high="high").chart()
    layers = chart.to_dict()["layer"]
    assert all(layer["encoding"]["xOffset"]["field"] == "when" for layer in layers)
    assert "xOffset" not in BARS.chart().to_dict()["layer"][0]["encoding"]
