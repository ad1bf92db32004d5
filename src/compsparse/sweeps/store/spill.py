"""Spill files: where results go when their store cannot take them."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from compsparse.errors import DataError, StoreError
from compsparse.files import read_text
from compsparse.sweeps.records import Row, UnreadableResults
from compsparse.sweeps.store.database import Database
from compsparse.sweeps.store.results import Results
from compsparse.text import shell_word


class Spill:
    """JSON lines, each on the disk before the next, in the first folder that takes them."""

    def __init__(self, folders: Sequence[Path], store: str):
        name = f"compsparse-spill-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"
        folders = [*folders, Path.cwd(), Path.home(), Path(tempfile.gettempdir())]
        self._candidates = [folder / name for folder in dict.fromkeys(f.absolute() for f in folders)]
        self._store = store
        self.paths: list[Path] = []
        self.keys: set[str] = set()

    def put(self, row: Row) -> None:
        """Keeps a row in the first file that takes it."""
        line = (row.to_json() + "\n").encode()
        problems = []
        while self._candidates:
            path = self._candidates[0]
            try:
                _append(path, line)
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
            written = file.write(line)
            if written != len(line):
                raise OSError(28, "No space left on device")
            os.fsync(file.fileno())
        except OSError:
            file.truncate(end)
            raise


def import_spill(path: Path, results: Results) -> tuple[int, int]:
    """Brings a spill file or the file of another store in; returns how many results it holds and how many were new."""
    rows = _rows_of_store(path) if _is_database(path) else _rows_of_spill(path)
    present = {k for k, row in results.get(r.key for r in rows).items() if row.status == "done"}
    for row in rows:
        results.put(row)
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
        return file.read(len(_HEAD)) == _HEAD
    return False


_HEAD = b"SQLite format 3\0"


def _rows_of_store(path: Path) -> list[Row]:
    """What can be read of another store, which may be damaged."""
    rows: list[Row] = []
    with contextlib.closing(Database(path, read_only=True)) as database:
        try:
            rows.extend(Results(database).all())
        except StoreError as error:
            warnings.warn(f"the rest cannot be read: {error}", UnreadableResults, stacklevel=3)
    return rows
