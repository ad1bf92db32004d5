"""Tables of very many columns: a forest chooses those that the search then looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from compsparse.clock import Deadline
from compsparse.discovery.data.limits import FOREST_SHARE, MOST_LOOKED_AT, MOST_ROWS_OF_FOREST, MOST_SEARCHED, TREES
from compsparse.discovery.data.request import TableRequest
from compsparse.discovery.structure.forest import Members
from compsparse.tables.coding import TableCode
from compsparse.tables.scaling import scale_of


def looked_at(request: TableRequest) -> tuple[TableRequest, Members]:
    """The request for those columns alone that are worth a search where there are very many, and the others."""
    columns = {name: own for name, own in request.columns().items() if name not in request.left_out}
    if len(columns) <= MOST_SEARCHED:
        return request, frozenset()
    deadline = request.search_deadline
    use = use_in_forest(columns, request.targets(), request.seed, deadline.within(FOREST_SHARE * deadline.left))
    kept = frozenset(sorted(use, key=lambda name: -use[name])[:MOST_LOOKED_AT])
    code = TableCode(tuple(column for column in request.table.code.inputs if column.name in kept))
    X = np.concatenate([columns[name] for name in code.names], axis=1)
    narrow = replace(request, table=replace(request.table, code=code, X=X), left_out=frozenset())
    return narrow, frozenset(columns) - kept


def use_in_forest(
    columns: Mapping[str, np.ndarray], targets: np.ndarray, seed: int, deadline: Deadline
) -> dict[str, float]:
    """How much of the targets extremely randomised trees explain by each input.

    Every split chooses among all columns, so that inputs count that act together and not by themselves, and the sizes
    of the targets are explained beside them: a product has an average of nothing along each of its factors, and its
    size has not.

    Args:
        columns: (rows, width) the columns of every input.
        targets: (rows, outputs) standardised.
        deadline: after which no tree is added to the first.
    """
    from sklearn.ensemble import ExtraTreesRegressor

    rows = np.random.default_rng(seed).permutation(len(targets))[:MOST_ROWS_OF_FOREST]
    X = np.concatenate([own[rows] for own in columns.values()], axis=1).astype(np.float32)
    sizes = np.stack([scale_of(size).standardised(size) for size in np.abs(targets[rows]).T], axis=1)
    both = np.concatenate([targets[rows], sizes], axis=1)
    use = np.zeros(X.shape[1])
    for number in range(TREES):
        tree = ExtraTreesRegressor(1, max_features=1.0, min_samples_leaf=5, random_state=seed + number)
        use += tree.fit(X, both).feature_importances_
        if deadline.is_over:
            break
    ends = np.cumsum([own.shape[1] for own in columns.values()])[:-1]
    return {name: float(part.sum()) for name, part in zip(columns, np.split(use, ends), strict=True)}
