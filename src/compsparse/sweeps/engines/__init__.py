"""Engines: where the runs of a sweep are done."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from compsparse.checks import check_count, check_known, check_text
from compsparse.errors import ConfigError
from compsparse.sweeps.addresses import without_password
from compsparse.sweeps.packs import Pack, cores
from compsparse.sweeps.records import Row


class Engine(ABC):
    """Runs packs somewhere; each member of a pack comes back as one row, done or failed.

    A run that raises is a failed row, not an error of the engine. A worker that dies costs only the packs it was
    running, which are tried again.
    """

    name: str

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many packs run at a time."""

    @abstractmethod
    def start(self) -> None:
        """Makes workers ready; called once, before the first pack."""

    @property
    @abstractmethod
    def room(self) -> int:
        """How many more packs to submit now."""

    @abstractmethod
    def submit(self, pack: Pack) -> None:
        """Takes a pack to run; there must be room."""

    @abstractmethod
    def completed(self, timeout: float) -> list[Row]:
        """The rows of packs that ended since the last call; waits for some at most ``timeout`` seconds."""

    @property
    def partial_load(self) -> float:
        """The load that is done within running packs, where the engine hears of it."""
        return 0.0

    @property
    def note(self) -> str:
        """What whoever waits should know, if there is something."""
        return ""

    @abstractmethod
    def stop(self) -> None:
        """Ends all work at once; what was not returned is lost."""


def check_workers(workers: int) -> int:
    """A number of processes of this machine."""
    return check_count("workers", workers, most=max(64, 8 * cores()))


def check_device_name(device: object) -> str | None:
    """The name of a device, which may be of another machine; None is the CPU."""
    if device is not None and not isinstance(device, str):
        raise ConfigError(f"device must be a text such as cuda, got {device!r}")
    return device


def get_engine(name: str = "local", *, workers: int | None = None, device: str | None = None) -> Engine:
    """An engine by name.

    Args:
        name: ``local`` (processes), ``dask`` (a local cluster) or ``dask://host:port`` (a cluster that is there).
        workers: how many processes; one per core, or per card on CUDA, by default.
        device: where the workers compute, such as cpu, cuda or cuda:1; None is the CPU.
    """
    from compsparse.sweeps.engines.dask import DaskEngine
    from compsparse.sweeps.engines.local import LocalEngine

    if check_text("the name of an engine", name).startswith("dask://"):
        address = name.removeprefix("dask://")
        if not re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^:/\s]+):\d{1,5}", address, re.ASCII):
            shown = without_password(name)
            raise ConfigError(f"cannot read the address of the engine {shown!r}: write dask://host:port")
        return DaskEngine(address, workers=workers, device=device)
    check_known(name, ("local", "dask", "dask://host:port"), "there is no engine")
    return (LocalEngine if name == "local" else DaskEngine)(workers=workers, device=device)
