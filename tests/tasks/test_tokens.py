"""Data over tokens against their formulas written by hand."""

from itertools import product

import numpy as np
import pytest

from compsparse.errors import ConfigError
from compsparse.tasks import token_chain, token_gates, token_junta, token_parities, token_parity


def everything(n):
    return np.array(list(product((-1.0, 1.0), repeat=n)))


def test_parity_is_the_product_of_its_support():
    task = token_parity(8, 3, random_state=0)
    X = everything(8)
    assert np.array_equal(task.graph(X), X[:, list(task.support)].prod(1))
    assert len(task.support) == 3
    assert task.graph.n_inputs == 8
    assert token_parity(8, 3, random_state=0) == task


def test_several_parities_have_supports_of_their_own():
    task = token_parities(10, 2, 4, random_state=1)
    sample = task.sample(50, random_state=0)
    assert sample.y.shape == (50, 4)
    for j, node in enumerate(task.graph.nodes):
        at = [task.graph.inputs.index(name) for name in node.parents]
        assert np.array_equal(sample.y[:, j], sample.X[:, at].prod(1))


def test_a_chain_ends_in_the_parity_of_its_support():
    task = token_chain(9, 5, random_state=2)
    X = everything(9)
    y = task.graph(X)
    assert y.shape == (512, 4)
    assert len(task.support) == 5
    assert np.array_equal(y[:, -1], X[:, list(task.support)].prod(1))
    assert all(node.arity == 2 for node in task.graph.nodes)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_junta_depends_on_its_support_and_on_nothing_else(k):
    X = everything(6)
    for seed in range(5):
        task = token_junta(6, k, random_state=seed)
        y = task.graph(X)
        assert set(np.unique(y)) == {-1.0, 1.0}
        matters = [not np.array_equal(y, task.graph(X * np.where(np.arange(6) == i, -1, 1))) for i in range(6)]
        assert tuple(np.flatnonzero(matters)) == task.support
        assert len(task.support) == k


def test_a_tree_of_gates_has_signs_at_every_node():
    whole, top = token_gates(12, 8, random_state=0, all_nodes=True), token_gates(12, 8, random_state=0)
    sample = whole.sample(200, random_state=0)
    assert sample.y.shape == (200, 7)
    assert set(np.unique(sample.y)) == {-1.0, 1.0}
    assert np.array_equal(sample.y[:, -1], top.sample(200, random_state=0).y)
    assert len(top.support) == 8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: token_parity(4, 5), "5 of 4 tokens cannot be read"),
        (lambda: token_parity(4, 0), "the number of tokens that are read must be a whole number >= 1, got 0"),
        (lambda: token_gates(16, 6), "a balanced tree has 2, 4, 8, ... leaves, got n_leaves=6"),
        (lambda: token_junta(16, 9), "k must be at most 8 for a junta"),
        (lambda: token_chain(16, 1), "the number of tokens that are read must be a whole number >= 2, got 1"),
        (lambda: token_parity(4, 2).sample(10**10), "do not fit in memory"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ConfigError, match=message):
        call()
