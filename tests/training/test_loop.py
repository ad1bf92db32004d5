import numpy as np
import pytest
import torch

from compsparse.errors import ConfigError, DataError
from compsparse.graph import balanced_tree, single_node
from compsparse.networks import dense, mirror, replica_seeds
from compsparse.training import (
    CrossEntropy,
    ExponentialLoss,
    HuberLoss,
    ProximalL1,
    ReplicaStatus,
    SquaredLoss,
    SquaredNorm,
    TrainingConfig,
    TrainingData,
    TrainingStatus,
    train,
    training_data,
)
from compsparse.training.data import BatchStream
from compsparse.training.schedules import one_cycle

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (300, 4))
Y = np.tanh(X[:, 0] * X[:, 1]) + X[:, 2] * X[:, 3]
CPU = torch.device("cpu")


def weights(network, replica):
    return torch.cat([p[replica].detach().flatten() for p in network.parameters()])


def test_a_linear_node_finds_the_least_squares_solution():
    y = X @ [1.0, -2.0, 0.5, 0.0] + 3
    network = mirror(single_node(4), depth=0, n_replicas=1, random_state=0, dtype=torch.float64)
    data = training_data(X, y, dtype=torch.float64)
    train(network, data, TrainingConfig(n_steps=1500, batch_size=None, weight_decay=0, learning_rate=0.05))
    cells = network.blocks[0]
    np.testing.assert_allclose(cells.weights[0][0, 0, 0].detach(), [1, -2, 0.5, 0], atol=1e-4)
    assert float(cells.biases[0][0, 0, 0].detach()) == pytest.approx(3, abs=1e-4)


@pytest.mark.parametrize("settings", [{}, {"optimizer": "sgd", "learning_rate": 0.05}, {"clip_norm": 0.5}])
def test_a_replica_ends_the_same_alone_and_in_company(settings):
    """Own rows (of unequal number), own batches, early stopping: none depends on the others."""
    seeds = replica_seeds(3, 6)
    sizes = [40, 200, 90, 150, 60, 200]
    rows = [np.random.default_rng(i).permutation(250)[:n] for i, n in enumerate(sizes)]
    held_out = [np.arange(250, 300)] * 6
    config = TrainingConfig(n_steps=150, batch_size=64, evaluate_every=10, patience=4, **settings)

    def fit(chosen):
        network = mirror(
            balanced_tree(4), width=6, n_replicas=len(chosen), seeds=[seeds[i] for i in chosen], dtype=torch.float64
        )
        data = training_data(
            X,
            Y,
            train=[rows[i] for i in chosen],
            validation=[held_out[i] for i in chosen],
            dtype=torch.float64,
        )
        return train(network, data, config, seeds=[seeds[i] for i in chosen])

    together = fit(range(6))
    for i in range(6):
        alone = fit([i])
        torch.testing.assert_close(weights(alone.network, 0), weights(together.network, i), rtol=1e-7, atol=1e-9)
        assert alone.best_step[0] == together.best_step[i]
        assert alone.replica_status[0] == together.replica_status[i]


def test_the_best_weights_come_back_not_the_last():
    network = mirror(single_node(4), width=32, n_replicas=3, random_state=0)
    noise = np.random.default_rng(1).normal(size=300)
    data = training_data(X, noise, train=[range(60)] * 3, validation=[range(60, 300)] * 3)
    record = train(network, data, TrainingConfig(n_steps=400, batch_size=32, evaluate_every=20))
    assert (record.best_step < 400).all()
    with torch.no_grad():
        loss = (network(data.X[60:]) - data.y[60:]).square().mean((1, 2)).numpy()
    np.testing.assert_allclose(loss, record.validation_loss, rtol=1e-5)
    np.testing.assert_allclose(record.validation_loss, np.nanmin(record.history, axis=0), rtol=1e-6)


def test_rungs_leave_the_best_replicas():
    network = mirror(balanced_tree(4), n_replicas=8, random_state=0)
    data = training_data(X, Y, train=[range(200)] * 8, validation=[range(200, 300)] * 8)
    record = train(network, data, TrainingConfig(n_steps=100, rungs=((0.3, 0.5), (0.6, 0.5))), random_state=0)
    assert record.replica_status.count(ReplicaStatus.DROPPED) == 6
    assert record.replica_status.count(ReplicaStatus.FINISHED) == 2
    assert record.network.n_replicas == 8
    assert record.replica_status[record.best] is ReplicaStatus.FINISHED
    assert np.isnan(record.history[-1]).sum() == 6


def test_interruption_keeps_the_best_so_far():
    def interrupt(state):
        if state.step >= 40:
            raise KeyboardInterrupt

    network = mirror(balanced_tree(4), n_replicas=2, random_state=0)
    data = training_data(X, Y, train=[range(200)] * 2, validation=[range(200, 300)] * 2)
    record = train(network, data, TrainingConfig(n_steps=500, evaluate_every=10), callbacks=[interrupt])
    assert record.status is TrainingStatus.INTERRUPTED
    assert record.n_steps == 40
    assert "best weights so far" in record.status.value
    assert np.isfinite(record.validation_loss).all()


def test_time_limit_callback_and_patience_end_training():
    data = training_data(X, Y, train=[range(200)], validation=[range(200, 300)])

    def fit(config, **options):
        return train(mirror(balanced_tree(4), n_replicas=1, random_state=0), data, config, random_state=0, **options)

    assert fit(TrainingConfig(n_steps=10**6), time_limit=0.3).status is TrainingStatus.OUT_OF_TIME
    assert fit(TrainingConfig(n_steps=500), callbacks=[lambda s: s.step >= 100]).status is TrainingStatus.CALLBACK
    noise = training_data(X, RNG.normal(size=300), train=[range(50)], validation=[range(50, 300)])
    network = dense(4, 64, n_replicas=1, random_state=0)
    record = train(network, noise, TrainingConfig(n_steps=5000, evaluate_every=10, patience=5))
    assert record.status is TrainingStatus.STOPPED_EARLY
    assert record.n_steps < 5000


def test_divergence_is_reported():
    network = mirror(balanced_tree(4), n_replicas=2, random_state=0)
    data = training_data(X, Y, train=[range(200)] * 2, validation=[range(200, 300)] * 2)
    config = TrainingConfig(n_steps=200, optimizer="sgd", learning_rate=1e6, evaluate_every=10)
    record = train(network, data, config)
    assert set(record.replica_status) == {ReplicaStatus.DIVERGED}
    assert all(torch.isfinite(p).all() for p in network.parameters())


def test_weights_of_samples_count_like_repeats():
    weight = np.ones(100)
    weight[:20] = 3
    repeated = np.concatenate([np.repeat(np.arange(20), 3), np.arange(20, 100)])
    config = TrainingConfig(n_steps=50, batch_size=None, weight_decay=0)

    def fit(data):
        network = mirror(balanced_tree(4), width=4, n_replicas=1, random_state=0, dtype=torch.float64)
        return weights(train(network, data, config).network, 0)

    scaled = weight / weight.mean()
    a = fit(training_data(X[:100], Y[:100], sample_weight=scaled, dtype=torch.float64))
    b = fit(training_data(X[repeated], Y[repeated], dtype=torch.float64))
    torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-8)


def test_proximal_l1_meets_its_optimality_condition():
    """At the optimum of |y - Xw|^2/n + lam |w|_1 the gradient is -lam sign(w), and at most lam where w = 0."""
    lam = 0.2
    y = X @ [2.0, 0.0, -0.05, 1.0]
    network = mirror(single_node(4), depth=0, n_replicas=1, random_state=0, dtype=torch.float64)
    data = training_data(X, y - y.mean(), dtype=torch.float64)
    config = TrainingConfig(
        n_steps=3000,
        batch_size=None,
        optimizer="sgd",
        momentum=0,
        learning_rate=0.2,
        weight_decay=0,
        schedule="constant",
    )
    train(network, data, config, penalties=[ProximalL1(lam)])
    w = network.blocks[0].weights[0][0, 0, 0].detach().numpy()
    b = float(network.blocks[0].biases[0][0, 0, 0].detach())
    gradient = 2 * X.T @ (X @ w + b - (y - y.mean())) / len(y)
    assert w[1] == 0
    assert w[2] == 0
    np.testing.assert_allclose(gradient[w != 0], -lam * np.sign(w[w != 0]), atol=1e-6)
    assert np.abs(gradient[w == 0]).max() <= lam + 1e-6


def test_smooth_penalty_is_ridge_regression():
    lam = 0.3
    Xc, y = X - X.mean(0), X @ [1.0, 2.0, 0.0, -1.0]
    y = y - y.mean()
    network = mirror(single_node(4), depth=0, n_replicas=1, random_state=0, dtype=torch.float64)
    config = TrainingConfig(n_steps=1500, batch_size=None, weight_decay=0, learning_rate=0.05)
    train(network, training_data(Xc, y, dtype=torch.float64), config, penalties=[SquaredNorm(lam)])
    expected = np.linalg.solve(Xc.T @ Xc / 300 + lam * np.eye(4), Xc.T @ y / 300)
    np.testing.assert_allclose(network.blocks[0].weights[0][0, 0, 0].detach(), expected, atol=1e-4)


def test_losses_by_hand():
    p, t = torch.tensor([[[1.0], [4.0]]]), torch.tensor([[[0.0], [0.0]]])
    assert float(SquaredLoss().mean(p, t)) == pytest.approx(8.5)
    assert float(SquaredLoss().mean(p, t, torch.tensor([[1.0, 3.0]]))) == pytest.approx(49 / 4)
    assert float(HuberLoss(1.0).mean(p, t)) == pytest.approx((0.5 + 3.5) / 2)
    sides = torch.tensor([[[1.0], [-1.0]]])
    assert float(ExponentialLoss().mean(p, sides)) == pytest.approx((np.exp(-1) + np.exp(4)) / 2)
    logits = torch.tensor([[[0.0, 0.0, 0.0]]])
    assert float(CrossEntropy().mean(logits, torch.tensor([[1]]))) == pytest.approx(np.log(3))


@pytest.mark.parametrize(
    "classes", [[0, 2, 1], np.array([0, 2, 1], np.int8), torch.tensor([0, 2, 1]), [False, True, True]]
)
def test_classes_stay_what_they_are(classes):
    data = training_data(np.eye(3), classes)
    assert data.y.dtype == torch.int64
    assert data.y.tolist() == [int(c) for c in classes]
    assert torch.equal(training_data(np.eye(3), classes, classification=True).y, data.y)
    numbers = training_data(np.eye(3), classes, classification=False).y
    assert numbers.is_floating_point()
    assert numbers.shape == (3, 1)
    assert training_data(np.eye(3), [float(c) for c in classes]).y.is_floating_point()


def test_a_loss_gets_the_kind_of_target_it_compares_with():
    classes, numbers = training_data(X, Y > 0), training_data(X, Y)
    network, quick = dense(4, 8, out_channels=2, n_replicas=1, random_state=0), TrainingConfig(n_steps=20)
    assert np.isfinite(train(network, classes, quick, loss=CrossEntropy()).train_loss).all()
    for data, loss, sentence in (
        (classes, SquaredLoss(), "SquaredLoss compares numbers but y holds classes: .* classification=False"),
        (classes, HuberLoss(), "HuberLoss compares numbers but y holds classes"),
        (numbers, CrossEntropy(), "CrossEntropy compares classes but y holds numbers: .* classification=True"),
        (
            training_data(X, np.arange(300) % 3),
            CrossEntropy(),
            "2 outputs, for classes from 0 to 1, but y holds others",
        ),
        (TrainingData(numbers.X, numbers.y[:, 0]), SquaredLoss(), r"2 outputs but y has shape \(300,\)"),
    ):
        with pytest.raises(DataError, match=sentence):
            train(network, data, quick, loss=loss)
    with pytest.raises(DataError, match=r"classes must be one whole number >= 0 .* classification=False"):
        training_data(X, np.sign(Y).astype(int))


@pytest.mark.parametrize("n", [7, 64, 100, 333])
def test_batches_pass_over_all_rows_before_any_comes_again(n):
    rows = [torch.arange(n) + 1000, torch.arange(50)]
    stream = BatchStream(rows, 32, [1, 2], CPU)
    steps = 5 * n
    seen = torch.cat([stream.next()[0][: min(32, n)] for _ in range(steps)])
    if n > 32:
        for epoch in seen[: len(seen) // n * n].view(-1, n)[:20]:
            assert sorted(epoch.tolist()) == list(range(1000, 1000 + n))
        assert not torch.equal(seen[:n], seen[n : 2 * n])
    else:
        assert sorted(set(seen.tolist())) == list(range(1000, 1000 + n))


def test_batches_of_long_epochs_are_those_of_epochs_made_at_once():
    """An epoch of 300 rows is longer than the 64 batches of 4 that are made ahead, and shorter than 1000."""
    short, long = (BatchStream([torch.arange(300), torch.arange(301)], 4, [1, 2], CPU) for _ in range(2))
    long._STEPS_AHEAD = 1000
    assert all(torch.equal(short.next(), long.next()) for _ in range(200))
    short.keep([1])
    long.keep([1])
    assert all(torch.equal(short.next(), long.next()) for _ in range(200))


def test_shuffles_look_random():
    stream = BatchStream([torch.arange(1000)] * 50, 100, range(50), CPU)
    first = stream.next().float()
    assert abs(float(first.mean()) - 499.5) < 15
    assert len({tuple(r.tolist()) for r in first}) == 50


def test_one_cycle_rises_and_falls():
    values = [one_cycle(t) for t in np.linspace(0, 1, 101)]
    assert max(values) == pytest.approx(1, abs=0.04)
    assert values[0] == pytest.approx(0.04)
    assert 0 < values[-1] < 1e-3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: training_data([[np.nan, 1]], [1]), DataError, "X holds NaN or infinite values, first in row 1 "),
        (lambda: training_data([[1.0], [2.0]], [1, np.inf]), DataError, "y holds NaN or infinite"),
        (lambda: training_data([[1.0]], [1, 2]), DataError, "1 rows but y has 2"),
        (lambda: training_data(np.empty((0, 2)), []), DataError, "at least one row"),
        (lambda: training_data(X, Y, sample_weight=-np.ones(300)), DataError, "sample_weight must hold"),
        (lambda: training_data(X, Y, train=[[999]]), ConfigError, "row numbers between 0 and 299"),
        (lambda: training_data(X, Y, train=[[1.5]]), ConfigError, "row numbers between 0 and 299"),
        (lambda: training_data(X, Y, classification=True), DataError, "one whole number >= 0 per row, got float64"),
        (lambda: training_data(X, Y, classification=1), ConfigError, "classification must be True or False"),
        (lambda: training_data(X, Y, device="abacus"), ConfigError, "cannot use device 'abacus'"),
        (lambda: TrainingConfig(n_steps=0), ConfigError, "n_steps must be a whole number >= 1, got 0"),
        (lambda: TrainingConfig(n_steps=1.5), ConfigError, "n_steps must be a whole number >= 1, got 1.5"),
        (lambda: TrainingConfig(batch_size=0), ConfigError, "batch_size must be a whole number"),
        (lambda: TrainingConfig(n_epochs=0), ConfigError, "n_epochs must be a whole number"),
        (lambda: TrainingConfig(learning_rate=np.nan), ConfigError, "learning_rate must be a finite number > 0"),
        (lambda: TrainingConfig(weight_decay=-1), ConfigError, "weight_decay must be"),
        (lambda: TrainingConfig(clip_norm=0), ConfigError, "clip_norm must be"),
        (lambda: HuberLoss(0), ConfigError, "delta must be"),
        (lambda: TrainingConfig(optimizer="lamb"), ConfigError, "optimizer"),
        (
            lambda: TrainingConfig(schedule="zigzag"),
            ConfigError,
            "schedule must be one of 'constant', 'cosine', 'one_cycle'",
        ),
        (lambda: TrainingConfig(rungs=((2, 0.5),)), ConfigError, "rungs"),
        (lambda: ProximalL1(-1), ConfigError, "strength"),
        (
            lambda: train(mirror(balanced_tree(4)), training_data(X[:, :3], Y)),
            DataError,
            "4 inputs but X has 3 columns",
        ),
        (
            lambda: train(mirror(balanced_tree(4)), training_data(X, np.stack([Y, Y], 1))),
            DataError,
            "1 outputs but y has 2 columns",
        ),
        (
            lambda: train(mirror(balanced_tree(4)), training_data(X, Y), TrainingConfig(patience=3)),
            ConfigError,
            "need validation rows",
        ),
        (
            lambda: train(mirror(balanced_tree(4), n_replicas=2), training_data(X, Y, train=[[1]])),
            DataError,
            "2 replicas need as many train subsets",
        ),
        (
            lambda: train(mirror(balanced_tree(4), n_replicas=2), training_data(X, Y), seeds=[1]),
            ConfigError,
            "one seed for each of the 2 replicas, got 1",
        ),
        (
            lambda: train(mirror(balanced_tree(4)), training_data(X, Y), random_state=-1),
            ConfigError,
            "random_state must be a whole number >= 0, got -1",
        ),
        (
            lambda: train(mirror(balanced_tree(4)), training_data(X, Y), time_limit=-1),
            ConfigError,
            "time_limit must be",
        ),
    ],
)
def test_bad_input_gets_one_clear_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()
