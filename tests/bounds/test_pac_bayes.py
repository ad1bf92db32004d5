"""PAC-Bayes: the inverse of kl, noise as if weights were drawn, and a bound above what it bounds."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from compsparse.bounds import compare, lower
from compsparse.bounds.pac_bayes import _kl, kl_inverse, noisy_outputs


@pytest.mark.parametrize("mean", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("bound", [0.01, 0.3, 2.0])
def test_the_inverse_of_kl_is_one(mean, bound):
    found = kl_inverse(mean, bound)
    assert found == pytest.approx(1.0) or _kl(mean, found) == pytest.approx(bound, rel=1e-6)
    assert found >= mean


def test_nothing_is_certain_with_an_infinite_divergence():
    assert kl_inverse(0.2, math.inf) == 1.0
    assert kl_inverse(1.0, 0.1) == 1.0


@pytest.mark.parametrize("shared", [False, True])
def test_noise_is_that_of_drawn_weights(shared):
    """Mean, spread and correlation of two outputs agree with weights that are drawn one set a time."""
    torch.manual_seed(0)
    layers = [nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(6, 2)]
    module = nn.Sequential(*(layers if shared else [nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)])).double()
    lowered = lower(module, np.array([[1.0, -0.5, 2.0, 0.3]]))
    (network,) = lowered.members
    n, sigma = 20_000, 0.3
    generator = torch.Generator().manual_seed(1)
    fast = noisy_outputs(network, lowered.X.expand(n, -1), sigma, generator)

    def drawn(tensor):
        return tensor + sigma * torch.randn(n, *tensor.shape, generator=generator, dtype=tensor.dtype)

    parameters = [drawn(t) for w, b in network.weights() for t in (w, b)]
    slow = torch.func.vmap(lambda ts: network(lowered.X, [(ts[0], ts[1]), (ts[2], ts[3])])[0])(parameters)
    spread = slow.std(0)
    assert ((fast.mean(0) - slow.mean(0)).abs() < 0.04 * spread).all()
    assert torch.allclose(fast.std(0), spread, rtol=0.04)
    assert torch.corrcoef(fast.T)[0, 1] == pytest.approx(float(torch.corrcoef(slow.T)[0, 1]), abs=0.04)


def test_an_easy_task_has_a_bound_below_one():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    X = rng.normal(size=(2000, 3)) + 6 * (2 * y[:, None] - 1)
    module = nn.Linear(3, 1, bias=False).double()
    nn.init.constant_(module.weight, 0.5)
    bound = compare(module, X, y)["PAC-Bayes, Gaussian"]
    assert bound.terms["noisy loss"] < bound.expected_loss < 0.1
    assert bound.terms["divergence"] == pytest.approx(0.75 / (2 * bound.terms["sigma"] ** 2))


def test_the_same_seed_gives_the_same_bound():
    X, y, module = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2, nn.Linear(3, 2)
    one, other = (compare(module, X, y, random_state=3)["PAC-Bayes, Gaussian"] for _ in range(2))
    assert one.expected_loss == other.expected_loss
