"""Progress on long work: a protocol the loops speak, a listener that says nothing, and a bar in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Protocol

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
