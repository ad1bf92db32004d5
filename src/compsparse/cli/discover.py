"""``compsparse discover``, ``predict`` and ``demo``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compsparse.checks import check_device
from compsparse.cli.app import JsonOption, app, err, out, print_json, print_scores, say, scores_as_data, seconds
from compsparse.cli.interrupts import ending_gently
from compsparse.cli.tables import (
    COMPARISON_ENDS,
    MODEL,
    REPORT,
    ClassificationOption,
    CommandClock,
    DataArgument,
    DeviceOption,
    ExcludeOption,
    ModelOption,
    RandomStateOption,
    ReportOption,
    TargetOption,
    TimeLimitOption,
    chosen_seed,
    comparison_notes,
    split_file,
)
from compsparse.files import check_outputs

if TYPE_CHECKING:
    from compsparse.discovery import Discovery
    from compsparse.discovery.agreement import Agreement
    from compsparse.models import FittedGraph
    from compsparse.tables import SplitTable

_HEARD = (
    "Ctrl-C: the search ends; the best graph so far is fitted next (Ctrl-C again ends the fit too)",
    "Ctrl-C: the fit ends with the best networks so far",
)


@app.command()
def discover(
    data: DataArgument,
    target: TargetOption,
    out_: ReportOption = REPORT,
    model: ModelOption = MODEL,
    time_limit: TimeLimitOption = None,
    classification: ClassificationOption = None,
    exclude: ExcludeOption = None,
    effort: Annotated[float, typer.Option(help="Multiplies the training steps of every trial in the search.")] = 1.0,
    device: DeviceOption = None,
    random_state: RandomStateOption = None,
    json_: JsonOption = False,
) -> None:
    """Find the function graph of a table, fit the network that mirrors it, and compare it with dense models.

    A third of the rows is held out for the test. Ctrl-C ends the search with the best graph so far and fits that;
    a second one ends the fit.
    """
    clock = CommandClock(time.perf_counter(), seconds(time_limit))
    check_outputs([out_, model], [data])
    check_device(device)
    seed = chosen_seed(random_state)
    split = split_file(data, target, exclude, classification, seed)
    found = _discovered(split, seed, json_, effort=effort, device=device, time_limit=clock.left_to_learn)
    deadline = clock.end_of_comparison
    _report(found, split, seed, json_, page=out_, model=model, title=data.name, data=str(data), deadline=deadline)


@app.command()
def demo(out_: ReportOption = REPORT, model: ModelOption = MODEL, json_: JsonOption = False) -> None:
    """Discover the flow through a borehole from 1,500 noisy runs (an embedded table), and compare with the formula."""
    from compsparse.discovery.agreement import agreement
    from compsparse.tables import embedded_table, inputs_and_targets, split_table
    from compsparse.tasks import borehole

    check_outputs([out_, model])
    X, y = inputs_and_targets(embedded_table("borehole"), ["flow"])
    split = split_table(X, y, classification=False, random_state=0)
    found = _discovered(split, 0, json_)
    known = agreement(found.graph, borehole().graph, X)
    title, data = "The flow through a borehole", "borehole.csv"
    _report(found, split, 0, json_, page=out_, model=model, title=title, data=data, known=known)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model that `compsparse discover` or `compsparse fit` wrote.")],
    data: DataArgument,
    out_: Annotated[
        Path | None, typer.Option("--out", help="A .csv file for the predictions; printed by default.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also give the probability of every class.")] = False,
) -> None:
    """Predict the target of every row of a table with a saved model."""
    from compsparse.files import write_text
    from compsparse.models import FittedGraph
    from compsparse.tables import read_table

    check_outputs([out_], [model, data])
    fitted = FittedGraph.load(model)
    table = read_table(data)
    for name, levels in fitted.code.new_levels(table).items():
        shown = ", ".join(levels[:5]) + (", …" if len(levels) > 5 else "")
        say(f"note: column {name!r} holds levels never seen: {shown}", to=err)
    text = _predictions(fitted, table, proba)
    if out_ is None:
        print(text, end="")
    else:
        write_text(out_, text)


def _predictions(model: FittedGraph, table: Any, proba: bool) -> str:
    """Predictions as CSV."""
    import pandas

    predicted = model.predict(table).reshape(len(table), -1)
    frame = pandas.DataFrame(dict(zip(model.targets, predicted.T, strict=True)))
    if proba:
        for label, share in zip(model.classes or (), model.predict_proba(table).T, strict=True):
            frame[f"{model.targets[0]}={label}"] = share
    return frame.to_csv(index=False)


def _discovered(
    split: SplitTable,
    seed: int,
    quiet: bool,
    *,
    effort: float = 1.0,
    device: str | None = None,
    time_limit: float | None = None,
) -> Discovery:
    from compsparse.discovery import discover as search
    from compsparse.discovery.data import evidence, outputs  # noqa: F401 (loaded before Ctrl-C ends a search)
    from compsparse.models import fit_model  # noqa: F401 (likewise)
    from compsparse.progress import shown

    if not quiet:
        n_train = len(split.target.values)
        say(f"discovering the function graph in {n_train:,} rows (random_state {seed}) …\n")
    with ending_gently(*_HEARD), shown("discovering", err.is_terminal) as progress:
        return search(
            split.X,
            split.y,
            classification=split.classes is not None,
            effort=effort,
            random_state=seed,
            device=device,
            time_limit=time_limit,
            progress=progress,
        )


def _report(
    found: Discovery,
    split: SplitTable,
    seed: int,
    as_json: bool,
    *,
    page: Path,
    model: Path,
    title: str,
    data: str,
    known: Agreement | None = None,
    deadline: float | None = None,
) -> None:
    from compsparse.files import write_text
    from compsparse.models import assess, learned_nodes
    from compsparse.models.comparison import baseline_scores
    from compsparse.report.discovery_page import DiscoveryReport, discovery_page

    if not as_json:
        _print_discovery(found)
    write_text(model, found.to_json())
    assert found.model is not None
    with ending_gently(COMPARISON_ENDS):
        others = baseline_scores(split, seed, deadline)
    name = "discovered graph (compsparse)"
    assessment = assess(found.model, split, name=name, seconds=found.cost.seconds, others=others)
    report = DiscoveryReport(
        title,
        found,
        learned=learned_nodes(found.model, split.X),
        assessment=assessment,
        agreement=known,
        model_path=str(model),
        data_path=data,
        notes=comparison_notes(others, deadline),
    )
    discovery_page(page, report)
    if as_json:
        told = _as_data(found, assessment.scores, known)
        print_json(told | {"random_state": seed, "report": str(page), "model": str(model)})
        return
    print_scores(assessment.scores)
    for sentence in (*report.notes, *(known.sentences() if known else ())):
        say(sentence)
    say(f"report: {page}\nmodel: {model}")


def _print_discovery(found: Discovery) -> None:
    from compsparse.discovery import DiscoveryStatus
    from compsparse.report.evidence import evidence_line

    say(str(found.graph))
    out.print()
    for entry in found.evidence:
        say(evidence_line(found, entry))
    for caveat in found.caveats:
        say(f"note: {caveat}", style="yellow")
    if found.status is not DiscoveryStatus.FINISHED:
        say(found.status.value, style="bold yellow")
    say(f"search and fit took {found.cost.seconds:.0f} s\n", style="dim")


def _as_data(found: Discovery, scores: Sequence[Any], known: Agreement | None) -> dict[str, Any]:
    from compsparse.report.evidence import evidence_line

    record = found.to_dict()
    chosen = {key: record[key] for key in ("status", "graph", "evidence", "caveats", "cost")}
    return chosen | {
        "status_text": found.status.value,
        "modules": sorted(sorted(m) for m in found.modules),
        "inert": list(found.inert),
        "evidence_text": [evidence_line(found, e) for e in found.evidence],
        "scores": scores_as_data(scores),
        "beside_the_formula": known.sentences() if known else None,
    }
