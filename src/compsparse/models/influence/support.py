r"""Effects within the data: inputs depend on one another, so that Sobol's decomposition does not hold.

The inputs of a set S are drawn anew given the others by a Gaussian copula: the normal scores of all columns are taken
as jointly normal, and what is drawn is a value that its column holds. Then, as Kucherenko, Tarantola and Annoni
(2012) have it,

.. math::

    T_S = \frac{E[\operatorname{Var}(f \mid x_{-S})]}{\operatorname{Var}(f)}, \qquad
    V_S = \frac{\operatorname{Var}(E[f \mid x_S])}{\operatorname{Var}(f)}.

An input that others tell as well has a small total share and may have a large first one. Shares do not add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from compsparse.errors import DataError
from compsparse.models.influence.design import (
    FEWEST_BLOCKS,
    FOR_PAIRS,
    MOST_BLOCKS,
    BlockAnswers,
    Singles,
    check_varies,
    pairs_worth_asking,
    spread_of,
)
from compsparse.models.influence.questioned import Questioned
from compsparse.models.influence.record import Importances
from compsparse.tables.columns import Table
from compsparse.tables.values import is_numeric

_SHRINKAGE = 1e-3
"""Towards independence, so that copies of a column leave something to draw."""


class Copula:
    """Draws some columns of a table given the others.

    Args:
        answers: (rows, outputs), by whose mean the levels of texts are ordered.
    """

    def __init__(self, columns: Sequence[np.ndarray], answers: np.ndarray, rng: np.random.Generator):
        self.columns, self.rng, n = columns, rng, len(answers)
        keys = [c.astype(float) if is_numeric(c) else _by_answer(c, answers.sum(1)) for c in columns]
        # equal values share their ranks at random
        orders = [np.lexsort((rng.random(n), key)) for key in keys]
        self._sorted = [column[order] for column, order in zip(columns, orders, strict=True)]
        self.scores = np.empty((n, len(columns)))
        for j, order in enumerate(orders):
            self.scores[order, j] = ndtri((np.arange(n) + 0.5) / n)
        correlation = np.atleast_2d(np.corrcoef(self.scores, rowvar=False))
        self._correlation = (1 - _SHRINKAGE) * correlation + _SHRINKAGE * np.eye(len(columns))

    def drawn(self, places: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
        """The columns at ``rows``, those at ``places`` drawn anew given all others."""
        others = np.setdiff1d(np.arange(len(self.columns)), places)
        R = self._correlation
        weights = np.linalg.solve(R[np.ix_(others, others)], R[np.ix_(others, places)])
        spread = R[np.ix_(places, places)] - R[np.ix_(places, others)] @ weights
        noise = self.rng.standard_normal((len(rows), len(places))) @ np.linalg.cholesky(spread).T
        scores = self.scores[np.ix_(rows, others)] @ weights + noise
        found = [column[rows] for column in self.columns]
        n = len(self.scores)
        for k, j in enumerate(places):
            found[j] = self._sorted[j][np.minimum((ndtr(scores[:, k]) * n).astype(int), n - 1)]
        return found


def _by_answer(column: np.ndarray, answers: np.ndarray) -> np.ndarray:
    _, place = np.unique(column.astype(str), return_inverse=True)
    means = np.bincount(place, answers) / np.bincount(place)
    keys: np.ndarray = np.argsort(np.argsort(means))[place].astype(float)
    return keys


def within_data(
    subject: Questioned,
    table: Table,
    modules: Mapping[str, tuple[str, ...]],
    n_evaluations: int,
    rng: np.random.Generator,
) -> Importances:
    """Shares of inputs and modules given the others as in the data, and strengths of pairs."""
    names = table.names or ()
    sets = {name: (name,) for name in names} | dict(modules)
    if table.n_rows < FEWEST_BLOCKS:
        raise DataError(f"effects within the data need at least {FEWEST_BLOCKS} rows, got {table.n_rows}")
    n_blocks = min(MOST_BLOCKS, table.n_rows)
    rows = _rows(table.n_rows, n_blocks, n_evaluations * (1 - FOR_PAIRS) / (1 + 2 * len(sets)), rng)
    ask = BlockAnswers(subject, names, n_blocks)
    f = ask([column[rows] for column in table.columns])
    if not np.isfinite(f).all():
        raise DataError("the function's answers to rows of the table are not all finite: leave out those rows")
    used = np.unique(rows)
    at = np.searchsorted(used, rows)
    first_place = np.unique(rows, return_index=True)[1]
    copula = Copula([column[used] for column in table.columns], f[first_place], rng)
    places = {name: np.flatnonzero(np.isin(names, members)) for name, members in sets.items()}
    scale = spread_of(f)
    variance = ask.means(((f - f.mean(0)) / scale) ** 2)
    check_varies(variance)

    def moved(drawn: np.ndarray) -> np.ndarray:
        """Half the mean squares by which answers move where some columns are drawn anew."""
        if not len(drawn):
            return np.zeros(n_blocks)
        return ask.means(((f - ask(copula.drawn(drawn, at))) / scale) ** 2) / 2

    rest = {name: np.setdiff1d(np.arange(len(names)), chosen) for name, chosen in places.items()}
    singles = Singles(
        scale=scale,
        first={name: variance - moved(rest[name]) for name in sets},
        total={name: moved(chosen) for name, chosen in places.items()},
        variance=variance,
        noise=np.zeros(n_blocks),
        controls={},
    )
    inputs = tuple(singles.importance(name, (name,)) for name in names)
    left = max(n_evaluations - ask.n_evaluations, 0)
    pairs, not_asked = pairs_worth_asking(inputs, left // (3 * n_blocks))
    per_block = min(len(rows) // n_blocks, left // (3 * n_blocks * max(len(pairs), 1)))
    among = np.arange(len(rows)).reshape(n_blocks, -1)[:, :per_block].ravel()
    here = at[among]
    strengths = []
    for a, b in pairs:
        i, j = places[a][0], places[b][0]
        both = copula.drawn(np.array([i, j]), here)
        only = [[both[k] if k == m else c[used][here] for k, c in enumerate(table.columns)] for m in (i, j)]
        mixed = (f[among] - ask(only[0]) - ask(only[1]) + ask(both)) / scale
        strengths.append(singles.pair((a, b), ask.means(mixed**2)))
    return Importances(
        meaning="effects within the data",
        inputs=inputs,
        modules=tuple(singles.importance(name, members) for name, members in modules.items()),
        pairs=tuple(sorted(strengths, key=lambda p: -p.strength)),
        pairs_not_asked=tuple(not_asked),
        n_evaluations=ask.n_evaluations,
        n_lost=ask.n_lost,
    )


def _rows(n: int, n_blocks: int, wanted: float, rng: np.random.Generator) -> np.ndarray:
    """Rows of the table in blocks that share none, each row as often as any other."""
    size = n // n_blocks
    blocks = rng.permutation(n)[: n_blocks * size].reshape(n_blocks, size)
    taken = max(int(wanted / n_blocks), 1)
    if taken < size:
        blocks = blocks[:, :taken]
    repeats = max(taken // size, 1)
    return np.tile(blocks, (1, repeats)).ravel()
