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
from compsparse.networks.circuits import compile_circuit
from compsparse.networks.counts import NetworkSize, count
from compsparse.networks.explicit import ExplicitReLU, ExplicitSize, SparseLayer, chained
from compsparse.networks.explicit_files import explicit_to_onnx, load_explicit, save_explicit
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
from compsparse.networks.rounding import RoundedRange, rounding_error
from compsparse.networks.self_similar import (
    HAT,
    StraightPieces,
    hat_network,
    self_similar_network,
    takagi_network,
)
from compsparse.networks.wiring import graph_of, masks_of

__all__ = [
    "ACTIVATIONS",
    "HAT",
    "ExplicitReLU",
    "ExplicitSize",
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
    "RoundedRange",
    "Sharing",
    "SparseLayer",
    "StraightPieces",
    "as_masked",
    "chained",
    "check_onnx",
    "compile_circuit",
    "convolutional",
    "count",
    "dense",
    "embedded",
    "explicit_to_onnx",
    "graph_of",
    "hat_network",
    "hebbian_bit_error",
    "hebbian_memory",
    "layered",
    "load",
    "load_explicit",
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
    "rounding_error",
    "save",
    "save_explicit",
    "select",
    "self_similar_network",
    "softmax_memory",
    "takagi_network",
    "to_masked",
    "to_onnx",
]
