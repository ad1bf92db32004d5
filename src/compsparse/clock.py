"""The clock that limits of time are read on: it stands still while kernels are compiled, which is nobody's search."""

from __future__ import annotations

import time
from dataclasses import dataclass


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
