"""Runs sweeps: what exists is returned, what is missing is run, what others run is waited for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compsparse.checks import check_count, check_device, check_flag, check_kind, check_number
from compsparse.clock import Deadline
from compsparse.errors import ConfigError, EngineError
from compsparse.progress import Progress, check_progress
from compsparse.sweeps import DEFAULT_STORE
from compsparse.sweeps.driver import Driver, Orders, patiently
from compsparse.sweeps.engines import Engine, get_engine
from compsparse.sweeps.packs import Pack, run_pack
from compsparse.sweeps.records import SweepRecord
from compsparse.sweeps.spec import Spec
from compsparse.sweeps.store import Store, open_store
from compsparse.sweeps.sweep import MOST_RUNS, Sweep

LEASE_SECONDS = 120.0
_SHORTEST_LEASE, _LONGEST_LEASE = 0.1, 7 * 86_400.0


def run_sweep(
    sweep: Sweep,
    store: Store | str | Path = DEFAULT_STORE,
    engine: Engine | str = "local",
    *,
    workers: int | None = None,
    device: str | None = None,
    max_replicas: int | None = None,
    retry_failed: bool = False,
    wait: bool = True,
    lease_seconds: float = LEASE_SECONDS,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> SweepRecord:
    """Runs what is missing of a sweep and returns all its results.

    A finished run is never run again, so an interrupted sweep goes on when it is called again. Several drivers may
    run one sweep on one store; each takes a lease on what it runs. Ctrl-C ends the sweep and returns what is done.

    Args:
        store: a store, or where it is: a SQLite file or ``postgresql://…``.
        engine: an engine, or its name: ``local``, ``dask`` or ``dask://host:port``.
        workers, device: of the engine, where it is given by name; None is one worker per core or card, and the CPU.
        max_replicas: the most runs that are trained together; the kind decides by default.
        retry_failed: run again what failed before.
        wait: wait for what other drivers are running.
        lease_seconds: after so long without a sign, a driver counts as dead and its runs are taken over.
        time_limit: seconds for everything; what is running then is given up, what is done is kept.

    Raises:
        StoreError: if the store cannot be written; the message names the file that holds the results instead.
        EngineError: if the engine cannot be started or was lost.
    """
    check_kind("sweep", sweep, Sweep)
    check_number("lease_seconds", lease_seconds, least=_SHORTEST_LEASE, most=_LONGEST_LEASE)
    check_flag("retry_failed", retry_failed)
    check_flag("wait", wait)
    if max_replicas is not None:
        check_count("max_replicas", max_replicas, most=MOST_RUNS)
    orders = Orders(
        max_replicas=sweep.kind.max_replicas(device) if max_replicas is None else max_replicas,
        retry_failed=retry_failed,
        wait=wait,
        lease_seconds=lease_seconds,
        deadline=Deadline.after(time_limit),
        progress=check_progress(progress),
    )
    worker = _engine(engine, workers, device)
    with _opened(store, orders.deadline, orders.progress) as kept:
        return Driver(sweep, kept, worker, orders).run()


def run_stage(
    spec: Spec,
    store: Store | str | Path = DEFAULT_STORE,
    *,
    device: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The result of one spec: what exists is returned, else it is run here and kept."""
    check_kind("spec", spec, Spec)
    check_device(device)
    with _opened(store, Deadline(), check_progress(progress)) as kept:
        row = kept.results.get([spec.key]).get(spec.key)
        if row is None or row.status == "failed":
            (row,) = run_pack(Pack((spec,)), device, progress)
            kept.results.forget_failed([spec.key])
            kept.results.put(row)
        if row.result is None:
            raise EngineError(f"the run of {spec} failed:\n{row.traceback}")
        return row.result


def _engine(engine: Any, workers: int | None, device: str | None) -> Engine:
    if isinstance(engine, str):
        return get_engine(engine, workers=workers, device=device)
    if not isinstance(engine, Engine):
        raise ConfigError(f"engine must be an engine or the name of one, got {engine!r}")
    if workers is not None or device is not None:
        raise ConfigError("workers and device are of an engine that is given by name; this one has its own")
    return engine


@contextlib.contextmanager
def _opened(store: Store | str | Path, deadline: Deadline, progress: Progress) -> Iterator[Store]:
    """A store, if need be when its server is back."""
    if isinstance(store, Store):
        yield store
        return

    def say() -> None:
        progress.update(0, 1, "waiting for the store")

    with patiently(lambda: open_store(store), deadline, pauses=(), waiting=say) as opened:
        yield opened
