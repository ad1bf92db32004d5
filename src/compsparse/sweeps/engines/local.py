"""The local engine: one process per core or card, each fed one pack at a time."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from compsparse.checks import check_device
from compsparse.errors import EngineError
from compsparse.sweeps.engines import Engine, check_device_name, check_workers
from compsparse.sweeps.packs import Pack, cores, device_of, run_pack, use_threads
from compsparse.sweeps.records import Row

_RETRIES = 2  # of a single run whose worker died
_STILLBORN = 3  # workers that die in a row before they are ready


@dataclass
class _Worker:
    number: int
    process: Any
    connection: Connection
    pack: Pack | None = None
    deaths: int = 0  # of workers that ran this pack
    share: float = 0.0  # of the pack that is done
    ready: bool = False


@contextlib.contextmanager
def _main_left_alone() -> Iterator[None]:
    """Workers import the kinds they run, not the script that runs the sweep, which then needs no guard."""
    main = sys.modules["__main__"].__dict__
    kept: dict[str, Any] = {name: main.pop(name) for name in ("__file__", "__spec__") if name in main}
    main["__spec__"] = None
    try:
        yield
    finally:
        del main["__spec__"]
        main.update(kept)


class LocalEngine(Engine):
    """Processes of this machine.

    Args:
        workers: how many; by default one per core, or per card on CUDA.
        device: where they compute, such as cpu, cuda or cuda:1; None is the CPU.
    """

    name = "local"

    def __init__(self, *, workers: int | None = None, device: str | None = None):
        self.device = check_device_name(device)
        check_device(device)
        self._n_workers = _default_workers(self.device) if workers is None else check_workers(workers)
        self._threads = max(1, cores() // self._n_workers)
        self._workers: list[_Worker] = []
        self._again: deque[tuple[Pack, int]] = deque()
        self._stillborn = 0

    @property
    def workers(self) -> int:
        return self._n_workers

    def start(self) -> None:
        self._workers = [self._hired(i) for i in range(self._n_workers)]

    def _hired(self, number: int) -> _Worker:
        context = multiprocessing.get_context("spawn")
        mine, theirs = context.Pipe()
        arguments = (theirs, self.device, number, self._threads)
        process = context.Process(target=serve, args=arguments, daemon=True, name=f"compsparse-worker-{number}")
        with _main_left_alone():
            process.start()
        theirs.close()
        return _Worker(number, process, mine)

    @property
    def room(self) -> int:
        return sum(worker.pack is None for worker in self._workers) - len(self._again)

    def submit(self, pack: Pack) -> None:
        self._give(pack, 0)

    def _give(self, pack: Pack, deaths: int) -> None:
        worker = next(w for w in self._workers if w.pack is None)
        worker.pack, worker.deaths, worker.share = pack, deaths, 0.0
        with contextlib.suppress(OSError):  # a dead worker is seen by its sentinel
            worker.connection.send(pack)

    def completed(self, timeout: float) -> list[Row]:
        deadline = time.monotonic() + timeout
        rows: list[Row] = []
        while not rows:
            while self._again and any(w.pack is None for w in self._workers):
                self._give(*self._again.popleft())
            ears = {w.connection: w for w in self._workers} | {w.process.sentinel: w for w in self._workers}
            heard = wait(list(ears), timeout=max(0.0, deadline - time.monotonic()))
            if not heard:
                return []
            for worker in {id(ears[h]): ears[h] for h in heard}.values():
                rows += self._hear(worker)
        return rows

    def _hear(self, worker: _Worker) -> list[Row]:
        try:
            while worker.connection.poll():
                message, content = worker.connection.recv()
                if message == "rows":
                    worker.pack = None
                    rows: list[Row] = content
                    return rows
                self._note(worker, message, content)
        except (EOFError, OSError):
            return self._bury(worker)
        return [] if worker.process.is_alive() else self._bury(worker)

    def _note(self, worker: _Worker, message: str, content: Any) -> None:
        if message == "ready":
            worker.ready, self._stillborn = True, 0
        elif message == "share":
            worker.share = content
        elif message == "unreadable":
            raise EngineError(f"a worker cannot import what it should run: {content}")

    def _bury(self, worker: _Worker) -> list[Row]:
        """Replaces a dead worker; its pack is tried again, then its halves, and in the end recorded as failed."""
        worker.process.join(timeout=5)
        worker.connection.close()
        code = worker.process.exitcode
        self._stillborn += not worker.ready
        if self._stillborn >= _STILLBORN:
            raise EngineError(f"workers end as they start (exit status {code}): see what they wrote above")
        self._workers[worker.number] = self._hired(worker.number)
        if worker.pack is None:
            return []
        deaths = worker.deaths + 1
        if deaths <= 1 or (len(worker.pack.specs) == 1 and deaths <= _RETRIES):
            self._again.append((worker.pack, deaths))
            return []
        if len(worker.pack.specs) > 1:
            self._again.extend((half, deaths - 1) for half in worker.pack.halves())
            return []
        return worker.pack.failed(f"the worker process died {deaths} times while it ran this (exit status {code})")

    @property
    def partial_load(self) -> float:
        return sum(w.pack.load * w.share for w in self._workers if w.pack is not None)

    def stop(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join(timeout=5)
            worker.connection.close()
        self._workers = []


def _default_workers(device: str | None) -> int:
    if device is None or not device.startswith("cuda"):
        return cores()
    import torch

    return max(1, torch.cuda.device_count()) if device == "cuda" else 1


class _Reporter:
    """Progress within a pack, told to the driver now and then."""

    def __init__(self, connection: Connection):
        self._connection, self._last = connection, 0.0

    def update(self, done: float, total: float, message: str = "") -> None:
        """Sends the share that is done, if the last time was a while ago."""
        now = time.monotonic()
        if now - self._last > 0.5 and total > 0:
            self._last = now
            self._connection.send(("share", min(1.0, done / total)))


def serve(connection: Connection, device: str | None, number: int, threads: int) -> None:
    """The life of a worker: packs in, rows out, until the driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to answer
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use_threads(threads)
    connection.send(("ready", None))
    while True:
        try:
            pack = connection.recv()
        except EOFError:
            return
        except Exception:
            connection.send(("unreadable", traceback.format_exc().strip().splitlines()[-1]))
            continue
        use_threads(threads)
        connection.send(("rows", run_pack(pack, device_of(device, number), _Reporter(connection))))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
