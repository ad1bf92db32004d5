"""Sizes, estimated before anything is allocated, and limits that are said in the sentence."""

from __future__ import annotations

import os
from pathlib import Path

from compsparse.errors import ConfigError


def check_size(what: str, n_numbers: float, hint: str, *, bytes_each: int = 8) -> None:
    """Refuses what would not fit in memory, before anything is allocated; ``hint`` says what to ask for instead.

    >>> check_size("10^15 rows", 1e15, "ask for fewer")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    compsparse.errors.ConfigError: 10^15 rows do not fit in memory: they would take 8e+06 GB, and this process may ...
    """
    wanted, allowed = float(n_numbers) * bytes_each, memory_limit()
    if wanted > allowed:
        raise ConfigError(
            f"{what} do not fit in memory: they would take {_gigabytes(wanted)}, "
            f"and this process may use {_gigabytes(allowed)}; {hint}"
        )


def check_work(what: str, amount: float, most: float, hint: str) -> None:
    """Refuses work that would not end while anybody waits."""
    if amount > most:
        raise ConfigError(f"{what} is more than the {most:,.0f} that are allowed here, got {amount:.6g}: {hint}")


def memory_limit() -> int:
    """Bytes that this process may still use: of the machine's, its container's or its own limit the smallest."""
    limits = [2**36, *_memory_of_machine(), *_memory_of_container(), *_memory_of_process()]
    return max(min(limits), 0)


def _memory_of_machine() -> list[int]:
    try:
        return [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        return []


def _memory_of_container() -> list[int]:
    try:
        text = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return []
    return [int(text)] if text.isdigit() else []


def _memory_of_process() -> list[int]:
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return []
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return []
    return [most - held]


def _gigabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.3g} GB"
