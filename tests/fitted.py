"""A table with texts, a graph over it and models of it, for the tests of models and of pages."""

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pandas

from compsparse.discovery import Cost, Discovery, DiscoveryStatus, Evidence, Step
from compsparse.graph import FunctionGraph, Node
from compsparse.models import FittedGraph, fit_model
from compsparse.training import FitConfig, TrainingConfig

TINY = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=20))
RNG = np.random.default_rng(0)
TABLE = pandas.DataFrame(RNG.uniform(10, 20, (120, 4)), columns=["a", "b", "c <m/s>", "idle"])
TABLE["metal"] = RNG.choice(["iron", "tin", "zinc"], 120)
GRAPH = FunctionGraph(
    ["a", "b", "c <m/s>", "idle", "metal"],
    [
        Node("m0", ("a", "b"), kind="prime"),
        Node("m1", ("c <m/s>", "metal"), kind="prime"),
        Node("y", ("m0", "m1", "a"), kind="prime"),
        Node("z", ("m1",)),
    ],
    ["y", "z"],
)


def model_of(graph: FunctionGraph, y: np.ndarray, table=TABLE) -> FittedGraph:
    return fit_model(graph, table, y, outputs=graph.outputs, config=TINY, width=4, random_state=0)


def discovery_of(graph: FunctionGraph, model: FittedGraph | None, **changes) -> Discovery:
    words = {"statement": "joined into one number: that cuts the error by 25.0%", "parts": 2}
    evidence = tuple(
        Evidence(frozenset(m), "prime", graph.outputs[:1], "held-out gain", -0.25, 0.05, recurrence=0.9, **words)
        for m in (("a", "b"), ("c <m/s>", "metal"))
    )
    path = (
        Step("start", frozenset(), graph.outputs[0], 0.3, 0.02),
        Step("drop", frozenset({"idle"}), graph.outputs[0], 0.2, 0.3),
        Step("merge", frozenset({"a", "b"}), graph.outputs[0], 0.1, 0.01),
    )
    found = Discovery(graph, evidence, DiscoveryStatus.FINISHED, Cost(1.0), "data", path=path, model=model)
    return replace(found, **changes)


Y = np.stack([TABLE["a"] * TABLE["b"], TABLE["c <m/s>"] ** 2], axis=1)
CLASS_GRAPH = FunctionGraph(GRAPH.inputs, [*GRAPH.nodes[:2], Node("grade", ("m0", "m1"), kind="prime")], ["grade"])
LABELS = np.array(["high", "low", "mid"])[np.digitize(TABLE["a"] * TABLE["b"], [180, 260])]


def numbers_model() -> FittedGraph:
    return model_of(GRAPH, Y)


def classes_model() -> FittedGraph:
    return model_of(CLASS_GRAPH, LABELS)


def doubling() -> Any:
    """An ONNX model made by hand: torch takes seconds to make one."""
    tensor = onnx.helper.make_tensor_value_info
    factor = onnx.numpy_helper.from_array(np.array([2.0, 0.5]), "factor")
    node, kind = onnx.helper.make_node("Mul", ["x", "factor"], ["y"]), onnx.TensorProto.DOUBLE
    shape = ["batch", 2]
    return onnx.helper.make_model(
        onnx.helper.make_graph([node], "doubling", [tensor("x", kind, shape)], [tensor("y", kind, shape)], [factor])
    )
