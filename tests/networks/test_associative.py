"""Associative memories against their formulas and the theory of their capacity."""

import math

import pytest
import torch

from compsparse.errors import CompsparseError
from compsparse.networks.associative import (
    hebbian_bit_error,
    hebbian_memory,
    pseudo_inverse_memory,
    recall_chain,
    softmax_memory,
)


def signs(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return 2.0 * torch.randint(2, shape, generator=generator).double() - 1


def wrong(recalled, stored):
    return float((torch.sign(recalled) != stored).double().mean())


def test_correction_15_the_pseudo_inverse_is_exact_up_to_d_patterns_where_equation_10_does_not_exist():
    X, Y = torch.randn(2, 30, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(pseudo_inverse_memory(X, Y)(X), Y, atol=1e-9)
    assert torch.linalg.matrix_rank(X @ X.T) == 20  # of 30: equation 10 asks for the inverse of a singular matrix
    many, values = torch.randn(2, 30, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    printed = values @ many.T @ torch.linalg.inv(many @ many.T)
    assert torch.allclose(pseudo_inverse_memory(many, values)(many), printed @ many, atol=1e-8)


def test_correction_15_hebb_is_right_where_keys_are_orthonormal_not_where_their_scatter_is():
    """X^T X = I makes Y X^T exact; X X^T = I with more patterns than dimensions does not."""
    basis = torch.linalg.qr(torch.randn(20, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))).Q
    few, Y = basis[:, :8], torch.randn(5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(hebbian_memory(few, Y)(few), Y, atol=1e-9)
    tight = torch.linalg.qr(torch.randn(30, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(2))).Q[:20]
    assert torch.allclose(tight @ tight.T, torch.eye(20, dtype=torch.float64), atol=1e-9)
    values = torch.randn(5, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    assert not torch.allclose(values @ tight.T @ tight, values, atol=0.1)


@pytest.mark.parametrize(("n_patterns", "published"), [(64, 0.0219), (128, 0.0778), (256, 0.1582)])
def test_hebbian_errors_follow_the_theory(n_patterns, published):
    assert hebbian_bit_error(256, n_patterns) == pytest.approx(published, abs=6e-4)
    X, Y = signs(8, 256, n_patterns, seed=1), signs(8, 256, n_patterns, seed=2)
    assert wrong(hebbian_memory(X, Y)(X), Y) == pytest.approx(hebbian_bit_error(256, n_patterns), rel=0.1)


def test_one_softmax_step_repairs_noisy_keys_where_hebb_fails():
    d, P = 256, 512
    X, Y = signs(d, P, seed=3), signs(64, P, seed=4)
    flips = torch.where(torch.rand(d, P, generator=torch.Generator().manual_seed(5)) < 0.2, -1.0, 1.0)
    assert wrong(softmax_memory(X, Y)(X * flips), Y) == 0
    assert wrong(hebbian_memory(X, Y)(X * flips), Y) > 0.2


def test_softmax_retrieval_is_a_weighted_mean_by_hand():
    X, Y = signs(6, 4), torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    xi = X[:, :1]
    weights = [math.exp(0.5 * float(X[:, j] @ xi[:, 0])) for j in range(4)]
    expected = sum(w * Y[:, j] for j, w in enumerate(weights)) / sum(weights)
    assert torch.allclose(softmax_memory(X, Y, beta=0.5)(xi)[:, 0], expected)


@pytest.mark.parametrize("make", [pseudo_inverse_memory, softmax_memory, hebbian_memory])
def test_a_chain_of_associations_comes_out_in_order(make):
    patterns = signs(200, 12)
    memory = make(patterns[:, :-1], patterns[:, 1:])
    states = recall_chain(memory, patterns[:, :1], 11)
    assert torch.equal(torch.cat(states, dim=1), patterns)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: hebbian_memory(signs(4, 3), signs(4, 2)),
            r"needs a value: X has shape \(4, 3\), Y \(4, 2\)",
        ),
        (lambda: hebbian_memory(signs(4), signs(4, 2)), "X must hold patterns of real numbers as columns"),
        (lambda: pseudo_inverse_memory(signs(4, 2) * math.nan, signs(4, 2)), "X holds NaN"),
        (lambda: softmax_memory(signs(4, 2), signs(4, 2), beta=0), "beta must be"),
        (lambda: softmax_memory(signs(4, 2), signs(4, 2))(signs(3, 1)), "queries must be columns of 4 numbers"),
        (lambda: recall_chain(hebbian_memory(signs(4, 2), signs(3, 2)), signs(4, 1), 2), "values as long as keys"),
        (lambda: recall_chain(3, signs(4, 1), 2), "memory must be a function of queries, got 3"),
        (lambda: hebbian_bit_error(256, 0), "n_patterns must be"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(CompsparseError, match=message):
        call()
