"""Odd values for the parameters of public entry points, and what may come of them."""

from __future__ import annotations

import contextlib
import faulthandler
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compsparse.errors import CompsparseError

LONGEST_SECONDS = 20
MOST_BYTES = 4 * 2**30
"""What a case may allocate beyond what the process holds already."""
_UNKNOWN = "no_such_parameter"
_HERE = str(Path(__file__).parent)


class Hang(BaseException):
    """A call took longer than a user would wait for a refusal."""


ODD: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "text": lambda: "text",
    "empty text": lambda: "",
    "escape codes": lambda: "\x1b[31m[red]{x}%s",
    "True": lambda: True,
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "one and a half": lambda: 1.5,
    "tiny": lambda: 1e-300,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "1e9": lambda: 10**9,
    "1e30": lambda: 10**30,
    "minus 1e30": lambda: -(10**30),
    "complex": lambda: 1j,
    "bytes": lambda: b"\xff\x00",
    "empty list": list,
    "list of text": lambda: ["a", "a"],
    "list of None": lambda: [None, None],
    "ragged list": lambda: [[1], [1, 2]],
    "mapping": lambda: {"a": 1},
    "object": object,
    "number of numpy": lambda: np.float32(0.5),
    "empty array": lambda: np.zeros((0, 0)),
    "array of nan": lambda: np.full((3, 2), np.nan),
    "array of text": lambda: np.array([["a", "b"]]),
    "array of objects": lambda: np.array([[None, object()]], dtype=object),
    "cube": lambda: np.zeros((2, 2, 2)),
    "function": lambda: len,
    "class": lambda: dict,
}


@dataclass(frozen=True)
class Entry:
    """A public entry point and a call of it that works.

    Attributes:
        call: takes the arguments by name.
        arguments: makes the valid arguments afresh.
        own: parameters that are functions of the user's own, whose errors are the user's to see.
        slow: its calls are left out of the sample that is drawn for every change.
    """

    name: str
    call: Callable[..., Any]
    arguments: Callable[[], Mapping[str, Any]]
    own: frozenset[str] = frozenset()
    slow: bool = False

    def cases(self) -> Iterator[Case]:
        """Every odd value for every parameter, and a parameter that is not there."""
        for parameter in self.arguments():
            for odd in ODD:
                if not (parameter in self.own and odd in ("function", "class")):
                    yield Case(self, parameter, odd)
        yield Case(self, _UNKNOWN, "zero")


@dataclass(frozen=True)
class Case:
    """One argument of an entry point replaced by an odd value, or an argument it does not have."""

    entry: Entry
    parameter: str
    odd: str

    def __str__(self) -> str:
        return f"{self.entry.name}({self.parameter}={self.odd})"

    def run(self) -> None:
        """Calls the entry point.

        Raises:
            AssertionError: the call ended in another library's error, did not end, or wanted too much memory.
        """
        arguments = dict(self.entry.arguments())
        arguments[self.parameter] = ODD[self.odd]()
        try:
            with bounded(), warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                self.entry.call(**arguments)
        except CompsparseError as error:
            sentence = str(error)
            assert sentence.strip(), f"{self}: an error without a sentence"
            assert "Error(" not in sentence, f"{self} quotes another library's error: {sentence}"
        except Hang:
            raise AssertionError(f"{self} took more than {LONGEST_SECONDS} s") from None
        except (Exception, SystemExit) as error:
            if not _is_expected(error):
                raise AssertionError(f"{self} ended in {type(error).__name__}: {error}") from error


def cases(entries: Iterable[Entry]) -> list[Case]:
    """Every case of every entry point."""
    return [case for entry in entries for case in entry.cases()]


def _is_expected(error: BaseException) -> bool:
    """Python's own refusal of the call itself, or scikit-learn's own validation."""
    if isinstance(error, TypeError) and f"'{_UNKNOWN}'" in str(error):
        return True
    frames = [f.filename.replace("\\", "/") for f in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, TypeError) and "argument" in str(error) and all(f.startswith(_HERE) for f in frames):
        return True
    return isinstance(error, (ValueError, TypeError)) and "sklearn/utils" in frames[-1]


@contextmanager
def bounded() -> Iterator[None]:
    """Ends a call that takes too long, and has it fail where it wants too much memory; files go to a folder aside.

    Compiled code does not hear the signal: after three times as long the whole process ends, and says where.
    """

    def ring(number: int, frame: object) -> None:
        raise Hang

    limits = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LONGEST_SECONDS)
    faulthandler.dump_traceback_later(3 * LONGEST_SECONDS, exit=True, file=sys.__stderr__)
    resource.setrlimit(resource.RLIMIT_AS, (_bytes_held() + MOST_BYTES, limits[1]))
    try:
        with tempfile.TemporaryDirectory(prefix="compsparse-fuzz-") as folder, contextlib.chdir(folder):
            yield
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGALRM, before)


def _bytes_held() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
