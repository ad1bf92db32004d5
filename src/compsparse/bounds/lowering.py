"""Models of every kind as network graphs, one for each member of an ensemble."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from compsparse.bounds.description import Choice, code_choice, graph_choice, mask_choice
from compsparse.bounds.network_graph import NetworkGraph, StageBuilder, pooling
from compsparse.bounds.torch_modules import SUPPORTED, lower_module
from compsparse.checks import brief, check_numbers
from compsparse.errors import ConfigError, DataError
from compsparse.models import FittedGraph
from compsparse.networks import ACTIVATIONS, MaskedNetwork, MirrorNetwork
from compsparse.networks.plan import Read
from compsparse.networks.replicas import ReplicatedNetwork
from compsparse.networks.symbols import FullyConnectedNetwork, HierarchicalNetwork, SymbolNetwork
from compsparse.networks.symbols.base import Affine
from compsparse.tables import Table
from compsparse.text import in_a_line

_KNOWN = (
    "a fitted estimator or model of compsparse, a MirrorNetwork (mirror, dense, local, convolutional), a "
    "MaskedNetwork, a FullyConnectedNetwork, HierarchicalCNN or HierarchicalLCN, or a torch module of "
)


@in_a_line
@dataclass(frozen=True, eq=False)
class LoweredModel:
    """A model with data as its networks read them.

    Attributes:
        members: network graphs whose mean is what the model answers.
        X: (rows, inputs) numbers.
        answer: computes what the model answers to X.
        bits: of one weight as it is stored.
        structure: which graph, masks or zeros there are, and where they come from.
        coding: how rows became numbers, where the model does that.
    """

    members: tuple[NetworkGraph, ...]
    X: Tensor
    answer: Callable[[], Tensor]
    bits: int
    structure: tuple[Choice, ...] = ()
    coding: tuple[Choice, ...] = ()

    @cached_property
    def outputs(self) -> Tensor:
        """(rows, outputs) what the model answers to X, members averaged."""
        with torch.no_grad():
            answers = self.answer()
        mean = answers.mean(0) if answers.ndim == 3 else answers
        return mean.double().reshape(len(self.X), -1)

    @property
    def n_outputs(self) -> int:
        """How many numbers the model answers."""
        return self.members[0].n_outputs

    @property
    def n_parameters(self) -> int:
        """Of all members."""
        return sum(member.n_parameters for member in self.members)


@torch.no_grad()
def lower(model: Any, X: Any) -> LoweredModel:
    """Reads a model and its data.

    Args:
        model: a fitted estimator or model of compsparse, one of its networks, or a torch module of layers in a row.
        X: data as the model takes them.

    >>> from compsparse.networks import dense
    >>> found = lower(dense(4, width=8, depth=1, activation="relu", random_state=0), np.ones((3, 4)))
    >>> [(stage.n_blocks, stage.n_units) for stage in found.members[0].stages]
    [(1, 8), (1, 1)]
    """
    fitted = model if isinstance(model, FittedGraph) else getattr(model, "model_", None)
    if isinstance(fitted, FittedGraph):
        found = _lowered(fitted.network, torch.as_tensor(fitted.code.encoded(X)))
        # the graph over the table's own columns says all of the one over the encoded ones
        n_columns, is_shared = len(Table.of(X).columns), fitted.network.config.share != "none"
        graph = graph_choice(fitted.graph, n_columns, ordered=is_shared)
        return replace(found, structure=(graph,), coding=(code_choice(fitted),))
    if isinstance(model, SymbolNetwork):
        symbols = _symbols(X, model)
        inputs = model.encoded(symbols)[0].flatten(1)
        return _assembled(model, _members(model), inputs, lambda: model(symbols))
    if isinstance(model, ReplicatedNetwork):
        return _lowered(model, torch.as_tensor(_rows(X, (model.n_inputs,))))
    if isinstance(model, nn.Module):
        rows = torch.as_tensor(_rows(X, None))
        parameter = next(model.parameters(), None)
        if parameter is None:
            raise ConfigError(f"the module has no Linear or Conv layer to bound, got {brief(model)}")
        member, zeros = lower_module(model, tuple(rows.shape[1:]))
        inputs = rows.to(parameter)
        found = _assembled(model, [member], inputs.flatten(1), lambda: _evaluated(model, inputs))
        return replace(found, structure=(zeros,))
    if hasattr(model, "fit"):
        raise ConfigError(
            f"{type(model).__name__} is not fitted, or not with a network: fit it first, or pass {_KNOWN}{SUPPORTED}"
        )
    raise ConfigError(f"model must be {_KNOWN}{SUPPORTED}, got {brief(model)}")


def _lowered(network: ReplicatedNetwork, X: Tensor) -> LoweredModel:
    inputs = X.to(next(network.parameters()))
    found = _assembled(network, _members(network), inputs, lambda: network(inputs))
    if isinstance(network, MirrorNetwork):
        graph = graph_choice(network.graph, network.n_inputs, ordered=network.config.share != "none")
        return replace(found, structure=(graph,))
    return replace(found, structure=(mask_choice(network),)) if isinstance(network, MaskedNetwork) else found


def _evaluated(module: nn.Module, inputs: Tensor) -> Tensor:
    """What a module answers when it is not training, which it may go on doing."""
    was_training = module.training
    answers: Tensor = module.eval()(inputs)
    module.train(was_training)
    return answers


def _assembled(
    network: nn.Module, members: list[NetworkGraph], X: Tensor, answer: Callable[[], Tensor]
) -> LoweredModel:
    bits = 8 * next(network.parameters()).element_size()
    return LoweredModel(tuple(members), X.double(), answer, bits)


def _rows(X: Any, shape: tuple[int, ...] | None) -> np.ndarray:
    values = X.detach().cpu().numpy() if isinstance(X, Tensor) else X
    found = check_numbers("X", values, shape=None if shape is None else (None, *shape))
    if found.ndim < 2 or not found.size:
        raise DataError(f"X must be an array of rows, got {brief(found)}")
    return found


def _symbols(X: Any, network: SymbolNetwork) -> Tensor:
    found = _rows(X, (network.n_inputs,))
    if not (found == np.round(found)).all():
        raise DataError("X must be rows of whole numbers, one symbol a slot")
    return torch.as_tensor(found.astype(np.int64), device=next(network.parameters()).device)


# ---- networks of compsparse ---------------------------------------------------------------------


def _members(network: ReplicatedNetwork) -> list[NetworkGraph]:
    return [_member(network, r) for r in range(network.n_replicas)]


@singledispatch
def _member(network: ReplicatedNetwork, replica: int) -> NetworkGraph:
    raise ConfigError(f"the bounds do not know {type(network).__name__}; they read {_KNOWN}{SUPPORTED}")


@_member.register
def _mirror(network: MirrorNetwork, replica: int) -> NetworkGraph:
    builder = StageBuilder(network.n_inputs)
    buffers = [builder.inputs(network.n_inputs)]
    for group in network.plan.groups:
        cells = network.cells(group)
        rows = _read(buffers, group.read).view(len(group.nodes), -1)
        for k, (weight, bias) in enumerate(zip(cells.weights, cells.biases, strict=True)):
            last = k == len(cells.weights) - 1
            name = f"layer {k + 1} of {', '.join(group.nodes[:3])}{', …' if len(group.nodes) > 3 else ''}"
            activation = "identity" if last else network.config.activation
            rows = builder.blocks(name, rows, weight[replica], bias[replica], activation)
        buffers.append(rows.flatten())
    return builder.finished(_read(buffers, network.plan.output))


def _read(buffers: list[Tensor], read: Read) -> Tensor:
    rows = torch.cat([buffers[b] for b in read.buffers])
    return rows if read.rows is None else rows[torch.tensor(read.rows)]


@_member.register
def _masked(network: MaskedNetwork, replica: int) -> NetworkGraph:
    builder = StageBuilder(network.n_inputs)
    rows = builder.inputs(network.n_inputs)
    activation = next(name for name, function in ACTIVATIONS.items() if function is network.activation)
    for i, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        active = network.get_buffer(f"active_{i}").flatten().tolist()
        rows = builder.masked(
            f"layer {i + 1}",
            rows,
            weight[replica],
            network.masks()[i][replica],
            bias[replica],
            lambda unit, active=active: activation if active[unit] else "identity",  # type: ignore[misc]
        )
    return builder.finished(rows)


@_member.register
def _fully_connected(network: FullyConnectedNetwork, replica: int) -> NetworkGraph:
    builder = StageBuilder(network.n_inputs * network.n_symbols)
    rows = builder.inputs(1, builder.n_inputs)
    for i, layer in enumerate(network.layers):
        rows = _affine(builder, f"layer {i + 1}", rows, layer, replica, "relu").view(1, -1)
    return builder.finished(_affine(builder, "the readout", rows, network.readout.layer, replica))


@_member.register
def _hierarchical(network: HierarchicalNetwork, replica: int) -> NetworkGraph:
    builder = StageBuilder(network.n_inputs * network.n_symbols)
    rows = builder.inputs(network.n_inputs, network.n_symbols)
    for i, layer in enumerate(network.layers):
        patches = rows.reshape(len(rows) // network.patch, -1)
        rows = _affine(builder, f"layer {i + 1}", patches, layer, replica, "relu")
    if len(rows) > 1:
        rows = pooling("the mean over positions", builder, rows.T[None])
    return builder.finished(_affine(builder, "the readout", rows, network.readout.layer, replica))


def _affine(
    builder: StageBuilder, name: str, reads: Tensor, layer: Any, replica: int, activation: str = "identity"
) -> Tensor:
    assert isinstance(layer, Affine)
    weight = layer.scale * layer.weight[replica].transpose(1, 2)
    bias = None
    if layer.bias is not None:
        assert layer.bias_scale is not None
        bias = layer.bias_scale * layer.bias[replica].flatten(0, 1)
    return builder.blocks(name, reads, weight, bias, activation)
