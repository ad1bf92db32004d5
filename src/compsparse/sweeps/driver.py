"""The driver of a sweep: leases work, hands it to an engine, keeps what comes back."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import TypeVar

from compsparse.clock import Deadline
from compsparse.errors import StoreError, StoreUnreachableError
from compsparse.progress import Progress
from compsparse.sweeps.engines import Engine
from compsparse.sweeps.packs import Pack, packed
from compsparse.sweeps.records import Row, SweepRecord, SweepStatus
from compsparse.sweeps.spec import Spec
from compsparse.sweeps.store import Store, SweepState
from compsparse.sweeps.store.leases import new_owner
from compsparse.sweeps.sweep import Plan, Sweep

# pauses before a store is given up: a server that is away may be restarting, a full disk stays full
_PAUSES_AWAY = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
_PAUSES = (0.5,)
_POLL_SECONDS = 1.0  # how often to look at what others run
_BEAT_SECONDS = 1.0

_Answer = TypeVar("_Answer")


def patiently(
    action: Callable[[], _Answer],
    deadline: Deadline,
    *,
    pauses: Sequence[float] = _PAUSES,
    waiting: Callable[[], None] = lambda: None,
) -> _Answer:
    """Asks a store again if it fails.

    Args:
        deadline: when waiting would be of no use any more.
        pauses: seconds to wait before each new try if its answer was an error.
        waiting: called before each pause.

    Raises:
        StoreError: it kept failing.
    """
    for tried in count():
        try:
            return action()
        except StoreError as error:
            left = (_PAUSES_AWAY if isinstance(error, StoreUnreachableError) else pauses)[tried:]
            if not left or left[0] > deadline.left:
                raise
            waiting()
            time.sleep(left[0])
    raise AssertionError  # count() does not end


@dataclass(frozen=True, kw_only=True)
class Orders:
    """How a sweep is to be run; see :func:`~compsparse.sweeps.run_sweep`."""

    max_replicas: int
    retry_failed: bool
    wait: bool
    lease_seconds: float
    deadline: Deadline
    progress: Progress


class Driver:
    """One call of a sweep."""

    def __init__(self, sweep: Sweep, store: Store, engine: Engine, orders: Orders):
        self._name, self._plan, self._store, self._engine = sweep.name, Plan(sweep), store, engine
        self._orders = orders
        self._owner = new_owner()
        self._asked: dict[str, Spec] = {}
        self._rows: dict[str, Row] = {}
        self._packs: deque[Pack] = deque()
        self._running: dict[str, Spec] = {}
        self._inbox: deque[Row] = deque()
        self._elsewhere: dict[str, Spec] = {}
        self._existing = self._done = self._failed = self._twice = 0
        self._load = self._load_done = 0.0
        self._lost: StoreError | None = None
        self._spill = store.spill()
        self._state = SweepState.new(self._name, 0, 0)
        self._looked = 0.0

    def run(self) -> SweepRecord:
        """Runs what is missing and returns all there is."""
        started = time.monotonic()
        self._ask(self._plan.begin())
        status = SweepStatus.FINISHED
        if self._packs:
            status = self._run_missing()
            self._spill_lost()
        if self._lost is not None:
            raise StoreError(f"{self._lost}; {self._spill.sentence()}") from self._lost
        return SweepRecord(
            name=self._name,
            status=status,
            total=len(self._asked),
            existing=self._existing,
            done=self._done,
            failed=self._failed,
            twice=self._twice,
            seconds=time.monotonic() - started,
            rows={key: self._rows[key] for key in self._asked if key in self._rows},
            crossings=self._plan.crossings(),
        )

    def _run_missing(self) -> SweepStatus:
        new = replace(self._state, total=len(self._asked), existing=self._existing)
        self._state = self._try(partial(self._store.sweeps.begin, new)) or new
        status, message = SweepStatus.INTERRUPTED, "ended by an error"
        try:
            with _Heart(self._store, self._owner, self._orders.lease_seconds, lambda: self._state):
                self._engine.start()
                status = self._loop()
                message = status.value.partition(":")[0]
        except KeyboardInterrupt:
            message = "interrupted"
            self._empty_inbox()  # Ctrl-C may have come between a result and its store
        finally:
            self._engine.stop()
            with contextlib.suppress(StoreError):
                self._store.leases.release(self._owner)
                self._note()
                self._store.sweeps.beat(replace(self._state, running=0, message=message), finished=True)
        return status

    def _loop(self) -> SweepStatus:
        while True:
            self._hand_out()
            self._tell()
            if not self._running and (self._lost is not None or not (self._packs or self._elsewhere)):
                return SweepStatus.FINISHED
            left = self._orders.deadline.left
            if left <= 0:
                return SweepStatus.OUT_OF_TIME
            if self._running:
                self._inbox.extend(self._engine.completed(min(_POLL_SECONDS, left)))
                self._empty_inbox()
            elif not self._packs and not self._orders.wait:
                return SweepStatus.ELSEWHERE
            else:
                time.sleep(min(0.1 if self._packs else _POLL_SECONDS / 2, left))
            self._look_elsewhere()

    # ---- what to run ----------------------------------------------------------------------------

    def _ask(self, specs: Iterable[Spec]) -> None:
        """Adds specs to the sweep: what exists is taken, the rest is packed."""
        missing: list[Spec] = []
        new = [s for s in specs if s.key not in self._asked]
        while new:
            self._asked |= {spec.key: spec for spec in new}
            keys = [s.key for s in new]
            found = self._try(partial(self._found, keys))
            if found is None:
                return
            self._existing += len(found)
            self._rows |= found
            missing += [s for s in new if s.key not in found]
            more = [s for row in found.values() for s in self._plan.heard(row)]
            new = [s for s in {s.key: s for s in more}.values() if s.key not in self._asked]
        self._load += sum(spec.load() for spec in missing)
        self._packs.extend(packed(missing, self._orders.max_replicas, self._engine.workers))

    def _found(self, keys: list[str]) -> dict[str, Row]:
        if self._orders.retry_failed:
            self._store.results.forget_failed(keys)
        return self._store.results.get(keys)

    def _hand_out(self) -> None:
        while self._packs and self._lost is None and self._engine.room > 0:
            pack = self._packs.popleft()
            mine = self._try(partial(self._claimed, pack))
            if mine is None:
                self._packs.appendleft(pack)
            elif mine.specs:
                self._running |= {s.key: s for s in mine.specs}
                self._engine.submit(mine)

    def _claimed(self, pack: Pack) -> Pack:
        """What is free of a pack; the rest has been taken by others."""
        keys = {s.key: s for s in pack.specs}
        mine = self._store.leases.claim(keys, self._owner, self._orders.lease_seconds)
        others = [k for k in keys if k not in mine]
        self._elsewhere |= {k: keys[k] for k in others}
        return pack.without(others)

    def _look_elsewhere(self) -> None:
        """Takes the results of other drivers, and the work of those that died."""
        if not self._elsewhere or self._lost is not None or time.monotonic() - self._looked < _POLL_SECONDS:
            return
        self._looked = time.monotonic()
        found = self._try(lambda: self._store.results.get(self._elsewhere)) or {}
        for key, row in found.items():
            self._load_done += self._elsewhere.pop(key).load()
            self._existing += 1
            self._take(row)
        if self._elsewhere and not self._packs and self._engine.room > 0:
            left, self._elsewhere = list(self._elsewhere.values()), {}
            self._packs.extend(packed(left, self._orders.max_replicas, self._engine.workers))

    # ---- what came back -------------------------------------------------------------------------

    def _empty_inbox(self) -> None:
        while self._inbox:
            self._keep(self._inbox[0])
            self._inbox.popleft()

    def _keep(self, row: Row) -> None:
        is_kept = self._try(lambda: self._store.results.put(row)) if self._lost is None else None
        if self._lost is not None:
            self._spill.put(row)
        spec = self._running.pop(row.key, None)
        if spec is None:
            return
        self._load_done += spec.load()
        if is_kept is False:  # another driver took this one for dead, and was faster
            row = (self._try(lambda: self._store.results.get([row.key])) or {}).get(row.key, row)
            self._existing += 1
            self._twice += 1
        else:
            self._done += row.status == "done"
            self._failed += row.status == "failed"
        self._take(row)

    def _take(self, row: Row) -> None:
        self._rows[row.key] = row
        if self._lost is None:
            self._ask(self._plan.heard(row))

    def _try(self, action: Callable[[], _Answer]) -> _Answer | None:
        """Asks the store patiently; if it keeps failing it is lost, and what still runs is spilled."""
        try:
            return patiently(action, self._orders.deadline, waiting=lambda: self._say("waiting for the store"))
        except StoreError as error:
            self._lost = error
            return None

    def _spill_lost(self) -> None:
        """Results that the store took and has no more, as when its file was deleted, go to the spill file too."""
        known = {key: row for key, row in self._rows.items() if row.kind and key not in self._spill.keys}
        try:
            there = self._store.results.keys(known)
            known = {key: row for key, row in known.items() if key not in there}
        except StoreUnreachableError:
            return  # a server that comes back has them
        except StoreError as error:
            self._lost = self._lost or error
        for row in known.values():
            self._spill.put(row)
        if known and self._lost is None:
            self._lost = StoreError(f"the store {self._store.name} has lost {len(known)} results that it had taken")

    # ---- progress -------------------------------------------------------------------------------

    def _note(self) -> None:
        n_left = self._plan.runs_left()
        mean = self._load / max(1, len(self._asked) - self._existing)
        total = self._load + n_left * mean
        done = min(total, self._load_done + self._engine.partial_load)
        self._state = replace(
            self._state,
            total=len(self._asked),
            existing=self._existing,
            done=self._done,
            failed=self._failed,
            running=len(self._running),
            share=done / total if total > 0 else 0.0,
        )

    def _tell(self) -> None:
        self._note()
        if self._lost is not None:
            self._say(f"the store is lost: waiting for {len(self._running)} runs")
        elif self._elsewhere and not self._running:
            self._say(f"waiting for {len(self._elsewhere)} that run elsewhere")
        else:
            self._say(*filter(None, [self._engine.note]))

    def _say(self, *more: str) -> None:
        state = self._state
        ended = f"{len(self._rows):,} of {state.total:,} runs"
        failed = [f"{state.failed} failed"] if state.failed else []
        self._orders.progress.update(state.share, 1.0, ", ".join([ended, *failed, *more]))


class _Heart:
    """Renews the driver's leases and shows how far it is, from a thread of its own."""

    def __init__(self, store: Store, owner: str, lease_seconds: float, state: Callable[[], SweepState]):
        self._store, self._owner, self._lease_seconds, self._state = store, owner, lease_seconds, state
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def _beat(self) -> None:
        renewed = time.monotonic()
        while not self._stopped.wait(min(_BEAT_SECONDS, self._lease_seconds / 4)):
            with contextlib.suppress(StoreError):  # the driver finds out by itself
                self._store.sweeps.beat(self._state())
                if time.monotonic() - renewed > self._lease_seconds / 4:
                    self._store.leases.renew(self._owner, self._lease_seconds)
                    renewed = time.monotonic()

    def __enter__(self) -> _Heart:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self._thread.join(timeout=10)
