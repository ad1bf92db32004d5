"""Answers of a simulator in one SQLite file, so that an interrupted study goes on where it stood."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from compsparse.errors import StoreError
from compsparse.files import check_place

_FORMAT = "compsparse.answers/1"


class AnswerStore:
    """Answers by the row that was asked; one file holds the answers of one simulator.

    Raises:
        StoreError: the file cannot be opened, or holds something else, or answers of other inputs.
    """

    def __init__(self, path: str | Path, names: Sequence[str]):
        self.path = Path(check_place("store", path))
        try:
            self._file = sqlite3.connect(self.path)
            self._file.execute("CREATE TABLE IF NOT EXISTS about (format TEXT, names TEXT)")
            self._file.execute("CREATE TABLE IF NOT EXISTS answers (row BLOB PRIMARY KEY, answer BLOB)")
            about = self._file.execute("SELECT format, names FROM about").fetchone()
            if about is None:
                self._file.execute("INSERT INTO about VALUES (?, ?)", (_FORMAT, json.dumps(list(names))))
                self._file.commit()
        except sqlite3.Error as error:
            raise StoreError(f"cannot open the store {self.path}: {error}") from None
        if about is not None and (about[0] != _FORMAT or json.loads(about[1]) != list(names)):
            known = ", ".join(json.loads(about[1])) if about[0] == _FORMAT else "something else"
            raise StoreError(f"the store {self.path} holds answers of {known}: name another file for these inputs")

    def known(self, rows: np.ndarray) -> list[np.ndarray | None]:
        """The answer to every row that was asked before."""
        found: list[np.ndarray | None] = []
        for row in rows:
            entry = self._file.execute("SELECT answer FROM answers WHERE row = ?", (_key(row),)).fetchone()
            found.append(None if entry is None else np.frombuffer(entry[0], dtype="<f8"))
        return found

    def keep(self, rows: np.ndarray, answers: Sequence[np.ndarray]) -> None:
        """Writes answers; once this returns they survive a crash."""
        entries = [(_key(row), answer.astype("<f8").tobytes()) for row, answer in zip(rows, answers, strict=True)]
        try:
            with self._file:
                self._file.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", entries)
        except sqlite3.Error as error:
            raise StoreError(f"cannot write to the store {self.path}: {error}") from None

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def _key(row: np.ndarray) -> bytes:
    return (row.astype("<f8") + 0.0).tobytes()  # -0 is 0
