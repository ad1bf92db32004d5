"""``compsparse fit``: a known graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from compsparse.cli.app import JsonOption, app, check_seed, check_writable, err, out, print_json, print_scores, seconds
from compsparse.cli.graph import graph_from
from compsparse.errors import DataError
from compsparse.graph import FunctionGraph

_TEST_SHARE = 1 / 3


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
    from compsparse.tables.reading import read_table

    _fit_and_report(read_table(data), target, graph_from(graph), out_, seconds(time), seed, json_, data.name)


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
    from compsparse.models.comparison import compare_models, dense_baselines
    from compsparse.networks import count
    from compsparse.report.fit_page import FitReport, fit_page
    from compsparse.tables.reading import split_target

    X, y = split_target(frame, target)
    if len(X) < 10:
        raise DataError(f"{len(X)} rows are too few to fit and to test: at least 10 are needed")
    check_writable(path)
    check_seed(seed)
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
        print_json({"scores": {s.model: s.r2 for s in scores}, "parameters": size.parameters, "report": str(path)})
        return
    print_scores(scores)
    out.print(f"report: {path}", highlight=False)
