"""``compsparse discover``, ``demo`` and ``fit``: what learns from a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compsparse.checks import check_device, own_seed
from compsparse.cli import tables
from compsparse.cli.app import JsonOption, app, out, print_json, print_scores, say, scores_as_data, seconds
from compsparse.cli.graph import graph_from
from compsparse.cli.interrupts import ending_gently
from compsparse.clock import Deadline
from compsparse.errors import CompsparseError, ConfigError
from compsparse.files import check_outputs, write_text
from compsparse.models.scores import check_predict_with

if TYPE_CHECKING:
    from compsparse.discovery import Discovery
    from compsparse.discovery.agreement import Agreement
    from compsparse.models import Assessment, FoundFormula
    from compsparse.tables import SplitTable
    from compsparse.tasks import Task

DEMO_TABLE = Path("demo.csv")
_DEMO_TARGET, _DEMO_ROWS, _DEMO_NOISE = "strength", 1500, 0.02
_ABOUT_DEMO = """\
{table}: 1,500 glued joints, made up by a formula with 2% noise. 60 readings of the line stand beside the strength of
each joint. Which of them decide it, and which act together? The formula is hidden from the search.
"""

_SHARE_FOR_FORMULA = 0.5
"""Of the time that is left for the comparison with other models."""
_SEARCH_TRAIN_SHARPEN = 3
"""The stages of a discovery; a fit has the last two."""


@app.command()
def discover(
    data: tables.DataArgument,
    target: tables.TargetOption,
    out_: tables.ReportOption = tables.REPORT,
    model: tables.ModelOption = tables.MODEL,
    time_limit: tables.TimeLimitOption = None,
    classification: tables.ClassificationOption = None,
    exclude: tables.ExcludeOption = None,
    test: tables.TestOption = None,
    group: tables.GroupOption = None,
    time_split: tables.TimeSplitOption = None,
    na: tables.NaOption = None,
    sep: tables.SepOption = None,
    decimal: tables.DecimalOption = None,
    encoding: tables.EncodingOption = None,
    predict_with: tables.PredictWithOption = None,
    units: Annotated[
        str | None, typer.Option(help="rho=kg/m^3,V=m/s: groups of inputs that are pure numbers are preferred.")
    ] = None,
    effort: Annotated[float, typer.Option(help="Multiplies the training steps of every trial in the search.")] = 1.0,
    formula: Annotated[
        bool, typer.Option("--formula", help="Also read the formula off the model: some seconds to a minute.")
    ] = False,
    device: tables.DeviceOption = None,
    random_state: tables.RandomStateOption = None,
    json_: JsonOption = False,
) -> None:
    """Find the function graph of a table, fit the network that mirrors it, and compare it with dense models.

    A third of the rows is held out for the test, unless --test names others.

    Ctrl-C ends the search and fits the best graph so far; a second one ends the fit.
    """
    from compsparse.report.summary import summary

    to_learn, to_compare = tables.deadlines(seconds(time_limit))
    check_outputs([out_, model], [data, *([test] if test else [])])
    check_device(device)
    seed = own_seed(random_state)
    form = {"sep": sep, "decimal": decimal, "encoding": encoding}
    split = tables.split_file(
        data, target, exclude, classification, seed, na, test=test, group=group, time_split=time_split, **form
    )
    found = _discovered(
        split,
        seed,
        json_,
        predict_with=predict_with,
        units=_units(units),
        effort=effort,
        device=device,
        time_limit=tables.seconds_to_learn(to_learn),
    )
    if not json_:
        say("\n".join([*summary(found), ""]), style="bold")
        print_discovery(found)
    _keep(found, model, json_)
    read, no_formula = _formula(found, split, seed, to_compare, json_) if formula else (None, ())
    assessment = _assessed(found, split, seed, to_compare)
    notes = (
        *no_formula,
        *tables.notes_on_reading(data, split, **form),
        *tables.comparison_notes(assessment.others, to_compare),
    )
    _report(
        found, split, assessment, seed, json_,
        page=out_, model=model, title=data.name, data=data, formula=read, notes=notes,
    )  # fmt: skip


@app.command()
def demo(
    out_: tables.ReportOption = tables.REPORT,
    model: tables.ModelOption = tables.MODEL,
    table: Annotated[Path, typer.Option(help="Where to write the table, to try other commands on.")] = DEMO_TABLE,
    seed: Annotated[
        int, typer.Option("--seed", "--random-state", help="Another seed draws another table, and searches anew.")
    ] = 0,
    json_: JsonOption = False,
) -> None:
    """Find which of 60 readings decide how strong a glued joint is, and compare with the formula behind the table.

    The 1,500 joints are made up: five readings act, two pairs of them through one number each, and noise is added.
    """
    from compsparse.discovery.agreement import agreement
    from compsparse.report.summary import summary
    from compsparse.tasks.targets import GLUED_STRENGTH, glued_joints

    check_outputs([out_, model, table])
    task = glued_joints(_DEMO_NOISE)
    _write_demo_table(table, task, own_seed(seed))
    split = tables.split_file(table, [_DEMO_TARGET], None, False, seed)
    if not json_:
        say(_ABOUT_DEMO.format(table=table))
    found = _discovered(split, seed, json_)
    _keep(found, model, json_)
    known = agreement(found.graph, task.graph, split.X)
    assessment = _assessed(found, split, seed)
    if not json_:
        told = [*known.sentences(), *summary(found, assessment), "The other models are untuned.", ""]
        say("\n".join(told), style="bold")
        print_discovery(found)
    formula = f"The table is made up: {_DEMO_TARGET} = {GLUED_STRENGTH}, and noise of {_DEMO_NOISE:.0%}."
    notes = (formula, *tables.comparison_notes(assessment.others, Deadline()))
    title = "Which readings decide how strong a glued joint is?"
    _report(
        found, split, assessment, seed, json_,
        page=out_, model=model, title=title, data=table, known=known, notes=notes,
    )  # fmt: skip


def _keep(found: Discovery, model: Path, as_json: bool) -> None:
    """The model first: what took long must not be lost to what follows."""
    write_text(model, found.to_json())
    if not as_json:
        say(f"model: {model}")


def _write_demo_table(path: Path, task: Task, seed: int) -> None:
    """Draws the demo's table from its formula."""
    sample = task.sample(_DEMO_ROWS, random_state=seed)
    lines = [",".join([*task.graph.inputs, _DEMO_TARGET])]
    lines += [",".join(f"{value:.6g}" for value in (*row, y)) for row, y in zip(sample.X, sample.y, strict=True)]
    write_text(path, "\n".join(lines) + "\n")


def _units(given: str | None) -> dict[str, str] | None:
    """Units by name, from ``rho=kg/m^3,V=m/s``."""
    if given is None:
        return None
    pairs = [pair.partition("=") for pair in given.split(",")]
    if not all(sign for _, sign, _ in pairs):
        raise ConfigError(f"--units must be NAME=UNIT,NAME=UNIT,… such as rho=kg/m^3,V=m/s, got {given!r}")
    return {name.strip(): unit.strip() for name, _, unit in pairs}


def _discovered(
    split: SplitTable,
    seed: int,
    quiet: bool,
    *,
    predict_with: str | None = None,
    units: dict[str, str] | None = None,
    effort: float = 1.0,
    device: str | None = None,
    time_limit: float | None = None,
) -> Discovery:
    from compsparse.progress import begin_stage, shown

    if not quiet:
        n_train = len(split.target.values)
        say(f"discovering the function graph in {n_train:,} rows (random_state {seed}) …\n")
    with shown("discovering", n_stages=_SEARCH_TRAIN_SHARPEN) as progress:
        begin_stage(progress, "searching for the graph")
        from compsparse.discovery import discover as search
        from compsparse.discovery.data import evidence, outputs  # noqa: F401 (loaded before Ctrl-C ends a search)
        from compsparse.models import fit_model  # noqa: F401 (likewise)

        with ending_gently(*tables.HEARD):
            return search(
                split.X,
                split.y,
                classification=split.classes is not None,
                predict_with=check_predict_with(predict_with),
                units=units,
                effort=effort,
                random_state=seed,
                device=device,
                time_limit=time_limit,
                progress=progress,
                na=split.na,
            )


def _formula(
    found: Discovery, split: SplitTable, seed: int, deadline: Deadline, quiet: bool
) -> tuple[FoundFormula | None, tuple[str, ...]]:
    """The formula of the model; where there is none, why."""
    time_limit = _SHARE_FOR_FORMULA * deadline.left if deadline.is_set else None
    if not quiet:
        say("reading the formula …")
    with ending_gently("Ctrl-C: the formula is left out"):
        try:
            read = found.formula(split.X, split.y, random_state=seed, time_limit=time_limit)
        except CompsparseError as error:
            return None, (f"no formula: {error}",)
        except KeyboardInterrupt:
            return None, ("no formula: reading it was interrupted",)
    if not quiet:
        say(f"{read}\n", style="bold")
    return read, ()


def _assessed(found: Discovery, split: SplitTable, seed: int, deadline: Deadline | None = None) -> Assessment:
    assert found.model is not None
    name, seconds_ = "discovered graph (compsparse)", found.cost.seconds
    return tables.compared(found.model, split, seed, deadline, name=name, seconds=seconds_, blend=found.blend)


def _report(
    found: Discovery,
    split: SplitTable,
    assessment: Assessment,
    seed: int,
    as_json: bool,
    *,
    page: Path,
    model: Path,
    title: str,
    data: Path,
    known: Agreement | None = None,
    formula: FoundFormula | None = None,
    notes: tuple[str, ...] = (),
) -> None:
    """Writes the page and prints the scores; where another model predicts better, the record says so too."""
    from compsparse.models import learned_nodes
    from compsparse.models.explaining_rows import example_rows
    from compsparse.report.discovery_page import DiscoveryReport, discovery_page

    assert found.model is not None
    report = DiscoveryReport(
        title,
        found,
        learned=learned_nodes(found.model, split.X),
        assessment=assessment,
        agreement=known,
        formula=formula,
        examples=example_rows(found.model, split.X, split.X_test, assessment, seed),
        model_path=str(model),
        data_path=str(data),
        notes=notes,
    )
    discovery_page(page, report)
    if better := assessment.better_elsewhere:
        found = replace(found, caveats=(*found.caveats, better))
        write_text(model, found.to_json())
    if as_json:
        told = _as_data(found, assessment.scores, known, formula)
        print_json(told | {"random_state": seed, "report": str(page), "model": str(model)})
        return
    print_scores(assessment.scores)
    for sentence in filter(None, (better, *notes)):
        say(sentence)
    say(f"report: {page}")


def print_discovery(found: Discovery) -> None:
    """The graph, the evidence, what to keep in mind and which inputs matter."""
    from compsparse.discovery import DiscoveryStatus
    from compsparse.report.evidence import evidence_line

    say(str(found.graph))
    out.print()
    for entry in found.evidence:
        say(evidence_line(found, entry))
    for caveat in found.caveats:
        say(f"note: {caveat}", style="yellow")
    if found.influence is not None:
        say(f"\n{found.influence}\n")
    if found.model is not None:
        tables.print_treatments(found.model.code.treatments)
    if found.status is not DiscoveryStatus.FINISHED:
        say(found.status.value, style="bold yellow")
    say(f"search and fit took {found.cost.seconds:.0f} s\n", style="dim")


def _as_data(
    found: Discovery, scores: Sequence[Any], known: Agreement | None, formula: FoundFormula | None
) -> dict[str, Any]:
    from compsparse.report.evidence import evidence_line

    record = found.to_dict()
    chosen = {key: record[key] for key in ("status", "graph", "evidence", "caveats", "cost", "influence")}
    return chosen | {
        "status_text": found.status.value,
        "modules": sorted(sorted(m) for m in found.modules),
        "inert": list(found.inert),
        "not_looked_at": list(found.not_looked_at),
        "evidence_text": [evidence_line(found, e) for e in found.evidence],
        "scores": scores_as_data(scores),
        "treatments": tables.treatments_as_data(found.model.code.treatments) if found.model else [],
        "beside_the_formula": known.sentences() if known else None,
        "formula": formula and {"text": formula.text, "latex": formula.latex, "r2": formula.r2, "price": formula.price},
    }


# ---- a known graph --------------------------------------------------------------------------------


@app.command()
def fit(
    data: tables.DataArgument,
    target: tables.TargetOption,
    graph: Annotated[str, typer.Option(help="The function graph: an expression of the columns, or a .json file.")],
    out_: tables.ReportOption = tables.REPORT,
    model: tables.ModelOption = tables.MODEL,
    time_limit: tables.TimeLimitOption = None,
    classification: tables.ClassificationOption = None,
    exclude: tables.ExcludeOption = None,
    test: tables.TestOption = None,
    group: tables.GroupOption = None,
    time_split: tables.TimeSplitOption = None,
    na: tables.NaOption = None,
    sep: tables.SepOption = None,
    decimal: tables.DecimalOption = None,
    encoding: tables.EncodingOption = None,
    device: tables.DeviceOption = None,
    random_state: tables.RandomStateOption = None,
    json_: JsonOption = False,
) -> None:
    """Fit a network that mirrors a known graph, and compare it with dense models.

    Only the structure of the expression is used: constants and functions are learned. A third of the rows is held
    out for the test.
    """
    from compsparse.models import fit_model, learned_nodes
    from compsparse.models.explaining_rows import example_rows
    from compsparse.progress import shown
    from compsparse.report.fit_page import FitReport, fit_page
    from compsparse.training import TrainingStatus

    to_learn, to_compare = tables.deadlines(seconds(time_limit))
    check_outputs([out_, model], [data, *([graph] if graph.endswith(".json") else [])])
    check_device(device)
    seed, known = own_seed(random_state), graph_from(graph)
    form = {"sep": sep, "decimal": decimal, "encoding": encoding}
    split = tables.split_file(
        data, target, exclude, classification, seed, na, test=test, group=group, time_split=time_split, **form
    )
    if not json_:
        say(str(known))
        n_train = len(split.target.values)
        say(f"\nfitting the mirrored network to {n_train:,} rows (random_state {seed}) …")
    with ending_gently(tables.HEARD[1]), shown("fitting", n_stages=_SEARCH_TRAIN_SHARPEN - 1) as progress:
        fitted = fit_model(
            known,
            split.X,
            split.y,
            classification=split.classes is not None,
            na=split.na,
            random_state=seed,
            device=device,
            progress=progress,
            time_limit=tables.seconds_to_learn(to_learn),
        )
    fitted.save(model)
    if not json_:
        tables.print_treatments(fitted.code.treatments)
        say(f"model: {model}")
    was_cut = fitted.status in (TrainingStatus.OUT_OF_TIME, TrainingStatus.INTERRUPTED)
    assessment = tables.compared(fitted, split, seed, to_compare, name="mirrored network (compsparse)")
    report = FitReport(
        data.name,
        fitted.graph,
        assessment,
        n_parameters=fitted.size.parameters,
        learned=learned_nodes(fitted, split.X),
        examples=example_rows(fitted, split.X, split.X_test, assessment, seed),
        status=fitted.status.value if was_cut else "",
        model_path=str(model),
        data_path=str(data),
        treatments=fitted.code.treatments,
        notes=(
            *tables.notes_on_reading(data, split, **form),
            *tables.comparison_notes(assessment.others, to_compare),
        ),
    )
    fit_page(out_, report)
    if json_:
        told = {"status": fitted.status.name, "status_text": fitted.status.value, "random_state": seed}
        sizes = {"scores": scores_as_data(assessment.scores), "parameters": fitted.size.parameters}
        sizes["treatments"] = tables.treatments_as_data(fitted.code.treatments)
        print_json(told | sizes | {"report": str(out_), "model": str(model)})
        return
    print_scores(assessment.scores)
    if assessment.better_elsewhere:
        say(assessment.better_elsewhere)
    for sentence in (report.status, *report.notes):
        if sentence:
            say(sentence, style="bold yellow")
    say(f"report: {out_}")
