"""Dynamics of the square loss against closed forms and planted features."""

import numpy as np
import pytest
import torch

from compsparse.errors import CompsparseError
from compsparse.measures import DynamicsLog, equilibrium_rho, measure_dynamics, neural_collapse
from compsparse.networks import dense
from compsparse.networks.homogeneous import HomogeneousNetwork
from compsparse.report import dynamics_figures
from compsparse.training import SquaredNorm, TrainingConfig, train, training_data

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 5))
CLASSES = (X @ RNG.standard_normal(5) + 0.5 * RNG.standard_normal(200) > 0).astype(int)
SIGNS = 2.0 * CLASSES - 1


def normalised_margins(network):
    measured = measure_dynamics(network, X, CLASSES)
    with torch.no_grad():
        answers = network(torch.tensor(X, dtype=torch.float32)).numpy()[..., 0]
    return answers.reshape(len(measured.rho), -1) * SIGNS / measured.rho[:, None]


@pytest.mark.parametrize("lam", [1e-3, 0.1, 2.0])
def test_the_equilibrium_of_a_linear_network_is_that_of_ridge_regression(lam):
    """w = (X^T X / n + lam)^-1 X^T y / n minimises the loss, in its norm too: |w| = mu / (lam + M)."""
    w = np.linalg.solve(X.T @ X / 200 + lam * np.eye(5), X.T @ SIGNS / 200)
    margins = X @ w / np.linalg.norm(w) * SIGNS
    assert equilibrium_rho(margins, lam) == pytest.approx(np.linalg.norm(w), rel=1e-10)
    network = HomogeneousNetwork(5, depth=0, random_state=0)
    config = TrainingConfig(n_steps=300, batch_size=None, learning_rate=0.1, weight_decay=0.0)
    train(network, training_data(X, SIGNS), config, penalties=[SquaredNorm(lam)], random_state=0)
    assert measure_dynamics(network, X, CLASSES).rho[0] == pytest.approx(np.linalg.norm(w), rel=1e-2)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_equilibrium_of_a_trained_deep_network(depth):
    """Layers have equal norms, and their product is what the formula says of the normalised network."""
    network = HomogeneousNetwork(5, width=6, depth=depth, n_replicas=2, random_state=1)
    config = TrainingConfig(n_steps=1500, batch_size=None, learning_rate=0.02, weight_decay=0.0)
    train(network, training_data(X, SIGNS), config, penalties=[SquaredNorm(0.01)], random_state=0)
    found = measure_dynamics(network, X, CLASSES)
    assert np.allclose(found.norms, found.norms[:, :1], rtol=0.02)
    expected = [equilibrium_rho(f, 0.01, n_layers=depth + 1) for f in normalised_margins(network)]
    assert np.allclose(found.rho, expected, rtol=0.05)


def test_the_formula_solves_its_equation():
    f = RNG.uniform(0.1, 1.0, 30)
    mu, M = f.mean(), (f**2).mean()
    assert equilibrium_rho(f, 0.05, n_layers=2) == pytest.approx((mu - 0.05) / M)
    rho = equilibrium_rho(f, 0.05, n_layers=4)
    assert 0.05 * rho**0.5 + M * rho**2 == pytest.approx(mu * rho)
    assert equilibrium_rho(f, 1e3, n_layers=4) == 0
    assert equilibrium_rho(-f, 0.1) == 0


def test_rho_and_stable_ranks_by_hand():
    network = HomogeneousNetwork(3, 2, width=3, depth=1)
    with torch.no_grad():
        network.weights[0].copy_(torch.diag(torch.tensor([2.0, 2.0, 1.0])))
        network.weights[1].copy_(torch.tensor([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]]))
    found = measure_dynamics(network, np.eye(3)[:2], [0, 1])
    assert found.norms[0] == pytest.approx([3, 5])
    assert found.rho[0] == pytest.approx(15)
    assert found.stable_ranks[0] == pytest.approx([9 / 4, 25 / 16])
    assert found.margin[0] == pytest.approx(6 / 15)
    assert found.error[0] == 0
    assert found.loss[0] == pytest.approx(((6 - 1) ** 2 + (8 - 1) ** 2) / 4)


def simplex(spread=0.0, n_classes=4, width=6, n_each=30):
    """Class means at the corners of a simplex, and a last layer that points at them."""
    corners = np.eye(width)[:n_classes]
    labels = np.repeat(np.arange(n_classes), n_each)
    features = 3 * corners[labels] + spread * np.random.default_rng(0).standard_normal((len(labels), width))
    readout = corners - corners.mean(0)
    return torch.tensor(features[None]), torch.tensor(labels), torch.tensor(readout[None])


def test_collapsed_features_have_all_four_signs():
    found = neural_collapse(*simplex())
    for value in (found.within, found.angles, found.lengths, found.duality, found.nearest):
        assert value == pytest.approx(0, abs=1e-9)


def test_spread_features_have_the_spread_that_was_put_in():
    found = neural_collapse(*simplex(spread=0.3, n_each=4000))
    # between-class scatter 9/4 in each of three directions, within 0.09 in each: 3 * 0.09 / (9/4) / 4 classes
    assert found.within[0] == pytest.approx(3 * 0.09 / (9 / 4) / 4, rel=0.05)
    assert found.angles[0] < 0.02
    swapped = simplex()
    assert neural_collapse(swapped[0], swapped[1], -swapped[2]).duality[0] == pytest.approx(2)


def test_the_log_listens_to_the_loop():
    network = HomogeneousNetwork(5, 2, width=8, depth=1, n_replicas=3, random_state=0)
    log = DynamicsLog(X, CLASSES)
    log.look(network, 0)
    data = training_data(X, np.eye(2)[CLASSES])
    config = TrainingConfig(n_steps=200, evaluate_every=50, weight_decay=0.0)
    train(network, data, config, callbacks=[log], random_state=0)
    last = log.look(network, 200)
    assert [p.step for p in log.points] == [0, 50, 100, 150, 200]
    assert last.loss.mean() < 0.5 * log.points[0].loss.mean()
    assert last.rho.shape == (3,)
    figures = dynamics_figures(log.points)
    assert [len(f.rows) for f in figures] == [15, 10, 15, 25]
    row = next(r for r in figures[0].rows if r["of"] == "rho" and r["step"] == 200)
    assert row["norm"] == pytest.approx(last.rho.mean())
    assert all(figure.chart().to_dict() for figure in figures)
    with pytest.raises(CompsparseError, match="points must be the points of a DynamicsLog"):
        dynamics_figures([])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: measure_dynamics(dense(5), X, CLASSES), "network must be"),
        (lambda: measure_dynamics(HomogeneousNetwork(5), X[:, :3], CLASSES), "X must have shape"),
        (lambda: measure_dynamics(HomogeneousNetwork(5), X, CLASSES[:9]), "X has 200 rows but there are 9 classes"),
        (lambda: measure_dynamics(HomogeneousNetwork(5), X, CLASSES + 1), "classes"),
        (lambda: DynamicsLog(X, np.zeros(200, dtype=int)), "200 rows need as many classes, two of them different"),
        (lambda: equilibrium_rho([0.0], 0.1), "margins must hold at least one number that is not zero"),
        (lambda: equilibrium_rho([1.0], -0.1), "weight_decay must be"),
        (lambda: HomogeneousNetwork(5, width=10**7), "do not fit in memory"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(CompsparseError, match=message):
        call()
