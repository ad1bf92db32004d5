"""Networks that mirror a graph, and their dense, masked, local and convolutional relatives."""

from compsparse.networks.activations import ACTIVATIONS
from compsparse.networks.counts import NetworkSize, count
from compsparse.networks.export import load, save, to_onnx
from compsparse.networks.masked import MaskedNetwork, to_masked
from compsparse.networks.mirroring import (
    MirrorConfig,
    MirrorNetwork,
    MirrorOptions,
    convolutional,
    dense,
    local,
    mirror,
)
from compsparse.networks.nodes import node_function, node_values
from compsparse.networks.plan import NetworkPlan, Sharing, make_plan
from compsparse.networks.replicas import ReplicatedNetwork, only, replica_seeds, select

__all__ = [
    "ACTIVATIONS",
    "MaskedNetwork",
    "MirrorConfig",
    "MirrorNetwork",
    "MirrorOptions",
    "NetworkPlan",
    "NetworkSize",
    "ReplicatedNetwork",
    "Sharing",
    "convolutional",
    "count",
    "dense",
    "load",
    "local",
    "make_plan",
    "mirror",
    "node_function",
    "node_values",
    "only",
    "replica_seeds",
    "save",
    "select",
    "to_masked",
    "to_onnx",
]
