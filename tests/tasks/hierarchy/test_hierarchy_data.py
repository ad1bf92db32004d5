import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch.utils.data import DataLoader

from compsparse.errors import ConfigError, DataError
from compsparse.graph import balanced_tree
from compsparse.tasks import RandomHierarchy, SparseRandomHierarchy, diffeomorphism, exchange_synonyms, one_hot
from compsparse.tasks.hierarchy import placements
from compsparse.tasks.hierarchy.bridge import HierarchyDataset, HierarchyStream
from compsparse.tasks.hierarchy.numbering import keys

DENSE = RandomHierarchy(n_features=3, multiplicity=2, n_levels=2)
SPARSE_A = SparseRandomHierarchy(n_features=2, n_levels=2, n_empty=1)
SPARSE_B = SparseRandomHierarchy(n_features=2, multiplicity=1, n_levels=2, n_empty=1, placement="B")
UNEVEN = RandomHierarchy(n_features=3, n_levels=2, rule_probabilities=(0.6, 0.1, 0.3))
TRIPLES = SparseRandomHierarchy(n_features=3, n_classes=2, multiplicity=2, tuple_size=3, n_levels=1, n_empty=1)
SMALL = [DENSE, SPARSE_A, SPARSE_B, UNEVEN, TRIPLES]
HUGE = SparseRandomHierarchy(n_features=8, n_levels=5, n_empty=4)


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
    tabled = placements.draw_slots(SPARSE_B, (6000,), np.random.default_rng(0))
    monkeypatch.setattr(placements, "_LARGEST_TABLE", 0)
    for model in (SPARSE_A, SPARSE_B):
        slots = placements.draw_slots(model, (6000,), np.random.default_rng(0))
        counts = np.bincount(placements.rank(model, slots), minlength=model.n_placements)
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
    for bad, problem in [(gone, "row 1.*4 symbols"), (strange, "row 2.*-1 to 1"), (moved, "row 0.*no placement")]:
        with pytest.raises(DataError, match=problem):
            SPARSE_A.read(bad)
    unwritten = [p for p in np.ndindex(3, 3) if not (DENSE.rules[0] == p).all(axis=-1).any()]
    with pytest.raises(DataError, match=r"row 0.*no rule of level 1"):
        DENSE.read(np.array([[*unwritten[0], *DENSE.rules[0][0, 0]]]))
    for bad in (X[0], X.astype(float), X[:, :-1]):
        with pytest.raises(DataError, match="rows of 16 integers"):
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


# ---- operators ---------------------------------------------------------------------------

WIDE = SparseRandomHierarchy(n_features=4, multiplicity=4, n_levels=3, n_empty=1)


@pytest.mark.parametrize("allow_identity", [True, False])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_synonyms_change_from_a_level_down(level, allow_identity):
    data = WIDE.sample(4000, random_state=0)
    other = exchange_synonyms(data, level, random_state=1, allow_identity=allow_identity)
    np.testing.assert_array_equal(other.y, data.y)
    for above in range(level, 4):
        np.testing.assert_array_equal(other.symbols[above], data.symbols[above])
    assert all(a is b for a, b in zip(other.slots, data.slots, strict=True))
    np.testing.assert_array_equal(other.X >= 0, data.X >= 0)
    assert WIDE.read(other.X).numbers == other.numbers
    for below in range(1, 4):
        same = (other.choices[below - 1] == data.choices[below - 1]).mean()
        at_level_itself = 1 / 4 if allow_identity else 0
        assert same == pytest.approx(1 if below > level else at_level_itself if below == level else 1 / 4, abs=0.03)


@pytest.mark.parametrize("model", [WIDE, SparseRandomHierarchy(4, multiplicity=4, n_levels=3, placement="B")])
@pytest.mark.parametrize("allow_identity", [True, False])
def test_slots_change_from_a_level_down(model, allow_identity):
    data = model.sample(4000, random_state=0)
    moved = diffeomorphism(data, 2, random_state=1, allow_identity=allow_identity)
    assert all(np.array_equal(a, b) for a, b in zip(moved.symbols, data.symbols, strict=True))
    same = [(a == b).all(axis=-1).mean() for a, b in zip(moved.slots, data.slots, strict=True)]
    share = 1 / model.n_placements
    assert same == pytest.approx([share, share if allow_identity else 0, 1], abs=0.03)
    assert model.read(moved.X).numbers == moved.numbers


def test_exchanged_synonyms_follow_the_probabilities_of_the_others():
    data = UNEVEN.sample(9000, random_state=0)
    other = exchange_synonyms(data, 2, random_state=1, allow_identity=False)
    after = other.choices[1][data.choices[1] == 0]
    assert stats.chisquare(np.bincount(after, minlength=3)[1:], len(after) * np.array([0.25, 0.75])).pvalue > 1e-4
    assert np.bincount(other.choices[0].ravel()) / 18_000 == pytest.approx([0.6, 0.1, 0.3], abs=0.02)


def test_operators_say_what_cannot_be():
    data = DENSE.sample(10, random_state=0)
    with pytest.raises(ConfigError, match="two placements"):
        diffeomorphism(data, 1, allow_identity=False)
    with pytest.raises(ConfigError, match="two synonyms"):
        exchange_synonyms(SPARSE_B.sample(10, random_state=0), 1, allow_identity=False)
    for level in (0, 3, 1.0, True):
        with pytest.raises(ConfigError, match="level must be an integer from 1"):
            exchange_synonyms(data, level)


# ---- encoding ----------------------------------------------------------------------------


def test_one_hot_of_arrays_and_tensors():
    X = SPARSE_A.sample(6, random_state=0).X
    encoded = one_hot(X, 2)
    assert encoded.shape == (6, 16, 2)
    assert encoded.dtype == np.float32
    np.testing.assert_array_equal(encoded.sum(axis=-1), X >= 0)
    np.testing.assert_array_equal(encoded[X >= 0].argmax(axis=-1), X[X >= 0])
    np.testing.assert_array_equal(one_hot(torch.from_numpy(X), 2).numpy(), encoded)
    np.testing.assert_array_equal(one_hot(X, 2, flat=True), encoded.reshape(6, 32))
    assert one_hot(torch.from_numpy(X), 2, flat=True, dtype=torch.float64).dtype == torch.float64


@pytest.mark.parametrize("v", [2, 5, 8])
def test_whitened_channels_have_mean_zero_and_variance_one(v):
    symbols = one_hot(np.arange(v), v, whitened=True, dtype=float)
    np.testing.assert_allclose(symbols.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(symbols.var(axis=0), 1)
    np.testing.assert_allclose(symbols.diagonal(), np.sqrt(v - 1))
    np.testing.assert_allclose(one_hot(np.array([-1]), v, whitened=True, dtype=float), -1 / np.sqrt(v - 1))


def test_encoding_refuses_what_are_no_symbols():
    for bad in (np.array([3]), np.array([-2]), np.array([0.0]), torch.tensor([3]), torch.tensor([True])):
        with pytest.raises(DataError, match="symbols"):
            one_hot(bad, 3)


def test_hierarchies_need_no_torch():
    code = "import sys, compsparse.tasks.hierarchy as h; h.one_hot([[0]], 2); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- graph and bridge --------------------------------------------------------------------


def test_the_graph_is_the_tree_of_patches():
    model = RandomHierarchy(4, n_levels=3)
    assert model.graph == balanced_tree(8)
    assert frozenset({"x2", "x3"}) in model.graph.modules
    graph = SparseRandomHierarchy(8, n_levels=2, n_empty=2).graph
    assert (graph.n_inputs, graph.size, graph.depth, graph.max_arity) == (36, 7, 2, 6)
    assert graph.modules == {frozenset(f"x{6 * i + j}" for j in range(6)) for i in range(6)}


def test_a_sample_in_a_data_loader():
    data = SPARSE_A.sample(10, random_state=0)
    x, y = next(iter(DataLoader(HierarchyDataset(data, whitened=True), batch_size=10)))
    np.testing.assert_array_equal(x.numpy(), one_hot(data.X, 2, whitened=True, flat=True))
    assert (x.dtype, y.dtype, y.tolist()) == (torch.float32, torch.int64, data.y.tolist())
    x, label = HierarchyDataset(data, flat=False)[3]
    assert (x.shape, int(label)) == ((16, 2), data.y[3])


def test_a_stream_is_the_same_whatever_the_number_of_workers():
    stream = HierarchyStream(SPARSE_A, 8, n_batches=5, random_state=0)
    alone, shared = (list(DataLoader(stream, batch_size=None, num_workers=k)) for k in (0, 2))
    assert len(alone) == len(shared) == 5
    assert all(torch.equal(a[0], b[0]) and torch.equal(a[1], b[1]) for a, b in zip(alone, shared, strict=True))
    assert not torch.equal(alone[0][0], alone[1][0])
    stream.set_epoch(1)
    assert not torch.equal(alone[0][0], next(iter(stream))[0])


# ---- bad input ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (lambda: RandomHierarchy(4, multiplicity=5), "at most 4 of its own; got multiplicity=5"),
        (lambda: RandomHierarchy(4.5), "n_features must be an integer"),
        (lambda: SparseRandomHierarchy(4, placement="C"), "placement must be 'A' or 'B'"),
        (lambda: RandomHierarchy(3, rule_probabilities=(1, 2)), "3 numbers"),
        (lambda: DENSE.sample(0), "n must be an integer of at least 1, got 0"),
        (lambda: DENSE.draw(2.5), "n must be an integer of at least 1, got 2.5"),
        (lambda: DENSE.batches(10, 0), "batch_size must be an integer of at least 1"),
        (lambda: DENSE.sample(25, replace=False), "25 different data were asked for, and the model can draw 24"),
        (lambda: DENSE.split(20, 5), "25 different data were asked for"),
        (lambda: DENSE.split(0, 5), "n_train must be"),
        (lambda: DENSE.sample(5, random_state=-1), "random_state must be"),
        (lambda: DENSE.sample(5, random_state="seed"), "random_state must be"),
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
    with pytest.raises(DataError, match="numbers"):
        DENSE.datum(numbers)
