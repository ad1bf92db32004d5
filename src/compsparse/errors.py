"""Every error compsparse raises on purpose: one root, each also the builtin a caller would expect."""

from __future__ import annotations

_SHOWN = 1000
"""Characters of an expression that an error shows around the place."""


class CompsparseError(Exception):
    """Root of all errors raised by compsparse."""


class GraphError(CompsparseError, ValueError):
    """A function graph is not well formed, or was asked for something it does not have."""


class ExpressionError(GraphError):
    """An expression could not be read; the message points at the place with a caret."""

    def __init__(self, problem: str, text: str, position: int):
        self.problem, self.text, self.position = problem, text, position
        start = max(0, position - _SHOWN // 2) if len(text) > _SHOWN else 0
        part = "".join(c if c.isprintable() else "�" for c in text[start : start + _SHOWN])
        before, after = "…" * (start > 0), "…" * (start + _SHOWN < len(text))
        super().__init__(f"{problem}\n  {before}{part}{after}\n  {' ' * (len(before) + position - start)}^")


class TraceError(CompsparseError, TypeError):
    """A Python function did something while traced that a function graph cannot hold."""


class DataError(CompsparseError, ValueError):
    """Data (a table, an array, a target) cannot be used as given."""


class CellError(DataError, TypeError):
    """A cell of a table is neither a number nor a text."""


class ConfigError(CompsparseError, ValueError):
    """A setting has a value that makes no sense, alone or beside the others."""


class UnknownOptionError(ConfigError, TypeError):
    """A keyword that a function, an estimator or a strategy does not have; the message names the near one."""


class MissingDependencyError(CompsparseError, ImportError):
    """An optional package is needed; the message says which extra installs it."""


class TrainingError(CompsparseError, RuntimeError):
    """Training could not produce a usable network."""


class StoreError(CompsparseError, RuntimeError):
    """A store of results cannot be opened, read or written."""


class StoreUnreachableError(StoreError):
    """The database of a store does not answer; it may come back."""


class EngineError(CompsparseError, RuntimeError):
    """The machinery that runs a sweep's work cannot be started, or was lost."""
