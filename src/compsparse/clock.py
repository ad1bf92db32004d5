"""The clock that limits of time are read on: it stands still while kernels are compiled, which is nobody's search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

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


# ---- a limit for work of many parts --------------------------------------------------------------

_OVER: ContextVar[float] = ContextVar("when time is over", default=float("inf"))


class TimeIsOver(CompsparseError, TimeoutError):
    """The time for a piece of work was over before the work was done."""


@contextmanager
def within(time_limit: float | None) -> Iterator[None]:
    """Work in the block has so many seconds: after them :func:`look_at_clock` ends it, wherever it is asked.

    For work of many parts, none of which knows the limit of the whole; a part that can give its best answer so far has
    a ``time_limit`` of its own.
    """
    at = float("inf") if time_limit is None else now() + time_limit
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
    if now() > _OVER.get():
        raise TimeIsOver("the time for this work was over before it was done: give it more, or none")
