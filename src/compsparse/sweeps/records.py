"""Records: what a store keeps of a run, and what a sweep returns."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

import compsparse
from compsparse.errors import DataError
from compsparse.optional import needs
from compsparse.sweeps.adaptive import Crossing
from compsparse.sweeps.spec import Spec

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
        """The row as a table of a store has it: spec and result as JSON."""
        result = None if self.result is None else json.dumps(self.result)
        return {**asdict(self), "spec": json.dumps(self.spec), "result": result}

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> Row:
        """Reads what :meth:`to_columns` gave."""
        result = None if columns["result"] is None else json.loads(columns["result"])
        return cls(**{**columns, "spec": json.loads(columns["spec"]), "result": result})

    def to_json(self) -> str:
        """The row as one line, for spill files."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Row:
        """Reads what :meth:`to_json` wrote."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise DataError(f"this line holds no result: {error}") from None


class SweepStatus(Enum):
    """How a sweep ended; the value is what the user reads."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted: what is done is kept, run the same command to go on"
    ELSEWHERE = "the rest is being run elsewhere"


@dataclass(frozen=True, kw_only=True)
class SweepRecord:
    """The results of a sweep and how it went.

    Attributes:
        rows: every result of the sweep that there is, by key, in the sweep's order.
        total: runs the sweep asked for.
        existing: results that were there before.
        done, failed: results of this call.
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
    crossings: tuple[tuple[dict[str, Any], Crossing], ...] = ()

    def frame(self) -> pandas.DataFrame:
        """One line a run: fields of the spec, of the result, and how it was run."""
        return row_frame(self.rows.values())

    def crossing_frame(self) -> pandas.DataFrame:
        """One line a group of an adaptive sweep: its settings, and where its curve crosses."""
        return _frame([{**group, **vars(crossing)} for group, crossing in self.crossings])

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
    rows = list(rows)
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
