"""A connection to SQLite or PostgreSQL whose errors are sentences."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, create_engine, event, exc, func, insert, inspect, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.reflection import Inspector

from compsparse.checks import check_flag
from compsparse.errors import ConfigError, DataError, StoreError, StoreUnreachableError
from compsparse.files import check_place
from compsparse.optional import needs
from compsparse.sweeps.store.schema import SCHEMA_VERSION, meta_table, metadata
from compsparse.text import printable

_BUSY_SECONDS = 60
_CREATE_LOCK = 0x636F6D70  # any number, the same in every process


class Database:
    """Where a store lives: a path of a SQLite file, or the URL of a PostgreSQL database."""

    def __init__(self, place: str | Path, create: bool = True):
        check_flag("create", create)
        check_place("the place of a store", place)
        url = _url(os.fspath(place))
        self.name = printable(without_password(os.fspath(place)))
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.folder = Path(str(url.database)).parent if self.is_sqlite else Path()
        if self.is_sqlite:
            self._check_path(Path(str(url.database)), create)
        self._engine = create_engine(url, pool_pre_ping=True, connect_args=_arguments(self.is_sqlite))
        if self.is_sqlite:
            event.listen(self._engine, "connect", _prepare)
            event.listen(self._engine, "begin", _begin)
        try:
            self._check_schema()
        except BaseException:
            self.close()
            raise

    def _check_path(self, path: Path, create: bool) -> None:
        name = printable(path)
        try:
            if path.is_dir():
                raise StoreError(f"cannot open the store {name}: it is a folder")
            if not path.parent.is_dir():
                raise StoreError(f"cannot open the store {name}: there is no folder {printable(path.parent)}")
            if path.exists() and not path.is_file():
                raise StoreError(f"cannot open the store {name}: it is no file, but a device or the like")
            if not create and not path.is_file():
                raise DataError(f"there is no store {name}")
        except OSError as error:
            raise StoreError(f"cannot open the store {name}: {error.strerror}") from None

    def _check_schema(self) -> None:
        version = self._schema_version()
        if version is None:
            self._create()
            version = self._schema_version()
        if version is None or not version.isdecimal() or int(version) < 1:
            raise StoreError(
                f"the store {self.name} has a strange schema, {version!r}: it was damaged, or made by something else"
            )
        if int(version) > SCHEMA_VERSION:
            raise StoreError(
                f"the store {self.name} has schema {int(version)}, this compsparse reads up to {SCHEMA_VERSION}: "
                "install a newer compsparse"
            )
        self._check_columns()

    def _schema_version(self) -> str | None:
        with self.read() as connection:
            if meta_table.name not in inspect(connection).get_table_names():
                return None
            _check_holds(self.name, inspect(connection), meta_table)
            query = select(meta_table.c.value).where(meta_table.c.name == "schema_version")
            return str(connection.scalar(query))[:20]

    def _check_columns(self) -> None:
        with self.read() as connection:
            for table in metadata.sorted_tables:
                _check_holds(self.name, inspect(connection), table)

    def _create(self) -> None:
        with self.write() as connection:
            if not self.is_sqlite:  # two processes may both find no tables and make them
                connection.execute(select(func.pg_advisory_xact_lock(_CREATE_LOCK)))
            tables = inspect(connection).get_table_names()
            if meta_table.name in tables:
                return
            if self.is_sqlite and tables:
                raise StoreError(f"{self.name} is a database, but no store of compsparse: it holds other tables")
            metadata.create_all(connection)
            connection.execute(insert(meta_table).values(name="schema_version", value=str(SCHEMA_VERSION)))

    @property
    def files(self) -> list[Path]:
        """The files of a SQLite store: the database, its log and the index of that."""
        database = self._engine.url.database
        return [Path(f"{database}{tail}") for tail in ("", "-wal", "-shm")] if self.is_sqlite else []

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that only reads."""
        with self._sentences(), self._engine.connect().execution_options(compsparse_reads=True) as connection:
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction."""
        with self._sentences(), self._engine.begin() as connection:
            yield connection

    def now(self, connection: Connection) -> float:
        """The time by the one clock that all who share the store see."""
        if self.is_sqlite:
            return time.time()
        return float(connection.scalar(select(func.extract("epoch", func.clock_timestamp()))) or 0.0)

    def compact(self) -> None:
        """Gives free space back."""
        with self._sentences(), self._engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("VACUUM"))

    def close(self) -> None:
        """Ends all connections."""
        self._engine.dispose()

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except exc.DBAPIError as error:
            raise _told(self.name, error) from error
        except (exc.SQLAlchemyError, sqlite3.Error) as error:
            raise StoreError(f"the store {self.name} failed: {_first_line(error)}") from error


def _check_holds(name: str, inspector: Inspector, table: Table) -> None:
    there = {c["name"] for c in inspector.get_columns(table.name)} if inspector.has_table(table.name) else set()
    missing = [column.name for column in table.columns if column.name not in there]
    if missing:
        raise StoreError(
            f"the store {name} was damaged, or made by something else: its table {table.name} has no {missing[0]}"
        )


def without_password(place: str) -> str:
    """The place of a store as it may be printed."""
    return place if "://" not in place else make_url(place).render_as_string(hide_password=True)


def _url(place: str) -> URL:
    if "://" not in place and place != ":memory:":
        return URL.create("sqlite", database=place)
    try:
        url = make_url(place)
    except (exc.ArgumentError, ValueError):
        raise ConfigError(f"cannot read the address of the store {printable(place)!r}") from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        needs("psycopg", "stores in PostgreSQL", "postgres")
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database and url.database != ":memory:" and not url.query:
        return url
    raise ConfigError(f"a store is a path or postgresql://…, got {url.render_as_string(hide_password=True)!r}")


def _arguments(is_sqlite: bool) -> dict[str, Any]:
    return {"timeout": _BUSY_SECONDS} if is_sqlite else {"connect_timeout": 10}


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    """Write-ahead log, so that readers and a writer do not wait for each other."""
    connection.isolation_level = None  # transactions begin where _begin says
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")  # a broken text is one broken row
    for attempt in range(50):
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:  # the change of mode does not wait for a lock
            if "locked" not in str(error) or attempt == 49:
                raise
            time.sleep(0.05)
    connection.execute("PRAGMA synchronous=FULL")


def _begin(connection: Connection) -> None:
    # a transaction that will write takes its lock at once: taken later, it could be refused without waiting
    reads = connection.get_execution_options().get("compsparse_reads", False)
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _told(name: str, error: exc.DBAPIError) -> StoreError:
    problem = _first_line(error.orig)
    if "file is not a database" in problem:
        return StoreError(f"{name} is not a database")
    if "unable to open" in problem:
        return StoreError(f"cannot open the store {name}: {problem}")
    if "is full" in problem or "No space left" in problem:
        return StoreError(f"the store {name} is full: {problem}")
    away = ("connect", "resolve", "shutting down", "starting up", "terminating")
    if error.connection_invalidated or any(word in problem.lower() for word in away):
        return StoreUnreachableError(f"cannot reach the store {name}: {problem}")
    return StoreError(f"the store {name} failed: {problem}")


def _first_line(error: BaseException | None) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


# ---- statements of both databases ----------------------------------------------------------------


def upsert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert that can say what happens on a conflict: both spell it alike, but SQLAlchemy keeps them apart."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def check_keys(keys: Any) -> list[str]:
    """Keys of runs, as texts."""
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
        raise ConfigError(f"keys must be texts, several of them, got {keys!r}")
    found = list(keys)
    for key in found:
        if not isinstance(key, str):
            raise ConfigError(f"the key of a run must be a text, got {key!r}")
    return found


def chunks(keys: Sequence[str], size: int = 500) -> Iterator[Sequence[str]]:
    """Parts of a list of keys that fit into one statement."""
    for first in range(0, len(keys), size):
        yield keys[first : first + size]
