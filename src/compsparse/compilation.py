"""Compiled kernels: how they are made, kept and announced."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from typing import Any

from numba import njit
from numba.core import event

from compsparse.clock import go_on, stop


class _Notice(event.Listener):
    """Says once that kernels are being compiled, which nobody expects of a first call; never where they were kept."""

    def __init__(self) -> None:
        self.given = False

    def on_start(self, event: Any) -> None:
        """Numba begins to compile a function, of this package or another."""
        if self.given or not _is_ours(event):
            return
        self.given = True
        sentence = "compiling kernels: seconds, at most two minutes, once on this machine"
        logging.getLogger("compsparse").info(sentence)
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"compsparse: {sentence}", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        """Nothing is said of the end."""


class _Pause(event.Listener):
    """Stops the clock of time limits while kernels are compiled."""

    def on_start(self, event: Any) -> None:
        """Numba begins to compile a function."""
        if _is_ours(event):
            stop()

    def on_end(self, event: Any) -> None:
        """It is compiled, or could not be."""
        if _is_ours(event):
            go_on()


def _is_ours(event: Any) -> bool:
    return str(getattr(event.data["dispatcher"].py_func, "__module__", "")).startswith("compsparse.")


NOTICE = _Notice()
for listener in (NOTICE, _Pause()):
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]


def compiled(function: Any, may: Iterable[str] = ()) -> Any:
    """Compiled on first use and kept on disk where that can be written; frees the interpreter lock.

    Kernels are kept beside the source, or in the user's cache folder where that cannot be written.

    Args:
        may: what the compiler may do to sums and products, by LLVM's names.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": set(may) or False}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to keep it in
        return njit(**options)(function)
