"""Records: what a store keeps of a run, and what a sweep returns."""

from __future__ import annotations

import json
import math
import os
import socket
import time
import uuid
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import compsparse
from compsparse.checks import check_kind, check_list, check_mapping, check_number
from compsparse.digest import SEAL, sealed
from compsparse.errors import ConfigError, DataError
from compsparse.files import whole_file
from compsparse.optional import needs
from compsparse.sweeps.adaptive import Crossing
from compsparse.sweeps.spec import Spec, field_types, key_of, loaded_kinds, object_in, type_words
from compsparse.text import in_a_line, printable

if TYPE_CHECKING:
    import pandas

RunStatus = Literal["done", "failed"]
HOST = socket.gethostname()
SILENCE = 60.0
"""Seconds without a sign after which a sweep counts as lost."""


@in_a_line
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
        check_kind("spec", spec, Spec)
        if result is not None:
            check_mapping("the result of a run", result)
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
        """Reads what :meth:`to_columns` gave.

        Raises:
            DataError: something else stands there; the sentence says in which column.
        """
        parts = {n: object_in(columns[n], n) for n in ("spec", "result") if columns.get(n) is not None}
        row = read_fields(cls, {name: value for name, value in {**columns, **parts}.items() if name != SEAL})
        row._check_content(columns)
        return row

    def _check_content(self, columns: Mapping[str, Any]) -> None:
        """The columns must be what their digest was taken of, and the key must name them."""
        if (self.status == "done") != (self.result is not None):
            raise DataError("a run that is done must have a result, and no other")
        if str(columns.get(SEAL)) != sealed(columns)[SEAL]:
            raise DataError("it is not as it was written: it was changed or damaged")
        if not self._fits_key():
            raise DataError("its key is not that of its kind, version and spec: it was changed or damaged")

    def _fits_key(self) -> bool:
        """Which fields a key leaves out only the kind knows, so where that is not loaded, the digest must do."""
        kinds = loaded_kinds(self.kind, self.version)
        try:
            named = [self.spec, *(kind.named_by(self.spec) for kind in kinds)]
            return not kinds or any(self.key == key_of(self.kind, self.version, fields) for fields in named)
        except (ValueError, RecursionError):  # the spec holds what no field can
            return True

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
        """Reads what :meth:`to_json` wrote."""
        try:
            values = object_in(text, "it")
            row = read_fields(cls, {name: value for name, value in values.items() if name != SEAL})
            row._check_content({**row.to_columns(), SEAL: values.get(SEAL)})
        except DataError as error:
            raise DataError(f"this line holds no result: {error}") from None
        return row


@dataclass(frozen=True, kw_only=True)
class SweepState:
    """One driver's view of its sweep, for whoever asks from another terminal.

    Attributes:
        total: runs of the sweep; of an adaptive one, those known so far.
        existing: results that were there at the start.
        done, failed: results since then.
        running: runs in hand.
        share: share of the load at the start that is done since, for the time left.
    """

    id: str
    name: str
    host: str
    pid: int
    total: int
    existing: int
    done: int = 0
    failed: int = 0
    running: int = 0
    share: float = 0.0
    started: float = 0.0
    heartbeat: float = 0.0
    finished: float | None = None
    message: str = ""

    @classmethod
    def new(cls, name: str, total: int, existing: int) -> SweepState:
        """The state of a sweep that this process is about to run."""
        return cls(id=uuid.uuid4().hex, name=name, host=HOST, pid=os.getpid(), total=total, existing=existing)

    @property
    def rate(self) -> float:
        """Results per second."""
        elapsed = (self.finished or self.heartbeat) - self.started
        return (self.done + self.failed) / elapsed if elapsed > 0 else 0.0

    def status(self, now: float) -> str:
        """A word or two for the reader: how it ended, that it runs, or that its driver is silent."""
        if self.finished is not None:
            return self.message or "finished"
        return "running" if now - self.heartbeat < SILENCE else f"lost: no sign for {now - self.heartbeat:.0f} s"

    @property
    def seconds_left(self) -> float | None:
        """From the share of the load that is done; None while nothing is."""
        if self.finished is not None or self.share <= 0:
            return None
        return (self.heartbeat - self.started) * (1 - self.share) / self.share


# ---- what is read of a store ---------------------------------------------------------------------

_Record = TypeVar("_Record")


def read_fields(cls: type[_Record], values: Mapping[str, Any]) -> _Record:
    """A record of a store from its fields by name.

    Raises:
        DataError: one is missing, of another type, or unknown.
    """
    hints = field_types(cls)
    for name, hint in hints.items():
        if name not in values:
            raise DataError(f"it has no {name}")
        if not _fits(values[name], hint):
            raise DataError(f"its {name} is not {'a finite number' if hint is float else type_words(hint)}")
    unknown = [str(name) for name in values if name not in hints]
    if unknown:
        raise DataError(f"it has a column that there should not be, {unknown[0]!r}")
    return cls(**values)


def _fits(value: object, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is UnionType:
        return any(_fits(value, one) for one in get_args(hint))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if hint is float:
        return is_real(value)
    return isinstance(value, origin or hint) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Whether a value read from JSON is a number, and a finite one."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


_MOST_NAMED = 20


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


class SweepStatus(Enum):
    """How a sweep ended; the value is what the user reads."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted: what is done is kept, run the same command to go on"
    OUT_OF_TIME = "out of time: what is done is kept, run the same command to go on"
    ELSEWHERE = "the rest is being run elsewhere"


@in_a_line
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
    return [check_kind("a row of results", row, Row) for row in check_list("rows of results", rows)]


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


def write_table(rows: Iterable[Row], path: Path) -> int:
    """Writes results as a .parquet or .csv file, whole or not at all; returns how many."""
    if path.suffix not in (".parquet", ".csv"):
        raise ConfigError(f"expected a .parquet or .csv file, got {printable(path)}")
    table = row_frame(rows)
    if table.empty:
        raise DataError("there are no results to export")
    with whole_file(path) as temporary:
        if path.suffix == ".csv":
            table.to_csv(temporary, index=False)
        else:
            _one_type_a_column(table).to_parquet(temporary, index=False)
    return len(table)


def _one_type_a_column(table: pandas.DataFrame) -> pandas.DataFrame:
    """Two kinds may give one name to a number and to a text; Parquet wants one type."""
    mixed = [
        name for name in table.columns if len({str if isinstance(v, str) else float for v in table[name].dropna()}) > 1
    ]
    return table.assign(**{name: table[name].map(str, na_action="ignore") for name in mixed})
