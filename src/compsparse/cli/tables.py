"""What the commands that learn from a table share: their options, and how the table is read and split."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compsparse.cli.app import say
from compsparse.cli.interrupts import ending_gently
from compsparse.clock import Deadline
from compsparse.errors import ConfigError

if TYPE_CHECKING:
    from compsparse.models import Assessment, Blend, ClassScore, FittedGraph, Score
    from compsparse.tables import SplitTable, Treatment

DataArgument = Annotated[
    Path, typer.Argument(help="A .csv, .tsv, .txt (gzip too), .xlsx or .parquet file; texts are categories.")
]
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
SepOption = Annotated[str | None, typer.Option(help="What separates the cells of a text file, such as ';' or tab.")]
DecimalOption = Annotated[str | None, typer.Option(help="The decimal sign of a text file: '.' or ','.")]
EncodingOption = Annotated[str | None, typer.Option(help="The encoding of a text file, such as cp1252.")]
NaOption = Annotated[
    list[str] | None, typer.Option(help="A word that means that a cell is missing; may be given several times.")
]
TestOption = Annotated[Path | None, typer.Option("--test", help="A file of rows to test on; nothing is held out then.")]
GroupOption = Annotated[
    str | None, typer.Option(help="A column of groups, such as patients: each is learned from or tested on as a whole.")
]
TimeSplitOption = Annotated[
    str | None, typer.Option(help="A column of dates or numbers: the last third of the rows is for the test.")
]
PredictWithOption = Annotated[
    str | None,
    typer.Option(help="graph: the graph predicts alone; blend, the default: with models that know nothing of it."),
]
HEARD = (
    "Ctrl-C: the search ends; the best graph so far is fitted next (Ctrl-C again ends the fit too)",
    "Ctrl-C: the fit ends with the best networks so far",
)
"""What is said at once at the first and at the second Ctrl-C."""
REPORT, MODEL = Path("report.html"), Path("model.json")
_KEPT_FOR_THE_REPORT, _KEPT_FOR_THE_PAGE = 0.25, 0.05
"""Shares of the time limit that search and fit leave to what follows."""
_LEAST_SECONDS = 1.0
_OTHER_MODELS = 2
_MOST_LINES = 20


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


def compared(
    model: FittedGraph,
    split: SplitTable,
    seed: int,
    deadline: Deadline | None,
    *,
    name: str,
    seconds: float | None = None,
    blend: Blend | None = None,
) -> Assessment:
    """A model, what predicts beside it, and dense models on the rows held out; Ctrl-C leaves the others out."""
    from compsparse.models import assess
    from compsparse.models.assessment import BLEND, scored
    from compsparse.models.comparison import baseline_scores
    from compsparse.progress import shown

    with ending_gently("Ctrl-C: the comparison with dense models ends here"), shown("comparing with dense models"):
        others = [*baseline_scores(split, seed, deadline)]
    if blend is not None and blend.others:
        others.append(scored(blend, split, BLEND, model.seconds if seconds is None else seconds))
    return assess(model, split, others=others, name=name, seconds=seconds)


def print_treatments(treatments: Sequence[Treatment]) -> None:
    """What was done to the columns, where that was more than to take numbers as they are; a line each."""
    told = [str(treatment) for treatment in treatments if treatment.is_worth_telling]
    if told:
        say("what was done to the columns:")
    for line in told[:_MOST_LINES]:
        say(f"  {line}", style="dim")
    if len(told) > _MOST_LINES:
        say(f"  and {len(told) - _MOST_LINES:,} more, on the page", style="dim")


def treatments_as_data(treatments: Sequence[Treatment]) -> list[dict[str, Any]]:
    """The treatments for machines."""
    return [{"column": t.column, "inputs": list(t.inputs), "sentence": t.sentence} for t in treatments]


def comparison_notes(others: Sequence[Score | ClassScore], deadline: Deadline) -> tuple[str, ...]:
    """What a reader should know of a comparison in which models are missing."""
    if sum("scikit-learn" in score.model for score in others) == _OTHER_MODELS:
        return ()
    if not deadline.is_set:
        return ("the comparison with dense models was interrupted",)
    return ("dense models for which the time limit left no room are not compared",)


def split_file(
    data: Path,
    target: Sequence[str],
    exclude: Sequence[str] | None,
    classification: bool | None,
    seed: int,
    na: Sequence[str] | None = None,
    *,
    test: Path | None = None,
    group: str | None = None,
    time_split: str | None = None,
    **form: Any,
) -> SplitTable:
    """Reads a table, in the form that is given or found out, and splits its rows."""
    from compsparse.tables import given_split, inputs_and_targets, read_table, split_table

    if sum(way is not None for way in (test, group, time_split)) > 1:
        raise ConfigError("--test, --group and --time-split each say how rows are split: give one of them")
    frame, words = read_table(data, **form), tuple(na or ())
    left_out = (*(exclude or ()), *([] if group is None or group in (exclude or ()) else [group]))
    X, y = inputs_and_targets(frame, target, left_out)
    if test is not None:
        X_test, y_test = inputs_and_targets(read_table(test, **form), target)
        return given_split(X, y, X_test, y_test, classification=classification, na=words)
    if time_split is not None:
        inputs_and_targets(frame, [time_split])  # says what columns there are
    groups, times = (None if name is None else frame[name] for name in (group, time_split))
    return split_table(X, y, classification=classification, na=words, groups=groups, times=times, random_state=seed)


def notes_on_reading(data: Path, split: SplitTable, **form: Any) -> tuple[str, ...]:
    """How the file was read, where that was found out and is not the usual, and what was done to its rows."""
    from compsparse.tables.reading import text_format

    found = text_format(data, **form)
    is_usual = found is None or (found.sep, found.decimal, found.encoding) == (",", ".", "utf-8")
    return (*(() if is_usual else (f"{data.name} was read as text {found}",)), *split.notes)
