"""The results of a store: found by key, written once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, delete, select
from sqlalchemy.exc import SQLAlchemyError

from compsparse.checks import check_choice
from compsparse.digest import SEAL
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
        self.database.check_whole()
        found: dict[str, Row] = {}
        broken: dict[str, str] = {}
        with self.database.read() as connection:
            for part in chunks(check_keys(keys)):
                for row in connection.execute(self._query.where(results_table.c.key.in_(part))).mappings():
                    try:
                        found[row["key"]] = Row.from_columns(dict(row))
                    except DataError as error:
                        broken[row["key"]] = str(error)
                        found[row["key"]] = Row.unreadable(row["key"], f"the store's row cannot be read: {error}")
        warn_of(broken, f"the store {self.database.name}")
        return found

    @property
    def _query(self) -> Select[Any]:
        """All columns that there are."""
        return select(*(c for c in results_table.c if c.name != SEAL or self.database.has_digests))

    def keys(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys that have ended, however they can be read."""
        with self.database.read() as connection:
            parts = (results_table.c.key.in_(part) for part in chunks(check_keys(keys)))
            return {key for part in parts for key in connection.scalars(select(results_table.c.key).where(part))}

    def put(self, row: Row) -> bool:
        """Keeps a result and ends its lease, in one transaction. A result that is there is not overwritten.

        Returns whether the store has this row now, and not one that another driver put.
        """
        if not isinstance(row, Row):
            raise ConfigError(f"a store keeps rows of results, got {row!r}")
        self.database.check_whole()
        columns = row.to_columns()
        with self.database.write() as connection:
            statement = upsert(connection, results_table).values(columns)
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["key"], set_=columns, where=results_table.c.status == "failed"
                )
            )
            connection.execute(delete(leases_table).where(leases_table.c.key == row.key))
            kept = connection.scalar(select(results_table.c.digest).where(results_table.c.key == row.key))
            return bool(kept == columns[SEAL])

    def all(self, kind: str | None = None, status: RunStatus | None = None) -> Iterator[Row]:
        """The results in the order they ended; those that cannot be read are left out.

        All are read, whichever are asked for: what is damaged may be marked as another kind or status.
        """
        _check_filter(kind, status)
        self.database.check_whole()
        for row in self._readable():
            if kind in (None, row.kind) and status in (None, row.status):
                yield row

    def _readable(self) -> Iterator[Row]:
        """Rows as they lie in the table, without its indexes."""
        broken: dict[str, str] = {}
        query = self._query.with_hint(results_table, "NOT INDEXED", "sqlite")
        if not self.database.is_damaged():  # else rows come as they lie, up to where the file cannot be read
            query = query.order_by(results_table.c.finished, results_table.c.key)
        with self.database.read() as connection:
            lost = self._indexed(connection) if self.database.is_damaged() else set()
            for row in connection.execute(query).mappings():
                lost.discard(row["key"])
                try:
                    yield Row.from_columns(dict(row))
                except DataError as error:
                    broken[str(row["key"])] = str(error)
        warn_of(
            broken | {str(key): "the index names it, but it is not there" for key in lost},
            f"the store {self.database.name}",
        )

    def _indexed(self, connection: Connection) -> set[str]:
        """All keys by the index, which may know some that the table of a damaged file has lost."""
        index = "INDEXED BY sqlite_autoindex_compsparse_results_1"
        query = select(results_table.c.key).with_hint(results_table, index, "sqlite")
        try:
            return set(connection.scalars(query))
        except SQLAlchemyError:
            return set()  # then the index is what is damaged

    def counts(self) -> list[tuple[str, int, str, int, float]]:
        """(kind, version, status, how many, seconds) of the results that can be read."""
        found: dict[tuple[str, int, str], list[float]] = {}
        for row in self.all():
            found.setdefault((row.kind, row.version, row.status), []).append(row.seconds)
        return [(*name, len(seconds), sum(seconds)) for name, seconds in sorted(found.items())]

    def forget_failed(self, keys: Iterable[str] | None = None) -> int:
        """Removes failed results, and those that cannot be read, so that they run again; returns how many."""
        self.database.check_whole()
        with self.database.write() as connection:
            failed = [key for key, is_failed in self._ended(connection, keys) if is_failed]
            parts = (delete(results_table).where(results_table.c.key.in_(part)) for part in chunks(failed))
            return sum(connection.execute(part).rowcount for part in parts)

    def _ended(self, connection: Connection, keys: Iterable[str] | None) -> Iterator[tuple[str, bool]]:
        """Keys of what ended, and whether it failed or cannot be read."""
        for part in [None] if keys is None else chunks(check_keys(keys)):
            query = self._query if part is None else self._query.where(results_table.c.key.in_(part))
            for row in connection.execute(query).mappings():
                try:
                    yield row["key"], Row.from_columns(dict(row)).status == "failed"
                except DataError:
                    yield row["key"], True


def _check_filter(kind: Any, status: Any) -> None:
    if kind is not None and not isinstance(kind, str):
        raise ConfigError(f"kind must be the name of a kind of run, got {kind!r}")
    if status is not None:
        check_choice("status", status, ("done", "failed"))
