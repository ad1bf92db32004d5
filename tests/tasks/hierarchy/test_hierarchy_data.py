"""Rules, data and their numbers, against closed forms, enumerations and frequencies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.tasks.hierarchy.models import DENSE, HUGE, SMALL, SPARSE_A, SPARSE_B, UNEVEN

from compsparse.errors import ConfigError, DataError
from compsparse.tasks import RandomHierarchy, SparseRandomHierarchy
from compsparse.tasks.hierarchy import sampling
from compsparse.tasks.hierarchy.numbering import keys, rank


def by_hand(model, y, choices, slots):
    """The input below a node, by recursion; choices and slots by (level, index) as plain lists."""

    def below(level, index, symbol):
        if level == 0:
            return [symbol]
        parts = [[-1] * model.patch ** (level - 1)] * model.patch
        children = model.rules[level - 1][symbol, choices[level - 1][index]]
        for j, (slot, child) in enumerate(zip(slots[level - 1][index], children, strict=True)):
            parts[slot] = below(level - 1, index * model.s + j, child)
        return [value for part in parts for value in part]

    return below(model.n_levels, 0, y)


# ---- rules and sizes ---------------------------------------------------------------------


@pytest.mark.parametrize("model", [*SMALL, HUGE, RandomHierarchy(5, n_classes=3, tuple_size=3, n_levels=3)])
def test_no_tuple_is_shared_and_levels_have_rules_of_their_own(model):
    for rules in model.rules:
        tuples = rules.reshape(-1, model.s)
        assert len(np.unique(tuples, axis=0)) == len(tuples)
    below = model.rules[:-1]
    assert all(not np.array_equal(a, b) for i, a in enumerate(below) for b in below[:i] if a.size > 8)


def test_rules_of_levels_and_seeds_are_independent():
    firsts = np.array([[r[0, 0, 0] for r in RandomHierarchy(4, n_levels=2, rules_seed=k).rules] for k in range(800)])
    assert stats.chi2_contingency(np.histogram2d(*firsts.T, bins=4)[0]).pvalue > 1e-4


def test_the_number_of_data_is_the_closed_form():
    assert DENSE.n_data == 3 * 2**3
    assert SPARSE_A.n_data == 2 * (2 * 4) ** 3
    assert SPARSE_B.n_data == 2 * 6**3
    assert HUGE.n_data == 8 * (8 * 25) ** 31 > 10**70


# ---- sampling ----------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*SMALL, HUGE])
def test_inputs_are_what_the_trees_write(model):
    data = model.sample(5, random_state=1)
    for i in range(5):
        expected = by_hand(model, data.y[i], *([a[i].tolist() for a in part] for part in (data.choices, data.slots)))
        np.testing.assert_array_equal(data.X[i], expected)
    for level in range(model.n_levels):
        assert data.symbols[level].shape == (5, model.s ** (model.n_levels - level))
    assert data.X.dtype == data.y.dtype == np.int8


@pytest.mark.parametrize("model", SMALL)
def test_frequencies_are_those_of_the_enumeration(model):
    everything = model.datum(range(model.n_data))
    assert len(np.unique(everything.X, axis=0)) == model.n_data
    p = np.array(model.rule_probabilities or [1 / model.m] * model.m)
    expected = np.prod([p[c].prod(axis=1) for c in everything.choices], axis=0)
    expected /= expected.sum()
    n = 40 * model.n_data
    counts = np.bincount(model.sample(n, random_state=0).numbers, minlength=model.n_data)
    assert stats.chisquare(counts, n * expected).pvalue > 1e-4


def test_choices_and_slots_of_levels_are_independent():
    data = SparseRandomHierarchy(4, multiplicity=2, n_levels=2, n_empty=1).sample(20_000, random_state=2)
    columns = [data.choices[1][:, 0], data.choices[0][:, 0], data.slots[1][:, 0, 0], data.slots[0][:, 0, 0], data.y % 2]
    for i, a in enumerate(columns):
        for b in columns[:i]:
            assert stats.chi2_contingency(np.histogram2d(a, b, bins=2)[0]).pvalue > 1e-4


def test_placements_too_many_for_a_table_are_uniform_too(monkeypatch):
    tabled = sampling.draw_slots(SPARSE_B, (6000,), np.random.default_rng(0))
    monkeypatch.setattr(sampling, "_LARGEST_TABLE", 0)
    for model in (SPARSE_A, SPARSE_B):
        slots = sampling.draw_slots(model, (6000,), np.random.default_rng(0))
        counts = np.bincount(rank(model, slots), minlength=model.n_placements)
        assert stats.chisquare(counts).pvalue > 1e-4
        assert slots.dtype == tabled.dtype


@pytest.mark.parametrize("model", [*SMALL, HUGE])
def test_a_seed_gives_the_same_data_with_and_without_trees(model):
    n = 3 if model is HUGE else 20_000
    data = model.sample(n, random_state=7)
    X, y = model.draw(n, np.random.default_rng(7))
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert not np.array_equal(X, model.draw(n, 8)[0])


def test_a_generator_moves_on():
    rng = np.random.default_rng(0)
    assert not np.array_equal(DENSE.draw(100, rng)[0], DENSE.draw(100, rng)[0])


def test_batches_repeat_with_their_seed_and_differ_from_one_another():
    a, b = (list(SPARSE_A.batches(1000, 300, random_state=3)) for _ in range(2))
    assert [len(y) for _, y in a] == [300, 300, 300, 100]
    assert all(np.array_equal(x, z) for (x, _), (z, _) in zip(a, b, strict=True))
    assert not np.array_equal(a[0][0], a[1][0])


def test_wide_alphabets_take_wider_integers():
    model = RandomHierarchy(n_features=300, multiplicity=200, n_classes=3, n_levels=2)
    data = model.sample(50, random_state=0)
    assert data.X.dtype == data.choices[0].dtype == np.int16
    assert data.y.dtype == np.int8
    assert model.read(data.X).numbers == data.numbers


def test_impossible_synonyms_are_never_drawn():
    model = RandomHierarchy(3, n_levels=2, rule_probabilities=(0, 1, 0))
    assert all((level == 1).all() for level in model.sample(1000, random_state=0).choices)


# ---- numbers, and inputs read back -------------------------------------------------------


@st.composite
def models(draw):
    v, s = draw(st.integers(2, 5)), draw(st.integers(2, 3))
    shape = {"n_features": v, "tuple_size": s, "n_levels": draw(st.integers(1, 4 if s == 2 else 2))}
    shape["multiplicity"] = draw(st.integers(1, v ** (s - 1)))
    shape["rules_seed"] = draw(st.integers(0, 100))
    if draw(st.booleans()):
        return RandomHierarchy(**shape)
    return SparseRandomHierarchy(**shape, n_empty=draw(st.integers(0, 3)), placement=draw(st.sampled_from("AB")))


@settings(max_examples=60, deadline=None)
@given(models(), st.data())
def test_number_and_datum_are_inverse_and_inputs_are_read_back(model, data):
    numbers = data.draw(st.lists(st.integers(0, model.n_data - 1), min_size=1, max_size=5))
    sample = model.datum(numbers)
    assert sample.numbers == numbers
    again = model.read(sample.X)
    assert again.numbers == numbers
    np.testing.assert_array_equal(again.y, sample.y)


def test_numbers_of_any_size():
    model = SparseRandomHierarchy(8, tuple_size=3, multiplicity=64, n_levels=4, n_empty=4, placement="B")
    assert model.n_data > 10**170
    assert model.datum([0, model.n_data - 1]).numbers == [0, model.n_data - 1]
    sample = HUGE.sample(4, random_state=0, replace=False)
    assert len(set(sample.numbers)) == 4
    assert HUGE.read(sample.X).numbers == sample.numbers


def test_more_placements_than_64_bits_count():
    model = SparseRandomHierarchy(2, tuple_size=30, multiplicity=2, n_classes=2, n_levels=1, n_empty=3, placement="B")
    assert model.n_placements > 2**64
    sample = model.sample(20, random_state=0, replace=False)
    assert model.datum(sample.numbers).X.tolist() == sample.X.tolist()


def test_inputs_without_a_tree_are_refused():
    X = SPARSE_A.sample(3, random_state=0).X
    gone, strange, moved = X.copy(), X.copy(), X.copy()
    gone[1, np.argmax(X[1] >= 0)] = -1
    strange[2, 0] = 2
    moved[0] = np.sort(X[0])
    for bad, problem in [
        (gone, r"row 2 \(counted from 1\).*4 symbols"),
        (strange, r"row 3 \(counted from 1\), slot 0 holds 2: symbols are 0 to 1"),
        (moved, r"row 1 \(counted from 1\).*no placement"),
    ]:
        with pytest.raises(DataError, match=problem):
            SPARSE_A.read(bad)
    unwritten = [p for p in np.ndindex(3, 3) if not (DENSE.rules[0] == p).all(axis=-1).any()]
    with pytest.raises(DataError, match=r"row 1 \(counted from 1\).*no rule of level 1"):
        DENSE.read(np.array([[*unwritten[0], *DENSE.rules[0][0, 0]]]))
    for bad, problem in [
        (X[0], r"shape \(n, 16\), got \(16,\)"),
        (X[:, :-1], r"shape \(n, 16\), got \(3, 15\)"),
        (X.astype(float), "symbols as integers, got float64"),
        (X[:0], "no data to read"),
    ]:
        with pytest.raises(DataError, match=problem):
            SPARSE_A.read(bad)


# ---- different data ----------------------------------------------------------------------


@pytest.mark.parametrize("model", SMALL)
@pytest.mark.parametrize("share", [0.1, 0.7, 1.0])
def test_data_without_replacement_are_different(model, share):
    n = max(1, int(share * model.n_data))
    assert len(set(model.sample(n, random_state=0, replace=False).numbers)) == n


@pytest.mark.parametrize("n", [5, 20])
def test_without_replacement_every_datum_is_as_likely(n):
    drawn = [DENSE.sample(n, random_state=k, replace=False).numbers for k in range(600)]
    counts = np.bincount(np.ravel(drawn), minlength=DENSE.n_data)
    spread = 600 * n / 24 * (1 - n / 24)
    assert (np.abs(counts - 600 * n / 24) < 4.5 * np.sqrt(spread)).all()


def test_uneven_data_come_in_the_order_of_successive_draws():
    model = RandomHierarchy(3, n_classes=2, n_levels=1, rule_probabilities=(0.7, 0.2, 0.1))
    pairs = [model.sample(2, random_state=k, replace=False).numbers for k in range(3000)]
    p = np.tile([0.7, 0.2, 0.1], 2) / 2
    expected = {(i, j): p[i] * p[j] / (1 - p[i]) for i in range(6) for j in range(6) if i != j}
    counts = [sum(tuple(pair) == key for pair in pairs) for key in expected]
    assert stats.chisquare(counts, 3000 * np.array(list(expected.values()))).pvalue > 1e-4


def test_uneven_models_too_large_to_list_reject_repeats():
    model = RandomHierarchy(4, n_levels=4, rule_probabilities=(0.97, 0.01, 0.01, 0.01))
    sample = model.sample(500, random_state=0, replace=False)
    assert len(set(sample.numbers)) == 500
    assert len(np.unique(keys(model, sample.y, sample.choices, sample.slots))) == 500


@pytest.mark.parametrize("model", [RandomHierarchy(8, n_levels=2), HUGE, SPARSE_B, UNEVEN])
def test_training_and_test_data_share_nothing(model):
    n = min(model.n_data, 2000 if model.n_inputs < 100 else 20)
    train, test = model.split(n - n // 4, n // 4, random_state=0)
    assert len(np.unique(np.concatenate([train.X, test.X]), axis=0)) == n
    np.testing.assert_array_equal(train.X, model.split(n - n // 4, n // 4, random_state=0)[0].X)
    assert model.read(test.X).y.tolist() == test.y.tolist()


def test_hashes_of_data_beyond_64_bits_tell_them_apart():
    model = RandomHierarchy(16, n_levels=5)
    sample = model.sample(50_000, random_state=0)
    assert len(np.unique(keys(model, sample.y, sample.choices, sample.slots))) == 50_000


# ---- bad input ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (lambda: RandomHierarchy(4, multiplicity=5), "at most 4 of its own; got multiplicity=5"),
        (lambda: RandomHierarchy(4.5), "n_features must be a whole number >= 2, got 4.5"),
        (lambda: SparseRandomHierarchy(4, placement="C"), "placement must be one of 'A', 'B', got 'C'"),
        (lambda: RandomHierarchy(3, rule_probabilities=(1, 2)), "3 numbers"),
        (lambda: RandomHierarchy(rules_seed=-1), "rules_seed must be a whole number >= 0, got -1"),
        (lambda: RandomHierarchy(rules_seed=np.random.default_rng(0)), "rules_seed must be a whole number >= 0"),
        (lambda: DENSE.sample(0), "n must be a whole number >= 1, got 0"),
        (lambda: DENSE.draw(2.5), "n must be a whole number >= 1, got 2.5"),
        (lambda: DENSE.batches(10, 0), "batch_size must be a whole number >= 1, got 0"),
        (lambda: DENSE.sample(25, replace=False), "25 different data were asked for, and the model can draw 24"),
        (lambda: DENSE.split(20, 5), "25 different data were asked for"),
        (lambda: DENSE.split(0, 5), "n_train must be a whole number >= 1, got 0"),
        (lambda: DENSE.split(5, 1.5), "n_test must be a whole number >= 1, got 1.5"),
        (lambda: DENSE.sample(5, replace=None), "replace must be True or False"),
        (lambda: DENSE.sample(5, random_state=-1), "random_state must be a whole number >= 0, got -1"),
        (lambda: DENSE.sample(5, random_state=1.5), "random_state must be a whole number >= 0, got 1.5"),
        (lambda: SparseRandomHierarchy(4, n_levels=30).draw(5), "do not fit in memory"),
        (lambda: SparseRandomHierarchy(4, n_levels=30).sample(5), "do not fit in memory"),
        (
            lambda: RandomHierarchy(3, n_levels=1, rule_probabilities=(0, 1, 1)).sample(7, replace=False),
            "the model can draw 6",
        ),
        (
            lambda: RandomHierarchy(3, n_levels=5, rule_probabilities=(1, 1e-9, 0)).sample(99, replace=False),
            "too rare",
        ),
    ],
)
def test_bad_settings_get_one_sentence(ask, problem):
    with pytest.raises(ConfigError, match=problem):
        ask()


@pytest.mark.parametrize("numbers", [[24], [-1], [0.5], ["a"], [], [True], np.array([3, 24]), [[1, 2]]])
def test_bad_numbers_get_one_sentence(numbers):
    with pytest.raises(ConfigError, match="numbers"):
        DENSE.datum(numbers)
