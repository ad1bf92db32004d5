"""``compsparse store``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from compsparse.cli.app import JsonOption, app, print_json, print_table, say
from compsparse.cli.sweep import StoreOption, store_files, unreadable_told
from compsparse.files import check_outputs
from compsparse.sweeps import DEFAULT_STORE
from compsparse.text import printable

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
