"""Importances of whatever can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compsparse.boxes import Bounds, n_sides, read_box
from compsparse.checks import (
    RandomState,
    check_count,
    check_list,
    check_names,
    generator_from,
    input_names,
    suggests_options,
)
from compsparse.errors import ConfigError
from compsparse.models.influence.box import over_box
from compsparse.models.influence.questioned import Questioned, module_sets, questioned_function
from compsparse.models.influence.record import Importances
from compsparse.models.influence.support import within_data
from compsparse.surroundings import usual_settings
from compsparse.tables.columns import Table
from compsparse.tables.inputs import LeftOutColumn, NumberColumn

_MOST_EVALUATIONS = 10**7


@suggests_options
@usual_settings()
def importances(
    function: Any,
    X: Any = None,
    *,
    bounds: Bounds | None = None,
    modules: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    n_evaluations: int = 20_000,
    random_state: RandomState = None,
) -> Importances:
    """Which inputs and modules of a function matter, and which pairs of inputs act together.

    Over a box (``bounds``) inputs are independent and uniform, and the shares are Sobol indices; the first index of a
    module is that of the one number that it passes on. Within data (``X``) inputs depend on one another: what is
    measured is the effect of an input given the others as they are in the data, and its shares are no Sobol indices,
    since they do not add up. Nothing needs to separate, and noise in the answers is measured and taken out.

    Args:
        function: a callable of an array (rows, inputs), a function graph, a fitted graph, or a fitted estimator with
            ``predict``; of classes the probabilities are explained. Several answers to a row are added up.
        X: rows within which the function is asked; of a fitted graph only the columns that it reads are.
        bounds: the box on which it is asked.
        modules: sets of inputs by name; by default those of the function's own graph, where it has one.
        names: of the inputs, where neither the function nor its bounds say them.
        n_evaluations: most rows that are asked.

    Raises:
        ConfigError: both X and bounds are given or neither, a module names no input, or the rows allowed are too few.
        DataError: the function is constant, or its answers cannot be used.

    >>> import numpy as np
    >>> found = importances(lambda X: X[:, 0] + X[:, 1] * X[:, 2], bounds=[(-1, 1)] * 4, random_state=0)
    >>> x0, pair = found.of("x0"), found.strength("x1", "x2")
    >>> found.ranking[0], abs(x0.first - 0.75) < 3 * x0.first_error, abs(pair.strength - 0.25) < 3 * pair.error
    ('x0', True, True)
    """
    rng = generator_from(random_state)
    n_evaluations = check_count("n_evaluations", n_evaluations, most=_MOST_EVALUATIONS)
    if (X is None) == (bounds is None):
        raise ConfigError("give bounds for Sobol indices over a box, or rows X for effects within the data")
    subject = questioned_function(function)
    if X is not None:
        table = _table(subject, X, names)
        sets = module_sets(subject, modules, table.names or ())
        return within_data(subject, table, sets, n_evaluations, rng)
    called = _names(subject, bounds, names)
    sides = read_box(bounds, called)
    return over_box(subject, called, sides, module_sets(subject, modules, called), n_evaluations, rng)


def _table(subject: Questioned, X: Any, names: Sequence[str] | None) -> Table:
    table = Table.of(X, names)
    if subject.read_from is not None:
        return subject.read_from(table)
    if subject.names is None:
        return table if table.names is not None else table.named(input_names(len(table.columns)))
    if table.names is None:
        return table.named(check_names(subject.names, len(table.columns), "input"))
    return table.chosen(table.places(subject.names, "the model"))


def _names(subject: Questioned, bounds: Any, names: Sequence[str] | None) -> tuple[str, ...]:
    if subject.names is not None:
        others = [c.name for c in subject.columns if not isinstance(c, (NumberColumn, LeftOutColumn))]
        if others:
            raise ConfigError(f"input {others[0]!r} is no number, so no box holds it: give rows X instead of bounds")
        return subject.names
    if names is not None:
        return tuple(check_list("names", names))
    if isinstance(bounds, dict):
        return tuple(bounds)
    n = n_sides(bounds)
    if n is None:
        raise ConfigError("bounds must have one (low, high) for every input, or give names beside one pair for all")
    return input_names(n)
