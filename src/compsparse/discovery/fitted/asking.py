"""The graph of a fitted model, asked within the support of its data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from compsparse.checks import (
    RandomState,
    check_count,
    check_number,
    check_numbers,
    check_time_limit,
    input_names,
    own_seed,
    suggests_options,
)
from compsparse.discovery.data.strategy import from_data
from compsparse.discovery.fitted.asked import AskedModel, asked_model, log_odds
from compsparse.discovery.fitted.explanation import Explanation, Fidelity
from compsparse.errors import DataError
from compsparse.models.scores import score_numbers
from compsparse.progress import Progress
from compsparse.surroundings import usual_settings
from compsparse.tables.coded import with_its_target
from compsparse.tables.columns import Table
from compsparse.tables.targets import free_names
from compsparse.tables.values import even_array, text_of

if TYPE_CHECKING:
    from compsparse.models.fitted_graph import FittedGraph
    from compsparse.training import FitConfig

_HELD_OUT, _MOST_HELD_OUT = 0.25, 2000
_FEWEST_ROWS, _FEWEST_ASKED, _MOST_ASKED = 40, 400, 1500
_USUAL_ERROR, _ERRORS = 0.01, (1e-3, 0.1)
"""Share of the variance by which a model is taken to be wrong where nothing tells, and the limits of what tells."""
_MOST_ROWS = 100_000
_PATTERNS = 16
"""Random halves of the columns that are drawn anew given the others."""


@suggests_options
@usual_settings()
def explain(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    names: Sequence[str] | None = None,
    n_rows: int | None = None,
    tolerance: float | None = None,
    effort: float = 1.0,
    fit_config: FitConfig | None = None,
    time_limit: float | None = None,
    random_state: RandomState = None,
    progress: Progress | None = None,
) -> Explanation:
    """The function graph of what a fitted model has learned, and how faithful the graph is.

    The model is asked at rows of X, and at more rows like them: in those, some columns are drawn anew given the
    others, so that combinations that the data do not hold are not asked. The graph is searched in the answers as in
    a table. A quarter of X is kept apart for the fidelity.

    Args:
        model: anything with ``predict`` or ``predict_proba``, a torch module, or a callable of rows. Classes are
            explained by their log odds.
        X: rows like those that the model was fitted to.
        y: their target, or the name of its column; with it the figures on the data are told.
        names: of the columns, where X has none.
        n_rows: rows at which the model is asked for the search; by default as many as X has, from 400 to 1500.
        tolerance: share of the variance of the answers that does not count: a model is a little wrong, and what it
            does below its own error is no structure that it has learned. None takes twice what the model leaves of y on
            the rows kept apart, and 0.01 where no y is given; 0 asks for the structure of the model to the last digit.
        effort: multiplies the training steps of every trial in the search.
        fit_config: how the network that stands for the model is fitted.
        time_limit: seconds for everything; the best graph so far is explained when they are over.

    Raises:
        ConfigError: it is no model, or an option makes no sense.
        DataError: X cannot be used, the model fails on it, or always gives the same answer.

    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    >>> found = explain(lambda X: np.exp(X[:, 0] * X[:, 1]), X, n_rows=300, effort=0.2, random_state=0)
    >>> found.discovery.inert, found.fidelity.to_model > 0.99
    (('x2',), True)
    """
    from compsparse.models.fitted_graph import FittedGraph

    if n_rows is not None:
        check_count("n_rows", n_rows, least=_FEWEST_ROWS, most=_MOST_ROWS)
    if tolerance is not None:
        check_number("tolerance", tolerance, least=0, below=1)
    check_number("effort", effort, above=0)
    check_time_limit(time_limit)
    seed = own_seed(random_state)
    X, y = with_its_target(X, y)
    table = Table.of(X, names)
    table = table if table.names is not None else table.named(input_names(len(table.columns)))
    if isinstance(model, FittedGraph):
        table = model.code.chosen(table, model.graph.unread)
    if table.n_rows < _FEWEST_ROWS:
        raise DataError(f"a model is explained within at least {_FEWEST_ROWS} rows, got {table.n_rows}")
    asked = asked_model(model, X)
    rng = np.random.default_rng(seed)
    order = rng.permutation(table.n_rows)
    n_held = min(int(_HELD_OUT * table.n_rows), _MOST_HELD_OUT)
    seen, kept_apart = table.rows(order[n_held:]), _KeptApart.of(asked, table, y, order[:n_held])
    rows = _rows_like(seen, asked, n_rows or int(np.clip(seen.n_rows, _FEWEST_ASKED, _MOST_ASKED)), rng)
    answers = _explained(asked, asked(rows))
    if not (answers.std(0) > 0).any():
        raise DataError("the model gives the same answer to every row, so there is nothing to explain")
    blur = kept_apart.own_error if tolerance is None else tolerance
    discovery = from_data(
        rows,
        answers + np.sqrt(blur) * answers.std(0) * rng.standard_normal(answers.shape),
        outputs=_outputs(asked, answers.shape[1], table),
        classification=False,
        effort=effort,
        fit_config=fit_config,
        time_limit=time_limit,
        random_state=seed,
        progress=progress,
    )
    assert discovery.model is not None
    of = "answers" if asked.classes is None else "log odds"
    return Explanation(discovery, kept_apart.fidelity(discovery.model), of, blur, rows.n_rows + n_held)


def _rows_like(seen: Table, asked: AskedModel, n: int, rng: np.random.Generator) -> Table:
    """Rows of the data, and rows in which half of the columns are drawn anew given the others."""
    from compsparse.models.influence.support import Copula

    if n <= seen.n_rows:
        return seen.rows(rng.permutation(seen.n_rows)[:n])
    copula = Copula(seen.columns, asked(seen), rng)
    d = len(seen.columns)
    parts = [list(seen.columns)]
    for rows in np.array_split(rng.integers(0, seen.n_rows, n - seen.n_rows), _PATTERNS):
        if len(rows):
            chosen = np.sort(rng.permutation(d)[: max((d + 1) // 2, 1)])
            parts.append(copula.drawn(chosen, rows))
    columns = tuple(np.concatenate([part[j] for part in parts]) for j in range(d))
    return Table(seen.names, columns, len(columns[0]))


def _explained(asked: AskedModel, answers: np.ndarray) -> np.ndarray:
    return answers if asked.classes is None else log_odds(answers)


def _outputs(asked: AskedModel, n: int, table: Table) -> list[str]:
    if asked.classes is None:
        return free_names(["answer"] if n == 1 else [f"answer {i + 1}" for i in range(n)], table.names or ())
    labels = asked.classes[1:] if n == 1 else asked.classes
    return free_names([f"log odds of {label}" for label in labels], table.names or ())


@dataclass(frozen=True, eq=False)
class _KeptApart:
    """Rows of the data by which the graph is judged, with the model's answers and the target."""

    table: Table
    asked: AskedModel
    answers: np.ndarray
    y: np.ndarray | None

    @classmethod
    def of(cls, asked: AskedModel, table: Table, y: Any, places: np.ndarray) -> _KeptApart:
        rows = table.rows(places)
        if y is not None:
            values = even_array(y, "y")
            if values.ndim == 0 or len(values) != table.n_rows:
                n = f"{len(values):,}" if values.ndim else "one value"
                raise DataError(f"X has {table.n_rows:,} rows but y has {n}")
            y = values[places]
            y = check_numbers("y", y) if asked.classes is None else np.array([text_of(v) for v in y.ravel().tolist()])
        return cls(rows, asked, asked(rows), y)

    @property
    def own_error(self) -> float:
        """Share of the variance of the answers below which the model may be wrong."""
        if self.y is None or self.asked.classes is not None:
            return _USUAL_ERROR
        return float(np.clip(2 * (1 - _r2(self.y, self.answers)), *_ERRORS))

    def fidelity(self, surrogate: FittedGraph) -> Fidelity:
        by_graph = surrogate.predict(self.table).reshape(self.table.n_rows, -1)
        to_model, n = _r2(_explained(self.asked, self.answers), by_graph), self.table.n_rows
        if self.y is None:
            return Fidelity(to_model, n)
        if self.asked.classes is None:
            return Fidelity(to_model, n, "R2", _r2(self.y, self.answers), _r2(self.y, by_graph))
        likeliest = (by_graph[:, 0] > 0).astype(int) if by_graph.shape[1] == 1 else by_graph.argmax(1)
        labels = np.array(self.asked.classes)
        right = [float((labels[chosen] == self.y).mean()) for chosen in (self.answers.argmax(1), likeliest)]
        return Fidelity(to_model, n, "accuracy", *right)


def _r2(observed: np.ndarray, predicted: np.ndarray) -> float:
    return score_numbers("", observed, predicted, 0.0).r2
