"""Every command and every block of the README runs in the environment to which the README leads."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

from tests.demo_environment import installed

ROOT = Path(__file__).parent.parent
README, MAKEFILE = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
LINES = [
    shlex.split(line, comments=True)
    for block in re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
COMMANDS = [words for words in LINES if words[0] == "compsparse"]
SHORTER = {"discover": ["--time-limit", "6s"], "fit": ["--time-limit", "4s"], "sweep": ["--workers", "1"]}
"""What the sample of the suite adds to long commands; its sweep is ended by Ctrl-C, and keeps what is done."""


def extras_of_the_demo() -> str:
    return re.search(r"^DEMO_EXTRAS := (\S+)$", MAKEFILE, re.MULTILINE)[1]


def test_the_readme_leads_to_the_environment_of_the_demo():
    before = LINES[: LINES.index(COMMANDS[0])]
    assert [words[0] for words in before] == ["make", "make", "source", "pip"]
    assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for _, target in before[:2])
    folder = re.search(r"^VENV := (\S+)$", MAKEFILE, re.MULTILINE)[1]
    assert before[2] == ["source", f"{folder}/bin/activate"]
    assert before[3] == ["pip", "install", f".[{extras_of_the_demo()}]"]
    assert "$(PIP) --editable '.[$(DEMO_EXTRAS)]'" in MAKEFILE
    assert LINES[len(before) :] == COMMANDS


@pytest.fixture(scope="module")
def done(tmp_path_factory, pytestconfig):
    """The folder in which all of the README ran, and what came of it."""
    folder = tmp_path_factory.mktemp("readme")
    table = pandas.DataFrame(np.random.default_rng(0).uniform(-1, 1, (90, 4)), columns=list("abcd"))
    table.to_csv(folder / "new.csv", index=False)
    table.assign(y=table["a"] * table["b"] + np.sin(2 * table["c"])).to_csv(folder / "data.csv", index=False)
    whole = pytestconfig.getoption("all_cases")
    commands = [(words if whole else words + SHORTER.get(words[1], []), is_cut(words, whole)) for words in COMMANDS]
    ended = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "demo_environment.py"), extras_of_the_demo()],
        input=json.dumps(commands), check=False, capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return folder, json.loads(ended.stdout.splitlines()[-1])


def is_cut(words, whole):
    return words[1] == "sweep" and not whole


def test_its_python_runs_and_finds_the_graph(done):
    found = done[1]["blocks"]
    assert found["modules"] == [["x0", "x1"], ["x2", "x3"]]
    assert found["inert"] == ["x4"]
    assert found["score"] > 0.95


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=[" ".join(words[1:3]) for words in COMMANDS])
def test_a_command_of_it_runs(done, number, pytestconfig):
    folder, words, result = done[0], COMMANDS[number], done[1]["commands"][number]
    cut = is_cut(words, pytestconfig.getoption("all_cases"))
    assert result["status"] == 0 or cut, result["told"]
    assert " runs: " in result["told"] or not cut, result["told"]
    assert "Traceback" not in result["told"]
    written = [words[i + 1] for i, word in enumerate(words) if word in ("--out", "--svg", "--onnx", "--report")]
    assert all((folder / name).stat().st_size for name in written if not cut)


def test_what_the_demo_does_not_install_cannot_be_imported(done):
    assert done[1]["beyond"] == []
    assert {"onnx", "safetensors", "sqlalchemy"} & installed("report") == set()
    assert {"onnx", "safetensors", "sqlalchemy"} <= installed(extras_of_the_demo())
    assert not {"dask", "pytest"} & installed(extras_of_the_demo())
