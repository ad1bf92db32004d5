"""As many threads as are fastest now.

Beside any other busy process, the threads of a small step wait for the one that was put aside, and a step takes many
times as long as with one thread. What is computed does not depend on their number, so steps themselves are timed:
now and then a few run with each number, and the fastest is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

import torch

TIMED_STEPS = 4
"""Steps with each number of threads, the first of which does not count."""
GIVEN_UP = 3.0
"""A number of threads is given up once a step takes so many times as long as the best."""
WORTH_MORE = 0.9
"""Time of a step, relative to fewer threads, from which more are taken."""
SECONDS_BETWEEN = 5.0


@dataclass
class _Memory:
    """What was found last, for the next training of this process."""

    count: int = 0
    until: float = -1.0


_memory = _Memory()


@dataclass
class ThreadPace:
    """Runs steps with as many threads as are fastest now, at most as many as torch was given; gives those back.

    Args:
        device: where the steps run; only those of the CPU are paced.
    """

    device: torch.device
    clock: Callable[[], float] = time.perf_counter
    _most: int = field(default=1, init=False)
    _waiting: list[int] = field(default_factory=list, init=False)
    _times: list[float] = field(default_factory=list, init=False)
    _means: dict[int, float] = field(default_factory=dict, init=False)

    def __enter__(self) -> ThreadPace:
        self._most = torch.get_num_threads() if self.device.type == "cpu" else 1
        if self._most > 1 and 0 < _memory.count <= self._most:
            torch.set_num_threads(_memory.count)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._most > 1:
            torch.set_num_threads(self._most)

    @property
    def most(self) -> int:
        """As many threads as torch was given."""
        return self._most

    def run(self, step: Callable[[], None]) -> None:
        """One step, timed where it is time to look again."""
        if self._most == 1 or (not self._waiting and self.clock() < _memory.until):
            step()
            return
        if not self._waiting:
            self._waiting, self._means = _counts_up_to(self._most), {}
            torch.set_num_threads(self._waiting[0])
        started = self.clock()
        step()
        self._note(self.clock() - started)

    def _note(self, seconds: float) -> None:
        self._times.append(seconds)
        hopeless = bool(self._means) and seconds > GIVEN_UP * min(self._means.values())
        if len(self._times) < TIMED_STEPS and not (hopeless and len(self._times) > 1):
            return
        counted = self._times[1:]
        self._means[self._waiting.pop(0)] = sum(counted) / len(counted)
        self._times = []
        torch.set_num_threads(self._waiting[0] if self._waiting else self._decide())

    def _decide(self) -> int:
        best = 1
        for count, mean in self._means.items():
            if mean < WORTH_MORE * self._means[best]:
                best = count
        _memory.count, _memory.until = best, self.clock() + SECONDS_BETWEEN
        return best


def _counts_up_to(most: int) -> list[int]:
    """One, and twice as many as before, up to the most.

    >>> _counts_up_to(6)
    [1, 2, 4, 6]
    """
    counts = [1]
    while counts[-1] < most:
        counts.append(min(2 * counts[-1], most))
    return counts
