"""How a text file holds its table: its encoding, what separates its cells, and the decimal sign of its numbers."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from compsparse.errors import DataError

SEPARATORS = (",", ";", "\t", "|")
_SAMPLE = 200_000
_MOST_LINES = 100
_POINT = re.compile(r"[-+]?\d+\.\d+")
_COMMA = re.compile(r"[-+]?\d+(?:\.\d{3})*,\d+")
_AMBIGUOUS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}


@dataclass(frozen=True)
class TextFormat:
    """How a text file is read; what is None is found out.

    Attributes:
        sep: between cells.
        decimal: "." or ",".
        encoding: by Python's name, such as ``cp1252``.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __str__(self) -> str:
        sep = _WORDS.get(self.sep or "", repr(self.sep))
        return f"separated by {sep}, decimal {'commas' if self.decimal == ',' else 'points'}, {self.encoding}"


def format_of(path: Path, wanted: TextFormat) -> TextFormat:
    """How a text file is to be read: as wanted, the rest by its first 200,000 bytes.

    Raises:
        DataError: it is empty, or holds bytes that its encoding does not have.
    """
    start = _start_of(path)
    if not start.strip():
        raise DataError(f"cannot read {path.name}: the file is empty")
    encoding = wanted.encoding or _encoding_of(start)
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start)
    except LookupError:
        raise DataError(f"there is no encoding {encoding!r}: name one that Python knows, such as cp1252") from None
    except UnicodeError:
        raise DataError(
            f"cannot read {path.name}: it is not written in {encoding}; name another (--encoding cp1252, utf-16, …)"
        ) from None
    if "\0" in text:
        raise DataError(f"cannot read {path.name}: it is no text")
    # the last line may be cut
    lines = [line for line in text.splitlines()[: _MOST_LINES + 1] if line.strip()]
    lines = lines[:-1] if len(start) >= _SAMPLE and len(lines) > 1 else lines[:_MOST_LINES]
    sep = wanted.sep or _separator_of(lines)
    return replace(wanted, encoding=encoding, sep=sep, decimal=wanted.decimal or _decimal_of(lines, sep))


def is_packed(path: Path) -> bool:
    """Whether a file is packed by gzip, whatever its name."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _start_of(path: Path) -> bytes:
    try:
        with gzip.open(path, "rb") if is_packed(path) else path.open("rb") as file:
            return bytes(file.read(_SAMPLE))
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {path.name}: {error or type(error).__name__}") from None


def _encoding_of(start: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    zeros = [start[i::2].count(0) for i in (0, 1)]
    if max(zeros) > len(start) / 8:  # every other byte of most letters
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _separator_of(lines: list[str]) -> str:
    """What splits most lines into as many cells as the first line has; commas where nothing does."""

    def agreement(sep: str) -> tuple[float, int]:
        rows = list(csv.reader(lines, delimiter=sep))
        width = len(rows[0])
        return (sum(len(row) == width for row in rows) / len(rows), width) if width > 1 else (0.0, 0)

    best = max(SEPARATORS, key=agreement)
    return best if agreement(best)[1] else ","


def _decimal_of(lines: list[str], sep: str) -> str:
    """A comma where cells hold numbers with one and more of them than with a point."""
    cells = Counter(cell.strip() for row in csv.reader(lines[1:], delimiter=sep) for cell in row)
    numbers = {cell: n for cell, n in cells.items() if _COMMA.match(cell) or _POINT.match(cell)}
    commas = sum(n for cell, n in numbers.items() if _COMMA.match(cell) and (sep == ";" or not _AMBIGUOUS.match(cell)))
    points = sum(
        n for cell, n in numbers.items() if _POINT.fullmatch(cell) or re.match(r"[-+]?\d+(?:,\d{3})+\.\d", cell)
    )
    return "," if commas > points else "."
