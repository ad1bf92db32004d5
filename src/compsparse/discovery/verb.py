"""The one verb: a graph from data, from a callable, or from a truth table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compsparse.discovery.record import Discovery
from compsparse.errors import ConfigError


def discover(
    data: Any,
    y: Any = None,
    *,
    bounds: Sequence[tuple[float, float]] | None = None,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    **settings: Any,
) -> Discovery:
    """Finds the function graph of data or of a callable.

    Three ways in:

    - ``discover(X, y)``: a table and its target; settings as in
      :func:`~compsparse.discovery.data.strategy.from_data`.
    - ``discover(f, bounds=[(low, high), …])``: a callable on a box, asked where it is worth it; settings
      as in :func:`~compsparse.discovery.queries.from_queries`.
    - ``discover(table)`` with 2^n rows of zeros and ones, or ``discover(f, n_inputs=n)``: a Boolean
      function; see :func:`~compsparse.discovery.boolean.from_truth_table`.

    >>> import numpy as np
    >>> found = discover(lambda X: np.tanh(X[:, 0] * X[:, 1]) + X[:, 2] * X[:, 0] ** 2, bounds=[(-1, 1)] * 4)
    >>> found.inert
    ('x3',)
    """
    if callable(data) and not hasattr(data, "shape"):
        if y is not None:
            raise ConfigError("a callable gives its own answers: y belongs to a table X")
        if bounds is not None:
            from compsparse.discovery.queries import from_queries

            return from_queries(data, bounds, names, outputs, **settings)
        if "n_inputs" in settings:
            from compsparse.discovery.boolean import from_boolean_callable

            return from_boolean_callable(data, settings.pop("n_inputs"), names, outputs, **settings)
        raise ConfigError("a callable needs bounds=[(low, high), …], or n_inputs=… if it is Boolean")
    if bounds is not None:
        raise ConfigError("bounds belong to a callable; for data give X and y")
    if y is not None:
        from compsparse.discovery.data.strategy import from_data

        return from_data(data, y, names=names, outputs=outputs, **settings)
    rows = np.asarray(data)
    if rows.ndim in (1, 2) and rows.dtype.kind in "biuf" and np.isin(rows, (0, 1)).all():
        from compsparse.discovery.boolean import from_truth_table

        return from_truth_table(rows, names, outputs, **settings)
    raise ConfigError("give a target y beside the table X, or a truth table of zeros and ones alone")
