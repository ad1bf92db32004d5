"""Sensitivities against sums over pairs; thresholds and laws against closed forms."""

import numpy as np
import pytest
import torch

from compsparse.errors import ConfigError, DataError
from compsparse.measures import (
    diffeomorphism_sensitivity,
    first_crossing,
    fit_law,
    synonym_sensitivity,
    threshold,
)
from compsparse.networks.symbols import HierarchicalCNN, HierarchicalLCN
from compsparse.tasks.hierarchy import RandomHierarchy, SparseRandomHierarchy
from compsparse.tasks.hierarchy.sampling import diffeomorphism, exchange_synonyms

MODEL = SparseRandomHierarchy(n_features=4, n_levels=2, n_empty=1)
OPERATORS = [(exchange_synonyms, synonym_sensitivity), (diffeomorphism, diffeomorphism_sensitivity)]


@pytest.mark.parametrize(("operator", "measure"), OPERATORS)
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("allow_identity", [True, False])
def test_sensitivities_are_their_definition(operator, measure, level, allow_identity):
    sample = MODEL.sample(40, random_state=0)
    network = HierarchicalLCN(MODEL.n_inputs, 4, 4, MODEL.patch, width=5, n_replicas=2, random_state=0)
    found = measure(network, sample, level, 3, allow_identity=allow_identity)
    changed = operator(sample, level, 3, allow_identity=allow_identity)
    before, after = (network.activations(torch.as_tensor(s.X)) for s in (sample, changed))
    for k, (a, b) in enumerate(zip(before, after, strict=True)):
        for r in range(2):
            f, g = (h[r].flatten(1).detach().double().numpy() for h in (a, b))
            pairs = [np.sum((f[i] - f[j]) ** 2) for i in range(40) for j in range(40) if i != j]
            expected = np.mean(np.sum((f - g) ** 2, axis=1)) / np.mean(pairs)
            assert found.values[r, k] == pytest.approx(expected, rel=1e-6)


def test_a_network_blind_to_positions_has_no_sensitivity_to_them():
    model = SparseRandomHierarchy(n_features=4, n_levels=1, n_empty=3)
    network = HierarchicalCNN(model.n_inputs, 4, 4, model.patch, width=8, random_state=0)
    with torch.no_grad():  # the same weights at every slot
        weight = network.layers[0].weight.view(1, model.patch, 4, 8)
        weight.copy_(weight[:, :1].expand_as(weight))
    sample = model.sample(100, random_state=0)
    assert diffeomorphism_sensitivity(network, sample, random_state=1).values.max() < 1e-10
    assert synonym_sensitivity(network, sample, random_state=1).values.min() > 0.1


def test_a_sensitivity_needs_two_data():
    model = RandomHierarchy(4)
    network = HierarchicalCNN(4, 4, 4, 2, random_state=0)
    with pytest.raises(DataError, match="at least two"):
        synonym_sensitivity(network, model.sample(1, random_state=0))


def test_crossings_are_interpolated_in_the_logarithm():
    assert first_crossing([100, 400], [0.2, 0.0], 0.1) == pytest.approx(200)
    assert first_crossing([100, 400], [0.05, 0.0], 0.1) == 100
    assert first_crossing([100, 400], [0.5, 0.2], 0.1) == np.inf
    assert first_crossing([100, 200, 400, 800], [0.2, 0.05, 0.3, 0.0], 0.1) < 200


def test_the_interval_of_a_threshold_covers_the_truth():
    rng = np.random.default_rng(0)
    sizes = np.geomspace(100, 1000, 8)
    truth, covered = 316.2, 0
    for _ in range(200):
        curves = {p: 0.1 + np.log(truth / p) * 0.2 + 0.03 * rng.standard_normal(8) for p in sizes}
        found = threshold(curves, 0.1)
        assert found.low <= found.value <= found.high
        covered += found.low <= truth <= found.high
    assert 150 < covered <= 200


def test_a_threshold_says_whether_it_was_bracketed():
    assert threshold({10: [0.5], 20: [0.0]}).bracketed
    assert not threshold({10: [0.0], 20: [0.0]}).bracketed
    assert not threshold({10: [0.5], 20: [0.4]}).bracketed
    with pytest.raises(DataError, match="at least one training-set size"):
        threshold({})


def test_laws_recover_exponents_with_shared_slopes():
    m, s0 = np.meshgrid([2, 4, 8], [1, 2, 3, 5])
    y = 3 * m**2.0 * s0**1.5
    law = fit_law({"m": m.ravel(), "s0": s0.ravel()}, y.ravel())
    assert law.exponents == pytest.approx({"m": 2, "s0": 1.5})
    assert law.prefactor == pytest.approx(3)
    assert law(m=3, s0=2) == pytest.approx(3 * 9 * 2**1.5)
    prefactors = {2: 1.0, 4: 10.0, 8: 0.1}
    shifted = [prefactors[k] * v for k, v in zip(m.ravel(), s0.ravel() ** 2.0, strict=True)]
    grouped = fit_law({"s0": s0.ravel()}, shifted, groups=m.ravel().tolist())
    assert grouped.exponents["s0"] == pytest.approx(2)


def test_intervals_of_exponents_cover_the_truth():
    rng = np.random.default_rng(0)
    x = np.geomspace(1, 100, 6)
    covered = 0
    for _ in range(300):
        law = fit_law({"x": x}, 2 * x**1.3 * np.exp(0.1 * rng.standard_normal(6)))
        covered += abs(law.exponents["x"] - 1.3) <= law.errors["x"]
    assert 270 <= covered <= 298


@pytest.mark.parametrize(
    ("variables", "y", "words"),
    [({"x": [1, 2]}, [1, -1], "positive"), ({"x": [1, 2]}, [1], "one value"), ({"x": [2, 2]}, [1, 2], "determine")],
)
def test_laws_that_cannot_be_fitted_are_refused(variables, y, words):
    with pytest.raises(DataError, match=words):
        fit_law(variables, y)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: threshold({10: [0.5]}, confidence=1.0), "confidence must be a finite number > 0 and < 1, got 1.0"),
        (lambda: threshold({10: [0.5]}, n_resamples=0), "n_resamples must be a whole number >= 1, got 0"),
        (lambda: threshold({10: [0.5]}, random_state=-1), "random_state must be a whole number >= 0, got -1"),
        (lambda: threshold({10: [0.5]}, float("nan")), "level must be a finite number"),
        (lambda: fit_law({"x": [1, 2]}, [1, 2], confidence=0), "confidence must be"),
        (
            lambda: synonym_sensitivity(None, MODEL.sample(3, 0), allow_identity=1),
            "allow_identity must be True or False",
        ),
        (lambda: synonym_sensitivity(None, MODEL.sample(3, 0), 3), "level must be at most 2"),
        (lambda: synonym_sensitivity(None, MODEL.sample(3, 0), random_state=-1), "random_state must be a whole number"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(call, words):
    with pytest.raises(ConfigError, match=words):
        call()


@pytest.mark.parametrize(
    ("sizes", "values", "words"),
    [([1, 2], [0.5], "as many values as sizes"), ([], [], "at least one"), ([2, 1], [0.5, 0.1], "positive and grow")],
)
def test_curves_that_are_none_are_refused(sizes, values, words):
    with pytest.raises(DataError, match=words):
        first_crossing(sizes, values, 0.1)
    with pytest.raises(DataError, match="as many groups"):
        fit_law({"x": [1, 2, 3]}, [1, 2, 3], groups=[0])
