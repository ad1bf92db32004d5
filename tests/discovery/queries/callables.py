"""Callables to ask, and what to read off the answers."""

import numpy as np
import torch

from compsparse.discovery import Discovery
from compsparse.discovery.queries import from_queries
from compsparse.graph import Constituent, FunctionGraph, Node, random_tree

UNIT, SYMMETRIC = (0, 1), (-1, 1)


def by_values(graph):
    """The graph as a function of numpy arrays alone."""
    return lambda x: graph(np.asarray(x))


def tree_of(found: Discovery):
    """Modules as strings of input names with their kind; nodes of two parts have none."""
    return {
        ("".join(sorted(m.members)), m.kind if len(m.children) > 2 else None) for m in found.graph.module_tree.inner
    }


def ask(f, d, names="abcdefgh", bounds=UNIT, **options):
    return from_queries(f, [bounds] * d, list(names[:d]), random_state=0, **options)


def kinked_tree(d, seed):
    """Maxima and ReLUs of affine forms, their kinks where the arguments are."""
    rng = np.random.default_rng(seed)
    graph = random_tree(d, random_state=seed)
    values = dict(zip(graph.inputs, rng.uniform(-1, 1, (1000, d)).T, strict=True))
    nodes = []
    for node in graph.nodes:
        a, b = (values[p] for p in node.parents)
        s, t = rng.choice([-1, 1], 2)
        text = f"max(({s / a.std():f})*(a - ({np.median(a):f})), ({t / b.std():f})*(b - ({np.median(b):f}))) + 0.3*a"
        if rng.random() < 0.5:
            text = f"relu({text}) + ({0.4 * s / a.std():f})*a + ({0.9 * t / b.std():f})*b"
        nodes.append(Node(node.name, node.parents, Constituent.from_expression(text, "ab")))
        values[node.name] = nodes[-1].constituent(a, b)
    return FunctionGraph(graph.inputs, nodes, graph.outputs)


def smooth_in_torch(x):
    return torch.tanh(x[:, 0] * x[:, 1] + x[:, 0]) * x[:, 2] + x[:, 3] ** 2
