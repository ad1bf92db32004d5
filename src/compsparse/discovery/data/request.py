"""What is asked of a table: read, checked and coded once, before anything is searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from compsparse.checks import check_count, check_device, check_flag, check_number, seed_from
from compsparse.clock import Deadline, now
from compsparse.discovery.data.limits import (
    FEWEST_ROWS,
    LEAST_FIT_SECONDS,
    MOST_RESAMPLES,
    SEARCH_SHARE,
    USUAL_EFFORT,
    USUAL_WIDTH,
)
from compsparse.discovery.data.smooth.maps import has_heavy_tails, normal_scores
from compsparse.discovery.structure.units import Dimension, read_units
from compsparse.errors import DataError
from compsparse.progress import Progress, check_progress
from compsparse.tables import CodedTable, coded_table
from compsparse.tables.coded import rows_without_target
from compsparse.tables.scaling import scale_of

if TYPE_CHECKING:
    from compsparse.discovery.data.strategy import DataOptions
    from compsparse.training import FitConfig


@dataclass(frozen=True, kw_only=True)
class TableRequest:
    """A table ready to be searched, and how.

    Attributes:
        table: the rows as numbers, with their target and weights.
        left_out: inputs that can only be inert.
        caveats: what was left out, and why.
        fit: whether a model is to be fitted at the end, of nodes of this width.
        resamples: on how many parts of the rows modules are looked for again; None decides by the rows.
        units: of inputs, by name.
        started, deadline, search_deadline: when the work began, and until when all of it and the search may take.
    """

    table: CodedTable
    left_out: frozenset[str]
    caveats: tuple[str, ...]
    seed: int
    effort: float
    device: str | None
    progress: Progress
    started: float
    deadline: Deadline
    search_deadline: Deadline
    fit: bool
    fit_config: FitConfig | None
    width: int
    resamples: int | None
    units: Mapping[str, Dimension]

    def columns(self) -> dict[str, np.ndarray]:
        """(rows, width) the encoded columns of every input."""
        ends = np.cumsum([column.width for column in self.table.code.inputs])[:-1]
        return dict(zip(self.table.code.names, np.split(self.table.X, ends, axis=1), strict=True))

    def targets(self, outputs: Sequence[int] | None = None) -> np.ndarray:
        """Some outputs, or all, as they are searched: standardised columns.

        Modules do not change under an increasing map, and squared errors see more than a few rows of normal scores.
        Classes are one column each: squared errors compare structures without rewarding sure guesses, and modules of
        the class probabilities are modules of the log odds, and the other way round.
        """
        target = self.table.target
        if target.classes is None:
            chosen = target.values if outputs is None else target.values[:, list(outputs)]
            columns = [normal_scores(c) if has_heavy_tails(c) else c for c in chosen.T]
        else:
            one_hot = np.eye(len(target.classes))[target.values]
            columns = list((one_hot[:, 1:] if one_hot.shape[1] == 2 else one_hot).T)
        return np.stack([scale_of(column).standardised(column) for column in columns], axis=1)

    @property
    def time_for_fit(self) -> float | None:
        """Seconds that the search has left."""
        return max(LEAST_FIT_SECONDS, self.deadline.left) if self.deadline.is_set else None


def read_request(X: Any, y: Any, options: DataOptions) -> TableRequest:
    """Checks the options, then the table and its target.

    Raises:
        ConfigError: an option makes no sense.
        DataError: says which column or row cannot be used, and why.
    """
    started = now()
    fit = check_flag("fit", options.get("fit", True))
    deadline = Deadline.after(options.get("time_limit"))
    effort = check_number("effort", options.get("effort", USUAL_EFFORT), above=0)
    width = check_count("width", options.get("width", USUAL_WIDTH))
    resamples = options.get("resamples")
    if resamples is not None:
        resamples = check_count("resamples", resamples, least=0, most=MOST_RESAMPLES)
    device = options.get("device")
    check_device(device)
    seed = seed_from(options.get("random_state"))
    table = coded_table(
        X,
        y,
        names=options.get("names"),
        outputs=options.get("outputs"),
        sample_weight=options.get("sample_weight"),
        classification=options.get("classification"),
        na=options.get("na") or (),
        leaves_out=True,
    ).without_copies()
    _check_rows(table)
    left_out = table.code.left_out
    caveats = tuple(f"column {name!r} {why} and was left out" for name, why in left_out.items())
    if table.n_without_target:
        caveats = (*caveats, rows_without_target(table.n_without_target))
    if table.n_copies:
        caveats = (*caveats, _about_copies(table))
    return TableRequest(
        table=table,
        left_out=frozenset(left_out),
        caveats=caveats,
        seed=seed,
        effort=effort,
        device=device,
        progress=check_progress(options.get("progress")),
        started=started,
        deadline=deadline,
        search_deadline=deadline.within(SEARCH_SHARE * deadline.left) if fit else deadline,
        fit=fit,
        fit_config=options.get("fit_config"),
        width=width,
        resamples=resamples,
        units=read_units(options.get("units") or {}, (*table.code.names, *table.target.outputs)),
    )


def _check_rows(table: CodedTable) -> None:
    rows, columns = len(table.X), len(table.code.inputs) - len(table.code.left_out)
    if FEWEST_ROWS <= rows <= columns:
        raise DataError(f"{rows} rows are too few for {columns} columns: more rows than columns are needed")


def _about_copies(table: CodedTable) -> str:
    n, rows = table.n_copies, len(table.X) + table.n_copies
    return (
        f"{n:,} of {rows:,} rows repeat{'s' * (n == 1)} another exactly: each row was taken once, with the weight of "
        "its copies"
    )
