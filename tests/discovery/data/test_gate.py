"""The last gate: trees against a free fit, on rows that chose nothing."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from compsparse.discovery.data import audit, gate
from compsparse.discovery.data.audit import verify_modules
from compsparse.discovery.data.gate import Gated, GateRows, gated
from compsparse.discovery.data.search import TableSearch
from compsparse.discovery.data.settings import LONGEST, VERIFYING, VERIFYING_RESOLVED
from compsparse.discovery.data.trees import dissolved
from compsparse.discovery.data.trials import Trial, TrialTable
from compsparse.discovery.data.units import Units
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
    assert gated(tree(*groups), modules, wider, ["c"]).lacks
    true = [g.replace("d", "c") for g in groups]
    assert not gated(tree(*true), modules, wider, ["d"]).lacks


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


# ---- ways around a module ------------------------------------------------------------------------


@pytest.mark.parametrize("is_shared", [True, False], ids=["an input acts beside it", "a module"])
def test_a_module_goes_where_an_input_acts_beside_it(is_shared):
    X = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (500, 3)), dtype=torch.float32)
    a, b, c = X.T[:, :, None]
    y = torch.tanh(3 * a * b) + (torch.sin(3 * a * c) if is_shared else c)
    units = Units.raw({name: (name,) for name in "abc"})
    pair, alone = units.joined(units.trees[:2]), units.trees[2]
    search = TableSearch(TrialTable(X, y / y.std(), effort=0.3), units.with_trees([pair, alone]))
    search.told_apart[pair.members] = 9.0  # beyond doubt, so that there is no second look
    support: dict = {}
    verify_modules(search, support)
    assert (pair.members in support) is not is_shared
    assert search.leaks == [pair.members] * is_shared


def test_another_grouping_takes_the_place_of_a_false_module():
    X = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (500, 4)), dtype=torch.float32)
    a, b, c, d = X.T[:, :, None]
    y = torch.tanh(3 * a * b) + torch.sin(3 * c * d)
    units = Units.raw({name: (name,) for name in "abcd"})
    false = units.joined([units.trees[0], units.trees[2]])
    search = TableSearch(TrialTable(X, y / y.std(), effort=0.4), units.with_trees([false, *units.trees[1::2]]))
    search.told_apart[false.members] = 9.0  # beyond doubt, so that there is no second look
    support: dict = {}
    verify_modules(search, support)
    assert search.refuted == {frozenset("ac")}
    assert frozenset("ac") not in support
    assert {frozenset("ab"), frozenset("cd")} & support.keys()


@pytest.mark.parametrize(
    ("t", "told_apart", "rival", "looks_again"),
    [
        (-5.0, 9.0, 9.0, True),
        (-2.5, 9.0, 2.0, True),
        (-2.5, 9.0, 3.0, False),
        (-1.5, 9.0, -9.0, False),
        (-1.5, 3.0, 2.0, True),
        (-1.5, 3.0, 3.0, False),
        (1.0, 3.0, -2.0, True),
        (1.0, 3.0, 0.0, False),
        (-1.5, 3.0, np.inf, True),
        (1.0, 3.0, np.inf, False),
    ],
    ids=[
        "clearly better without",
        "better without, though it was told apart",
        "cleared by its rivals",
        "told apart in a tree that leaves nothing: rivals are not asked",
        "better without, and not told apart",
        "the same, cleared by its rivals",
        "a rival is better",
        "a rival is as good",
        "better without, and it has no rivals",
        "worse without, and it has no rivals",
    ],
)
def test_a_module_gets_a_second_look_where_the_tree_is_better_without_it_or_with_a_rival(
    monkeypatch, t, told_apart, rival, looks_again
):
    units = Units.raw({name: (name,) for name in "abc"})
    pair = units.joined(units.trees[:2])
    X = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (100, 3)), dtype=torch.float32)
    search = TableSearch(TrialTable(X, X[:, :1]), units.with_trees([pair, units.trees[2]]))
    search.told_apart[pair.members] = told_apart

    def rehearsed(_, fitted, effort):
        without = not any(tree.children for tree in fitted.trees)
        losses = 1e-9 * (1 + without * (t / 10 + np.resize([1.0, -1.0], 100)))
        return Trial((), fitted, losses[None], np.ones(100), None, None)

    looked_at = []
    monkeypatch.setattr(audit, "_verifying_fit", rehearsed)
    monkeypatch.setattr(audit, "_best_rival", lambda *_: rival)
    monkeypatch.setattr(audit, "_second_look", lambda _, module: looked_at.append(module.members))
    verify_modules(search, {})
    assert looked_at == [pair.members] * looks_again


def test_a_second_look_at_a_unit_finds_the_right_pair():
    X = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (500, 3)), dtype=torch.float32)
    a, b, c = X.T[:, :, None]
    y = torch.sin(2 * a + 2 * torch.tanh(3 * b * c))
    units = Units.raw({name: (name,) for name in "abc"})
    false = units.joined(units.trees[:2])
    search = TableSearch(TrialTable(X, y / y.std(), effort=0.3), units.with_trees([false, units.trees[2]]))
    assert audit._second_look(search, false)
    assert [m.members for m in search.modules] == [frozenset("bc")]


@pytest.mark.parametrize(("pair", "is_true"), [("ab", False), ("bc", True)])
def test_a_rival_shows_a_false_module_that_the_tree_has_learned_to_live_with(pair, is_true):
    X = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (500, 3)), dtype=torch.float32)
    a, b, c = X.T[:, :, None]
    y = torch.sin(2 * a + 2 * torch.tanh(3 * b * c))
    units = Units.raw({name: (name,) for name in "abc"})
    module = units.joined(tree for tree in units.trees if tree.members <= set(pair))
    alone = next(tree for tree in units.trees if not tree.members <= set(pair))
    search = TableSearch(TrialTable(X, y / y.std()), units.with_trees([module, alone]))
    search.units = search.table.relearned(search.fit_tree(search.units), 0)
    t = audit._best_rival(search, module, VERIFYING_RESOLVED)
    assert t > 2 if is_true else t < -2


def test_wide_nodes_are_looked_into_again_where_the_audit_changed_the_tree(monkeypatch):
    done, answers = [], [True, True]
    monkeypatch.setattr(audit._Verification, "changes_the_tree", lambda self: done.append("verify") or answers.pop(0))
    monkeypatch.setattr(audit._Verification, "begin_again", lambda self: done.append("begin"))
    monkeypatch.setattr(audit._Verification, "ended", lambda self: 0.5)

    def join_a_pair_once(search):
        done.append("look")
        if len(search.units) == 3:
            search.units = search.units.with_trees([search.units.joined(search.units.trees[:2]), search.units.trees[2]])

    monkeypatch.setattr(audit, "look_into_wide_nodes", join_a_pair_once)
    X = torch.zeros(100, 3)
    search = TableSearch(TrialTable(X, X[:, :1]), Units.raw({name: (name,) for name in "abc"}))
    assert verify_modules(search, {}) == 0.5
    assert done == ["begin", "verify", "look", "begin", "verify", "look"]


@pytest.mark.parametrize(
    ("left", "told_apart", "efforts"),
    [
        (0.1, 9.0, [VERIFYING] * 6),
        (1e-4, 9.0, [VERIFYING] + [VERIFYING_RESOLVED] * 2),
        (1e-4, 3.0, [VERIFYING] + [VERIFYING_RESOLVED] * 5),
    ],
)
def test_a_tree_is_compared_with_others_of_the_same_effort_and_shortly_where_it_leaves_next_to_nothing(
    monkeypatch, left, told_apart, efforts
):
    """Itself, once or twice, without the module, around it, and three trees for its rivals."""
    units = Units.raw({name: (name,) for name in "abc"})
    X = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (100, 3)), dtype=torch.float32)
    search = TableSearch(TrialTable(X, X[:, :1]), units.with_trees([units.joined(units.trees[:2]), units.trees[2]]))
    search.told_apart[frozenset("ab")] = told_apart
    asked = []

    def rehearsed(search, fitted, effort):
        asked.append(effort)
        losses = np.full((1, 100), left * search.constant_error)
        return Trial((), fitted, losses, np.ones(100), None, None)

    monkeypatch.setattr(audit, "_verifying_fit", rehearsed)
    assert verify_modules(search, {}) == pytest.approx(left)
    assert asked == efforts


@pytest.mark.parametrize(
    ("around", "through", "without", "stays"),
    [(0.05, 0.07, 0.05, True), (0.02, 0.03, 0.02, False), (0.05, 0.12, 0.05, False), (0.02, 0.03, 0.04, True)],
    ids=["larger networks would help as much", "little is left", "it halves what is left", "it is worse without"],
)
def test_a_module_stays_in_doubt_where_a_way_around_it_helps_and_says_little(
    monkeypatch, around, through, without, stays
):
    """What fits leave around a module, through it, and without it after long training."""
    X = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (100, 3)), dtype=torch.float32)
    units = Units.raw({name: (name,) for name in "abc"})
    pair = units.joined(units.trees[:2])

    class Rehearsed(TableSearch):
        def fit_tree(self, units, steps=0, n_replicas=0):
            ways = {2: through, 3: without if steps == LONGEST else 2 * through, 4: around}
            spread = np.resize([1.01, 0.99], 100)
            return Trial((), units, ways[len(units)] * self.constant_error * spread[None], np.ones(100), None, None)

    units = units.with_trees([pair, units.trees[2]])
    search = Rehearsed(TrialTable(X, X[:, :1] * X[:, 1:2]), units)
    search.told_apart[pair.members] = 9.0
    monkeypatch.setattr(audit, "_replaced", _dissolve)
    support: dict = {}
    verify_modules(search, support)
    assert search.leaks == [pair.members]
    assert (pair.members in support) is stays


def _dissolve(search, module):
    search.units = dissolved(search.units, module)
    return False
