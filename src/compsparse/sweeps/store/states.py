"""How the sweeps on a store are getting on, for whoever asks from another terminal."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from sqlalchemy import delete, insert, select, update

from compsparse.checks import check_count
from compsparse.sweeps.records import HOST, is_real, warn_of
from compsparse.sweeps.store.database import Database
from compsparse.sweeps.store.schema import sweeps_table

_SILENCE = 60.0
_MOST_STATES = 100_000


@dataclass(frozen=True, kw_only=True)
class SweepState:
    """One driver's view of its sweep.

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
        return "running" if now - self.heartbeat < _SILENCE else f"lost: no sign for {now - self.heartbeat:.0f} s"

    @property
    def seconds_left(self) -> float | None:
        """From the share of the load that is done; None while nothing is."""
        if self.finished is not None or self.share <= 0:
            return None
        return (self.heartbeat - self.started) * (1 - self.share) / self.share


@dataclass(frozen=True)
class SweepStates:
    """The state of every sweep that was run on the store."""

    database: Database

    def begin(self, state: SweepState) -> SweepState:
        """Writes a new state; returns it with the time it began."""
        with self.database.write() as connection:
            now = self.database.now(connection)
            state = replace(state, started=now, heartbeat=now)
            connection.execute(insert(sweeps_table).values(asdict(state)))
        return state

    def beat(self, state: SweepState, finished: bool = False) -> None:
        """Writes a state that has changed, with the time as a sign of life."""
        with self.database.write() as connection:
            now = self.database.now(connection)
            state = replace(state, heartbeat=now, finished=now if finished else None)
            connection.execute(update(sweeps_table).where(sweeps_table.c.id == state.id).values(asdict(state)))

    def all(self, last: int = 10) -> tuple[float, list[SweepState]]:
        """The time now and the last sweeps, the newest first."""
        check_count("last", last, least=0, most=_MOST_STATES)
        names = [f.name for f in fields(SweepState)]
        query = select(*(sweeps_table.c[name] for name in names)).order_by(sweeps_table.c.started.desc()).limit(last)
        with self.database.read() as connection:
            rows = [dict(row) for row in connection.execute(query).mappings()]
            now = self.database.now(connection)
        broken = {str(row["id"]): "it is no state of a sweep" for row in rows if not _is_state(row)}
        warn_of(broken, f"the sweeps in {self.database.name}")
        return now, [SweepState(**row) for row in rows if _is_state(row)]

    def drop_ended(self, now: float) -> int:
        """Removes sweeps that ended or went silent; returns how many."""
        with self.database.write() as connection:
            old = sweeps_table.c.finished.is_not(None) | (sweeps_table.c.heartbeat < now - _SILENCE)
            return connection.execute(delete(sweeps_table).where(old)).rowcount


def _is_state(row: Mapping[str, Any]) -> bool:
    texts, counts = ("id", "name", "host", "message"), ("pid", "total", "existing", "done", "failed", "running")
    times = ("share", "started", "heartbeat")
    return (
        all(isinstance(row[name], str) for name in texts)
        and all(isinstance(row[name], int) for name in counts)
        and all(is_real(row[name]) for name in times)
        and (row["finished"] is None or is_real(row["finished"]))
    )
