import io
import json
import os
import pty
import signal
import subprocess
import sys

import pytest

from compsparse.cli import interrupts
from compsparse.cli.app import main, print_json
from compsparse.progress import times_text
from compsparse.text import shown_on


@pytest.fixture(autouse=True)
def _handler_of_the_tests():
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_errors_show_what_they_quote(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["compsparse", "graph", "no\x1b[2J[red]:smile:[/nothing].json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "there is no file no\\x1b[2J[red]:smile:[/nothing].json" in capsys.readouterr().err


def test_machines_read_no_nan(capsys):
    print_json({"a": [float("nan"), 1.5, {"b": float("inf")}], "c": (1,)})
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {"a": [None, 1.5, {"b": None}], "c": [1]}


# ---- terminals of few characters ------------------------------------------------------------------


def command_line(*arguments, **settings):
    command = [sys.executable, "-m", "compsparse.cli", *arguments]
    return subprocess.run(command, check=False, capture_output=True, env={**os.environ, **settings})


@pytest.mark.parametrize(
    "settings",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_a_graph_is_drawn_on_any_terminal(settings):
    done = command_line("graph", "tanh(a*b + sin(c*d))", **settings)
    assert done.returncode == 0, done.stderr
    drawing = done.stdout.decode("ascii").splitlines()
    assert drawing[:3] == ["tanh_4 = tanh(mul_0 + sin_2)", "+- mul_0 = a*b", "|  +- a"]


def test_signs_get_look_alikes_and_letters_of_names_stay_apart():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    shown_on(stream)
    print("├─ größe² ≥ 1 … ± 2", file=stream, flush=True)
    assert stream.buffer.getvalue() == b"+- gr\\xf6\\xdfe^2 >= 1 ... +- 2\n"
    chosen = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    shown_on(chosen)
    assert chosen.errors == "replace"


def test_times_are_named():
    assert times_text(5, None) == "5 s so far, time left not known yet"
    assert times_text(None, None) == "0 s so far, time left not known yet"
    assert times_text(59.6, 0.2) == "1 min 0 s so far, about 0 s left"


# ---- Ctrl-C ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["rich.console", "numpy", "torch"])
def test_ctrl_c_is_answered_while_modules_are_loaded(module, tmp_path):
    """A finder stops in the import of a module until Ctrl-C has come."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    place = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = command_line("claims", "run", "depth-beats-width", "--json", "--results", str(tmp_path), PYTHONPATH=place)
    assert (done.returncode, done.stderr, done.stdout) == (130, b"interrupted\n", b"")


SLOW_COMMAND = """
import os, signal, sys, threading
from compsparse.cli import app, main
from compsparse.cli.interrupts import ending_gently

@app.command()
def wait(gently: bool = False, swallowed: bool = False):
    def press():
        os.kill(os.getpid(), signal.SIGINT)
    if not gently:
        try:
            press()
        except KeyboardInterrupt:
            print("swallowed")
        except SystemExit:
            if swallowed:
                raise RuntimeError("a library makes another error of it")
            raise
    with ending_gently("first", "later"):
        for _ in range(3):
            try:
                press()
            except KeyboardInterrupt:
                print("kept", flush=True)
        press()

sys.argv = ["compsparse", *sys.argv[1:]]
main()
"""


def test_ctrl_c_ends_a_command_or_asks_what_runs_for_its_best():
    ran = {
        options: subprocess.run(
            [sys.executable, "-c", SLOW_COMMAND, "wait", *options], check=False, capture_output=True
        )
        for options in ((), ("--swallowed",), ("--gently",))
    }
    for options in ((), ("--swallowed",)):
        assert (ran[options].returncode, ran[options].stderr, ran[options].stdout) == (130, b"interrupted\n", b"")
    gently = ran[("--gently",)]
    assert gently.stdout.split() == [b"kept"] * 3
    assert gently.stderr.split(b"\n")[:4] == [b"first", b"later", b"later", b"later"]
    assert gently.stderr.split(b"\n")[4:] == [b"interrupted before there was anything to keep", b""]
    assert gently.returncode == 130


def test_ctrl_c_in_a_search_is_heard_and_keeps_what_there_is(tmp_path, monkeypatch, capfd):
    """Pressed at the first sign of progress; the search answers with what it has, and a model is written."""
    from compsparse.discovery import Discovery, DiscoveryStatus
    from compsparse.discovery.data import outputs
    from compsparse.tables import embedded_table

    embedded_table("borehole").head(120).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    searched = outputs.search_tree

    def pressed(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return searched(*arguments)

    monkeypatch.setattr(outputs, "search_tree", pressed)
    monkeypatch.setattr(outputs, "ask_smooth_fit", lambda rows, i, deadline: None)
    arguments = [
        "discover",
        "t.csv",
        "--target",
        "flow",
        "--effort",
        "0.01",
        "--time-limit",
        "4s",
        "--random-state",
        "0",
    ]
    monkeypatch.setattr("sys.argv", ["compsparse", *arguments])
    monkeypatch.setattr(interrupts, "_ANSWERS", interrupts._Answers())
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    assert "Ctrl-C: the search ends; the best graph so far is fitted next" in capfd.readouterr().err
    found = Discovery.from_json((tmp_path / "model.json").read_text())
    assert found.status is DiscoveryStatus.INTERRUPTED
    assert found.model is not None


def test_ctrl_c_that_is_ignored_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupts.answer_interrupts()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_importing_the_command_line_changes_no_handler():
    code = "import signal, compsparse.cli; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- for machines ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", "a*b", "--bounds", "0:1", "--tol", "0.1"),
        ("claims", "run", "ridge-powers-span-polynomials", "--results", "results"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_standard_output_is_one_json_document_and_progress_goes_elsewhere(arguments, tmp_path):
    """Standard error is a terminal, so that everything that is shown on the way is shown."""
    mine, its = pty.openpty()
    command = [sys.executable, "-m", "compsparse.cli", *arguments, "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=its, cwd=tmp_path)
    os.close(its)
    assert isinstance(json.loads(done.stdout), dict)
    assert done.stdout.count(b"\n") == 1
    os.close(mine)
