"""The fitted model of a discovery: a mirrored network with its scaling, in one self-contained record."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from compsparse.errors import DataError
from compsparse.graph import FunctionGraph
from compsparse.graph.json_format import from_dict as graph_from_dict
from compsparse.graph.json_format import to_dict as graph_to_dict
from compsparse.networks.mirroring import MirrorNetwork, mirror
from compsparse.progress import Progress
from compsparse.tables.coding import NumberColumn, TableCode, TextColumn
from compsparse.training import CrossEntropy, FitConfig, TrainingStatus, fit_graph

_HELD_OUT = 0.2
_FEWEST_TO_HOLD_OUT = 20


@dataclass(frozen=True)
class FittedGraph:
    """Predicts from tables like the one it was fitted on.

    Attributes:
        graph: over the inputs of the table.
        code: how the table becomes numbers.
        network: mirrors the graph over the encoded columns; its replicas are averaged.
        classes: labels in the order of the outputs, or None for numbers.
        centre, scale: of the targets, for numbers.
        status: how the fit ended.
    """

    graph: FunctionGraph
    code: TableCode
    network: MirrorNetwork
    centre: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    classes: tuple[Any, ...] | None = None
    status: TrainingStatus = TrainingStatus.FINISHED

    def outputs(self, X: Any) -> np.ndarray:
        """Raw outputs of the ensemble, (rows, outputs); logits for classes."""
        with torch.no_grad():
            return self.network(torch.as_tensor(self.code.encoded(X))).mean(0).numpy()

    def predict(self, X: Any) -> np.ndarray:
        """Numbers, flat where there is one target; or the likeliest class of each row."""
        outputs = self.outputs(X)
        if self.classes is not None:
            return np.asarray(self.classes)[outputs.argmax(1)]
        values = outputs * np.array(self.scale) + np.array(self.centre)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class, (rows, classes)."""
        if self.classes is None:
            raise DataError("the model predicts numbers, not classes")
        return torch.softmax(torch.as_tensor(self.outputs(X)), -1).numpy()

    # ---- JSON ----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        config = self.network.config
        return {
            "graph": graph_to_dict(self.graph),
            "inputs": [asdict(column) for column in self.code.inputs],
            "shape": {
                "width": config.width,
                "depth": config.depth,
                "activation": config.activation,
                "out_channels": config.out_channels,
                "n_replicas": self.network.n_replicas,
            },
            "weights": {name: _packed(value) for name, value in self.network.state_dict().items()},
            "centre": list(self.centre),
            "scale": list(self.scale),
            "classes": None if self.classes is None else [c.item() if hasattr(c, "item") else c for c in self.classes],
            "status": self.status.name,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FittedGraph:
        code = TableCode(tuple(_column(entry) for entry in data["inputs"]))
        graph = graph_from_dict(data["graph"])
        network = mirror(expanded(graph, code), random_state=0, dtype=torch.float64, **data["shape"])
        network.load_state_dict({name: _unpacked(value) for name, value in data["weights"].items()})
        return cls(
            graph,
            code,
            network,
            tuple(data["centre"]),
            tuple(data["scale"]),
            None if data["classes"] is None else tuple(data["classes"]),
            TrainingStatus[data["status"]],
        )


def expanded(graph: FunctionGraph, code: TableCode) -> FunctionGraph:
    """The graph over the encoded columns: a node reads all columns of its inputs."""
    columns = code.columns
    nodes = [replace(n, parents=tuple(c for p in n.parents for c in columns.get(p, (p,)))) for n in graph.nodes]
    return FunctionGraph([c for own in columns.values() for c in own], nodes, graph.outputs)


def fit_model(
    graph: FunctionGraph,
    code: TableCode,
    X: np.ndarray,
    y: np.ndarray,
    *,
    classes: Sequence[Any] | None = None,
    sample_weight: np.ndarray | None = None,
    config: FitConfig | None = None,
    width: int = 24,
    random_state: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> FittedGraph:
    """Fits the mirrored network of a graph to encoded data.

    Args:
        X: (rows, encoded columns).
        y: (rows, outputs) numbers, or class numbers where ``classes`` are given.
    """
    inputs = torch.as_tensor(X, dtype=torch.float32, device=device)
    weights = (
        None
        if sample_weight is None
        else torch.as_tensor(sample_weight / sample_weight.mean(), dtype=torch.float32, device=device)
    )
    centre = scale = np.empty(0)
    if classes is None:
        centre = np.average(y, axis=0, weights=sample_weight)
        scale = np.sqrt(np.average((y - centre) ** 2, axis=0, weights=sample_weight))
        target = torch.as_tensor((y - centre) / scale, dtype=torch.float32, device=device)
    else:
        target = torch.as_tensor(y, dtype=torch.long, device=device)
    held_out = None
    if len(X) >= _FEWEST_TO_HOLD_OUT:
        held_out = np.random.default_rng(random_state).permutation(len(X))[: int(_HELD_OUT * len(X))]
    fit = fit_graph(
        expanded(graph, code),
        inputs,
        target,
        config,
        validation=held_out,
        sample_weight=weights,
        loss=None if classes is None else CrossEntropy(),
        width=width,
        out_channels=1 if classes is None else len(classes),
        random_state=random_state,
        progress=progress,
        time_limit=time_limit,
    )
    return FittedGraph(
        graph,
        code,
        fit.network.double().cpu(),
        tuple(centre.tolist()),
        tuple(scale.tolist()),
        None if classes is None else tuple(classes),
        fit.status,
    )


def _packed(values: torch.Tensor) -> dict[str, Any]:
    # float32 is what was fitted; half the size of what predicts
    array = values.detach().cpu().numpy().astype("<f4")
    return {"shape": list(array.shape), "float32": base64.b64encode(array.tobytes()).decode("ascii")}


def _unpacked(entry: Mapping[str, Any]) -> torch.Tensor:
    array = np.frombuffer(base64.b64decode(entry["float32"]), dtype="<f4").reshape(entry["shape"])
    return torch.as_tensor(array.astype(np.float64))


def _column(entry: Mapping[str, Any]) -> NumberColumn | TextColumn:
    if "levels" in entry:
        return TextColumn(entry["name"], tuple(entry["levels"]))
    return NumberColumn(**entry)
