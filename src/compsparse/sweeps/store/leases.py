"""Leases: who runs what, so that two drivers on one store do not do the same work."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, delete, or_, select, update

from compsparse.sweeps.records import HOST
from compsparse.sweeps.store.database import Database, check_keys, chunks, upsert
from compsparse.sweeps.store.schema import leases_table, results_table


@dataclass(frozen=True)
class Leases:
    """Who runs which key, and until when that holds."""

    database: Database

    def claim(self, keys: Iterable[str], owner: str, seconds: float) -> set[str]:
        """Takes a lease on those keys that have no result and no other living owner, and returns them."""
        taken: set[str] = set()
        # all in one order: two drivers that claim the same keys must not wait for each other in a circle
        for part in chunks(sorted(check_keys(keys))):
            with self.database.write() as connection:
                taken |= self._claim(connection, part, owner, seconds)
        return taken

    def _claim(self, connection: Connection, keys: Iterable[str], owner: str, seconds: float) -> set[str]:
        asked = leases_table.c.key.in_(keys)
        for (other,) in connection.execute(select(leases_table.c.owner).where(asked).distinct()).all():
            if is_gone(other):
                connection.execute(delete(leases_table).where(leases_table.c.owner == other))
        now = self.database.now(connection)
        values = [{"key": k, "owner": owner, "heartbeat": now, "expires": now + seconds} for k in keys]
        statement = upsert(connection, leases_table).values(values)
        new = {name: statement.excluded[name] for name in ("owner", "heartbeat", "expires")}
        free = or_(leases_table.c.expires < now, leases_table.c.owner == owner)
        connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_=new, where=free))
        mine = set(connection.scalars(select(leases_table.c.key).where(asked, leases_table.c.owner == owner)))
        # a lease ends in the transaction of its result: whoever gets the lease sees the result
        ended = set(connection.scalars(select(results_table.c.key).where(results_table.c.key.in_(mine))))
        connection.execute(delete(leases_table).where(leases_table.c.key.in_(ended), leases_table.c.owner == owner))
        return mine - ended

    def renew(self, owner: str, seconds: float) -> None:
        """Has all leases of the owner hold for so long from now."""
        with self.database.write() as connection:
            now = self.database.now(connection)
            mine = update(leases_table).where(leases_table.c.owner == owner)
            connection.execute(mine.values(heartbeat=now, expires=now + seconds))

    def release(self, owner: str) -> None:
        """Gives all leases of the owner back."""
        with self.database.write() as connection:
            connection.execute(delete(leases_table).where(leases_table.c.owner == owner))

    def drop_expired(self) -> int:
        """Removes leases that no longer hold; returns how many."""
        with self.database.write() as connection:
            return connection.execute(
                delete(leases_table).where(leases_table.c.expires < self.database.now(connection))
            ).rowcount


# ---- owners: which process, on which machine ------------------------------------------------------


def _machine() -> str | None:
    """This boot of this machine, and this set of process numbers, since containers may share a host name."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{HOST}|{boot}|{os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return None


_MACHINE = _machine()


def new_owner() -> str:
    """A name for this call of a driver: machine, process, and a word of its own."""
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
