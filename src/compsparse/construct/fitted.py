"""Trained models as function graphs of formulas: one node a hidden unit, so that they can be compiled too."""

from __future__ import annotations

from typing import Any

import torch

from compsparse.checks import check_count, check_kind
from compsparse.construct.layers import affine, operation_formula
from compsparse.construct.sklearn_models import estimator_graph, refuse_tree
from compsparse.construct.torch_models import module_graph
from compsparse.errors import ConfigError
from compsparse.graph import Constituent, FunctionGraph, Node
from compsparse.models import FittedGraph
from compsparse.networks import MirrorNetwork
from compsparse.tables.inputs import LeftOutColumn, NumberColumn


def model_graph(model: Any, n_inputs: int | None = None) -> FunctionGraph | None:
    """A fitted model of torch or scikit-learn as formulas of its inputs; None for what is no such model.

    Inputs have the names that the model was fitted with, or ``x0``, ``x1``, …. A classifier's outputs are logits.

    Args:
        n_inputs: how many inputs are expected, where that is known.

    Raises:
        ConfigError: the model is not fitted, or is not among those that a network can come close to.

    >>> from torch import nn
    >>> model_graph(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))).size
    4
    """
    if isinstance(model, torch.nn.Module) and not isinstance(model, MirrorNetwork):
        return module_graph(model, n_inputs)
    if isinstance(model, type):
        return None
    refuse_tree(model)
    if type(model).__module__.partition(".")[0] == "sklearn" and hasattr(model, "fit"):
        return estimator_graph(model, n_inputs)
    return None


def network_graph(network: MirrorNetwork, replica: int = 0) -> FunctionGraph:
    """One replica of a mirrored network: nodes of the graph become their hidden units and a weighted sum of them.

    >>> from compsparse.graph import balanced_tree
    >>> from compsparse.networks import mirror
    >>> found = network_graph(mirror(balanced_tree(4), width=3, depth=1, activation="tanh", random_state=0))
    >>> found.n_inputs, found.size  # three nodes of three units and a sum each
    (4, 12)
    """
    check_kind("network", network, MirrorNetwork)
    check_count("replica", replica, least=0, most=network.n_replicas - 1)
    nodes, outputs = _unit_nodes(network, replica, {name: [name] for name in network.graph.inputs}, "")
    return FunctionGraph(network.graph.inputs, nodes, outputs)


def fitted_graph_formulas(model: FittedGraph) -> FunctionGraph:
    """A fitted graph as formulas of its columns in their own units, scaling and mean over replicas included."""
    check_kind("model", model, FittedGraph)
    if model.classes is not None:
        raise ConfigError("a model of classes answers by the largest of its outputs, which jumps: compile its logits")
    for given in model.code.inputs:
        if not isinstance(given, (NumberColumn, LeftOutColumn)):
            raise ConfigError(
                f"column {given.column!r} holds categories or dates, and a compiled network takes numbers alone"
            )
        if isinstance(given, NumberColumn) and given.marks_missing:
            raise ConfigError(
                f"column {given.name!r} had missing cells in the fit, and a compiled network needs all numbers: "
                "fill them in before the fit"
            )
        if isinstance(given, NumberColumn) and given.knots:
            raise ConfigError(
                f"column {given.name!r} enters the model in pieces, which predicts these rows better; a compiled "
                "network takes plain numbers: fit one with compsparse.models.fit_model(found.graph, X, y)"
            )
    inputs = model.network.graph.inputs
    columns = [column for column in model.code.inputs if isinstance(column, NumberColumn)]
    nodes, wires = [], {}
    for name, column in zip(inputs, columns, strict=True):
        standardised = affine([1 / column.scale], -column.mean / column.scale)
        nodes.append(Node(f"{name}, scaled", (name,), Constituent.from_formula(standardised, 1)))
        wires[name] = [f"{name}, scaled"]
    replicas = []
    for r in range(model.network.n_replicas):
        made, outputs = _unit_nodes(model.network, r, wires, f"{r}: ")
        nodes += made
        replicas.append(outputs)
    for i, (target, centre, scale) in enumerate(zip(model.targets, model.centre, model.scale, strict=True)):
        mean = affine([scale / len(replicas)] * len(replicas), centre)
        parents = tuple(outputs[i] for outputs in replicas)
        nodes.append(Node(target, parents, Constituent.from_formula(mean, len(parents))))
    return FunctionGraph(inputs, nodes, model.targets, not_looked_at=model.graph.not_looked_at)


def _unit_nodes(
    network: MirrorNetwork, replica: int, inputs: dict[str, list[str]], prefix: str
) -> tuple[list[Node], list[str]]:
    """Nodes of all hidden units, and the names of the outputs; ``inputs`` says which wires stand for the inputs."""
    wires = {name: list(names) for name, names in inputs.items()}
    nodes: list[Node] = []
    activation = network.config.activation
    for group in network.plan.groups:
        cells = network.cells(group)
        for k, name in enumerate(group.nodes):
            place = 0 if group.shared else k
            before = [w for parent in network.graph[name].parents for w in wires[parent]]
            last = len(cells.weights) - 1
            for layer, (weight, bias) in enumerate(zip(cells.weights, cells.biases, strict=True)):
                W, b = (p.detach()[replica, place].cpu().to(torch.float64).numpy() for p in (weight, bias))
                called = "" if layer == last else f".{layer}"
                made = [
                    f"{prefix}{name}{called}[{i}]" if len(W) > 1 else f"{prefix}{name}{called}" for i in range(len(W))
                ]
                for unit, row, shift in zip(made, W, b, strict=True):
                    formula = affine(row, float(shift))
                    if layer < last:
                        formula = formula if activation == "identity" else operation_formula(activation, formula)
                    nodes.append(Node(unit, tuple(before), Constituent.from_formula(formula, len(before))))
                before = made
            wires[name] = before
    return nodes, [w for name in network.graph.outputs for w in wires[name]]
