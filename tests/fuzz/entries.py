"""Public entry points of graphs, tasks, networks, training, sparse inference, discovery and estimators, called tiny."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from odd import Entry

from compsparse import bounds, discovery, estimators, graph, measures, networks, sparse, tasks, training
from compsparse.certificate import Certificate, Rigour, weakest
from compsparse.digest import SEAL, sealed
from compsparse.graph.formula import Argument
from compsparse.networks import symbols
from compsparse.origin import Origin
from compsparse.sparse import memorisation
from compsparse.tasks import hierarchy
from compsparse.tasks.hierarchy import datasets

ENTRIES: list[Entry] = []
_KEPT = tempfile.mkdtemp(prefix="compsparse-fuzz-")
_OWNER = os.getpid()


@atexit.register
def _clean_up() -> None:
    if os.getpid() == _OWNER:  # not when a child of this process ends
        shutil.rmtree(_KEPT, ignore_errors=True)


_FOLDER = Path(_KEPT)


def add(
    name: str,
    call: Callable[..., Any],
    arguments: Callable[[], Mapping[str, Any]],
    *,
    own: tuple[str, ...] = (),
    slow: bool = False,
) -> None:
    ENTRIES.append(Entry(name, call, arguments, frozenset(own), slow))


def _with(record: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    """A record with another value, and a digest that fits where it is not the digest that changes."""
    changed = {**record, field: value}
    return changed if field == SEAL else sealed(changed)


# ---- certificates -------------------------------------------------------------------------------

add(
    "Certificate",
    lambda **given: str(Certificate(**given)),
    lambda: {
        "quantity": "cost",
        "value": 1.0,
        "lower": 0.5,
        "upper": 1.5,
        "rigour": Rigour.PROVED,
        "assumes": (),
        "obtained": "",
    },
)
add(
    "Certificate.exact",
    Certificate.exact,
    lambda: {"quantity": "cost", "value": 1.0, "rigour": Rigour.PROVED, "assumes": (), "obtained": ""},
)
_CERTIFICATE = Certificate.exact("cost", 1.0, Rigour.PROVED)
add("Certificate.from_dict", Certificate.from_dict, lambda: {"data": _CERTIFICATE.to_dict()})
for field in _CERTIFICATE.to_dict():
    add(
        f"Certificate.from_dict, {field}",
        lambda value, field=field: Certificate.from_dict({**_CERTIFICATE.to_dict(), field: value}),
        lambda field=field: {"value": _CERTIFICATE.to_dict()[field]},
    )
add("weakest", weakest, lambda: {"rigours": [Rigour.PROVED]})

# ---- graphs -------------------------------------------------------------------------------------

_EXPRESSION = "tanh(a*b + sin(c))"
_GRAPH = graph.FunctionGraph.from_expression(_EXPRESSION)
_TREE = graph.balanced_tree(4)
_H = graph.Constituent.from_expression("tanh(a + b)", ["a", "b"])
_DECLARED = {"smoothness": 2.0, "value_range": (-1.0, 1.0), "lipschitz": (1.0, 1.0)}


def _expanded_text(found: Any) -> Any:
    """Also draws what was made, as a user would."""
    str(found)
    return found


add(
    "Constituent",
    graph.Constituent,
    lambda: {"name": "h", "arity": 2, "formula": None, "function": np.hypot, **_DECLARED},
)
add(
    "Constituent.from_formula",
    graph.Constituent.from_formula,
    lambda: {"formula": Argument(0), "arity": 2, "name": "h", **_DECLARED},
)
add(
    "Constituent.from_expression",
    graph.Constituent.from_expression,
    lambda: {"text": "a*b", "arguments": ["a", "b"], "name": "h", **_DECLARED},
)
add(
    "Constituent.from_callable",
    graph.Constituent.from_callable,
    lambda: {"function": np.hypot, "arity": 2, "name": "h", **_DECLARED},
)
add(
    "Constituent call",
    lambda **given: _H(given.pop("a"), given.pop("b"), **given),
    lambda: {"a": np.ones(2), "b": np.ones(2)},
)
add(
    "Node",
    graph.Node,
    lambda: {"name": "h", "parents": ("a", "b"), "constituent": _H, "kind": "prime", "channels": 1},
)
add(
    "FunctionGraph",
    lambda **given: _expanded_text(graph.FunctionGraph(**given)),
    lambda: {"inputs": ["a", "b"], "nodes": [graph.Node("h", ("a", "b"), _H)], "outputs": "h"},
)
for way, call in (("FunctionGraph.", graph.FunctionGraph.from_expression), ("", graph.from_expression)):
    add(
        f"{way}from_expression",
        lambda call=call, **given: _expanded_text(call(**given)),
        lambda: {"text": _EXPRESSION, "inputs": ["a", "b", "c"], "fuse": True},
    )
for way, call in (("FunctionGraph.", graph.FunctionGraph.from_groups), ("", graph.from_groups)):
    add(
        f"{way}from_groups",
        lambda call=call, **given: _expanded_text(call(**given)),
        lambda: {"groups": [["a", "b"], "c"], "inputs": ["a", "b", "c"]},
    )
add("complete", lambda member: graph.from_groups([graph.complete(member, "b"), "c"]), lambda: {"member": "a"})
add("FunctionGraph.from_json", graph.FunctionGraph.from_json, lambda: {"text": _GRAPH.to_json()})
add("FunctionGraph.from_origin", _GRAPH.from_origin, lambda: {"origin": Origin.GIVEN})
add("FunctionGraph.to_json", _GRAPH.to_json, lambda: {"indent": 2})
add("FunctionGraph call", _GRAPH, lambda: {"X": np.ones((3, 3))})
add("FunctionGraph item", lambda name: _GRAPH[name], lambda: {"name": _GRAPH.nodes[0].name})
add("FunctionGraph contains", lambda name: name in _GRAPH, lambda: {"name": "a"})
for method in ("ancestors", "descendants"):
    add(f"FunctionGraph.{method}", getattr(_GRAPH, method), lambda: {"name": _GRAPH.nodes[0].name})
for method in ("is_sparse", "is_smoothly_sparse"):
    add(f"FunctionGraph.{method}", getattr(_GRAPH, method), lambda: {"d0": 2})
add("FunctionGraph.complexity", _GRAPH.complexity, lambda: {"eps": 0.1, "derivatives": 2.0})
add("FunctionGraph.rename", _GRAPH.rename, lambda: {"names": {"a": "z"}})
add("GraphBuilder", lambda inputs: graph.GraphBuilder(inputs).build("a"), lambda: {"inputs": ["a", "b"]})


def _built(outputs: Any, **given: Any) -> Any:
    builder = graph.GraphBuilder(["a", "b"])
    builder.node(**given)
    return builder.build(outputs)


add(
    "GraphBuilder.node and build",
    _built,
    lambda: {
        "name": "h",
        "parents": ["a", "b"],
        "constituent": "a*b",
        "kind": "complete",
        "channels": 1,
        "outputs": "h",
        **_DECLARED,
    },
)
add("ModuleTree.to_graph", graph.module_tree(_GRAPH).to_graph, lambda: {"inputs": ("a", "b", "c")})
add("balanced_tree", graph.balanced_tree, lambda: {"n_inputs": 4, "arity": 2, "constituent": _H}, own=("constituent",))
add("chain", graph.chain, lambda: {"n_inputs": 4, "constituent": _H}, own=("constituent",))
add("single_node", graph.single_node, lambda: {"n_inputs": 2, "constituent": _H}, own=("constituent",))
add(
    "pyramid",
    graph.pyramid,
    lambda: {"n_inputs": 4, "kernel": 2, "stride": 2, "n_levels": 2, "constituent": _H},
    own=("constituent",),
)
add(
    "random_tree",
    graph.random_tree,
    lambda: {"n_inputs": 4, "max_arity": 2, "constituent": _H, "random_state": 0},
    own=("constituent",),
)
add(
    "random_dag",
    graph.random_dag,
    lambda: {"n_inputs": 4, "n_nodes": 4, "max_arity": 2, "constituent": _H, "random_state": 0},
    own=("constituent",),
)
add("compare_graphs", graph.compare_graphs, lambda: {"found": _TREE, "true": _TREE})
add("equivalent", graph.equivalent, lambda: {"a": _TREE, "b": _TREE, "rename_inputs": True})
add(
    "draw_svg",
    graph.draw_svg,
    lambda: {"graph": _GRAPH, "direction": "up", "labels": {"a": "A"}, "hover": {"a": "A"}},
)
add("draw_text", graph.draw_text, lambda: {"graph": _GRAPH, "most_lines": 20})
for verb in ("expanded", "fused", "module_tree", "to_dot", "to_mermaid", "to_networkx"):
    add(verb, getattr(graph, verb), lambda: {"graph": _GRAPH})
add("to_expression", graph.to_expression, lambda: {"graph": _GRAPH, "most_characters": 1000})
add("input_names", graph.input_names, lambda: {"n": 2})
add(
    "trace",
    graph.trace,
    lambda: {"function": lambda a, b: np.tanh(a * b), "inputs": 2, "fuse": True},
    own=("function",),
)

# ---- tasks --------------------------------------------------------------------------------------

_TASK = tasks.tanh_tree(4)
for name in ("shared_dag", "borehole", "friedman2", "friedman3", "glued_joints"):
    add(name, getattr(tasks, name), lambda: {"noise": 0.1})
for name, least in (("tanh_tree", 4), ("sincos_tree", 4), ("friedman1", 5)):
    add(name, getattr(tasks, name), lambda least=least: {"n_inputs": least, "noise": 0.1})
add(
    "dense_target",
    tasks.dense_target,
    lambda: {"kind": "cycle", "n_inputs": 5, "random_state": 0, "noise": 0.1},
)
add("random_target", tasks.random_target, lambda: {"graph": _TREE, "random_state": 0, "noise": 0.1})
add(
    "Task",
    tasks.Task,
    lambda: {"name": "task", "graph": _TASK.graph, "inputs": tasks.box(4), "noise": 0.1},
)
add("Task.sample", _TASK.sample, lambda: {"n": 5, "random_state": 0})
add("Task.with_noise", _TASK.with_noise, lambda: {"noise": 0.1})
add("Task.with_correlation", _TASK.with_correlation, lambda: {"correlation": 0.1})
add("UniformInputs", tasks.UniformInputs, lambda: {"bounds": ((0.0, 1.0),), "correlation": 0.1})
add("UniformInputs.sample", tasks.box(2).sample, lambda: {"n": 5, "random_state": 0})
add("box", tasks.box, lambda: {"d": 2, "low": 0.0, "high": 1.0})
add("on", tasks.on, lambda: {"bounds": [(0.0, 1.0)]})
add("formulas", tasks.formulas, lambda: {"field": "waves", "half": "tuned"})
add("formula", tasks.formula, lambda: {"name": "refraction", "noise": 0.1})
add(
    "Quantity",
    tasks.Quantity,
    lambda: {"symbol": "a", "meaning": "length", "unit": "metres", "low": 0.0, "high": 1.0},
)

_SIZES = {"n_features": 4, "n_classes": 4, "multiplicity": 2, "tuple_size": 2, "n_levels": 2}
_MODEL = tasks.RandomHierarchy(**_SIZES)
_SPARSE_MODEL = tasks.SparseRandomHierarchy(**_SIZES, n_empty=1)
_DATA = _MODEL.sample(6, random_state=0)
_SPARSE_DATA = _SPARSE_MODEL.sample(6, random_state=0)


def _sampled(kind: Callable[..., Any]) -> Callable[..., Any]:
    """The rules are drawn on first use."""
    return lambda **given: kind(**given).sample(2, random_state=0)


_RULES = {**_SIZES, "rule_probabilities": (0.5, 0.5), "rules_seed": 0}
add("RandomHierarchy", _sampled(tasks.RandomHierarchy), lambda: dict(_RULES))
add("RandomHierarchy.graph", lambda **given: tasks.RandomHierarchy(**given).graph, lambda: dict(_RULES))
add(
    "SparseRandomHierarchy",
    _sampled(tasks.SparseRandomHierarchy),
    lambda: {**_RULES, "n_empty": 1, "placement": "A"},
)
for kind, model in (("RandomHierarchy", _MODEL), ("SparseRandomHierarchy", _SPARSE_MODEL)):
    add(f"{kind}.sample", model.sample, lambda: {"n": 3, "random_state": 0, "replace": False})
    add(f"{kind}.sample with repeats", model.sample, lambda: {"n": 3, "random_state": 0})
    add(f"{kind}.draw", model.draw, lambda: {"n": 3, "random_state": 0})
    add(f"{kind}.split", model.split, lambda: {"n_train": 3, "n_test": 2, "random_state": 0, "balanced": True})
    add(f"{kind}.symbols_at", model.symbols_at, lambda: {"level": 1})
    add(
        f"{kind}.batches",
        lambda model=model, **given: list(islice(model.batches(**given), 3)),
        lambda: {"n": 4, "batch_size": 2, "random_state": 0},
    )
    add(f"{kind}.datum", model.datum, lambda: {"numbers": [0, 1]})
    add(f"{kind}.read", model.read, lambda model=model: {"X": model.sample(2, random_state=0).X})
add("HierarchySample.take", _DATA.take, lambda: {"rows": np.array([0])})
for verb in ("exchange_synonyms", "diffeomorphism"):
    add(
        verb,
        getattr(tasks, verb),
        lambda: {"sample": _SPARSE_DATA, "level": 1, "random_state": 0, "allow_identity": False},
    )
add(
    "one_hot",
    tasks.one_hot,
    lambda: {"X": _DATA.X, "n_features": 4, "whitened": True, "flat": True, "dtype": np.float64},
)
add("draw_datum_svg", hierarchy.draw_datum_svg, lambda: {"sample": _DATA, "i": 0})
add("draw_datum_text", hierarchy.draw_datum_text, lambda: {"sample": _DATA, "i": 0, "width": 80})
add("SymbolNoise", hierarchy.SymbolNoise, lambda: {"flip": 0.1, "erase": 0.1, "appear": 0.1})
_NOISE = hierarchy.SymbolNoise(flip=0.1)
add("SymbolNoise.matrix", _NOISE.matrix, lambda: {"n_features": 4})
add("SymbolNoise.apply", _NOISE.apply, lambda: {"X": _DATA.X, "n_features": 4, "random_state": 0})
for verb in ("label_posterior", "optimal_classifier", "parse"):
    add(verb, getattr(hierarchy, verb), lambda: {"model": _MODEL, "X": _DATA.X, "noise": _NOISE})
add(
    "learn_hierarchy",
    hierarchy.learn_hierarchy,
    lambda: {
        "model": _MODEL,
        "X": _DATA.X,
        "y": _DATA.y,
        "balanced": True,
        "n_sweeps": 1,
        "n_restarts": 2,
        "random_state": 0,
    },
)
_LEARNED = hierarchy.learn_hierarchy(_MODEL, _DATA.X, _DATA.y, n_restarts=2)
for method in ("predict", "predict_proba", "symbols"):
    add(f"LearnedHierarchy.{method}", getattr(_LEARNED, method), lambda: {"X": _DATA.X})
add("LearnedHierarchy.evaluate", _LEARNED.evaluate, lambda: {"X": _DATA.X, "y": _DATA.y})
add(
    "HierarchyDataset",
    lambda **given: datasets.HierarchyDataset(**given)[0],
    lambda: {"sample": _DATA, "whitened": True, "flat": True},
)
add("HierarchyDataset item", lambda row: datasets.HierarchyDataset(_DATA)[row], lambda: {"row": 0})
add(
    "HierarchyStream",
    lambda **given: next(iter(datasets.HierarchyStream(**given))),
    lambda: {"model": _MODEL, "batch_size": 2, "n_batches": 1, "random_state": 0, "whitened": True, "flat": True},
)
add("HierarchyStream.set_epoch", datasets.HierarchyStream(_MODEL, 2).set_epoch, lambda: {"epoch": 1})

# ---- networks -----------------------------------------------------------------------------------

_SHAPE = {"width": 3, "depth": 1, "activation": "silu", "channels": 1, "out_channels": 1, "share": "none"}
_COPIES = {"n_replicas": 2, "random_state": 0, "seeds": None, "device": None, "dtype": torch.float32}


def _network(n_replicas: int | None = 2) -> networks.MirrorNetwork:
    return networks.mirror(_TREE, 3, 1, n_replicas=n_replicas, random_state=0)


_OPTIONS = {**{k: v for k, v in _SHAPE.items() if k not in ("width", "depth", "share")}, **_COPIES}
add("mirror", networks.mirror, lambda: {"graph": _TREE, **_SHAPE, **_COPIES})
add("mirror with seeds", networks.mirror, lambda: {"graph": _TREE, "n_replicas": 2, "seeds": [1, 2]})
add("dense", networks.dense, lambda: {"n_inputs": 2, "width": 3, "depth": 1, **_OPTIONS})
for name in ("local", "convolutional"):
    add(
        name,
        getattr(networks, name),
        lambda: {"n_inputs": 4, "kernel": 2, "stride": 2, "width": 3, "depth": 1, **_OPTIONS},
    )
add("MirrorConfig", networks.MirrorConfig, lambda: dict(_SHAPE))
add(
    "MirrorNetwork",
    networks.MirrorNetwork,
    lambda: {"graph": _TREE, "config": networks.MirrorConfig(3, 1), "n_replicas": 2, "seeds": [1, 2]},
)
add("MirrorNetwork call", _network(), lambda: {"x": torch.ones(2, 4)})
add("make_plan", networks.make_plan, lambda: {"graph": _TREE, "channels": 1, "out_channels": 1, "share": "level"})
add("count", networks.count, lambda: {"network": _network()})
add("only", networks.only, lambda: {"network": _network(), "replica": 1})
add("select", networks.select, lambda: {"network": _network(), "replicas": [1]})
add("replica_seeds", networks.replica_seeds, lambda: {"random_state": 0, "n_replicas": 2})
add("to_masked", networks.to_masked, lambda: {"network": _network()})
add(
    "MaskedNetwork",
    networks.MaskedNetwork,
    lambda: {
        "masks": [torch.ones(2, 3), torch.ones(1, 2)],
        "active": [torch.ones(2), torch.zeros(1)],
        "activation_name": "silu",
        "n_replicas": 2,
        "random_state": 0,
        "dtype": torch.float32,
    },
)
add("MaskedNetwork call", networks.to_masked(_network()), lambda: {"x": torch.ones(2, 4)})
networks.save(_network(), _FOLDER / "network.safetensors")
add("save", networks.save, lambda: {"network": _network(), "path": _FOLDER / "other.safetensors"})
add("load", networks.load, lambda: {"path": _FOLDER / "network.safetensors", "device": None})
add("to_onnx", networks.to_onnx, lambda: {"network": _network(None), "path": _FOLDER / "network.onnx"}, slow=True)

_SYMBOLS = {"n_slots": 4, "n_symbols": 4, "n_outputs": 2}
_SYMBOL_OPTIONS = {"whitened": True, "shifted": False, "n_replicas": 2, "random_state": 0, "seeds": None}
for name, more in (
    ("CommonCNN", {"n_blocks": 1, "width": 4, "kernel": 3, "variant": "residual"}),
    ("FullyConnectedNetwork", {"n_layers": 1, "width": 4}),
    ("HierarchicalCNN", {"patch": 2, "n_layers": 2, "width": 4, "bias_per_position": True}),
    ("HierarchicalLCN", {"patch": 2, "n_layers": 2, "width": 4, "bias_per_position": True}),
    ("TransformerNetwork", {"n_layers": 1, "width": 4, "n_heads": 2}),
):
    add(name, getattr(symbols, name), lambda more=more: {**_SYMBOLS, **more, **_SYMBOL_OPTIONS})
_CLASSIFIER = symbols.HierarchicalCNN(4, 4, 4, patch=2, width=4, random_state=0)
add("SymbolNetwork call", _CLASSIFIER, lambda: {"x": torch.zeros(2, 4, dtype=torch.int8)})
add("SymbolNetwork.activations", _CLASSIFIER.activations, lambda: {"x": torch.zeros(2, 4, dtype=torch.int8)})
add("symbol_codes", symbols.symbol_codes, lambda: {"n_symbols": 4, "whitened": False, "shifted": True})

# ---- training -----------------------------------------------------------------------------------

_SHORT = {
    "n_steps": 3,
    "batch_size": 4,
    "learning_rate": 0.01,
    "weight_decay": 1e-3,
    "optimizer": "sgd",
    "momentum": 0.5,
    "schedule": "cosine",
    "n_epochs": 1,
    "evaluate_every": 2,
    "stop_at_loss": 0.0,
    "patience": 2,
    "clip_norm": 1.0,
    "rungs": ((0.5, 0.5),),
}
_ROWS = np.random.default_rng(0).uniform(-1, 1, (8, 4))
_Y = np.tanh(_ROWS[:, 0] * _ROWS[:, 1]) + _ROWS[:, 2]
_TENSORS = torch.as_tensor(_ROWS, dtype=torch.float32), torch.as_tensor(_Y, dtype=torch.float32)[:, None]


def _training_data() -> training.TrainingData:
    return training.training_data(_ROWS, _Y, validation=[[0, 1], [2, 3]])


def _trained(**given: Any) -> Any:
    """A configuration counts once something was trained by it."""
    config = training.TrainingConfig(**given)
    return training.train(_network(), _training_data(), config, time_limit=2.0, random_state=0)


add("TrainingConfig", _trained, lambda: dict(_SHORT), own=("schedule",))
add(
    "training_data",
    training.training_data,
    lambda: {
        "X": _ROWS,
        "y": _Y,
        "sample_weight": np.ones(8),
        "train": [[0, 1], [2, 3]],
        "validation": [[4], [5]],
        "classification": False,
        "device": None,
        "dtype": torch.float32,
    },
)
add(
    "training_data of classes",
    training.training_data,
    lambda: {"X": _ROWS, "y": np.arange(8) % 2, "classification": True},
)
add("TrainingData.train_rows", training.training_data(_ROWS, _Y).train_rows, lambda: {"n_replicas": 2})
add("TrainingData.for_replicas", _training_data().for_replicas, lambda: {"chosen": [0]})
add(
    "train",
    training.train,
    lambda: {
        "network": _network(),
        "data": _training_data(),
        "config": training.TrainingConfig(n_steps=2),
        "loss": training.SquaredLoss(),
        "penalties": [training.SquaredNorm(1e-3)],
        "callbacks": [lambda state: False],
        "progress": None,
        "time_limit": 2.0,
        "random_state": 0,
        "seeds": None,
    },
)
add(
    "train with seeds",
    lambda seeds: training.train(_network(), _training_data(), training.TrainingConfig(n_steps=2), seeds=seeds),
    lambda: {"seeds": [1, 2]},
)
add("HuberLoss", training.HuberLoss, lambda: {"delta": 1.0})
for name in ("SquaredNorm", "ProximalL1", "WeightDecay", "BetaLasso"):
    add(
        name,
        lambda kind=name, **given: getattr(training, kind)(**given).value(_network()),
        lambda: {"strength": 0.1, "applies_to": lambda name: True, "layers": [0]},
        own=("applies_to",),
    )
add(
    "GroupLasso",
    lambda **given: training.GroupLasso(**given).prox_(_network(), 0.1),
    lambda: {"strength": 0.1, "layers": [0], "groups": "units"},
)
add(
    "layered",
    networks.layered,
    lambda: {"sizes": [4, 3, 1], "activation": "relu", "masks": None, "n_replicas": 2, "random_state": 0},
)
add(
    "patch_sum",
    tasks.patch_sum,
    lambda: {"size": 4, "patch": 2, "noise": 0.0, "random_state": 0, "scattered": True},
)
add(
    "ProximalL1.prox_",
    lambda **given: training.ProximalL1(0.1).prox_(**given),
    lambda: {"network": _network(), "step": 0.1},
)
_FIT = {"n_restarts": 2, "n_keep": 1, "layerwise": True, "refine_iterations": 2, "refine_share": 0.3}
add(
    "FitConfig",
    lambda **given: training.fit_graph(
        _TREE, *_TENSORS, training.FitConfig(**given), width=3, depth=1, validation=[0, 1], time_limit=2.0
    ),
    lambda: {**_FIT, "training": training.TrainingConfig(n_steps=3)},
)
add(
    "fit_graph",
    training.fit_graph,
    lambda: {
        "graph": _TREE,
        "X": _TENSORS[0],
        "y": _TENSORS[1],
        "config": training.FitConfig(**_FIT, training=training.TrainingConfig(n_steps=3)),
        "validation": [0, 1],
        "sample_weight": None,
        "loss": training.SquaredLoss(),
        "penalties": (),
        **_SHAPE,
        "random_state": 0,
        "progress": None,
        "time_limit": 2.0,
    },
)
add(
    "refine",
    training.refine,
    lambda: {
        "network": _network(),
        "data": _training_data(),
        "n_iterations": 2,
        "ridge": 1e-6,
        "damping": 1e-2,
        "patience": 2,
        "time_limit": 2.0,
        "progress": None,
    },
)
add("lower_part", training.lower_part, lambda: {"graph": _TREE, "level": 1})
add("copy_nodes", training.copy_nodes, lambda: {"source": _network(), "target": _network()})
add(
    "solve_last_layer",
    training.solve_last_layer,
    lambda: {
        "network": networks.dense(4, 3, 1, n_replicas=2, random_state=0),
        "data": _training_data(),
        "ridges": [1e-4],
    },
)

# ---- sparse inference ---------------------------------------------------------------------------

_W = sparse.gaussian_dictionary(4, 6, random_state=0)
_X = np.random.default_rng(1).standard_normal((3, 4))
add("check_dictionary", sparse.check_dictionary, lambda: {"W": _W, "unit": True})
add(
    "learn_dictionary",
    sparse.learn_dictionary,
    lambda: {
        "X": np.random.default_rng(0).standard_normal((8, 3)), "n_atoms": 4, "n_nonzero": 1, "n_iterations": 2,
        "n_restarts": 1, "random_state": 0,
    },
)  # fmt: skip
add("matched_atoms", sparse.matched_atoms, lambda: {"found": np.eye(3), "true": np.eye(3), "cosine": 0.9})
add("gaussian_dictionary", sparse.gaussian_dictionary, lambda: {"d": 4, "n": 6, "random_state": 0})
for name in ("spikes_and_dct", "spikes_and_hadamard"):
    add(name, getattr(sparse, name), lambda: {"d": 4})
add("welch_bound", sparse.welch_bound, lambda: {"d": 4, "n": 6})
add(
    "equiangular_frame",
    sparse.equiangular_frame,
    lambda: {"d": 4, "n": 6, "approximate": True, "random_state": 0},
)
for name in ("coherence", "recoverable_sparsity"):
    add(name, getattr(sparse, name), lambda: {"W": _W})
add("isometry_constant", sparse.isometry_constant, lambda: {"W": _W, "k": 2, "most_supports": 1000})
add(
    "isometry_lower_bound",
    sparse.isometry_lower_bound,
    lambda: {"W": _W, "k": 2, "n_starts": 2, "random_state": 0},
)
add("isometry_upper_bound", sparse.isometry_upper_bound, lambda: {"W": _W, "k": 2})
add("weak_threshold", sparse.weak_threshold, lambda: {"delta": 0.5})
add(
    "lasso",
    sparse.lasso,
    lambda: {
        "X": _X,
        "W": _W,
        "lam": 0.1,
        "tol": 1e-6,
        "scaling": "full",
        "positive": False,
        "start": np.zeros((3, 6)),
        "method": "auto",
        "max_iter": 50,
        "time_limit": 2.0,
        "n_threads": 1,
    },
)
add(
    "lasso of tensors",
    sparse.lasso,
    lambda: {
        "X": torch.as_tensor(_X),
        "W": torch.as_tensor(_W),
        "lam": torch.tensor(0.1),
        "tol": 1e-4,
        "start": torch.zeros(3, 6, dtype=torch.float64),
        "max_iter": 50,
        "time_limit": 2.0,
    },
)
add(
    "lasso_path",
    sparse.lasso_path,
    lambda: {"X": _X, "W": _W, "lams": [1.0, 0.5], "scaling": "half", "positive": True, "n_threads": 1},
)
add(
    "lasso_breakpoints",
    sparse.lasso_breakpoints,
    lambda: {"x": _X[0], "W": _W, "lam_min": 0.1, "scaling": "full", "positive": False},
)
add(
    "lasso_gap",
    sparse.lasso_gap,
    lambda: {"X": _X, "W": _W, "codes": np.zeros((3, 6)), "lam": np.full(3, 0.1), "positive": False},
)
_SOLUTION = sparse.lasso(_X, _W, 0.1)
add("CodeSolution.certificate", _SOLUTION.certificate, lambda: {"i": 0})
add("PathSolution.certificate", sparse.lasso_path(_X, _W, [1.0]).certificate, lambda: {"i": 0, "p": 0})
add("Breakpoints.code_at", sparse.lasso_breakpoints(_X[0], _W).code_at, lambda: {"lam": 0.1})
for method in ("homotopy", "highs"):
    add(
        f"basis_pursuit by {method}",
        sparse.basis_pursuit,
        lambda method=method: {
            "X": _X,
            "W": _W,
            "method": method,
            "noise": 0.0,
            "tol": 1e-6,
            "time_limit": 2.0,
            "n_threads": 1,
        },
    )
add(
    "omp",
    sparse.omp,
    lambda: {"X": _X, "W": _W, "n_nonzero": 2, "residual": 0.1, "n_threads": 1},
)
add(
    "sparsest",
    sparse.sparsest,
    lambda: {"x": _X[0], "W": _W, "noise": 0.1, "largest": 10.0, "time_limit": 2.0},
)
add(
    "best_subset",
    sparse.best_subset,
    lambda: {"x": _X[0], "W": _W, "k": 2, "largest": 10.0, "time_limit": 2.0},
)
add("SparseCodes", sparse.SparseCodes, lambda: {"dictionary": _W, "k": 2, "amplitudes": "gaussian", "noise": 0.1})
add("SparseCodes.sample", sparse.SparseCodes(_W, 2).sample, lambda: {"m": 3, "random_state": 0})
for name in ("ista", "fista"):
    add(
        name,
        getattr(sparse, name),
        lambda: {"X": _X, "W": _W, "lam": 0.1, "n_steps": 2, "history": True},
    )
add("soft_threshold", sparse.soft_threshold, lambda: {"u": torch.ones(2), "theta": 0.5})
for variant in ("untied", "analytic"):
    add(
        f"UnrolledNetwork, {variant}",
        sparse.UnrolledNetwork,
        lambda variant=variant: {
            "dictionary": _W,
            "lam": 0.1,
            "n_layers": 2,
            "variant": variant,
            "select": 0.1,
            "select_at_most": 0.2,
            "n_replicas": 2,
            "dtype": torch.float32,
        },
    )
_UNROLLED = sparse.UnrolledNetwork(_W, 0.1, 2)
add("UnrolledNetwork call", _UNROLLED, lambda: {"x": torch.zeros(2, 4)})
add("UnrolledNetwork.iterates", _UNROLLED.iterates, lambda: {"x": torch.zeros(2, 4)})
add("LassoLoss", sparse.LassoLoss, lambda: {"dictionary": _W, "lam": 0.1})
add(
    "train_layer_by_layer",
    sparse.train_layer_by_layer,
    lambda: {
        "network": sparse.UnrolledNetwork(_W, 0.1, 2),
        "data": training.training_data(_X, _X),
        "config": training.TrainingConfig(n_steps=2, weight_decay=0.0),
        "loss": sparse.LassoLoss(_W, 0.1),
        "progress": None,
        "random_state": 0,
    },
)

_POINTS, _LABELS = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, -1.0]]), np.array([0.0, 1.0, 0.0])
add(
    "memorise",
    memorisation.memorise,
    lambda: {
        "X": _POINTS,
        "y": _LABELS,
        "norm": "weight-decay",
        "bias": "penalised",
        "goal": "interpolate",
        "method": "columns",
        "time_limit": 2.0,
        "max_rounds": 5,
        "tol": 1e-6,
        "random_state": 0,
    },
)
_MEMORISED = memorisation.memorise(_POINTS, _LABELS)
add("Memorised.predict", _MEMORISED.predict, lambda: {"X": _POINTS})
add("Memorised.from_dict", memorisation.Memorised.from_dict, lambda: {"data": _MEMORISED.to_dict()})
for field in _MEMORISED.to_dict():
    add(
        f"Memorised.from_dict, {field}",
        lambda value, field=field: memorisation.Memorised.from_dict(_with(_MEMORISED.to_dict(), field, value)),
        lambda field=field: {"value": _MEMORISED.to_dict()[field]},
    )
add(
    "descend",
    memorisation.descend,
    lambda: {
        "X": _POINTS,
        "y": _LABELS,
        "width": 4,
        "regulariser": "label-noise",
        "strength": 0.1,
        "n_steps": 5,
        "learning_rate": 0.01,
        "batch_size": 2,
        "n_replicas": 1,
        "random_state": 0,
        "device": None,
        "groups": [[0, 1], [1, 2]],
    },
)
_DESCENDED = memorisation.descend(_POINTS, _LABELS, width=4, n_steps=5, n_replicas=1).networks[0]
add("Descended.predict", _DESCENDED.predict, lambda: {"X": _POINTS})
add("Descended.support", _DESCENDED.support, lambda: {"angle": 0.1, "share": 0.01})
add("Descended.label_noise_penalty", _DESCENDED.label_noise_penalty, lambda: {"X": _POINTS, "balanced": True})
for name in ("label_noise_penalty", "balanced_label_noise_penalty"):
    add(
        name,
        getattr(memorisation, name),
        lambda: {"X": _POINTS, "theta": _DESCENDED.theta, "c": _DESCENDED.c},
    )
for name in ("count_cells", "enumerate_cells"):
    add(name, getattr(memorisation, name), lambda: {"X": _POINTS})
add("generic_count", memorisation.generic_count, lambda: {"n": 4, "d": 2})
add("draw_cells", memorisation.draw_cells, lambda: {"X": _POINTS, "y": _LABELS, "network": _MEMORISED})

# ---- bounds ---------------------------------------------------------------------------------------

_LAYERS = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
_BOUNDED_ROWS = np.random.default_rng(0).normal(size=(6, 2))
add(
    "bounds.compare",
    bounds.compare,
    lambda: {
        "model": _LAYERS,
        "X": _BOUNDED_ROWS,
        "y": np.arange(6) % 2,
        "margin": 1.0,
        "confidence": 0.9,
        "classification": True,
        "given": True,
        "random_state": 0,
    },
)
add("bounds.lower", bounds.lower, lambda: {"model": _LAYERS, "X": _BOUNDED_ROWS})
add("overlap_multiplicity", bounds.overlap_multiplicity, lambda: {"kernel": 3, "overlap": 1})
add(
    "empirical_rademacher",
    bounds.empirical_rademacher,
    lambda: {
        "model": _LAYERS,
        "X": _BOUNDED_ROWS,
        "weight_class": "blocks",
        "n_draws": 2,
        "n_restarts": 1,
        "n_steps": 2,
        "random_state": 0,
    },
)

# ---- measures -----------------------------------------------------------------------------------

for name in ("diffeomorphism_sensitivity", "synonym_sensitivity"):
    net = symbols.HierarchicalCNN(16, 4, 4, patch=4, width=4, random_state=0)
    add(
        name,
        getattr(measures, name),
        lambda net=net: {
            "network": net,
            "sample": _SPARSE_DATA,
            "level": 1,
            "random_state": 0,
            "allow_identity": False,
        },
    )
add("first_crossing", measures.first_crossing, lambda: {"sizes": [1, 2], "values": [1.0, 0.0], "level": 0.5})
add(
    "fit_law",
    measures.fit_law,
    lambda: {
        "variables": {"n": [1.0, 2.0, 4.0, 8.0]},
        "y": [1.0, 2.1, 3.9, 8.0],
        "groups": None,
        "confidence": 0.9,
    },
)
add(
    "threshold",
    measures.threshold,
    lambda: {
        "curves": {1: [0.9, 0.8], 2: [0.05, 0.04]},
        "level": 0.1,
        "confidence": 0.9,
        "n_resamples": 10,
        "random_state": 0,
    },
)

# ---- discovery ----------------------------------------------------------------------------------

_TABLE = np.random.default_rng(2).uniform(-1, 1, (60, 2))
_TARGET = _TABLE[:, 0] * _TABLE[:, 1]
add(
    "discover in data",
    discovery.discover,
    lambda: {
        "data": _TABLE,
        "y": _TARGET,
        "strategy": "data",
        "names": ["a", "b"],
        "outputs": "out",
        "sample_weight": np.ones(60),
        "classification": False,
        "fit": False,
        "fit_config": None,
        "width": 4,
        "effort": 0.02,
        "random_state": 0,
        "device": None,
        "time_limit": 1.0,
        "progress": None,
    },
)
add(
    "discover by queries",
    discovery.discover,
    lambda: {
        "data": lambda X: X[:, 0] * X[:, 1],
        "strategy": "queries",
        "bounds": [(-1.0, 1.0), (-1.0, 1.0)],
        "names": ["a", "b"],
        "outputs": "out",
        "budget": 2000,
        "noise": 0.0,
        "random_state": 0,
        "time_limit": 1.0,
        "progress": None,
    },
    own=("data",),
)
add(
    "discover in a truth table",
    discovery.discover,
    lambda: {
        "data": np.array([0, 1, 1, 0]),
        "strategy": "truth table",
        "names": ["a", "b"],
        "outputs": "out",
    },
)
_FOUND = discovery.discover(lambda X: X[:, 0] * X[:, 1], bounds=[(-1.0, 1.0)] * 2, budget=2000, random_state=0)
add("Discovery.from_json", discovery.Discovery.from_json, lambda: {"text": _FOUND.to_json()})
add("Discovery.from_dict", discovery.Discovery.from_dict, lambda: {"data": _FOUND.to_dict()})
for field in _FOUND.to_dict():
    add(
        f"Discovery.from_dict, {field}",
        lambda value, field=field: discovery.Discovery.from_dict(_with(_FOUND.to_dict(), field, value)),
        lambda field=field: {"value": _FOUND.to_dict()[field]},
    )
add("Discovery.to_json", _FOUND.to_json, lambda: {"indent": 2})
add("Discovery.inputs_of", _FOUND.inputs_of, lambda: {"output": _FOUND.graph.outputs[0]})
add("Discovery.evidence_for", _FOUND.evidence_for, lambda: {"members": {"x0", "x1"}})


class _ToyStrategy:
    """Takes nothing, so that it may stay registered."""

    name = "fuzz"

    def takes(self, *given: Any) -> bool:
        return False


def _registered_and_gone(name: Any) -> None:
    discovery.register(_ToyStrategy())
    try:
        discovery.unregister(name)
    finally:
        if "fuzz" in discovery.strategies():
            discovery.unregister("fuzz")


add("unregister", _registered_and_gone, lambda: {"name": "fuzz"})

# ---- estimators ---------------------------------------------------------------------------------

_QUICK = {
    "width": 4,
    "n_restarts": 1,
    "n_steps": 3,
    "time_limit": 1.0,
    "device": None,
    "random_state": 0,
    "verbose": False,
}
_CLASSES = (_TARGET > 0).astype(int)


def _fitted(name: str, y: np.ndarray) -> Callable[..., Any]:
    def fit(**given: Any) -> Any:
        data = {key: given.pop(key) for key in ("X", "y", "sample_weight") if key in given}
        model = getattr(estimators, name)(**given).fit(**{"X": _TABLE[:50], "y": y[:50], **data})
        return model.predict(_TABLE[50:]) if hasattr(model, "predict") else model.transform(_TABLE[50:])

    return fit


_KNOWN_GRAPH = {
    "graph": graph.single_node(2),
    "depth": 1,
    "activation": "silu",
    "channels": 1,
    "share": "none",
    "n_keep": 1,
    "batch_size": 8,
    "learning_rate": 0.01,
    "weight_decay": 1e-3,
    "refine_iterations": 2,
    "layerwise": True,
    "validation_fraction": 0.2,
}
for kind, target in (("Regressor", _TARGET), ("Classifier", _CLASSES)):
    data = {"X": _TABLE[:50], "y": target[:50], "sample_weight": np.ones(50)}
    add(
        f"Compositional{kind}",
        _fitted(f"Compositional{kind}", target),
        lambda data=data: {**_QUICK, "effort": 0.02, **data},
    )
    add(f"Graph{kind}", _fitted(f"Graph{kind}", target), lambda data=data: {**_QUICK, **_KNOWN_GRAPH, **data})
add(
    "MinimalReLURegressor",
    _fitted("MinimalReLURegressor", _TARGET),
    lambda: {
        "norm": "weight-decay",
        "bias": "penalised",
        "time_limit": 1.0,
        "max_rounds": 2,
        "tol": 1e-3,
        "random_state": 0,
        "X": _TABLE[:5],
        "y": _TARGET[:5],
    },
)
add(
    "SparseCoder",
    _fitted("SparseCoder", _TARGET),
    lambda: {
        "dictionary": None,
        "n_atoms": 3,
        "method": "lasso",
        "lam": 0.1,
        "tol": 1e-4,
        "noise": 0.0,
        "n_nonzero": 1,
        "positive": False,
        "n_passes": 1,
        "random_state": 0,
        "X": _TABLE[:5],
    },
)
_CODER = estimators.SparseCoder(np.eye(2), lam=1.0).fit(_TABLE)
for method in ("transform", "solution"):
    add(f"SparseCoder.{method}", getattr(_CODER, method), lambda: {"X": _TABLE[:3]})
add("SparseCoder.inverse_transform", _CODER.inverse_transform, lambda: {"X": _TABLE[:3]})
