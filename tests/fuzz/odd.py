"""Odd values for the parameters of public entry points, and what may come of them."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.errors import CompsparseError

LONGEST_SECONDS = 20


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
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "1e9": lambda: 10**9,
    "1e30": lambda: 10**30,
    "minus 1e30": lambda: -(10**30),
    "complex": lambda: 1j,
    "empty list": list,
    "list of text": lambda: ["a", "a"],
    "list of None": lambda: [None, None],
    "mapping": lambda: {"a": 1},
    "object": object,
    "empty array": lambda: np.zeros((0, 0)),
    "array of nan": lambda: np.full((3, 2), np.nan),
    "array of text": lambda: np.array([["a", "b"]]),
    "cube": lambda: np.zeros((2, 2, 2)),
    "function": lambda: len,
}


@dataclass(frozen=True)
class Entry:
    """A public entry point and a call of it that works.

    Attributes:
        call: takes the arguments by name.
        arguments: makes the valid arguments afresh.
    """

    name: str
    call: Callable[..., Any]
    arguments: Callable[[], Mapping[str, Any]]


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
            AssertionError: the call ended in another library's error, or did not end.
        """
        arguments = dict(self.entry.arguments())
        arguments[self.parameter] = ODD[self.odd]()
        try:
            with _at_most(LONGEST_SECONDS), np.errstate(all="ignore"):
                self.entry.call(**arguments)
        except CompsparseError as error:
            sentence = str(error)
            assert sentence.strip(), f"{self}: an error without a sentence"
            assert "Error(" not in sentence, f"{self} quotes another library's error: {sentence}"
        except Hang:
            raise AssertionError(f"{self} took more than {LONGEST_SECONDS} s") from None
        except Exception as error:
            if not _is_expected(error):
                raise AssertionError(f"{self} ended in {type(error).__name__}: {error}") from error


def cases(entries: list[Entry]) -> Iterator[Case]:
    """Every odd value for every parameter of every entry point, and an unknown parameter for each."""
    for entry in entries:
        for parameter in entry.arguments():
            yield from (Case(entry, parameter, odd) for odd in ODD)
        yield Case(entry, "no_such_parameter", "zero")


def _is_expected(error: Exception) -> bool:
    """Python's own refusal of a call, or scikit-learn's own validation."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, TypeError) and ("argument" in str(error)) and "src/compsparse" not in frames[-1].filename:
        return True
    return isinstance(error, (ValueError, TypeError)) and "sklearn/utils" in frames[-1].filename.replace("\\", "/")


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def ring(number: int, frame: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
