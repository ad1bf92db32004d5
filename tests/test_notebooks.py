"""The notebooks of the docs: run from top to bottom without a word on standard error, and as the library is now."""

import json
import re
from pathlib import Path

import pytest

from tests.test_docs import is_public, names_used

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
VERBOSE = """
import numpy as np
import compsparse as cs
X = np.random.default_rng(0).normal(size=(200, 2))
model = cs.GraphRegressor("x0*x1", n_restarts=64, n_steps=2000, verbose=True).fit(X, X[:, 0] * X[:, 1])
"""


def cells(path):
    """The code of a notebook, each cell with its number and its outputs."""
    told = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [("".join(c["source"]), c["execution_count"], c["outputs"]) for c in told if c["cell_type"] == "code"]


def shown(outputs):
    """What cells show, without figures that may differ: the kinds of their outputs, and the words of drawings."""
    kinds = {",".join(sorted(o["data"])) if "data" in o else o["name"] for o in outputs}
    text = "".join("".join(o.get("data", {}).get("text/html", "")) for o in outputs)
    return kinds, re.findall(r"<text x[^>]*>([^<]*)</text>", "".join(re.findall(r"(?s)<svg.*?cs-graph.*?</svg>", text)))


def test_there_is_one_for_each_reader():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [path.stem for path in NOTEBOOKS] == ["simulator", "table", "theorem"]
    for path in NOTEBOOKS:
        assert index.count(f"notebooks/{path.stem}") == 2  # a door, and the list of pages


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_was_run_from_top_to_bottom(path):
    found = cells(path)
    assert [number for _, number, _ in found] == list(range(1, len(found) + 1))
    outputs = [output for _, _, each in found for output in each]
    assert all(o["output_type"] != "error" and o.get("name") != "stderr" for o in outputs)
    assert sum("text/html" in o.get("data", {}) or "image/svg+xml" in o.get("data", {}) for o in outputs) >= 2
    assert path.stat().st_size < 150_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_uses_public_names_and_lines_that_fit(path):
    code = [source for source, _, _ in cells(path)]
    assert not [name for name in sorted(set().union(*map(names_used, code))) if not is_public(name)]
    assert max(len(line) for source in code for line in source.splitlines()) <= 100


@pytest.mark.heavy
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_shows_what_it_would_show_today(path):
    again = run_notebook(path.read_text(encoding="utf-8"))
    before = [shown(outputs) for _, _, outputs in cells(path)]
    assert [shown(c["outputs"]) for c in again["cells"] if c["cell_type"] == "code"] == before


@pytest.mark.heavy
def test_progress_in_a_notebook_is_plain_text_and_needs_no_widgets():
    from nbformat import v4

    notebook = v4.new_notebook(cells=[v4.new_code_cell(VERBOSE)])
    (cell,) = run_notebook(json.dumps(notebook))["cells"]
    text = "".join(o["text"] for o in cell["outputs"])
    assert {o["name"] for o in cell["outputs"]} == {"stdout"}
    assert re.search(r"1 of 2: training 64 networks: \d+%, \d s so far", text)
    assert "ipywidgets" not in text
    assert "\x1b" not in text


def run_notebook(text):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.reads(text, as_version=4)
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    return notebook
