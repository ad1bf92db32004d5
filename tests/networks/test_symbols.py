"""Symbol networks against slow references, in company and alone."""

import math

import pytest
import torch

from compsparse.errors import ConfigError, DataError
from compsparse.networks import select
from compsparse.networks.symbols import (
    CommonCNN,
    FullyConnectedNetwork,
    HierarchicalCNN,
    HierarchicalLCN,
    TransformerNetwork,
    symbol_codes,
)

MAKE = {
    "cnn": lambda **s: HierarchicalCNN(8, 3, 4, patch=2, width=6, **s),
    "lcn": lambda **s: HierarchicalLCN(8, 3, 4, patch=2, width=6, **s),
    "shallow lcn": lambda **s: HierarchicalLCN(8, 3, 4, patch=2, n_layers=1, width=6, **s),
    "fcn": lambda **s: FullyConnectedNetwork(8, 3, 4, n_layers=2, width=6, **s),
    "plain": lambda **s: CommonCNN(8, 3, 4, width=6, **s),
    "residual": lambda **s: CommonCNN(7, 3, 4, width=6, variant="residual", **s),
    "transformer": lambda **s: TransformerNetwork(8, 3, 4, width=8, n_heads=2, **s),
}


def symbols(*shape: int, v: int = 3, seed: int = 0) -> torch.Tensor:
    return torch.randint(-1, v, shape, generator=torch.Generator().manual_seed(seed), dtype=torch.int8)


def five_dimensional(network: HierarchicalCNN | HierarchicalLCN, x: torch.Tensor) -> torch.Tensor:
    """The definition written out: products over (batch, out, in, position, patch), then sums."""
    h = symbol_codes(network.n_symbols)[x.long() + 1].transpose(1, 2)
    for layer in network.layers:
        batch, channels, positions = h.shape
        patches = h.view(batch, 1, channels, positions // network.patch, network.patch)
        weight = layer.weight[0].view(layer.count, network.patch, channels, -1).permute(3, 2, 0, 1)
        bias = layer.bias[0].flatten(0, 1).T
        h = torch.relu((patches * weight).sum((2, 4)) / math.sqrt(channels) + 0.1 * bias)
    return h.mean(-1) @ network.readout.layer.weight[0, 0] / network.width


@pytest.mark.parametrize("family", [HierarchicalCNN, HierarchicalLCN])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_hierarchical_networks_are_their_definition(family, n_layers):
    network = family(27, 3, 4, patch=3, n_layers=n_layers, width=5, random_state=0)
    x = symbols(6, 27)
    torch.testing.assert_close(network(x), five_dimensional(network, x))


def test_a_bias_per_position_is_what_it_says():
    network = HierarchicalCNN(27, 3, 4, patch=3, width=5, bias_per_position=True, random_state=0)
    assert [tuple(layer.bias.shape) for layer in network.layers] == [(1, 1, 9, 5), (1, 1, 3, 5), (1, 1, 1, 5)]
    x = symbols(6, 27)
    torch.testing.assert_close(network(x), five_dimensional(network, x))
    replicas = HierarchicalCNN(27, 3, 4, patch=3, width=5, bias_per_position=True, n_replicas=2, random_state=0)
    torch.testing.assert_close(replicas(x)[1], five_dimensional(select(replicas, [1]), x))
    local = HierarchicalLCN(27, 3, 4, patch=3, width=5, bias_per_position=True, random_state=0)
    torch.testing.assert_close(local(x), HierarchicalLCN(27, 3, 4, patch=3, width=5, random_state=0)(x))


def test_shared_weights_are_local_ones_that_agree():
    cnn = HierarchicalCNN(8, 3, 4, patch=2, width=5, random_state=0)
    lcn = HierarchicalLCN(8, 3, 4, patch=2, width=5, random_state=1)
    with torch.no_grad():
        for one, many in zip(cnn.layers, lcn.layers, strict=True):
            many.weight.copy_(one.weight.expand_as(many.weight))
            many.bias.copy_(one.bias.expand_as(many.bias))
        lcn.readout.layer.weight.copy_(cnn.readout.layer.weight)
    x = symbols(5, 8)
    torch.testing.assert_close(cnn(x), lcn(x))


@pytest.mark.parametrize("name", MAKE)
def test_a_replica_is_the_same_in_any_company(name):
    together = MAKE[name](n_replicas=3, random_state=0)
    x = symbols(3, 5, together.n_inputs)
    out = together(x)
    assert out.shape == (3, 5, 4)
    for r in range(3):
        torch.testing.assert_close(select(together, [r])(x[r : r + 1])[0], out[r])
    torch.testing.assert_close(together(x[0])[0], out[0])
    alone = MAKE[name](random_state=0)
    torch.testing.assert_close(alone(x[0]), out[0])


@pytest.mark.parametrize("name", MAKE)
def test_activations_end_with_the_outputs(name):
    network = MAKE[name](n_replicas=2, random_state=0)
    x = symbols(5, network.n_inputs)
    layers = network.activations(x)
    assert all(h.shape[:2] == (2, 5) for h in layers)
    torch.testing.assert_close(layers[-1], network(x))
    if name not in ("transformer",):
        assert all(bool((h >= 0).all()) for h in layers[:-1])


@pytest.mark.parametrize("name", MAKE)
def test_gradients_of_a_replica_are_its_own(name):
    network = MAKE[name](n_replicas=2, random_state=0)
    network(symbols(2, 5, network.n_inputs))[0].square().sum().backward()
    for parameter in network.parameters():
        assert bool(torch.isfinite(parameter.grad).all())
        assert not bool(parameter.grad[1].any())


def test_encoded_rows_are_read_as_they_are():
    network = MAKE["cnn"](random_state=0)
    x = symbols(5, 8)
    torch.testing.assert_close(network(symbol_codes(3)[x.long() + 1]), network(x))


@pytest.mark.parametrize("v", [2, 5, 8])
def test_shifted_codes_are_those_of_the_launch_scripts(v):
    codes = symbol_codes(v, shifted=True)
    absent = -1 / math.sqrt(v - 1)
    torch.testing.assert_close(codes[0], torch.full((v,), absent))
    torch.testing.assert_close(codes[1:], torch.where(torch.eye(v) > 0, 1.0, absent))
    network = HierarchicalCNN(8, v, 4, patch=2, width=5, shifted=True, random_state=0)
    torch.testing.assert_close(network.codes, codes)
    with pytest.raises(ConfigError, match="whitened or shifted, not both"):
        symbol_codes(v, whitened=True, shifted=True)


def test_whitened_codes_have_mean_zero_and_variance_one():
    codes = symbol_codes(5, whitened=True)
    torch.testing.assert_close(codes[1:].mean(0), torch.zeros(5))
    torch.testing.assert_close(codes[1:].var(0, correction=0), torch.ones(5))
    torch.testing.assert_close(codes[0], torch.full((5,), -1 / math.sqrt(4)))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: HierarchicalCNN(8, 3, 4, patch=3), "cannot be divided into patches of 3"),
        (lambda: HierarchicalCNN(8, 3, 4, patch=2, n_layers=4), "1 to 3 layers of patch 2, got 4"),
        (lambda: HierarchicalLCN(8, 3, 4, patch=2, width=0), "width must be a whole number >= 1"),
        (lambda: HierarchicalLCN(8, 3, 4, patch=2, width=2.5), "width must be a whole number >= 1"),
        (lambda: TransformerNetwork(8, 3, 4, width=10, n_heads=4), "cannot be shared by 4 heads"),
        (lambda: CommonCNN(8, 3, 4, variant="deep"), "variant must be one of 'plain', 'residual', got 'deep'"),
        (lambda: FullyConnectedNetwork(8, 3, 4, n_replicas=2, seeds=[1]), "one seed for each of the 2 replicas, got 1"),
        (lambda: FullyConnectedNetwork(8, 3, 4, random_state=-1), "random_state must be a whole number >= 0"),
        (lambda: FullyConnectedNetwork(0, 3, 4), "n_slots must be a whole number >= 1, got 0"),
        (lambda: CommonCNN(8, 3, 4, whitend=True), "CommonCNN has no option 'whitend'; did you mean 'whitened'"),
        (lambda: symbol_codes(1, whitened=True), "n_symbols must be a whole number >= 2"),
    ],
)
def test_impossible_shapes_are_refused(make, words):
    with pytest.raises(ConfigError, match=words):
        make()


def test_wrong_batches_are_refused():
    network = MAKE["cnn"](n_replicas=2, random_state=0)
    with pytest.raises(DataError, match=r"shape \(batch, 8\)"):
        network(symbols(5, 9))
    with pytest.raises(DataError, match="2 replicas but the batch is for 3"):
        network(symbols(3, 5, 8))
