"""The Dask engine: a cluster of local processes, or one that is there already."""

from __future__ import annotations

import contextlib
import logging
import queue
import time
from collections import deque
from typing import Any

from compsparse.checks import check_count, check_device
from compsparse.errors import ConfigError, EngineError
from compsparse.optional import needs
from compsparse.sweeps.engines.engine import Engine
from compsparse.sweeps.engines.work import MOST_RETRIES, cores, died, most_workers, run_pack, use_threads
from compsparse.sweeps.packs import Pack
from compsparse.sweeps.records import Row

_RETRIES = 2
_CONNECT_SECONDS = 10
_AHEAD = 4  # packs in flight beyond what the workers run; also what a cluster without workers sees


class DaskEngine(Engine):
    """A Dask cluster.

    Args:
        address: of a running scheduler, such as ``host:8786``; by default a cluster of local processes is made.
        workers: of the local cluster; one per core by default.
        device: where the workers compute; None is the CPU. A cluster that is there may have devices that are not here.
        retries: how often a pack is tried again after its worker died.
    """

    name = "dask"

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int | None = None,
        device: str | None = None,
        retries: int = _RETRIES,
    ):
        needs("distributed", "Dask engines", "dask")
        if address is not None and not isinstance(address, str):
            raise ConfigError(f"the address of a scheduler must be a text such as host:8786, got {address!r}")
        if device is not None and not isinstance(device, str):
            raise ConfigError(f"device must be a text such as cuda, got {device!r}")
        if address is None:
            check_device(device)
        elif workers is not None:
            raise ConfigError(f"the cluster at {address} has its own workers: leave out their number")
        self.device, self._retries = device, check_count("retries", retries, least=0, most=MOST_RETRIES)
        self._address = address
        self._n_workers = cores() if workers is None else check_count("workers", workers, most=most_workers())
        self._threads = None if address else max(1, cores() // self._n_workers)
        self._client: Any = None
        self._cluster: Any = None
        self._running: dict[Any, Pack] = {}
        # packs whose workers died too often: one at a time, since a worker's death also counts against what waits there
        self._suspects: deque[Pack] = deque()
        self._suspect: Any = None
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._counted = -60.0

    def start(self) -> None:
        import dask

        distributed: Any = needs("distributed", "Dask engines", "dask")
        if self._address is None:
            with dask.config.set({"distributed.scheduler.allowed-failures": self._retries}):
                self._cluster = distributed.LocalCluster(
                    n_workers=self._n_workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
        try:
            self._client = distributed.Client(self._cluster or f"tcp://{self._address}", timeout=_CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(f"cannot reach a Dask scheduler at {self._address}: {error}") from None
        if self._cluster is not None:
            self._client.register_plugin(_deaf())

    @property
    def workers(self) -> int:
        """The threads of the cluster, counted anew from time to time since clusters grow."""
        if self._client is not None and time.monotonic() - self._counted > 2.0:
            self._counted = time.monotonic()
            with contextlib.suppress(OSError, TimeoutError):
                self._n_workers = max(1, sum(self._client.nthreads().values()))
        return self._n_workers

    @property
    def room(self) -> int:
        return self.workers + _AHEAD - len(self._running)

    def submit(self, pack: Pack) -> None:
        self._give(pack)

    def _give(self, pack: Pack) -> Any:
        future = self._client.submit(_work, pack, self.device, self._threads, pure=False)
        self._running[future] = pack
        future.add_done_callback(self._ended.put)
        return future

    def completed(self, timeout: float) -> list[Row]:
        deadline = time.monotonic() + timeout
        rows: list[Row] = []
        while not rows:
            try:
                future = self._ended.get(timeout=max(0.001, min(1.0, deadline - time.monotonic())))
            except queue.Empty:
                self._check_alive()
                if time.monotonic() >= deadline:
                    return []
                continue
            rows = self._rows(future, self._running.pop(future))
            if future is self._suspect:
                self._suspect = None
            if self._suspects and self._suspect is None:
                self._suspect = self._give(self._suspects.popleft())
            future.release()
        return rows

    def _rows(self, future: Any, pack: Pack) -> list[Row]:
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            self._check_alive()
            raise EngineError("the Dask scheduler dropped a task; run the same command to go on")
        error = future.exception()
        if error is None:
            rows: list[Row] = future.result()
            return rows
        if not isinstance(error, KilledWorker):
            raise EngineError(f"a Dask worker cannot run the work: {type(error).__name__}: {error}")
        if len(pack.specs) > 1:
            self._suspects.extend(pack.halves())
        elif future is not self._suspect:
            self._suspects.append(pack)
        else:
            return died(pack, f"the Dask worker died each time while it ran this: {error}")
        return []

    def _check_alive(self) -> None:
        if self._client.status not in ("running", "connecting", "newly-created"):
            raise EngineError(f"lost the Dask scheduler at {self._address}; run the same command to go on")

    def stop(self) -> None:
        if self._client is not None:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self._client.cancel(list(self._running), force=True)
            self._running = {}
            with contextlib.suppress(Exception):
                self._client.close(timeout=5)
        if self._cluster is not None:
            self._cluster.close(timeout=10)
        self._client = self._cluster = None


def _work(pack: Pack, device: str | None, threads: int | None) -> list[Row]:
    if threads is not None:
        use_threads(threads)
    return run_pack(pack, device)


def _deaf() -> Any:
    """Makes workers of this terminal ignore Ctrl-C, which is the driver's to answer."""
    import signal

    from distributed import WorkerPlugin

    class Deaf(WorkerPlugin):
        def setup(self, worker: Any) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return Deaf()
