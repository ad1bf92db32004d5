"""Networks that mirror a graph, and their dense, masked, local and convolutional relatives."""

from compsparse.networks.activations import ACTIVATIONS
from compsparse.networks.associative import (
    Memory,
    hebbian_bit_error,
    hebbian_memory,
    pseudo_inverse_memory,
    recall_chain,
    softmax_memory,
)
from compsparse.networks.counts import NetworkSize, count
from compsparse.networks.export import load, save, to_onnx
from compsparse.networks.homogeneous import HomogeneousNetwork
from compsparse.networks.images import ImageNetwork, as_masked, embedded
from compsparse.networks.masked import MaskedNetwork, layered, to_masked
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
from compsparse.networks.normalisation import ReplicaBatchNorm
from compsparse.networks.onnx_files import check_onnx
from compsparse.networks.plan import NetworkPlan, Sharing, make_plan
from compsparse.networks.replicas import ReplicatedNetwork, only, replica_seeds, select
from compsparse.networks.wiring import graph_of, masks_of

__all__ = [
    "ACTIVATIONS",
    "HomogeneousNetwork",
    "ImageNetwork",
    "MaskedNetwork",
    "Memory",
    "MirrorConfig",
    "MirrorNetwork",
    "MirrorOptions",
    "NetworkPlan",
    "NetworkSize",
    "ReplicaBatchNorm",
    "ReplicatedNetwork",
    "Sharing",
    "as_masked",
    "check_onnx",
    "convolutional",
    "count",
    "dense",
    "embedded",
    "graph_of",
    "hebbian_bit_error",
    "hebbian_memory",
    "layered",
    "load",
    "local",
    "make_plan",
    "masks_of",
    "mirror",
    "node_function",
    "node_values",
    "only",
    "pseudo_inverse_memory",
    "recall_chain",
    "replica_seeds",
    "save",
    "select",
    "softmax_memory",
    "to_masked",
    "to_onnx",
]
