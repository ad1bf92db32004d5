"""Public entry points of attention, associative memories and dynamics, called tiny."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from odd import Entry

from compsparse import measures, networks, tasks
from compsparse.networks import attention
from compsparse.tasks import hierarchy

ENTRIES: list[Entry] = []


def add(
    name: str, call: Callable[..., Any], arguments: Callable[[], Mapping[str, Any]], own: tuple[str, ...] = ()
) -> None:
    ENTRIES.append(Entry(name, call, arguments, frozenset(own)))


_SCORES = torch.tensor([[1.0, 0.5, -1.0], [0.0, 0.0, 3.0]])
_NETWORK = attention.AttentionNetwork(4, width=8, n_heads=2, random_state=0)
_THINKER = attention.AttentionNetwork(5, 2, width=8, n_heads=2, n_thoughts=1, random_state=0)
_X = 2.0 * np.random.default_rng(0).integers(2, size=(6, 4)) - 1
_SIGNS = torch.tensor(_X.T, dtype=torch.float32)
_READS = [[True, True, False, False]]

for name in ("softmax", "sparsemax", "entmax15"):
    add(name, getattr(attention, name), lambda: {"scores": _SCORES})
add("entmax", attention.entmax, lambda: {"scores": _SCORES, "alpha": 1.3})
add("top_k", attention.top_k, lambda: {"scores": _SCORES, "k": 2})
add(
    "AttentionNetwork",
    attention.AttentionNetwork,
    lambda: {
        "n_tokens": 4, "n_outputs": 1, "n_layers": 1, "width": 8, "n_heads": 2, "n_symbols": None,
        "selection": "softmax",
        "form": "sequential", "n_thoughts": 0, "n_replicas": None, "random_state": 0, "seeds": None,
    },
    own=("selection",),
)  # fmt: skip
add("AttentionNetwork call", _NETWORK, lambda: {"x": torch.ones(2, 4)})
add("AttentionNetwork.attention", _NETWORK.attention, lambda: {"x": torch.ones(2, 4)})
add("think", attention.think, lambda: {"network": _THINKER, "x": torch.ones(2, 4)})

add("token_parity", tasks.token_parity, lambda: {"n_tokens": 5, "k": 2, "random_state": 0})
add("token_parities", tasks.token_parities, lambda: {"n_tokens": 5, "k": 2, "n_outputs": 2, "random_state": 0})
add("token_chain", tasks.token_chain, lambda: {"n_tokens": 5, "k": 3, "random_state": 0})
add("token_junta", tasks.token_junta, lambda: {"n_tokens": 5, "k": 2, "random_state": 0})
add(
    "token_gates",
    tasks.token_gates,
    lambda: {"n_tokens": 5, "n_leaves": 4, "random_state": 0, "all_nodes": False},
)
_TASK = tasks.token_parity(4, 2, random_state=0)
add("TokenTask", tasks.TokenTask, lambda: {"name": "a", "graph": _TASK.graph})
add("TokenTask.sample", _TASK.sample, lambda: {"n": 3, "random_state": 0})

add("selection_measures", measures.selection_measures, lambda: {"network": _NETWORK, "X": _X, "reads": _READS})
add("mean_attention", measures.mean_attention, lambda: {"network": _NETWORK, "X": _X})
add(
    "sibling_mass",
    measures.sibling_mass,
    lambda: {
        "network": attention.AttentionNetwork(4, n_layers=2, width=8, n_heads=2, random_state=0), "X": _X, "group": 2
    },
)  # fmt: skip
add("rollout", measures.rollout, lambda: {"network": _NETWORK, "X": _X})
add("ablation", measures.ablation, lambda: {"network": _NETWORK, "X": _X, "random_state": 0})
add("edge_auroc", measures.edge_auroc, lambda: {"scores": [[[0.5, 0.4, 0.1, 0.0]]], "edges": _READS})
add("ancestor_matrix", measures.ancestor_matrix, lambda: {"graph": _TASK.graph})
add("parent_matrix", measures.parent_matrix, lambda: {"graph": _TASK.graph, "tokens": ["x0", "x1"]})
add(
    "attention_graph",
    measures.attention_graph,
    lambda: {"scores": [[0.5, 0.4, 0.1]], "names": ["a", "b", "c"], "outputs": ["y"], "k": None, "share": 0.25},
)
add("score_geometry", measures.score_geometry, lambda: {"network": _NETWORK, "X": _X[:1], "k": 2})
add("score_symmetry", measures.score_symmetry, lambda: {"network": _NETWORK})

for name in ("pseudo_inverse_memory", "hebbian_memory"):
    add(name, getattr(networks, name), lambda: {"X": _SIGNS, "Y": _SIGNS})
add("softmax_memory", networks.softmax_memory, lambda: {"X": _SIGNS, "Y": _SIGNS, "beta": 1.0})
add(
    "recall_chain",
    networks.recall_chain,
    lambda: {"memory": networks.hebbian_memory(_SIGNS, _SIGNS), "start": _SIGNS, "n_steps": 2, "clean_up": True},
    own=("memory",),
)
add("hebbian_bit_error", networks.hebbian_bit_error, lambda: {"d": 8, "n_patterns": 3})

_PLAIN = networks.HomogeneousNetwork(4, 2, width=4, depth=1, random_state=0)
_CLASSES = [0, 1, 0, 1, 0, 1]
add(
    "HomogeneousNetwork",
    networks.HomogeneousNetwork,
    lambda: {
        "n_inputs": 4, "n_outputs": 2, "width": 4, "depth": 1, "n_replicas": None, "random_state": 0, "seeds": None
    },
)  # fmt: skip
add("measure_dynamics", measures.measure_dynamics, lambda: {"network": _PLAIN, "X": _X, "classes": _CLASSES})
add("DynamicsLog", measures.DynamicsLog, lambda: {"X": _X, "classes": _CLASSES})
add("equilibrium_rho", measures.equilibrium_rho, lambda: {"margins": [0.2, 0.4], "weight_decay": 0.01, "n_layers": 2})

_SAMPLE = hierarchy.SparseRandomHierarchy(3, n_levels=1, n_empty=1).sample(3, random_state=0)
add("real_places", hierarchy.real_places, lambda: {"sample": _SAMPLE, "random_state": 0})
add("whole_places", hierarchy.whole_places, lambda: {"sample": _SAMPLE})
add(
    "seen_by_sensors",
    hierarchy.seen_by_sensors,
    lambda: {"symbols": [[0, 1]], "places": [[0.5, 2.0]], "n_slots": 4, "n_features": 3},
)
