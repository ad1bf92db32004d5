"""Circuits of arithmetic against arithmetic."""

import numpy as np
import pytest

from compsparse.errors import ConfigError
from compsparse.representations.boolean import evaluate_bits
from compsparse.representations.boolean.reading import all_rows
from compsparse.tasks import comparator, fair_bits, majority_vote, multiplexer, parity_tree, ripple_adder


def number(bits):
    """Lowest bit first."""
    return bits.astype(object) @ (1 << np.arange(bits.shape[1]).astype(object))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_small_adders_and_comparators_on_all_inputs(n):
    X = all_rows(2 * n)
    a, b = number(X[:, :n]), number(X[:, n:])
    assert np.array_equal(number(evaluate_bits(ripple_adder(n).graph, X)), a + b)
    assert np.array_equal(evaluate_bits(comparator(n).graph, X)[:, 0], (a < b).astype(int))


def test_64_bits_on_random_and_extreme_inputs():
    X = np.random.default_rng(0).integers(0, 2, (3000, 128)).astype(np.uint8)
    X[0], X[1] = 0, 1
    X[1000:2000, 20:64] = X[1000:2000, 84:]  # numbers that differ in low bits alone
    a, b = number(X[:, :64]), number(X[:, 64:])
    assert np.array_equal(number(evaluate_bits(ripple_adder(64).graph, X)), a + b)
    assert np.array_equal(evaluate_bits(comparator(64).graph, X)[:, 0], (a < b).astype(int))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_multiplexers_on_all_inputs(k):
    X = all_rows(k + 2**k)
    address = X[:, :k] @ (1 << np.arange(k)[::-1])
    assert np.array_equal(evaluate_bits(multiplexer(k).graph, X)[:, 0], X[np.arange(len(X)), k + address])


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 9, 12])
def test_parity_and_majority_on_all_inputs(n):
    X = all_rows(n)
    assert np.array_equal(evaluate_bits(parity_tree(n).graph, X)[:, 0], X.sum(1) % 2)
    assert np.array_equal(evaluate_bits(majority_vote(n).graph, X)[:, 0], (2 * X.sum(1) > n).astype(int))


@pytest.mark.parametrize(
    ("make", "gates"),
    [
        (ripple_adder, lambda n: 2 * n),
        (comparator, lambda n: n),
        (parity_tree, lambda n: n - 1),
        (majority_vote, lambda n: 2 * n + 2 * np.log2(n)),
    ],
)
def test_gates_are_linear_in_the_inputs(make, gates):
    for n in (4, 16, 64, 200):
        graph = make(n).graph
        assert graph.size <= gates(n)
        assert graph.max_arity <= 3
    assert multiplexer(6).graph.size == 63


def test_circuits_are_tasks():
    task = ripple_adder(3)
    sample = task.sample(100, random_state=0)
    assert set(np.unique(sample.X)) == set(np.unique(sample.y)) == {0.0, 1.0}
    assert np.array_equal(number(sample.y), number(sample.X[:, :3]) + number(sample.X[:, 3:]))
    assert abs(fair_bits(4).sample(20_000, 0).mean() - 0.5) < 0.01


def test_sizes_that_make_no_sense():
    for make in (ripple_adder, comparator, multiplexer, parity_tree, majority_vote):
        with pytest.raises(ConfigError):
            make(0)
        with pytest.raises(ConfigError):
            make(10**9)
