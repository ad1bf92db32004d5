"""What the nodes of a fitted network learned: each constituent as curves or heat maps over its parents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from compsparse.models.fitted_graph import FittedGraph
from compsparse.networks.mirroring import MirrorNetwork
from compsparse.tables.coding import NumberColumn

if TYPE_CHECKING:
    import pandas

MOST_PICTURES = 12
"""Curves shown of a node with many parents: those along which it moves most."""
_MOST_SERIES = 6
_MOST_ROWS = 2000
_MOST_POINTS = 120
_PLACES = 61
_FEW_VALUES = 5
_RANGE = (0.005, 0.995)


def node_function(network: MirrorNetwork, name: str, replica: int = 0) -> Callable[[Tensor], Tensor]:
    """One node of one replica as a function from (fan_in, rows) to (channels, rows)."""
    group = next(group for group in network.plan.groups if name in group.nodes)
    cells = network.cells(group)
    place = 0 if group.shared else group.nodes.index(name)
    layers = [(w[replica, place], b[replica, place, :, None]) for w, b in zip(cells.weights, cells.biases, strict=True)]

    @torch.no_grad()
    def evaluate(parents: Tensor) -> Tensor:
        *hidden, (last_weight, last_bias) = layers
        for weight, bias in hidden:
            parents = cells.activation(weight @ parents + bias)
        return last_weight @ parents + last_bias

    return evaluate


def node_values(network: MirrorNetwork, encoded: np.ndarray, replica: int = 0) -> dict[str, Tensor]:
    """What every column and node of one replica carries over the rows, (channels, rows) each."""
    columns = torch.as_tensor(encoded, dtype=next(network.parameters()).dtype).T
    values = {name: columns[i : i + 1] for i, name in enumerate(network.graph.inputs)}
    for node in network.graph.nodes:
        parents = torch.cat([values[p] for p in node.parents])
        values[node.name] = node_function(network, node.name, replica)(parents)
    return values


@dataclass(frozen=True)
class Axis:
    """One variable of a picture.

    Attributes:
        ticks: the places along it in the reader's units; numbers, or the names of levels.
        codes: (places, wires) what the network reads there.
        typical: what it reads at the median, or at the commonest level.
    """

    label: str
    ticks: tuple[float, ...] | tuple[str, ...]
    codes: np.ndarray
    typical: np.ndarray

    @property
    def has_levels(self) -> bool:
        return isinstance(self.ticks[0], str)


@dataclass(frozen=True)
class Picture:
    """A constituent along one axis (a curve per series) or over two (a heat map).

    Attributes:
        values: (series, places) or (places down, places across).
        points: (rows, 2) where the data lie, for heat maps over numbers.
        value_range: what the axis of values should span, where pictures are to be compared.
    """

    value_label: str
    across: Axis
    values: np.ndarray
    series: tuple[str, ...] = ("",)
    down: Axis | None = None
    points: np.ndarray | None = None
    value_range: tuple[float, float] | None = None
    note: str = ""

    def frame(self) -> pandas.DataFrame:
        """The picture's table, one row a place."""
        import pandas

        if self.down is None:
            places = [(s, x, v) for s, row in zip(self.series, self.values, strict=True) for x, v in self._along(row)]
            return pandas.DataFrame(places, columns=["series", self.across.label, self.value_label])
        cells = [(y, x, v) for y, row in zip(self.down.ticks, self.values, strict=True) for x, v in self._along(row)]
        return pandas.DataFrame(cells, columns=[self.down.label, self.across.label, self.value_label])

    def _along(self, row: np.ndarray) -> list[tuple[float | str, float]]:
        return list(zip(self.across.ticks, row.tolist(), strict=True))


class LearnedNodes:
    """Pictures of the nodes of a fitted model, over the range of a table.

    The best replica speaks for the ensemble: only outputs can be averaged. A learned variable is
    known up to a monotone change; it is shown with mean 0 and spread 1, rising with its output.
    """

    def __init__(self, model: FittedGraph, table: Any, replica: int = 0):
        encoded = model.code.encoded(table)
        rows = np.random.default_rng(0).permutation(len(encoded))[:_MOST_ROWS]
        self.model, self.replica, self.encoded = model, replica, encoded[rows]
        self.values = {n: v.numpy() for n, v in node_values(model.network, self.encoded, replica).items()}
        self._columns = {column.name: column for column in model.code.inputs}
        self._axes = {name: self._axes_of(name) for name in model.graph.index}

    def pictures(self, name: str) -> list[Picture]:
        """The constituent of a node: a curve, heat maps, or a curve per parent with the others held."""
        axes = [axis for parent in self.model.graph[name].parents for axis in self._axes[parent]]
        if len(axes) == 1:
            return [self._curve(name, axes, 0)]
        if len(axes) == 2:
            return self._pair(name, axes)
        curves = [self._curve(name, axes, i) for i in range(len(axes))]
        low, high = min(c.values.min() for c in curves), max(c.values.max() for c in curves)
        curves.sort(key=lambda c: -float(np.ptp(c.values, axis=1).max()))
        note = "other parents at their median"
        return [replace(c, value_range=(float(low), float(high)), note=note) for c in curves[:MOST_PICTURES]]

    # ---- pictures ------------------------------------------------------------------------

    def _curve(self, name: str, axes: list[Axis], i: int) -> Picture:
        codes = [
            axis.codes if k == i else np.tile(axis.typical, (len(axes[i].ticks), 1)) for k, axis in enumerate(axes)
        ]
        label, series, values = self._shown(name, np.concatenate(codes, axis=1))
        return Picture(label, axes[i], values[:_MOST_SERIES], series[:_MOST_SERIES])

    def _pair(self, name: str, axes: list[Axis]) -> list[Picture]:
        across, down = axes
        if across.has_levels and not down.has_levels:
            across, down = down, across
        rows, columns = np.repeat(down.codes, len(across.ticks), axis=0), np.tile(across.codes, (len(down.ticks), 1))
        grid = [columns, rows] if across is axes[0] else [rows, columns]
        label, series, values = self._shown(name, np.concatenate(grid, axis=1))
        values = values.reshape(len(series), len(down.ticks), len(across.ticks))
        if len(series) == 1 and down.has_levels and not across.has_levels and len(down.ticks) <= _MOST_SERIES:
            levels = tuple(f"{down.label} = {tick}" for tick in down.ticks)
            return [Picture(label, across, values[0], levels)]
        points = None if across.has_levels or down.has_levels else self._points(name, across is axes[1])
        labels = [label] if len(series) == 1 else [f"{label} {s}" for s in series]
        maps = list(zip(labels, values, strict=True))[:_MOST_SERIES]
        return [Picture(one, across, cells, down=down, points=points) for one, cells in maps]

    def _points(self, name: str, swapped: bool) -> np.ndarray:
        wires = [(p, c) for p in self.model.graph[name].parents for c in range(len(self._wires(p)))]
        shown = np.stack([self._readable(p, c, self._wires(p)[c]) for p, c in wires], axis=1)[:_MOST_POINTS]
        return shown[:, ::-1] if swapped else shown

    # ---- values in the reader's units ----------------------------------------------------

    def _shown(self, name: str, codes: np.ndarray) -> tuple[str, tuple[str, ...], np.ndarray]:
        """Label, series and (series, places) values of a node where it reads the given codes."""
        raw = node_function(self.model.network, name, self.replica)(torch.as_tensor(codes.T)).numpy()
        if name in self.model.graph.outputs and self.model.classes is not None:
            return self._probabilities(name, raw)
        values = np.stack([self._readable(name, c, wire) for c, wire in enumerate(raw)])
        series = tuple(f"channel {c + 1}" for c in range(len(raw))) if len(raw) > 1 else ("",)
        return self._label(name), series, values

    def _probabilities(self, name: str, logits: np.ndarray) -> tuple[str, tuple[str, ...], np.ndarray]:
        classes = self.model.classes or ()
        shares = torch.softmax(torch.as_tensor(logits), 0).numpy()
        if len(classes) == 2:
            return f"P({name} = {classes[1]})", ("",), shares[1:]
        return f"P({name} = …)", tuple(str(c) for c in classes), shares

    def _label(self, name: str) -> str:
        graph = self.model.graph
        return name if name in graph.inputs or name in graph.outputs else f"{name} (learned)"

    def _readable(self, name: str, channel: int, raw: np.ndarray) -> np.ndarray:
        """A wire in the reader's units: inputs and numeric outputs in their own, others standardised."""
        column = self._columns.get(name)
        if isinstance(column, NumberColumn):
            return raw * column.scale + column.mean
        if name in self.model.graph.outputs and self.model.classes is None:
            i = self.model.graph.outputs.index(name)
            return raw * self.model.scale[i] + self.model.centre[i]
        own = self.values[name][channel]
        return self._sign(name, channel) * (raw - own.mean()) / (own.std() or 1.0)

    def _sign(self, name: str, channel: int) -> float:
        """The direction in which the first output that uses the node rises."""
        own = self.values[name][channel]
        users = self.model.graph.descendants(name)
        output = next((o for o in self.model.graph.outputs if o in users), None)
        if output is None:
            return 1.0
        response = self.values[output][-1] - (self.values[output][0] if len(self.values[output]) > 1 else 0.0)
        return -1.0 if np.sum((own - own.mean()) * (response - response.mean())) < 0 else 1.0

    # ---- axes ----------------------------------------------------------------------------

    def _wires(self, name: str) -> np.ndarray:
        columns = self.model.code.columns.get(name)
        return self.values[name] if columns is None else np.concatenate([self.values[c] for c in columns])

    def _axes_of(self, name: str) -> list[Axis]:
        column = self._columns.get(name)
        if column is not None and not isinstance(column, NumberColumn):
            codes = column.encoded(np.array(column.levels, dtype=object))
            return [Axis(name, column.levels, codes, _commonest(self._wires(name).T))]
        wires = self._wires(name)
        labels = [self._label(name)] if len(wires) == 1 else [f"{name}, channel {c + 1}" for c in range(len(wires))]
        return [self._number_axis(name, c, label) for c, label in enumerate(labels)]

    def _number_axis(self, name: str, channel: int, label: str) -> Axis:
        wire = self._wires(name)[channel]
        different = np.unique(wire)
        typical = np.array([np.median(wire)])
        if name in self._columns and len(different) <= _FEW_VALUES:
            ticks = tuple(f"{v:.6g}" for v in self._readable(name, channel, different))
            return Axis(label, ticks, different[:, None], different[[np.abs(different - typical).argmin()]])
        low, high = np.quantile(wire, _RANGE).tolist()
        raw = np.linspace(low, high, _PLACES)
        if self._readable(name, channel, raw[-1:]) < self._readable(name, channel, raw[:1]):
            raw = raw[::-1]
        return Axis(label, tuple(self._readable(name, channel, raw).tolist()), raw[:, None], typical)


def _commonest(rows: np.ndarray) -> np.ndarray:
    different, counts = np.unique(rows, axis=0, return_counts=True)
    return different[counts.argmax()]
