"""Trained networks can be compiled: as graphs of their hidden units."""

import numpy as np
import pytest
import torch

import compsparse as cs
from compsparse.construct import fitted_graph_formulas, network_graph
from compsparse.errors import ConfigError
from compsparse.graph import balanced_tree
from compsparse.models import fit_model
from compsparse.networks import ACTIVATIONS
from compsparse.training import FitConfig, TrainingConfig


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("shape", [{"depth": 1}, {"depth": 2, "channels": 2}, {"share": "level"}])
def test_a_mirrored_network_is_a_graph_of_its_units(activation, shape):
    network = cs.mirror(
        balanced_tree(4), width=3, activation=activation, n_replicas=2, random_state=0, dtype=torch.float64, **shape
    )
    x = torch.rand(20, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for replica in (0, 1):
        right = network(x)[replica, :, 0].detach().numpy()
        np.testing.assert_allclose(network_graph(network, replica)(x.numpy()), right, atol=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "relu", "silu"])
def test_a_network_of_units_is_compiled(activation):
    network = cs.mirror(balanced_tree(4), width=3, depth=1, activation=activation, random_state=1, dtype=torch.float64)
    built = cs.compile(network, (-1, 1), 1e-2, n_points=2000)
    assert built.observed.value <= built.certificate.upper <= 1e-2
    assert built.certificate.holds
    x = torch.rand(200, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2)) * 2 - 1
    assert np.abs(built(x.numpy()) - network(x)[:, 0].detach().numpy()).max() <= built.certificate.upper + 1e-12
    assert (built.bound == 0) == (activation == "relu")


def model_of(rows=60, classes=False):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (rows, 2))
    y = X[:, 0] * X[:, 1]
    config = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=5), refine_iterations=0)
    graph = cs.FunctionGraph.from_expression("x0*x1")
    y = np.where(y > 25, "up", "down") if classes else y
    return fit_model(graph, X, y, config=config, width=4), X


def test_a_fitted_graph_is_compiled_in_its_own_units():
    model, X = model_of()
    graph = fitted_graph_formulas(model)
    scale = np.abs(model.predict(X)).max()
    np.testing.assert_allclose(graph(X), model.predict(X), rtol=1e-5, atol=1e-5 * scale)
    built = cs.compile(model, (0, 10), 0.1 * scale, n_points=500)
    assert np.abs(built(X) - graph(X)).max() <= built.certificate.upper <= 0.1 * scale


def test_models_of_classes_are_refused():
    with pytest.raises(ConfigError, match="jumps"):
        fitted_graph_formulas(model_of(classes=True)[0])


@pytest.mark.parametrize("compiled", [cs.compile, cs.Discovery.compile], ids=["function", "method"])
def test_a_discovered_graph_is_compiled(compiled):
    found = cs.discover([0, 0, 0, 1, 1, 1, 1, 0], names=["a", "b", "c"])
    built = compiled(found, (0, 1), 1e-2)
    corners = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=float)
    np.testing.assert_allclose(built(corners), [0, 0, 0, 1, 1, 1, 1, 0], atol=1e-2)
