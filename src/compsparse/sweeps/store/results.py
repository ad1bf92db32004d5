"""The results of a store: found by key, written once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, delete, func, select

from compsparse.checks import check_choice
from compsparse.errors import ConfigError, DataError
from compsparse.sweeps.records import Row, RunStatus, warn_of
from compsparse.sweeps.store.database import Database, check_keys, chunks, upsert
from compsparse.sweeps.store.schema import leases_table, results_table


@dataclass(frozen=True)
class Results:
    """Rows by key. Those that cannot be read are named in a warning, :class:`~compsparse.sweeps.UnreadableResults`."""

    database: Database

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        """Those of the keys that have ended; one that cannot be read counts as failed, so that it can run again."""
        found: dict[str, Row] = {}
        broken: dict[str, str] = {}
        with self.database.read() as connection:
            for part in chunks(check_keys(keys)):
                for row in connection.execute(select(results_table).where(results_table.c.key.in_(part))).mappings():
                    try:
                        found[row["key"]] = Row.from_columns(dict(row))
                    except DataError as error:
                        broken[row["key"]] = str(error)
                        found[row["key"]] = Row.unreadable(row["key"], f"the store's row cannot be read: {error}")
        warn_of(broken, f"the store {self.database.name}")
        return found

    def put(self, row: Row) -> None:
        """Keeps a result and ends its lease, in one transaction. A result that is there is not overwritten."""
        if not isinstance(row, Row):
            raise ConfigError(f"a store keeps rows of results, got {row!r}")
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
        """The results in the order they ended; those that cannot be read are left out."""
        _check_filter(kind, status)
        query = select(results_table).order_by(results_table.c.finished, results_table.c.key)
        if kind is not None:
            query = query.where(results_table.c.kind == kind)
        if status is not None:
            query = query.where(results_table.c.status == status)
        return self._readable(query)

    def _readable(self, query: Select[Any]) -> Iterator[Row]:
        broken: dict[str, str] = {}
        with self.database.read() as connection:
            for row in connection.execute(query).mappings():
                try:
                    yield Row.from_columns(dict(row))
                except DataError as error:
                    broken[str(row["key"])] = str(error)
        warn_of(broken, f"the store {self.database.name}")

    def counts(self) -> list[tuple[str, int, str, int, float]]:
        """(kind, version, status, how many, seconds) of what is there, as it is marked: no row is read."""
        columns = (results_table.c.kind, results_table.c.version, results_table.c.status)
        query = select(*columns, func.count(), func.sum(results_table.c.seconds)).group_by(*columns).order_by(*columns)
        with self.database.read() as connection:
            return [(str(row[0]), row[1], str(row[2]), row[3], _seconds(row[4])) for row in connection.execute(query)]

    def forget_failed(self, keys: Iterable[str] | None = None) -> int:
        """Removes failed results, and those that cannot be read, so that they run again; returns how many."""
        with self.database.write() as connection:
            failed = [key for key, is_failed in self._ended(connection, keys) if is_failed]
            parts = (delete(results_table).where(results_table.c.key.in_(part)) for part in chunks(failed))
            return sum(connection.execute(part).rowcount for part in parts)

    def _ended(self, connection: Connection, keys: Iterable[str] | None) -> Iterator[tuple[str, bool]]:
        """Keys of what ended, and whether it failed or cannot be read."""
        for part in [None] if keys is None else chunks(check_keys(keys)):
            query = select(results_table)
            for row in connection.execute(
                query if part is None else query.where(results_table.c.key.in_(part))
            ).mappings():
                try:
                    yield row["key"], Row.from_columns(dict(row)).status == "failed"
                except DataError:
                    yield row["key"], True


def _check_filter(kind: Any, status: Any) -> None:
    if kind is not None and not isinstance(kind, str):
        raise ConfigError(f"kind must be the name of a kind of run, got {kind!r}")
    if status is not None:
        check_choice("status", status, ("done", "failed"))


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
