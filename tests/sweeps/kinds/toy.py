"""A kind of run for tests: does little, says that it ran, and fails, sleeps or kills its process when told to."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from compsparse.sweeps.spec import Spec


@dataclass(frozen=True)
class Toy(Spec):
    """The square of ``x``; every run adds a line to ``<folder>/runs.txt``."""

    kind = "toy"

    x: float
    folder: str
    n: int = 1
    seed: int = 0
    sleep: float = 0.0
    bad: tuple[float, ...] = ()
    deadly: tuple[float, ...] = ()
    size: int = 0
    mode: str | None = None

    def pack_key(self):
        return (self.folder, self.sleep, self.bad, self.deadly)

    def load(self):
        return float(self.n)

    @classmethod
    def run(cls, specs, *, device, progress):
        for i, spec in enumerate(specs):
            folder = Path(spec.folder)
            write(folder / "started.txt", f"{spec.key} {os.getpid()}")
            until = time.monotonic() + spec.sleep
            while (left := until - time.monotonic()) > 0:
                time.sleep(min(left, 0.02))
                progress.update(i + 1 - left / spec.sleep, len(specs))
            if spec.x in spec.deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            if spec.x in spec.bad:
                raise ArithmeticError(f"{spec.x} is a bad number")
        for spec in specs:
            write(folder / "runs.txt", f"{spec.key} {os.getpid()}")
        return [
            {"square": s.x**2, "error": (1 + 0.01 * s.seed) * s.x / s.n, "many": [1, 2], "text": "a" * s.size}
            for s in specs
        ]


def write(path: Path, line: str) -> None:
    """One line, whole even when many processes write."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, (line + "\n").encode())
    os.close(handle)


def lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


KINDS = [Toy]
