"""Ctrl-C, answered at once: in one line, and then by the end of the program or by the best answer so far.

Nothing heavy is imported here: this is what hears Ctrl-C while everything else is still being loaded.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath

INTERRUPTED = 130
"""The exit status of a program that Ctrl-C ended."""


class _Answers:
    """What Ctrl-C means now.

    Attributes:
        gentle: what to say, press after press, while something runs that ends with the best answer so far.
        ended: whether it has ended the program.
    """

    def __init__(self) -> None:
        self.gentle: list[str] = []
        self.ended = False
        self._owner = os.getpid()

    def __call__(self, number: int, frame: object) -> None:
        """Hears Ctrl-C."""
        if os.getpid() != self._owner:  # a process that was forked: its parent answers
            raise KeyboardInterrupt
        if self.gentle:
            _tell(self.gentle[0])
            del self.gentle[: len(self.gentle) > 1]
            raise KeyboardInterrupt
        if self.ended:
            os._exit(INTERRUPTED)
        _tell("interrupted")
        self.ended = True
        raise SystemExit(INTERRUPTED)


_ANSWERS = _Answers()


def answer_interrupts() -> None:
    """From now on Ctrl-C is answered; where it is ignored, as in the background of a shell, it still is."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _ANSWERS)


def answer_while_loading() -> None:
    """The same if this is the program itself, and not a library that somebody imports."""
    if PurePath(sys.argv[0]).stem in ("compsparse", "-m"):
        answer_interrupts()


def was_interrupted() -> bool:
    """Whether Ctrl-C has ended the program; an error that comes after it is no news."""
    return _ANSWERS.ended


@contextmanager
def ending_gently(*sentences: str) -> Iterator[None]:
    """Within the block Ctrl-C ends what runs with its best answer so far.

    Args:
        sentences: what is said at once, the first time, the second and so on.
    """
    _ANSWERS.gentle = list(sentences)
    try:
        yield
    except KeyboardInterrupt:
        _tell("interrupted before there was anything to keep")
        raise SystemExit(INTERRUPTED) from None
    finally:
        _ANSWERS.gentle = []


def _tell(sentence: str) -> None:
    """A line on standard error, past what may be in the middle of writing there; over a bar, if one is shown."""
    progress = sys.modules.get("compsparse.progress")
    room = progress.room_on_screen() if progress is not None and hasattr(progress, "room_on_screen") else ""
    with suppress(OSError):
        os.write(2, f"{room or (chr(13) + chr(27) + '[K' if os.isatty(2) else '')}{sentence}\n".encode())
