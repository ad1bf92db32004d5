"""Noise as it comes: growing with the function, and so much of it that little can be told."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from compsparse.clock import Deadline
from compsparse.discovery.data.smooth.asking import SmoothSearch
from compsparse.discovery.data.smooth.noise import NoiseByHeight

N = 800


def search(noise, seed=0):
    """A fit of tanh(2ab) + c + d with normal noise, of a level given by the function."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N, 4))
    f = np.tanh(2 * X[:, 0] * X[:, 1]) + X[:, 2] + X[:, 3]
    y = f + noise(f) * rng.standard_normal(N)
    x = torch.as_tensor((X - X.mean(0)) / X.std(0))
    return SmoothSearch(x, y, torch.ones(N, dtype=torch.float64), "abcd", np.arange(160), seed, Deadline())


def test_the_level_is_that_of_rows_of_like_height_and_falls_between_groups():
    rng = np.random.default_rng(0)
    mean = rng.uniform(0, 1, 40_000)
    level = np.exp(mean)
    sure = NoiseByHeight.seen(mean, level * rng.standard_normal(len(mean))).precision(np.array([0.2, 0.8]))
    assert sure[0] / sure[1] == pytest.approx(np.exp(2 * 0.6), rel=0.1)


def test_even_noise_leaves_precision_even_and_nothing_is_divided_by_zero():
    mean, left = np.linspace(0, 1, 240), np.zeros(240)
    np.testing.assert_allclose(NoiseByHeight.seen(mean, left).precision(mean), 1e4)
    np.testing.assert_allclose(NoiseByHeight.seen(mean, left + 1).precision(mean), 1)
    assert len(NoiseByHeight.seen(mean[:30], left[:30]).heights) == 1


def test_growing_noise_is_seen_and_less_is_left_then():
    growing = search(lambda f: 0.15 * np.abs(f))
    plain = search(lambda f: 0.15 * np.abs(f))
    plain._by_height = lambda *_: None
    left, plain_left = growing.ask().unexplained, plain.ask().unexplained
    sure = growing.precision[growing.inner]
    near_zero = np.abs(growing.y[growing.inner]) < 0.1
    assert float(sure[torch.as_tensor(near_zero)].median()) > 5 * float(sure.median())
    assert torch.equal(plain.precision, torch.ones(N, dtype=torch.float64))
    assert left < plain_left


def test_even_noise_is_taken_for_even():
    even = search(lambda f: np.full(N, 0.1))
    even.ask()
    assert torch.equal(even.precision, torch.ones(N, dtype=torch.float64))


def test_under_much_noise_what_would_not_have_been_seen_is_named():
    answer = search(lambda f: np.full(N, 0.2)).ask()
    assert answer.tree is None
    assert answer.is_noisy
    assert answer.table is not None
    blurred = replace(answer, table=replace(answer.table, sizes=np.zeros((4, 4, 4)), unseen=np.ones((4, 4, 4))))
    assert blurred.untold(frozenset("ac")) == {"b", "d"}
    assert not replace(blurred, is_noisy=False).untold(frozenset("ac"))
