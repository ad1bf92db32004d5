"""Unrolled networks against plain loops, and what training does to them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from compsparse.errors import ConfigError, DataError
from compsparse.networks import only, select
from compsparse.sparse import (
    UNROLLED_CONFIG,
    LassoLoss,
    SparseCodes,
    UnrolledNetwork,
    equiangular_frame,
    fista,
    gaussian_dictionary,
    ista,
    spikes_and_hadamard,
    train_layer_by_layer,
)
from compsparse.sparse.moves import analytic_weights
from compsparse.training import TrainingConfig, train, training_data

LAM = 0.2
W = gaussian_dictionary(6, 10, random_state=0)
TASK = SparseCodes(W, k=2)
VARIANTS = ("tied", "untied", "coupled", "steps", "analytic")
SHORT = TrainingConfig(n_steps=60, batch_size=64, learning_rate=3e-3, weight_decay=0.0)
BOLD = replace(SHORT, learning_rate=3e-2)


def shrunk(u, theta):
    return np.sign(u) * np.maximum(np.abs(u) - theta, 0)


def ista_by_hand(X, W, lam, steps, momentum=False):
    """All codes, signal by signal, as they are written down."""
    L = np.linalg.norm(W, 2) ** 2
    found = np.zeros((steps, len(X), W.shape[1]))
    for i, x in enumerate(X):
        z = ahead = np.zeros(W.shape[1])
        t = 1.0
        for s in range(steps):
            new = shrunk(ahead + W.T @ (x - W @ ahead) / L, lam / (2 * L))
            t_new = (1 + np.sqrt(1 + 4 * t**2)) / 2
            ahead = new + (t - 1) / t_new * (new - z) if momentum else new
            z, t = new, t_new
            found[s, i] = z
    return found


def supervised(task=TASK, m=300, seed=0, **rows):
    drawn = task.sample(m, random_state=seed)
    return training_data(drawn.X, drawn.Z, **rows)


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "analytic"])
@pytest.mark.parametrize("n_replicas", [None, 3])
def test_untrained_layers_are_steps_of_ista(variant, n_replicas):
    X = TASK.sample(20, random_state=1).X
    network = UnrolledNetwork(W, LAM, 16, variant, n_replicas=n_replicas, dtype=torch.float64)
    assert network.starts_as_ista
    expected = ista_by_hand(X, W, LAM, 16)
    codes = network.iterates(torch.as_tensor(X)).detach().numpy()
    assert codes.shape == ((16, 20, 10) if n_replicas is None else (16, 3, 20, 10))
    for r in range(n_replicas or 1):
        assert np.abs((codes if n_replicas is None else codes[:, r]) - expected).max() < 1e-12
    last = network(torch.as_tensor(X)).detach().numpy()
    assert np.array_equal(last, codes[-1])


def test_ista_and_fista_are_their_plain_loops():
    X = TASK.sample(7, random_state=1).X
    assert np.abs(ista(X, W, LAM, 30, history=True).numpy() - ista_by_hand(X, W, LAM, 30)).max() < 1e-12
    assert np.array_equal(ista(X, W, LAM, 30), ista(X, W, LAM, 30, history=True)[-1])
    assert np.abs(fista(X, W, LAM, 30, history=True).numpy() - ista_by_hand(X, W, LAM, 30, True)).max() < 1e-12
    assert np.array_equal(fista(X, W, LAM, 30), fista(X, W, LAM, 30, history=True)[-1])


def test_many_steps_satisfy_the_conditions_of_the_lasso():
    X = TASK.sample(30, random_state=2).X
    for Z in (ista(X, W, LAM, 4000).numpy(), fista(X, W, LAM, 1000).numpy()):
        gradient = 2 * (X - Z @ W.T) @ W  # lam times a subgradient of the l1 norm
        assert np.abs(gradient).max() <= LAM + 1e-4
        assert np.abs((gradient - LAM * np.sign(Z))[np.abs(Z) > 1e-4]).max() < 1e-4


def test_replicas_may_have_dictionaries_and_penalties_of_their_own():
    others = [gaussian_dictionary(6, 10, random_state=s) for s in (5, 6)]
    lams = [0.1, 0.4]
    X = np.random.default_rng(0).standard_normal((2, 9, 6))
    for variant in ("tied", "untied", "coupled", "steps"):
        network = UnrolledNetwork(np.stack(others), lams, 5, variant, n_replicas=2, dtype=torch.float64)
        codes = network(torch.as_tensor(X)).detach().numpy()
        alone = only(network, 1)(torch.as_tensor(X[1])).detach().numpy()
        for r in range(2):
            assert np.abs(codes[r] - ista_by_hand(X[r], others[r], lams[r], 5)[-1]).max() < 1e-12
        assert np.abs(alone - codes[1]).max() < 1e-12


def test_analytic_weights_minimise_the_frobenius_norm():
    B = analytic_weights(torch.as_tensor(W)).numpy()
    assert np.allclose((B * W).sum(axis=0), 1)
    # optimality: the gradient W W^T b_j is along the constraint's normal w_j
    gradient = W @ W.T @ B
    assert np.allclose(gradient, W * (gradient / W)[0])
    frame = equiangular_frame(5, 10)  # tight: the weights are the frame itself
    assert np.allclose(analytic_weights(torch.as_tensor(frame)).numpy(), frame)


def test_support_selection_lets_the_largest_through():
    X = torch.as_tensor(TASK.sample(50, random_state=0).X)
    plain = UnrolledNetwork(W, 1.0, 1, "coupled", dtype=torch.float64)
    chosen = UnrolledNetwork(W, 1.0, 1, "coupled", select=0.2, select_at_most=0.2, dtype=torch.float64)
    assert not chosen.starts_as_ista
    z, passed = plain(X).detach(), chosen(X).detach()
    theta = plain.move.threshold(0).item()
    different = (passed - z).abs() > 1e-12
    assert int(different.sum(1).max()) == 2  # a fifth of ten
    assert torch.allclose((passed - z).abs()[different], torch.tensor(theta, dtype=torch.float64))
    assert bool(((z != 0) == (passed != 0)).all())


@pytest.mark.parametrize("variant", VARIANTS)
def test_training_improves_codes(variant):
    network = UnrolledNetwork(W, LAM, 4, variant, n_replicas=2)
    test = TASK.sample(500, random_state=9)
    X, Z = torch.as_tensor(test.X, dtype=torch.float32), torch.as_tensor(test.Z, dtype=torch.float32)
    before = (network(X) - Z).square().mean().item()
    train(network, supervised(m=1000), BOLD if variant == "steps" else SHORT, random_state=0)
    assert (network(X) - Z).square().mean().item() < 0.9 * before


def test_steps_learn_from_signals_alone():
    network, loss = UnrolledNetwork(W, LAM, 5, "steps", n_replicas=1), LassoLoss(W, LAM)
    X = torch.as_tensor(TASK.sample(1000, random_state=3).X, dtype=torch.float32)
    fresh = torch.as_tensor(TASK.sample(1000, random_state=4).X, dtype=torch.float32)
    before = loss.mean(network(fresh), fresh).item()
    train(network, training_data(X, X), BOLD, loss=loss, random_state=0)
    least = loss.mean(fista(fresh, W, LAM, 500), fresh).item()
    after = loss.mean(network(fresh), fresh).item()
    assert after - least < 0.8 * (before - least)
    assert bool((network.move.steps > 0).all())


def test_lasso_loss_is_the_objective_in_the_scaling_of_the_talk():
    x, z = np.arange(6.0), np.linspace(-1, 1, 10)
    expected = ((x - W @ z) ** 2).sum() + 0.3 * np.abs(z).sum()
    value = LassoLoss(W, 0.3).per_sample(torch.as_tensor(z)[None, None], torch.as_tensor(x)[None, None])
    assert value.item() == pytest.approx(expected)


def test_layer_by_layer_helps_every_layer():
    network = UnrolledNetwork(W, LAM, 3, "untied", n_replicas=1)
    data = supervised(m=1000)
    start = (network.iterates(data.X) - data.y).square().mean(dim=(1, 2, 3))
    stages = train_layer_by_layer(network, data, SHORT, random_state=0)
    end = (network.iterates(data.X) - data.y).square().mean(dim=(1, 2, 3))
    assert len(stages) == 3
    assert network.active_layers == 3
    assert end[-1] < 0.8 * start[-1]


def test_replicas_do_not_depend_on_their_company():
    data = supervised(train=[range(100), range(100, 200), range(200, 300)])
    together = UnrolledNetwork(W, LAM, 3, "coupled", n_replicas=3)
    train(together, data, SHORT, seeds=[1, 2, 3])
    alone = UnrolledNetwork(W, LAM, 3, "coupled", n_replicas=1)
    train(alone, data.for_replicas([1]), SHORT, seeds=[2])
    assert torch.allclose(select(together, [1])(data.X), alone(data.X), atol=1e-5)


def test_the_graph_computes_what_the_network_does():
    X = torch.as_tensor(TASK.sample(9, random_state=0).X)
    for variant in VARIANTS:
        network = UnrolledNetwork(W, LAM, 3, variant, dtype=torch.float64)
        graph = network.graph
        assert (graph.n_inputs, graph.size, graph.depth, len(graph.outputs)) == (6, 30, 3, 10)
        assert torch.allclose(graph(X), network(X))


def test_the_graph_is_sparse_where_the_gram_matrix_is():
    graph = UnrolledNetwork(spikes_and_hadamard(4), LAM, 2, "steps").graph
    # a spike reads its coordinate, itself and the four cosines; with L = 2, 1 - 1/L of itself stays
    assert graph["z2_0"].parents == ("x0", "z1_0", "z1_4", "z1_5", "z1_6", "z1_7")
    assert graph["z1_4"].parents == ("x0", "x1", "x2", "x3")
    assert graph.max_arity == 4 + 1 + 4


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("variant", VARIANTS)
def test_on_a_gpu(variant):
    data = supervised(device="cuda")
    network = UnrolledNetwork(W, LAM, 4, variant, n_replicas=2, select=0.1).to("cuda")
    before = (network(data.X) - data.y).square().mean().item()
    train(network, data, SHORT, random_state=0)
    assert (network(data.X) - data.y).square().mean().item() < before
    if variant == "steps":
        train(network, training_data(data.X, data.X, device="cuda"), SHORT, loss=LassoLoss(W, LAM))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: UnrolledNetwork(W, LAM, 3, "magic"), "variant must be one of"),
        (lambda: UnrolledNetwork(W, -1.0, 3), "lam must be"),
        (lambda: UnrolledNetwork(W, [0.1, 0.2], 3), "each of 1 replicas"),
        (lambda: UnrolledNetwork(W, LAM, 0), "n_layers"),
        (lambda: UnrolledNetwork(np.stack([W, W]), LAM, 3, n_replicas=3), "as many dictionaries, got 2"),
        (lambda: UnrolledNetwork(W, LAM, 3, select=0.5), "select_at_most"),
        (lambda: UnrolledNetwork(W, LAM, 3, select=0.1).graph, "support selection"),
        (lambda: UnrolledNetwork(W, LAM, 1000).graph, "10,000 nodes"),
        (lambda: LassoLoss(W, -1), "lam"),
        (lambda: ista([[np.nan] * 6], W, LAM, 3), "NaN"),
        (lambda: ista(np.zeros((2, 5)), W, LAM, 3), r"shape \(batch, 6\)"),
        (lambda: fista(0.5, W, LAM, 3, history=True), r"shape \(batch, 6\), got \(\)"),
        (lambda: train_layer_by_layer(UnrolledNetwork(W, LAM, 2), supervised(), TrainingConfig()), "weight decay"),
        (lambda: train(UnrolledNetwork(W, LAM, 2), supervised(), SHORT, loss=LassoLoss(W, 0.1)), "compares with 6"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises((ConfigError, DataError), match=message):
        call()


def test_default_settings_do_not_decay():
    assert UNROLLED_CONFIG.weight_decay == 0
