"""Who runs what, so that two drivers on one store do not do the same work, and how far each of them is."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, delete, insert, select, true, tuple_, update

from compsparse.checks import check_count
from compsparse.errors import DataError
from compsparse.sweeps.records import HOST, SILENCE, SweepState, read_fields, warn_of
from compsparse.sweeps.store.database import Database, check_keys, chunks, upsert
from compsparse.sweeps.store.schema import leases_table, results_table, sweeps_table

_MOST_UNSEEN = 5.0
_MOST_STATES = 100_000


@dataclass(frozen=True)
class _Watch:
    """What this process has seen of another's lease: its last sign, when it looked, and how long it was the same."""

    sign: str
    looked: float
    silent: float


@dataclass(frozen=True)
class Leases:
    """Who runs which key.

    No clock of another machine is believed. An owner that lives changes the sign of its leases now and then; a lease
    whose sign has stayed the same for as long as it was given, by the clock of the process that watches it, is free.

    Attributes:
        clock: seconds that only grow, here.
    """

    database: Database
    clock: Callable[[], float] = time.monotonic
    _watched: dict[str, _Watch] = field(default_factory=dict, init=False, compare=False)

    def claim(self, keys: Iterable[str], owner: str, seconds: float) -> set[str]:
        """Takes a lease on those keys that have no result and no other living owner, and returns them."""
        taken: set[str] = set()
        # all in one order: two drivers that claim the same keys must not wait for each other in a circle
        for part in chunks(sorted(check_keys(keys))):
            with self.database.write() as connection:
                self._drop(connection, leases_table.c.key.in_(part) & (leases_table.c.owner != owner))
                taken |= self._claim(connection, part, owner, seconds)
        return taken

    def _claim(self, connection: Connection, keys: Sequence[str], owner: str, seconds: float) -> set[str]:
        values = [{"key": k, "owner": owner, "sign": _new_sign(), "seconds": seconds} for k in keys]
        statement = upsert(connection, leases_table).values(values)
        new = {name: statement.excluded[name] for name in ("sign", "seconds")}
        is_mine = leases_table.c.owner == owner
        connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_=new, where=is_mine))
        mine = set(connection.scalars(select(leases_table.c.key).where(leases_table.c.key.in_(keys), is_mine)))
        # a lease ends in the transaction of its result: whoever gets the lease sees the result
        ended = set(connection.scalars(select(results_table.c.key).where(results_table.c.key.in_(mine))))
        connection.execute(delete(leases_table).where(leases_table.c.key.in_(ended), is_mine))
        return mine - ended

    def renew(self, owner: str, seconds: float) -> None:
        """A sign of life on all leases of the owner, which now hold for so long without another."""
        with self.database.write() as connection:
            mine = update(leases_table).where(leases_table.c.owner == owner)
            connection.execute(mine.values(sign=_new_sign(), seconds=seconds))

    def release(self, owner: str) -> None:
        """Gives all leases of the owner back."""
        with self.database.write() as connection:
            connection.execute(delete(leases_table).where(leases_table.c.owner == owner))

    def drop_expired(self) -> int:
        """Removes leases of processes that are no more, or that were watched in silence; returns how many."""
        with self.database.write() as connection:
            return self._drop(connection, true())

    def _drop(self, connection: Connection, which: ColumnElement[bool]) -> int:
        columns = (leases_table.c.key, leases_table.c.owner, leases_table.c.sign, leases_table.c.seconds)
        held = connection.execute(select(*columns).where(which)).all()
        dead = [
            (key, sign) for key, owner, sign, seconds in held if is_gone(owner) or self._is_silent(key, sign, seconds)
        ]
        # a sign that came since is another sign
        unchanged = (tuple_(leases_table.c.key, leases_table.c.sign).in_(part) for part in chunks(dead))
        return sum(connection.execute(delete(leases_table).where(part)).rowcount for part in unchanged)

    def _is_silent(self, key: str, sign: str, seconds: float) -> bool:
        """Whether the sign was seen to stay the same for longer than the lease.

        Between two looks this process may itself have been stopped, and the owner with it, so only a part counts.
        """
        now, last = self.clock(), self._watched.get(key)
        if last is None or last.sign != sign:
            last = _Watch(sign, now, 0.0)
        silent = last.silent + min(now - last.looked, max(seconds / 4, _MOST_UNSEEN))
        self._watched[key] = _Watch(sign, now, silent)
        return silent > seconds


def _new_sign() -> str:
    return uuid.uuid4().hex


# ---- owners: which process, on which machine ------------------------------------------------------


def _machine() -> str | None:
    """This boot of this machine, and this set of process numbers, since containers may share a host name."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{HOST}|{boot}|{os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return None


_MACHINE = _machine()


def new_owner() -> str:
    """A name for this call of a driver: machine, process, and a word of its own."""
    return f"{_MACHINE or HOST}/{os.getpid()}/{uuid.uuid4().hex[:12]}"


def is_gone(owner: str) -> bool:
    """Whether the owner is surely dead: a process of this machine that is no more. Others are watched."""
    machine, _, rest = owner.partition("/")
    if _MACHINE is None or machine != _MACHINE:
        return False
    try:
        os.kill(int(rest.partition("/")[0]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False


# ---- how the sweeps are getting on ---------------------------------------------------------------


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
        with self.database.read() as connection:
            query = select(sweeps_table).order_by(sweeps_table.c.started.desc()).limit(last)
            rows = [dict(row) for row in connection.execute(query).mappings()]
            now = self.database.now(connection)
        states, broken = [], {}
        for row in rows:
            try:
                states.append(read_fields(SweepState, row))
            except DataError as error:
                broken[str(row["id"])] = str(error)
        warn_of(broken, f"the sweeps in {self.database.name}")
        return now, states

    def drop_ended(self) -> int:
        """Removes sweeps that ended or went silent; returns how many."""
        with self.database.write() as connection:
            silent = sweeps_table.c.heartbeat < self.database.now(connection) - SILENCE
            old = sweeps_table.c.finished.is_not(None) | silent
            return connection.execute(delete(sweeps_table).where(old)).rowcount
