"""Networks of hat compositions and Takagi sums: exact in rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from compsparse.construct.self_similar import (
    HAT,
    StraightPieces,
    hat_network,
    self_similar_network,
    takagi_network,
)
from compsparse.errors import ConfigError
from compsparse.tasks.takagi import hat_sum, takagi_coefficients


def dyadic(n):
    return [Fraction(j, 2**n) for j in range(2**n + 1)]


@pytest.mark.parametrize("k", [1, 2, 5])
def test_composed_hats_are_saws(k):
    network = hat_network(k)
    for x in dyadic(k + 2):
        tooth = (x * 2**k) % 2
        assert network.exact([x]) == [min(tooth, 2 - tooth)]
    assert network.size.units == 2 * k
    assert network.size.depth == k
    assert max(layer.n_outputs for layer in network.layers) == 2


@pytest.mark.parametrize("m", [1, 2, 3, 8, 40])
def test_takagi_sums_are_exact_and_their_error_is_two_thirds_of_a_power(m):
    network = takagi_network(takagi_coefficients(m))
    third = Fraction(1, 3)
    assert Fraction(2, 3) - network.exact([third])[0] == Fraction(2, 3) / 2**m  # T(1/3) = 2/3
    # the tail is 2^-m T(H^m(x)), and T is at most 2/3: seen at other points of the worst case
    for x in (Fraction(5, 12), third + Fraction(1, 4), Fraction(1, 6)):
        far = hat_sum(x, [Fraction(1, 2**k) for k in range(1, m + 60)])
        assert 0 <= far - network.exact([x])[0] <= Fraction(2, 3) / 2**m
    assert network.size.units == 3 * m - 1
    assert max(layer.n_outputs for layer in network.layers) <= 3


def test_partial_sums_are_exact_where_later_hats_vanish():
    network = takagi_network(takagi_coefficients(5))
    for x in dyadic(5):
        assert network.exact([x])[0] == hat_sum(x, [Fraction(1, 2**k) for k in range(1, 30)])


def test_the_refinement_equation():
    # T(x/2) = x/2 + T(x)/2, for partial sums with one more term on the left
    for x in (Fraction(1, 7), Fraction(3, 5), Fraction(2, 3)):
        fine, coarse = takagi_network(takagi_coefficients(9)), takagi_network(takagi_coefficients(8))
        assert fine.exact([x / 2])[0] == x / 2 + coarse.exact([x])[0] / 2


def test_parabolas_are_members():
    # x(1 - x) less the partial sum is between 0 and 4^-(m+1)
    m = 6
    network = takagi_network(takagi_coefficients(m, 0.25))
    errors = [x * (1 - x) - network.exact([x])[0] for x in dyadic(m + 1)]
    assert min(errors) == 0
    assert max(errors) == Fraction(1, 4 ** (m + 1))


def test_members_without_a_hoelder_order_converge_slowly():
    # w_k = 1/k^2: at 1/3 every hat is 2/3, and the tail falls like 1/m, so that accuracy is not exponential in depth
    whole = np.pi**2 / 9
    for m in (3, 10, 30):
        tail = whole - float(takagi_network([1 / k**2 for k in range(1, m + 1)]).exact([Fraction(1, 3)])[0])
        assert 2 / 3 / (m + 1) < tail < 2 / 3 / m


@pytest.mark.parametrize("signs", [1, -1])
def test_weights_of_either_sign_and_torch(signs):
    rng = np.random.default_rng(0)
    weights = (signs * rng.normal(size=7)).tolist()
    x = rng.random(200)
    for dtype, tol in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
        network = takagi_network(weights).to(dtype)
        found = network(torch.tensor(x, dtype=dtype)[:, None])[:, 0].double().numpy()
        np.testing.assert_allclose(found, hat_sum(x, weights), atol=tol)


def test_series_with_other_maps():
    psi = StraightPieces([0, 0.25, 0.75, 1], [0.5, 1, 0, 0.25])
    g = StraightPieces([0, 0.3, 1], [1, -1, 2])
    weights = [0.7, -0.3, 0.2, 0.1]
    network = self_similar_network(psi, weights, g)
    x = np.random.default_rng(1).random(300)
    value, total = x, 0
    for w in weights:
        value = psi(value)
        total = total + w * g(value)
    np.testing.assert_allclose(network(torch.tensor(x)[:, None])[:, 0].numpy(), total, atol=1e-12)
    # W1 + W2 units a layer, the knot at 0 shared, and the sum; m + 1 layers
    assert max(layer.n_outputs for layer in network.layers) == 3 + 2 - 1 + 1
    assert network.size.depth == 5


def test_float64_loses_deep_hats_and_fractions_do_not():
    x = 1 / 3  # a dyadic number, so that its hats end in 0
    assert hat_sum(x, [0.0] * 59 + [1.0]) == 0
    assert hat_network(60).exact([Fraction(1, 3)]) == [Fraction(2, 3)]


def test_what_is_refused():
    with pytest.raises(ConfigError, match="psi must map"):
        self_similar_network(StraightPieces([0, 1], [0, 2]), [1.0])
    with pytest.raises(ConfigError, match="increase from 0 to 1"):
        StraightPieces([0, 0.5], [0, 1])
    with pytest.raises(ConfigError, match="coefficients must hold 1 to"):
        takagi_network([])
    assert HAT(0.25) == 0.5
