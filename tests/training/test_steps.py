"""The compiled kernel against torch's gradients: two ways to the same weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from compsparse.discovery.data.candidates import Candidate, CandidateNetwork
from compsparse.graph import balanced_tree, random_dag
from compsparse.networks.mirroring import dense, mirror
from compsparse.networks.programs import program_of
from compsparse.networks.replicas import select
from compsparse.training import steps
from compsparse.training.config import TrainingConfig
from compsparse.training.data import BatchStream, TrainingData
from compsparse.training.loop import train
from compsparse.training.losses import HuberLoss, SquaredLoss
from compsparse.training.penalties import ProximalL1
from compsparse.training.record import ReplicaStatus
from compsparse.training.step_kernel import TILE, _add_multiples, _add_products, _tanh
from compsparse.training.threads import ThreadPace

_BLOCKS = [range(1), range(1, 3), range(3, 4), range(4, 5)]


def _candidates(form, n_outputs=1):
    pair, triple = frozenset([0, 1]), frozenset([1, 2, 3])
    every = frozenset(range(4))
    chosen = [Candidate(inner, every - inner, form) for inner in (pair, triple)]
    return CandidateNetwork(chosen, _BLOCKS, n_outputs, seeds=[1, 2])


NETWORKS = {
    "tree": lambda: mirror(balanced_tree(8), 16, 2, n_replicas=3, random_state=0),
    "tanh": lambda: mirror(balanced_tree(4), 8, 2, "tanh", n_replicas=2, random_state=0),
    "relu": lambda: mirror(balanced_tree(4), 8, 2, "relu", n_replicas=2, random_state=0),
    "affine": lambda: mirror(balanced_tree(4), 8, 0, n_replicas=2, random_state=0),
    "channels": lambda: mirror(balanced_tree(4), 8, 1, channels=2, n_replicas=2, random_state=0),
    "shared": lambda: mirror(balanced_tree(8), 8, 1, share="level", n_replicas=2, random_state=0),
    "dag": lambda: mirror(random_dag(6, 5, random_state=1), 7, 2, n_replicas=2, random_state=0),
    "one": lambda: mirror(balanced_tree(4), 8, 1, random_state=0),
    "wide": lambda: dense(5, 63, 3, n_replicas=1, random_state=0),
    "candidates": lambda: _candidates("free"),
    "two outputs": lambda: _candidates("free", 2),
    "sums": lambda: _candidates("sum"),
    "products": lambda: _candidates("product"),
}


def _data(network, n_rows=200, **more):
    generator = torch.Generator().manual_seed(3)
    X = torch.randn(n_rows, network.n_inputs, generator=generator)
    y = torch.randn(n_rows, network.n_outputs, generator=generator)
    return TrainingData(X, y, **more)


def _both(monkeypatch, make, config, **more):
    """What the kernel and torch's gradients make of the same start."""
    ways = []
    for widest in (steps._WIDEST_COMPILED, 0):
        monkeypatch.setattr(steps, "_WIDEST_COMPILED", widest)
        network = make()
        data = _data(network, **more)
        assert isinstance(_steps(network, data, config), steps.CompiledSteps if widest else steps.GradientSteps)
        ways.append((train(network, data, config, random_state=5), network))
    return ways


def _assert_agreement(ways, tolerance=2e-3):
    (compiled, by_kernel), (gradients, by_torch) = ways
    np.testing.assert_allclose(compiled.train_loss, gradients.train_loss, rtol=1e-3)
    X = torch.randn(50, by_torch.n_inputs, generator=torch.Generator().manual_seed(4))
    torch.testing.assert_close(by_kernel(X), by_torch(X), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_learns_the_same_by_either_way(monkeypatch, name):
    _assert_agreement(_both(monkeypatch, NETWORKS[name], TrainingConfig(n_steps=15, batch_size=64)))


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"batch_size": 2 * TILE + 17}, {"n_rows": 600}),
        ({"batch_size": None}, {}),
        ({"clip_norm": 0.05}, {}),
        ({"weight_decay": 0.3}, {}),
        ({"batch_size": 64}, {"sample_weight": torch.linspace(0, 2, 200)}),
        ({"batch_size": 64}, {"train": (torch.arange(40), torch.arange(150), torch.arange(200))}),
        ({"n_epochs": 3, "batch_size": 50}, {}),
    ],
    ids=["tiles", "all rows", "clipped", "decay", "weights", "padding", "epochs"],
)
def test_every_setting_means_the_same_by_either_way(monkeypatch, settings, more):
    config = TrainingConfig(**{"n_steps": 12, **settings})
    _assert_agreement(_both(monkeypatch, NETWORKS["tree"], config, **more))


def test_replicas_leave_the_program_in_the_same_way(monkeypatch):
    rows = (torch.arange(100, 200),) * 3
    config = TrainingConfig(n_steps=60, evaluate_every=10, rungs=((0.3, 0.4),))
    (compiled, _), (gradients, _) = ways = _both(monkeypatch, NETWORKS["tree"], config, validation=rows)
    assert compiled.replica_status == gradients.replica_status
    assert ReplicaStatus.DROPPED in compiled.replica_status
    np.testing.assert_allclose(compiled.validation_loss, gradients.validation_loss, rtol=1e-2)
    _assert_agreement(ways, 2e-2)


def test_masked_weights_stay_out():
    network = NETWORKS["candidates"]()
    train(network, _data(network), TrainingConfig(n_steps=10), random_state=0)
    X = torch.randn(20, 5)
    inner = network.combined(X.T.expand(2, -1, -1).contiguous())
    X[:, 3:] += 1.0  # what the first candidate's inner function does not read
    assert torch.equal(network.combined(X.T.expand(2, -1, -1).contiguous())[0], inner[0])


def test_threads_and_company_change_nothing(monkeypatch):
    results = []
    for n_threads in (1, 3):
        monkeypatch.setattr(ThreadPace, "most", n_threads)
        network = mirror(balanced_tree(4), 8, 1, n_replicas=7, seeds=range(7))
        train(network, _data(network), TrainingConfig(n_steps=30), seeds=range(7))
        results.append(network)
    alone = mirror(balanced_tree(4), 8, 1, n_replicas=1, seeds=[4])
    train(alone, _data(alone), TrainingConfig(n_steps=30), seeds=[4])
    X = torch.randn(9, 4)
    assert torch.equal(results[0](X), results[1](X))
    assert torch.equal(select(results[0], [4])(X), alone(X))


def test_a_replica_that_has_no_numbers_any_more_is_told():
    network = NETWORKS["tree"]()
    training = train(network, _data(network), TrainingConfig(n_steps=60, learning_rate=1e30), random_state=0)
    assert set(training.replica_status) == {ReplicaStatus.DIVERGED}


def _steps(network, data=None, config=None, loss=None, penalties=()):
    data = data or _data(network)
    stream = BatchStream(data.train_rows(network.n_replicas), 32, range(network.n_replicas), torch.device("cpu"))
    last = torch.full((network.n_replicas,), 5)
    pace = ThreadPace(torch.device("cpu"))
    return steps.steps_for(
        network, data, config or TrainingConfig(), stream, last, loss or SquaredLoss(), penalties, pace
    )


def test_what_the_kernel_does_not_know_goes_by_gradients():
    tree = NETWORKS["tree"]()
    assert isinstance(_steps(tree), steps.CompiledSteps)
    double = mirror(balanced_tree(8), dtype=torch.float64)
    data = TrainingData(*(t.double() for t in (_data(double).X, _data(double).y)))
    others = [
        _steps(double, data),
        _steps(mirror(balanced_tree(4), activation="gelu")),
        _steps(dense(4, 512)),
        _steps(tree, config=TrainingConfig(optimizer="sgd")),
        _steps(tree, loss=HuberLoss()),
        _steps(tree, penalties=[ProximalL1(1e-3)]),
    ]
    outside = replace(_data(tree), train=(torch.tensor([0, 200]),) * 3)
    others.append(_steps(tree, outside))  # torch says that there is no such row
    others.append(_steps(tree, replace(_data(tree), sample_weight=torch.ones(200, dtype=torch.float64))))
    assert all(isinstance(other, steps.GradientSteps) for other in others)
    tree.blocks[0].weights[0].requires_grad_(False)
    assert isinstance(_steps(tree), steps.GradientSteps)


def test_a_program_reads_only_what_was_written_before():
    for make in NETWORKS.values():
        program = program_of(make())
        written = program.n_inputs
        for _, first, n_in, out, n_out, *_ in program.operations:
            assert program.reads[first : first + n_in].max() < out == written
            written += n_out
        assert written == program.n_rows
        assert program.outputs.max() < program.n_rows


def test_tanh_is_right_to_single_precision():
    x = np.linspace(-12, 12, 20_001, dtype=np.float32)
    found = np.array([_tanh(t) for t in x])
    assert np.abs(found - np.tanh(x.astype(float))).max() < 8e-7


# ---- blocks of products --------------------------------------------------------------------------


@pytest.mark.parametrize(("n_into", "n_read"), [(1, 1), (4, 3), (7, 5), (8, 2), (5, 16)])
@pytest.mark.parametrize("per_into_first", [True, False])
def test_multiples_of_rows_are_those_of_a_product_of_matrices(n_into, n_read, per_into_first):
    rng = np.random.default_rng(n_into * n_read)
    table = rng.standard_normal((40, 3 * 32)).astype(np.float32)
    into, read = rng.permutation(20)[:n_into], 20 + rng.permutation(20)[:n_read]
    weights = rng.standard_normal((n_into, n_read) if per_into_first else (n_read, n_into)).astype(np.float32)
    expected = table.copy()
    expected[into, : 2 * 32] += (weights if per_into_first else weights.T) @ table[read, : 2 * 32]
    strides = (n_read, 1) if per_into_first else (1, n_into)
    _add_multiples(table, 2 * 32, into, read, weights.ravel(), *strides)
    np.testing.assert_allclose(table, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("into", [[3, 3, 4, 5], [3, 4, 5, 3], [0, 1, 2, 3, 3, 3]])
def test_a_row_that_is_added_to_twice_gets_both(into):
    table = np.ones((8, 32), np.float32)
    _add_multiples(table, 32, np.array(into), np.array([7]), np.ones(len(into), np.float32), 1, 1)
    np.testing.assert_array_equal(table[:, 0], 1 + np.bincount(into, minlength=8))


@pytest.mark.parametrize(("n_out", "n_in"), [(1, 1), (1, 9), (2, 4), (5, 6), (16, 16), (3, 2)])
def test_inner_products_of_rows_are_those_of_a_product_of_matrices(n_out, n_in):
    rng = np.random.default_rng(n_out * n_in)
    back, value = rng.standard_normal((2, 40, 2 * 32)).astype(np.float32)
    read = rng.integers(0, 40, n_in)
    sums = rng.standard_normal(n_out * n_in + 3).astype(np.float32)
    expected = sums.copy()
    expected[: n_out * n_in] += (back[7 : 7 + n_out, :32] @ value[read, :32].T).ravel()
    _add_products(sums, back, 7, n_out, value, read, 32)
    np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-4)
