"""The constructive learner: what it finds, how many data it needs, what it does not look at."""

import numpy as np
import pytest
from tests.tasks.hierarchy.models import TINY, name

from compsparse.errors import ConfigError, DataError
from compsparse.tasks.hierarchy import (
    EMPTY,
    RandomHierarchy,
    SparseRandomHierarchy,
    diffeomorphism,
    learn_hierarchy,
)


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
    learned = learn_hierarchy(model, data.X, data.y, random_state=0)
    same = learn_hierarchy(dense, data.symbols[0], data.y, random_state=0)
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
    model = TINY[3]
    data = model.sample(10, random_state=0)
    broken = data.X.copy()
    broken[4] = EMPTY
    with pytest.raises(DataError, match=r"row 5 \(counted from 1\) has 0 symbols; every datum must have 2"):
        learn_hierarchy(model, broken, data.y)
    with pytest.raises(DataError, match="expected 10 integer labels"):
        learn_hierarchy(model, data.X, data.y[:5])
    with pytest.raises(DataError, match="labels must be 0 to 1"):
        learn_hierarchy(model, data.X, data.y + 5)
    for settings, problem in [
        ({"n_restarts": 0}, "n_restarts must be a whole number >= 1, got 0"),
        ({"n_sweeps": -1}, "n_sweeps must be a whole number >= 0, got -1"),
        ({"balanced": 1}, "balanced must be True or False"),
        ({"random_state": -1}, "random_state must be a whole number >= 0, got -1"),
    ]:
        with pytest.raises(ConfigError, match=problem):
            learn_hierarchy(model, data.X, data.y, **settings)
    large = RandomHierarchy(n_features=1000, multiplicity=1)
    with pytest.raises(ConfigError, match="2,000,000,000 entries"):
        learn_hierarchy(large, np.zeros((1, 4), int), np.zeros(1, int))
