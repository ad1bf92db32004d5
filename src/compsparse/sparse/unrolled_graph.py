"""The function graph of an unrolled network: which entry of which layer reads which others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from compsparse.errors import ConfigError
from compsparse.graph import Constituent, FunctionGraph, Node
from compsparse.sparse.unrolled import UnrolledNetwork

_MOST_NODES = 5000
_ZERO = 1e-9


@dataclass(frozen=True)
class ThresholdedSum:
    """A weighted sum of the arguments, shrunk towards zero."""

    weights: tuple[float, ...]
    threshold: float

    def __call__(self, *arguments: Any) -> Any:
        total = sum(w * a for w, a in zip(self.weights, arguments, strict=True))
        return total - total.clip(-self.threshold, self.threshold)


@torch.no_grad()
def unrolled_graph(network: UnrolledNetwork) -> FunctionGraph:
    """Inputs ``x0``, …; a node ``z1_0``, … for each entry of the code after every layer; the last ones are outputs.

    Weights of (nearly) zero are no edges, so the graph is sparse where the dictionary's Gram matrix is.
    """
    size = network.active_layers * network.n_outputs
    if size > _MOST_NODES:
        raise ConfigError(
            f"the graph would have {size:,} nodes, more than {_MOST_NODES:,}: take fewer layers or columns"
        )
    if network.select:
        raise ConfigError("support selection ranks all entries of a layer, which is no function of few: set select=0")
    inputs = [f"x{i}" for i in range(network.n_inputs)]
    nodes: list[Node] = []
    before: list[str] = []
    for layer in range(network.active_layers):
        encode = network.move.encoding(layer)[0].double().cpu()
        inhibit = network.move.inhibition(layer, network.dictionary)[0].double().cpu()
        theta = network.move.threshold(layer)[0, :, 0].relu().double().cpu().expand(network.n_outputs)
        weights = torch.cat([encode, inhibit], dim=1) if before else encode
        for j, row in enumerate(weights):
            read = [(name, float(w)) for name, w in zip([*inputs, *before], row, strict=True) if abs(w) > _ZERO]
            function = ThresholdedSum(tuple(w for _, w in read), float(theta[j]))
            constituent = Constituent.from_callable(function, len(read), name="shrink", smoothness=0.0)
            nodes.append(Node(f"z{layer + 1}_{j}", tuple(name for name, _ in read), constituent))
        before = [node.name for node in nodes[-network.n_outputs :]]
    return FunctionGraph(inputs, nodes, before)
