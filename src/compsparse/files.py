"""Files: written whole or not at all, and checked for their place before long work begins."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from compsparse.errors import ConfigError, DataError
from compsparse.text import printable

_MOST_BYTES_OF_A_NAME = 255


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path that becomes ``path`` only if the block succeeds; where that is a link, what it points to.

    Raises:
        ConfigError: the system refused to write, as on a full disk; the sentence names ``path``.
    """
    target = Path(os.path.realpath(check_place("a file to write", path)))
    temporary = target.with_name(f".compsparse-{os.getpid()}-{uuid.uuid4().hex[:12]}.part")
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        raise ConfigError(f"cannot write {printable(path)}: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Writes a text file whole or not at all, and returns its path."""
    if not isinstance(text, str):
        raise ConfigError(f"expected a text to write, got {text!r}")
    with whole_file(check_writable(path)) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file.

    Raises:
        DataError: there is no such file, or it holds no text.
    """
    source = check_place("a file to read", path)
    try:
        if source.is_dir():
            raise DataError(f"cannot read {printable(source)}: it is a folder")
        if not source.is_file():
            raise DataError(f"there is no file {printable(source)}")
        return source.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{printable(source)} is not a text file") from None
    except OSError as error:
        raise DataError(f"cannot read {printable(source)}: {error.strerror}") from None


# ---- places, checked before work begins ----------------------------------------------------------


def check_place(what: str, value: Any) -> Path:
    """A path, given as one or as a text; ``what`` begins the sentence about anything else."""
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise ConfigError(f"{what} must be a path, got {value!r}")
    if not os.fspath(value) or "\0" in os.fspath(value):
        raise ConfigError(f"{what} must have a name, got {os.fspath(value)!r}")
    return Path(value)


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The path, if a file can be written there.

    Raises:
        ConfigError: it has no name or too long a one, its folder does not exist or takes no files, or what stands
            there already is a folder, a device or protected.
    """
    target = check_place("a file to write", path)
    problem = _problem_with(target)
    if problem:
        raise ConfigError(f"cannot write {printable(target)}: {problem}")
    return target


def check_folder(path: str | os.PathLike[str]) -> Path:
    """The path, if it is a folder that takes files or can be made one; those above it may be missing too.

    Raises:
        ConfigError: something else stands there, or the first folder above that exists takes no files.
    """
    folder = check_place("a folder to write to", path)
    try:
        there = next(p for p in (folder, *folder.absolute().parents) if p.exists() or p.is_symlink())
        if not there.is_dir():
            raise ConfigError(f"cannot use the folder {printable(folder)}: {printable(there)} is no folder")
        with tempfile.TemporaryFile(dir=there):
            return folder
    except OSError as error:
        raise ConfigError(f"cannot use the folder {printable(folder)}: {error.strerror}") from None


def check_outputs(
    outputs: Iterable[str | os.PathLike[str] | None], inputs: Iterable[str | os.PathLike[str] | None] = ()
) -> list[Path]:
    """The files that a command will write, if each can be written, all differ and none is read by the same command.

    Places are the same if they are one file, through links or other spellings; None stands for an option not given.

    Raises:
        ConfigError: the first that cannot be written, is an input too or is named twice.
    """
    found = [check_writable(path) for path in _several("outputs", outputs) if path is not None]
    sources = [check_place("a file to read", path) for path in _several("inputs", inputs) if path is not None]
    for i, path in enumerate(found):
        for source in sources:
            if _are_one(path, source):
                raise ConfigError(f"cannot write {printable(path)}: it is read by the same command, and stays as it is")
        for other in found[:i]:
            if _are_one(path, other):
                raise ConfigError(f"two outputs would be written to one file, {printable(path)}: give each its own")
    return found


def _several(what: str, paths: Any) -> list[Any]:
    if isinstance(paths, (str, bytes, os.PathLike, type)) or not isinstance(paths, Iterable):
        raise ConfigError(f"{what} must be several paths, as in a list, got {paths!r}")
    return list(paths)


def _problem_with(path: Path) -> str | None:
    if len(os.fsencode(path.name)) > _MOST_BYTES_OF_A_NAME:
        return f"its name is longer than {_MOST_BYTES_OF_A_NAME} bytes"
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            return "it is a folder"
        if not target.parent.is_dir():
            return f"there is no folder {printable(path.parent)}"
        if target.exists() and not target.is_file():
            return "it is no file, but a device or the like"
        if target.exists() and not (os.access(target, os.W_OK) and target.stat().st_mode & stat.S_IWUSR):
            return "the file is protected against writing"
        with tempfile.TemporaryFile(dir=target.parent):
            return None
    except OSError as error:
        return f"its folder takes no files ({error.strerror})"


def _are_one(a: Path, b: Path) -> bool:
    with contextlib.suppress(OSError):
        if os.path.samefile(a, b):
            return True
    return os.path.realpath(a) == os.path.realpath(b)
