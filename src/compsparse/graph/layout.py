"""Where to draw nodes: one layer per level, few crossings within it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from compsparse.graph.function_graph import FunctionGraph

_SWEEPS = 6


def layers(graph: FunctionGraph) -> list[list[str]]:
    """Names by level, each level ordered by the mean position of its neighbours."""
    rows: list[list[str]] = [[] for _ in range(graph.depth + 1)]
    for name, level in graph.levels.items():
        rows[level].append(name)
    parents = {n.name: n.parents for n in graph.nodes}
    _order_inputs_depth_first(graph, rows)
    place = {name: at for row in rows for name, at in _places(row)}
    for sweep in range(_SWEEPS):
        downward = sweep % 2 == 0
        neighbours = parents if downward else graph.consumers
        for row in rows if downward else reversed(rows):
            row.sort(key=lambda name: _barycentre(name, neighbours, place))
            place.update(_places(row))
    return rows


def _order_inputs_depth_first(graph: FunctionGraph, rows: list[list[str]]) -> None:
    """On a tree this order alone has no crossings."""
    order: dict[str, None] = {}
    waiting = list(reversed(graph.outputs))
    while waiting:
        name = waiting.pop()
        if name in order:
            continue
        order[name] = None
        if graph.levels[name]:
            waiting.extend(reversed(graph[name].parents))
    for name in graph.index:
        order.setdefault(name)
    rank = {name: i for i, name in enumerate(order)}
    for row in rows:
        row.sort(key=rank.__getitem__)


def _places(row: list[str]) -> Iterator[tuple[str, float]]:
    """Positions across, the row spread over the unit interval."""
    return ((name, (i + 0.5) / len(row)) for i, name in enumerate(row))


def _barycentre(name: str, neighbours: Mapping[str, Sequence[str]], place: Mapping[str, float]) -> float:
    around = neighbours.get(name, ())
    return fmean(place[n] for n in around) if around else place[name]


def coordinates(graph: FunctionGraph) -> dict[str, tuple[float, float]]:
    """(across, along) of every name: along is the level, across is centred over the parents."""
    rows = layers(graph)
    across: dict[str, float] = {name: float(i) for i, name in enumerate(rows[0])}
    for row in rows[1:]:
        wanted = [fmean(across[p] for p in graph[name].parents) for name in row]
        for name, x in zip(row, _spread(wanted), strict=True):
            across[name] = x
    return {name: (across[name], float(graph.levels[name])) for name in graph.index}


def _spread(wanted: list[float], gap: float = 1.0) -> list[float]:
    """The closest positions to the wanted ones that keep order and a gap (isotonic regression)."""
    blocks: list[list[float]] = []  # [sum of wanted - offset, count]
    for i, x in enumerate(wanted):
        blocks.append([x - i * gap, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    flat = [total / count for total, count in blocks for _ in range(int(count))]
    return [x + i * gap for i, x in enumerate(flat)]
