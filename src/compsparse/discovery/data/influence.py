"""Importances of what was found, within the rows that were searched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compsparse.discovery.strategy import Weighed
from compsparse.errors import DataError
from compsparse.tables.coded import with_its_target
from compsparse.tables.columns import Table

if TYPE_CHECKING:
    from compsparse.discovery.data.strategy import DataOptions
    from compsparse.models.fitted_graph import FittedGraph

_EVALUATIONS, _MOST_COLUMNS = 60_000, 200
"""Rows at which the model is asked, and columns beyond which that would take long: then it has to be asked for."""


def weighed(model: FittedGraph, X: Any, y: Any, options: DataOptions, seed: int) -> Weighed:
    """The importances, or why there are none; Ctrl-C leaves them out."""
    names, sample_weight = options.get("names"), options.get("sample_weight")
    from compsparse.models.influence.entry import importances

    if len(model.graph.unread) == model.graph.n_inputs:
        return Weighed()
    table = model.code.chosen(Table.of(with_its_target(X, y)[0], names), model.graph.unread)
    if len(table.columns) > _MOST_COLUMNS:
        return Weighed(
            problem=f"importances of {len(table.columns):,} inputs take long and were left out: "
            "found.importances(X) measures them"
        )
    if sample_weight is not None:
        table = table.rows(np.asarray(sample_weight, dtype=float) > 0)
    try:
        return Weighed(importances(model, table, n_evaluations=_EVALUATIONS, random_state=seed))
    except DataError as error:
        return Weighed(problem=f"importances were not measured: {error}")
    except KeyboardInterrupt:
        return Weighed(problem="importances were not measured: the search was interrupted")
