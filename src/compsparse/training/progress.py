"""Progress on long work: a protocol the loops speak, and a rich bar that listens."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol


class Progress(Protocol):
    """Hears how much of the work is done."""

    def update(self, done: float, total: float, message: str = "") -> None: ...


class Silent:
    """Hears and says nothing."""

    def update(self, done: float, total: float, message: str = "") -> None:
        pass


class ProgressBar:
    """A bar in the terminal with the time left; use it as a context manager."""

    def __init__(self, title: str):
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[message]}", style="dim", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(title, total=None, message="")

    def update(self, done: float, total: float, message: str = "") -> None:
        self._bar.update(self._task, completed=done, total=total, message=message)

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._bar.stop()
