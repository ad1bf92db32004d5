"""The results of a store: found by key, written once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlalchemy import delete, func, select

from compsparse.sweeps.records import Row, RunStatus
from compsparse.sweeps.store.database import Database, chunks, upsert
from compsparse.sweeps.store.schema import leases_table, results_table


@dataclass(frozen=True)
class Results:
    """Rows by key."""

    database: Database

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        """Those of the keys that have ended."""
        found: dict[str, Row] = {}
        with self.database.read() as connection:
            for part in chunks(list(keys)):
                for row in connection.execute(select(results_table).where(results_table.c.key.in_(part))).mappings():
                    found[row["key"]] = Row.from_columns(dict(row))
        return found

    def put(self, row: Row) -> None:
        """Keeps a result and ends its lease, in one transaction. A result that is there is not overwritten."""
        columns = row.to_columns()
        with self.database.write() as connection:
            statement = upsert(connection, results_table).values(columns)
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["key"], set_=columns, where=results_table.c.status == "failed"
                )
            )
            connection.execute(delete(leases_table).where(leases_table.c.key == row.key))

    def all(self, kind: str | None = None, status: RunStatus | None = None) -> Iterator[Row]:
        """The results in the order they ended."""
        query = select(results_table).order_by(results_table.c.finished, results_table.c.key)
        if kind is not None:
            query = query.where(results_table.c.kind == kind)
        if status is not None:
            query = query.where(results_table.c.status == status)
        with self.database.read() as connection:
            for row in connection.execute(query).mappings():
                yield Row.from_columns(dict(row))

    def counts(self) -> list[tuple[str, int, str, int, float]]:
        """(kind, version, status, how many, seconds) of what is there."""
        columns = (results_table.c.kind, results_table.c.version, results_table.c.status)
        query = select(*columns, func.count(), func.sum(results_table.c.seconds)).group_by(*columns).order_by(*columns)
        with self.database.read() as connection:
            return [(row[0], row[1], row[2], row[3], row[4]) for row in connection.execute(query)]

    def forget_failed(self, keys: Iterable[str] | None = None) -> int:
        """Removes failed results, so that they run again; returns how many."""
        statement = delete(results_table).where(results_table.c.status == "failed")
        with self.database.write() as connection:
            if keys is None:
                return connection.execute(statement).rowcount
            parts = (statement.where(results_table.c.key.in_(part)) for part in chunks(list(keys)))
            return sum(connection.execute(part).rowcount for part in parts)
