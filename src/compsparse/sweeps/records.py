"""Rows: what a store keeps of a run."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import compsparse
from compsparse.errors import DataError
from compsparse.sweeps.owner import HOST
from compsparse.sweeps.spec import Spec

Status = Literal["done", "failed"]


@dataclass(frozen=True)
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
    status: Status
    result: dict[str, Any] | None
    traceback: str | None
    seconds: float
    started: float
    finished: float
    host: str
    code: str

    @classmethod
    def of(
        cls,
        spec: Spec,
        result: Mapping[str, Any] | None,
        traceback: str | None,
        seconds: float,
        host: str = HOST,
        finished: float | None = None,
    ) -> Row:
        finished = time.time() if finished is None else finished
        status: Status = "failed" if result is None else "done"
        kept = None if result is None else dict(result)
        about = (spec.key, spec.kind, spec.version, json.loads(json.dumps(spec.to_dict())))
        return cls(*about, status, kept, traceback, seconds, finished - seconds, finished, host, compsparse.__version__)

    def to_columns(self) -> dict[str, Any]:
        result = None if self.result is None else json.dumps(self.result)
        return {**asdict(self), "spec": json.dumps(self.spec), "result": result}

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> Row:
        result = None if columns["result"] is None else json.loads(columns["result"])
        return cls(**{**columns, "spec": json.loads(columns["spec"]), "result": result})

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Row:
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise DataError(f"this line holds no result: {error}") from None
