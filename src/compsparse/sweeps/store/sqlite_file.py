"""The file of a SQLite store: opened as its medium allows, still where it was, and whole."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, exc

from compsparse.errors import DataError, StoreError
from compsparse.sweeps.addresses import without_password
from compsparse.text import printable

_BUSY_SECONDS = 60
_MOST_PROBLEMS = 20
_OF_A_VALUE = re.compile(r"(NULL|NUMERIC|TEXT) value in .*")
"""What SQLite says of single values; rows are looked at one by one anyway."""


class SqliteFile:
    """One file that many connections share.

    Attributes:
        is_protected: whether it lies where nothing can be written.
    """

    def __init__(self, path: Path, *, create: bool):
        self.path = Path(os.path.realpath(path))
        self.name = printable(path if path.parent.is_dir() else without_password(str(path)))
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        try:
            self._check_place(path, create)
            self.is_protected = not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK))
            self._opened = self._whole_copy() if self.is_protected and self._has_log() else self.path
            self._identity = _identity(self.path)
        except OSError as error:
            raise StoreError(f"cannot open the store {self.name}: {error.strerror}") from None

    def _check_place(self, path: Path, create: bool) -> None:
        if path.is_dir():
            raise StoreError(f"cannot open the store {self.name}: it is a folder")
        if not path.parent.is_dir():
            folder = printable(without_password(str(path.parent)))
            raise StoreError(f"cannot open the store {self.name}: there is no folder {folder}")
        if path.exists() and not path.is_file():
            raise StoreError(f"cannot open the store {self.name}: it is no file, but a device or the like")
        if not path.is_file():
            if not create:
                raise DataError(f"there is no store {self.name}")
            path.touch()

    @property
    def files(self) -> list[Path]:
        """The database, its log and the index of that."""
        return [Path(f"{self.path}{tail}") for tail in ("", "-wal", "-shm")]

    def _has_log(self) -> bool:
        """Whether results wait in a log, as after a crash."""
        log = self.files[1]
        return log.exists() and log.stat().st_size > 0

    def _whole_copy(self) -> Path:
        """The file and its log where they can be brought together."""
        self._copy = tempfile.TemporaryDirectory(prefix="compsparse-store-")
        for file in self.files[:2]:
            shutil.copyfile(file, Path(self._copy.name) / file.name)
        return Path(self._copy.name) / self.path.name

    def connect(self) -> sqlite3.Connection:
        """A connection to the file that was there at first: one that has been deleted is not made again."""
        mode = "mode=ro&immutable=1" if self.is_protected and self._copy is None else "mode=rw"
        place = f"file:{quote(os.fsencode(self._opened))}?{mode}"
        connection = sqlite3.connect(place, uri=True, timeout=_BUSY_SECONDS, check_same_thread=False)
        if not self.is_protected:
            _log_ahead(connection)
        return connection

    def is_there(self) -> bool:
        """Whether the file that was opened still stands at its place; connections to a deleted one work on."""
        try:
            return _identity(self.path) == self._identity
        except OSError:
            return False

    def close(self) -> None:
        """Removes what was copied."""
        if self._copy is not None:
            self._copy.cleanup()


def problem_of(connection: Connection) -> str:
    """The first thing that SQLite finds wrong with pages, tables and indexes; nothing where they are whole."""
    try:
        told = connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST_PROBLEMS})").scalars().all()
    except exc.DatabaseError as error:
        return str(error.orig)
    found = [str(line) for line in told if line != "ok" and not _OF_A_VALUE.fullmatch(str(line))]
    return found[0].splitlines()[-1] if found else ""


def _identity(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Write-ahead log, so that readers and a writer do not wait for each other."""
    for attempt in range(50):
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:  # the change of mode does not wait for a lock
            if "locked" not in str(error) or attempt == 49:
                connection.close()
                raise
            time.sleep(0.05)
    connection.execute("PRAGMA synchronous=FULL")
