"""The last gate: trees against a free fit, on rows that chose nothing."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from compsparse.clock import Deadline
from compsparse.discovery.data import gate
from compsparse.discovery.data.gate import Gated, GateRows, pass_gate
from compsparse.graph import FunctionGraph
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
    return GateRows(*as_tensor, None, np.arange(100), lambda graph: graph, 0, Deadline())


def test_a_true_tree_passes_and_a_false_one_is_relaxed(rows):
    true = pass_gate(tree("ab", "c"), [frozenset("ab")], rows)
    assert true.tree.modules == {frozenset("ab")}
    assert not true.given_up
    false = pass_gate(tree("ac", "b"), [frozenset("ac")], rows)
    assert not false.tree.modules
    assert false.given_up == (frozenset("ac"),)
    assert false.tree.members == frozenset("abc")


def test_a_tree_without_modules_has_nothing_to_lose(rows):
    plain = tree("a", "b", "c")
    assert pass_gate(plain, [], rows).tree is plain


@pytest.mark.parametrize("groups", [("ab", "d"), ("a", "b", "d")], ids=["a module", "none"])
def test_inputs_that_were_left_out_are_offered_once_more(rows, groups):
    inert = torch.rand(500, 1, generator=torch.Generator().manual_seed(0))
    whole = tuple("abcd")
    wider = replace(
        rows,
        X=torch.cat([rows.X, inert], 1),
        over_columns=lambda graph: FunctionGraph(whole, graph.nodes, graph.outputs),
    )
    modules = [frozenset(g) for g in groups if len(g) > 1]
    assert pass_gate(tree(*groups), modules, wider, ["c"]).lacks
    true = [g.replace("d", "c") for g in groups]
    assert not pass_gate(tree(*true), modules, wider, ["d"]).lacks


@pytest.mark.parametrize(
    ("unexplained", "scatter", "unresolved"),
    [(0.02, 0.01, True), (0.02, 0.001, False), (0.0005, 0.0005, False)],
    ids=["networks differ", "noise", "little is left"],
)
def test_what_is_left_and_is_no_noise_leaves_a_tree_unresolved(unexplained, scatter, unresolved):
    passed = Gated(tree("ab", "c"), 0.0, False, (), unexplained, scatter)
    assert passed.is_unresolved is unresolved


def test_noise_is_error_but_no_scatter(rows):
    noise = torch.as_tensor(np.random.default_rng(1).normal(size=(500, 1)), dtype=torch.float32)
    noisy = replace(rows, y=rows.y + noise).fit(tree("ab", "c").to_graph(tuple("abc")), 16)
    assert noisy.errors.mean() > 0.4
    assert noisy.scatter < 0.2 * noisy.errors.mean()
