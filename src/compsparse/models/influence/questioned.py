"""What is asked: a callable or a model, the names of its inputs, and the sets of inputs that form its modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import brief, check_known, check_list, check_name_list, check_numbers
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.models.fitted_graph import FittedGraph
from compsparse.tables.columns import Table
from compsparse.tables.inputs import Input


@dataclass(frozen=True, eq=False)
class Questioned:
    """A function of a table, with what its answers are about.

    Attributes:
        ask: answers at a table, as numpy gives them.
        names: of the inputs, None where only the table says.
        graph: where modules are read, if there is one.
        columns: how a model codes its inputs.
        read_from: takes from a table the columns that a model reads, in its order.
    """

    ask: Callable[[Table], Any]
    names: tuple[str, ...] | None = None
    graph: FunctionGraph | None = None
    columns: tuple[Input, ...] = ()
    read_from: Callable[[Any], Table] | None = None

    def answers(self, table: Table) -> np.ndarray:
        """(rows, outputs) numbers; those of a single run may be NaN or infinite."""
        given = self.ask(table)
        given = given.detach().cpu().numpy() if hasattr(given, "detach") else given
        values = check_numbers("the function's answer", given, finite=False)
        if values.ndim not in (1, 2) or len(values) != table.n_rows:
            raise DataError(
                f"the function must answer {table.n_rows} rows with one number each, got an array of "
                f"shape {values.shape}"
            )
        return values.reshape(table.n_rows, -1)


def questioned_function(function: Any) -> Questioned:
    """A fitted graph, a function graph, a fitted estimator or a callable of an array (rows, inputs)."""
    if isinstance(function, FittedGraph):
        ask = function.outputs if function.classes is None else function.predict_proba
        code, graph = function.code, function.graph
        return Questioned(ask, code.names, graph, code.inputs, lambda X: code.chosen(X, graph.unread))
    if isinstance(function, FunctionGraph):
        if not function.has_functions:
            raise ConfigError("the graph is structure alone: give the function that it is the graph of, or a model")
        return Questioned(lambda table: function(_array(table)), function.inputs, function)
    answer = getattr(function, "predict_proba", None) or getattr(function, "predict", None) or function
    if isinstance(function, type) or not callable(answer):
        raise ConfigError(f"expected a function of an array, or a model, got {brief(function)}")
    return Questioned(lambda table: answer(_array(table)))


def _array(table: Table) -> np.ndarray:
    return np.stack([np.asarray(column) for column in table.columns], axis=1)


def module_sets(subject: Questioned, modules: Any, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Inputs of every module by its name; by default those below each inner node of the subject's graph.

    Modules of one input or of all are left out, and of nodes over the same inputs all but the first. Inputs that are
    parts of a date go by the name of their column where that is what is asked.
    """
    graph = subject.graph
    if modules is not None:
        given = [check_name_list("a module", sorted(m) if isinstance(m, (set, frozenset)) else m)
                 for m in check_list("modules", modules)]  # fmt: skip
        for member in (member for m in given for member in m):
            check_known(member, names, "the function has no input")
        return {", ".join(m): tuple(m) for m in given}
    found: dict[str, tuple[str, ...]] = {}
    if graph is None:
        return found
    columns = {c.name: c.name if c.name in names else c.column for c in subject.columns}
    acting = {columns.get(name, name) for name in graph.inputs if name not in graph.inert}
    for node in graph.nodes:
        below = {columns.get(name, name) for name in graph.ancestors(node.name)}
        members = tuple(name for name in names if name in below)
        if 1 < len(members) < len(acting) and members not in found.values():
            found[node.name] = members
    return found
