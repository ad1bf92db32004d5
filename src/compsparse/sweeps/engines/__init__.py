"""Engines: where the runs of a sweep are done."""

from __future__ import annotations

import re

from compsparse.checks import check_known
from compsparse.errors import ConfigError
from compsparse.sweeps.addresses import without_password
from compsparse.sweeps.engines.engine import Engine

_KNOWN = ("local", "dask", "dask://host:port")


def get_engine(name: str = "local", *, workers: int | None = None, device: str | None = None) -> Engine:
    """An engine by name.

    Args:
        name: ``local`` (processes), ``dask`` (a local cluster) or ``dask://host:port`` (a cluster that is there).
        workers: how many processes; one per core, or per card on CUDA, by default.
        device: where the workers compute, such as cpu, cuda or cuda:1; None is the CPU.
    """
    from compsparse.sweeps.engines.dask import DaskEngine
    from compsparse.sweeps.engines.local import LocalEngine

    if not isinstance(name, str):
        raise ConfigError(f"the name of an engine must be a text, got {name!r}")
    if name.startswith("dask://"):
        address = name.removeprefix("dask://")
        if not re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^:/\s]+):\d{1,5}", address, re.ASCII):
            shown = without_password(name)
            raise ConfigError(f"cannot read the address of the engine {shown!r}: write dask://host:port")
        return DaskEngine(address, workers=workers, device=device)
    check_known(name, _KNOWN, "there is no engine")
    if name == "local":
        return LocalEngine(workers=workers, device=device)
    return DaskEngine(workers=workers, device=device)


__all__ = ["Engine", "get_engine"]
