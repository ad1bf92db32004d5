"""What the commands that learn from a table share: their options, and how the table is read and split."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compsparse.checks import check_count, seed_from

if TYPE_CHECKING:
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
COMPARISON_ENDS = "Ctrl-C: the comparison with dense models ends here"
_OTHER_MODELS = 2


@dataclass(frozen=True)
class CommandClock:
    """The time that a command may take, reading, comparing and writing included.

    Attributes:
        started: when it began, on the clock of :func:`time.perf_counter`.
        limit: seconds for everything; None without a limit.
    """

    started: float
    limit: float | None

    @property
    def left_to_learn(self) -> float | None:
        """Seconds for search and fit; the rest is kept for the comparison and the page."""
        if self.limit is None:
            return None
        left = self.started + self.limit * (1 - _KEPT_FOR_THE_REPORT) - time.perf_counter()
        return max(left, _LEAST_SECONDS)

    @property
    def end_of_comparison(self) -> float | None:
        """When the other models must have been fitted."""
        return None if self.limit is None else self.started + self.limit * (1 - _KEPT_FOR_THE_PAGE)


def chosen_seed(random_state: int | None) -> int:
    """The seed that was asked for, or one that is drawn."""
    return seed_from(None) if random_state is None else check_count("random_state", random_state, least=0)


def comparison_notes(others: Sequence[object], deadline: float | None) -> tuple[str, ...]:
    """What a reader should know of a comparison in which models are missing."""
    if len(others) == _OTHER_MODELS:
        return ()
    if deadline is None:
        return ("the comparison with dense models was interrupted",)
    return ("dense models for which the time limit left no room are not compared",)


def split_file(
    data: Path, target: Sequence[str], exclude: Sequence[str] | None, classification: bool | None, seed: int
) -> SplitTable:
    """Reads a table and splits its rows."""
    from compsparse.tables import inputs_and_targets, read_table, split_table

    X, y = inputs_and_targets(read_table(data), target, exclude or ())
    return split_table(X, y, classification=classification, random_state=seed)
