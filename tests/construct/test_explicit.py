"""Explicit networks: what they compute, what they count, files, and bounds on their rounding."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import onnxruntime
import pytest
import torch
from scipy import sparse

from compsparse.construct import (
    ExplicitReLU,
    SparseLayer,
    chained,
    explicit_to_onnx,
    load_explicit,
    rounding_error,
    save_explicit,
)
from compsparse.errors import ConfigError, DataError


def hat() -> ExplicitReLU:
    """H(x) = 2 relu(x) - 4 relu(x - 1/2) on [0, 1], with x as a wire."""
    return ExplicitReLU(
        [SparseLayer.of([[1], [1]], [0, -0.5], [False, True]), SparseLayer.of([[2, -4]], [0], relu=False)]
    )


def random_network(seed, widths, density=0.3, dtype=torch.float64) -> ExplicitReLU:
    rng = np.random.default_rng(seed)
    layers = []
    for before, after in pairwise(widths):
        W = sparse.random(after, before, density=density, random_state=rng, data_rvs=rng.standard_normal)
        layers.append(SparseLayer.of(W, rng.standard_normal(after), rng.random(after) < 0.7))
    return ExplicitReLU(layers, dtype)


def dense_answer(network, x):
    value = x.T
    for layer in network.layers:
        value = layer.matrix.toarray() @ value + layer.bias[:, None]
        value = np.where(layer.relu[:, None], np.maximum(value, 0), value)
    return value.T


def test_a_stack_computes_what_dense_matrices_do():
    network = random_network(0, [5, 40, 30, 3])
    x = np.random.default_rng(1).normal(size=(20, 5))
    np.testing.assert_allclose(network(torch.from_numpy(x)).numpy(), dense_answer(network, x), rtol=1e-12)


def test_composed_hats_are_exact_in_fractions():
    twice = chained(hat(), hat())
    assert twice.exact([Fraction(1, 3)]) == [Fraction(2, 3)]
    assert twice.exact([Fraction(1, 8)]) == [Fraction(1, 2)]
    assert (twice.size.units, twice.size.depth) == (2, 2)
    # x, the sum between the two, and x again
    assert twice.size.strict_units == twice.size.units + 2 * 3


def test_entries_at_one_place_add_up_and_zeros_are_dropped():
    layer = SparseLayer(2, [0, 0, 0], [0, 0, 1], [1.0, 2.0, 0.0], [0.0], [False])
    assert layer.values.tolist() == [3.0]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ExplicitReLU([]), "at least one layer"),
        (lambda: ExplicitReLU([*hat().layers, *random_network(0, [2, 1]).layers]), "layer 2 reads 2 numbers"),
        (lambda: SparseLayer(1, [1], [0], [1.0], [0.0], [True]), "outside the layer"),
        (lambda: SparseLayer(1, [0], [0], [1.0], [0.0, 1.0], [True]), "a ReLU mark for each row"),
    ],
)
def test_layers_that_do_not_fit_are_refused(make, sentence):
    with pytest.raises(ConfigError, match=sentence):
        make()


def test_inputs_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match=r"shape \(batch, 1\)"):
        hat()(torch.zeros(3, 2))


def test_weights_can_be_trained():
    network = hat().requires_grad_(True)
    network(torch.full((4, 1), 0.75, dtype=torch.float64)).sum().backward()
    assert network.get_parameter("weights_1").grad.to_dense().tolist() == [3.0, 1.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("widths", [[4, 30, 2], [4, 900, 600, 2]], ids=["dense", "scattered"])
def test_files_hold_the_same_function(tmp_path, dtype, widths):
    network = random_network(2, widths, 0.05, dtype)
    save_explicit(network, tmp_path / "net.safetensors")
    explicit_to_onnx(network, tmp_path / "net.onnx")
    x = torch.randn(7, 4, dtype=dtype, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(load_explicit(tmp_path / "net.safetensors")(x), network(x), rtol=0, atol=0)
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    tolerance = 1e-4 if dtype == torch.float32 else 1e-12
    np.testing.assert_allclose(session.run(None, {"x": x.numpy()})[0], network(x).numpy(), rtol=0, atol=tolerance)


def test_a_constant_is_a_network_without_weights(tmp_path):
    network = ExplicitReLU([SparseLayer.of(np.zeros((1, 2)), [0.5], False)])
    save_explicit(network, tmp_path / "constant.safetensors")
    explicit_to_onnx(network, tmp_path / "constant.onnx")
    x = np.ones((4, 2))
    assert load_explicit(tmp_path / "constant.safetensors")(torch.from_numpy(x)).tolist() == [[0.5]] * 4
    assert onnxruntime.InferenceSession(tmp_path / "constant.onnx").run(None, {"x": x})[0].tolist() == [[0.5]] * 4


def test_damaged_files_are_named(tmp_path):
    from safetensors.torch import save_file

    (tmp_path / "text").write_text("no network")
    with pytest.raises(DataError, match="no whole safetensors file"):
        load_explicit(tmp_path / "text")
    about = {"format": "compsparse.explicit/1", "n_inputs": "1", "n_layers": "2"}
    save_file({"bias_0": torch.zeros(1)}, str(tmp_path / "part"), metadata=about)
    with pytest.raises(DataError, match="damaged or incomplete"):
        load_explicit(tmp_path / "part")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_stays_within_its_bound(dtype):
    rng = np.random.default_rng(3)
    for seed in range(5):
        network = random_network(seed, [3, 12, 12, 2], 0.5)
        x = torch.from_numpy(rng.uniform(-1, 1, (10, 3))).to(dtype)
        bound = rounding_error(network.layers, -np.ones(3), np.ones(3), dtype)
        computed = ExplicitReLU(network.layers, dtype)(x)
        for point, answer in zip(x.double().tolist(), computed.double().tolist(), strict=True):
            exact = [float(v) for v in network.exact(point)]
            assert (np.abs(np.subtract(answer, exact)) <= bound.error).all()
            assert (np.array(exact) >= bound.lower - 1e-12).all()
            assert (np.array(exact) <= bound.upper + 1e-12).all()
    assert bound.error.max() < 1e4 * torch.finfo(dtype).eps


@pytest.mark.parametrize("batch", [1, 3, 5000])
def test_large_layers_answer_alike_in_onnx_whatever_the_batch(tmp_path, batch):
    """Products that are added into their rows by an index are lost where a program does so in parallel."""
    rng = np.random.default_rng(0)
    wide = sparse.random(900, 700, 0.01, random_state=0, format="csr") + sparse.csr_matrix(
        (np.ones(700), (np.full(700, 5), np.arange(700))), shape=(900, 700)
    )
    layers = [SparseLayer.of(wide, rng.standard_normal(900)), SparseLayer.of(wide.T, np.zeros(700), False)]
    network = ExplicitReLU(layers)
    explicit_to_onnx(network, tmp_path / "net.onnx")
    x = rng.standard_normal((batch, 700))
    answers = onnxruntime.InferenceSession(tmp_path / "net.onnx").run(None, {"x": x})[0]
    np.testing.assert_allclose(answers, network(torch.from_numpy(x)).numpy(), atol=1e-12)
