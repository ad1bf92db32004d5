"""``compsparse discover``, ``predict`` and ``demo``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compsparse.cli.app import (
    JsonOption,
    app,
    check_writable,
    checked_device,
    err,
    out,
    print_json,
    print_scores,
    seconds,
)
from compsparse.errors import CompsparseError, DataError

if TYPE_CHECKING:
    from compsparse.discovery import Discovery
    from compsparse.discovery.agreement import Agreement
    from compsparse.tables.splitting import SplitTable

DataArgument = Annotated[Path, typer.Argument(help="A .csv or .parquet file; texts are categories.")]
ReportOption = Annotated[Path, typer.Option("--out", help="Where to write the report.")]
ModelOption = Annotated[Path, typer.Option("--model", help="Where to write the model, as JSON.")]
_REPORT, _MODEL = Path("report.html"), Path("model.json")


@app.command()
def discover(
    data: DataArgument,
    target: Annotated[list[str], typer.Option(help="The column to predict; may be given several times.")],
    out_: ReportOption = _REPORT,
    model: ModelOption = _MODEL,
    time: Annotated[str | None, typer.Option(help="Time for search and fit, such as 90s or 5m.")] = None,
    classify: Annotated[
        bool | None, typer.Option("--classify/--regress", help="Whether the target holds classes; texts do by default.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; may be given several times.")
    ] = None,
    effort: Annotated[float, typer.Option(help="Multiplies the training steps of every trial in the search.")] = 1.0,
    device: Annotated[str | None, typer.Option(help="Where to train, such as cuda.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split, the search and the fit.")] = 0,
    json_: JsonOption = False,
) -> None:
    """Find the function graph of a table, fit the network that mirrors it, and compare it with dense models.

    A third of the rows is held out for the test. Ctrl-C ends the search with the best graph so far and fits that;
    a second one ends the fit.
    """
    from compsparse.tables.reading import inputs_and_targets, read_table
    from compsparse.tables.splitting import SplitTable

    for path in (out_, model):
        check_writable(path)
    X, y = inputs_and_targets(read_table(data), target, exclude or ())
    work = SplitTable(X, y, classify, seed)
    found = _discovered(work, json_, time_limit=seconds(time), effort=effort, device=checked_device(device))
    _report(found, work, out_, model, json_, data.name, str(data))


@app.command()
def demo(out_: ReportOption = _REPORT, model: ModelOption = _MODEL, json_: JsonOption = False) -> None:
    """Discover the flow through a borehole from 1,500 noisy runs (an embedded table), and compare with the formula."""
    from compsparse.discovery.agreement import agreement
    from compsparse.tables.reading import embedded_table, inputs_and_targets
    from compsparse.tables.splitting import SplitTable
    from compsparse.tasks import borehole

    for path in (out_, model):
        check_writable(path)
    X, y = inputs_and_targets(embedded_table("borehole"), ["flow"])
    work = SplitTable(X, y, classify=False, seed=0)
    found = _discovered(work, json_)
    known = agreement(found.graph, borehole().graph, X)
    _report(found, work, out_, model, json_, "The flow through a borehole", "borehole.csv", known)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model that `compsparse discover` wrote.")],
    data: DataArgument,
    out_: Annotated[
        Path | None, typer.Option("--out", help="A .csv file for the predictions; printed by default.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also give the probability of every class.")] = False,
) -> None:
    """Predict the target of every row of a table with a saved model."""
    import pandas

    from compsparse.tables.reading import read_table

    surrogate = _loaded_model(model)
    if out_ is not None:
        check_writable(out_)
    table = read_table(data).rename(columns=str)
    _warn_of_new_levels(surrogate, table)
    names = surrogate.graph.outputs
    predicted = surrogate.predict(table).reshape(len(table), -1)
    frame = pandas.DataFrame(dict(zip(names, predicted.T, strict=True)))
    if proba:
        shares = surrogate.predict_proba(table)
        for label, share in zip(surrogate.classes or (), shares.T, strict=True):
            frame[f"{names[0]}={label}"] = share
    frame.to_csv(sys.stdout if out_ is None else out_, index=False)


def _discovered(work: SplitTable, quiet: bool, **settings: Any) -> Discovery:
    from compsparse.discovery import discover as search
    from compsparse.progress import ProgressBar, Silent

    if not quiet:
        out.print(f"discovering the function graph in {len(work.X):,} rows …\n", highlight=False)
    listener = ProgressBar("discovering") if err.is_terminal else nullcontext(Silent())
    classes = work.classes is not None
    with listener as progress:
        return search(work.X, work.y, classification=classes, random_state=work.seed, progress=progress, **settings)


def _report(
    found: Discovery,
    work: SplitTable,
    page: Path,
    model: Path,
    as_json: bool,
    title: str,
    data: str,
    known: Agreement | None = None,
) -> None:
    from compsparse.files import whole_file
    from compsparse.models.comparison import compared
    from compsparse.report.discovery_page import DiscoveryReport, discovery_page

    if not as_json:
        _print_discovery(found)
    with whole_file(model) as temporary:
        temporary.write_text(found.to_json(), encoding="utf-8")
    assert found.model is not None
    scores = compared(found.model, work, "discovered graph (compsparse)", found.cost.seconds)
    notes = ("the comparison with dense models was interrupted",) if len(scores) == 1 else ()
    observed = work.y_test.to_numpy()
    discovery_page(
        page,
        DiscoveryReport(title, found, work.X, work.X_test, observed, scores, known, str(model), data, notes),
    )
    if as_json:
        print_json(_as_data(found, scores, known) | {"report": str(page), "model": str(model)})
        return
    print_scores(scores)
    for sentence in (*notes, *(known.sentences() if known else ())):
        out.print(sentence, highlight=False, markup=False)
    out.print(f"report: {page}\nmodel: {model}", highlight=False, markup=False)


def _print_discovery(found: Discovery) -> None:
    from compsparse.discovery import DiscoveryStatus
    from compsparse.report.evidence import evidence_line

    out.print(str(found.graph), highlight=False, markup=False)
    out.print()
    for entry in found.evidence:
        out.print(evidence_line(found, entry), highlight=False, markup=False)
    for caveat in found.caveats:
        out.print(f"note: {caveat}", style="yellow", highlight=False, markup=False)
    if found.status is not DiscoveryStatus.FINISHED:
        out.print(found.status.value, style="bold yellow", highlight=False, markup=False)
    out.print(f"search and fit took {found.cost.seconds:.0f} s\n", style="dim", highlight=False)


def _as_data(found: Discovery, scores: Sequence[Any], known: Agreement | None) -> dict[str, Any]:
    from compsparse.report.evidence import evidence_line

    record = found.to_dict()
    chosen = {key: record[key] for key in ("status", "graph", "evidence", "caveats", "cost")}
    measured = "accuracy" if hasattr(scores[0], "accuracy") else "r2"
    return chosen | {
        "status_text": found.status.value,
        "modules": sorted(sorted(m) for m in found.modules),
        "inert": list(found.inert),
        "evidence_text": [evidence_line(found, e) for e in found.evidence],
        "scores": {s.model: {measured: getattr(s, measured), "unexplained": s.unexplained} for s in scores},
        "beside_the_formula": known.sentences() if known else None,
    }


def _loaded_model(path: Path) -> Any:
    from compsparse.discovery import Discovery

    if not path.is_file():
        raise DataError(f"there is no file {path}")
    try:
        found = Discovery.from_json(path.read_text(encoding="utf-8"))
    except (CompsparseError, ValueError, KeyError, TypeError, RuntimeError) as error:
        problem = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise DataError(f"{path} holds no model that `compsparse discover` wrote: {problem}") from None
    if found.model is None:
        raise DataError(f"{path} holds a graph without a fitted model")
    return found.model


def _warn_of_new_levels(model: Any, table: Any) -> None:
    from compsparse.tables.coding import TextColumn

    for column in model.code.inputs:
        if isinstance(column, TextColumn) and column.name in table.columns:
            new = sorted(set(table[column.name].dropna().astype(str)) - set(column.levels))
            if new:
                listed = ", ".join(new[:5]) + (", …" if len(new) > 5 else "")
                err.print(
                    f"note: column {column.name!r} holds levels never seen: {listed}", highlight=False, markup=False
                )
