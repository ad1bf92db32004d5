"""Every penalty against the condition that its proximal operator must meet, or against its rule written by hand."""

import numpy as np
import pytest
import torch

from compsparse.errors import ConfigError
from compsparse.graph import single_node
from compsparse.networks import layered, mirror, select
from compsparse.training import (
    PENALTIES,
    BetaLasso,
    GroupLasso,
    ProximalL1,
    ReplicaStatus,
    TrainingConfig,
    WeightDecay,
    train,
    training_data,
)
from compsparse.training.named_penalties import check_penalties

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 5))
Y = X[:, 0] - 2 * X[:, 1]
PROXIMAL = {
    "l1": ProximalL1,
    "decay": WeightDecay,
    "inputs": lambda s: GroupLasso(s, groups="inputs"),
    "units": lambda s: GroupLasso(s, groups="units"),
}


def net(n_replicas=3):
    return layered([5, 4, 1], n_replicas=n_replicas, random_state=0, dtype=torch.float64)


@pytest.mark.parametrize("name", PROXIMAL)
@pytest.mark.parametrize("strength", [0.3, [0.0, 0.3, 2.0]])
def test_the_proximal_step_minimises_its_objective(name, strength):
    """No nearby or random point has a lower |u - w|^2 / 2 + step * penalty(u), in any replica."""
    network, penalty, step = net(), PROXIMAL[name](strength), 0.5
    before = [w.detach().clone() for w in network.weights]
    penalty.prox_(network, step)
    minimum = [w.detach().clone() for w in network.weights]

    def objective(weights):
        with torch.no_grad():
            for parameter, value in zip(network.weights, weights, strict=True):
                parameter.copy_(value)
            distance = sum((w - b).square().flatten(1).sum(1) for w, b in zip(weights, before, strict=True))
            return distance / 2 + step * penalty.value(network)

    lowest = objective(minimum)
    generator = torch.Generator().manual_seed(1)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(30):
            other = [w + size * torch.randn(w.shape, generator=generator, dtype=w.dtype) for w in minimum]
            assert (objective(other) >= lowest - 1e-12).all()
    assert (objective([0 * w for w in minimum]) >= lowest - 1e-12).all()
    assert (objective(before) >= lowest - 1e-12).all()


def test_groups_become_zero_together():
    network = net()
    GroupLasso(0.3, groups="inputs", layers=[0]).prox_(network, 1.0)
    lost = network.weights[0].detach() == 0
    assert lost.any()
    assert (lost.all(-2) == lost.any(-2)).all()
    network = net()
    GroupLasso(0.35, groups="units", layers=[0]).prox_(network, 1.0)
    lost = network.weights[0].detach() == 0
    assert lost.any()
    assert (lost.all(-1) == lost.any(-1)).all()


def test_beta_lasso_takes_the_steps_of_its_rule():
    lam, beta, rate = 0.01, 5.0, 0.1
    network = mirror(single_node(5), depth=0, n_replicas=1, random_state=0, dtype=torch.float64)
    cells = network.blocks[0]
    w, b = cells.weights[0][0, 0, 0].detach().numpy().copy(), 0.0
    config = TrainingConfig(
        n_steps=60,
        batch_size=None,
        optimizer="sgd",
        momentum=0,
        learning_rate=rate,
        weight_decay=0,
        schedule="constant",
    )
    train(network, training_data(X, Y, dtype=torch.float64), config, penalties=[BetaLasso(lam, beta=beta)])
    for _ in range(60):
        residual = X @ w + b - Y
        gradient, slope = 2 * X.T @ residual / len(Y), 2 * residual.mean()
        w, b = w - rate * (gradient + lam * np.sign(w)), b - rate * slope
        w = w * (np.abs(w) >= beta * lam)
    np.testing.assert_allclose(cells.weights[0][0, 0, 0].detach(), w, rtol=1e-10)
    assert (w[2:] == 0).all()


def test_strengths_of_replicas_give_the_path_that_each_gives_alone():
    """Also where replicas leave the program before the others."""
    strengths = [0.0, 0.05, 5.0, 0.2]
    held_out = list(range(90, 120))
    config = TrainingConfig(n_steps=120, batch_size=32, evaluate_every=5, patience=2)

    def fit(chosen):
        network = layered([5, 6, 1], n_replicas=4, random_state=0, dtype=torch.float64)
        network = select(network, chosen)
        data = training_data(
            X, Y, train=[range(90)] * len(chosen), validation=[held_out] * len(chosen), dtype=torch.float64
        )
        penalties = [ProximalL1([strengths[i] for i in chosen]), WeightDecay(0.01, layers=slice(1, None))]
        return train(network, data, config, penalties=penalties, seeds=[7 + i for i in chosen])

    together = fit(range(4))
    assert ReplicaStatus.STOPPED_EARLY in together.replica_status
    for i in range(4):
        alone = fit([i])
        for a, b in zip(alone.network.parameters(), together.network.parameters(), strict=True):
            torch.testing.assert_close(a[0], b[i], rtol=1e-7, atol=1e-9)


def test_names_stand_for_penalties_and_lists_for_layers():
    first, rest = check_penalties({"l1": [2e-5, 5e-6]})
    network = layered([3, 4, 4, 1])
    assert [w.shape for w in first.selected(network)] == [network.weights[0].shape]
    assert len(list(rest.selected(network))) == 2
    assert {type(p).__name__ for name in PENALTIES for p in check_penalties({name: 0.1})} == {
        "ProximalL1",
        "SquaredNorm",
        "WeightDecay",
        "BetaLasso",
        "GroupLasso",
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: check_penalties({"l3": 0.1}), "there is no penalty 'l3'"),
        (lambda: check_penalties({"l1": -1}), "the strength of ProximalL1 must be a finite number >= 0, got -1"),
        (lambda: check_penalties({"l1": []}), "give at least one strength for 'l1'"),
        (lambda: check_penalties({1: 0.1}), "the name of a penalty must be a text"),
        (lambda: ProximalL1([0.1, -0.1]), "one number >= 0 for each replica"),
        (lambda: ProximalL1([0.1, 0.1]).prox_(net(), 0.1), "2 strengths do not go with a network of 3 replicas"),
        (lambda: ProximalL1(0.1, layers=[2]).prox_(net(), 0.1), r"for layer 2 \(counted from 0\) of a network with 2"),
        (lambda: ProximalL1(0.1, layers="first"), "layers must be"),
        (lambda: GroupLasso(0.1, groups="all"), "groups must be one of 'inputs', 'units'"),
        (lambda: GroupLasso(0.1, lambda name: True).prox_(net(), 0.1), "leave out biases"),
        (lambda: BetaLasso(0.1, beta=-1), "beta must be"),
    ],
)
def test_bad_penalties_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
