"""Public entry points of compilation and of explicit networks, called tiny."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from odd import Entry

from compsparse import construct, graph, networks, tasks
from compsparse.graph.parser import parse_formula

ENTRIES: list[Entry] = []


def add(name, call, arguments, *, own=(), slow=False):
    ENTRIES.append(Entry(name, call, arguments, frozenset(own), slow))


_WAVE = parse_formula("a*b", ["a", "b"])
_BOX = [(-1.0, 1.0), (0.0, 1.0)]


def _layer():
    return construct.SparseLayer.of([[1.0, 2.0]], [0.5], True)


add(
    "compile",
    construct.compile,
    lambda: {
        "function": "max(a, b)",
        "bounds": (-1, 1),
        "tol": 0.1,
        "method": "auto",
        "dtype": "float64",
        "declared": None,
        "estimate": False,
        "n_points": 50,
        "time_limit": 5.0,
        "random_state": 0,
    },
)
_FILE = Path(tempfile.mkdtemp()) / "net.safetensors"
construct.compile("max(a, b)", (-1, 1), 0.1, n_points=50).save(_FILE)
add(
    "verify",
    construct.verify,
    lambda: {"path": _FILE, "function": None, "n_points": 50, "random_state": 0},
)
add(
    "compile, declared",
    lambda lipschitz, curvature: construct.DeclaredBounds(lipschitz, curvature),
    lambda: {"lipschitz": (1.0, 1.0), "curvature": 2.0},
)
add(
    "local_polynomials",
    construct.local_polynomials,
    lambda: {
        "function": lambda X: X[:, 0], "n_inputs": 2, "n_cells": 2, "order": 2, "product_error": 0.1
    },
    own=("function",),
)  # fmt: skip
add("compile_thresholds", construct.compile_thresholds, lambda: {"graph": tasks.parity_tree(3).graph})
add("tensor_spline", construct.tensor_spline, lambda: {"coefficients": [[1.0]], "knots": [[0, 1, 2, 3]] * 2})
add(
    "indicator_network",
    construct.indicator_network,
    lambda: {"formula": _WAVE, "box": _BOX, "cells": 2, "ramp": 0.1},
    own=("formula", "box"),
)
add("SparseLayer.of", construct.SparseLayer.of, lambda: {"W": [[1.0, 2.0]], "b": [0.5], "relu": True}, own=("relu",))
add("ExplicitReLU", construct.ExplicitReLU, lambda: {"layers": [_layer()], "dtype": torch.float64})
add("ExplicitReLU call", construct.ExplicitReLU([_layer()]), lambda: {"x": torch.zeros(3, 2, dtype=torch.float64)})
add("ExplicitReLU.exact", construct.ExplicitReLU([_layer()]).exact, lambda: {"x": [0.5, 1.0]})
add(
    "rounding_error",
    lambda lower, upper, dtype: construct.rounding_error([_layer()], lower, upper, dtype),
    lambda: {"lower": np.zeros(2), "upper": np.ones(2), "dtype": torch.float32},
)
add(
    "network_graph",
    construct.network_graph,
    lambda: {
        "network": networks.mirror(graph.balanced_tree(2), width=2, depth=1, random_state=0),
        "replica": 0,
    },
)
