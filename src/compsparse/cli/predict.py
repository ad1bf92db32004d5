"""``compsparse predict``: a saved model on new rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compsparse.cli import tables
from compsparse.cli.app import app, err, say
from compsparse.files import check_outputs, write_text
from compsparse.models.scores import check_predict_with

if TYPE_CHECKING:
    from compsparse.models import Blend, FittedGraph

_FEW_ROWS = 5
"""Rows that a note names."""


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model that `compsparse discover` or `compsparse fit` wrote.")],
    data: tables.DataArgument,
    out_: Annotated[
        Path | None, typer.Option("--out", help="A .csv file for the predictions; printed by default.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also give the probability of every class.")] = False,
    interval: Annotated[
        float | None, typer.Option(help="Also give intervals that hold this share of rows, such as 0.9.")
    ] = None,
    predict_with: tables.PredictWithOption = None,
    sep: tables.SepOption = None,
    decimal: tables.DecimalOption = None,
    encoding: tables.EncodingOption = None,
) -> None:
    """Predict the target of every row of a table with a saved model.

    The table needs the columns that the model uses; others may be there or not.
    """
    from compsparse.models.blending import load_predictor
    from compsparse.tables import read_table

    check_outputs([out_], [model, data])
    fitted = load_predictor(model, check_predict_with(predict_with))
    table = read_table(data, sep=sep, decimal=decimal, encoding=encoding, texts=fitted.code.texts)
    for sentence in (*fitted.code.surprises(table, fitted.unread), *_far_out(fitted, table)):
        say(f"note: {sentence}", to=err)
    text = _predictions(fitted, table, proba, interval)
    if out_ is None:
        print(text, end="")
    else:
        write_text(out_, text)


def _far_out(model: FittedGraph | Blend, table: Any) -> Iterator[str]:
    """The rows of which the rows of the fit say little, a sentence for each column."""
    what = "and is moved to their ends" if model.code.clips else "where the model may be far off"
    for name, rows in model.code.outside(table, model.unread).items():
        first = ", ".join(f"{row + 1:,}" for row in rows[:_FEW_ROWS])
        more = f" and {len(rows) - _FEW_ROWS:,} more" if len(rows) > _FEW_ROWS else ""
        yield f"column {name!r} lies outside the numbers of the fit in row {first}{more}, {what}"


def _predictions(model: FittedGraph | Blend, table: Any, proba: bool, interval: float | None) -> str:
    """Predictions as CSV."""
    import pandas

    from compsparse.models import FittedGraph
    from compsparse.models.blending import no_misses

    predicted = model.predict(table).reshape(len(table), -1)
    frame = pandas.DataFrame(dict(zip(model.targets, predicted.T, strict=True)))
    if proba:
        for label, share in zip(model.classes or (), model.predict_proba(table).T, strict=True):
            frame[f"{model.targets[0]}={label}"] = share
    if interval is not None:
        if isinstance(model, FittedGraph):
            raise no_misses()
        for end, values in zip(("low", "high"), model.predict_interval(table, interval), strict=True):
            for name, column in zip(model.targets, values.reshape(len(table), -1).T, strict=True):
                frame[f"{name} {end}"] = column
    return frame.to_csv(index=False)
