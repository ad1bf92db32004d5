"""The last gate: trees against a free fit, on rows that chose nothing."""

import numpy as np
import pytest
import torch

from compsparse.discovery.data import gate
from compsparse.discovery.data.gate import GateRows, gated
from compsparse.graph.modules import ModuleTree
from compsparse.training import FitConfig, TrainingConfig


def leaves(names):
    return [ModuleTree(frozenset([name])) for name in names]


def tree(*groups):
    parts = [ModuleTree(frozenset(g), "prime", tuple(leaves(g))) if len(g) > 1 else leaves(g)[0] for g in groups]
    return ModuleTree(frozenset("".join(groups)), "prime", tuple(parts))


@pytest.fixture
def rows(monkeypatch):
    quick = FitConfig(n_restarts=4, n_keep=2, training=TrainingConfig(n_steps=600, batch_size=64), refine_iterations=0)
    monkeypatch.setattr(gate, "_RECIPE", quick)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 3))
    y = np.tanh(3 * X[:, 0] * X[:, 1]) + X[:, 2]
    y = (y - y.mean()) / y.std()
    as_tensor = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y[:, None], dtype=torch.float32)
    return GateRows(*as_tensor, None, np.arange(100), lambda graph: graph, 0, None)


def test_a_true_tree_passes_and_a_false_one_is_relaxed(rows):
    true = gated(tree("ab", "c"), [frozenset("ab")], rows)
    assert true.tree.modules == {frozenset("ab")}
    assert not true.given_up
    false = gated(tree("ac", "b"), [frozenset("ac")], rows)
    assert not false.tree.modules
    assert false.given_up == (frozenset("ac"),)
    assert false.tree.members == frozenset("abc")


def test_a_tree_without_modules_has_nothing_to_lose(rows):
    plain = tree("a", "b", "c")
    assert gated(plain, [], rows).tree is plain
