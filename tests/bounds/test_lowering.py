"""A model as stages computes what the model computes; what bounds cannot read is named."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from compsparse.bounds import compare, lower
from compsparse.errors import ConfigError, DataError
from compsparse.estimators import GraphClassifier, GraphRegressor
from compsparse.graph import FunctionGraph
from compsparse.networks import MaskedNetwork, convolutional, dense, local, mirror, to_masked
from compsparse.networks.symbols import CommonCNN, FullyConnectedNetwork, HierarchicalCNN, HierarchicalLCN

RNG = np.random.default_rng(0)
GRAPH = FunctionGraph.from_expression("tanh(a*b + c) * a + b")  # reads inputs and wires past levels


def pruned() -> nn.Module:
    layer = nn.Linear(6, 5)
    prune.random_unstructured(layer, "weight", 0.5)
    return nn.Sequential(layer, nn.ReLU(), nn.Linear(5, 2))


def trained_norm(size: int, dimensions: int) -> nn.Module:
    norm = nn.BatchNorm1d(size) if dimensions == 1 else nn.BatchNorm2d(size)
    with torch.no_grad():
        for tensor in (norm.weight, norm.bias, norm.running_mean):
            tensor.copy_(torch.randn(size))
        norm.running_var.copy_(torch.rand(size) + 0.5)
    return norm


MODULES = {
    "linear": (lambda: nn.Linear(6, 3), (6,)),
    "dense": (lambda: nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Sequential(nn.Linear(5, 1, bias=False))), (6,)),
    "strided": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2)),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(4 * 4 * 4, 3),
        ),
        (2, 7, 6),
    ),
    "groups": (
        lambda: nn.Sequential(nn.Conv2d(4, 6, 2, groups=2), nn.SiLU(), nn.Flatten(), nn.Linear(24, 1)),
        (4, 3, 3),
    ),
    "one dimension": (
        lambda: nn.Sequential(nn.Conv1d(2, 3, 3, padding=1), nn.GELU(), nn.AvgPool1d(2, stride=1), nn.Flatten(),
                              nn.Linear(15, 2)),
        (2, 6),
    ),
    "pooled": (
        lambda: nn.Sequential(nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 3, 2, padding=1), nn.MaxPool2d(2), nn.ReLU(),
                              nn.AdaptiveAvgPool2d(1), nn.Dropout(), nn.Flatten(), nn.Linear(3, 2)),
        (16,),
    ),
    "normed": (
        lambda: nn.Sequential(nn.Conv2d(1, 3, 2, bias=False), trained_norm(3, 2), nn.ReLU(), nn.Flatten(),
                              nn.Linear(12, 4), trained_norm(4, 1), nn.ReLU(), nn.Linear(4, 1)),
        (1, 3, 3),
    ),
    "pruned": (pruned, (6,)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_stages_compute_what_the_module_does(name):
    torch.manual_seed(0)
    make, shape = MODULES[name]
    module, X = make().eval().double(), RNG.normal(size=(5, *shape))
    lowered = lower(module, X)
    (network,) = lowered.members
    assert torch.allclose(network(lowered.X), module(torch.as_tensor(X)).detach())
    free = sum(p.numel() for p in module.parameters())
    if name == "pruned":
        free -= 15
    if name in ("normed", "groups"):  # folded scales, and zeros between groups, are no parameters of the module
        return
    assert network.n_parameters == free


def random_masks(*sizes):
    masks = [torch.rand(b, a, generator=torch.Generator().manual_seed(a)) < 0.5 for a, b in zip(sizes, sizes[1:])]  # noqa: B905, RUF007
    return MaskedNetwork(masks, [torch.arange(len(m)) % 3 > 0 for m in masks], "relu", random_state=0)


NETWORKS = {
    "mirror": lambda: mirror(GRAPH, 3, 2, "relu", channels=2, n_replicas=2, random_state=0),
    "dense": lambda: dense(3, 4, 1, activation="tanh", random_state=0),
    "masked mirror": lambda: to_masked(mirror(GRAPH, 3, 1, "relu", random_state=0)),
    "masked": lambda: random_masks(3, 6, 7, 1),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_stages_compute_what_the_network_does(name):
    network = NETWORKS[name]()
    lowered = lower(network, RNG.normal(size=(5, 3)))
    answers = torch.stack([member(lowered.X) for member in lowered.members]).mean(0)
    assert torch.allclose(answers, lowered.outputs, atol=1e-5)


@pytest.mark.parametrize(
    "network",
    [
        FullyConnectedNetwork(8, 3, 2, width=5, random_state=0),
        HierarchicalCNN(8, 3, 2, patch=2, width=5, random_state=0, bias_per_position=True),
        HierarchicalLCN(8, 3, 2, patch=2, n_layers=2, width=5, random_state=0, n_replicas=2),
    ],
    ids=lambda network: type(network).__name__,
)
def test_stages_compute_what_symbol_networks_do(network):
    lowered = lower(network, RNG.integers(-1, 3, (5, 8)))
    answers = torch.stack([member(lowered.X) for member in lowered.members]).mean(0)
    assert torch.allclose(answers, lowered.outputs, atol=1e-5)


def test_a_mirrored_network_and_its_masked_twin_have_the_same_bounds():
    X = RNG.normal(size=(20, 8))
    network = local(8, 2, 2, width=3, activation="relu", random_state=0)
    one, other = compare(network, X), compare(to_masked(network), X)
    for bound in ("block paths", "degree-aware", "Golowich", "spectral", "path norm, l1", "memo, Theorem 12"):
        assert other[bound].complexity == pytest.approx(one[bound].complexity)


def test_a_convolution_has_the_bounds_of_the_locally_connected_network_with_equal_weights():
    X = RNG.normal(size=(20, 8))
    shared = convolutional(8, 2, 2, width=3, activation="relu", random_state=0)
    free = local(8, 2, 2, width=3, activation="relu", random_state=0)
    with torch.no_grad():
        for ours, theirs in zip(free.blocks, shared.blocks, strict=True):
            for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
                a.copy_(b.expand_as(a))
    one, other = compare(shared, X), compare(free, X)
    for bound in ("block paths", "degree-aware", "Golowich", "spectral", "range", "path norm, l2"):
        assert other[bound].complexity == pytest.approx(one[bound].complexity)
    assert one.n_parameters < other.n_parameters


def test_fitted_estimators_are_read():
    X = RNG.normal(size=(60, 3))
    settings = {"width": 4, "n_restarts": 2, "n_keep": 2, "n_steps": 5, "refine_iterations": 0, "random_state": 0}
    number = GraphRegressor("a*b + c", activation="relu", **settings)
    table = compare(number.fit(X, 100 + 10 * X[:, 0]), X, 100 + 10 * X[:, 0])
    assert table["block paths"].rigour.value == "proved"
    assert 0 <= table.training_loss < 1  # the target is in the model's own units
    assert compare(number.model_, X).n_parameters == table.n_parameters
    labels = np.where(X[:, 0] > 0, "yes", "no")
    classes = compare(GraphClassifier("a*b + c", **settings).fit(X, labels), X, labels)
    assert 0 <= classes.training_error < 0.7
    assert classes["block paths"].rigour.value == "heuristic"  # silu


@pytest.mark.parametrize(
    ("model", "shape", "sentence"),
    [
        (nn.Sequential(nn.Linear(3, 2), nn.Softmax(-1)), (3,), "do not know Softmax '1'; they read Linear, Conv1d"),
        (nn.LSTM(3, 2), (3,), "no Linear or Conv layer"),
        (nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), (3,), "call eval"),
        (nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.BatchNorm1d(2)).eval(), (3,), "must follow a Linear"),
        (nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Tanh()), (3,), "no other activation"),
        (nn.Sequential(nn.Conv2d(1, 1, 2, padding="same")), (1, 4, 4), "must pad with zeros, by numbers"),
        (nn.Sequential(nn.Conv2d(1, 2, 2), nn.MaxPool2d(2, padding=1)), (1, 4, 4), "no padding"),
        (CommonCNN(4, 2, 2, width=4), (4,), "do not know CommonCNN"),
        (GraphRegressor(), (3,), "GraphRegressor is not fitted"),
        ("a network", (3,), "model must be a fitted estimator"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_models_that_cannot_be_read_are_named(model, shape, sentence):
    with pytest.raises(ConfigError, match=sentence):
        compare(model, np.ones((4, *shape)))


@pytest.mark.parametrize(
    ("model", "X", "sentence"),
    [
        (nn.Linear(3, 1), np.ones((4, 2)), "reads 3 numbers, but is given"),
        (nn.Linear(3, 1), np.ones(3), "array of rows"),
        (nn.Linear(3, 1), np.zeros((4, 3)), "all inputs are zero"),
        (nn.Linear(3, 1), np.full((4, 3), np.nan), "NaN or infinite"),
        (nn.Conv2d(1, 1, 5), np.ones((4, 1, 3, 3)), "windows of 5, but there are only 3"),
        (HierarchicalCNN(4, 3, 2, patch=2), np.full((4, 4), 0.5), "whole numbers"),
    ],
    ids=["columns", "flat", "zero", "nan", "window", "symbols"],
)
def test_data_that_do_not_fit_are_named(model, X, sentence):
    with pytest.raises(DataError, match=sentence):
        compare(model, X)


def test_a_layer_of_zeros_is_named():
    module = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1, bias=False))
    nn.init.zeros_(module[2].weight)
    with pytest.raises(DataError, match="all weights of Linear '2' are zero"):
        compare(module, np.ones((4, 3)))
