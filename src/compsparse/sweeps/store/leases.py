"""Leases: who runs what, so that two drivers on one store do not do the same work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, delete, or_, select, update

from compsparse.sweeps.owner import is_gone
from compsparse.sweeps.store.database import Database
from compsparse.sweeps.store.dialect import chunks, upsert
from compsparse.sweeps.store.schema import leases, results


@dataclass(frozen=True)
class Leases:
    database: Database

    def claim(self, keys: Iterable[str], owner: str, seconds: float) -> set[str]:
        """Takes a lease on those keys that have no result and no other living owner, and returns them."""
        taken: set[str] = set()
        # all in one order: two drivers that claim the same keys must not wait for each other in a circle
        for part in chunks(sorted(keys)):
            with self.database.write() as connection:
                taken |= self._claim(connection, part, owner, seconds)
        return taken

    def _claim(self, connection: Connection, keys: Iterable[str], owner: str, seconds: float) -> set[str]:
        asked = leases.c.key.in_(keys)
        for (other,) in connection.execute(select(leases.c.owner).where(asked).distinct()).all():
            if is_gone(other):
                connection.execute(delete(leases).where(leases.c.owner == other))
        now = self.database.now(connection)
        values = [{"key": k, "owner": owner, "heartbeat": now, "expires": now + seconds} for k in keys]
        statement = upsert(connection, leases).values(values)
        new = {name: statement.excluded[name] for name in ("owner", "heartbeat", "expires")}
        free = or_(leases.c.expires < now, leases.c.owner == owner)
        connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_=new, where=free))
        mine = set(connection.scalars(select(leases.c.key).where(asked, leases.c.owner == owner)))
        # a lease ends in the transaction of its result: whoever gets the lease sees the result
        ended = set(connection.scalars(select(results.c.key).where(results.c.key.in_(mine))))
        connection.execute(delete(leases).where(leases.c.key.in_(ended), leases.c.owner == owner))
        return mine - ended

    def renew(self, owner: str, seconds: float) -> None:
        with self.database.write() as connection:
            now = self.database.now(connection)
            mine = update(leases).where(leases.c.owner == owner)
            connection.execute(mine.values(heartbeat=now, expires=now + seconds))

    def release(self, owner: str) -> None:
        with self.database.write() as connection:
            connection.execute(delete(leases).where(leases.c.owner == owner))

    def drop_expired(self) -> int:
        with self.database.write() as connection:
            return connection.execute(delete(leases).where(leases.c.expires < self.database.now(connection))).rowcount
