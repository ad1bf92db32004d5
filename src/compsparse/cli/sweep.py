"""``compsparse sweep`` and ``compsparse store``."""

from __future__ import annotations

import contextlib
import signal
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table
from typer.core import TyperGroup

from compsparse.cli.app import JsonOption, app, cell, err, out, print_json, print_table, say, seconds
from compsparse.cli.interrupts import ending_gently
from compsparse.cli.tables import TimeLimitOption
from compsparse.errors import ConfigError
from compsparse.files import check_outputs
from compsparse.progress import shown
from compsparse.sweeps import DEFAULT_STORE
from compsparse.text import printable

if TYPE_CHECKING:
    from compsparse.sweeps import Sweep, SweepRecord
    from compsparse.sweeps.store import SweepState


class _RunByDefault(TyperGroup):
    """``sweep FILE`` and ``sweep --preset NAME`` mean ``sweep run …``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["run", *args]
        return super().parse_args(ctx, args)


sweep_app = typer.Typer(
    cls=_RunByDefault,
    help="Run many runs, keep their results, go on where the last call ended: `compsparse sweep FILE.toml`.",
    no_args_is_help=True,
)
app.add_typer(sweep_app, name="sweep")

StoreOption = Annotated[
    str, typer.Option("--store", envvar="COMPSPARSE_STORE", help="A SQLite file, or postgresql://user@host/database.")
]
_MOST_LINES = 30
_HEARD = "Ctrl-C: the sweep stops here, and what is done is kept"


@sweep_app.command("run")
def run(
    file: Annotated[Path | None, typer.Argument(help="A sweep in a .toml file.")] = None,
    preset: Annotated[str | None, typer.Option(help="A sweep that comes with compsparse.")] = None,
    kinds: Annotated[
        Path | None, typer.Option(help="A folder with kinds of run of your own; its Python files are imported.")
    ] = None,
    engine: Annotated[str, typer.Option(help="local, dask, or dask://host:port of a Dask scheduler.")] = "local",
    store: StoreOption = DEFAULT_STORE,
    workers: Annotated[int | None, typer.Option(help="Processes; one per core, or per card, by default.")] = None,
    device: Annotated[str | None, typer.Option(help="Where to train, such as cuda; the CPU by default.")] = None,
    max_replicas: Annotated[int | None, typer.Option(help="The most runs to train together.", min=1)] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run again what failed before.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait for what other drivers on this store are running.")] = True,
    time_limit: TimeLimitOption = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with the curves to this file.")] = None,
    json_: JsonOption = False,
) -> None:
    """Run what is missing of a sweep; `sweep FILE.toml` is short for this.

    A finished run is never run again, so after Ctrl-C, a crash or a change of the file the same command goes on.
    The exit status is 1 if runs failed.
    """
    from compsparse.sweeps import Sweep, get_preset, run_sweep

    if (file is None) == (preset is None):
        raise ConfigError("give a sweep: either a .toml file or --preset NAME")
    if kinds is not None and file is None:
        raise ConfigError("--kinds is for a sweep in a .toml file: a preset has its own kind")
    check_outputs([report], [file, *store_files(store)])
    sweep = Sweep.from_toml(file, kinds=kinds) if file is not None else get_preset(str(preset))
    signal.signal(signal.SIGTERM, _interrupt)
    with unreadable_told():
        with ending_gently(_HEARD), shown(sweep.name) as progress:
            record = run_sweep(
                sweep,
                store,
                engine,
                workers=workers,
                device=device,
                max_replicas=max_replicas,
                retry_failed=retry_failed,
                wait=wait,
                time_limit=seconds(time_limit),
                progress=progress,
            )
        _print_record(record, sweep, store, json_)
        if report is not None:
            _write_report(report, record, sweep, json_)
    if record.status.name == "INTERRUPTED":
        raise typer.Exit(130)
    if record.failures:
        raise typer.Exit(1)


def store_files(store: str) -> list[str]:
    """The files of a store that is one, which no other output may be."""
    return [] if "://" in store or not store else [store, f"{store}-wal", f"{store}-shm"]


@contextlib.contextmanager
def unreadable_told() -> Iterator[None]:
    """Results that cannot be read are told in one line on standard error, once."""
    from compsparse.sweeps import UnreadableResults

    told: set[str] = set()

    def tell(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, UnreadableResults):
            if str(message) not in told:
                say(f"warning: {message}", style="yellow", to=err)
            told.add(str(message))
        else:
            usual(message, category, *rest, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UnreadableResults)
        usual, warnings.showwarning = warnings.showwarning, tell
        yield


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _print_record(record: SweepRecord, sweep: Sweep, store: str, as_json: bool) -> None:
    from compsparse.sweeps.addresses import without_password

    place = without_password(store)
    counts = {k: getattr(record, k) for k in ("total", "existing", "done", "failed", "twice", "left", "seconds")}
    if as_json:
        crossings = [{"settings": g, **asdict(c)} for g, c in record.crossings]
        about = {"name": record.name, "status": record.status.name.lower(), "store": place}
        print_json(about | counts | {"crossings": crossings})
        return
    told = (
        "{total:,} runs: {existing:,} existed, {done:,} done now, {failed:,} failed, in {seconds:.0f} s"
        + ", {left:,} left" * bool(record.left)
    )
    say(f"{printable(record.name)}: {told.format(**counts)}")
    if record.crossings:
        _print_crossings(record)
    else:
        _print_curves(record, sweep)
    for row in record.failures[:3]:
        last = (row.traceback or "").strip().splitlines()[-1:]
        say(f"failed: {printable(row.key[:12])}… {printable(' '.join(last))}", style="red")
    if record.failures[3:]:
        say(f"… and {len(record.failures) - 3} more", style="red")
    if record.twice:
        reason = "this one gave no sign of life for longer than its lease"
        say(f"run twice: {record.twice:,}, here and by another driver on this store, since {reason}", style="yellow")
    say(f"{record.status.value}\nresults: {printable(place)}")


def _print_crossings(record: SweepRecord) -> None:
    changing = [k for k in record.crossings[0][0] if len({str(g.get(k)) for g, _ in record.crossings}) > 1]
    rows = []
    for group, crossing in record.crossings:
        value = "-" if crossing.value is None else f"{crossing.value:.4g}"
        ends = ("-" if v is None else str(v) for v in (crossing.low, crossing.high))
        rows.append([*(group.get(k, "") for k in changing), value, *ends])
    print_table([*changing, "crosses at", "between", "and"], rows)


def _print_curves(record: SweepRecord, sweep: Sweep) -> None:
    from compsparse.sweeps.curves import summary_table, sweep_curves

    found = sweep_curves(record.rows.values(), sweep.kind)
    if not found:
        return
    columns, rows = summary_table(found, sweep.kind)
    print_table(columns, ((f"{v:.4g}" if isinstance(v, float) else v for v in row) for row in rows[:_MOST_LINES]))
    if rows[_MOST_LINES:]:
        say(f"… and {len(rows) - _MOST_LINES} more: see --report or `compsparse store export`")


def _write_report(path: Path, record: SweepRecord, sweep: Sweep, as_json: bool) -> None:
    from compsparse.sweeps import sweep_page

    sweep_page(path, record.name, record.rows.values(), sweep.kind)
    if not as_json:
        say(f"report: {printable(path)}")


@sweep_app.command("presets")
def presets_(json_: JsonOption = False) -> None:
    """List the sweeps that come with compsparse."""
    from compsparse.sweeps import presets

    sweeps = presets()
    if json_:
        print_json({"presets": [{"name": n, "kind": s.kind.kind, "runs": len(s.specs())} for n, s in sweeps.items()]})
        return
    listing = Table(Column("preset", no_wrap=True), "kind", "runs", "adaptive over")
    for name, sweep in sweeps.items():
        over = sweep.adaptive.over if sweep.adaptive else ""
        listing.add_row(
            cell(name), cell(sweep.kind.kind), f"{len(sweep.specs()):,}" + " or more" * bool(over), cell(over)
        )
    out.print(listing)


@sweep_app.command("status")
def status(
    store: StoreOption = DEFAULT_STORE,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again every second until Ctrl-C.")] = False,
    last: Annotated[int, typer.Option(help="How many sweeps to show, the newest first.", min=1)] = 10,
    json_: JsonOption = False,
) -> None:
    """Show how the sweeps on a store are getting on, from any terminal."""
    from rich.live import Live

    from compsparse.sweeps import open_store

    with unreadable_told(), open_store(store, read_only=True) as kept:
        now, states = kept.sweeps.all(last)
        if json_:
            print_json({"sweeps": [_state_data(s, now) for s in states]})
        elif watch:
            with Live(_state_table(states, now), console=out) as live:
                while True:
                    time.sleep(1.0)
                    now, states = kept.sweeps.all(last)
                    live.update(_state_table(states, now))
        elif states:
            out.print(_state_table(states, now))
        else:
            say(f"no sweep has been run on {kept.name}")


def _state_data(state: SweepState, now: float) -> dict[str, Any]:
    return asdict(state) | {"status": state.status(now), "rate": state.rate, "seconds_left": state.seconds_left}


def _state_table(states: list[SweepState], now: float) -> Table:
    listing = Table(
        Column("sweep"), Column("status", no_wrap=True), "done", "failed", "running", "of", "a minute", "left"
    )
    for s in states:
        left = "" if s.seconds_left is None or s.status(now) != "running" else _time(s.seconds_left)
        numbers = (f"{n:,}" for n in (s.existing + s.done, s.failed, s.running, s.total))
        listing.add_row(cell(f"{s.name} ({s.host}:{s.pid})"), cell(s.status(now)), *numbers, f"{60 * s.rate:.3g}", left)
    return listing


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


# ---- stores of results ------------------------------------------------------------------------------


store_app = typer.Typer(help="Look at, export and mend stores of results.", no_args_is_help=True)
app.add_typer(store_app, name="store")


@store_app.command("list")
def list_(
    store: StoreOption = DEFAULT_STORE,
    failed: Annotated[bool, typer.Option("--failed", help="Show the failed runs with their tracebacks.")] = False,
    json_: JsonOption = False,
) -> None:
    """Count the results by kind, or show what failed and why."""
    from compsparse.sweeps import open_store

    with unreadable_told(), open_store(store, read_only=True) as kept:
        if failed:
            rows = list(kept.results.all(status="failed"))
            if json_:
                print_json({"failed": [{"key": r.key, "spec": r.spec, "traceback": r.traceback} for r in rows]})
            for row in rows if not json_ else []:
                say(f"{printable(row.kind)} {printable(row.key)} {printable(row.spec)}\n{row.traceback}")
            return
        counts = kept.results.counts()
    if json_:
        names = ("kind", "version", "status", "runs", "seconds")
        print_json({"results": [dict(zip(names, c, strict=True)) for c in counts]})
        return
    cells = ((*name, f"{n:,}", f"{seconds / 3600:.2f}") for *name, n, seconds in counts)
    print_table(["kind", "version", "status", "runs", "hours"], cells)


@store_app.command("export")
def export(
    file: Annotated[Path, typer.Argument(help="A .parquet or .csv file to write.")],
    store: StoreOption = DEFAULT_STORE,
    kind: Annotated[str | None, typer.Option(help="Only results of this kind.")] = None,
) -> None:
    """Write the results as a table: a column for every field of the specs and the results."""
    from compsparse.sweeps import open_store

    check_outputs([file], store_files(store))
    with unreadable_told(), open_store(store, read_only=True) as kept:
        say(f"{kept.export(file, kind):,} results: {printable(file)}")


@store_app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(help="Files of results that a store could not take.")],
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Bring results into a store from the files that a sweep wrote when it lost its store."""
    from compsparse.sweeps import open_store

    with unreadable_told(), open_store(store) as kept:
        for file in files:
            n, new = kept.import_spill(file)
            say(f"{printable(file)}: {n:,} results, {new:,} of them new")


@store_app.command("compact")
def compact(
    store: StoreOption = DEFAULT_STORE,
    failed: Annotated[bool, typer.Option("--failed", help="Remove failed runs, so that they run again.")] = False,
) -> None:
    """Remove expired leases and ended sweeps, and give space back to the disk."""
    from compsparse.sweeps import open_store

    with open_store(store, create=False) as kept:
        removed = kept.compact(failed)
    listed = ", ".join(f"{n:,} {name}" for name, n in removed.items())
    say(f"removed: {listed}")
