"""The parts of a search in data: candidates, units, trials, decisions."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.discovery.data.trial_tables import COLUMNS, modules, table, work

from compsparse.discovery import DiscoveryStatus, Step
from compsparse.discovery.data.candidates import Candidate, CandidateNetwork
from compsparse.discovery.data.evidence import module_evidence
from compsparse.discovery.data.found import FoundTree, FoundTrees
from compsparse.discovery.data.limits import Effort
from compsparse.discovery.data.merging import accepted, judge, leave_out_inert, merge
from compsparse.discovery.data.sketch import Sketch, Support
from compsparse.discovery.data.smooth.answer import SmoothAnswer, unasked
from compsparse.discovery.data.smooth.turning import Turns
from compsparse.discovery.data.tree_surgery import dissolved, exposed, pairings, parent_of, pruned, regrouped
from compsparse.discovery.data.trials import Trial
from compsparse.discovery.data.units import Units, combination_of, leaf
from compsparse.discovery.structure.statistics import TOLD_APART, standard_error, t_statistic

# ---- candidates and units ------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["free", "sum", "product"])
def test_a_candidate_sees_its_variables_only_and_its_module_through_one_number(form):
    candidate = Candidate(frozenset({0, 1}), frozenset({2}), form)
    network = CandidateNetwork([candidate], [[0], [1], [2], [3]], 1, [0]).double()
    X = torch.randn(6, 4, dtype=torch.float64)
    moved = X.clone()
    moved[:, 3] += 1
    torch.testing.assert_close(network(X), network(moved))
    # the gradient over the module has one direction, whatever the context
    base = X[:1].repeat(5, 1)
    base[:, 2] = torch.linspace(-2, 2, 5)
    base.requires_grad_(True)
    gradient = torch.autograd.grad(network(base).sum(), base)[0][:, :2]
    cross = gradient[:, 0] * gradient[0, 1] - gradient[:, 1] * gradient[0, 0]
    assert float(cross.abs().max()) < 1e-10 * float(gradient.abs().max() ** 2)
    assert float(gradient.abs().min()) > 0


def dense_by_hand(cells, replica, node, x):
    """One node of one replica of some cells, layer by layer; (rows, columns) to (rows,)."""
    last = len(cells.weights) - 1
    for layer, (weight, bias) in enumerate(zip(cells.weights, cells.biases, strict=True)):
        x = x @ weight[replica, node].T + bias[replica, node]
        x = x if layer == last else x * torch.sigmoid(x)
    return x[:, 0]


@pytest.mark.parametrize("form", ["sum", "product"])
def test_separable_forms_are_what_they_say(form):
    """Against every psi evaluated by itself, and phi of their sum, or of the product of 1 + psi, put on top."""
    blocks = [[0], [1, 2], [3]]
    inner = [frozenset({0, 1}), frozenset({1, 2}), frozenset({0, 1, 2})]
    candidates = [Candidate(which, frozenset(), form) for which in inner]
    network = CandidateNetwork(candidates, blocks, 1, [0, 1, 2]).double()
    X = torch.randn(6, 4, dtype=torch.float64)
    found = network.combined(X.T.expand(3, -1, -1))
    psi, phi = network.inner.psi, network.inner.phi
    for r, which in enumerate(inner):
        # a block of one column is filled up with a zero, as the widest has two
        rows = [torch.cat([X[:, blocks[v]], X.new_zeros(6, 2 - len(blocks[v]))], 1) for v in sorted(which)]
        values = torch.stack([dense_by_hand(psi, r, v, x) for v, x in zip(sorted(which), rows, strict=True)])
        total = values.sum(0) if form == "sum" else (1 + values).prod(0)
        torch.testing.assert_close(found[r, 0], total + dense_by_hand(phi, r, 0, total[:, None]))


@pytest.mark.parametrize("form", ["sum", "product"])
def test_separable_forms_depend_on_their_variables_alone(form):
    blocks = [[0], [1, 2], [3]]
    candidates = [Candidate(which, frozenset(), form) for which in (frozenset({0, 2}), frozenset({1, 2}))]
    network = CandidateNetwork(candidates, blocks, 1, [0, 1]).double()
    X = torch.randn(2, 4, 6, dtype=torch.float64, requires_grad=True)
    slopes = torch.autograd.grad(network.combined(X).sum(), X)[0]
    moves = (slopes != 0).any(2)
    assert moves.tolist() == [[True, False, False, True], [False, True, True, True]]


def test_blocks_of_several_columns_move_together():
    blocks = [range(0, 3), range(3, 4)]
    network = CandidateNetwork([Candidate(frozenset({0}), frozenset({1}))], blocks, 1, [0])
    assert network.inner.mask[0, 0].tolist() == [1, 1, 1, 0]


def small_units():
    units = Units.raw(COLUMNS)
    a, b, c, d = units.trees
    return units, units.with_trees([units.joined([units.joined([a, b]), c]), d])


def test_tree_surgery():
    raw, units = small_units()
    tree = units.trees[0]
    ab = tree.children[0]
    assert parent_of(units, ab) == tree
    assert parent_of(units, tree) is None
    assert [sorted(t.members) for t in dissolved(units, tree).trees] == [["a", "b"], ["c"], ["d"]]
    flat = dissolved(units, ab).trees[0]
    assert [sorted(c.members) for c in flat.children] == [["a"], ["b"], ["c"]]
    inner = [sorted(pair.members) for _, pair in pairings(units, flat.children)]
    assert inner == [["a", "b"], ["a", "c"], ["b", "c"]]
    swapped = regrouped(units, tree, units.joined([raw.joined([leaf("a"), leaf("c")]), leaf("b")]))
    assert {frozenset("ac"), frozenset("abc")} == {m.members for t in swapped.trees for m in t.inner}


def test_learned_weights_survive_every_surgery():
    _, units = small_units()
    network = units.network([0, 0], [3, 4], torch.device("cpu"))
    learned = units.relearned(network, [0, 1])
    X = torch.randn(7, 4)
    expected = network(X)
    again = learned.network([0, 1], [9, 9], torch.device("cpu"))
    torch.testing.assert_close(again(X), expected)
    # an input shown to every node changes nothing before training
    e_columns = {**COLUMNS, "e": ("e",)}
    wide = exposed(Units(e_columns, learned.trees, learned.learned), [leaf("e")])
    out = wide.network([0, 1], [5, 5], torch.device("cpu"))(torch.cat([X, torch.randn(7, 1)], 1))
    torch.testing.assert_close(out[..., :2], expected)
    assert combination_of(wide.trees[0]) in wide.learned


def test_a_tree_without_one_input_keeps_what_it_learned_of_the_others():
    raw, units = small_units()
    wide = raw.with_trees([raw.joined([*raw.trees[:3]]), raw.trees[3]])
    network = wide.network([0, 0], [3, 4], torch.device("cpu"))
    X = torch.randn(7, 4)
    X[:, 1] = 0
    rest = pruned(wide.relearned(network, [0, 1]), "b")
    assert [sorted(t.members) for t in rest.trees] == [["a", "c"], ["d"]]
    torch.testing.assert_close(rest.network([0, 1], [9, 9], torch.device("cpu"))(X), network(X))
    # of two children one is left: it takes the node's place, and what reads it starts afresh
    learned = units.relearned(units.network([0, 0], [3, 4], torch.device("cpu")), [0, 1])
    without_a = pruned(learned, "a")
    assert [sorted(t.members) for t in without_a.trees] == [["b", "c"], ["d"]]
    assert combination_of(without_a.trees[0]) not in without_a.learned
    assert [sorted(t.members) for t in pruned(learned, "c").trees] == [["a", "b"], ["d"]]
    assert [sorted(t.members) for t in pruned(learned, "d").trees] == [["a", "b", "c"]]


# ---- trials --------------------------------------------------------------------------------------


def test_folds_part_the_rows_and_held_out_rows_are_never_trained_on():
    trials = table()
    rows = torch.cat(trials.held_out)
    assert sorted(rows.tolist()) == list(range(120))
    for kept, held in zip(trials.kept, trials.held_out, strict=True):
        assert not set(kept.tolist()) & set(held.tolist())
        assert len(kept) + len(held) == 120


def test_a_candidate_gets_the_same_losses_in_any_company():
    base, pair = Candidate(frozenset(), frozenset(range(4))), Candidate(frozenset({0, 1}), frozenset({2, 3}))
    units = Units.raw({name: (name,) for name in "abcd"})
    alone = table(seed=1).fit(units, [pair], Effort(1, 30))
    together = table(seed=1).fit(units, [base, pair], Effort(1, 30))
    np.testing.assert_allclose(alone.losses[0], together.losses[1], rtol=2e-3, atol=1e-5)


def test_the_constant_is_the_best_one_of_the_other_folds():
    trials = table()
    y = trials.y[:, 0].numpy()
    expected = [
        (y[held.numpy()] - y[kept.numpy()].mean()) ** 2 for held, kept in zip(trials.held_out, trials.kept, strict=True)
    ]
    np.testing.assert_allclose(trials.constant, np.concatenate(expected), rtol=1e-4)


def test_what_a_trial_learned_is_what_its_network_computes():
    trials = table()
    units = Units.raw(COLUMNS)
    trial = trials.fit(units, [Candidate(frozenset({0, 1}), frozenset({2, 3}))], Effort(2, 40))
    layers = trials.learned(trial, 0)
    module = units.joined([leaf("a"), leaf("b")])
    merged = Units(COLUMNS, (module,), {combination_of(module): layers})
    values = merged.network(range(5), [0] * 5, torch.device("cpu"))(trials.X)[..., 0].detach()
    for k in range(5):
        kept = values[k, trials.kept[k]]
        assert float(kept.mean().abs()) < 1e-4
        assert float(kept.std()) == pytest.approx(1.0, abs=1e-3)


def test_t_and_its_standard_error_are_the_textbook_ones():
    values = np.random.default_rng(0).normal(0.3, 1.0, 400)
    ones = np.ones(400)
    assert standard_error(values, ones) == pytest.approx(values.std() / 20, rel=1e-12)
    assert t_statistic(values, ones) == pytest.approx(values.mean() / (values.std() / 20))
    doubled = np.r_[values, values]
    assert standard_error(values, 2 * ones) == pytest.approx(standard_error(values, ones))
    assert t_statistic(doubled, np.ones(800)) == pytest.approx(np.sqrt(2) * t_statistic(values, ones))
    assert t_statistic(np.zeros(5), np.ones(5)) == 0
    assert t_statistic(np.ones(5), np.ones(5)) == np.inf


# ---- decisions -----------------------------------------------------------------------------------


def made_up_trial(means, n=400, spread=0.1):
    """A trial over four units whose losses have the given means: base, then all pairs."""
    pairs = [frozenset(p) for p in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))]
    every = frozenset(range(4))
    candidates = (Candidate(frozenset(), every), *(Candidate(p, every - p) for p in pairs))
    noise = np.random.default_rng(0).normal(0, spread, (len(candidates), n))
    losses = np.array(means)[:, None] + noise - noise.mean(1, keepdims=True)
    return Trial(candidates, Units.raw(COLUMNS), losses, np.ones(n), None, np.zeros((7, 5)))


def which(*judged, **options):
    """The candidates that are accepted."""
    return [judgement.candidate for judgement in accepted(*judged, **options)]


def test_disjoint_clear_winners_are_accepted_together():
    trial = made_up_trial([0.5, 0.3, 0.6, 0.6, 0.6, 0.6, 0.35])
    assert which(trial, judge(trial, np.ones(400)), 1.0) == [1, 6]


def test_nothing_is_accepted_without_predicting_or_when_it_hurts():
    trial = made_up_trial([0.5, 0.3, 0.6, 0.6, 0.6, 0.6, 0.35])
    assert which(trial, judge(trial, np.full(400, 0.3)), 0.3, last_word=True) == []
    worse = made_up_trial([0.1, 0.3, 0.6, 0.6, 0.6, 0.6, 0.35])
    assert which(worse, judge(worse, np.ones(400)), 1.0, last_word=True) == []


def test_equal_rivals_are_accepted_one_at_a_time_and_only_at_last():
    trial = made_up_trial([0.5, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3])
    judgements = judge(trial, np.ones(400))
    assert which(trial, judgements, 1.0) == []
    assert len(accepted(trial, judgements, 1.0, last_word=True)) == 1


def test_a_rival_whose_error_lies_in_a_few_rows_is_told_apart_by_its_size():
    trial = made_up_trial([0.5, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2], spread=0.001)
    trial.losses[2:, :] = 0.1
    trial.losses[2:, :4] = 60.0
    assert trial.t(2, 1) < TOLD_APART
    assert which(trial, judge(trial, np.ones(400)), 1.0) == [1]


def test_a_pair_that_a_smooth_fit_denies_is_not_merged():
    """Though it is the right one: the fit is believed."""
    names = "abc"
    turns = np.zeros((3, 3, 3))
    denied = SmoothAnswer(
        None,
        (),
        frozenset(),
        0.1,
        0.01,
        {},
        turns=Turns(turns, np.ones_like(turns), np.zeros_like(turns), np.ones(len(turns))),
        turned=tuple(names),
        most_turn=3.0,
    )
    turns[0, 1, 2] = turns[1, 0, 2] = 9.0

    def y(a, b, c):
        return torch.tanh(3 * a * b) + c

    assert modules(merge(*work(names, y))) == {"ab"}
    found = merge(*work(names, y, smooth=denied))
    assert found is None or "ab" not in modules(found)


def test_a_pair_that_was_refuted_is_not_merged_again():
    bench, sketch = work("abc", lambda a, b, c: torch.tanh(3 * a * b) + c, refuted=frozenset([frozenset("ab")]))
    found = merge(bench, sketch)
    assert found is None or "ab" not in modules(found)


def test_many_pairs_are_screened_before_they_are_tried():
    names = [f"x{i}" for i in range(22)]
    bench, sketch = work(names, lambda *x: torch.tanh(2 * x[0] * x[1] + x[0]), effort=0.4)
    tried = []
    fit = bench.table.fit
    bench.table.fit = lambda units, candidates, effort: tried.append(len(candidates)) or fit(units, candidates, effort)
    found = merge(bench, sketch)
    assert frozenset(["x0", "x1"]) in {m.members for m in found.modules}
    assert max(tried) <= 201
    assert 101 in tried


def test_a_tree_that_did_not_change_is_not_fitted_again():
    bench, sketch = work("abcd")
    first = bench.fit(sketch.units, Effort(1, 20))
    assert bench.fit(sketch.units, Effort(1, 20)) is first
    assert bench.fit(sketch.units, Effort(1, 30)) is not first
    assert bench.fit(sketch.units.with_trees(sketch.units.trees), Effort(1, 30)).units is not first.units


def test_inputs_that_are_known_to_act_are_not_tried_as_inert():
    bench, sketch = work("abcd", smooth=replace(unasked(), acting=frozenset("abcd")))
    found = leave_out_inert(bench, sketch)
    assert found.knows_inert
    assert bench.table.trials == 0


def test_inputs_without_effect_are_left_out_together():
    found = leave_out_inert(*work("abcd", lambda a, b, c, d: torch.tanh(2 * a * b + a), n=200))
    assert found.parked == ("c", "d")
    assert [sorted(tree.members) for tree in found.units.trees] == [["a"], ["b"]]


def test_slack_lets_a_near_miss_stand_only_when_told_apart():
    trial = made_up_trial([0.5, 0.53, 0.9, 0.9, 0.9, 0.9, 0.9])
    judgements = judge(trial, np.ones(400))
    assert which(trial, judgements, 1.0) == []
    assert which(trial, judgements, 1.0, slack=0.1) == [1]
    alike = made_up_trial([0.5, 0.53, 0.53, 0.9, 0.9, 0.9, 0.9])
    assert which(alike, judge(alike, np.ones(400)), 1.0, slack=0.1) == []


def test_slack_shrinks_with_what_is_explained():
    trial = made_up_trial([0.5, 0.53, 0.9, 0.9, 0.9, 0.9, 0.9])
    little = np.full(400, 0.6)
    assert which(trial, judge(trial, little), 0.6, slack=0.1) == []
    clear = made_up_trial([0.5, 0.53, 0.9, 0.9, 0.9, 0.9, 0.9], n=4000, spread=0.1)
    assert which(clear, judge(clear, np.ones(4000)), 1.0, slack=0.1) == []  # worse beyond doubt


# ---- evidence ------------------------------------------------------------------------------------


def _turned_answer(units, members, turn):
    """A smooth fit that can be asked, and sees the slopes of one set turned by an input outside."""
    names = sorted(units.members(units.every))
    pairs = np.zeros((len(names),) * 3)
    (i, j), k = ([names.index(n) for n in sorted(members)], next(k for k, n in enumerate(names) if n not in members))
    pairs[i, j, k] = pairs[j, i, k] = turn
    turns = Turns(pairs, np.full_like(pairs, 0.01), np.zeros_like(pairs), np.ones(len(pairs)))
    tree = units.joined(units.trees)
    return replace(unasked(), tree=tree, turns=turns, turned=tuple(names), most_turn=6.0)


def test_evidence_is_worded_by_what_was_measured():
    _, units = small_units()
    tree = units.joined(units.trees)
    abc, ab = units.trees[0], units.trees[0].children[0]
    sketch = Sketch(
        units,
        support={abc.members: Support(-0.25, 0.05)},
        path=(Step("start", frozenset(), "y", 0.3, 0.02), Step("merge", abc.members, "y", 0.02, 0.002)),
        predicts=True,
    )

    def known(**other):
        return replace(found, sketch=replace(sketch, **other))

    recurrence = {abc.members: 0.9}
    found = FoundTree(tree=tree, sketch=sketch, status=DiscoveryStatus.FINISHED, networks=7, recurrence=recurrence)
    sentences = {e.members: e.sentence for e in module_evidence(FoundTrees({"y": found}))}
    assert sentences == {
        tree.members: "explain 98.0% of the variation in rows that the fit had not seen (± 0.002)",
        abc.members: "joined into one number: that cuts the error on unseen rows by 25.0% (± 5.0%); "
        "found again in 90% of the resamples",
        ab.members: "were not put to the test",
    }
    measured = {**sketch.support, ab.members: Support(-0.1, 0.02)}
    doubted = replace(known(support=measured), smooth=_turned_answer(units, ab.members, turn=4.6))
    approximate = {e.members: e.approximate for e in module_evidence(FoundTrees({"y": doubted}))}
    assert approximate == {tree.members: False, abc.members: False, ab.members: True}
    said = next(e.sentence for e in module_evidence(FoundTrees({"y": doubted})) if e.members == ab.members)
    assert said.endswith("change how they act together: 4.6 standard errors, chance gives 4.0")
    trending = replace(doubted.smooth.turns, trend=doubted.smooth.turns.pairs, pairs=doubted.smooth.turns.trend)
    by_trend = replace(doubted, smooth=replace(doubted.smooth, turns=trending))
    said = next(e for e in module_evidence(FoundTrees({"y": by_trend})) if e.members == ab.members)
    assert said.approximate
    assert said.sentence.endswith("change a little how they act together, 4.6 standard errors over all points")
    poor = replace(doubted, smooth=replace(doubted.smooth, tree=None))
    assert not any(e.approximate for e in module_evidence(FoundTrees({"y": poor})))
    hurting = known(support={abc.members: Support(0.2, 0.09), ab.members: Support(-0.1, 0.02)})
    for entry in module_evidence(FoundTrees({"y": hurting})):
        assert entry.approximate is (entry.members != tree.members)
        assert ("better without {a, b, c}" in entry.sentence) is entry.approximate
    lacking = known(may_lack=("e", "f"))
    said = next(e for e in module_evidence(FoundTrees({"y": lacking})) if e.members == abc.members)
    assert said.approximate
    assert "inputs that were left out may act: e, f" in said.sentence
    straying = known(strays=("a",))
    said = next(e for e in module_evidence(FoundTrees({"y": straying})) if e.members == abc.members)
    assert said.approximate
    assert "would help elsewhere in the graph too: a" in said.sentence
    unsearched = FoundTrees({"y": known(path=(), support={})})
    assert {e.sentence for e in module_evidence(unsearched)} == {"were not put to the test"}
