"""The one verb: a graph from data, from a callable, from a truth table, or from what a registered strategy takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Unpack, overload

import numpy.typing as npt

from compsparse.boxes import read_named_box
from compsparse.discovery.boolean import TRUTH_TABLE, BooleanOptions
from compsparse.discovery.data import DATA, DataOptions
from compsparse.discovery.queries import QUERIES, QueryOptions
from compsparse.discovery.record import Discovery
from compsparse.discovery.runs import RUNS, RunsOptions
from compsparse.discovery.runs.simulator import needed_arguments
from compsparse.discovery.strategy import (
    Strategy,
    assembled,
    is_function,
    known_options,
    register,
    strategies,
    strategy_named,
)
from compsparse.errors import ConfigError
from compsparse.surroundings import usual_settings

for _built_in in (RUNS, QUERIES, TRUTH_TABLE, DATA):
    register(_built_in)


@overload
def discover(
    data: Any, y: Any, *, strategy: Literal["data"] | None = None, **options: Unpack[DataOptions]
) -> Discovery: ...


@overload
def discover(
    data: Callable[..., Any],
    y: None = None,
    *,
    strategy: Literal["queries"] | None = None,
    **options: Unpack[QueryOptions],
) -> Discovery: ...


@overload
def discover(
    data: Callable[..., Any],
    y: None = None,
    *,
    strategy: Literal["runs"] | None = None,
    **options: Unpack[RunsOptions],
) -> Discovery: ...


@overload
def discover(
    data: npt.ArrayLike | Callable[..., Any],
    y: None = None,
    *,
    strategy: Literal["truth table"] | None = None,
    **options: Unpack[BooleanOptions],
) -> Discovery: ...


@overload
def discover(data: Any, y: Any = None, *, strategy: str, **options: Any) -> Discovery: ...


@usual_settings()
def discover(data: Any, y: Any = None, *, strategy: str | None = None, **options: Any) -> Discovery:
    """Finds the function graph of data or of a callable.

    Four ways in:

    - ``discover(X, y)``: a table and its target, or a data frame and the name of its target's column; options as in
      :func:`~compsparse.discovery.data.from_data`.
    - ``discover(f, bounds=[(low, high), …])``: a callable on a box, asked where it is worth it; options
      as in :func:`~compsparse.discovery.queries.from_queries`. It takes rows of all inputs, or a column of each.
    - ``discover(f, bounds=…, n_runs=500)``: a simulator whose runs are dear or may fail, run so often; options as in
      :func:`~compsparse.discovery.runs.from_runs`.
    - ``discover(table)`` with 2^n rows of zeros and ones, or ``discover(f, n_inputs=n)``: a Boolean
      function; options as in :func:`~compsparse.discovery.boolean.from_truth_table`.

    Args:
        data: the table, the callable, or whatever the strategy takes.
        y: the target of a table, or the name of its column.
        strategy: its name, for one that was registered or to leave no doubt; None chooses by what is given.
        options: what the strategy may be given; an unknown one is refused.

    Raises:
        ConfigError: nothing takes what was given, or an option is unknown or makes no sense.
        DataError: says what in the data, or in the callable's answers, cannot be used.

    >>> import numpy as np
    >>> found = discover(lambda X: np.tanh(X[:, 0] * X[:, 1]) + X[:, 2] * X[:, 0] ** 2, bounds=[(-1, 1)] * 4)
    >>> found.inert
    ('x3',)
    """
    chosen = _chosen(data, y, options) if strategy is None else strategy_named(strategy)
    if chosen in (QUERIES, TRUTH_TABLE) and is_function(data):
        data, options = _by_rows(data, options)
    return assembled(chosen.search(data, y, **known_options(chosen, options)))


def _chosen(data: Any, y: Any, options: Mapping[str, Any]) -> Strategy:
    """The first strategy that takes what is given; else the one that comes nearest, which says what is wrong."""
    if hasattr(data, "predict") and not is_function(data):
        raise ConfigError("a fitted model is asked by its method: discover(model.predict, bounds=[(low, high), …])")
    for known in strategies().values():
        if known.takes(data, y, options):
            return known
    if is_function(data):
        if options.get("bounds") is None and _is_box(y):
            raise ConfigError("bounds are given by their name: discover(f, bounds=[(low, high), …])")
        return TRUTH_TABLE if options.get("n_inputs") is not None else QUERIES
    if options.get("bounds") is not None:
        raise ConfigError("bounds belong to a callable; for data give X and y")
    return DATA


def _is_box(y: Any) -> bool:
    try:
        read_named_box(y, None if isinstance(y, Mapping) else ["x0"])
    except ConfigError:
        return False
    return True


def _by_rows(f: Callable[..., Any], options: Mapping[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A function of several inputs as one of rows, whose inputs are called as its arguments are."""
    needed = needed_arguments(f)
    if len(needed) < 2:
        return f, dict(options)
    names = needed if options.get("names") is None else options["names"]
    return (lambda rows: f(*rows.T)), {**options, "names": names}
