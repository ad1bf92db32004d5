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
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            _times(),
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


def _times() -> Any:
    """The column of a bar that says the times."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Times(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(times_text(task.elapsed, task.time_remaining))

    return Times()


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
