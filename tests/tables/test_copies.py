import numpy as np
import pytest

from compsparse.tables.copies import n_copies, same_rows, shuffled


def test_without_copies_the_order_is_the_generators():
    rows = shuffled(np.arange(20), np.random.default_rng(3))
    order = np.random.default_rng(3).permutation(20)
    assert (rows.order == order).all()
    assert (rows.first(7) == order[:7]).all()
    assert all((rows.fold(k, 5) == order[k::5]).all() for k in range(5))


@pytest.mark.parametrize("seed", range(5))
def test_copies_stay_on_one_side(seed):
    rng = np.random.default_rng(seed)
    same = rng.integers(0, 12, 60)
    rows = shuffled(same, rng)
    assert sorted(rows.order.tolist()) == list(range(60))
    held_out = rows.first(20)
    rest = np.setdiff1d(np.arange(60), held_out)
    assert len(held_out) >= 20
    assert len(rest)
    assert not set(same[held_out]) & set(same[rest])
    folds = [set(same[rows.fold(k, 4)]) for k in range(4)]
    assert all(not folds[i] & folds[j] for i in range(4) for j in range(i))
    assert set().union(*folds) == set(same)


def test_all_rows_alike_cannot_be_split():
    rows = shuffled(np.zeros(8, dtype=int), np.random.default_rng(0))
    assert rows.n_different == 1
    assert len(rows.first(3)) == 0


def test_rows_are_the_same_if_all_their_entries_are():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0], [0.0, 1.0]])
    y = np.array([5.0, 5.0, 5.0, 6.0])
    same = same_rows(X, y)
    assert same[0] == same[1]
    assert len({same[0], same[2], same[3]}) == 3
    assert n_copies(same) == 1
