"""Stores that an earlier version made, brought up to date when they are opened to be written to."""

from __future__ import annotations

import time

from sqlalchemy import Connection, bindparam, column, inspect, select, table, text, update

from compsparse.digest import SEAL, sealed
from compsparse.errors import DataError, StoreError
from compsparse.sweeps.records import Row
from compsparse.sweeps.store.database import Database, chunks
from compsparse.sweeps.store.leases import is_gone
from compsparse.sweeps.store.schema import SCHEMA_VERSION, leases_table, meta_table, results_table

_OLD_LEASES = table(leases_table.name, column("owner"), column("expires"))


def migrate(database: Database) -> None:
    """From schema 1: results get digests, and leases, which held by the clock, a sign of life."""
    with database.write() as connection:
        database.lock(connection)
        if SEAL in {c["name"] for c in inspect(connection).get_columns(results_table.name)}:
            return  # another process was first
        _check_idle(database, connection)
        connection.execute(text(f"ALTER TABLE {results_table.name} ADD COLUMN {SEAL} VARCHAR(64)"))
        _seal_rows(connection)
        leases_table.drop(connection)
        leases_table.create(connection)
        version = update(meta_table).where(meta_table.c.name == "schema_version")
        connection.execute(version.values(value=str(SCHEMA_VERSION)))


def _check_idle(database: Database, connection: Connection) -> None:
    """Drivers of an earlier version do not know the new leases: they must end first."""
    old = connection.execute(select(_OLD_LEASES.c.owner, _OLD_LEASES.c.expires)).all()
    held = [expires for owner, expires in old if not is_gone(str(owner))]
    left = max(held, default=0.0) - database.now(connection)
    if left > 0:
        until = time.strftime("%d %B, %H:%M", time.localtime(time.time() + left))
        raise StoreError(
            f"an earlier version of compsparse is running a sweep on the store {database.name}: end it first, or if "
            f"it died wait until {until}"
        )


def _seal_rows(connection: Connection) -> None:
    """Digests for the rows whose keys fit their content; the others stay without, and are named when they are read."""
    keys = list(connection.scalars(select(results_table.c.key)))
    names = [c for c in results_table.c if c.name != SEAL]
    for part in chunks(keys):
        digests = []
        for row in connection.execute(select(*names).where(results_table.c.key.in_(part))).mappings():
            try:
                Row.from_columns(dict(row))
            except DataError:
                continue
            digests.append({"this_key": row["key"], "its_digest": sealed(dict(row))[SEAL]})
        if digests:
            sealing = update(results_table).where(results_table.c.key == bindparam("this_key"))
            connection.execute(sealing.values(digest=bindparam("its_digest")), digests)
