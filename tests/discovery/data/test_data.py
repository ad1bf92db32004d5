"""Discovery from data: the engine against slow references, decisions as pure functions, the whole on small targets."""

import json

import numpy as np
import pandas
import pytest
import torch
from tests.discovery.data.trial_tables import work

import compsparse as cs
from compsparse.clock import Deadline, TimeIsOver
from compsparse.discovery import Discovery, DiscoveryStatus
from compsparse.discovery.data import outputs, tree_search
from compsparse.discovery.data.kinds import settle_kinds
from compsparse.discovery.data.request import read_request
from compsparse.discovery.data.rows import SearchRows
from compsparse.discovery.data.strategy import from_data
from compsparse.discovery.data.trials import TrialTable
from compsparse.errors import ConfigError, DataError
from compsparse.graph import compare_graphs
from compsparse.tables.coding import TextColumn
from compsparse.tables.targets import target_for
from compsparse.tasks import friedman1, tanh_tree
from compsparse.training import FitConfig, TrainingConfig

QUICK_FIT = FitConfig(n_restarts=4, n_keep=2, training=TrainingConfig(n_steps=400), refine_iterations=10)


# ---- the whole -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tree_found():
    """A tree that no smooth fit was asked about."""
    sample = tanh_tree(4).sample(400, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outputs, "ask_smooth_fit", lambda *arguments: None)
        found = from_data(sample.X, sample.y, effort=0.5, fit_config=QUICK_FIT, random_state=0)
    return sample, found


def test_a_small_tree_is_found_fitted_and_kept(tree_found):
    _, found = tree_found
    assert compare_graphs(found.graph, tanh_tree(4).graph).exact
    assert found.modules == {frozenset({"x0", "x1"}), frozenset({"x2", "x3"})}
    assert found.status is DiscoveryStatus.FINISHED
    assert found.inert == ()
    test = tanh_tree(4).sample(2000, random_state=9)
    assert 1 - np.mean((found.model.predict(test.X) - test.y) ** 2) / np.var(test.y) > 0.99
    loaded = Discovery.from_json(found.to_json())
    assert loaded == found
    np.testing.assert_allclose(loaded.model.predict(test.X), found.model.predict(test.X), rtol=1e-4, atol=1e-5)


def test_evidence_and_path_speak_of_what_was_measured(tree_found):
    _, found = tree_found
    assert {e.members for e in found.evidence} == {*found.modules, frozenset({"x0", "x1", "x2", "x3"})}
    for entry in found.evidence:
        assert entry.outputs == ("y",)
        assert entry.spread > 0
        if entry.members in found.modules:
            assert entry.value < 0
            assert not entry.approximate
            assert np.isnan(entry.recurrence)
        else:
            assert entry.value == found.path[-1].error
            assert "of the variation in rows that the fit had not seen" in str(entry)
    assert found.path[0].action == "start"
    assert found.path[-1].error < found.path[0].error
    assert {s.members for s in found.path if s.action == "merge"} >= found.modules
    assert set(found.kind.values()) == {"prime"}
    assert "x0, x1" in str(found)


def test_the_same_seed_finds_the_same():
    sample = tanh_tree(4).sample(200, random_state=1)
    one, two = (from_data(sample.X, sample.y, effort=0.05, fit=False, random_state=3) for _ in range(2))
    assert one.evidence == two.evidence
    assert one.path == two.path


def test_noise_is_refused():
    rng = np.random.default_rng(0)
    found = from_data(rng.uniform(-1, 1, (300, 4)), rng.standard_normal(300), fit=False, effort=0.2, random_state=0)
    assert found.modules == frozenset()
    assert "do not predict" in found.caveats[0]
    assert set(found.kind.values()) == {"prime"}


@pytest.mark.parametrize(
    ("formula", "kind"),
    [
        (lambda a, b, c: (3 * a).tanh() + (2 * b).sin() + c**2, "complete"),
        (lambda a, b, c: a * b + b * c + c * a, "prime"),
    ],
)
def test_a_root_is_complete_where_a_sum_does_as_well(formula, kind):
    tree = settle_kinds(*work("abc", formula, n=200))
    assert tree.kind == kind
    assert [child.children for child in tree.children] == [()] * 3


@pytest.mark.heavy
def test_inert_inputs_and_a_complete_root():
    task = friedman1(7, noise=0.02)
    sample = task.sample(600, random_state=0)
    found = from_data(sample.X, sample.y, fit=False, effort=0.6, random_state=0)
    assert found.inert == ("x5", "x6")
    assert found.graph.module_tree.kind == "complete"
    assert found.modules == {frozenset({"x0", "x1"})}


def mixed_table(n=400):
    """Two numbers and a text: the text chooses the sign of a module of the numbers."""
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], n)
    a, b = rng.uniform(-1, 1, (2, n))
    sign = np.select([colour == "red", colour == "green"], [1.0, -1.0], 0.3)
    return pandas.DataFrame({"a": a, "colour": colour, "b": b}), sign * np.tanh(2 * a * b + a)


def test_text_columns_are_inputs_and_columns_are_found_by_name():
    frame, y = mixed_table()
    found = from_data(frame, y, fit_config=QUICK_FIT, effort=0.7, random_state=0)
    assert frozenset({"a", "b"}) in found.modules
    assert found.graph.inputs == ("a", "colour", "b")
    predicted = found.model.predict(frame)
    assert np.corrcoef(predicted, y)[0, 1] > 0.97
    np.testing.assert_array_equal(found.model.predict(frame[["b", "a", "colour"]]), predicted)
    with pytest.raises(DataError, match="no column 'colour'"):
        found.model.predict(frame[["a", "b"]])
    loaded = Discovery.from_json(json.dumps(found.to_dict()))
    np.testing.assert_allclose(loaded.model.predict(frame), predicted, rtol=1e-3, atol=1e-4)


def test_classes_are_predicted_with_probabilities():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 3))
    label = np.where(np.tanh(3 * X[:, 0] * X[:, 1]) + X[:, 2] > 0, "up", "down")
    found = from_data(X, label, fit_config=QUICK_FIT, effort=0.5, random_state=0)
    assert found.model.classes == ("down", "up")
    assert (found.model.predict(X) == label).mean() > 0.93
    np.testing.assert_allclose(found.model.predict_proba(X).sum(1), 1.0)
    assert frozenset({"x0", "x1"}) in found.modules


def test_outputs_share_a_module():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 4))
    shared = np.tanh(2 * X[:, 0] * X[:, 1] + X[:, 0])
    y = np.stack([np.tanh(shared * X[:, 2] + shared), np.sin(2 * shared + X[:, 3] * shared)], 1)
    found = from_data(X, y, fit=False, effort=0.3, random_state=0)
    (entry,) = found.evidence_for({"x0", "x1"})
    assert entry.outputs == ("y0", "y1")
    assert len([n for n in found.graph.nodes if set(n.parents) == {"x0", "x1"}]) == 1


def test_different_functions_of_the_same_inputs_are_not_shared():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 3))
    one, other = np.tanh(2 * X[:, 0] * X[:, 1] + X[:, 0]), np.sin(2 * X[:, 0] - 3 * X[:, 1])
    y = np.stack([np.tanh(one * X[:, 2] + one), np.tanh(other * X[:, 2] + other)], 1)
    found = from_data(X, y, fit=False, effort=0.3, random_state=0)
    assert len(found.evidence_for({"x0", "x1"})) == 2


def test_weights_choose_the_rows_that_count():
    sample = tanh_tree(4).sample(300, random_state=0)
    rng = np.random.default_rng(0)
    X = np.r_[sample.X, rng.uniform(-1, 1, (300, 4))]
    y = np.r_[sample.y, 5 * rng.standard_normal(300)]
    weight = np.r_[np.ones(300), np.zeros(300)]
    found = from_data(X, y, sample_weight=weight, fit=False, effort=0.5, random_state=0)
    assert found.modules == {frozenset({"x0", "x1"}), frozenset({"x2", "x3"})}


def test_what_the_time_left_unchecked_is_said(monkeypatch):
    def late(*arguments):
        raise TimeIsOver("now")

    monkeypatch.setattr(tree_search, "pass_gate", late)
    monkeypatch.setattr(outputs, "pass_gate", late)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 4))
    y = np.tanh(3 * X[:, 0] * X[:, 1]) + X[:, 2] + 0.1 * rng.standard_normal(400)
    found = from_data(X, y, fit=False, random_state=0)
    assert found.modules == {frozenset({"x0", "x1"})}
    (module,) = found.evidence_for({"x0", "x1"})
    assert module.approximate
    assert "ended before" in module.sentence
    assert found.graph.inert == ("x3",)
    assert any("seemed inert by then may act: x3" in sentence for sentence in found.caveats)


def test_out_of_time_and_interrupted_give_the_best_so_far(monkeypatch):
    sample = tanh_tree(8).sample(300, random_state=0)
    found = from_data(sample.X, sample.y, fit=False, time_limit=0.5, random_state=0)
    assert found.status is DiscoveryStatus.OUT_OF_TIME
    assert found.graph.n_inputs == 8
    calls = iter(range(100))
    fit = TrialTable.fit

    def interrupted(self, *arguments):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return fit(self, *arguments)

    monkeypatch.setattr(TrialTable, "fit", interrupted)
    found = from_data(sample.X, sample.y, fit=False, effort=0.2, random_state=0)
    assert found.status is DiscoveryStatus.INTERRUPTED
    assert Discovery.from_json(found.to_json()) == found


@pytest.mark.parametrize("extra", [0, 1, 2])
def test_one_useful_column_is_a_graph_of_its_own(extra):
    x = np.random.default_rng(0).uniform(-1, 1, 200)
    X = np.stack([x, np.ones(200), x][: 1 + extra], 1)
    found = from_data(X, x**2 + x, fit=False, effort=0.2, random_state=0)
    assert found.graph["y"].parents == ("x0",)
    assert found.inert == ("x1", "x2")[:extra]


def test_a_single_merged_unit_is_the_root():
    tree = settle_kinds(*work("ab", lambda a, b: a * b, groups=["ab"], effort=0.2))
    assert tree.members == frozenset("ab")
    assert [sorted(c.members) for c in tree.children] == [["a"], ["b"]]


def test_names_of_columns_cannot_clash_with_ours():
    frame, y = mixed_table(200)
    frame = frame.rename(columns={"a": "module 0", "b": "colour#0"})
    found = from_data(frame, y, fit_config=QUICK_FIT, effort=0.3, outputs=["m0"], random_state=0)
    assert found.graph.inputs == ("module 0", "colour", "colour#0")
    assert np.isfinite(found.model.predict(frame)).all()


def test_levels_never_seen_are_no_level():
    two = TextColumn("c", ("u", "v"))
    np.testing.assert_array_equal(two.encoded(np.array(["u", "v", "w"])), [[-1], [1], [0]])
    three = TextColumn("c", ("a", "b", "c"))
    np.testing.assert_array_equal(three.encoded(np.array(["b", "x"])), [[-1, 1, -1], [-1, -1, -1]])


def test_labels_keep_their_type():
    assert target_for(np.array([True, False, True], dtype=object), ["x"]).classes == (False, True)
    assert target_for(np.array([3, 1, 3], dtype=object), ["x"], classification=True).classes == (1, 3)
    assert target_for(np.arange(100), ["x"], classification=False).values.shape == (100, 1)


def test_all_tables_of_a_run_share_their_folds():
    """What a module learned for one output is put to use in trials of two: never on rows that it has seen."""
    y = np.stack([TARGET, np.tanh(GOOD[:, 2]) + TARGET**2], 1)

    def tables(seed):
        rows = SearchRows(read_request(GOOD, y, {"random_state": seed}))
        return [rows.trials(which, Deadline()) for which in ([0], [1], [0, 1])]

    first, *others = tables(0)
    assert [t.y.shape[1] for t in (first, *others)] == [1, 1, 2]
    for other in others:
        assert all(torch.equal(a, b) for a, b in zip(first.held_out, other.held_out, strict=True))
    assert not torch.equal(first.held_out[0], tables(1)[0].held_out[0])


def test_noise_is_not_shared():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 2))
    found = from_data(X, rng.standard_normal((200, 2)), fit=False, effort=0.1, random_state=0)
    assert len(found.graph.nodes) == 2


# ---- bad input -----------------------------------------------------------------------------------

GOOD = np.random.default_rng(0).uniform(-1, 1, (100, 3))
TARGET = GOOD[:, 0] * GOOD[:, 1]


def spoiled(value, row=7, column=1):
    X = GOOD.copy()
    X[row, column] = value
    return X


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (spoiled(np.nan).astype(complex), TARGET, "column 'x0' holds complex128 values"),
        (GOOD, np.where(np.arange(100) == 4, np.inf, TARGET), r"target 'y' has an infinite value \(inf\) in row 5 "),
        (GOOD, np.full(100, np.nan), "target 'y' is missing in every row"),
        (GOOD, np.ones(100), "target 'y' is constant"),
        (GOOD, np.arange(100) + 1000, "target 'y' counts the rows"),
        (GOOD, np.array([f"id{i}" for i in range(100)]), "looks like an identifier"),
        (GOOD, TARGET[:50], "X has 100 rows but y has 50"),
        (GOOD[:1], TARGET[:1], "constant|at least 2"),
        (GOOD[:, 0], TARGET, "table of rows and columns"),
        (np.random.default_rng(0).normal(size=(60, 80)), TARGET[:60], "60 rows are too few for 80 columns"),
        (np.ones((100, 2)), TARGET, "every column is constant"),
        (pandas.DataFrame(GOOD, columns=["a", "a", "b"]), TARGET, "two columns named 'a'"),
        (pandas.DataFrame(GOOD, columns=["a", "", "b"]), TARGET, "needs a name"),
        (pandas.DataFrame({"t": [[1, 2]] * 100}), TARGET, r"column 't' holds \[1, 2\] in row 1"),
    ],
)
def test_bad_tables_get_one_sentence(X, y, message):
    with pytest.raises(DataError, match=message):
        from_data(X, y, fit=False)


def test_bad_settings_get_one_sentence():
    for settings, message in (({"effort": 0}, "effort"), ({"time_limit": -1}, "time_limit"), ({"width": 0}, "width")):
        with pytest.raises(ConfigError, match=message):
            from_data(GOOD, TARGET, fit=False, **settings)
    with pytest.raises(DataError, match="weight"):
        from_data(GOOD, TARGET, sample_weight=np.zeros(100), fit=False)
    with pytest.raises(ConfigError, match="3 inputs need as many names, got 1"):
        from_data(GOOD, TARGET, names=["a"], fit=False)
    with pytest.raises(ConfigError, match="'x0' is both"):
        from_data(GOOD, TARGET, outputs=["x0"], fit=False)
    with pytest.raises(ConfigError, match="1 output need as many names, got 2"):
        from_data(GOOD, TARGET, outputs=["p", "q"], fit=False)
    with pytest.raises(ConfigError, match="bounds"):
        cs.discover(lambda X: X[:, 0])
    with pytest.raises(ConfigError, match="its own answers"):
        cs.discover(lambda X: X[:, 0], TARGET, bounds=[(0, 1)])
    with pytest.raises(ConfigError, match="cannot use device 'nowhere'"):
        from_data(GOOD, TARGET, device="nowhere")
    with pytest.raises(ConfigError, match="random_state must be a whole number >= 0, got -1"):
        from_data(GOOD, TARGET, random_state=-1)
    with pytest.raises(ConfigError, match="two inputs are named 'a'"):
        from_data(GOOD, TARGET, names=["a", "a", "b"])
    with pytest.raises(ConfigError, match="target y"):
        cs.discover(GOOD)
    with pytest.raises(DataError, match="format"):
        Discovery.from_json("{}")


def test_useless_columns_are_left_out_and_said():
    X = np.c_[GOOD, np.ones(100), GOOD[:, 0]]
    found = from_data(X, TARGET, fit=False, effort=0.2, random_state=0)
    assert {"x3", "x4"} <= set(found.inert)
    assert "column 'x3' is constant and was left out" in found.caveats
    assert "column 'x4' says the same as 'x0' and was left out" in found.caveats


def test_few_rows_give_one_prime_node_and_say_so():
    found = from_data(GOOD[:30], TARGET[:30], fit=False)
    assert found.graph.size == 1
    assert "30 rows are too few" in found.caveats[0]
