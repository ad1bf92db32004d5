"""Owners of leases: which process, on which machine."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path

HOST = socket.gethostname()


def _machine() -> str | None:
    """This boot of this machine, and this set of process numbers, since containers may share a host name."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{HOST}|{boot}|{os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return None


_MACHINE = _machine()


def new_owner() -> str:
    return f"{_MACHINE or HOST}/{os.getpid()}/{uuid.uuid4().hex[:12]}"


def is_gone(owner: str) -> bool:
    """Whether the owner is surely dead: a process of this machine that is no more. All others must expire."""
    machine, _, rest = owner.partition("/")
    if _MACHINE is None or machine != _MACHINE:
        return False
    try:
        os.kill(int(rest.partition("/")[0]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False
