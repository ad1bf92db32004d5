"""Why sensitivities at level 2 differ from those of the data that Tomasini and Wyart 2024 published.

Their generator makes changed data by drawing everything anew from seeds. It differs from ours in two ways, which are
switched apart here:

- *one stream*: synonyms and positions of a level are drawn from one seed, so that a tuple's synonym is tied to where
  its symbols stand;
- *by slot*: a level has a synonym and a placement for every slot, empty ones too, and a symbol has those of the slot
  it stands in. A symbol that a diffeomorphism of level 2 moves to another slot is therefore written as another synonym
  as well.
"""

import numpy as np
import pytest
import torch

from compsparse.measures import diffeomorphism_sensitivity, synonym_sensitivity
from compsparse.progress import Silent
from compsparse.sweeps.kinds.hierarchy import HierarchyRun, misclassified, train_runs
from compsparse.tasks.hierarchy.trees import small_int, write

N_SEEDS = 300
RUN = HierarchyRun(
    n_train=1500, n_features=4, n_empty=1, width=32, learning_rate=0.05, schedule="constant", n_test=1000
)


@pytest.fixture(scope="module")
def network():
    trained = RUN.network(n_replicas=1, seeds=[0])
    train, test = RUN.split()
    train_runs(trained, [RUN], [train], Silent())
    assert misclassified(trained, [test])[0] < 0.05
    return trained


def generated(*, synonyms_from=2, positions_from=2, one_stream, by_slot):
    """A datum of every label for each seed; levels from the given ones on, counted from the top, are drawn anew."""
    model = RUN.model
    labels, slots_of_child = np.arange(model.n_labels), np.arange(model.s)

    def drawn(seed, n_options, level):
        return np.random.RandomState(seed).randint(n_options, size=(model.n_labels, model.patch**level))

    def placed(codes):
        width = model.n_empty + 1
        return np.stack([codes // width ** (model.s - 1 - k) % width + k * width for k in slots_of_child], axis=-1)

    parts = []
    for seed in range(N_SEEDS):
        choices = [drawn(seed + level + (level >= synonyms_from), model.m, level) for level in (0, 1)]
        apart = 0 if one_stream else 10**6
        places = [
            drawn(apart + seed + level + (level >= positions_from), model.n_placements, level) for level in (0, 1)
        ]
        top = placed(places[0][:, 0])
        at = labels[:, None], (top if by_slot else np.broadcast_to(slots_of_child, top.shape))
        parts.append((choices[1][at], choices[0], placed(places[1][at]), top[:, None]))
    low, high, low_slots, high_slots = (np.concatenate(p) for p in zip(*parts, strict=True))
    small, narrow = small_int(model.m - 1), small_int(model.patch - 1)
    y = np.tile(labels, N_SEEDS).astype(small_int(model.n_labels - 1))
    slots = [low_slots.astype(narrow), high_slots.astype(narrow)]
    return write(model, y, [low.astype(small), high.astype(small)], slots)


def of_second_layer(network, before, after):
    with torch.no_grad():
        a, b = (network.activations(torch.as_tensor(s.X))[1][0].flatten(1).double() for s in (before, after))
    pairs = 2 * (a.square().sum(1).mean() - a.mean(0).square().sum())
    return float((a - b).square().sum(1).mean() / pairs)


def published(network, *, one_stream, by_slot, **drawn_anew):
    how = {"one_stream": one_stream, "by_slot": by_slot}
    return of_second_layer(network, generated(**how), generated(**how, **drawn_anew))


def ours(network, measure, level):
    probes = RUN.model.sample(4000, random_state=1)
    return float(measure(network, probes, level, 0).values[0, 1])


@pytest.mark.parametrize("one_stream", [True, False])
def test_a_diffeomorphism_of_level_2_by_slots_exchanges_synonyms_too(network, one_stream):
    moved = {"positions_from": 0, "one_stream": one_stream}
    expected = ours(network, diffeomorphism_sensitivity, 2)
    assert published(network, by_slot=False, **moved) == pytest.approx(expected, rel=0.1)
    assert published(network, by_slot=True, **moved) > 1.2 * expected
    before, after = (generated(one_stream=one_stream, by_slot=True, positions_from=p) for p in (2, 0))
    stayed = before.slots[1][:, 0] == after.slots[1][:, 0]
    same_synonym = before.choices[0] == after.choices[0]
    assert same_synonym[stayed].mean() > 0.99
    assert same_synonym[~stayed].mean() < 2 / RUN.model.m


@pytest.mark.parametrize("by_slot", [True, False])
def test_one_stream_for_synonyms_and_positions_hardly_changes_sensitivities(network, by_slot):
    for drawn_anew in ({"positions_from": 0}, {"synonyms_from": 0}, {"positions_from": 1}, {"synonyms_from": 1}):
        tied, free = (published(network, one_stream=tie, by_slot=by_slot, **drawn_anew) for tie in (True, False))
        assert tied == pytest.approx(free, rel=0.1)
    data = generated(one_stream=True, by_slot=by_slot)
    # as many synonyms as placements: tied, a tuple's synonym says where its symbols stand
    np.testing.assert_array_equal(data.choices[1][:, 0], data.slots[1][:, 0] @ np.array([2, 1]) - 2)


def test_level_1_and_exchanges_of_synonyms_are_the_same_either_way(network):
    for measure, name in ((synonym_sensitivity, "synonyms_from"), (diffeomorphism_sensitivity, "positions_from")):
        for level in (1, 2):
            if (name, level) != ("positions_from", 2):
                found = published(network, one_stream=True, by_slot=True, **{name: 2 - level})
                assert found == pytest.approx(ours(network, measure, level), rel=0.1)
