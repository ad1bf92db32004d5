"""The command line: thin, typed, and clear about what went wrong."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

import compsparse
from compsparse.errors import CompsparseError, ConfigError, DataError
from compsparse.graph import FunctionGraph, draw_svg

if TYPE_CHECKING:
    from compsparse.discovery import Discovery
    from compsparse.report.known_formula import Agreement
    from compsparse.report.split_table import SplitTable

app = typer.Typer(
    help="Find, learn, build and certify functions made of small functions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
claims_app = typer.Typer(help="Run statements of the theory and see their verdicts.", no_args_is_help=True)
app.add_typer(claims_app, name="claims")

out, err = Console(), Console(stderr=True)
_TEST_SHARE = 1 / 3

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]


def main() -> None:
    """Runs the command line; errors become one sentence and exit status 2."""
    try:
        app()
    except CompsparseError as error:
        err.print(f"[bold red]error:[/] {_markup_safe(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except OSError as error:
        err.print(f"[bold red]error:[/] {_markup_safe(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("interrupted")
        sys.exit(130)


def _markup_safe(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _print_json(data: dict[str, Any]) -> None:
    print(json.dumps(data))


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(compsparse.__version__)
        raise typer.Exit


# ---- graph --------------------------------------------------------------------------------------


@app.command()
def graph(
    expression: Annotated[str, typer.Argument(help="An expression such as 'tanh(a*b + sin(c*d))', or a .json file.")],
    eps: Annotated[float, typer.Option(help="Accuracy for the unit counts of the Mhaskar-Poggio theorem.")] = 0.01,
    svg: Annotated[Path | None, typer.Option(help="Write a drawing to this file.")] = None,
    json_: JsonOption = False,
) -> None:
    """Show the function graph of an expression: its tree, its modules, its complexity."""
    found = _graph_from(expression)
    count = found.complexity(eps)
    if svg is not None:
        svg.write_text(draw_svg(found), encoding="utf-8")
    modules = sorted((sorted(m) for m in found.modules), key=lambda m: (len(m), m))
    if json_:
        _print_json(
            {
                "graph": json.loads(found.to_json()),
                "modules": modules,
                "log10_shallow": _finite(count.log10_shallow),
                "log10_deep": _finite(count.log10_deep),
                "assumptions": count.assumptions,
            }
        )
        return
    out.print(str(found), highlight=False, markup=False)
    out.print()
    listed = ", ".join("{" + ", ".join(m) + "}" for m in modules) or "none"
    out.print(f"modules: {listed}", highlight=False, markup=False)
    out.print(
        f"units for accuracy {eps:g}, up to constants: 10^{count.log10_deep:.1f} deep, "
        f"10^{count.log10_shallow:.1f} shallow",
        highlight=False,
    )
    for line in count.assumptions:
        out.print(f"  assuming {line}", style="dim", highlight=False)
    if svg is not None:
        out.print(f"drawing: {svg}", highlight=False)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _graph_from(text: str) -> FunctionGraph:
    if text.endswith(".json"):
        path = Path(text)
        if not path.is_file():
            raise DataError(f"there is no file {path}")
        try:
            return FunctionGraph.from_json(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise DataError(f"{path} is not a text file") from None
    return FunctionGraph.from_expression(text)


# ---- fit a known graph --------------------------------------------------------------------------


@app.command()
def fit(
    data: Annotated[Path, typer.Argument(help="A .csv or .parquet file of numbers.")],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    graph: Annotated[str, typer.Option(help="The function graph: an expression of the columns, or a .json file.")],
    out_: Annotated[Path, typer.Option("--out", help="Where to write the report.")] = Path("report.html"),
    time: Annotated[str | None, typer.Option(help="Time for the fit, such as 90s or 5m.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the fit.")] = 0,
    json_: JsonOption = False,
) -> None:
    """Fit a network that mirrors a known graph, and compare it with dense baselines.

    Only the structure of the expression is used: constants and functions are learned.
    """
    from compsparse.tasks.tables import read_table

    _fit_and_report(read_table(data), target, _graph_from(graph), out_, _seconds(time), seed, json_, data.name)


def _fit_and_report(
    frame: Any,
    target: str,
    known: FunctionGraph,
    path: Path,
    time_limit: float | None,
    seed: int,
    as_json: bool,
    title: str,
) -> None:
    from sklearn.model_selection import train_test_split

    from compsparse.estimators import GraphRegressor
    from compsparse.estimators.comparison import compare_models, dense_baselines
    from compsparse.networks import count
    from compsparse.report.fit_page import FitReport, fit_page
    from compsparse.tasks.tables import split_target

    X, y = split_target(frame, target)
    if len(X) < 10:
        raise DataError(f"{len(X)} rows are too few to fit and to test: at least 10 are needed")
    _check_writable(path)
    _check_seed(seed)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=_TEST_SHARE, random_state=seed)
    model = GraphRegressor(known, random_state=seed, time_limit=time_limit, verbose=err.is_terminal)
    if not as_json:
        out.print(str(known), highlight=False, markup=False)
        out.print(f"\nfitting the mirrored network to {len(X_train):,} rows …", highlight=False)
    models = {"mirrored network (compsparse)": model, **dense_baselines(seed)}
    scores = compare_models(models, (X_train, y_train), (X_test, y_test))
    predicted = model.predict(X_test)
    size = count(model.network_)
    fit_page(path, FitReport(title, target, known, size, len(X_train), y_test, predicted, scores))
    if as_json:
        _print_json({"scores": {s.model: s.r2 for s in scores}, "parameters": size.parameters, "report": str(path)})
        return
    _print_scores(scores)
    out.print(f"report: {path}", highlight=False)


def _check_writable(path: Path) -> None:
    if not path.parent.is_dir() or path.is_dir():
        problem = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise ConfigError(f"cannot write {path}: {problem}")


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise ConfigError(f"the seed must not be negative, got {seed}")


def _print_scores(scores: Sequence[Any]) -> None:
    results = Table("model", "test accuracy" if hasattr(scores[0], "accuracy") else "test R2", "unexplained", "seconds")
    for s in scores:
        first = f"{s.accuracy:.2%}" if hasattr(s, "accuracy") else f"{s.r2:.5f}"
        results.add_row(s.model, first, f"{s.unexplained:.2e}", f"{s.seconds:.1f}")
    out.print(results)


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not found or float(found[1]) <= 0:
        raise ConfigError(f"cannot read the time {text!r}: write 90s, 5m or 1h")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


# ---- discover, predict and demo -----------------------------------------------------------------

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
    from compsparse.report.split_table import SplitTable
    from compsparse.tasks.tables import inputs_and_targets, read_table

    for path in (out_, model):
        _check_writable(path)
    X, y = inputs_and_targets(read_table(data), target, exclude or ())
    work = SplitTable(X, y, classify, seed)
    found = _discovered(work, json_, time_limit=_seconds(time), effort=effort, device=_checked_device(device))
    _report(found, work, out_, model, json_, data.name, str(data))


@app.command()
def demo(out_: ReportOption = _REPORT, model: ModelOption = _MODEL, json_: JsonOption = False) -> None:
    """Discover the flow through a borehole from 1,500 noisy runs (an embedded table), and compare with the formula."""
    from compsparse.report.known_formula import agreement
    from compsparse.report.split_table import SplitTable
    from compsparse.tasks import borehole
    from compsparse.tasks.tables import embedded_table, inputs_and_targets

    for path in (out_, model):
        _check_writable(path)
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

    from compsparse.tasks.tables import read_table

    surrogate = _loaded_model(model)
    if out_ is not None:
        _check_writable(out_)
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
    from compsparse.training import ProgressBar, Silent

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
    from compsparse.networks.export import whole_file
    from compsparse.report.discovery_page import DiscoveryReport, discovery_page
    from compsparse.report.split_table import compared

    if not as_json:
        _print_discovery(found)
    with whole_file(model) as temporary:
        temporary.write_text(found.to_json(), encoding="utf-8")
    scores = compared(found, work)
    notes = ("the comparison with dense models was interrupted",) if len(scores) == 1 else ()
    observed = work.y_test.to_numpy()
    discovery_page(
        page,
        DiscoveryReport(title, found, work.X, work.X_test, observed, scores, known, str(model), data, notes),
    )
    if as_json:
        _print_json(_as_data(found, scores, known) | {"report": str(page), "model": str(model)})
        return
    _print_scores(scores)
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


def _checked_device(name: str | None) -> str | None:
    import torch

    if name is not None:
        try:
            torch.empty(1, device=name)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            problem = str(error).strip().splitlines()[0]
            raise ConfigError(f"cannot train on the device {name!r}: {problem}") from None
    return name


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
    from compsparse.discovery.table import TextColumn

    for column in model.code.inputs:
        if isinstance(column, TextColumn) and column.name in table.columns:
            new = sorted(set(table[column.name].dropna().astype(str)) - set(column.levels))
            if new:
                listed = ", ".join(new[:5]) + (", …" if len(new) > 5 else "")
                err.print(
                    f"note: column {column.name!r} holds levels never seen: {listed}", highlight=False, markup=False
                )


# ---- claims -------------------------------------------------------------------------------------

ResultsOption = Annotated[Path, typer.Option("--results", help="Folder of the verdicts.")]
_RESULTS = Path("claims-results")


@claims_app.command("list")
def claims_list(json_: JsonOption = False) -> None:
    """List the claims with their sources."""
    from compsparse.lab import all_claims

    claims = all_claims().values()
    if json_:
        _print_json({"claims": [{k: getattr(c, k) for k in ("name", "statement", "source", "status")} for c in claims]})
        return
    listing = Table(Column("claim", no_wrap=True), "statement", "source", "status", "profiles")
    for c in claims:
        listing.add_row(c.name, c.statement, c.source, c.status, ", ".join(c.profiles))
    out.print(listing)


@claims_app.command("run")
def claims_run(
    names: Annotated[list[str] | None, typer.Argument(help="Which claims; all of them by default.")] = None,
    profile: Annotated[str, typer.Option(help="quick (two CPU cores, at most two minutes) or full (a GPU).")] = "quick",
    results: ResultsOption = _RESULTS,
    json_: JsonOption = False,
) -> None:
    """Run claims and keep their verdicts; a refuted claim is a result, not an error."""
    from compsparse.lab import Outcome, all_claims, get_claim, keep, run_claim
    from compsparse.lab.claim import PROFILES
    from compsparse.training.progress import ProgressBar, Silent

    if profile not in PROFILES:
        raise ConfigError(f"unknown profile {profile!r}, expected one of {list(PROFILES)}")
    chosen = [get_claim(name) for name in names] if names else list(all_claims().values())
    colours = {Outcome.SUPPORTED: "green", Outcome.REFUTED: "red", Outcome.INCONCLUSIVE: "yellow"}
    verdicts = []
    for claim in chosen:
        if err.is_terminal:
            with ProgressBar(claim.name) as bar:
                verdict = run_claim(claim, profile, bar)
        else:
            verdict = run_claim(claim, profile, Silent())
        keep(verdict, results)
        verdicts.append(verdict)
        if not json_:
            colour = colours[verdict.outcome]
            out.print(f"[bold]{claim.name}[/]: [{colour}]{verdict.outcome.value}[/] ({verdict.seconds:.0f} s)")
            out.print(f"  expected: {verdict.expected}\n  measured: {verdict.measured}", highlight=False, markup=False)
    if json_:
        _print_json({"verdicts": [{k: v for k, v in x.to_dict().items() if k != "figures"} for x in verdicts]})
    else:
        out.print("see them all: compsparse claims report", style="dim")


@claims_app.command("report")
def claims_report(
    out_: Annotated[Path, typer.Option("--out", help="Where to write the page.")] = Path("claims.html"),
    results: ResultsOption = _RESULTS,
) -> None:
    """Write one page with every verdict, its figures and its charts."""
    from compsparse.lab import claims_page, kept

    out.print(f"report: {claims_page(out_, kept(results))}", highlight=False)


if __name__ == "__main__":
    main()
