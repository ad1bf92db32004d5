"""The results of a store: found by key, written once, and brought in from files and from other stores."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, delete, select
from sqlalchemy.exc import SQLAlchemyError

from compsparse.checks import check_choice, check_kind, check_text
from compsparse.digest import SEAL
from compsparse.errors import DataError, StoreError
from compsparse.files import read_text
from compsparse.sweeps.records import Row, RunStatus, UnreadableResults, warn_of
from compsparse.sweeps.store.database import Database, check_keys, chunks, upsert
from compsparse.sweeps.store.schema import leases_table, results_table
from compsparse.text import shell_word


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
            for key, row in self._rows(connection, keys):
                if isinstance(row, DataError):
                    broken[key] = str(row)
                    found[key] = Row.unreadable(key, f"the store's row cannot be read: {row}")
                else:
                    found[key] = row
        self._warn_of(broken)
        return found

    def _rows(self, connection: Connection, keys: Iterable[str] | None) -> Iterator[tuple[str, Row | DataError]]:
        """Keys with their rows, or with what is wrong with them; of all there are, as they lie in the table."""
        if keys is None:
            query = select(results_table).with_hint(results_table, "NOT INDEXED", "sqlite")
            if not self.database.is_damaged():  # else rows come as they lie, up to where the file cannot be read
                query = query.order_by(results_table.c.finished, results_table.c.key)
            queries = [query]
        else:
            queries = [select(results_table).where(results_table.c.key.in_(part)) for part in chunks(check_keys(keys))]
        for query in queries:
            for row in connection.execute(query).mappings():
                try:
                    yield row["key"], Row.from_columns(dict(row))
                except DataError as error:
                    yield str(row["key"]), error

    def _warn_of(self, broken: dict[str, str]) -> None:
        warn_of(broken, f"the store {self.database.name}")

    def keys(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys that have ended, however they can be read."""
        with self.database.read() as connection:
            parts = (results_table.c.key.in_(part) for part in chunks(check_keys(keys)))
            return {key for part in parts for key in connection.scalars(select(results_table.c.key).where(part))}

    def put(self, row: Row) -> bool:
        """Keeps a result and ends its lease, in one transaction. A result that is there is not overwritten.

        Returns whether the store has this row now, and not one that another driver put.
        """
        check_kind("row", row, Row)
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
        if kind is not None:
            check_text("kind", kind)
        if status is not None:
            check_choice("status", status, ("done", "failed"))
        self.database.check_whole()
        broken: dict[str, str] = {}
        with self.database.read() as connection:
            lost = self._indexed(connection) if self.database.is_damaged() else set()
            for key, row in self._rows(connection, None):
                lost.discard(key)
                if isinstance(row, DataError):
                    broken[key] = str(row)
                elif kind in (None, row.kind) and status in (None, row.status):
                    yield row
        self._warn_of(broken | {str(key): "the index names it, but it is not there" for key in lost})

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
            rows = self._rows(connection, keys)
            failed = [key for key, row in rows if isinstance(row, DataError) or row.status == "failed"]
            parts = (delete(results_table).where(results_table.c.key.in_(part)) for part in chunks(failed))
            return sum(connection.execute(part).rowcount for part in parts)

    def bring_in(self, path: Path) -> tuple[int, int]:
        """Takes a spill file or the file of another store; returns how many results it holds, how many were new."""
        rows = _rows_of_store(path) if _is_database(path) else _rows_of_spill(path)
        present = {k for k, row in self.get(r.key for r in rows).items() if row.status == "done"}
        for row in rows:
            self.put(row)
        return len(rows), len({r.key for r in rows} - present)


def _rows_of_spill(path: Path) -> list[Row]:
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        try:
            rows.append(Row.from_json(line))
        except DataError as error:
            raise DataError(f"{path}, line {number}: {error}") from None
    return rows


def _is_database(path: Path) -> bool:
    with contextlib.suppress(OSError), path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"
    return False


def _rows_of_store(path: Path) -> list[Row]:
    """What can be read of another store, which may be damaged."""
    rows: list[Row] = []
    with contextlib.closing(Database(path, read_only=True)) as database:
        try:
            rows.extend(Results(database).all())
        except StoreError as error:
            warnings.warn(f"the rest cannot be read: {error}", UnreadableResults, stacklevel=3)
    return rows


# ---- what a store could not take -----------------------------------------------------------------


class Spill:
    """A file of JSON lines, each on the disk before the next, in the first folder that takes them."""

    def __init__(self, folders: Sequence[Path], store: str):
        name = f"compsparse-spill-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"
        folders = [*folders, Path.cwd(), Path.home(), Path(tempfile.gettempdir())]
        self._candidates = [folder / name for folder in dict.fromkeys(f.absolute() for f in folders)]
        self._store = store
        self.paths: list[Path] = []
        self.keys: set[str] = set()

    def put(self, row: Row) -> None:
        """Keeps a row in the first file that takes it."""
        problems = []
        while self._candidates:
            path = self._candidates[0]
            try:
                _append(path, (row.to_json() + "\n").encode())
            except OSError as error:
                problems.append(f"{path}: {error.strerror}")
                self._candidates.pop(0)
                continue
            if path not in self.paths:
                self.paths.append(path)
            self.keys.add(row.key)
            return
        raise StoreError(f"a result could be kept nowhere ({'; '.join(problems)}); it was {row.to_json()}")

    def sentence(self) -> str:
        """Where the rows are and how to bring them in, for the user."""
        if not self.paths:
            return "no result was waiting to be kept"
        files = " ".join(shell_word(path) for path in self.paths)
        return (
            f"{len(self.keys)} results are kept in {files}: when the store is well again, "
            f"run `compsparse store import {files} --store {shell_word(self._store)}`"
        )


def _append(path: Path, line: bytes) -> None:
    """Adds a whole line or nothing."""
    with path.open("ab", buffering=0) as file:
        end = file.tell()
        try:
            if file.write(line) != len(line):
                raise OSError(28, "No space left on device")
            os.fsync(file.fileno())
        except OSError:
            file.truncate(end)
            raise
