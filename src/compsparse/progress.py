"""Progress on long work: a protocol the loops speak, and listeners that say nothing or show how far the work is."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from types import TracebackType
from typing import Any, Protocol, TextIO

from compsparse.errors import ConfigError
from compsparse.text import printable


class Progress(Protocol):
    """Hears how much of the work is done."""

    def update(self, done: float, total: float, message: str = "") -> None:
        """Takes note that ``done`` of ``total`` is done."""


class Silent:
    """Hears and says nothing."""

    def update(self, done: float, total: float, message: str = "") -> None:
        """Does nothing."""


def begin_stage(progress: Progress, name: str) -> None:
    """Tells a listener that another part of the work begins; one without a method ``begin`` does not hear of it."""
    begin = getattr(progress, "begin", None)
    if callable(begin):
        begin(name)


def check_progress(progress: Any) -> Progress:
    """A listener; None is one that says nothing."""
    if progress is None:
        return Silent()
    if not callable(getattr(progress, "update", None)) or isinstance(progress, (type, Mapping)):
        raise ConfigError(f"progress must have a method update(done, total, message), got {progress!r}")
    listener: Progress = progress
    return listener


def shown(title: str, visible: bool = True, n_stages: int = 1) -> AbstractContextManager[Progress]:
    """A display with this title, or a listener that says nothing; both for a ``with`` statement."""
    return ProgressBar(title, n_stages) if visible else nullcontext(Silent())


# ---- how far the work is ----------------------------------------------------------------------------

_LEAST_SHARE, _LEAST_SECONDS = 0.03, 3.0
"""Of a stage that must be done before the time left is guessed."""


class Tally:
    """What was heard so far; its share never falls.

    Attributes:
        stage, number: the name of the part of the work that runs, and the how manieth it is.
        message: the last one; its lines are shown one below the other.
        share: how much of everything is done, all stages taken as equally long.
    """

    def __init__(self, n_stages: int = 1):
        self.n_stages, self.number, self.stage, self.message, self.share = n_stages, 0, "", "", 0.0
        self.started = self._stage_started = time.monotonic()
        self._of_stage = 0.0

    def begin(self, stage: str) -> None:
        """Another stage begins."""
        self.number += 1
        self.n_stages = max(self.n_stages, self.number)
        self.stage, self.message, self._of_stage = printable(stage), "", 0.0
        self._stage_started = time.monotonic()
        self._advance()

    def update(self, done: float, total: float, message: str = "") -> None:
        """So much of the stage is done."""
        self.message = printable(message, several_lines=True)
        self._of_stage = max(self._of_stage, min(done / total, 1.0) if total > 0 else 0.0)
        self._advance()

    def _advance(self) -> None:
        self.share = max(self.share, (max(self.number - 1, 0) + self._of_stage) / self.n_stages)

    def times(self) -> tuple[str, str]:
        """How long it took, and how long the stage may still take."""
        now = time.monotonic()
        so_far, share, left = now - self._stage_started, self._of_stage, None
        if share >= _LEAST_SHARE and so_far >= _LEAST_SECONDS:
            left = so_far * (1 - share) / share
        of_stage = " in this stage" if left is not None and self.number < self.n_stages and self.stage else ""
        took, rest = times_text(now - self.started, left).split(", ")
        return took, rest + of_stage


def times_text(so_far: float | None, left: float | None) -> str:
    """How long it took and will take, each with its name.

    >>> times_text(5, None), times_text(65, 7260)
    ('5 s so far, time left not known yet', '1 min 5 s so far, about 2 h 1 min left')
    """
    rest = "time left not known yet" if left is None else f"about {_spelled(left)} left"
    return f"{_spelled(so_far or 0)} so far, {rest}"


def _spelled(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


# ---- how it is shown --------------------------------------------------------------------------------

_MOST_MESSAGE_LINES = 10
_BARS = {60: 24, 30: 10, 0: 0}
"""Signs of the bar from so many columns on."""


def block(title: str, tally: Tally, width: int, encoding: str = "utf-8") -> list[str]:
    """The lines of a display: what runs and its bar, the times, and the message.

    None is wider than ``width``, and none has a sign that the encoding lacks.
    """
    done = round(tally.share * (n_signs := next(n for least, n in _BARS.items() if width >= least)))
    full, empty = ("━", "┄") if _in(encoding, "━┄…") == "━┄…" else ("#", "-")
    bar = f" {full * done}{empty * (n_signs - done)} {100 * tally.share:3.0f}%"
    took, rest = tally.times()
    times = [f"{took}, {rest}"] if len(took) + len(rest) + 2 <= width else [took, rest]
    told = tally.message.splitlines()[:_MOST_MESSAGE_LINES]
    lines = [_cut(_in(encoding, line), width, encoding).rstrip() for line in (*times, *told)]
    return [_cut(_in(encoding, _part(tally) or title), max(width - len(bar), 0), encoding) + bar, *lines]


def _part(tally: Tally) -> str:
    """The part of the work that runs; nothing where the work has one part."""
    counted = f"{tally.number} of {tally.n_stages}: " if tally.n_stages > 1 else ""
    return f"{counted}{tally.stage}" if tally.stage else ""


def _cut(text: str, width: int, encoding: str) -> str:
    """The text in exactly so many columns of a terminal."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) > width:
        dots = _in(encoding, "…")
        text = set_cell_size(text, max(width - len(dots), 0)) + dots
    return set_cell_size(text, width)


def _in(encoding: str, text: str) -> str:
    """The text with look-alikes for the signs that an encoding lacks."""
    return text.encode(encoding, "compsparse-look-alike").decode(encoding)


class ProgressBar:
    """Shows named stages, a bar, the times and the last message; use it as a context manager.

    A terminal shows a few lines that are drawn anew every half second, a notebook one line of plain text, and a file
    gets a line every ten seconds.
    """

    def __init__(self, title: str, n_stages: int = 1):
        from rich.console import Console

        console = Console(stderr=True)
        self._title, self.tally = printable(title), Tally(n_stages)
        self._console, self._in_notebook = console, console.is_jupyter
        self._stream: TextIO = sys.stdout if self._in_notebook else sys.stderr
        self._encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self._redraws = not self._in_notebook and console.is_terminal and not console.is_dumb_terminal
        self._redraws &= not console.legacy_windows
        self._height = self._last = 0
        self._ends, self._thread = threading.Event(), threading.Thread(target=self._keep_telling, daemon=True)

    def begin(self, stage: str) -> None:
        """Another stage begins."""
        self.tally.begin(stage)

    def update(self, done: float, total: float, message: str = "") -> None:
        """Takes note; the lines are drawn by a thread of their own, so that there is a sign of life without news."""
        self.tally.update(done, total, message)

    def __enter__(self) -> ProgressBar:
        global _ON_SCREEN
        _ON_SCREEN = self if self._redraws else None
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        global _ON_SCREEN
        self._ends.set()
        self._thread.join(1.0)
        self._write(self.take_away() if self._redraws else "\n" * bool(self._last))
        _ON_SCREEN = None

    def take_away(self) -> str:
        """The characters that take the lines off the screen; the next are drawn where the cursor is then."""
        up, self._height = self._height, 0
        return "\r" + (f"\x1b[{up}A" if up else "") + "\x1b[J"

    def _keep_telling(self) -> None:
        pause = 0.5 if self._redraws else 1.0 if self._in_notebook else 10.0
        while True:
            if self._redraws:
                self._redraw()
            elif self._in_notebook:
                self._rewrite()
            if self._ends.wait(pause):
                return
            if not self._redraws and not self._in_notebook:
                self._write(self._line() + "\n")

    def _redraw(self) -> None:
        lines = block(self._title, self.tally, self._console.width - 1, self._encoding)
        before = self.take_away()
        self._height = len(lines)
        self._write(before + "".join(f"{line}\n" for line in lines))

    def _rewrite(self) -> None:
        line = self._line()[:160]
        self._write("\r" + line.ljust(self._last))
        self._last = len(line)

    def _line(self) -> str:
        """Everything in one line."""
        parts = (f"{100 * self.tally.share:.0f}%", *self.tally.times(), *self.tally.message.splitlines()[:1])
        return _in(self._encoding, f"{_part(self.tally) or self._title}: {', '.join(parts)}")

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # nobody is left who reads
            self._stream.write(text)
            self._stream.flush()


_ON_SCREEN: ProgressBar | None = None


def room_on_screen() -> str:
    """The characters that make room for a line where a display is on the screen; empty where there is none."""
    return "" if _ON_SCREEN is None else _ON_SCREEN.take_away()
