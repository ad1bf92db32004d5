"""Reads the formula of a fitted graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from compsparse.checks import (
    RandomState,
    check_kind,
    check_mapping,
    check_number,
    check_text,
    check_time_limit,
    own_seed,
    suggests_options,
)
from compsparse.clock import Deadline
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.models.fitted_graph import FittedGraph
from compsparse.models.formulas.algebra import Freed
from compsparse.models.formulas.calculus import value_of
from compsparse.models.formulas.polishing import polished
from compsparse.models.formulas.record import FittedConstant, FoundFormula, without_unused
from compsparse.models.formulas.search import Search
from compsparse.networks.nodes import node_values
from compsparse.surroundings import usual_settings
from compsparse.tables.coded import coded_table
from compsparse.tables.columns import Table
from compsparse.tables.inputs import NumberColumn
from compsparse.tables.splitting import spared_rows

MOST_PARENTS = 8
"""Parents of a node up to which a formula is tried."""
_FEWEST_ROWS = 50
_AS_GOOD = 1.02
"""A formula that leaves no more than so many times what the network leaves ends the search."""
_FUNCTION_NAMES = frozenset({"pi", "exp", "log", "sin", "cos", "tan", "tanh", "sqrt", "arcsin", "arccos", "arctan"})


@suggests_options
@usual_settings()
def read_formula(
    model: FittedGraph,
    X: Any,
    y: Any,
    *,
    symbols: Mapping[str, str] | None = None,
    validation_fraction: float = 0.2,
    time_limit: float | None = None,
    random_state: RandomState = None,
) -> FoundFormula:
    """The formula of a fitted graph: of every node up to its link, links from the node above, constants from y.

    A learned node is right up to an increasing change only. So its form over its parents is sought up to a link, by
    canonical correlation; what uses it says which link, and the target settles all constants, with standard errors.
    Constants are set to round values where their errors allow. A node of which no form is good enough stays learned.

    Args:
        model: a fitted graph of one target that is a number.
        X, y: the rows that it was fitted to, or others like them.
        symbols: of columns and of the target, by their names, where their own do not do.
        validation_fraction: share of the rows that the formula is not read from; they tell its price. The network may
            have seen them. The constants are fitted to all rows at the end.
        time_limit: seconds after which no further forms are tried.

    Raises:
        ConfigError: the model predicts classes or several targets, or two columns get one symbol.
        DataError: X or y cannot be used, or there are too few rows.

    >>> import compsparse as cs
    >>> from compsparse.training import FitConfig, TrainingConfig
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(1, 3, (300, 3))
    >>> y = X[:, 0] * X[:, 1] ** 2 / X[:, 2]
    >>> quick = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=100))
    >>> model = cs.models.fit_model(None, X, y, config=quick, random_state=0)
    >>> print(read_formula(model, X, y, random_state=0).text)
    y = x0*x1**2/x2
    """
    check_number("validation_fraction", validation_fraction, least=0.05, below=0.9)
    graph = _readable(model)
    table = model.code.chosen(X, graph.inert)
    coded = coded_table(table, y, outputs=model.targets, classification=False)
    target = coded.target.values[:, 0]
    if len(target) < _FEWEST_ROWS:
        raise DataError(f"a formula is read from at least {_FEWEST_ROWS} rows, got {len(target)}")
    texts = {c.name for c in model.code.inputs if not isinstance(c, NumberColumn)}
    names = [name for name in table.names or () if name not in texts]
    called = _symbols([*names, model.targets[0]], symbols)
    learned = _learned_values(model, table, graph)
    own = [c.astype(float) for name, c in zip(table.names or (), table.columns, strict=True) if name not in texts]
    columns = [*own, *learned.values()]
    held = spared_rows(len(target), validation_fraction, own_seed(random_state))
    assert held is not None
    read = np.setdiff1d(np.arange(len(target)), held)
    by_network = model.predict(table)
    search = Search(
        graph=graph.rename(called),
        inputs={called[name]: column[read] for name, column in zip(names, own, strict=True)},
        learned={name: values[read] for name, values in learned.items()},
        y=target[read],
        enough=float(np.mean((by_network - target)[held] ** 2)) * _AS_GOOD,
        keep_learned=_kept(graph, texts),
        deadline=Deadline.after(check_time_limit(time_limit)),
    )
    best = search.best()
    if best is None:
        raise DataError("no formula of the library is defined at every row: the fitted graph is the best answer here")
    with np.errstate(all="ignore"):
        predicted = value_of(best.form, [column[held] for column in columns], best.values)
    settled = polished(Freed(best.form, best.values, best.is_exponent), columns, target) or best
    form, kept = without_unused(settled.form, len(names), list(learned))
    return FoundFormula(
        target=called[model.targets[0]],
        inputs=tuple(called[name] for name in names),
        form=form,
        constants=tuple(FittedConstant(v, e) for v, e in zip(settled.values, settled.errors, strict=True)),
        r2=_r2(predicted, target[held]),
        r2_network=_r2(by_network[held], target[held]),
        n_held_out=len(held),
        learned={name: _learned_function(model, name, table) for name in kept},
    )


def _readable(model: Any) -> FunctionGraph:
    """The graph of a model whose target is one number."""
    graph = check_kind("the model", model, FittedGraph).graph.pruned()
    if model.classes is not None:
        raise ConfigError("a formula is read of a target that is a number, and the model predicts classes")
    if len(model.targets) != 1:
        raise ConfigError(
            f"a formula is read of one target, and the model predicts {len(model.targets)}: fit one model for each"
        )
    root = graph[graph.outputs[0]]
    if root.arity > MOST_PARENTS:
        raise ConfigError(
            f"a formula is read of nodes of up to {MOST_PARENTS} parents, and {root.name!r} has {root.arity}: "
            "discover a graph with smaller nodes, or name fewer columns"
        )
    texts = [c.name for c in model.code.inputs if not isinstance(c, NumberColumn) and c.name in root.parents]
    if texts:
        raise ConfigError(f"{root.name!r} reads {texts[0]!r}, which is no number, so there is no formula of it")
    return graph


def _kept(graph: FunctionGraph, texts: set[str]) -> frozenset[str]:
    """Nodes that stay learned: of too many parents, of several numbers, or of categories."""
    return frozenset(
        n.name for n in graph.nodes if n.arity > MOST_PARENTS or n.channels > 1 or not texts.isdisjoint(n.parents)
    )


def _symbols(names: Sequence[str], symbols: Mapping[str, str] | None) -> dict[str, str]:
    """A symbol for every column and for the target."""
    chosen = dict(check_mapping("symbols", symbols)) if symbols else {}
    for name in chosen:
        if name not in names:
            raise ConfigError(f"symbols names {name!r}, which is no column; there are {', '.join(names)}")
    found: dict[str, str] = {}
    for name in names:
        symbol = check_text(f"the symbol of {name!r}", chosen.get(name, re.sub(r"\W+", "_", name).strip("_")) or "_")
        symbol = f"_{symbol}" if symbol[0].isdigit() and name not in chosen else symbol
        if not symbol.isidentifier() or symbol in _FUNCTION_NAMES:
            raise ConfigError(f"{symbol!r} cannot be the symbol of {name!r}: give symbols={{{name!r}: 'another'}}")
        if symbol in found.values():
            other = next(known for known, taken in found.items() if taken == symbol)
            raise ConfigError(
                f"{other!r} and {name!r} both get the symbol {symbol!r}: give symbols={{{name!r}: 'another'}}"
            )
        found[name] = symbol
    return found


def _learned_values(model: FittedGraph, table: Table, graph: FunctionGraph) -> dict[str, np.ndarray]:
    """What every inner node carries at the rows, standardised; the first number of those that carry several."""
    with torch.no_grad():
        codes = torch.as_tensor(model.code.encoded(table, model.graph.inert))
        carried = node_values(model.network, codes)
    inner = [node.name for node in graph.nodes if node.name not in graph.outputs]
    return {name: _standardised(carried[name][0].numpy()) for name in inner}


def _standardised(values: np.ndarray) -> np.ndarray:
    standard: np.ndarray = (values - values.mean()) / (values.std() or 1.0)
    return standard


def _learned_function(model: FittedGraph, name: str, table: Table) -> Callable[..., np.ndarray]:
    """A node as a function of the columns of a table, in the scale in which formulas read it."""
    names = table.names or ()

    def carried(columns: Sequence[np.ndarray]) -> np.ndarray:
        rows = Table(tuple(names), tuple(columns), len(columns[0]))
        with torch.no_grad():
            codes = torch.as_tensor(model.code.encoded(rows, model.graph.inert))
            values: np.ndarray = node_values(model.network, codes)[name][0].numpy()
        return values

    known = carried(table.columns)
    centre, spread = float(known.mean()), float(known.std()) or 1.0

    def value(*columns: Any) -> np.ndarray:
        return (carried([np.asarray(column, dtype=float) for column in columns]) - centre) / spread

    return value


def _r2(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(1 - np.mean((predicted - y) ** 2) / y.var())
