import numpy as np
import pytest
import torch

from compsparse.errors import ConfigError, DataError, TrainingError
from compsparse.graph import FunctionGraph, balanced_tree, single_node
from compsparse.networks import dense, mirror
from compsparse.tasks import tanh_tree
from compsparse.training import (
    FitConfig,
    TrainingConfig,
    TrainingStatus,
    fit_graph,
    prune,
    refine,
    solve_last_layer,
    train,
    training_data,
)
from compsparse.training.data import TrainingData
from compsparse.training.layerwise import copy_nodes, lower_part
from compsparse.training.levenberg_marquardt import flat_weights, jacobian, set_flat_weights

RNG = np.random.default_rng(0)
X = torch.tensor(RNG.uniform(-1, 1, (80, 4)))
Y = torch.stack([torch.tanh(X[:, 0] * X[:, 1]) + X[:, 2], X[:, 3] * X[:, 0]], dim=1)


def test_jacobians_equal_finite_differences():
    network = mirror(balanced_tree(4), width=3, out_channels=2, n_replicas=2, random_state=0, dtype=torch.float64)
    weight = torch.rand(80, dtype=torch.float64)
    data = TrainingData(X, Y, weight)
    rows = torch.stack([torch.arange(10), torch.arange(5, 15)])
    J, residual = jacobian(network, data, rows)
    theta = flat_weights(network)
    for k in (0, 7, theta.shape[1] - 1):
        step = torch.zeros_like(theta)
        step[:, k] = 1e-6
        set_flat_weights(network, theta + step)
        _, moved = jacobian(network, data, rows)
        set_flat_weights(network, theta)
        torch.testing.assert_close((residual - moved) / 1e-6, J[:, :, k], rtol=1e-4, atol=1e-6)
    expected = (weight[rows].unsqueeze(-1) * (network(X[rows]) - Y[rows]).square()).sum((1, 2))
    torch.testing.assert_close(residual.square().sum(1), (expected / weight[rows].sum(1) / 2).detach())


@pytest.mark.parametrize("n", [8, 60])
def test_one_step_solves_a_linear_problem_exactly(n):
    """With affine nodes Gauss-Newton is least squares, in the primal (n > P) and the dual form."""
    network = mirror(single_node(4), depth=0, n_replicas=1, random_state=0, dtype=torch.float64)
    wide = mirror(single_node(4), depth=0, out_channels=2, n_replicas=1, random_state=0, dtype=torch.float64)
    for net, target in ((network, Y[:, :1]), (wide, Y)):
        refine(net, TrainingData(X[:n], target[:n]), 12, ridge=0, damping=1e-8)
        A = torch.cat([X[:n], torch.ones(n, 1)], dim=1).double()
        best = torch.linalg.lstsq(A, target[:n]).solution
        torch.testing.assert_close(net(X[:n])[0].detach(), A @ best, atol=1e-6, rtol=1e-6)


def test_refinement_never_makes_validation_worse_and_fits_a_smooth_target():
    task = tanh_tree(4)
    sample = task.sample(300, random_state=0)
    network = mirror(task.graph, width=6, n_replicas=3, random_state=0, dtype=torch.float64)
    data = training_data(
        sample.X, sample.y, train=[range(200)] * 3, validation=[range(200, 300)] * 3, dtype=torch.float64
    )
    with torch.no_grad():
        before = (network(data.X[200:]) - data.y[200:]).square().mean((1, 2))
    result = refine(network, data, 80)
    assert (result.validation_loss <= before).all()
    assert float(result.validation_loss.min()) < 1e-4


def test_refinement_refuses_what_it_cannot_do():
    network = mirror(single_node(4), out_channels=2, n_replicas=2)
    with pytest.raises(DataError, match="not classes"):
        refine(network, TrainingData(X.float(), torch.zeros(80, dtype=torch.long)))
    uneven = training_data(X, Y, train=[range(10), range(20)])
    with pytest.raises(DataError, match="equally many"):
        refine(network, uneven)


def test_the_last_layer_in_closed_form_is_ridge_regression():
    network = dense(4, width=20, depth=1, n_replicas=2, random_state=0, dtype=torch.float64)
    data = training_data(X, Y[:, 0], dtype=torch.float64)
    solve_last_layer(network, data, ridges=[1e-10])
    cells = network.blocks[0]
    H = cells.activation(X @ cells.weights[0][1, 0].T + cells.biases[0][1, 0])
    A = torch.cat([H, torch.ones(80, 1)], dim=1).detach()
    best = A @ torch.linalg.lstsq(A, Y[:, :1]).solution
    torch.testing.assert_close(network(X)[1].detach(), best, atol=1e-3, rtol=1e-3)
    with pytest.raises(ConfigError, match="dense network"):
        solve_last_layer(mirror(balanced_tree(4)), data)


def test_lower_parts_keep_the_level_and_read_what_the_rest_needs():
    graph = FunctionGraph.from_expression(["sin(a*b)*c + d", "a*b - c"])
    part = lower_part(graph, 1)
    assert {n.name for n in graph.nodes if graph.levels[n.name] == 1} <= {n.name for n in part.nodes}
    assert len(part.outputs) == 2
    assert lower_part(graph, graph.depth) == graph


def test_copied_nodes_compute_the_same():
    graph = balanced_tree(8)
    stage = mirror(lower_part(graph, 1), width=4, n_replicas=2, random_state=0)
    whole = mirror(graph, width=4, n_replicas=2, random_state=1)
    assert copy_nodes(stage, whole) == ["h0", "h1", "h2", "h3"]
    torch.testing.assert_close(stage.blocks[0].weights[0], whole.blocks[0].weights[0])


@pytest.mark.parametrize("layerwise", [False, True])
def test_restarts_and_a_second_order_finish_fit_a_known_tree(layerwise):
    task = tanh_tree(4)
    sample, test = task.sample(400, random_state=0), task.sample(2000, random_state=1)
    config = FitConfig(
        n_restarts=6,
        n_keep=2,
        training=TrainingConfig(n_steps=400, batch_size=64, rungs=((0.5, 0.5),)),
        layerwise=layerwise,
        refine_iterations=30,
    )
    X_train = torch.tensor(sample.X, dtype=torch.float32)
    y_train = torch.tensor(sample.y, dtype=torch.float32).unsqueeze(1)
    fit = fit_graph(task.graph, X_train, y_train, config, validation=range(320, 400), width=8, random_state=0)
    with torch.no_grad():
        error = (fit.network(torch.tensor(test.X, dtype=torch.float32)).mean(0).squeeze() - torch.tensor(test.y)) ** 2
    assert float(error.mean()) < 1e-3 * test.y.var()
    again = fit_graph(task.graph, X_train, y_train, config, validation=range(320, 400), width=8, random_state=0)
    assert again.validation_loss == fit.validation_loss


def test_interruption_at_any_stage_returns_a_network_and_says_so(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    settings = {"validation": range(60, 80), "random_state": 0, "width": 4}
    config = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=40), refine_iterations=5, layerwise=True)
    monkeypatch.setattr("compsparse.training.levenberg_marquardt._Refiner._iterate", interrupted)
    fit = fit_graph(balanced_tree(4), X.float(), Y[:, :1].float(), config, **settings)
    assert fit.status is TrainingStatus.INTERRUPTED
    monkeypatch.setattr("compsparse.training.recipes._Restarts.train_lower_levels", interrupted)
    fit = fit_graph(balanced_tree(4), X.float(), Y[:, :1].float(), config, **settings)
    assert fit.status is TrainingStatus.INTERRUPTED
    assert fit.refinement is None
    assert fit.training.n_steps == 1
    assert fit.network.n_replicas >= 1


def test_restarts_that_all_diverge_are_an_error():
    wild = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=100, optimizer="sgd", learning_rate=1e8))
    with pytest.raises(TrainingError, match="all 2 restarts diverged: lower the learning rate"):
        fit_graph(balanced_tree(4), X.float(), Y[:, :1].float(), wild, validation=range(60, 80), random_state=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"random_state": -1}, "random_state must be a whole number >= 0"),
        ({"time_limit": 0}, "time_limit must be a finite number > 0"),
        ({"width": 2.5}, "width must be a whole number"),
        ({"activation": "sofa"}, "activation must be one of"),
        ({"share": "levels"}, "share must be one of .*did you mean 'level'"),
        ({"validation": [0, 80]}, "row numbers between 0 and 79"),
        ({"validation": range(80)}, "leave none to train on"),
    ],
)
def test_bad_settings_of_a_fit_get_one_sentence(settings, message):
    with pytest.raises(ConfigError, match=message):
        fit_graph(balanced_tree(4), X.float(), Y[:, :1].float(), **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_restarts": 0}, "n_restarts must be a whole number >= 1"),
        ({"n_keep": 1.5}, "n_keep must be a whole number"),
        ({"layerwise": 1}, "layerwise must be True or False"),
        ({"refine_iterations": -1}, "refine_iterations"),
        ({"refine_share": 1.0}, "refine_share must be a finite number >= 0 and < 1"),
    ],
)
def test_bad_fit_configs_get_one_sentence(settings, message):
    with pytest.raises(ConfigError, match=message):
        FitConfig(**settings)


def test_a_fit_without_validation_uses_all_rows():
    fit = fit_graph(
        balanced_tree(4),
        X.float(),
        Y[:, :1].float(),
        FitConfig(n_restarts=3, n_keep=2, training=TrainingConfig(n_steps=50), refine_iterations=3),
        random_state=0,
    )
    assert fit.network.n_replicas == 2
    assert np.isnan(fit.validation_loss)


def test_arrays_are_taken_wherever_tensors_are():
    """In the precision of the network, and to the same weights as the tensors that hold them."""
    config, quick = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=5)), TrainingConfig(n_steps=5)
    graph, single = "tanh(a*b) + c*d", (X.float(), Y[:, :1].float())
    fits = [fit_graph(graph, *rows, config, random_state=0).network for rows in (single, (X.numpy(), Y[:, 0].numpy()))]
    assert torch.equal(*map(flat_weights, fits))
    for learn in (train, refine, prune):
        ends = []
        for data in (training_data(*single), single, (X.numpy(), Y[:, 0].numpy())):
            network = mirror(graph, width=3, n_replicas=1, random_state=0)
            settings = {} if learn is refine else {"config": quick, "random_state": 0}
            learn(network, data, **settings)
            ends.append(flat_weights(network))
        assert all(torch.equal(end, ends[0]) for end in ends)
    double = mirror(graph, width=3, random_state=0, dtype=torch.float64)
    assert train(double, (X.numpy(), Y[:, 0].numpy()), quick).network.run(X.T[None]).dtype == torch.float64
    with pytest.raises(ConfigError, match=r"data must be a TrainingData or a pair \(X, y\), got an array"):
        train(double, X.numpy())
