"""Sizes that fit nowhere are refused before anything is allocated; what is merely large ends soon."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from odd import bounded

from compsparse import graph, networks, sparse, tasks
from compsparse.errors import CompsparseError, ConfigError, GraphError
from compsparse.networks import symbols
from compsparse.sparse import memorisation

TREE = graph.balanced_tree(4)
HUGE = {
    "sample": lambda: tasks.tanh_tree(4).sample(10**9),
    "inputs": lambda: tasks.box(2).sample(10**10),
    "hierarchy": lambda: tasks.RandomHierarchy(4, n_levels=3).sample(10**9),
    "hierarchy without trees": lambda: tasks.RandomHierarchy(4, n_levels=3).draw(10**10),
    "levels": lambda: tasks.RandomHierarchy(4, n_levels=10**9),
    "tuples": lambda: tasks.RandomHierarchy(4, tuple_size=10**9),
    "one-hot": lambda: tasks.one_hot(np.zeros((2, 2), dtype=int), 10**6),
    "tree": lambda: graph.balanced_tree(10**9),
    "chain": lambda: graph.chain(10**9),
    "random graph": lambda: graph.random_dag(10, 10**9),
    "replicas": lambda: networks.mirror(TREE, n_replicas=10**7),
    "width": lambda: networks.mirror(TREE, width=10**6),
    "depth": lambda: networks.mirror(TREE, depth=10**6),
    "channels": lambda: networks.mirror(TREE, channels=10**9),
    "dense": lambda: networks.dense(10**5, width=10**6),
    "symbols": lambda: symbols.FullyConnectedNetwork(10**4, 10**4, 2, width=10**5),
    "dictionary": lambda: sparse.gaussian_dictionary(10**6, 10**6),
    "spikes": lambda: sparse.spikes_and_dct(10**6),
    "frame": lambda: sparse.equiangular_frame(10**5, 10**5 + 1),
    "Gram matrix": lambda: sparse.omp(np.ones((1, 1)), np.ones((1, 10**5)), 1),
    "Gram matrix of tensors": lambda: sparse.lasso(torch.ones(1, 1), torch.ones(1, 10**5), 0.1),
    "signals": lambda: sparse.SparseCodes(np.eye(4), 1).sample(10**9),
    "steps": lambda: sparse.ista(np.ones((1, 4)), np.eye(4), 0.1, 10**9),
    "unrolled": lambda: sparse.UnrolledNetwork(np.eye(300), 0.1, 10**4),
    "wide descent": lambda: memorisation.descend(np.eye(3), np.ones(3), width=10**9),
}


@pytest.mark.parametrize("ask", HUGE.values(), ids=HUGE)
def test_the_limit_is_said_before_anything_is_allocated(ask):
    with bounded(), pytest.raises(ConfigError, match=r"do not fit in memory|at most|allowed here|more than"):
        ask()


def _sum_of(n: int) -> str:
    return " + ".join(f"x{i}" for i in range(n))


LARGE = {
    "a sum of 3,000 variables": lambda: graph.FunctionGraph.from_expression(_sum_of(3000)),
    "a chain of 3,000 nodes": lambda: graph.chain(3000),
    "a node of 20,000 parents": lambda: graph.single_node(20_000),
    "a tree of 20,000 inputs": lambda: graph.balanced_tree(20_000),
    "20,000 inert inputs": lambda: graph.FunctionGraph([f"x{i}" for i in range(20_000)], [], ["x0"]),
}


@pytest.mark.parametrize("make", LARGE.values(), ids=LARGE)
@pytest.mark.parametrize("direction", ["up", "right"])
def test_drawings_of_large_graphs_end_soon_and_count_what_they_leave_out(make, direction):
    with bounded():
        large = make()
        text, picture = str(large), graph.draw_svg(large, direction=direction)
    assert len(text.splitlines()) <= 205
    assert "more nodes" in text or "made of" in text or "names)" in text
    assert picture.count("<rect") < 1000
    assert "are not drawn" in picture


def test_small_drawings_leave_nothing_out():
    picture = graph.draw_svg(graph.balanced_tree(64))
    assert picture.count("<g ") == 127
    assert "not drawn" not in picture


@pytest.mark.parametrize(
    "text",
    ["(" * 10**5 + "x" + ")" * 10**5, "-" * 10**5 + "x", "sin(" * 10**5 + "x" + ")" * 10**5, "x**" * 10**5 + "x"],
    ids=["brackets", "signs", "calls", "powers"],
)
def test_deep_expressions_get_a_short_sentence(text):
    with bounded(), pytest.raises(CompsparseError, match="deep") as caught:
        graph.FunctionGraph.from_expression(text)
    assert len(str(caught.value)) < 5000


def test_formulas_too_deep_for_one_constituent_are_named():
    names = [f"x{i}" for i in range(3000)]
    with bounded(), pytest.raises(GraphError, match="nests too deep"):
        graph.Constituent.from_expression(_sum_of(3000), names)
    groups: list[object] = ["a", "b"]
    for i in range(5000):
        groups = [groups, f"x{i}"]
    with bounded(), pytest.raises(GraphError, match="nest too deep"):
        graph.from_groups(groups)
