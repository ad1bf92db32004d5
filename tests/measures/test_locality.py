"""Measures of locality against counts by hand, and nulls against chance."""

import itertools

import numpy as np
import pytest
import torch

from compsparse.errors import ConfigError, DataError
from compsparse.measures import displacement_histogram, graph_f1, near_pairs, off_local_mass, patch_locality
from compsparse.networks import MaskedNetwork, layered, masks_of
from compsparse.tasks import patch_pixels, patch_sum

RNG = np.random.default_rng(0)


def random_weights(density, n_replicas=3, units=200, inputs=36):
    return RNG.standard_normal((n_replicas, units, inputs)) * (RNG.random((n_replicas, units, inputs)) < density)


def test_a_network_wired_like_the_task_is_as_local_as_can_be():
    task = patch_sum(6, 3)
    network = MaskedNetwork(*masks_of(task.graph, 4), n_replicas=2, random_state=0)
    np.testing.assert_allclose(patch_locality(network, patch_pixels(6, 3)).value, 1)
    agreement = graph_f1(network, task.graph)
    np.testing.assert_allclose(agreement.value, 1)
    assert (agreement.null < 0.6).all()
    scattered = patch_sum(6, 3, scattered=True).graph
    assert (graph_f1(network, scattered).value < 0.7).all()


def test_weights_at_random_places_are_at_their_null():
    weights, patches, graph = random_weights(0.3), patch_pixels(6, 3), patch_sum(6, 3).graph
    for found in (patch_locality(weights, patches), graph_f1(weights, graph), near_pairs(weights, (6, 6), 1)):
        assert (np.abs(found.excess) < 4 * found.error).all()
        assert (found.error < 0.02).all()
    rising = [patch_locality(random_weights(d), patches).null.mean() for d in (0.9, 0.3, 0.1)]
    assert rising[0] < rising[1] < rising[2]


def test_pairs_and_displacements_are_those_counted_by_hand():
    height, width = 4, 5
    weights = (RNG.random((2, 6, 20)) < 0.4).astype(float)
    counts = np.zeros((2, 2 * height - 1, 2 * width - 1))
    shares = np.zeros((2, 6))
    for r, u in itertools.product(range(2), range(6)):
        places = [divmod(i, width) for i in np.flatnonzero(weights[r, u])]
        pairs = [(a, b) for a in places for b in places if a != b]
        for a, b in pairs:
            counts[r, b[0] - a[0] + height - 1, b[1] - a[1] + width - 1] += 1
        near = [max(abs(a[0] - b[0]), abs(a[1] - b[1])) <= 1 for a, b in pairs]
        shares[r, u] = np.mean(near)
    histogram = displacement_histogram(weights, (height, width))
    np.testing.assert_allclose(histogram.share, counts / counts.sum((1, 2), keepdims=True), atol=1e-12)
    np.testing.assert_allclose(near_pairs(weights, (height, width), 1).value, shares.mean(1), atol=1e-12)
    full = displacement_histogram(np.ones((1, 1, 20)), (height, width))
    np.testing.assert_allclose(full.share[0], full.null, atol=1e-12)
    assert np.nanmax(np.abs(full.excess - 1)) < 1e-9


def test_mass_off_a_mask():
    local = np.array([[1, 1, 0, 0]])
    weights = np.array([[[1.0, 0, 0, 0]], [[1, 1, 1, 1]], [[0, 0, 2, 0]]])
    found = off_local_mass(weights, local)
    np.testing.assert_allclose(found.value, [0, 0.5, 1])
    np.testing.assert_allclose(found.null, 0.5)


def test_units_that_read_nothing_are_left_out():
    weights = np.zeros((2, 3, 36))
    weights[0, 0, :3] = 1
    found = patch_locality(weights, patch_pixels(6, 3))
    assert found.value[0] == 1
    assert found.n_units.tolist() == [1, 0]
    assert np.isnan(found.value[1])


def test_a_network_or_its_weights():
    network = layered([36, 8, 1], n_replicas=2, random_state=0)
    weights = network.effective()[0]
    for given in (network, weights, weights.detach().numpy()):
        np.testing.assert_array_equal(
            near_pairs(given, (6, 6)).value, near_pairs(torch.ones_like(weights), (6, 6)).value
        )


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: patch_locality(np.ones((1, 2, 4)), [[5]]), DataError, "numbers of inputs from 0 to 3"),
        (lambda: patch_locality(np.ones((1, 2, 4)), []), DataError, "at least one patch"),
        (lambda: patch_locality(np.ones(4), [[0]]), DataError, r"shape \(replicas, units, inputs\)"),
        (lambda: near_pairs(np.ones((1, 2, 4)), (3, 3)), DataError, "3 by 3 pixels need 9 inputs, got 4"),
        (lambda: near_pairs(np.ones((1, 2, 4)), 2), ConfigError, r"\(rows, columns\), got 2"),
        (lambda: off_local_mass(np.ones((1, 2, 4)), np.ones((2, 3))), DataError, "must have shape"),
        (lambda: graph_f1(np.ones((1, 2, 4)), patch_sum(6, 3).graph), DataError, "36 inputs but the units read 4"),
    ],
)
def test_bad_requests_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
