"""Which column of a table feeds which input of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compsparse.checks import input_names
from compsparse.errors import DataError
from compsparse.graph import FunctionGraph, as_graph, single_node
from compsparse.graph.parser import variables
from compsparse.origin import Origin
from compsparse.tables.columns import Table
from compsparse.tables.dates import date_of
from compsparse.tables.targets import free_names


def matched_graph(graph: Any, table: Table) -> tuple[FunctionGraph, Table]:
    """The graph that is meant, and the columns that feed its inputs, in their order and under their names.

    Inputs are matched to named columns by name; those of an array, and the inputs x0, x1, … where no column has such
    a name, by position.

    Args:
        graph: a :class:`~compsparse.graph.FunctionGraph` or what has one, an expression, nested groups of columns, or
            None for one node over all columns.

    Raises:
        DataError: the graph has an input that is no column, or another number of inputs than there are columns.
    """
    by_position = input_names(len(table.columns))
    found = _graph_of(graph, table, by_position)
    if table.names is not None and (found.inputs != by_position or set(by_position) <= set(table.names)):
        return found, table.chosen(table.places(_sources(found.inputs, table), "the graph"))
    if found.n_inputs != len(table.columns):
        raise DataError(f"the graph has {found.n_inputs} inputs, but X has {len(table.columns)} features")
    if table.names is None:
        return found, table.named(found.inputs)
    nodes = [node.name for node in found.nodes]
    names = dict(zip(found.inputs, table.names, strict=True))
    return found.rename(names | dict(zip(nodes, free_names(nodes, table.names), strict=True))), table


def _sources(inputs: Sequence[str], table: Table) -> list[str]:
    """The columns that inputs are read from: their own, or that of the date of which they are a part."""
    columns = set(table.names or ())
    return list(dict.fromkeys(name if name in columns else date_of(name, columns) for name in inputs))


def _graph_of(graph: Any, table: Table, by_position: tuple[str, ...]) -> FunctionGraph:
    columns = by_position if table.names is None else table.names
    if graph is None:
        return single_node(len(columns)).from_origin(Origin.GIVEN)
    if isinstance(graph, str):
        used = variables(graph)
        if table.names is not None:
            table.places(_sources(used, table), "the graph")
            columns = (*columns, *[name for name in used if name not in columns])
        is_free = table.names is None and not set(by_position).issuperset(used)
        return FunctionGraph.from_expression(graph, None if is_free else columns)
    if isinstance(graph, Sequence):
        return FunctionGraph.from_groups(graph, columns)
    return as_graph("graph", graph)
