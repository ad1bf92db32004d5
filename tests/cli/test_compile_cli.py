"""``compsparse compile``: what it prints, what it writes, what it refuses."""

import json

import numpy as np
import onnxruntime
import pytest
from typer.testing import CliRunner

from compsparse.boxes import read_box_text
from compsparse.cli import app
from compsparse.construct import compile as compile_graph
from compsparse.errors import ConfigError


def run(*arguments):
    result = CliRunner().invoke(app, ["compile", *arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_it_writes_a_network_and_a_page(tmp_path):
    onnx, page = tmp_path / "net.onnx", tmp_path / "page.html"
    text = run("tanh(a*b)", "--domain", "a=-1:1,b=0:2", "--tol", "0.05", "--onnx", str(onnx), "--report", str(page))
    assert "largest error of the network on the domain" in text
    x = np.random.default_rng(0).uniform([-1, 0], [1, 2], (100, 2))
    answers = onnxruntime.InferenceSession(onnx).run(None, {"x": x})[0][:, 0]
    assert np.abs(answers - np.tanh(x[:, 0] * x[:, 1])).max() <= 0.05
    html = page.read_text()
    for part in ("The certificate", "path factor", "one grid over all inputs", "<svg"):
        assert part in html


def test_the_page_says_first_what_the_function_itself_is_off_by(tmp_path):
    page = tmp_path / "page.html"
    run("((1+1e-12*a)-1)*1e12", "--domain", "-1:1", "--tol", "1e-3", "--report", str(page))
    lead, _, rest = page.read_text().partition("The certificate</h2>")
    assert all("(the function as it is computed was seen to be off by 0.000" in part for part in (lead, rest))


def test_a_time_limit_holds_for_the_page_too(tmp_path, monkeypatch):
    limits = []

    def compiled(*arguments, time_limit=None, **options):
        limits.append(time_limit)
        return compile_graph(*arguments, **options)

    monkeypatch.setattr("compsparse.construct.compile", compiled)
    arguments = ["tanh(a*b)", "--domain", "-1:1", "--tol", "0.05", "--report", str(tmp_path / "page.html")]
    run(*arguments, "--time-limit", "1h")
    assert len(limits) == 4
    assert 3600 == limits[0] > limits[1] > limits[2] > limits[3] > 3000
    run(*arguments)
    assert limits[4:] == [None] * 4


def test_it_speaks_json():
    data = json.loads(run("max(a, b)", "--domain", "-1:1", "--json"))
    assert data["bound"] == 0
    assert data["size"]["units"] == 1


def test_boxes_are_read():
    assert read_box_text("-1:1") == (-1.0, 1.0)
    assert read_box_text("a=-1:1, b=0:2.5") == {"a": (-1.0, 1.0), "b": (0.0, 2.5)}


@pytest.mark.parametrize("text", ["a", "a=1", "a=1:2:3", "0:1,b=0:1", "a=0:1,a=0:2", "a=x:1", ""])
def test_other_boxes_are_refused(text):
    with pytest.raises(ConfigError, match="bounds"):
        read_box_text(text)
