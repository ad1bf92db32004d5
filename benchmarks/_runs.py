"""Benchmarks that are sweeps: their runs are kept in a store, and go on where they stopped."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compsparse.sweeps import Row, Spec, Sweep, open_store, run_sweep


def add_store_option(parser: argparse.ArgumentParser) -> None:
    """``--store``, for :func:`results_of`."""
    parser.add_argument(
        "--store",
        help="where results are kept: a SQLite file or postgresql://…; the same command goes on from it. Results are "
        "of the code that made them: take a new store for new code. By default nothing is kept",
    )


class Lines:
    """How far a sweep is, on standard error, a line whenever a run has ended."""

    def __init__(self) -> None:
        self.last = ""

    def update(self, done: float, total: float, message: str = "") -> None:
        """Says what has changed."""
        if message != self.last:
            print(message, file=sys.stderr, flush=True)
        self.last = message


def ended(
    kind: type[Spec],
    specs: Sequence[Spec],
    *,
    store: str | None,
    processes: int,
    device: str | None = None,
) -> tuple[list[Row], list[Row]]:
    """The runs that ended well, in their order, and those that failed; what the store has is not run again."""
    sweep = Sweep(kind.kind, kind, runs=[spec.to_dict() for spec in specs])
    with contextlib.ExitStack() as stack:
        place = store or str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "runs.sqlite")
        record = run_sweep(sweep, place, workers=processes, device=device, retry_failed=True, progress=Lines())
    left = f", {record.left} left" * bool(record.left)
    print(
        f"{record.total} runs, {record.existing} of them kept from before{left}: {record.status.value}", file=sys.stderr
    )
    for row in record.failures:
        last = (row.traceback or "").strip().splitlines()[-1:]
        print(f"{row.spec} ended with an error: {' '.join(last)}", file=sys.stderr)
    return [row for row in record.rows.values() if row.status == "done"], record.failures


def kept(places: Sequence[str], kind: type[Spec]) -> list[Row]:
    """The runs of a kind that ended well in several stores."""
    rows: list[Row] = []
    for place in places:
        with open_store(place, read_only=True) as store:
            rows += store.results.all(kind.kind, "done")
    return rows


def record_of(row: Row) -> dict[str, Any]:
    """Fields and results of a run by name."""
    result: Mapping[str, Any] = row.result or {}
    return {"key": row.key, **row.spec, **result}
