"""Data that all differ, against a slow reference, and balanced splits."""

import numpy as np
import pytest

from compsparse.errors import ConfigError
from compsparse.tasks.hierarchy import RandomHierarchy, SparseRandomHierarchy, sampling
from compsparse.tasks.hierarchy.numbering import rank, unrank
from compsparse.tasks.hierarchy.sampling import draw_latent
from compsparse.tasks.hierarchy.trees import write

MODELS = {
    "dense": RandomHierarchy(n_features=4, n_levels=2),
    "deep": RandomHierarchy(n_features=4, multiplicity=2, n_levels=3),
    "sparse A": SparseRandomHierarchy(n_features=3, n_levels=2, n_empty=1),
    "sparse B": SparseRandomHierarchy(n_features=3, n_levels=2, n_empty=1, placement="B"),
    "large": SparseRandomHierarchy(n_features=8, n_levels=4, n_empty=4),
}


def one_after_the_other(model, n, rng):
    """Draws in rounds as large as those of the library, and keeps a datum unless it was there before."""
    seen, rows = set(), []
    size = n
    while True:
        batch = write(model, *draw_latent(model, size, rng))
        for i in range(size):
            tree = (batch.y[i], *(c[i].tobytes() for c in batch.choices), *(s[i].tobytes() for s in batch.slots))
            if tree not in seen:
                seen.add(tree)
                rows.append(batch.X[i])
        if len(seen) >= n:
            return np.array(rows[:n])
        size = max(n - len(seen), n // 8, 1)


@pytest.mark.parametrize("name", MODELS)
def test_different_data_are_those_of_drawing_one_after_the_other(name):
    model = MODELS[name]
    for n in (5, 60, min(model.n_data // 3, 700)):
        found = sampling._without_repeats(model, n, np.random.default_rng(n))
        reference = one_after_the_other(model, n, np.random.default_rng(n))
        np.testing.assert_array_equal(write(model, *found).X, reference)


def test_codes_that_come_again_are_found_in_any_order():
    rng = np.random.default_rng(0)
    known = np.empty(0, dtype=np.int64)
    seen = set()
    for _ in range(20):
        codes = rng.integers(300, size=60)
        new, known = sampling._new(codes, known)
        expected = []
        for code in codes.tolist():
            expected.append(code not in seen)
            seen.add(code)
        assert (np.ones(60, dtype=bool) if new is None else new).tolist() == expected
        assert known.tolist() == sorted(seen)


@pytest.mark.parametrize("n_empty", [1, 2, 200])
def test_numbers_of_placements_are_the_same_in_small_and_large_models(n_empty):
    model = SparseRandomHierarchy(n_features=3, n_levels=1, n_empty=n_empty)
    codes = np.arange(model.n_placements)[:: max(1, model.n_placements // 500)]
    np.testing.assert_array_equal(rank(model, unrank(model, codes)), codes)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("sizes", [(40, 25), (33, 10), (1, 2)])
def test_balanced_splits_have_every_label_as_often(name, sizes):
    model = MODELS[name]
    parts = sampling.split(model, *sizes, random_state=1, balanced=True)
    for part, n in zip(parts, sizes, strict=True):
        counts = np.bincount(part.y, minlength=model.n_labels)
        assert counts.sum() == len(part) == n
        assert counts.max() - counts.min() <= 1
    rows = [row.tobytes() for part in parts for row in part.X]
    assert len(set(rows)) == len(rows)
    np.testing.assert_array_equal(model.read(parts[0].X).y, parts[0].y)


def test_a_balanced_split_may_take_all_data_but_no_more():
    model = MODELS["dense"]
    each = model.n_data // model.n_labels
    train, test = model.split(4 * (each - 3), 12, random_state=0, balanced=True)
    assert np.bincount(train.y).tolist() == [each - 3] * 4
    assert np.bincount(test.y).tolist() == [3] * 4
    train, test = model.split(3, model.n_data - 3, random_state=0, balanced=True)
    assert sorted(train.numbers + test.numbers) == list(range(model.n_data))
    with pytest.raises(ConfigError, match=f"the model can draw {each}: ask for fewer"):
        model.split(4 * each, 4, random_state=0, balanced=True)


def test_balanced_data_are_uniform_within_a_label():
    model = MODELS["dense"]
    firsts = np.concatenate([model.split(40, 4, random_state=s, balanced=True)[0].numbers for s in range(300)])
    counts = np.bincount(firsts, minlength=model.n_data)
    mean = 300 * 40 / model.n_data
    assert np.all(np.abs(counts - mean) < 6 * np.sqrt(mean))
