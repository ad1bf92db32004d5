"""Gadgets stacked into one network: each begins when its wires are there, and wires wait where they are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from compsparse.construct.explicit import ExplicitReLU, SparseLayer
from compsparse.construct.forms import AffineForm
from compsparse.construct.gadget import Gadget, row_of


def stacked(
    n_inputs: int, gadgets: Mapping[int, Gadget], outputs: Sequence[AffineForm], dtype: torch.dtype = torch.float64
) -> ExplicitReLU:
    """The network of gadgets, given by the wire each one fills in an order that can be computed."""
    ready = dict.fromkeys(range(n_inputs), 0)
    start = {}
    for wire, gadget in gadgets.items():
        start[wire] = max((ready[w] for w in gadget.wires), default=0)
        ready[wire] = start[wire] + gadget.depth
    used = {w for form in outputs for w in form.wires}
    depth = max((ready[w] for w in used), default=0)
    last = dict.fromkeys(used, depth)  # the layer after which a wire is no longer read
    for wire, gadget in gadgets.items():
        for w in gadget.wires:
            last[w] = max(last.get(w, 0), start[wire])
    layers = []
    places = {w: w for w in range(n_inputs)}  # rows of the layer before: wires, then the inside of gadgets
    inside: dict[int, np.ndarray] = {}
    width = n_inputs
    for t in range(depth):
        stack = _Stack(width)
        new_places, new_inside = {}, {}
        for wire, place in places.items():
            if last.get(wire, -1) > t:
                new_places[wire] = stack.add(row_of(AffineForm.wire(0)), np.array([place]))[0]
        for wire, gadget in gadgets.items():
            k = t - start[wire]
            if not 0 <= k < gadget.depth:
                continue
            columns = np.array([places[w] for w in gadget.wires], dtype=np.int64) if k == 0 else inside[wire]
            rows = stack.add(gadget.layers[k], columns)
            if k == gadget.depth - 1:
                new_places[wire] = rows[0]
            else:
                new_inside[wire] = rows
        layers.append(stack.layer())
        places, inside, width = new_places, new_inside, layers[-1].n_outputs
    if not layers or not _is_done(outputs, places, width):
        stack = _Stack(width)
        for form in outputs:
            stack.add(row_of(form), np.array([places[w] for w in form.wires] or [0]))
        layers.append(stack.layer())
    return ExplicitReLU(layers, dtype)


class _Stack:
    """The layers of several gadgets as one layer."""

    def __init__(self, n_inputs: int):
        self.n_inputs, self.height = n_inputs, 0
        self.parts: list[tuple[np.ndarray, np.ndarray, SparseLayer]] = []

    def add(self, layer: SparseLayer, columns: np.ndarray) -> np.ndarray:
        """Puts the layer below the others; returns the rows where it stands."""
        rows = np.arange(self.height, self.height + layer.n_outputs)
        self.parts.append((rows, columns, layer))
        self.height += layer.n_outputs
        return rows

    def layer(self) -> SparseLayer:
        parts = self.parts
        return SparseLayer(
            self.n_inputs,
            np.concatenate([rows[layer.rows] for rows, _, layer in parts]),
            np.concatenate([columns[layer.columns] for _, columns, layer in parts]),
            np.concatenate([layer.values for *_, layer in parts]),
            np.concatenate([layer.bias for *_, layer in parts]),
            np.concatenate([layer.relu for *_, layer in parts]),
        )


def _is_done(outputs: Sequence[AffineForm], places: Mapping[int, int], width: int) -> bool:
    """Whether the rows are the outputs already, in their order."""
    return width == len(outputs) and all(
        len(form.terms) == 1 and not form.constant and form.terms[0][1] == 1 and places[form.wires[0]] == i
        for i, form in enumerate(outputs)
    )
