"""Smooth fits: the process against closed forms, what turns what on functions that are known, the whole on laws."""

import math
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import compsparse as cs
from compsparse.clock import Deadline
from compsparse.discovery.data.smooth import asking
from compsparse.discovery.data.smooth.answer import SmoothAnswer, unasked
from compsparse.discovery.data.smooth.asking import SmoothSearch
from compsparse.discovery.data.smooth.channels import _minors
from compsparse.discovery.data.smooth.maps import has_heavy_tails, maps_of
from compsparse.discovery.data.smooth.process import Pairs, conditioned, evidence, fit_kernel
from compsparse.discovery.data.smooth.reading import chance_turn, largest_blur, read_tree
from compsparse.discovery.data.smooth.turning import Turns, measured_effects, measured_turns, trend_of
from compsparse.discovery.data.strategy import from_data
from compsparse.discovery.structure.turns import TurnAnswer
from compsparse.errors import ConfigError
from compsparse.graph import compare_graphs
from compsparse.tasks import borehole

RNG = np.random.default_rng(0)
X = torch.as_tensor(RNG.standard_normal((120, 3)))
PRECISION = torch.as_tensor(RNG.uniform(0.5, 2.0, 120))


def standardised(values):
    return (values - values.mean()) / values.std()


Y = standardised(torch.sin(X[:, 0] * X[:, 1]) + 0.5 * X[:, 2])

# ---- the process ---------------------------------------------------------------------------------


def test_the_slope_of_the_evidence_is_that_of_its_differences():
    p = np.r_[np.log([1.5, 2.0, 3.0]), np.log([2.0, 0.5, 8.0]), 0.3, math.log(1e-2)]
    pairs = Pairs.of(X)
    _, slope = evidence(p, pairs, Y, PRECISION)
    step = 1e-6 * np.eye(len(p))
    both = [[evidence(p + e, pairs, Y, PRECISION)[0] for e in (up, -up)] for up in step]
    differences = [(above - below) / 2e-6 for above, below in both]
    np.testing.assert_allclose(slope, differences, rtol=1e-4, atol=1e-4)


def test_the_evidence_is_that_of_a_normal_distribution():
    p = np.r_[np.full(3, math.log(2.0)), np.full(3, math.log(4.0)), 0.0, math.log(1e-2)]
    value, _ = evidence(p, Pairs.of(X), Y, PRECISION)
    gap = ((X[:, None] - X[None]) / 2).square()
    kernel = ((1 + 4 * torch.exp(-gap / 2)) / 5).prod(-1) + torch.diag((1e-2 + 1e-10) / PRECISION)
    normal = torch.distributions.MultivariateNormal(torch.zeros(120, dtype=torch.float64), kernel)
    assert value == pytest.approx(-float(normal.log_prob(Y)) - 60 * math.log(2 * math.pi))


@pytest.fixture(scope="module")
def process():
    return conditioned(fit_kernel(X, Y, PRECISION), X, Y, PRECISION, n_draws=400, seed=0)


def test_mean_and_draws_have_the_moments_of_the_posterior(process):
    new = torch.as_tensor(RNG.standard_normal((6, 3)))
    mean, draws = process.values(new)
    kernel = process.kernel
    noisy = kernel.between(X, X) + torch.diag(kernel.noise * kernel.level / PRECISION)
    across = kernel.between(new, X)
    solved = torch.linalg.solve(noisy, across.T).T
    torch.testing.assert_close(mean, solved @ Y)
    spread = (kernel.level - (solved * across).sum(1)).sqrt()
    # a thousand cosines stand for the prior, four hundred draws for the posterior
    torch.testing.assert_close(draws.std(1), spread, rtol=0.3, atol=0.02)
    assert ((draws.mean(1) - mean).abs() < 5 * spread / 20 + 0.02).all()


def test_slopes_are_those_of_the_values(process):
    new = torch.as_tensor(RNG.standard_normal((4, 3)))
    mean, draws = process.slopes(new)
    for i in range(3):
        step = torch.zeros(3, dtype=torch.float64)
        step[i] = 1e-3
        above, below = process.values(new + step), process.values(new - step)
        torch.testing.assert_close(mean[:, i], (above[0] - below[0]) / 2e-3, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(draws[:, i], (above[1] - below[1]) / 2e-3, rtol=1e-3, atol=1e-3)
    of_two = process.slopes(new, [2, 0])
    torch.testing.assert_close(of_two, (mean[:, [2, 0]], draws[:, [2, 0]]))


def test_few_inputs_that_act_are_found_among_many():
    """Four of a hundred: under a hundred full factors no two rows are alike, and all would be noise."""
    x = torch.as_tensor(np.random.default_rng(1).uniform(-1.7, 1.7, (250, 100)))
    y = standardised(torch.tanh(x[:, 0] + x[:, 1]) * torch.tanh(x[:, 2] + 0.5 * x[:, 3]))
    kernel = fit_kernel(x, y, torch.ones(250, dtype=torch.float64))
    acts = kernel.weight / kernel.length.square()
    assert acts[:4].min() > 5 * acts[4:].max()
    assert kernel.noise < 0.1


# ---- turns ---------------------------------------------------------------------------------------


def test_only_what_is_outside_a_module_is_turned():
    """f = tanh(x0 x1) + x2^2 x3: nothing turns {x0, x1}, and x3 turns (x0, x2); x4 does nothing."""
    x = torch.as_tensor(np.random.default_rng(1).uniform(-1.5, 1.5, (400, 5)))
    y = standardised(torch.tanh(x[:, 0] * x[:, 1]) + x[:, 2].square() * x[:, 3])
    even = torch.ones(400, dtype=torch.float64)
    fit = conditioned(fit_kernel(x, y, even), x, y, even, n_draws=24, seed=0)
    turns = measured_turns(fit, 1.0, 0).pairs
    assert turns[0, 1, 2:].max() < 5
    assert turns[0, 2, 3] > 20
    assert turns[0, 2, 1] > 20
    np.testing.assert_allclose(turns, turns.transpose(1, 0, 2))
    effects = measured_effects(fit, 1.0, 0)
    assert effects[:4].min() > 20
    assert effects[4] < 5


@pytest.mark.parametrize("off", [0.0, 0.005])
def test_small_turns_of_one_sign_add_up(off):
    """Two linear forms, one over the other: (x0, x1) is a module only where its coefficients have one ratio."""
    x = torch.as_tensor(np.random.default_rng(1).uniform(-1, 1, (500, 4)))
    over = 2 + 0.1 * (x[:, 0] + x[:, 1]) - 0.15 * x[:, 2] + 0.12 * x[:, 3]
    under = 2 - 0.12 * (x[:, 0] + (1 + off) * x[:, 1]) + 0.05 * x[:, 2] + 0.14 * x[:, 3]
    y = standardised(over / under)
    even = torch.ones(500, dtype=torch.float64)
    fit = conditioned(fit_kernel(x, y, even), x, y, even, n_draws=24, seed=0)
    turns = measured_turns(fit, 1.0, 0)
    assert turns.pairs[0, 1, 2:].max() < 4  # no single point says
    assert (turns.trend[0, 1, 2:].max() > 8) == (off > 0)
    np.testing.assert_allclose(turns.trend, turns.trend.transpose(1, 0, 2))
    assert turns.trend[0, 1, :2].max() == 0
    assert (trend_of(fit, [0, 1], 1.0, 0) > 4) == (off > 0)
    is_module = frozenset("ab") in read_tree(turns, "abcd", 1e-8).tree.modules
    assert is_module == (off == 0)


def turns_of(d, turned, size=50.0):
    """Turns of one standard error everywhere, and of many where x_k turns (x_i, x_j)."""
    pairs = np.ones((d, d, d))
    for i, j, k in turned:
        pairs[i, j, k] = pairs[j, i, k] = size
    return Turns(pairs, np.full((d, d, d), 0.01), np.ones((d, d, d)), np.ones(d))


def test_a_tree_is_read_from_turns():
    # {a, b} is a module of three parts under c and d: both turn what is not inside
    sure = read_tree(turns_of(4, ACROSS), "abcd", 1e-8)
    assert sure.tree.modules == {frozenset("ab")}
    assert sure.tree.kind == "prime"
    assert sure.consistent
    assert not sure.unsure
    # a faint turn of (a, b) by c lies in the range of doubt
    faint = turns_of(4, ACROSS)
    faint.pairs[0, 1, 2] = faint.pairs[1, 0, 2] = 1.1 * chance_turn(1e-8)
    assert read_tree(faint, "abcd", 1e-8).unsure == {frozenset("ab")}


def test_nothing_turned_is_complete_only_where_a_turn_would_have_been_seen():
    sharp = turns_of(4, [])
    assert read_tree(sharp, "abcd", 1e-8).tree.kind == "complete"
    blurred = replace(sharp, blur=np.full((4, 4, 4), 1.0))
    assert read_tree(blurred, "abcd", 1e-2).tree.kind is None


ACROSS = [(i, j, k) for i, j in ((0, 2), (1, 2), (0, 3), (1, 3), (2, 3)) for k in range(4) if k not in (i, j)]


def test_an_input_whose_turns_would_not_have_been_seen_hangs_on_the_root():
    turns = turns_of(4, [t for t in ACROSS if 3 not in t[:2]])
    blurred = turns.blur.copy()
    blurred[3] = blurred[:, 3] = 0.5
    weak = np.array([1.0, 1.0, 1.0, 0.05])
    reading = read_tree(replace(turns, blur=blurred, changes=weak), "abcd", 1e-2)
    assert reading.unplaced == {"d"}
    assert reading.tree.modules == {frozenset("ab")}
    assert frozenset("d") in {child.members for child in reading.tree.children}


def test_a_pair_that_an_unplaced_input_turns_is_no_module():
    turns = turns_of(4, [t for t in ACROSS if 3 not in t[:2]] + [(0, 1, 3)])
    blurred = turns.blur.copy()
    blurred[3] = blurred[:, 3] = 0.5
    weak = np.array([1.0, 1.0, 1.0, 0.05])
    reading = read_tree(replace(turns, blur=blurred, changes=weak), "abcd", 1e-2)
    assert reading.unplaced == {"d"}
    assert not reading.tree.modules


def test_what_a_weak_input_may_turn_unseen_is_named():
    turns = turns_of(4, ACROSS)
    assert not read_tree(turns, "abcd", 1e-2).table.turning("ab", TurnAnswer.UNKNOWN)
    weak = replace(turns, changes=np.array([1.0, 1.0, 1.0, 0.01]))
    reading = read_tree(weak, "abcd", 1e-2)
    assert reading.tree.modules == {frozenset("ab")}
    assert reading.table.turning("ab", TurnAnswer.UNKNOWN) == {"d"}
    assert reading.table.answer("a", "b", "c") is TurnAnswer.NO
    assert reading.table.answer("a", "c", "b") is TurnAnswer.YES
    assert frozenset("ab") not in reading.table.surely.modules


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_weak_inputs_of_the_borehole_make_no_false_module_that_is_not_marked(noise):
    true = {frozenset(m) for m in (("Hl", "Hu"), ("Kw", "L"), ("Tl", "Tu"))}
    sample = borehole(noise).sample(1000, random_state=3)
    found = from_data(sample.X, sample.y, names=borehole().graph.inputs, random_state=3, fit=False)
    inner = {"Kw", "L", "Tl", "Tu", "r", "rw"} - set(found.inert)
    for entry in found.evidence:
        is_true = entry.members in true or entry.members == inner or len(entry.members) == 8 - len(found.inert)
        assert is_true or entry.approximate
    assert found.modules


def test_how_closely_a_module_is_known_to_hold_is_the_largest_blur_of_its_pairs_from_outside():
    blur = np.full((4, 4, 4), 0.001)
    blur[0, 1, 2] = blur[1, 0, 2] = 0.02
    blur[0, 3, 2] = blur[3, 0, 2] = 0.5  # of another pair
    blur[0, 0] = 9.0  # of no pair at all
    turns = Turns(np.zeros_like(blur), blur, np.zeros_like(blur), np.ones(4))
    assert largest_blur(frozenset("ab"), turns, "abcd") == 0.02
    assert largest_blur(frozenset("bc"), turns, "abcd") == 0.001


def test_what_speaks_against_a_pair_of_sets_is_the_largest_turn_from_outside():
    turns = turns_of(4, [(0, 2, 3), (0, 1, 2)])
    answer = SmoothAnswer(None, (), frozenset(), 0.1, 0.01, {}, turns=turns, turned=tuple("abcd"))
    assert answer.turn_between(frozenset("a"), frozenset("c")) == 50
    assert answer.turn_between(frozenset("ab"), frozenset("c")) == 50
    assert answer.turn_between(frozenset("ab"), frozenset("cd")) == 0  # nothing is outside
    assert answer.turn_between(frozenset("b"), frozenset("d")) == 1
    assert answer.turn_between(frozenset("b"), frozenset("z")) == 0
    assert unasked().turn_between(frozenset("a"), frozenset("c")) == 0


# ---- channels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_minors_are_determinants(size):
    shapes = (7, 5), (7, 5, 2)
    contexts = [tuple(torch.as_tensor(RNG.normal(size=shape)) for shape in shapes) for _ in range(size)]
    mean, draws = _minors(contexts)
    sets = list(combinations(range(5), size))
    assert mean.shape == (len(sets), 7)
    for found, columns in zip(mean, sets, strict=True):
        torch.testing.assert_close(found, torch.linalg.det(torch.stack([c[0][:, columns] for c in contexts], 1)))
    for found, columns in zip(draws, sets, strict=True):
        matrices = torch.stack([c[1][:, columns] for c in contexts], 1).permute(0, 3, 1, 2)
        torch.testing.assert_close(found, torch.linalg.det(matrices))


def through_two_numbers(a, b, c, d, e, f):
    return e * np.log(a * b + c * d) + f * (a * d + b * c)


def through_many(a, b, c, d, e, f):
    return a * b + b * c + c * d + d * e + e * f + f * a + a * c * e


@pytest.mark.parametrize("function", [through_two_numbers, through_many])
def test_a_module_of_two_channels_is_found_where_queries_find_it(function):
    X = np.random.default_rng(1).uniform(0.5, 2, (900, 6))
    names = tuple("abcdef")
    found = from_data(X, function(*X.T), names=names, fit=False, random_state=0, resamples=0)
    asked = cs.discover(lambda x: function(*x.T), bounds=[(0.5, 2)] * 6, names=names, random_state=0)
    assert found.graph == asked.graph
    wide = [e for e in found.evidence if e.channels > 1]
    assert [(e.members, e.channels) for e in wide] == [(frozenset("abcd"), 2)] * (function is through_two_numbers)
    for entry in wide:
        assert entry.value < entry.threshold
        assert "2 numbers" in entry.sentence
    assert cs.Discovery.from_json(found.to_json()) == found
    assert any("no module was found" in caveat for caveat in found.caveats) is not bool(wide or found.parts)


@pytest.mark.parametrize("noise", [0.7, 0.0])
def test_inputs_are_left_out_of_a_poor_fit_only_where_more_rows_would_not_help(noise):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 8))
    flat = x[:, 0] / x[:, 0].std()
    deep = np.sin(4 * x[:, 0] * x[:, 1] + 3 * x[:, 2] * x[:, 3]) * np.cos(3 * x[:, 4] + 4 * x[:, 5])
    y = flat + noise * rng.standard_normal(400) if noise else deep
    even, names = torch.ones(400, dtype=torch.float64), [f"x{i}" for i in range(8)]
    search = SmoothSearch(torch.as_tensor(x), y, even, names, np.arange(80), 0)
    answer = search.ask()
    assert answer.tree is None
    assert answer.unexplained > 0.1
    assert "x0" not in answer.inert
    assert (len(answer.inert) >= 5) is bool(noise)


@pytest.mark.parametrize(("ratio", "spread", "levelled"), [(1.05, 2.0, True), (1.05, 0.2, False), (1.2, 9.0, False)])
def test_more_rows_may_help_where_fresh_rows_tell_half_of_them_from_all(monkeypatch, ratio, spread, levelled):
    x = torch.zeros(500, 2, dtype=torch.float64)
    search = SmoothSearch(x, np.zeros(500), torch.ones(500, dtype=torch.float64), "ab", np.arange(100), 0)
    half = ratio + np.resize([spread, -spread], 100)
    monkeypatch.setattr(search, "_fit", lambda mapped, kernel, active, rows: rows)
    monkeypatch.setattr(search, "_on_fresh_rows", lambda mapped, fit, active: (half, 1.0))
    assert search._has_levelled_off(None, SimpleNamespace(kernel=None), [0, 1], np.ones(100)) is levelled


# ---- maps ----------------------------------------------------------------------------------------


def test_maps_keep_the_order_and_lead_back():
    y = np.exp(3 * RNG.standard_normal(200))
    assert has_heavy_tails(y)
    assert not has_heavy_tails(RNG.standard_normal(1000))
    found = list(maps_of(y))
    assert [m.name for m in found] == ["itself", "logarithm", "normal scores"]
    for mapped in found:
        assert np.array_equal(np.argsort(mapped.values), np.argsort(y))
        np.testing.assert_allclose(mapped.restored(mapped.values), y, rtol=1e-9)
    assert [m.name for m in maps_of(y - y.mean())] == ["itself", "normal scores"]
    negative = list(maps_of(-y))[1]
    np.testing.assert_allclose(negative.restored(negative.values), -y, rtol=1e-9)


# ---- the whole -----------------------------------------------------------------------------------

LAW = "pressure-head-of-a-stream"


@pytest.fixture(scope="module")
def law():
    task = cs.tasks.formula(LAW)
    sample = task.sample(300, random_state=0)
    useless = np.random.default_rng(5).uniform(size=(300, 1))
    names = (*task.graph.inputs, "useless")
    found = from_data(np.c_[sample.X, useless], sample.y, names=names, fit=False, random_state=0, resamples=2)
    return task, names, np.c_[sample.X, useless], sample.y, found


def test_a_law_is_read_off_with_its_inert_column(law):
    task, _, _, _, found = law
    assert found.graph.modules == task.graph.modules
    assert found.inert == ("useless",)
    for entry in found.evidence:
        if entry.members in found.modules:
            assert entry.statistic == "turn on other rows"
            assert entry.value < entry.threshold
            assert entry.recurrence == 1.0
            assert not entry.approximate
            assert "standard errors" in entry.sentence
    assert cs.Discovery.from_json(found.to_json()) == found


@pytest.mark.parametrize(("column", "scale", "of_y"), [(0, 1e-12, 1e9), (2, 1e6, 1e-9)])
def test_units_change_nothing(law, column, scale, of_y):
    _, names, X, y, found = law
    scaled = X.copy()
    scaled[:, column] *= scale
    again = from_data(scaled, y * of_y, names=names, fit=False, random_state=0, resamples=0)
    assert again.modules == found.modules
    assert again.inert == found.inert
    assert [round(e.value, 3) for e in again.evidence] == [round(e.value, 3) for e in found.evidence]


def test_heavy_tails_are_searched_under_another_map(law):
    task, _, X, y, _ = law
    steep = np.exp(4 * standardised(y))
    assert has_heavy_tails(steep)
    found = from_data(X[:, :-1], steep, names=task.graph.inputs, fit=False, random_state=0, resamples=0)
    assert compare_graphs(found.graph, task.graph).exact


def test_a_poor_fit_is_not_asked():
    rng = np.random.default_rng(0)
    x, noise = torch.as_tensor(rng.standard_normal((200, 4))), rng.standard_normal(200)
    even = torch.ones(200, dtype=torch.float64)
    answer = SmoothSearch(x, noise, even, "abcd", np.arange(40), seed=0).ask()
    assert answer.tree is None
    assert not answer.tells
    assert not answer.inert


@pytest.mark.heavy
def test_inert_columns_are_found_among_many():
    rng = np.random.default_rng(0)
    table = torch.as_tensor(rng.uniform(-1.7, 1.7, (1500, 100)))
    y = torch.tanh(table[:, 0] + table[:, 0] * table[:, 1]) + torch.sin(table[:, 2] + table[:, 3]) + 0.5 * table[:, 4]
    names = [f"x{i}" for i in range(100)]
    answer = SmoothSearch(table, y.numpy(), torch.ones(1500, dtype=torch.float64), names, np.arange(300), 0).ask()
    assert set(answer.inert) == set(names[5:])


def test_resamples_leave_time_for_what_they_are_about(monkeypatch):
    """Ten seconds, each look at all turns takes one: two come first, and half of the other eight may go."""
    clock = SimpleNamespace(now=0.0)

    def measured(*arguments):
        clock.now += 1
        return measured_turns(*arguments)

    monkeypatch.setattr(asking, "measured_turns", measured)
    monkeypatch.setattr("compsparse.clock.now", lambda: clock.now)
    x = np.random.default_rng(0).uniform(-1, 1, (240, 3))
    y, even = np.tanh(x[:, 0] * x[:, 1]) * (2 + x[:, 2] ** 2), torch.ones(240, dtype=torch.float64)
    answer = SmoothSearch(torch.as_tensor(x), y, even, "abc", np.arange(48), 0, Deadline(10.0)).ask(1000)
    assert answer.resampled == 5
    assert set(answer.modules) == {frozenset("ab")}


def test_resamples_are_checked_and_counted():
    task = cs.tasks.formula(LAW)
    sample = task.sample(100, random_state=0)
    with pytest.raises(ConfigError, match="resamples"):
        from_data(sample.X, sample.y, resamples=-1)
