"""Exact inference against sums over all trees, written out."""

from itertools import combinations, product

import numpy as np
import pytest
from tests.tasks.hierarchy.models import BIG, TINY, name

from compsparse.errors import ConfigError, DataError
from compsparse.tasks.hierarchy import (
    EMPTY,
    HierarchySample,
    RandomHierarchy,
    SparseRandomHierarchy,
    SymbolNoise,
    label_posterior,
    optimal_classifier,
    parse,
)
from compsparse.tasks.hierarchy.inference import label_log_likelihoods, slot_log_likelihoods


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


@pytest.mark.parametrize("model", TINY, ids=name)
@pytest.mark.parametrize("noise", [None, SymbolNoise(flip=0.2, erase=0.1, appear=0.15), SymbolNoise(flip=0.3)], ids=str)
def test_posterior_is_the_sum_over_all_trees(model, noise):
    data = all_data(model)
    clean, labels, weight = (np.array(column) for column in zip(*data, strict=True))
    X = drawn(model, 6).X
    if noise is not None:
        X = noise.apply(X, model.v, 1)
    channel = (noise or SymbolNoise()).matrix(model.v)
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


@pytest.mark.parametrize("model", [*TINY, *BIG], ids=name)
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
    noise = SymbolNoise(0.1, 0.1, 0.05)
    tree = parse(model, noise.apply(drawn(model, 20).X, model.v, 3), noise)
    again = parse(model, tree.X)
    np.testing.assert_array_equal(again.y, tree.y)
    for a, b in zip(again.slots, tree.slots, strict=True):
        np.testing.assert_array_equal(a, b)


def test_chunks_do_not_show(monkeypatch):
    model, noise = BIG[3], SymbolNoise(0.1, 0.1, 0.1)
    X = noise.apply(drawn(model, 9).X, model.v, 0)
    whole, tree = label_posterior(model, X, noise), parse(model, X, noise)
    monkeypatch.setattr("compsparse.tasks.hierarchy.inference._CHUNK", 1)
    np.testing.assert_array_equal(label_posterior(model, X, noise), whole)
    np.testing.assert_array_equal(parse(model, X, noise).X, tree.X)
    assert label_posterior(model, X[:0]).shape == (0, model.n_labels)
    assert len(parse(model, X[:0])) == 0


def test_likelihoods_too_small_for_floats_are_still_compared():
    model = RandomHierarchy(n_features=3, multiplicity=2, n_levels=7)
    X = np.full((2, model.n_inputs), EMPTY)
    np.testing.assert_allclose(label_posterior(model, X, SymbolNoise(erase=1e-6)), 1 / 3, rtol=1e-9)


def test_the_optimal_classifier_is_calibrated():
    model, noise = SparseRandomHierarchy(n_features=3, n_levels=2, n_empty=1), SymbolNoise(0.1, 0.1, 0.05)
    sample = drawn(model, 4000)
    posterior = label_posterior(model, noise.apply(sample.X, model.v, 1), noise)
    right = posterior.argmax(1) == sample.y
    assert abs(right.mean() - posterior.max(1).mean()) < 4 * np.sqrt(0.25 / len(right))
    assert 0.4 < right.mean() < 0.99


def test_noise_does_what_it_says():
    noise, v = SymbolNoise(flip=0.2, erase=0.1, appear=0.3), 4
    X = np.random.default_rng(0).integers(-1, v, (400, 500)).astype(np.int8)
    seen = noise.apply(X, v, 0)
    assert seen.dtype == X.dtype
    states = (*range(v), EMPTY)
    table = np.array([[np.mean(seen[a == X] == b) for b in states] for a in states])
    np.testing.assert_allclose(table, noise.matrix(v), atol=0.01)
    np.testing.assert_array_equal(SymbolNoise().apply(X, v, 0), X)


def test_bad_data_and_noise_are_named():
    model = TINY[0]
    X = drawn(model, 5).X
    with pytest.raises(DataError, match=r"row 4 \(counted from 1\) cannot be drawn"):
        label_posterior(BIG[0], np.where(np.arange(5)[:, None] == 3, EMPTY, drawn(BIG[0], 5).X))
    with pytest.raises(DataError, match=r"row 1 \(counted from 1\) cannot be drawn"):
        parse(model, np.full((1, 4), EMPTY))
    with pytest.raises(DataError, match=r"shape \(n, 4\), got \(5, 3\)"):
        label_posterior(model, X[:, :3])
    for ask in (label_posterior, optimal_classifier, parse):
        with pytest.raises(ConfigError, match="model must be a RandomHierarchy"):
            ask({"n_features": 2}, X)
    with pytest.raises(DataError, match=r"row 1 \(counted from 1\), slot 0 holds 7"):
        label_posterior(model, X + 7 - X[0, 0])
    with pytest.raises(DataError, match="integers"):
        label_posterior(model, X.astype(float))
    with pytest.raises(DataError, match=r"\(n, 4, 3\), got \(1, 4, 2\)"):
        label_log_likelihoods(model, np.zeros((1, 4, 2)))
    with pytest.raises(ConfigError, match=r"flip must be a finite number >= 0 and <= 1, got 1\.2"):
        SymbolNoise(flip=1.2)
    with pytest.raises(DataError, match="integers"):
        SymbolNoise(flip=0.1).apply(X.astype(float), model.v)
    with pytest.raises(ConfigError, match="random_state must be a whole number >= 0, got -1"):
        SymbolNoise(flip=0.1).apply(X, model.v, random_state=-1)
