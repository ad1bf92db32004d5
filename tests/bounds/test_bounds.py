"""Bounds against closed forms and slow references; the corrections of the memos' formulas."""

import itertools
import math
import pickle

import numpy as np
import pytest
import torch
from torch import nn

from compsparse.bounds import compare, lower, overlap_multiplicity
from compsparse.bounds.blocks import (
    _spectral_bound,
    block_graph,
    layer_norms,
    layer_shapes,
    path_sums,
    row_multiplicity,
)
from compsparse.bounds.description import GRID_SLACK
from compsparse.certificate import Rigour
from compsparse.errors import ConfigError, DataError
from compsparse.graph import balanced_tree
from compsparse.networks import dense, local, mirror

RNG = np.random.default_rng(1)


def plain(*sizes: int, bias: bool = False) -> nn.Sequential:
    """A dense ReLU network without biases."""
    torch.manual_seed(sum(sizes))
    layers = [m for a, b in itertools.pairwise(sizes) for m in (nn.Linear(a, b, bias=bias), nn.ReLU())]
    return nn.Sequential(*layers[:-1]).double()


def convolution(kernel: int, stride: int, n: int, channels: int = 1, bias: bool = False) -> nn.Sequential:
    """One convolution and a linear readout."""
    torch.manual_seed(kernel + stride)
    places = (n - kernel) // stride + 1
    layers = [nn.Unflatten(1, (1, n)), nn.Conv1d(1, channels, kernel, stride, bias=bias), nn.ReLU(), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(channels * places, 1, bias=bias)).double()


# ---- closed forms -------------------------------------------------------------------------------


def test_a_linear_class_has_its_closed_form():
    X, layer = RNG.normal(size=(30, 5)), nn.Linear(5, 1, bias=False).double()
    expected = float(layer.weight.detach().norm()) * np.linalg.norm(X) / 30
    assert compare(layer, X)["block paths"].complexity == pytest.approx(expected)
    biased = nn.Linear(5, 1).double()
    weights = torch.cat([biased.weight.detach().ravel(), biased.bias.detach()])
    expected = float(weights.norm()) * math.sqrt((X**2).sum() + 30) / 30
    assert compare(biased, X)["block paths"].complexity == pytest.approx(expected)


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_a_dense_network_has_the_dense_formula_through_its_graph(n_outputs):
    X, network = RNG.normal(size=(40, 6)), plain(6, 7, 5, n_outputs)
    table = compare(network, X)
    *hidden, last = [m.weight.detach() for m in network if isinstance(m, nn.Linear)]
    product = math.prod(float(w.norm()) for w in hidden) * float(last.norm(dim=1).sum())
    root = 1 + math.sqrt(2 * (3 * math.log(2) + math.log(n_outputs)))
    expected = product * root * np.linalg.norm(X) / 40
    assert table["Golowich"].complexity == pytest.approx(expected)
    assert table["degree-aware"].complexity == pytest.approx(expected)
    sharp = 1 + math.sqrt(2 * (2 * math.log(2) + math.log(n_outputs)))
    assert table["block paths"].complexity == pytest.approx(expected * sharp / root)


def test_biases_are_weights_of_a_constant_input():
    """A network with biases has the complexity of one without that reads a constant, where that is possible."""
    X = RNG.normal(size=(20, 4))
    biased = nn.Linear(4, 1).double()
    joined = nn.Linear(5, 1, bias=False).double()
    with torch.no_grad():
        joined.weight.copy_(torch.cat([biased.weight, biased.bias[:, None]], 1))
    one, other = compare(biased, X), compare(joined, np.column_stack([X, np.ones(20)]))
    for name in ("block paths", "degree-aware", "Golowich", "spectral", "range"):
        assert one[name].complexity == pytest.approx(other[name].complexity)


def block_paths(network, energies, n_rows):
    """(norm product, degree product, energy of the patch) of every path from the output to a patch, one by one."""
    blocks = block_graph(network, energies, n_rows)
    found = []

    def down(block, norms, degrees):
        if blocks.patch_energy[block]:
            found.append((norms, degrees, blocks.patch_energy[block]))
        sources = blocks.sources[blocks.readers == block]
        for source in sources:
            down(source, norms * blocks.norms[source], degrees * len(sources))

    (output,) = blocks.output_blocks
    down(output, float(blocks.output_norms[0]), 1)
    return blocks, found


def without_biases(network):
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "bias" in name:
                parameter.zero_()
    return network


@pytest.mark.parametrize("n_inputs", [4, 8])
def test_the_dynamic_program_finds_what_listing_all_paths_does(n_inputs):
    torch.manual_seed(n_inputs)
    kernels = [nn.Conv1d(1, 2, 2, 2, bias=False), nn.ReLU(), nn.Conv1d(2, 3, 2, 1, bias=False), nn.ReLU()]
    places = n_inputs // 2 - 1
    module = nn.Sequential(nn.Unflatten(1, (1, n_inputs)), *kernels, nn.Flatten(), nn.Linear(3 * places, 1, bias=False))
    X = RNG.normal(size=(15, n_inputs)) * RNG.uniform(0.5, 3, n_inputs)
    energies = (X**2).sum(0)
    (network,) = lower(module, X).members
    blocks, paths = block_paths(network, energies, 15)
    norms, degrees, patches = np.array(paths).T
    rho = blocks.output_norms[0] * np.prod(blocks.tier_maximum(blocks.norms)[:-1])
    table = compare(module, X)
    logs = 3 * math.log(2) + math.log(places) + math.log(2)
    expected = rho * math.sqrt((degrees * patches).max()) * (1 + math.sqrt(2 * logs)) / 15
    assert table["degree-aware"].complexity == pytest.approx(expected, rel=1e-6)
    sharp = math.sqrt((norms**2 * patches).sum()) * (1 + math.sqrt(2 * blocks.log_terms)) / 15
    assert table["block paths"].complexity == pytest.approx(sharp, rel=1e-6)
    assert blocks.log_terms == pytest.approx(2 * math.log(2) + math.log(n_inputs // 2))


def test_exponentials_are_counted():
    """Two contractions above four different patches, and a constant for each layer above the first."""
    X = np.ones((3, 8))
    network = nn.Sequential(
        nn.Unflatten(1, (1, 8)), nn.Conv1d(1, 1, 2, 2), nn.ReLU(), nn.Conv1d(1, 1, 2, 2), nn.ReLU(), nn.Flatten(),
        nn.Linear(2, 1),
    )  # fmt: skip
    (lowered,) = lower(network, X).members
    found = block_graph(lowered, (X**2).sum(0), 3)
    assert math.exp(found.log_terms) == pytest.approx(1 + 2 + 4 * 4)


def test_path_sums_are_sums_over_paths():
    network = plain(3, 4, 2, 2)
    a, b, c = (m.weight.detach() for m in network if isinstance(m, nn.Linear))
    (lowered,) = lower(network, np.ones((2, 3))).members
    listed = [
        sum(abs(float(c[o, k] * b[k, j] * a[j, i])) for i in range(3) for j in range(4) for k in range(2))
        for o in range(2)
    ]
    assert path_sums(lowered, torch.abs) == pytest.approx(listed)
    assert path_sums(lowered, torch.square) == pytest.approx(((c**2) @ (b**2) @ (a**2)).sum(1).numpy())
    assert path_sums(lowered, None) == pytest.approx([24, 24])


@pytest.mark.parametrize("bias", [False, True])
def test_spectral_norms_are_those_of_the_matrices(bias):
    network = plain(5, 6, 3, bias=bias)
    (lowered,) = lower(network, np.ones((2, 5))).members
    found = layer_norms(lowered)
    first, last = (m.weight.detach() for m in network if isinstance(m, nn.Linear))
    if bias:
        offsets = [m.bias.detach()[:, None] for m in network if isinstance(m, nn.Linear)]
        carried = torch.eye(6, dtype=torch.double)[-1:]
        first, last = torch.cat([torch.cat([first, offsets[0]], 1), carried]), torch.cat([last, offsets[1]], 1)
        assert [layer.units for layer in found] == pytest.approx(
            [float(first[:-1].norm(dim=1).sum()), float(last.norm(dim=1).sum())]
        )
    assert [layer.spectral for layer in found] == pytest.approx(
        [float(torch.linalg.matrix_norm(m, 2)) for m in (first, last)]
    )


def test_large_convolutions_have_a_spectral_bound_above_their_norm():
    module = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.Conv2d(3, 2, 2), nn.Flatten(), nn.Linear(32, 1))
    (lowered,) = lower(module, np.ones((2, 2, 5, 5))).members
    exact = [layer.spectral for layer in layer_norms(lowered)]
    bounds = [math.sqrt(_spectral_bound(stage) ** 2 + 1) for stage in lowered.stages]
    assert all(b >= e * (1 - 1e-12) for b, e in zip(bounds, exact, strict=True))
    assert all(b <= 4 * e for b, e in zip(bounds, exact, strict=True))


# ---- order among bounds -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_sharper_bounds_are_below_the_others(seed):
    rng = np.random.default_rng(seed)
    network = local(8, 2, 2, width=int(rng.integers(1, 5)), activation="relu", random_state=seed)
    table = compare(network, rng.normal(size=(30, 8)))
    sharp = table["block paths"].complexity
    assert sharp <= table["degree-aware"].complexity
    assert sharp <= table["degree-aware, unit by unit"].complexity
    assert table["path norm, l1"].complexity <= table["path norm, l2"].complexity
    assert table["range"].complexity <= table["spectral"].complexity


def test_local_networks_have_smaller_bounds_than_their_matrices_say():
    module = nn.Sequential(nn.Unflatten(1, (1, 16, 16)), nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(),
                           nn.Flatten(), nn.Linear(8 * 144, 1))  # fmt: skip
    table = compare(module, RNG.normal(size=(50, 256)))
    assert table["Golowich"].complexity > 10 * table["degree-aware"].complexity


# ---- corrections --------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [2, 4])
def test_correction_9_a_convolution_contributes_root_k_over_n_of_its_matrix(kernel):
    """Theorem 2: sqrt(k/n) norm(W)_F instead of norm(W)_F, for a kernel that reads k of n places."""
    X, n = np.ones((3, 16)), 16
    torch.manual_seed(0)
    module = nn.Sequential(nn.Unflatten(1, (1, n)), nn.Conv1d(1, 1, 1), nn.ReLU(),
                           nn.Conv1d(1, 1, kernel, stride=1), nn.ReLU(), nn.Flatten(),
                           nn.Linear(n - kernel + 1, 1, bias=False))  # fmt: skip
    (network,) = lower(module, X).members
    blocks = block_graph(network, (X**2).sum(0), 3)
    places = n - kernel + 1
    whole = blocks.tier_norms[1]
    contribution = math.sqrt(blocks.degrees[n]) * blocks.tier_maximum(blocks.norms)[1]
    assert blocks.degrees[n] == kernel
    assert contribution == pytest.approx(math.sqrt(kernel / places) * whole)


def test_correction_10_theorem_11_has_two_to_the_number_of_layers_less_one():
    network, X = mirror(balanced_tree(8), 1, 0, "relu", share="level", random_state=0), RNG.normal(size=(20, 8))
    (lowered,) = lower(without_biases(network), X).members
    norms = layer_shapes(lowered).norms
    assert len(norms) == 3
    data = np.linalg.norm(np.column_stack([X, np.ones(20)])) / 20  # biases of zero still read a constant
    table = compare(network, X)
    assert table["memo, Theorem 11"].complexity == pytest.approx(4 * math.prod(norms) * data)
    root = math.sqrt(2 * math.log(2) * 3) + 1
    assert table["memo, Theorem 11, root"].complexity == pytest.approx(root * math.prod(norms) * data)


def test_correction_11_lemma_4_needs_the_root_of_the_number_of_functions():
    """H = {h, -h} with h >= 0 and 64 functions: the sup over w reaches 8 h, and 2 M R(H) is exceeded."""
    m, k, M = 10, 64, 1.0
    h = np.full(m, 0.302 / 2 / np.mean([abs(sum(s)) / m for s in itertools.product((-1, 1), repeat=m)]))
    sums = np.array([np.dot(s, h) / m for s in itertools.product((-1, 1), repeat=m)])
    complexity = np.abs(sums).mean()
    # sum_j w_j h_j with norm(w)_2 <= M is c h for every |c| <= M sqrt(k), and the ReLU leaves c >= 0
    composed = np.maximum(M * math.sqrt(k) * sums, 0).mean()
    assert 2 * M * complexity == pytest.approx(0.302)
    assert composed == pytest.approx(0.604)
    assert composed > 2 * M * complexity
    assert composed <= 2 * M * math.sqrt(k) * complexity
    # norm(w)_1 <= M leaves |c| <= M, and the lemma holds
    assert np.maximum(M * sums, 0).mean() <= 2 * M * complexity


def test_correction_12_theorem_12_falls_with_the_root_of_the_sample_size():
    X, network = RNG.normal(size=(30, 8)), convolution(2, 2, 8)
    once, four = compare(network, X), compare(network, np.tile(X, (4, 1)))
    for name in ("memo, Theorem 12", "memo, Theorem 11", "memo, Conjecture 5", "block paths", "Golowich"):
        assert four[name].complexity == pytest.approx(once[name].complexity / 2)


@pytest.mark.parametrize("kernel", [2, 3, 4, 5])
def test_correction_13_overlap_is_a_whole_number_of_patches(kernel):
    for stride in range(1, kernel + 1):
        module = convolution(kernel, stride, kernel + 12 * stride)
        X = np.ones((2, kernel + 12 * stride))
        (network,) = lower(module, X).members
        assert row_multiplicity(network.stages[0]) == overlap_multiplicity(kernel, kernel - stride)
        table = compare(module, X)
        ratio = table["memo, Conjecture 5"].complexity / table["memo, Theorem 11"].complexity
        assert ratio == pytest.approx(math.sqrt(math.ceil(kernel / stride)))
    assert overlap_multiplicity(3, 1) == 2  # printed is 1.5


# ---- what is said of other activations, losses, and of mistakes ---------------------------------


def test_bounds_that_need_homogeneity_are_not_called_proved_without_it():
    X = RNG.normal(size=(20, 4))
    table = compare(dense(4, 5, 2, activation="tanh", random_state=0), X)
    proved = {b.name for b in table.bounds if b.rigour is Rigour.PROVED}
    assert proved == {"degree-aware, unit by unit", "spectral", "range", "parameter counting"}
    assert any("NOT MET: tanh" in a for a in table["Golowich"].assumes)
    pooled = nn.Sequential(nn.Conv1d(1, 2, 2), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(2, 1))
    largest = compare(pooled, X[:, None, :])
    proved = {b.name for b in largest.bounds if b.rigour is Rigour.PROVED}
    assert proved == {"spectral", "range", "parameter counting"}


def test_steeper_activations_raise_the_bound_unit_by_unit():
    X = RNG.normal(size=(20, 4))
    flat, steep = (
        compare(dense(4, 5, 2, activation=name, random_state=0), X)["degree-aware, unit by unit"].complexity
        for name in ("tanh", "silu")
    )
    assert flat < steep < flat * 1.09984**2 * 1.01


def test_losses_are_the_mean_of_a_bounded_loss_and_gaps_add_to_it():
    X, module = RNG.normal(size=(50, 4)), plain(4, 6, 3)
    with torch.no_grad():
        scores = module(torch.as_tensor(X)).numpy()
    y = scores.argmax(1)
    table = compare(module, X, y, margin=0.5)
    ordered = np.sort(scores, axis=1)
    ramp = np.clip(1 - (ordered[:, -1] - ordered[:, -2]) / 0.5, 0, 1)
    assert table.training_loss == pytest.approx(ramp.mean())
    assert table.training_error == 0
    bound = table["Golowich"]
    confidence = 3 * math.sqrt((math.log(2 * 16 / 0.05) + bound.terms["nats paid for"]) / 100)
    assert bound.gap == pytest.approx(2 * 2 / 0.5 * GRID_SLACK * bound.complexity + confidence)
    assert bound.expected_loss == pytest.approx(table.training_loss + bound.gap)
    numbers = compare(plain(4, 6, 1), X, X[:, 0], margin=2.0)
    with torch.no_grad():
        off = np.abs(plain(4, 6, 1)(torch.as_tensor(X)).numpy()[:, 0] - X[:, 0])
    assert numbers.training_loss == pytest.approx(np.minimum(off / 2, 1).mean())
    bound = numbers["Golowich"]
    confidence = 3 * math.sqrt((math.log(2 * 16 / 0.05) + bound.terms["nats paid for"]) / 100)
    assert bound.gap == pytest.approx(GRID_SLACK * bound.complexity + confidence)


def test_parameter_counting_counts_bits():
    X, module = np.ones((100, 4)), nn.Linear(4, 1)
    gap = compare(module, X, np.zeros(100), given=True)["parameter counting"].gap
    margin = math.log(6)  # 1 is the middle of its grid
    assert gap == pytest.approx(math.sqrt((5 * 32 * math.log(2) + math.log(16 / 0.05) + margin) / 200))


def test_numbers_that_are_folded_into_weights_are_counted():
    X, module = np.ones((30, 4)), nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 1)).eval()
    stored = sum(p.numel() for p in module.parameters()) + 2 * 3  # and the running statistics
    assert compare(module, X).n_parameters == stored
    bare = nn.Sequential(nn.Linear(4, 3, bias=False), nn.BatchNorm1d(3, affine=False), nn.Linear(3, 1)).eval()
    assert compare(bare, X).n_parameters == 12 + 6 + 4


def test_a_table_that_knows_no_loss_equals_its_copy():
    table = compare(plain(4, 5, 1), RNG.normal(size=(20, 4)))
    assert np.isnan(table.training_loss)
    assert pickle.loads(pickle.dumps(table)) == table


def test_tables_print_and_become_data():
    table = compare(plain(4, 5, 1), RNG.normal(size=(20, 4)), np.arange(20) % 2)
    text = str(table)
    assert "20 rows, 25 parameters, training loss" in text
    assert all(b.name in text for b in table.bounds)
    frame = table.frame()
    assert list(frame["bound"]) == [b.name for b in table.bounds]
    first = table.to_dict()["bounds"][0]
    assert first["rigour"] == "proved"
    assert first["rigours"] == {"complexity": "proved", "gap": "proved", "expected loss": "proved"}
    assert first["vacuous"] == list(table.vacuous(table.bounds[0])) == ["gap", "expected loss"]
    assert f"{table.bounds[0].gap:.3g} (vacuous)" in text
    certificate = table["block paths"].certificate
    assert certificate.holds
    assert certificate.upper == table["block paths"].complexity
    with pytest.raises(KeyError):
        table["nonsense"]


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"margin": 0}, ConfigError, "margin must be a finite number > 0"),
        ({"confidence": 1}, ConfigError, "confidence must be"),
        ({"classification": 1}, ConfigError, "classification must be True or False"),
        ({"y": np.zeros(3)}, DataError, "one entry for each of the 4 rows"),
        ({"y": [0, 1, 2, 1]}, DataError, "3 classes but the model has one output"),
        ({"y": ["a", "b", "c", "d"]}, DataError, "y must hold finite numbers"),
        ({"y": np.zeros((4, 2))}, DataError, "1 outputs, but y has 2 columns"),
    ],
)
def test_bad_requests_are_named(options, error, sentence):
    with pytest.raises(error, match=sentence):
        compare(plain(3, 2, 1), np.ones((4, 3)), **options)


def test_classes_that_are_not_known_are_named():
    with pytest.raises(DataError, match="y holds 7, which is none of the classes 0, 1"):
        compare(plain(3, 2, 2), np.ones((4, 3)), [0, 1, 7, 0])
