"""Graphs as JSON. Formulas travel whole; other functions travel as their name alone."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from typing import Any

from compsparse.checks import brief, check_choice, check_count, check_known
from compsparse.digest import SEAL, check_seal, parse_json, sealed
from compsparse.errors import ConfigError, DataError, GraphError
from compsparse.graph.constituent import Constituent, argument_names
from compsparse.graph.formula import render
from compsparse.graph.function_graph import FunctionGraph, Node
from compsparse.graph.parser import parse_formula
from compsparse.origin import Origin

_FORMAT = "compsparse.graph"
_VERSION = 2
_BY_HAND = 1
"""Graphs of this version may be written by hand: their digest may be left out, but not be wrong."""


def dumps(graph: FunctionGraph, indent: int | None = None) -> str:
    """The graph as JSON text; a callable without formula is kept by name and must be given again."""
    indent = None if indent is None else check_count("indent", indent, least=0, most=100)
    try:
        return json.dumps(to_dict(graph), indent=indent, allow_nan=False)
    except RecursionError:
        raise GraphError("a formula of the graph nests too deep to be written") from None


def loads(text: str) -> FunctionGraph:
    """The graph that :func:`dumps` wrote."""
    if not isinstance(text, (str, bytes, bytearray)):
        raise GraphError(f"not a graph in JSON: expected a text, got {brief(text)}")
    try:
        data = parse_json(text)
    except DataError as error:
        raise GraphError(f"not a graph in JSON: {error}") from None
    return from_dict(data)


def to_dict(graph: FunctionGraph) -> dict[str, Any]:
    """The graph as plain lists and dictionaries, as JSON holds them, with their digest."""
    data = {
        "format": _FORMAT,
        "version": _VERSION,
        "inputs": list(graph.inputs),
        "nodes": [_node_to_dict(n) for n in graph.nodes],
        "outputs": list(graph.outputs),
        "origin": graph.origin.name,
    }
    if graph.not_looked_at:
        data["not_looked_at"] = [name for name in graph.inputs if name in graph.not_looked_at]
    return sealed(data)


def from_dict(data: Any) -> FunctionGraph:
    """The graph that :func:`to_dict` took apart, or one of version 1 that was written by hand."""
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise GraphError(f"not a graph: expected a JSON object with format {_FORMAT!r}")
    if data.get("version") not in range(1, _VERSION + 1):
        raise GraphError(f"the graph has format version {data.get('version')}; this compsparse reads up to {_VERSION}")
    try:
        if SEAL in data or data["version"] != _BY_HAND:
            check_seal(data, "the graph")
        _check_keys(
            "a graph", data, {"format", "version", "inputs", "nodes", "outputs", "origin", "not_looked_at", SEAL}
        )
        nodes = [_node_from_dict(n) for n in data["nodes"]]
        origin = check_choice("its origin", data.get("origin", Origin.UNKNOWN.name), Origin.__members__)
        graph = FunctionGraph(data["inputs"], nodes, data["outputs"], not_looked_at=data.get("not_looked_at", ()))
        return graph.from_origin(Origin[origin])
    except GraphError:
        raise
    except DataError as error:
        raise GraphError(str(error)) from None
    except ConfigError as error:
        raise GraphError(f"the graph's JSON is damaged or incomplete: {error}") from None
    except KeyError as error:
        raise GraphError(f"the graph's JSON is incomplete: {error.args[0]!r} is missing") from None
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError):
        raise GraphError("the graph's JSON is damaged or incomplete: some value is of another kind") from None


def _check_keys(what: str, data: dict[str, Any], known: Collection[str]) -> None:
    """What may be left out must not go unread because its name is misspelled."""
    for name in data:
        check_known(name, known, f"{what} has no entry")


def _node_to_dict(node: Node) -> dict[str, Any]:
    data: dict[str, Any] = {"name": node.name, "parents": list(node.parents)}
    if node.kind is not None:
        data["kind"] = node.kind
    if node.channels != 1:
        data["channels"] = node.channels
    if node.constituent is not None:
        data["constituent"] = _constituent_to_dict(node.constituent)
    return data


def _node_from_dict(data: dict[str, Any]) -> Node:
    _check_keys("a node", data, {"name", "parents", "kind", "channels", "constituent"})
    parents = tuple(data["parents"])
    constituent = _constituent_from_dict(data["constituent"], len(parents)) if "constituent" in data else None
    return Node(data["name"], parents, constituent, data.get("kind"), data.get("channels", 1))


def _constituent_to_dict(constituent: Constituent) -> dict[str, Any]:
    data: dict[str, Any] = {"name": constituent.name}
    if constituent.formula is not None:
        data["expression"] = render(constituent.formula, argument_names(constituent.arity))
    if constituent.smoothness is not None:
        data["smoothness"] = _number_out(constituent.smoothness)
    if constituent.value_range is not None:
        data["range"] = [_number_out(v) for v in constituent.value_range]
    if constituent.lipschitz is not None:
        data["lipschitz"] = [_number_out(v) for v in constituent.lipschitz]
    return data


def _constituent_from_dict(data: dict[str, Any], arity: int) -> Constituent:
    _check_keys("a constituent", data, {"name", "expression", "smoothness", "range", "lipschitz"})
    ends = [_number_in(v) for v in data["range"]] if "range" in data else None
    return Constituent(
        name=data["name"],
        arity=arity,
        formula=parse_formula(data["expression"], argument_names(arity)) if "expression" in data else None,
        smoothness=_number_in(data["smoothness"]) if "smoothness" in data else None,
        value_range=(ends[0], ends[1]) if ends else None,
        lipschitz=tuple(_number_in(v) for v in data["lipschitz"]) if "lipschitz" in data else None,
    )


def _number_out(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _number_in(value: float | str) -> float:
    return float(value) if isinstance(value, str) else value
