"""Data of hierarchies for others: one-hot codes, data sets for torch, the function graph."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from tests.tasks.hierarchy.models import SPARSE_A
from torch.utils.data import DataLoader

from compsparse.errors import ConfigError, DataError
from compsparse.graph import balanced_tree
from compsparse.tasks import RandomHierarchy, SparseRandomHierarchy, one_hot
from compsparse.tasks.hierarchy.datasets import HierarchyDataset, HierarchyStream

# ---- encoding ----------------------------------------------------------------------------


def test_one_hot_of_arrays_and_tensors():
    X = SPARSE_A.sample(6, random_state=0).X
    encoded = one_hot(X, 2)
    assert encoded.shape == (6, 16, 2)
    assert encoded.dtype == np.float32
    np.testing.assert_array_equal(encoded.sum(axis=-1), X >= 0)
    np.testing.assert_array_equal(encoded[X >= 0].argmax(axis=-1), X[X >= 0])
    np.testing.assert_array_equal(one_hot(torch.from_numpy(X), 2).numpy(), encoded)
    np.testing.assert_array_equal(one_hot(X, 2, flat=True), encoded.reshape(6, 32))
    assert one_hot(torch.from_numpy(X), 2, flat=True, dtype=torch.float64).dtype == torch.float64


@pytest.mark.parametrize("v", [2, 5, 8])
def test_whitened_channels_have_mean_zero_and_variance_one(v):
    symbols = one_hot(np.arange(v), v, whitened=True, dtype=float)
    np.testing.assert_allclose(symbols.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(symbols.var(axis=0), 1)
    np.testing.assert_allclose(symbols.diagonal(), np.sqrt(v - 1))
    np.testing.assert_allclose(one_hot(np.array([-1]), v, whitened=True, dtype=float), -1 / np.sqrt(v - 1))


def test_encoding_refuses_what_are_no_symbols():
    for bad in (np.array([3]), np.array([-2]), np.array([0.0]), torch.tensor([3]), torch.tensor([True])):
        with pytest.raises(DataError, match="symbols"):
            one_hot(bad, 3)
    with pytest.raises(ConfigError, match="n_features must be a whole number >= 2, got 1"):
        one_hot(np.array([0]), 1)


def test_hierarchies_need_no_torch():
    code = "import sys, compsparse.tasks.hierarchy as h; h.one_hot([[0]], 2); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- graph and bridge --------------------------------------------------------------------


def test_the_graph_is_the_tree_of_patches():
    model = RandomHierarchy(4, n_levels=3)
    assert model.graph == balanced_tree(8)
    assert frozenset({"x2", "x3"}) in model.graph.modules
    graph = SparseRandomHierarchy(8, n_levels=2, n_empty=2).graph
    assert (graph.n_inputs, graph.size, graph.depth, graph.max_arity) == (36, 7, 2, 6)
    assert graph.modules == {frozenset(f"x{6 * i + j}" for j in range(6)) for i in range(6)}


def test_a_sample_in_a_data_loader():
    data = SPARSE_A.sample(10, random_state=0)
    x, y = next(iter(DataLoader(HierarchyDataset(data, whitened=True), batch_size=10)))
    np.testing.assert_array_equal(x.numpy(), one_hot(data.X, 2, whitened=True, flat=True))
    assert (x.dtype, y.dtype, y.tolist()) == (torch.float32, torch.int64, data.y.tolist())
    x, label = HierarchyDataset(data, flat=False)[3]
    assert (x.shape, int(label)) == ((16, 2), data.y[3])


def test_a_stream_is_the_same_whatever_the_number_of_workers():
    stream = HierarchyStream(SPARSE_A, 8, n_batches=5, random_state=0)
    alone, shared = (list(DataLoader(stream, batch_size=None, num_workers=k)) for k in (0, 2))
    assert len(alone) == len(shared) == 5
    assert all(torch.equal(a[0], b[0]) and torch.equal(a[1], b[1]) for a, b in zip(alone, shared, strict=True))
    assert not torch.equal(alone[0][0], alone[1][0])
    stream.set_epoch(1)
    assert not torch.equal(alone[0][0], next(iter(stream))[0])


def test_a_stream_refuses_impossible_sizes_and_seeds():
    for settings, problem in [
        ({"batch_size": 0}, "batch_size must be a whole number >= 1, got 0"),
        ({"batch_size": 4, "n_batches": 1.5}, "n_batches must be a whole number >= 1, got 1.5"),
        ({"batch_size": 4, "random_state": -1}, "random_state must be a whole number >= 0, got -1"),
    ]:
        with pytest.raises(ConfigError, match=problem):
            HierarchyStream(SPARSE_A, **settings)
