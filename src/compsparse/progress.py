"""Progress on long work: a protocol the loops speak, a listener that says nothing, a bar in the terminal, a clock."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol

from compsparse.errors import CompsparseError, ConfigError
from compsparse.text import printable


class Progress(Protocol):
    """Hears how much of the work is done."""

    def update(self, done: float, total: float, message: str = "") -> None:
        """Takes note that ``done`` of ``total`` is done."""


class Silent:
    """Hears and says nothing."""

    def update(self, done: float, total: float, message: str = "") -> None:
        """Does nothing."""


class ProgressBar:
    """A bar in the terminal with the time left; use it as a context manager."""

    def __init__(self, title: str):
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[message]}", style="dim", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(printable(title), total=None, message="")

    def update(self, done: float, total: float, message: str = "") -> None:
        """Moves the bar."""
        self._bar.update(self._task, completed=done, total=total, message=printable(message))

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._bar.stop()


def check_progress(progress: Any) -> Progress:
    """A listener; None is one that says nothing."""
    if progress is None:
        return Silent()
    if not callable(getattr(progress, "update", None)) or isinstance(progress, (type, Mapping)):
        raise ConfigError(f"progress must have a method update(done, total, message), got {progress!r}")
    listener: Progress = progress
    return listener


def shown(title: str, visible: bool) -> AbstractContextManager[Progress]:
    """A bar with this title, or a listener that says nothing; both for a ``with`` statement."""
    return ProgressBar(title) if visible else nullcontext(Silent())


# ---- the clock -----------------------------------------------------------------------------------

_OVER: ContextVar[float] = ContextVar("when time is over", default=float("inf"))


class TimeIsOver(CompsparseError, TimeoutError):
    """The time for a piece of work was over before the work was done."""


@contextmanager
def within(time_limit: float | None) -> Iterator[None]:
    """Work in the block has so many seconds: after them :func:`look_at_clock` ends it, wherever it is asked.

    For work of many parts, none of which knows the limit of the whole; a part that can give its best answer so far has
    a ``time_limit`` of its own.
    """
    at = float("inf") if time_limit is None else time.perf_counter() + time_limit
    token = _OVER.set(min(at, _OVER.get()))
    try:
        yield
    finally:
        _OVER.reset(token)


def look_at_clock() -> None:
    """Ends the work where its time is over.

    Raises:
        TimeIsOver: it is.
    """
    if time.perf_counter() > _OVER.get():
        raise TimeIsOver("the time for this work was over before it was done: give it more, or none")
