"""The Dask engine: a cluster of local processes, or one that is there already."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from concurrent.futures import CancelledError
from typing import Any

from compsparse.checks import check_device
from compsparse.errors import ConfigError, EngineError
from compsparse.optional import needs
from compsparse.sweeps.engines import Engine, check_device_name, check_workers
from compsparse.sweeps.packs import Pack, cores, run_pack, use_threads
from compsparse.sweeps.records import Row

_RETRIES = 2  # of a pack whose worker died
_CONNECT_SECONDS = 10
_AHEAD = 4  # packs in flight beyond what the workers run; also what a cluster without workers sees
_STARTS = 3  # of a local cluster, whose workers may be killed as they start
_ANSWER_SECONDS = 5.0  # a result whose worker died meanwhile is computed again, and is not waited for in place
_MOST_DROPPED = 20  # packs in a row that come back without having run
_LOOK_SECONDS = 2.0  # between two counts of the workers
_BETWEEN_LOOKS = 0.05  # at what has ended
_ALONE_SECONDS = (60.0, 3600.0)
"""How long work waits for a worker where there is none: of a cluster made here, and of one that is there."""


class DaskEngine(Engine):
    """A Dask cluster.

    Args:
        address: of a running scheduler, such as ``host:8786``; by default a cluster of local processes is made.
        workers: of the local cluster; one per core by default.
        device: where the workers compute; None is the CPU. A cluster that is there may have devices that are not here.
    """

    name = "dask"

    def __init__(self, address: str | None = None, *, workers: int | None = None, device: str | None = None):
        needs("distributed", "Dask engines", "dask")
        if address is not None and not isinstance(address, str):
            raise ConfigError(f"the address of a scheduler must be a text such as host:8786, got {address!r}")
        self._address, self.device = address, check_device_name(device)
        if address is None:
            check_device(device)
        elif workers is not None:
            raise ConfigError(f"the cluster at {address} has its own workers: leave out their number")
        self._wanted = cores() if workers is None else check_workers(workers)
        self._n_workers, self._threads = self._wanted, None if address else max(1, cores() // self._wanted)
        self._client: Any = None
        self._cluster: Any = None
        self._running: dict[Any, Pack] = {}
        # packs whose workers died too often: one at a time, since a worker's death also counts against what waits there
        self._suspects: deque[Pack] = deque()
        self._suspect: Any = None
        self._counted, self._last_seen, self._dropped = -60.0, 0.0, 0

    def start(self) -> None:
        distributed: Any = needs("distributed", "Dask engines", "dask")
        if self._address is None:
            self._cluster = self._made_cluster(distributed)
        try:
            self._client = distributed.Client(self._cluster or f"tcp://{self._address}", timeout=_CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(f"cannot reach a Dask scheduler at {self._address}: {error}") from None
        self._last_seen = time.monotonic()
        if self._cluster is not None:
            with contextlib.suppress(Exception):  # of a worker that is dying
                self._client.register_plugin(_deaf())

    def _made_cluster(self, distributed: Any) -> Any:
        import dask

        for tried in range(_STARTS):
            try:
                with dask.config.set({"distributed.scheduler.allowed-failures": _RETRIES}):
                    return distributed.LocalCluster(
                        n_workers=self._wanted,
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address="127.0.0.1:0",
                        silence_logs=logging.CRITICAL,
                    )
            except (OSError, RuntimeError, TimeoutError) as error:
                if tried == _STARTS - 1:
                    problem = f"workers of the Dask cluster end as they start: {error.__cause__ or error}"
                    raise EngineError(f"{problem}; run the same command to go on") from error
        raise AssertionError

    @property
    def workers(self) -> int:
        """The threads of the cluster, counted anew from time to time since clusters grow."""
        if self._client is not None and time.monotonic() - self._counted > _LOOK_SECONDS:
            self._counted = time.monotonic()
            with contextlib.suppress(OSError, TimeoutError):
                self._look()
        return self._n_workers

    def _look(self) -> None:
        n_threads = sum(self._client.nthreads().values())
        if n_threads:
            self._last_seen, self._n_workers = time.monotonic(), n_threads
        if self._cluster is not None and n_threads < self._wanted:  # one killed as it starts does not come back alone
            self._cluster.scale(self._wanted)

    @property
    def note(self) -> str:
        alone = time.monotonic() - self._last_seen
        return f"no Dask worker for {alone:.0f} s" if self._client is not None and alone > 2 * _LOOK_SECONDS else ""

    @property
    def room(self) -> int:
        return self.workers + _AHEAD - len(self._running)

    def submit(self, pack: Pack) -> None:
        self._give(pack)

    def _give(self, pack: Pack) -> Any:
        future = self._client.submit(_work, pack, self.device, self._threads, pure=False)
        self._running[future] = pack
        return future

    def completed(self, timeout: float) -> list[Row]:
        deadline = time.monotonic() + timeout
        while not (rows := self._collected()) and time.monotonic() < deadline:
            self._check_alive()
            time.sleep(min(_BETWEEN_LOOKS, timeout))
        return rows

    def _collected(self) -> list[Row]:
        """Rows of what has ended, looked for and not announced: announcements are lost with workers."""
        rows: list[Row] = []
        for future in [f for f in self._running if f.status not in ("pending", "lost")]:  # what is lost runs again
            rows += self._rows(future, self._running[future])
            if self._suspects and self._suspect is None:
                self._suspect = self._give(self._suspects.popleft())
        return rows

    def _rows(self, future: Any, pack: Pack) -> list[Row]:
        rows: list[Row] = []
        try:
            if future.status == "finished":
                rows = future.result(timeout=_ANSWER_SECONDS)
                self._dropped = 0
            elif future.status == "error":
                rows = self._failed(future, pack, future.exception(timeout=_ANSWER_SECONDS))
            elif future.status == "cancelled":
                self._give_back(future, pack)
            else:
                return []
        except (OSError, TimeoutError, CancelledError):
            self._check_alive()
            return []  # the worker died with its answer, and another finds it again
        del self._running[future]
        if future is self._suspect:
            self._suspect = None
        future.release()
        return rows

    def _give_back(self, future: Any, pack: Pack) -> None:
        """A pack that the scheduler dropped, with workers that were lost, is handed in again."""
        self._check_alive()
        self._dropped += 1
        if self._dropped > _MOST_DROPPED:
            raise EngineError(f"the Dask scheduler dropped {self._dropped} tasks; run the same command to go on")
        if future is self._suspect:
            self._suspects.appendleft(pack)
        else:
            self._give(pack)

    def _failed(self, future: Any, pack: Pack, error: BaseException) -> list[Row]:
        from distributed import KilledWorker

        if not isinstance(error, KilledWorker):
            raise EngineError(f"a Dask worker cannot run the work: {type(error).__name__}: {error}")
        if len(pack.specs) > 1:
            self._suspects.extend(pack.halves())
        elif future is not self._suspect:
            self._suspects.append(pack)
        else:
            return pack.failed(f"the Dask worker died each time while it ran this: {error}")
        return []

    def _check_alive(self) -> None:
        if self._client.status not in ("running", "connecting", "newly-created"):
            raise EngineError(f"lost the Dask scheduler at {self._address}; run the same command to go on")
        _ = self.workers  # looks for them
        alone, most = time.monotonic() - self._last_seen, _ALONE_SECONDS[self._cluster is None]
        if alone > most:
            raise EngineError(f"no Dask worker has been there for {alone:.0f} s; run the same command to go on")

    def stop(self) -> None:
        if self._client is not None:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self._client.cancel(list(self._running), force=True)
            self._running = {}
            with contextlib.suppress(Exception):
                self._client.close(timeout=5)
        if self._cluster is not None:
            with contextlib.suppress(Exception):  # workers that are being started again end later
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
