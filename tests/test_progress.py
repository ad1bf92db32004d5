"""Long work shows named stages, times with their names and a bar that never goes back, on any terminal."""

import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest
from rich.cells import cell_len

from compsparse import progress
from compsparse.progress import ProgressBar, Silent, Tally, begin_stage, block, shown

LONG = "a name that goes on and on " * 20


@pytest.mark.parametrize("width", [5, 16, 39, 79, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_no_line_is_wider_than_the_terminal_and_the_bar_is_kept(width, encoding):
    tally = Tally(3)
    tally.begin(LONG)
    tally.update(1, 2, f"größe {LONG}\n日本 {LONG}\n└─ m0")
    lines = block("title", tally, width, encoding)
    assert "\n".join(lines).encode(encoding)
    assert all(cell_len(line) <= max(width, 6) for line in lines)
    assert lines[0].endswith(" 17%")
    assert lines[0].count("━" if encoding == "utf-8" else "#") == {5: 0, 16: 0, 39: 2, 79: 4, 200: 4}[width]
    if width >= 39:
        assert lines[0].startswith("1 of 3: a name")


def test_a_title_stands_where_there_is_no_stage():
    assert block("full-spectra", Tally(), 79)[0].startswith("full-spectra ")


def test_many_lines_of_a_message_do_not_fill_the_screen():
    tally = Tally()
    tally.update(0, 1, "\n".join(map(str, range(100))))
    assert len(block("", tally, 79)) == 2 + 10


def test_the_share_never_falls():
    tally, shares = Tally(2), []
    for begin, done, total in [
        (True, 3, 10), (False, 1, 10), (False, 1, 100), (False, 0, 0), (True, 0, 5), (False, 4, 5), (False, 9, 5),
        (True, 0, 1),  # one more stage than was said
        (False, 1, 1),
    ]:  # fmt: skip
        if begin:
            tally.begin("stage")
        tally.update(done, total)
        shares.append(tally.share)
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(0.15)
    assert shares[4] == pytest.approx(0.5)
    assert shares[-1] == 1


def test_the_time_left_is_that_of_the_stage(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    tally = Tally(2)
    tally.begin("first")
    tally.update(0.9, 1)
    clock[0] += 2
    assert tally.times() == ("2 s so far", "time left not known yet")  # too soon to say
    clock[0] += 88
    assert tally.times() == ("1 min 30 s so far", "about 10 s left in this stage")
    tally.begin("second")
    tally.update(1, 4)
    clock[0] += 10
    assert tally.times() == ("1 min 40 s so far", "about 30 s left")


def test_only_listeners_with_stages_hear_of_them():
    bar = ProgressBar("title")
    begin_stage(bar, "first\x1b[2J")
    assert bar.tally.stage == "first\\x1b[2J"
    begin_stage(Silent(), "first")
    with shown("title", False) as listener:
        begin_stage(listener, "first")


def test_a_file_gets_no_drawing(capsys):
    with ProgressBar("title") as bar:
        bar.update(1, 2, "message")
    assert capsys.readouterr().err == ""


def test_a_file_gets_a_line_now_and_then(capsys):
    bar = ProgressBar("title", 2)
    begin_stage(bar, "first")
    bar.update(1, 2, "message\nand more")
    waits = iter([False, True])
    bar._ends.wait = lambda seconds: next(waits)
    bar._keep_telling()
    assert capsys.readouterr().err == "1 of 2: first: 25%, 0 s so far, time left not known yet, message\n"


def test_a_notebook_gets_one_line_of_plain_text(capsys, monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # it cannot be imported
    with ProgressBar("title") as bar:
        bar.update(1, 2, "a long message")
        time.sleep(0.05)
        bar.update(1, 2, "short")
        bar._rewrite()
    out, err = capsys.readouterr()
    assert err == ""
    first, *_, last = out.removesuffix("\n").split("\r")[1:]
    assert last.rstrip() == "title: 50%, 0 s so far, time left not known yet, short"
    assert len(last) >= len(first)  # what stood there before is covered
    assert "\x1b" not in out


# ---- a terminal -----------------------------------------------------------------------------------

WORK = """
import fcntl, sys, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C is heard
sys.argv[0] = "compsparse"
from compsparse.cli.interrupts import answer_interrupts, ending_gently
from compsparse.progress import begin_stage, shown
answer_interrupts()
print("before", flush=True)
with shown("working", n_stages=2) as bar:
    begin_stage(bar, "searching for something that has a long name")
    with ending_gently("Ctrl-C: it ends"):
        try:
            for i in range(100):
                bar.update(i, 20, f"step {i}\\n\\u2514\\u2500 gr\\xf6\\xdfe")
                time.sleep(0.05)
        except KeyboardInterrupt:
            pass
    begin_stage(bar, "training")
    bar.update(1, 2)
    time.sleep(0.7)
print("after", flush=True)
"""
MOVES = re.compile(r"\x1b\[(\d*)([AJK])|[\r\n]|[^\x1b\r\n]+")


def on_screen(text):
    """The lines that a terminal shows after these characters."""
    lines, y, x = [""], 0, 0
    for move in MOVES.finditer(text):
        what = move[0]
        if move[2] == "A":
            y = max(0, y - int(move[1] or 1))
        elif move[2]:
            lines[y] = lines[y][:x]
            lines[y + 1 :] = lines[y + 1 :] if move[2] == "K" else []
        elif what == "\r":
            x = 0
        elif what == "\n":
            y, x = y + 1, 0
            lines += [""] * (y == len(lines))
        else:
            lines[y] = lines[y][:x].ljust(x) + what + lines[y][x + len(what) :]
            x += len(what)
    return lines


def in_a_terminal(environment, press_after):
    """What a program writes to a terminal; Ctrl-C is pressed so many seconds after its first drawing."""
    mine, its = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-c", WORK], stdin=its, stdout=its, stderr=its, env={**os.environ, **environment},
        start_new_session=True,
    )  # fmt: skip
    os.close(its)
    written, press_at = b"", None
    while True:
        if select.select([mine], [], [], 0.05)[0]:
            try:
                written += os.read(mine, 65536)
            except OSError:
                break
        if press_at is None and b"%" in written:
            press_at = time.monotonic() + press_after
        elif press_at and time.monotonic() > press_at:
            os.write(mine, b"\x03")
            press_at = float("inf")
    os.close(mine)
    assert run.wait() == 0, written
    return written.decode()


LANG_C = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("environment", [{"COLUMNS": "40"}, {"COLUMNS": "80", **LANG_C}], ids=["40 columns", "LANG=C"])
def test_a_terminal_shows_where_the_work_is_and_hears_ctrl_c(environment):
    written = in_a_terminal({"TERM": "xterm", **environment}, press_after=1.2)
    drawings = [part for part in written.split("\x1b[J") if "%" in part]
    shares = [int(share) for share in re.findall(r"(\d+)%", written)]
    assert shares == sorted(shares)
    assert len(set(shares)) > 2  # it moved
    assert max(cell_len(line) for part in drawings for line in part.splitlines()) < int(environment["COLUMNS"])
    first = next(drawing for drawing in drawings if not drawing.startswith("working"))  # before any stage began
    assert "1 of 2: searching for" in first
    assert "2 of 2: training" in drawings[-1]
    assert re.search(r"\d s so far, time left not known yet", drawings[0])
    assert "größe" in written or ("gr\\xf6\\xdfe" in written and written.isascii())
    assert on_screen(written) == ["before", "Ctrl-C: it ends", "after", ""]
