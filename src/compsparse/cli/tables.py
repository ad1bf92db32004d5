"""What the commands that learn from a table share: their options, and how the table is read and split."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compsparse.cli.interrupts import ending_gently
from compsparse.clock import Deadline

if TYPE_CHECKING:
    from compsparse.models import Assessment, FittedGraph
    from compsparse.tables import SplitTable

DataArgument = Annotated[Path, typer.Argument(help="A .csv or .parquet file; texts are categories.")]
TargetOption = Annotated[list[str], typer.Option(help="The column to predict; may be given several times.")]
ExcludeOption = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given several times.")]
ClassificationOption = Annotated[
    bool | None,
    typer.Option("--classification/--regression", help="Whether the target holds classes; texts do by default."),
]
ReportOption = Annotated[Path, typer.Option("--out", help="Where to write the report.")]
ModelOption = Annotated[Path, typer.Option("--model", help="Where to write the model, as JSON.")]
TimeLimitOption = Annotated[str | None, typer.Option(help="Time for everything, such as 90s or 5m.")]
DeviceOption = Annotated[str | None, typer.Option(help="Where to train, such as cuda.")]
RandomStateOption = Annotated[
    int | None, typer.Option(help="Seed of the split, the search and the fit; drawn and told by default.")
]
REPORT, MODEL = Path("report.html"), Path("model.json")
_KEPT_FOR_THE_REPORT, _KEPT_FOR_THE_PAGE = 0.25, 0.05
"""Shares of the time limit that search and fit leave to what follows."""
_LEAST_SECONDS = 1.0
_OTHER_MODELS = 2


def deadlines(time_limit: float | None) -> tuple[Deadline, Deadline]:
    """When search and fit must end, and when the comparison must, reading included; the page has the rest."""
    if time_limit is None:
        return Deadline(), Deadline()
    shares = (1 - _KEPT_FOR_THE_REPORT, 1 - _KEPT_FOR_THE_PAGE)
    to_learn, to_compare = (Deadline.after(time_limit * share) for share in shares)
    return to_learn, to_compare


def seconds_to_learn(to_learn: Deadline) -> float | None:
    """Seconds for search and fit, one even where reading took all; None without a limit."""
    return max(to_learn.left, _LEAST_SECONDS) if to_learn.is_set else None


def compared(model: FittedGraph, split: SplitTable, seed: int, deadline: Deadline | None, **about: Any) -> Assessment:
    """A model and dense ones on the rows held out; Ctrl-C leaves the others out."""
    from compsparse.models import assess
    from compsparse.models.comparison import baseline_scores
    from compsparse.progress import shown

    with ending_gently("Ctrl-C: the comparison with dense models ends here"), shown("comparing with dense models"):
        others = baseline_scores(split, seed, deadline)
    return assess(model, split, others=others, **about)


def comparison_notes(others: Sequence[object], deadline: Deadline) -> tuple[str, ...]:
    """What a reader should know of a comparison in which models are missing."""
    if len(others) == _OTHER_MODELS:
        return ()
    if not deadline.is_set:
        return ("the comparison with dense models was interrupted",)
    return ("dense models for which the time limit left no room are not compared",)


def split_file(
    data: Path, target: Sequence[str], exclude: Sequence[str] | None, classification: bool | None, seed: int
) -> SplitTable:
    """Reads a table and splits its rows."""
    from compsparse.tables import inputs_and_targets, read_table, split_table

    X, y = inputs_and_targets(read_table(data), target, exclude or ())
    return split_table(X, y, classification=classification, random_state=seed)
