"""Moves by real amounts: whole moves are the sparse model, and real ones stay in their sub-patches."""

import numpy as np
import pytest

from compsparse.errors import CompsparseError
from compsparse.tasks import RandomHierarchy, SparseRandomHierarchy, one_hot
from compsparse.tasks.hierarchy.continuous import real_places, seen_by_sensors, whole_places

MODEL = SparseRandomHierarchy(n_features=4, n_levels=2, n_empty=2)
SAMPLE = MODEL.sample(40, random_state=0)


def test_whole_places_give_the_sparse_model():
    seen = seen_by_sensors(SAMPLE.symbols[0], whole_places(SAMPLE), MODEL.n_inputs, 4)
    assert np.array_equal(seen, one_hot(SAMPLE.X, 4))


def test_symbols_stay_in_order_and_in_their_sub_patches():
    places = real_places(SAMPLE, random_state=0)
    assert places.shape == (40, 4)
    assert (np.diff(places, axis=1) > 0).all()
    assert places.min() >= 0
    assert places.max() <= MODEL.n_inputs - 1
    assert (np.floor(places) != places).mean() > 0.9
    first, second = places[:, :2], places[:, 2:]
    assert (first < 3 * 6).all()  # three sub-patches of six slots
    assert (second >= 3 * 6).all()
    dense = RandomHierarchy(4).sample(5, random_state=0)
    assert np.array_equal(real_places(dense, 0), np.tile(np.arange(4.0), (5, 1)))


def test_sensors_share_what_stands_between_them():
    seen = seen_by_sensors([[0, 1]], [[0.5, 2.0]], 3, 2)
    assert seen[0].tolist() == [[0.5, 0], [0.5, 0], [0, 1]]
    places = real_places(SAMPLE, random_state=1)
    assert np.allclose(seen_by_sensors(SAMPLE.symbols[0], places, MODEL.n_inputs, 4).sum((1, 2)), 4)
    mean = (seen_by_sensors(SAMPLE.symbols[0], places, MODEL.n_inputs, 4).sum(2) * np.arange(MODEL.n_inputs)).sum(1)
    assert np.allclose(mean, places.sum(1), rtol=1e-5)  # the centre of mass is where the symbols stand


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: real_places(3), "sample must be"),
        (lambda: real_places(SparseRandomHierarchy(4, n_empty=1, placement="B").sample(3)), "placement 'A'"),
        (lambda: seen_by_sensors([[0]], [[2.5]], 3, 2), "places must lie between 0 and 2, got 2.5 to 2.5"),
        (lambda: seen_by_sensors([[2]], [[0.5]], 3, 2), "symbols must lie between 0 and 1, got 2 to 2"),
        (lambda: seen_by_sensors([[0, 1]], [[0.5]], 3, 2), "symbols must have shape"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(CompsparseError, match=message):
        call()
