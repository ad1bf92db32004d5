"""The clock that limits of time are read on: it stands still while kernels are compiled, which is nobody's search."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from compsparse.checks import check_time_limit
from compsparse.errors import CompsparseError


@dataclass
class _Pauses:
    """How long the clock stood still, and since when it does; pauses may lie in each other."""

    seconds: float = 0.0
    depth: int = 0
    since: float = 0.0


_PAUSES = _Pauses()


def now() -> float:
    """Seconds, of which only differences mean something."""
    return (_PAUSES.since if _PAUSES.depth else time.perf_counter()) - _PAUSES.seconds


def stop() -> None:
    """The clock stands still, for all threads, until as many calls of :func:`go_on` have followed."""
    if not _PAUSES.depth:
        _PAUSES.since = time.perf_counter()
    _PAUSES.depth += 1


def go_on() -> None:
    """Ends one pause."""
    _PAUSES.depth -= 1
    if not _PAUSES.depth:
        _PAUSES.seconds += time.perf_counter() - _PAUSES.since


# ---- limits --------------------------------------------------------------------------------------


class TimeIsOver(CompsparseError, TimeoutError):
    """The time for a piece of work was over before the work was done."""


@dataclass(frozen=True)
class Deadline:
    """Until when a piece of work may go on, on this clock.

    >>> Deadline.after(None).left
    inf
    >>> Deadline.after(60).within(5).left <= 5
    True
    """

    at: float = math.inf

    @classmethod
    def after(cls, time_limit: Any) -> Deadline:
        """So many seconds from now; None sets no limit."""
        seconds = check_time_limit(time_limit)
        return cls() if seconds is None else cls(now() + seconds)

    @property
    def left(self) -> float:
        """Seconds until then: infinite without a limit, negative after it."""
        return self.at - now()

    @property
    def is_set(self) -> bool:
        """Whether there is a limit."""
        return self.at < math.inf

    @property
    def time_limit(self) -> float | None:
        """What is left, as another's time limit: None without one, and a moment where it is over."""
        return max(self.left, 1e-3) if self.is_set else None

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return now() > self.at

    def within(self, seconds: float) -> Deadline:
        """So many seconds from now, or this deadline where it is earlier."""
        return Deadline(min(self.at, now() + seconds))

    def check(self) -> None:
        """Ends the work where its time is over.

        Raises:
            TimeIsOver: it is.
        """
        if self.is_over:
            raise TimeIsOver("the time for this work was over before it was done: give it more, or none")


_NEVER = Deadline()
_OF_THIS_WORK: ContextVar[Deadline] = ContextVar("when time is over", default=_NEVER)


@contextmanager
def within(time_limit: float | None) -> Iterator[None]:
    """Work in the block has so many seconds: after them :func:`look_at_clock` ends it, wherever it is asked.

    For work of many parts, none of which knows the limit of the whole; a part that can give its best answer so far has
    a ``time_limit`` of its own.
    """
    whole = _OF_THIS_WORK.get()
    token = _OF_THIS_WORK.set(whole if time_limit is None else whole.within(time_limit))
    try:
        yield
    finally:
        _OF_THIS_WORK.reset(token)


def look_at_clock() -> None:
    """Ends the work where its time is over.

    Raises:
        TimeIsOver: it is.
    """
    _OF_THIS_WORK.get().check()
