"""Records: what a store keeps of a run, and what a sweep returns."""

from __future__ import annotations

import json
import math
import socket
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

import compsparse
from compsparse.checks import check_number
from compsparse.digest import SEAL, sealed
from compsparse.errors import ConfigError, DataError
from compsparse.optional import needs
from compsparse.sweeps.adaptive import Crossing
from compsparse.sweeps.spec import Spec, key_of, loaded_kinds, object_in
from compsparse.text import printable

if TYPE_CHECKING:
    import pandas

RunStatus = Literal["done", "failed"]
HOST = socket.gethostname()


@dataclass(frozen=True, kw_only=True)
class Row:
    """A run that ended.

    Attributes:
        result: what the run returned; None if it failed.
        traceback: why it failed.
        seconds: its time; a pack's time is shared among its members.
        started, finished: seconds since 1970.
        code: the version of compsparse that ran it.
    """

    key: str
    kind: str
    version: int
    spec: dict[str, Any]
    status: RunStatus
    result: dict[str, Any] | None
    traceback: str | None
    seconds: float
    started: float
    finished: float
    host: str
    code: str

    @classmethod
    def of(cls, spec: Spec, result: Mapping[str, Any] | None, *, traceback: str | None = None, seconds: float) -> Row:
        """The row of a run that ends now, on this machine; it failed if it has no result."""
        if not isinstance(spec, Spec):
            raise ConfigError(f"a row is of a spec, got {spec!r}")
        if result is not None and not isinstance(result, Mapping):
            raise ConfigError(f"the result of a run must be a mapping, got {result!r}")
        check_number("seconds", seconds, least=0)
        finished = time.time()
        return cls(
            key=spec.key,
            kind=spec.kind,
            version=spec.version,
            spec=json.loads(json.dumps(spec.to_dict())),
            status="failed" if result is None else "done",
            result=None if result is None else dict(result),
            traceback=traceback,
            seconds=seconds,
            started=finished - seconds,
            finished=finished,
            host=HOST,
            code=compsparse.__version__,
        )

    def to_columns(self) -> dict[str, Any]:
        """The row as a table of a store has it: spec and result as JSON, and a digest of all the rest."""
        result = None if self.result is None else json.dumps(self.result)
        times = {name: float(getattr(self, name)) for name in ("seconds", "started", "finished")}
        return sealed({**vars(self), **times, "spec": json.dumps(self.spec), "result": result})

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> Row:
        """Reads what :meth:`to_columns` gave; earlier versions wrote no digest.

        Raises:
            DataError: something else stands there; the sentence says in which column.
        """
        content = {name: value for name, value in columns.items() if name != SEAL}
        parts = {n: object_in(content[n], n) for n in ("spec", "result") if content.get(n) is not None}
        return cls._checked({**content, **parts})._compared(columns)

    def _compared(self, columns: Mapping[str, Any]) -> Row:
        """The row, if its columns are what their digest was taken of, and its key names them."""
        if SEAL in columns and str(columns[SEAL]) != sealed(columns)[SEAL]:
            raise DataError("it is not as it was written: it was changed or damaged")
        self._check_key(is_sealed=SEAL in columns)
        return self

    def _check_key(self, is_sealed: bool) -> None:
        """Compares the key with the content that it names.

        Which fields a key leaves out only the kind knows, so where that is not loaded, the digest must do.
        """
        try:
            if self.key == key_of(self.kind, self.version, self.spec):
                return
            if not is_sealed:
                from compsparse.sweeps.catalogue import all_kinds

                all_kinds()
            kinds = loaded_kinds(self.kind, self.version)
            fits = any(self.key == key_of(self.kind, self.version, kind.named_by(self.spec)) for kind in kinds)
        except (ValueError, RecursionError):  # the spec holds what no field can
            kinds, fits = [], False
        if not fits and (kinds or not is_sealed):
            raise DataError("its key is not that of its kind, version and spec: it was changed or damaged")

    @classmethod
    def unreadable(cls, key: str, problem: str) -> Row:
        """What stands for a row that cannot be read: a run that failed, so that it can be run again."""
        return cls(
            key=key, kind="", version=0, spec={}, status="failed", result=None, traceback=problem, seconds=0.0,
            started=0.0, finished=0.0, host="", code="",
        )  # fmt: skip

    def to_json(self) -> str:
        """The row as one line, for spill files."""
        return json.dumps({**vars(self), SEAL: self.to_columns()[SEAL]})

    @classmethod
    def from_json(cls, text: str) -> Row:
        """Reads what :meth:`to_json` wrote; earlier versions wrote no digest."""
        try:
            values = object_in(text, "it")
            row = cls._checked({name: value for name, value in values.items() if name != SEAL})
            columns = row.to_columns()
            return row._compared({n: values.get(n) if n == SEAL else columns[n] for n in columns if n in values})
        except DataError as error:
            raise DataError(f"this line holds no result: {error}") from None

    @classmethod
    def _checked(cls, values: Mapping[str, Any]) -> Row:
        for name, (is_right, wanted) in _COLUMNS.items():
            if name not in values:
                raise DataError(f"it has no {name}")
            if not is_right(values[name]):
                raise DataError(f"its {name} is not {wanted}")
        unknown = [str(name) for name in values if name not in _COLUMNS]
        if unknown:
            raise DataError(f"it has a column that results do not have, {unknown[0]!r}")
        if (values["status"] == "done") != (values["result"] is not None):
            raise DataError("a run that is done must have a result, and no other")
        return cls(**values)


def is_real(value: object) -> bool:
    """Whether a value read from JSON is a number, and a finite one."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


_Check = tuple[Callable[[Any], bool], str]
_TEXT: _Check = (lambda v: isinstance(v, str), "a text")
_TEXT_OR_NONE: _Check = (lambda v: v is None or isinstance(v, str), "a text")
_NUMBER: _Check = (is_real, "a finite number")
_COLUMNS: dict[str, _Check] = {
    "key": (lambda v: isinstance(v, str) and 0 < len(v) <= 64, "a key"),
    "kind": _TEXT,
    "version": (lambda v: isinstance(v, int) and not isinstance(v, bool), "a whole number"),
    "spec": (lambda v: isinstance(v, dict), "a JSON object"),
    "status": (lambda v: isinstance(v, str) and v in ("done", "failed"), "'done' or 'failed'"),
    "result": (lambda v: v is None or isinstance(v, dict), "a JSON object"),
    "traceback": _TEXT_OR_NONE,
    "seconds": _NUMBER,
    "started": _NUMBER,
    "finished": _NUMBER,
    "host": _TEXT,
    "code": _TEXT,
}
"""What a row must hold, by column."""


class UnreadableResults(UserWarning):
    """Results that cannot be used are left out; the message counts and names them."""


def warn_of(problems: Mapping[str, str], where: str) -> None:
    """Says in one line how many results are left out, which and why."""
    if problems:
        named = [f"{key[:12]} ({problem})" for key, problem in list(problems.items())[:_MOST_NAMED]]
        more = f" and {len(problems) - _MOST_NAMED:,} more" if len(problems) > _MOST_NAMED else ""
        results = "1 result" if len(problems) == 1 else f"{len(problems):,} results"
        message = f"{results} of {where} cannot be used and are left out: {', '.join(named)}{more}"
        warnings.warn(printable(message), UnreadableResults, stacklevel=3)


_MOST_NAMED = 20


class SweepStatus(Enum):
    """How a sweep ended; the value is what the user reads."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted: what is done is kept, run the same command to go on"
    OUT_OF_TIME = "out of time: what is done is kept, run the same command to go on"
    ELSEWHERE = "the rest is being run elsewhere"


@dataclass(frozen=True, kw_only=True)
class SweepRecord:
    """The results of a sweep and how it went.

    Attributes:
        rows: every result of the sweep that there is, by key, in the sweep's order.
        total: runs the sweep asked for.
        existing: results that were there before.
        done, failed: results of this call.
        twice: runs of this call that another driver had run meanwhile, whose results count as existing: this driver
            had given no sign of life for longer than its lease.
        crossings: (settings of the group, where its curve crosses the threshold), if the sweep is adaptive.
    """

    name: str
    status: SweepStatus
    total: int
    existing: int
    done: int
    failed: int
    seconds: float
    rows: Mapping[str, Row]
    twice: int = 0
    crossings: tuple[tuple[dict[str, Any], Crossing], ...] = ()

    def frame(self) -> pandas.DataFrame:
        """One line a run: fields of the spec, of the result, and how it was run."""
        return row_frame(self.rows.values())

    def crossing_frame(self) -> pandas.DataFrame:
        """One line a group of an adaptive sweep: its settings, and where its curve crosses."""
        return _frame([{**group, **vars(crossing)} for group, crossing in self.crossings])

    @property
    def left(self) -> int:
        """Runs that were asked for and have not ended; an adaptive sweep may ask for more."""
        return self.total - len(self.rows)

    @property
    def failures(self) -> list[Row]:
        """The runs of the sweep that failed, now or before."""
        return [row for row in self.rows.values() if row.status == "failed"]


# ---- as tables -----------------------------------------------------------------------------------

_ABOUT = ("key", "kind", "version", "status", "seconds", "started", "finished", "host", "code", "traceback")


def row_frame(rows: Iterable[Row]) -> pandas.DataFrame:
    """Spec columns, then result columns, then the rest; a name taken twice gets ``result.`` or ``run.`` before it.

    Nested results are flattened with dots; lists become JSON texts.
    """
    rows = check_run_rows(rows)
    specs = [_flat(row.spec) for row in rows]
    results = [_flat(row.result or {}) for row in rows]
    spec_names = {name for spec in specs for name in spec}
    result_names = {name for result in results for name in result}
    return _frame(
        [
            {
                **spec,
                **{f"result.{k}" if k in spec_names else k: v for k, v in result.items()},
                **{f"run.{k}" if k in spec_names | result_names else k: getattr(row, k) for k in _ABOUT},
            }
            for row, spec, result in zip(rows, specs, results, strict=True)
        ]
    )


def check_run_rows(rows: Any) -> list[Row]:
    """Rows of results, as a list."""
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise ConfigError(f"rows of results must be several, as in a list, got {rows!r}")
    found = list(rows)
    for row in found:
        if not isinstance(row, Row):
            raise ConfigError(f"expected rows of results, got {row!r} among them")
    return found


def _frame(lines: list[dict[str, Any]]) -> pandas.DataFrame:
    frame: pandas.DataFrame = needs("pandas", "tables of results", "report").DataFrame.from_records(lines)
    return frame


def _flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = json.dumps(value) if isinstance(value, (list, tuple)) else value
    return found
