"""What is asked of a table: read, checked and coded once, before anything is searched."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from compsparse.checks import (
    check_count,
    check_device,
    check_flag,
    check_input_and_output_names,
    check_names,
    check_number,
    check_time_limit,
    seed_from,
)
from compsparse.discovery.data.settings import (
    FEWEST_ROWS,
    LEAST_FIT_SECONDS,
    SEARCH_SHARE,
    USUAL_EFFORT,
    USUAL_WIDTH,
)
from compsparse.errors import DataError
from compsparse.progress import Progress, Silent
from compsparse.tables.coding import TableCode, code_for, columns_of
from compsparse.tables.targets import Target, target_for

if TYPE_CHECKING:
    from compsparse.discovery.data.strategy import DataOptions
    from compsparse.training import FitConfig


@dataclass(frozen=True)
class Clock:
    """When the work started and how much time it may take.

    Attributes:
        limit: seconds for everything; None without a limit.
        search_share: share of them that the search may take.
    """

    started: float
    limit: float | None
    search_share: float

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self.started

    @property
    def search_deadline(self) -> float | None:
        """When the search must end, on the clock of :func:`time.perf_counter`."""
        return None if self.limit is None else self.started + self.limit * self.search_share

    @property
    def left_for_fit(self) -> float | None:
        """Seconds that the search has left."""
        return None if self.limit is None else max(LEAST_FIT_SECONDS, self.limit - self.seconds)


@dataclass(frozen=True, kw_only=True)
class TableRequest:
    """A table ready to be searched, and how.

    Attributes:
        code: how the table becomes numbers.
        X: (rows, encoded columns).
        weight: (rows,) sample weights, all above zero.
        left_out: inputs that can only be inert, and the sentences that say why.
        fit: whether a model is to be fitted at the end, of nodes of this width.
    """

    code: TableCode
    X: np.ndarray
    target: Target
    weight: np.ndarray | None
    left_out: tuple[frozenset[str], tuple[str, ...]]
    seed: int
    effort: float
    device: str | None
    progress: Progress
    clock: Clock
    fit: bool
    fit_config: FitConfig | None
    width: int


def read_request(X: Any, y: Any, options: DataOptions) -> TableRequest:
    """Checks the options, then the table and its target.

    Raises:
        ConfigError: an option makes no sense.
        DataError: says which column or row cannot be used, and why.
    """
    started = time.perf_counter()
    fit = check_flag("fit", options.get("fit", True))
    clock = Clock(started, check_time_limit(options.get("time_limit")), SEARCH_SHARE if fit else 1.0)
    effort = check_number("effort", options.get("effort", USUAL_EFFORT), above=0)
    width = check_count("width", options.get("width", USUAL_WIDTH))
    device = options.get("device")
    check_device(device)
    seed = seed_from(options.get("random_state"))
    weight = _checked_weight(options.get("sample_weight"), X)
    if weight is not None and not weight.all():
        X, y, weight = _rows(X, weight > 0), _rows(y, weight > 0), weight[weight > 0]
    code, encoded = _coded(X, options.get("names"), weight)
    target = target_for(y, code.names, _output_names(options.get("outputs"), y, code), options.get("classification"))
    _check_rows(encoded, target, code)
    return TableRequest(
        code=code,
        X=encoded,
        target=target,
        weight=weight,
        left_out=_useless_columns(code, encoded),
        seed=seed,
        effort=effort,
        device=device,
        progress=options.get("progress") or Silent(),
        clock=clock,
        fit=fit,
        fit_config=options.get("fit_config"),
        width=width,
    )


def _coded(X: Any, names: Sequence[str] | None, weight: np.ndarray | None) -> tuple[TableCode, np.ndarray]:
    if names is None:
        code = code_for(X, None, weight)
        return code, code.encoded(X)
    columns = columns_of(X)[1]
    code = code_for(X, check_names(names, len(columns), "input"), weight)
    return code, code.encoded(np.column_stack(columns))


def _output_names(outputs: Sequence[str] | str | None, y: Any, code: TableCode) -> tuple[str, ...] | None:
    """The given names of the targets; what cannot be a target is left to be refused as such."""
    shape = np.shape(y)
    if outputs is None or len(shape) not in (1, 2):
        return None
    n_outputs = 1 if len(shape) == 1 else shape[1]
    return check_input_and_output_names(code.names, outputs, len(code.names), n_outputs)[1]


def _check_rows(X: np.ndarray, target: Target, code: TableCode) -> None:
    if len(X) != len(target.values):
        raise DataError(f"X has {len(X)} rows but y has {len(target.values)}")
    if len(X) < 2:
        raise DataError(f"found {len(X)} row (1 sample): at least 2 are needed")
    if len(X) >= FEWEST_ROWS and len(X) <= len(code.inputs):
        raise DataError(f"{len(X)} rows are too few for {len(code.inputs)} columns: more rows than columns are needed")


def _checked_weight(weight: Any, X: Any) -> np.ndarray | None:
    if weight is None:
        return None
    values = np.asarray(weight, dtype=float)
    n = len(X)
    if values.shape != (n,) or not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise DataError(f"sample_weight must hold one number >= 0 per row ({n}), not all of them zero")
    return values


def _rows(table: Any, kept: np.ndarray) -> Any:
    """Some rows of an array, of a pandas or a polars table."""
    if hasattr(table, "loc"):
        return table[kept]
    if hasattr(table, "filter") and hasattr(table, "columns"):
        return table.filter(kept)
    return np.asarray(table)[kept]


def _useless_columns(code: TableCode, X: np.ndarray) -> tuple[frozenset[str], tuple[str, ...]]:
    """Inputs that are constant or repeat another one; they can only be inert."""
    caveats: list[str] = []
    gone: set[str] = set()
    seen: dict[bytes, str] = {}
    start = 0
    for column in code.inputs:
        values = np.ascontiguousarray(X[:, start : start + column.width])
        start += column.width
        if not np.ptp(values, axis=0).any():
            gone.add(column.name)
            caveats.append(f"column {column.name!r} is constant and was left out")
            continue
        twin = seen.setdefault(values.tobytes(), column.name)
        if twin != column.name:
            gone.add(column.name)
            caveats.append(f"column {column.name!r} says the same as {twin!r} and was left out")
    if len(gone) == len(code.inputs):
        raise DataError("every column is constant: there is nothing to learn from")
    return frozenset(gone), tuple(caveats)
