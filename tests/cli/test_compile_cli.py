"""``compsparse compile``: what it prints, what it writes, what it refuses."""

import json

import numpy as np
import onnxruntime
import pytest
from typer.testing import CliRunner

from compsparse.boxes import read_box_text
from compsparse.cli import app
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
