import json
import re
from itertools import combinations, product
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from compsparse.cli import app
from compsparse.errors import ConfigError, DataError
from compsparse.tasks.hierarchy import (
    EMPTY,
    HierarchySample,
    Noise,
    RandomHierarchy,
    SparseRandomHierarchy,
    diffeomorphism,
    draw_datum_svg,
    draw_datum_text,
    label_posterior,
    learn_hierarchy,
    optimal_classifier,
    parse,
)
from compsparse.tasks.hierarchy.noise import slot_log_likelihoods
from compsparse.tasks.hierarchy.parsing import label_log_likelihoods

SMALL = [
    RandomHierarchy(n_features=2, n_levels=2),
    RandomHierarchy(n_features=3, n_classes=2, multiplicity=2, n_levels=2, rule_probabilities=(0.8, 0.2)),
    RandomHierarchy(n_features=2, n_classes=3, multiplicity=1, tuple_size=3, n_levels=1),
    SparseRandomHierarchy(n_features=2, n_levels=1, n_empty=2, rule_probabilities=(0.1, 0.9)),
    SparseRandomHierarchy(n_features=2, n_levels=1, n_empty=2, placement="B"),
    SparseRandomHierarchy(n_features=2, multiplicity=1, n_levels=2, n_empty=1),
    SparseRandomHierarchy(n_features=2, multiplicity=1, n_levels=2, n_empty=1, placement="B"),
    SparseRandomHierarchy(n_features=2, n_levels=1, tuple_size=3, n_empty=1, placement="B"),
]
BIG = [
    RandomHierarchy(n_features=6, multiplicity=3, n_levels=3, n_classes=10),
    RandomHierarchy(n_features=4, tuple_size=3, n_levels=2),
    SparseRandomHierarchy(n_features=5, n_levels=3, n_empty=1),
    SparseRandomHierarchy(n_features=5, n_levels=3, n_empty=1, placement="B", rule_probabilities=(5, 4, 3, 2, 1)),
    SparseRandomHierarchy(n_features=4, n_levels=2, tuple_size=3, n_empty=2, placement="B"),
]


def name(model):
    sizes = (model.v, model.n_labels, model.m, model.s, model.n_levels, model.n_empty)
    return "-".join(map(str, sizes)) + model.placement + ("" if model.rule_probabilities is None else "p")


def placements(model):
    """All positions of a tuple in its patch, written down from the definition."""
    width = model.n_empty + 1
    if model.placement == "B":
        return list(combinations(range(model.patch), model.s))
    return [tuple(width * j + o for j, o in enumerate(offsets)) for offsets in product(range(width), repeat=model.s)]


def all_data(model):
    """Every (datum, label, probability of the datum given the label), by writing out all trees."""

    def expanded(symbol, level):
        if level == 0:
            return [((symbol,), 1.0)]
        share = model.rule_probabilities or [1 / model.m] * model.m
        found = []
        for rule, p in zip(model.rules[level - 1][symbol], share, strict=True):
            for place in placements(model):
                for below in product(*(expanded(a, level - 1) for a in rule)):
                    patch = [(EMPTY,) * model.patch ** (level - 1)] * model.patch
                    for position, (leaves, _) in zip(place, below, strict=True):
                        patch[position] = leaves
                    weight = p / len(placements(model)) * np.prod([q for _, q in below])
                    found.append((sum(patch, ()), weight))
        return found

    return [(x, y, p) for y in range(model.n_labels) for x, p in expanded(y, model.n_levels)]


def drawn(model, n, seed=0):
    """n data with their trees, one node after another."""
    rng = np.random.default_rng(seed)
    L, s, patch, places = model.n_levels, model.s, model.patch, placements(model)
    X = np.full((n, model.n_inputs), EMPTY)
    symbols = [np.zeros((n, s ** (L - k)), int) for k in range(L + 1)]
    choices = [np.zeros((n, s ** (L - k)), int) for k in range(1, L + 1)]
    slots = [np.zeros((n, s ** (L - k), s), int) for k in range(1, L + 1)]
    share = model.rule_probabilities or [1 / model.m] * model.m
    for i in range(n):
        symbols[L][i, 0] = rng.integers(model.n_labels)
        where = [0]
        for level in range(L, 0, -1):
            below = []
            for u, node in enumerate(where):
                choices[level - 1][i, u] = rng.choice(model.m, p=share)
                slots[level - 1][i, u] = places[rng.integers(len(places))]
                rule = model.rules[level - 1][symbols[level][i, u], choices[level - 1][i, u]]
                symbols[level - 1][i, u * s : (u + 1) * s] = rule
                below += [node * patch + t for t in slots[level - 1][i, u]]
            where = below
        X[i, where] = symbols[0][i]
    return HierarchySample(model, X, symbols[L][:, 0], tuple(symbols), tuple(choices), tuple(slots))


# ---- exact inference ----------------------------------------------------------------------------


@pytest.mark.parametrize("model", SMALL, ids=name)
@pytest.mark.parametrize("noise", [None, Noise(flip=0.2, erase=0.1, appear=0.15), Noise(flip=0.3)], ids=str)
def test_posterior_is_the_sum_over_all_trees(model, noise):
    data = all_data(model)
    clean, labels, weight = (np.array(column) for column in zip(*data, strict=True))
    X = drawn(model, 6).X
    if noise is not None:
        X = noise.apply(X, model.v, 1)
    channel = (noise or Noise()).matrix(model.v)
    seen = channel[clean[None], X[:, None]].prod(-1) * weight  # (observed, trees)
    expected = np.array([[row[labels == y].sum() for y in range(model.n_labels)] for row in seen])
    np.testing.assert_allclose(
        np.exp(label_log_likelihoods(model, slot_log_likelihoods(model, X, noise))), expected, rtol=1e-12
    )
    posterior = label_posterior(model, X, noise)
    np.testing.assert_allclose(posterior, expected / expected.sum(1, keepdims=True), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(posterior.sum(1), 1, rtol=1e-14)
    np.testing.assert_array_equal(optimal_classifier(model, X, noise), posterior.argmax(1))
    # the most probable tree: no tree has a larger weight
    tree = parse(model, X, noise)
    best = np.array(
        [max(row[(clean == x).all(1) & (labels == y)]) for row, x, y in zip(seen, tree.X, tree.y, strict=True)]
    )
    np.testing.assert_allclose(best, seen.max(1), rtol=1e-12)


@pytest.mark.parametrize("model", [*SMALL, *BIG], ids=name)
def test_parsing_inverts_sampling(model):
    sample = drawn(model, 30)
    tree = parse(model, sample.X)
    for field in ("symbols", "choices", "slots"):
        for a, b in zip(getattr(tree, field), getattr(sample, field), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(tree.X, sample.X)
    np.testing.assert_array_equal(tree.y, sample.y)
    np.testing.assert_array_equal(label_posterior(model, sample.X), np.eye(model.n_labels)[sample.y])


@pytest.mark.parametrize("model", BIG, ids=name)
def test_a_parsed_noisy_datum_is_a_datum_of_the_model(model):
    noise = Noise(0.1, 0.1, 0.05)
    tree = parse(model, noise.apply(drawn(model, 20).X, model.v, 3), noise)
    again = parse(model, tree.X)
    np.testing.assert_array_equal(again.y, tree.y)
    for a, b in zip(again.slots, tree.slots, strict=True):
        np.testing.assert_array_equal(a, b)


def test_chunks_do_not_show(monkeypatch):
    model, noise = BIG[3], Noise(0.1, 0.1, 0.1)
    X = noise.apply(drawn(model, 9).X, model.v, 0)
    whole, tree = label_posterior(model, X, noise), parse(model, X, noise)
    monkeypatch.setattr("compsparse.tasks.hierarchy.parsing._CHUNK", 1)
    np.testing.assert_array_equal(label_posterior(model, X, noise), whole)
    np.testing.assert_array_equal(parse(model, X, noise).X, tree.X)
    assert label_posterior(model, X[:0]).shape == (0, model.n_labels)
    assert len(parse(model, X[:0])) == 0


def test_likelihoods_too_small_for_floats_are_still_compared():
    model = RandomHierarchy(n_features=3, multiplicity=2, n_levels=7)
    X = np.full((2, model.n_inputs), EMPTY)
    np.testing.assert_allclose(label_posterior(model, X, Noise(erase=1e-6)), 1 / 3, rtol=1e-9)


def test_the_optimal_classifier_is_calibrated():
    model, noise = SparseRandomHierarchy(n_features=3, n_levels=2, n_empty=1), Noise(0.1, 0.1, 0.05)
    sample = drawn(model, 4000)
    posterior = label_posterior(model, noise.apply(sample.X, model.v, 1), noise)
    right = posterior.argmax(1) == sample.y
    assert abs(right.mean() - posterior.max(1).mean()) < 4 * np.sqrt(0.25 / len(right))
    assert 0.4 < right.mean() < 0.99


def test_noise_does_what_it_says():
    noise, v = Noise(flip=0.2, erase=0.1, appear=0.3), 4
    X = np.random.default_rng(0).integers(-1, v, (400, 500)).astype(np.int8)
    seen = noise.apply(X, v, 0)
    assert seen.dtype == X.dtype
    states = (*range(v), EMPTY)
    table = np.array([[np.mean(seen[a == X] == b) for b in states] for a in states])
    np.testing.assert_allclose(table, noise.matrix(v), atol=0.01)
    np.testing.assert_array_equal(Noise().apply(X, v, 0), X)


def test_bad_data_and_noise_are_named():
    model = SMALL[0]
    X = drawn(model, 5).X
    with pytest.raises(DataError, match=r"row 3 cannot be drawn"):
        label_posterior(BIG[0], np.where(np.arange(5)[:, None] == 3, EMPTY, drawn(BIG[0], 5).X))
    with pytest.raises(DataError, match=r"row 0 cannot be drawn"):
        parse(model, np.full((1, 4), EMPTY))
    with pytest.raises(DataError, match=r"shape \(n, 4\), got \(5, 3\)"):
        label_posterior(model, X[:, :3])
    with pytest.raises(DataError, match="row 0, slot 0 holds 7"):
        label_posterior(model, X + 7 - X[0, 0])
    with pytest.raises(DataError, match="integers"):
        label_posterior(model, X.astype(float))
    with pytest.raises(DataError, match=r"\(n, 4, 3\), got \(1, 4, 2\)"):
        label_log_likelihoods(model, np.zeros((1, 4, 2)))
    with pytest.raises(ConfigError, match=r"flip must be a probability"):
        Noise(flip=1.2)


# ---- the constructive learner -------------------------------------------------------------------


def is_renaming(a, b):
    """Whether equal entries of one array are equal entries of the other."""
    pairs = set(zip(a.ravel().tolist(), b.ravel().tolist(), strict=True))
    return len(pairs) == len({p[0] for p in pairs}) == len({p[1] for p in pairs})


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize(
    "model",
    [
        RandomHierarchy(n_features=6, n_levels=2, rules_seed=1),
        RandomHierarchy(n_features=6, n_levels=3, multiplicity=3, n_classes=4),
        RandomHierarchy(n_features=4, n_levels=2, tuple_size=3, multiplicity=6),
    ],
    ids=name,
)
def test_enough_data_give_the_rules_up_to_names(model, balanced):
    n = 12 * model.natural_size
    train, test = model.sample(n, random_state=0), model.sample(500, random_state=1)
    learned = learn_hierarchy(model, train.X, train.y, balanced=balanced)
    assert learned.evaluate(test.X, test.y) == 0
    assert all(map(is_renaming, learned.symbols(test.X), test.symbols[:-1]))


def test_the_learner_needs_about_the_natural_number_of_data():
    errors = []
    for seed in range(10):
        model = RandomHierarchy(n_features=6, n_levels=2, rules_seed=seed)
        data = model.sample(model.n_data, random_state=seed, replace=False)
        for share in (0.25, 2.0):
            n = int(share * model.natural_size)
            learned = learn_hierarchy(model, data.X[:n], data.y[:n])
            errors.append((share, learned.evaluate(data.X[n:], data.y[n:])))
    assert np.mean([e for share, e in errors if share == 0.25]) > 0.5
    assert np.mean([e for share, e in errors if share == 2.0]) < 0.05


def test_sweeps_need_fewer_data():
    clustered, swept = [], []
    for seed in range(8):
        model = RandomHierarchy(n_features=6, n_levels=3, rules_seed=seed)
        train, test = model.sample(model.natural_size, random_state=0), model.sample(1000, random_state=1)
        clustered.append(learn_hierarchy(model, train.X, train.y).evaluate(test.X, test.y))
        swept.append(learn_hierarchy(model, train.X, train.y, n_sweeps=5).evaluate(test.X, test.y))
    assert np.mean(swept) < 0.5 * np.mean(clustered)


@pytest.mark.parametrize("placement", ["A", "B"])
def test_the_learner_does_not_see_where_symbols_stand(placement):
    model = SparseRandomHierarchy(n_features=5, n_levels=2, n_empty=2, placement=placement)
    dense = RandomHierarchy(n_features=5, n_levels=2)
    data = model.sample(300, random_state=0)
    learned = learn_hierarchy(model, data.X, data.y)
    same = learn_hierarchy(dense, data.symbols[0], data.y)
    np.testing.assert_array_equal(learned.label_counts, same.label_counts)
    moved = diffeomorphism(data, 2, random_state=1)
    np.testing.assert_array_equal(learned.predict_proba(data.X), learned.predict_proba(moved.X))


def test_names_of_labels_and_symbols_do_not_matter():
    model = RandomHierarchy(n_features=4, n_levels=3)
    train, test = model.sample(2000, random_state=0), model.sample(200, random_state=1)
    symbol, label = np.array([2, 0, 3, 1]), np.array([1, 3, 0, 2])
    first = learn_hierarchy(model, train.X, train.y).predict(test.X)
    second = learn_hierarchy(model, symbol[train.X], label[train.y]).predict(symbol[test.X])
    np.testing.assert_array_equal(label[first], second)


def test_a_class_never_seen_and_one_datum_do_no_harm():
    model = RandomHierarchy(n_features=4, n_levels=2)
    data = model.sample(200, random_state=0)
    few = data.y < 2
    learned = learn_hierarchy(model, data.X[few], data.y[few], n_sweeps=2)
    assert set(learned.predict(data.X)) <= {0, 1}
    assert set(learn_hierarchy(model, data.X[:1], data.y[:1]).predict(data.X)) == {data.y[0]}


def test_the_learner_refuses_what_it_cannot_read():
    model = SMALL[3]
    data = model.sample(10, random_state=0)
    broken = data.X.copy()
    broken[4] = EMPTY
    with pytest.raises(DataError, match="row 4 has 0 symbols; every datum must have 2"):
        learn_hierarchy(model, broken, data.y)
    with pytest.raises(DataError, match="expected 10 integer labels"):
        learn_hierarchy(model, data.X, data.y[:5])
    with pytest.raises(DataError, match="labels must be 0 to 1"):
        learn_hierarchy(model, data.X, data.y + 5)
    with pytest.raises(ConfigError, match="n_restarts"):
        learn_hierarchy(model, data.X, data.y, n_restarts=0)
    large = RandomHierarchy(n_features=1000, multiplicity=1)
    with pytest.raises(ConfigError, match="2,000,000,000 entries"):
        learn_hierarchy(large, np.zeros((1, 4), int), np.zeros(1, int))


# ---- drawings and the command line --------------------------------------------------------------


@pytest.mark.parametrize("model", [*SMALL, *BIG], ids=name)
def test_drawings_show_every_symbol(model):
    data = model.sample(3, random_state=0)
    for i in range(3):
        svg = ElementTree.fromstring(draw_datum_svg(data, i))
        assert len(list(svg.iter("{http://www.w3.org/2000/svg}circle"))) >= model.n_inner
        *above, row = draw_datum_text(data, i, width=10**6).splitlines()
        symbols = re.findall(r"(?<!\()\b\d+\b", row)
        assert symbols == [str(a) for a in data.symbols[0][i]]
        n_empty = row.count("·") + sum(map(int, re.findall(r"\((\d+)\)", row)))
        assert n_empty + len(symbols) == model.n_inputs
        assert [re.findall(r"\d+$|\d+(?= )", line[8:]) for line in above[::2]] == [
            [str(a) for a in level[i]] for level in data.symbols[:0:-1]
        ]
        assert len(draw_datum_text(data, i, width=5).splitlines()) == model.n_inner


def test_a_drawing_by_hand():
    model = SparseRandomHierarchy(n_features=4, n_levels=1, n_empty=2, placement="B", rules_seed=3)
    a, b = model.rules[0][2, 1]
    X = np.array([[a, b, -1, -1, -1, -1]])
    expected = ["label         2", "         ┌─┬──┘", f"input    {a} {b} · · · ·"]
    assert draw_datum_text(parse(model, X)).splitlines() == expected
    assert f"2 → {a} {b} (synonym 1), in slots 0 1" in draw_datum_svg(parse(model, X))
    with pytest.raises(DataError, match="no datum 1: the sample has 1"):
        draw_datum_svg(parse(model, X), 1)


def test_the_command_line_draws(tmp_path):
    arguments = ["hierarchy", "sample", "--features", "4", "--levels", "3", "--empty", "1", "--placement", "B"]
    shown = CliRunner().invoke(app, [*arguments, "--n", "2", "--svg", str(tmp_path / "a.svg")])
    assert shown.exit_code == 0
    assert "64 slots, 8 of them full" in shown.output
    assert shown.output.count("label") == 2
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    data = json.loads(CliRunner().invoke(app, [*arguments, "--n", "2", "--json"]).output)
    model = SparseRandomHierarchy(n_features=4, n_levels=3, n_empty=1, placement="B")
    assert data["y"] == parse(model, np.array(data["X"])).y.tolist()
    assert data["rules"] == [level.tolist() for level in model.rules]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--placement", "C"], "placement must be A or B, got C"),
        (["--seed", "-1"], "seed must be a whole number >= 0"),
        (["--n", "0"], "n must be an integer of at least 1"),
        (["--multiplicity", "9"], "at most 8"),
        (["--svg", "nowhere/a.svg"], "there is no folder nowhere"),
    ],
)
def test_the_command_line_refuses_in_one_sentence(arguments, message):
    error = CliRunner().invoke(app, ["hierarchy", "sample", *arguments]).exception
    assert isinstance(error, ConfigError)
    assert message in str(error)
