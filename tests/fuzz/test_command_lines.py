"""Odd words in command lines: a sentence or an answer, no escape code in the terminal, no file that is read changed.

A seeded sample runs with the tests; ``make fuzz`` runs every line.
"""

import io
import random
import signal
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
from entries_runs import COMMANDS, Command, make_folder, odd_commands
from typer.testing import CliRunner

import compsparse as cs
from compsparse.cli import app, main
from compsparse.errors import CompsparseError
from compsparse.training import FitConfig, TrainingConfig

SAMPLE, SEED = 40, 5
NAMES = ["a", "b \x1b[31m[red]", "y"]
LEARNING = [
    Command(
        (
            *("discover", "d.csv", "--target", "y", "--out", "r.html", "--model", "m.json", "--time-limit", "1s"),
            *("--effort", "0.05", "--random-state", "0", "--exclude", NAMES[1], "--device", "cpu", "--json"),
        )
    ),
    Command(
        (
            *("fit", "d.csv", "--target", "y", "--graph", "sin(a)", "--exclude", NAMES[1], "--out", "r.html"),
            *("--model", "m.json", "--time-limit", "1s", "--random-state", "0", "--device", "cpu"),
        )
    ),
    Command(("predict", "model.json", "d.csv", "--out", "p.csv")),
    Command(("accept", "model.json")),
    Command(("graph", "tanh(a*b)", "--eps", "0.1", "--svg", "g.svg")),
]


@pytest.fixture(scope="module")
def model() -> str:
    X = np.random.default_rng(0).normal(size=(60, 2))
    quick = FitConfig(n_restarts=1, training=TrainingConfig(n_steps=10))
    return cs.discover(X, X[:, 0], names=NAMES[:2], fit_config=quick, width=3, effort=0.05, random_state=0).to_json()


@pytest.fixture
def folder(tmp_path, monkeypatch, model) -> Path:
    make_folder(tmp_path)
    rows = np.random.default_rng(0).normal(size=(40, 3))
    pandas.DataFrame(rows, columns=NAMES).to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "model.json").write_text(model)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "line" in metafunc.fixturenames:
        lines = [*odd_commands(), *(line for command in LEARNING for line in command.variants())]
        if not metafunc.config.getoption("--all-cases", default=False):
            lines = random.Random(SEED).sample(lines, SAMPLE)
        metafunc.parametrize("line", lines, ids=lambda line: ascii(" ".join(line))[:90])
    if "ascii_line" in metafunc.fixturenames:
        lines = ascii_lines(metafunc.config.getoption("--all-cases", default=False))
        metafunc.parametrize("ascii_line", lines, ids=lambda line: ascii(" ".join(line))[:90])


def ascii_lines(every: bool) -> list[tuple[str, ...]]:
    """Command lines that work, and the help of each command."""
    commands = [command.arguments for command in (*COMMANDS, *LEARNING)]
    lines = [line for line in commands if every or line[0] not in ("discover", "fit")]
    words = {line[:1] if line[0] in ("discover", "fit", "predict", "graph", "sweep") else line[:2] for line in commands}
    return [*lines, *((*word, "--help") for word in sorted(words)), ("graph", "tanh(é)"), ("predict", "é", "…")]


@pytest.mark.filterwarnings("ignore")
def test_a_terminal_of_few_characters_shows_every_command(folder, ascii_line, monkeypatch):
    """Through :func:`main`, as a terminal sees it; a character that cannot be shown would be an error."""
    printed = {name: io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict") for name in ("stdout", "stderr")}
    for name, stream in printed.items():
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(sys, "argv", ["compsparse", *ascii_line])
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGINT, before)
    for stream in printed.values():
        stream.flush()
    shown = b"".join(stream.buffer.getvalue() for stream in printed.values()).decode("ascii")
    assert shown.strip() or ascii_line[:2] in (("store", "list"), ("predict", "model.json"))  # with nothing to say
    assert ended.value.code in ((2,) if "\u2026" in ascii_line else (0, None)), shown


@pytest.mark.filterwarnings("ignore")
def test_odd_words_meet_a_sentence_or_an_answer(folder, line):
    inputs = ("d.csv", "model.json", "sweep.toml", "spill.jsonl")
    before = {name: (folder / name).read_bytes() for name in inputs}
    result = CliRunner().invoke(app, list(line))
    assert isinstance(result.exception, CompsparseError | OSError | SystemExit | None), repr(result.exception)
    assert "\x1b" not in result.output
    assert {name: (folder / name).read_bytes() for name in inputs} == before
