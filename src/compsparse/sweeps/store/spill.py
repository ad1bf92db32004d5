"""Spill files: where results go when their store cannot take them."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from compsparse.errors import DataError, StoreError
from compsparse.files import read_text
from compsparse.sweeps.records import Row
from compsparse.sweeps.store.results import Results


class Spill:
    """JSON lines, each on the disk before the next, in the first folder that takes them."""

    def __init__(self, folders: Sequence[Path], store: str):
        name = f"compsparse-spill-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"
        folders = [*folders, Path.cwd(), Path.home(), Path(tempfile.gettempdir())]
        self._candidates = [folder / name for folder in dict.fromkeys(f.absolute() for f in folders)]
        self._store = store
        self.paths: list[Path] = []
        self.n_rows = 0

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
            self.n_rows += 1
            return
        raise StoreError(f"a result could be kept nowhere ({'; '.join(problems)}); it was {row.to_json()}")

    def sentence(self) -> str:
        """Where the rows are and how to bring them in, for the user."""
        if not self.paths:
            return "no result was waiting to be kept"
        files = " ".join(str(p) for p in self.paths)
        return (
            f"{self.n_rows} results are kept in {files}: when the store is well again, "
            f"run `compsparse store import {files} --store '{self._store}'`"
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
    """Brings a spill file into a store; returns how many results it holds and how many were new."""
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        try:
            rows.append(Row.from_json(line))
        except DataError as error:
            raise DataError(f"{path}, line {number}: {error}") from None
    present = {k for k, row in results.get(r.key for r in rows).items() if row.status == "done"}
    for row in rows:
        results.put(row)
    return len(rows), len({r.key for r in rows} - present)
