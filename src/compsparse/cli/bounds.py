"""``compsparse bounds``: what theory promises of a saved model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compsparse.cli.app import JsonOption, app, print_json, print_table, say
from compsparse.cli.tables import DataArgument
from compsparse.files import check_outputs
from compsparse.progress import shown

if TYPE_CHECKING:
    from compsparse.bounds import BoundTable
    from compsparse.models import FittedGraph


@app.command()
def bounds(
    model: Annotated[Path, typer.Argument(help="A model that `compsparse fit` or `discover` wrote.")],
    data: DataArgument,
    target: Annotated[
        list[str] | None, typer.Option(help="The column that was predicted; by default the model's own, if there.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Where to write a page.")] = None,
    margin: Annotated[float, typer.Option(help="By how much a class must be ahead, or the distance that costs 1.")] = 1,
    confidence: Annotated[float, typer.Option(help="Of all that is said of the expected loss, at once.")] = 0.95,
    given: Annotated[
        bool, typer.Option("--given", help="You vouch that the graph was fixed before the data were seen.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Show generalisation bounds of a model side by side: values, status and, on a page, terms and assumptions.

    The data should be the rows that the model was fitted to.
    """
    from compsparse.bounds import compare
    from compsparse.models import FittedGraph
    from compsparse.tables import read_table

    if report is not None:
        check_outputs([report], [data, model])
    fitted = FittedGraph.load(model)
    X, y = _inputs_and_target(fitted, read_table(data), target)
    with shown("computing bounds"):
        found = compare(fitted, X, y, margin=margin, confidence=confidence, given=given)
    if report is not None:
        from compsparse.report import bounds_page

        bounds_page(report, found, data.name)
    if json_:
        print_json(found.to_dict() | {"report": None if report is None else str(report)})
        return
    from compsparse.report.bounds_report import bounds_verdict

    say(bounds_verdict(found), style="bold")
    _print(found)
    if report is not None:
        say(f"report: {report}")


def _inputs_and_target(fitted: FittedGraph, frame: Any, target: list[str] | None) -> tuple[Any, Any]:
    from compsparse.tables import inputs_and_targets

    frame = frame.rename(columns=str)
    names = list(target) if target else [name for name in fitted.targets if name in frame.columns]
    if not names or (not target and len(names) < len(fitted.targets)):
        return frame, None
    X, y = inputs_and_targets(frame, names)
    values = y.to_numpy()
    return X, values[:, 0] if fitted.classes is not None and values.shape[1] == 1 else values


def _print(found: BoundTable) -> None:
    print_table(list(found.rows()[0]), found.cells())
    say(str(found).splitlines()[0])
    if math.isnan(found.training_loss):
        say("no target was found in the table: nothing is said of losses")
    for note in found.notes:
        say(note)
