"""What the nodes of a fitted network learned: each constituent as curves or heat maps over its parents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from compsparse.graph import Node
from compsparse.models.fitted_graph import FittedGraph
from compsparse.models.pictures import MOST_PICTURES, Axis, LearnedNodes, Picture
from compsparse.networks.nodes import node_function, node_values
from compsparse.origin import Origin
from compsparse.tables.inputs import DateColumn, Input, LeftOutColumn, NumberColumn, TextColumn, readable

_MOST_SERIES = 6
_MOST_ROWS = 2000
_MOST_POINTS = 120
_PLACES = 61
_FEW_VALUES = 5
_RANGE = (0.005, 0.995)


@dataclass(frozen=True, eq=False)
class _Wire:
    """A parent of a node, or one number that it passes on.

    Attributes:
        axis: how it is shown.
        codes: (places, wires) what the network reads along the axis.
        typical: what it reads at the median, or at the commonest level.
    """

    axis: Axis
    codes: np.ndarray
    typical: np.ndarray


def learned_nodes(model: FittedGraph, table: Any, replica: int = 0) -> LearnedNodes:
    """What every node of a model learned, over the range of a table like the one it was fitted on.

    A group that was found has its formula; what the network made of it and of what reads it is not shown apart.

    Args:
        replica: which of the networks that predict together; the first is the best.
    """
    nodes = Constituents(model, table, replica)
    columns = model.code.chosen(table)
    found = dict(zip(columns.names or (), columns.columns, strict=True))
    inputs = [column for column in model.code.inputs if not isinstance(column, LeftOutColumn)]
    ranges = {c.name: _range(c, found[c.column]) for c in inputs if isinstance(readable(c), NumberColumn)}
    return LearnedNodes(
        pictures={n.name: () if _is_known_group(n) else tuple(nodes.pictures(n.name)) for n in nodes.graph.nodes},
        ranges={name: ends for name, ends in ranges.items() if ends is not None},
        levels={c.name: shown.shown for c in inputs if isinstance(shown := readable(c), TextColumn)},
        n_rows=columns.n_rows,
        n_networks=model.network.n_replicas,
    )


def _is_known_group(node: Node) -> bool:
    return node.constituent is not None and node.origin is Origin.DISCOVERED


class Constituents:
    """Pictures of the nodes of a fitted model, over the range of a table.

    The best replica speaks for the ensemble: only outputs can be averaged. A learned variable is
    known up to a monotone change; it is shown with mean 0 and spread 1, rising with its output.
    """

    def __init__(self, model: FittedGraph, table: Any, replica: int = 0):
        encoded = model.code.encoded(table, model.graph.unread)
        rows = np.random.default_rng(0).permutation(len(encoded))[:_MOST_ROWS]
        self.model, self.graph, self.replica = model, model.graph.pruned(), replica
        carried = node_values(model.network, torch.as_tensor(encoded[rows]), replica)
        self.values: dict[str, np.ndarray] = {name: values.numpy() for name, values in carried.items()}
        self._columns = {column.name: readable(column) for column in model.code.inputs}
        left_out = model.code.left_out
        self._wires = {name: self._wires_of(name) for name in self.graph.index if name not in left_out}

    def pictures(self, name: str) -> list[Picture]:
        """The constituent of a node: a curve, heat maps, or a curve per parent with the others held."""
        wires = [wire for parent in self.graph[name].parents for wire in self._wires[parent]]
        if len(wires) == 1:
            return [self._curve(name, wires, 0)]
        if len(wires) == 2:
            return self._pair(name, wires)
        curves = [self._curve(name, wires, i) for i in range(len(wires))]
        low, high = min(c.values.min() for c in curves), max(c.values.max() for c in curves)
        curves.sort(key=lambda c: -float(np.ptp(c.values, axis=1).max()))
        note = "other parents at their median"
        return [replace(c, value_range=(float(low), float(high)), note=note) for c in curves[:MOST_PICTURES]]

    def readable(self, name: str, channel: int, raw: np.ndarray) -> np.ndarray:
        """What a node carries in the reader's units: inputs and numeric outputs in their own, others standardised."""
        column = self._columns.get(name)
        shown: np.ndarray
        if isinstance(column, NumberColumn):
            shown = raw * column.scale + column.mean
        elif name in self.graph.outputs and self.model.classes is None:
            i = self.graph.outputs.index(name) * self.model.network.config.out_channels + channel
            shown = raw * self.model.scale[i] + self.model.centre[i]
        else:
            own = self._carried(name)[channel]
            shown = self._sign(name, channel) * (raw - own.mean()) / (own.std() or 1.0)
        return shown

    def places(self, name: str) -> tuple[Axis, np.ndarray]:
        """The axis of an input, and what the network reads at its places, (places, encoded columns)."""
        (wire,) = self._wires[name]
        return wire.axis, wire.codes

    # ---- pictures ------------------------------------------------------------------------

    def _curve(self, name: str, wires: list[_Wire], i: int) -> Picture:
        places = len(wires[i].axis.ticks)
        codes = [wire.codes if k == i else np.tile(wire.typical, (places, 1)) for k, wire in enumerate(wires)]
        label, series, values = self._shown(name, np.concatenate(codes, axis=1))
        return Picture(label, wires[i].axis, values[:_MOST_SERIES], series[:_MOST_SERIES])

    def _pair(self, name: str, wires: list[_Wire]) -> list[Picture]:
        across, down = wires
        if across.axis.has_levels and not down.axis.has_levels:
            across, down = down, across
        n_across, n_down = len(across.axis.ticks), len(down.axis.ticks)
        rows, columns = np.repeat(down.codes, n_across, axis=0), np.tile(across.codes, (n_down, 1))
        grid = [columns, rows] if across is wires[0] else [rows, columns]
        label, series, values = self._shown(name, np.concatenate(grid, axis=1))
        values = values.reshape(len(series), n_down, n_across)
        if len(series) == 1 and down.axis.has_levels and not across.axis.has_levels and n_down <= _MOST_SERIES:
            levels = tuple(f"{down.axis.label} = {tick}" for tick in down.axis.ticks)
            return [Picture(label, across.axis, values[0], levels)]
        over_numbers = not (across.axis.has_levels or down.axis.has_levels)
        points = self._points(name, across is wires[1]) if over_numbers else None
        labels = [label] if len(series) == 1 else [f"{label} {s}" for s in series]
        maps = list(zip(labels, values, strict=True))[:_MOST_SERIES]
        return [Picture(one, across.axis, cells, down=down.axis, points=points) for one, cells in maps]

    def _points(self, name: str, swapped: bool) -> np.ndarray:
        shown = [
            self.readable(parent, c, self._carried(parent)[c])
            for parent in self.graph[name].parents
            for c in range(len(self._wires[parent]))
        ]
        points = np.stack(shown, axis=1)[:_MOST_POINTS]
        return points[:, ::-1] if swapped else points

    def _shown(self, name: str, codes: np.ndarray) -> tuple[str, tuple[str, ...], np.ndarray]:
        """Label, series and (series, places) values of a node where it reads the given codes."""
        raw = node_function(self.model.network, name, self.replica)(torch.as_tensor(codes.T)).numpy()
        is_output = name in self.graph.outputs
        if is_output and self.model.classes is not None:
            return self._probabilities(name, raw)
        values = np.stack([self.readable(name, c, wire) for c, wire in enumerate(raw)])
        several = self.model.targets if is_output else [f"channel {c + 1}" for c in range(len(raw))]
        return self._label(name), tuple(several) if len(raw) > 1 else ("",), values

    def _probabilities(self, name: str, logits: np.ndarray) -> tuple[str, tuple[str, ...], np.ndarray]:
        classes = self.model.classes or ()
        shares = torch.softmax(torch.as_tensor(logits), 0).numpy()
        if len(classes) == 2:
            return f"P({name} = {classes[1]})", ("",), shares[1:]
        return f"P({name} = …)", tuple(str(c) for c in classes), shares

    def _label(self, name: str) -> str:
        return name if name in self.graph.inputs or name in self.graph.outputs else f"{name} (learned)"

    def _sign(self, name: str, channel: int) -> float:
        """The direction in which the first output that uses the node rises."""
        own = self._carried(name)[channel]
        users = self.graph.descendants(name)
        output = next((o for o in self.graph.outputs if o in users), None)
        if output is None:
            return 1.0
        response = self.values[output][-1] - (self.values[output][0] if len(self.values[output]) > 1 else 0.0)
        return -1.0 if np.sum((own - own.mean()) * (response - response.mean())) < 0 else 1.0

    # ---- axes ----------------------------------------------------------------------------

    def _carried(self, name: str) -> np.ndarray:
        columns = self.model.code.columns.get(name)
        return self.values[name] if columns is None else np.concatenate([self.values[c] for c in columns])

    def _wires_of(self, name: str) -> list[_Wire]:
        column = self._columns.get(name)
        carried = self._carried(name)
        if isinstance(column, TextColumn):
            codes = column.codes(np.arange(len(column.shown)))
            return [_Wire(Axis(name, column.shown), codes, _commonest(carried.T))]
        if isinstance(column, NumberColumn) and column.width > 1:
            shown = self._number_wire(name, 0, self._label(name))
            codes, typical = (column.codes(self.readable(name, 0, raw)) for raw in (shown.codes[:, 0], shown.typical))
            return [_Wire(shown.axis, codes, typical[0])]
        one = len(carried) == 1
        labels = [self._label(name)] if one else [f"{name}, channel {c + 1}" for c in range(len(carried))]
        return [self._number_wire(name, c, label) for c, label in enumerate(labels)]

    def _number_wire(self, name: str, channel: int, label: str) -> _Wire:
        carried = self._carried(name)[channel]
        different = np.unique(carried)
        typical = np.array([np.median(carried)])
        if name in self._columns and len(different) <= _FEW_VALUES:
            ticks = tuple(f"{v:.6g}" for v in self.readable(name, channel, different))
            nearest = different[[np.abs(different - typical).argmin()]]
            return _Wire(Axis(label, ticks), different[:, None], nearest)
        low, high = np.quantile(carried, _RANGE).tolist()
        raw = np.linspace(low, high, _PLACES)
        if self.readable(name, channel, raw[-1:]) < self.readable(name, channel, raw[:1]):
            raw = raw[::-1]
        return _Wire(Axis(label, tuple(self.readable(name, channel, raw).tolist())), raw[:, None], typical)


def _range(column: Input, values: np.ndarray) -> tuple[float, float] | None:
    """Where a numeric input lies in a table; None where it is missing throughout."""
    shown = readable(column)
    assert isinstance(shown, NumberColumn)
    numbers = shown.numbers(column.part_of(values) if isinstance(column, DateColumn) else values)
    numbers = numbers[~np.isnan(numbers)]
    return (float(numbers.min()), float(numbers.max())) if len(numbers) else None


def _commonest(rows: np.ndarray) -> np.ndarray:
    different, counts = np.unique(rows, axis=0, return_counts=True)
    commonest: np.ndarray = different[counts.argmax()]
    return commonest
