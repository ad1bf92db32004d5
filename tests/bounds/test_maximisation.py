"""The search stays in its class and reaches closed forms."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from compsparse.bounds import empirical_rademacher, lower
from compsparse.bounds.maximisation import _Search
from compsparse.errors import ConfigError
from compsparse.networks import MaskedNetwork, dense

RNG = np.random.default_rng(0)


def test_a_linear_class_reaches_its_closed_form():
    """norm(w) norm(sum_i s_i x_i) / m for every draw of signs."""
    X, layer = RNG.normal(size=(5, 3)), nn.Linear(3, 1, bias=False).double()
    norm = float(layer.weight.detach().norm())
    possible = [norm * np.linalg.norm(np.array(s) @ X) / 5 for s in itertools.product((-1, 1), repeat=5)]
    for value in empirical_rademacher(layer, X, n_draws=6).maxima:
        assert min(abs(value / p - 1) for p in possible) < 1e-3


def test_what_is_fixed_does_not_move():
    """Means over two places of one linear unit: the closed form of the pooled inputs, not more."""
    X = RNG.normal(size=(4, 3))
    layers = [nn.Unflatten(1, (1, 3)), nn.AvgPool1d(2, stride=1), nn.Flatten(), nn.Linear(2, 1, bias=False)]
    module = nn.Sequential(*layers).double()
    pooled = (X[:, 1:] + X[:, :-1]) / 2
    norm = float(module[3].weight.detach().norm())
    possible = [norm * np.linalg.norm(np.array(s) @ pooled) / 4 for s in itertools.product((-1, 1), repeat=4)]
    for value in empirical_rademacher(module, X, n_draws=6).maxima:
        assert min(abs(value / p - 1) for p in possible) < 1e-3


@pytest.mark.parametrize("weight_class", ["blocks", "tiers", "layers"])
def test_retracted_weights_have_the_norms_of_the_class(weight_class):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv1d(1, 2, 2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(10, 1)).double()
    lowered = lower(module, RNG.normal(size=(3, 1, 4)))
    (network,) = lowered.members
    search = _Search(network, lowered.X, weight_class)
    tensors = [3 * torch.randn(5, *t.shape, dtype=t.dtype) for pair in network.weights() for t in pair]
    weights, biases, *_ = search.retract_all(tensors)
    given = network.stages[0].unit_energies
    for weight, bias in zip(weights, biases, strict=True):
        own = replace(network.stages[0], weight=weight, bias=bias).unit_energies
        is_within = (
            own.sum() <= given.sum() * (1 + 1e-9)
            if weight_class == "layers"
            else (own.sum(1) <= (given.sum(1) if weight_class == "blocks" else given.sum(1).max()) * (1 + 1e-9)).all()
        )
        assert bool(is_within)


def test_requests_that_make_no_sense_are_named():
    with pytest.raises(ConfigError, match="weight_class must be one of"):
        empirical_rademacher(nn.Linear(2, 1), np.ones((3, 2)), weight_class="all")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="of one network, got 2 replicas"):
        empirical_rademacher(dense(2, 3, 1, n_replicas=2), np.ones((3, 2)))
    found = empirical_rademacher(nn.Linear(2, 1), np.ones((3, 2)), n_draws=1, n_steps=1)
    assert math.isinf(found.error)
    assert not found.certificate.holds


def test_path_norms_bind_outputs_of_several_stages():
    """Two outputs that read different inputs: the closed form is the path norm times the better of the two."""
    masks = [torch.tensor([[1, 0, 0], [0, 1, 1]], dtype=torch.bool)]
    network = MaskedNetwork(masks, [torch.zeros(2, dtype=torch.bool)], random_state=0)
    X = RNG.normal(size=(6, 3))
    norm = float((network.weights[0][0].detach().abs() * masks[0]).sum())
    found = empirical_rademacher(network, X, weight_class="l1 paths", n_draws=8, n_steps=50)
    largest = max(np.abs(X).sum(0).max(), 6)  # the constant that biases read adds up to 6
    assert (found.maxima <= norm * largest / 6 * (1 + 1e-6)).all()
