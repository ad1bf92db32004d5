"""Files: written whole or not at all, and checked for their place before long work begins."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from compsparse.errors import ConfigError, DataError


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path that becomes ``path`` only if the block succeeds."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Writes a text file whole or not at all, and returns its path."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file.

    Raises:
        DataError: there is no such file, or it holds no text.
    """
    source = Path(path)
    if not source.is_file():
        raise DataError(f"there is no file {source}")
    try:
        return source.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{source} is not a text file") from None


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The path, if a file can stand there.

    Raises:
        ConfigError: its folder does not exist, or it is a folder itself.
    """
    target = Path(path)
    if not target.parent.is_dir() or target.is_dir():
        problem = "it is a folder" if target.is_dir() else f"there is no folder {target.parent}"
        raise ConfigError(f"cannot write {target}: {problem}")
    return target
