"""A connection to SQLite or PostgreSQL whose errors are sentences."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, create_engine, event, exc, func, insert, inspect, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, Engine, make_url

from compsparse.checks import check_flag
from compsparse.errors import ConfigError, StoreError, StoreUnreachableError
from compsparse.files import check_place
from compsparse.optional import needs
from compsparse.sweeps.addresses import hidden_in, without_password
from compsparse.sweeps.records import UnreadableResults
from compsparse.sweeps.store.schema import SCHEMA_VERSION, meta_table, metadata
from compsparse.sweeps.store.sqlite_file import SqliteFile, problem_of
from compsparse.text import printable, shell_word

_CREATE_LOCK = 0x636F6D70  # any number, the same in every process


class Database:
    """Where a store lives: a path of a SQLite file, or the URL of a PostgreSQL database.

    Attributes:
        read_only: whether nothing is written, because so it was asked, or because the file's medium takes nothing.
    """

    def __init__(self, place: str | Path, create: bool = True, read_only: bool = False):
        check_flag("create", create)
        check_flag("read_only", read_only)
        check_place("the place of a store", place)
        self._place = os.fspath(place)
        url = _url(self._place)
        self.name = printable(without_password(self._place))
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self._file: SqliteFile | None = None
        if self.is_sqlite and url.database != ":memory:":
            self._file = SqliteFile(Path(str(url.database)), create=create and not read_only)
            self.name = self._file.name
        self._is_asked_to_read, self._problem = read_only, None if self.is_sqlite else ""
        self.read_only = read_only or (self._file is not None and self._file.is_protected)
        self._engine = self._connected(url)
        try:
            self._check_schema()
        except BaseException:
            self.close()
            raise

    def _connected(self, url: URL) -> Engine:
        if not self.is_sqlite:
            return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 10})
        creator = {} if self._file is None else {"creator": self._file.connect}
        engine = create_engine(url, pool_pre_ping=True, **creator)
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
        return engine

    def _check_schema(self) -> None:
        version = self._schema_version()
        if version is None and self.read_only:
            raise StoreError(f"{self.name} holds no store of compsparse")
        if version is None:
            self._create()
            version = self._schema_version()
        if version is None or not version.isdecimal() or int(version) < 1:
            raise StoreError(
                f"the store {self.name} has a strange schema, {version!r}: it was damaged, or made by something else"
            )
        if int(version) != SCHEMA_VERSION:
            remedy = "install a newer compsparse" if int(version) > SCHEMA_VERSION else "take a new store"
            raise StoreError(
                f"the store {self.name} has schema {int(version)}, this compsparse reads {SCHEMA_VERSION}: {remedy}"
            )

    def _schema_version(self) -> str | None:
        with self.read() as connection:
            if meta_table.name not in inspect(connection).get_table_names():
                return None
            query = select(meta_table.c.value).where(meta_table.c.name == "schema_version")
            return str(connection.scalar(query))[:20]

    def _create(self) -> None:
        with self.write() as connection:
            if not self.is_sqlite:  # two processes may both find that it has to be done
                connection.execute(select(func.pg_advisory_xact_lock(_CREATE_LOCK)))
            tables = inspect(connection).get_table_names()
            if meta_table.name in tables:
                return
            if self.is_sqlite and tables:
                raise StoreError(f"{self.name} is a database, but no store of compsparse: it holds other tables")
            metadata.create_all(connection)
            connection.execute(insert(meta_table).values(name="schema_version", value=str(SCHEMA_VERSION)))

    def check_whole(self) -> None:
        """Looks once whether the file of a SQLite store is whole, its indexes too; SQLite itself would not notice.

        Raises:
            StoreError: it is damaged. Where the store is only to be read, it is a warning.
        """
        if self._problem is None:
            with self.read() as connection:
                self._problem = printable(problem_of(connection))
        if not self._problem:
            return
        problem = f"the store {self.name} is damaged ({self._problem})"
        if not self._is_asked_to_read:
            rescue = f"`compsparse store import {shell_word(self._place)} --store NEW.sqlite`"
            raise StoreError(f"{problem}: {rescue} brings what can be read of it into a new store")
        warnings.warn(f"{problem}: results may be missing here", UnreadableResults, stacklevel=2)

    def is_damaged(self) -> bool:
        """Whether a damage was found; the indexes of a damaged file may lie."""
        return bool(self._problem)

    @property
    def files(self) -> list[Path]:
        """The files of a SQLite store: the database, its log and the index of that."""
        return [] if self._file is None else self._file.files

    @property
    def folder(self) -> Path:
        """The folder of a SQLite store; for others, that of the process."""
        return self.files[0].parent if self.files else Path()

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that only reads."""
        with self._sentences(), self._engine.connect().execution_options(compsparse_reads=True) as connection:
            yield connection
        self._check_there()

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction."""
        if self.read_only:
            raise StoreError(f"the store {self.name} cannot be written to: {self._why_protected()}")
        with self._sentences(), self._engine.begin() as connection:
            yield connection
        self._check_there()

    def _why_protected(self) -> str:
        if self._file is not None and self._file.is_protected:
            return "it is on a medium or in a folder that is read-only; copy it to where it can be written"
        return "it was opened to be read only"

    def _check_there(self) -> None:
        if self._file is not None and not self._file.is_there():
            raise StoreError(f"the store {self.name} was deleted or replaced while it was in use")

    def now(self, connection: Connection) -> float:
        """The time: of the server, or of this machine where the store is a file."""
        if self.is_sqlite:
            return time.time()
        return float(connection.scalar(select(func.extract("epoch", func.clock_timestamp()))) or 0.0)

    def compact(self) -> None:
        """Gives free space back."""
        self.check_whole()
        with self._sentences(), self._engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("VACUUM"))

    def close(self) -> None:
        """Ends all connections."""
        self._engine.dispose()
        if self._file is not None:
            self._file.close()

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except exc.DBAPIError as error:
            problem = hidden_in(_first_line(error.orig), self._place)
            raise _told(self.name, problem, error.connection_invalidated) from error
        except (exc.SQLAlchemyError, sqlite3.Error) as error:
            problem = hidden_in(_first_line(error), self._place)
            raise StoreError(f"the store {self.name} failed: {problem}") from error
        except UnicodeDecodeError as error:  # of SQLite's own message about a name that is no text any more
            raise StoreError(f"the store {self.name} is damaged: its tables have names that are no texts") from error


def _url(place: str) -> URL:
    if "://" not in place and place != ":memory:":
        return URL.create("sqlite", database=place)
    try:
        url = make_url(place)
    except (exc.ArgumentError, ValueError):
        shown = printable(without_password(place))
        raise ConfigError(f"cannot read the address of the store {shown!r}") from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        needs("psycopg", "stores in PostgreSQL", "postgres")
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database and not url.query:
        return url
    raise ConfigError(f"a store is a path or postgresql://…, got {printable(without_password(place))!r}")


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where _begin says
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")  # a broken text is one broken row


def _begin(connection: Connection) -> None:
    # a transaction that will write takes its lock at once: taken later, it could be refused without waiting
    reads = connection.get_execution_options().get("compsparse_reads", False)
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _told(name: str, problem: str, is_cut_off: bool) -> StoreError:
    if "file is not a database" in problem:
        return StoreError(f"{name} is not a database")
    if "unable to open" in problem:
        return StoreError(f"cannot open the store {name}: {problem}")
    if "is full" in problem or "No space left" in problem:
        return StoreError(f"the store {name} is full: {problem}")
    if _OTHER_TABLES.search(problem):
        return StoreError(f"the store {name} was damaged, or made by something else: {problem}")
    if is_cut_off or (any(w in problem.lower() for w in _AWAY) and not any(w in problem for w in _REFUSED)):
        return StoreUnreachableError(f"cannot reach the store {name}: {problem}")
    return StoreError(f"the store {name} failed: {problem}")


_OTHER_TABLES = re.compile(r"no such (table|column)|(relation|column) .* does not exist")
_AWAY = ("connect", "resolve", "shutting down", "starting up", "terminating")
_REFUSED = ("authentication failed", "does not exist", "no password supplied", "no pg_hba.conf entry")
"""What a server that is there says; to wait would not help."""


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


_Item = TypeVar("_Item")


def chunks(items: Sequence[_Item], size: int = 500) -> Iterator[Sequence[_Item]]:
    """Parts of a list that fit into one statement."""
    for first in range(0, len(items), size):
        yield items[first : first + size]
