import numpy as np
import pytest
import torch

from compsparse.discovery import discover
from compsparse.errors import ConfigError, DataError
from compsparse.estimators import GraphRegressor
from compsparse.graph import FunctionGraph, Node, balanced_tree, chain, equivalent, pyramid, random_dag, single_node
from compsparse.networks import (
    check_onnx,
    convolutional,
    count,
    dense,
    load,
    local,
    make_plan,
    mirror,
    only,
    save,
    select,
    to_masked,
    to_onnx,
)

GRAPHS = {
    "tree": (balanced_tree(8), {}),
    "uneven": (balanced_tree(7, arity=3), {"channels": 2}),
    "dag": (random_dag(7, 12, 3, random_state=1), {"channels": 2, "out_channels": 3}),
    "shared": (pyramid(15, 3, 2), {"share": "level", "channels": 3}),
    "all shared": (chain(5), {"share": "all", "depth": 1}),
    "two outputs": (FunctionGraph.from_expression(["a*b + c", "sin(a*b)*d"]), {"depth": 0}),
    "labels": (balanced_tree(8), {"share": {"h0": "left", "h1": "left", "h2": "right"}}),
}


def slow_forward(network, x, replica):
    """Node by node, sample by sample, with plain matrix products."""
    values = {name: x[:, i : i + 1] for i, name in enumerate(network.graph.inputs)}
    for group in network.plan.groups:
        cells = network.blocks[group.block]
        for i, name in enumerate(group.nodes):
            h = torch.cat([values[p] for p in network.graph[name].parents], dim=1)
            own = 0 if group.shared else i
            for layer, (w, b) in enumerate(zip(cells.weights, cells.biases, strict=True)):
                h = h @ w[replica, own].T + b[replica, own]
                if layer < len(cells.weights) - 1:
                    h = cells.activation(h)
            values[name] = h
    return torch.cat([values[o] for o in network.graph.outputs], dim=1)


@pytest.mark.parametrize("name", GRAPHS)
def test_batched_products_equal_the_node_by_node_network(name):
    graph, settings = GRAPHS[name]
    network = mirror(graph, width=5, n_replicas=3, random_state=0, dtype=torch.float64, **settings)
    x = torch.randn(3, 11, graph.n_inputs, dtype=torch.float64)
    out = network(x)
    for r in range(3):
        torch.testing.assert_close(out[r], slow_forward(network, x[r], r))


@pytest.mark.parametrize("name", [n for n in GRAPHS if n != "labels"])
@pytest.mark.parametrize("activation", ["silu", "relu", "tanh"])
def test_masked_layers_compute_exactly_the_same(name, activation):
    graph, settings = GRAPHS[name]
    network = mirror(graph, 4, activation=activation, n_replicas=2, random_state=1, dtype=torch.float64, **settings)
    masked = to_masked(network)
    x = torch.randn(9, graph.n_inputs, dtype=torch.float64)
    torch.testing.assert_close(masked(x), network(x), rtol=1e-12, atol=1e-12)


def test_gradients_reach_every_weight_and_stay_within_their_replica():
    network = mirror(random_dag(6, 9, 3, random_state=0), width=4, n_replicas=3, random_state=0)
    network(torch.randn(5, 6))[1].square().sum().backward()
    for parameter in network.parameters():
        assert float(parameter.grad[1].abs().sum()) > 0
        assert float(parameter.grad[0].abs().sum() + parameter.grad[2].abs().sum()) == 0


def test_a_replica_starts_the_same_in_any_company():
    many = mirror(balanced_tree(8), n_replicas=5, random_state=7)
    few = mirror(balanced_tree(8), n_replicas=2, random_state=7)
    x = torch.randn(4, 8)
    torch.testing.assert_close(many(x)[:2], few(x))
    assert not torch.equal(many(x)[0], many(x)[1])


def test_replicas_can_be_chosen():
    network = mirror(balanced_tree(4), n_replicas=4, random_state=0)
    x = torch.randn(3, 4)
    torch.testing.assert_close(select(network, [2, 0])(x), network(x)[[2, 0]])
    torch.testing.assert_close(only(network, 3)(x), network(x)[3])
    assert network.n_replicas == 4


def test_kernels_follow_depth_and_plans_are_made_once():
    plan = make_plan(balanced_tree(1024))
    assert len(plan.groups) == 10
    assert all(group.read.rows is None for group in plan.groups)
    assert make_plan(balanced_tree(1024)) is plan


def test_sharing_is_convolution():
    network = convolutional(15, 3, 2, width=4, n_replicas=None, random_state=0)
    one_node = 3 * 4 + 4 + 4 + 1
    assert count(network).parameters == 3 * one_node
    assert count(local(15, 3, 2, width=4)).parameters == (7 + 3 + 1) * one_node
    x = torch.zeros(1, 15)
    moved = torch.zeros(1, 15)
    x[0, 0:3] = torch.tensor([1.0, 2.0, 3.0])
    moved[0, 2:5] = torch.tensor([1.0, 2.0, 3.0])
    first = network.plan.groups[0]
    cells = network.blocks[first.block]
    patches = torch.stack([x[0, 2 * i : 2 * i + 3] for i in range(7)]).view(1, 7, 3, 1)
    shifted = torch.stack([moved[0, 2 * i : 2 * i + 3] for i in range(7)]).view(1, 7, 3, 1)
    torch.testing.assert_close(cells.shared(patches)[0, 0], cells.shared(shifted)[0, 1])


def test_counts_by_hand():
    size = count(dense(5, width=7, depth=2))
    assert size.parameters == 5 * 7 + 7 + 7 * 7 + 7 + 7 + 1
    assert size.multiplies == 5 * 7 + 7 * 7 + 7
    shared = count(mirror(balanced_tree(8), width=3, depth=1, share="level"))
    assert shared.parameters == 3 * (2 * 3 + 3 + 3 + 1)
    assert shared.multiplies == 7 * 9
    assert count(to_masked(mirror(balanced_tree(4), width=3, depth=1))).parameters == 39


@pytest.mark.parametrize("name", ["tree", "shared", "dag"])
def test_saved_networks_come_back_whole(name, tmp_path):
    graph, settings = GRAPHS[name]
    for replicas in (None, 2):
        network = mirror(graph, width=3, n_replicas=replicas, random_state=0, dtype=torch.float64, **settings)
        save(network, tmp_path / "net.safetensors")
        again = load(tmp_path / "net.safetensors")
        x = torch.randn(4, graph.n_inputs, dtype=torch.float64)
        torch.testing.assert_close(again(x), network(x), rtol=0, atol=0)
        assert again.graph == graph
    assert [p.name for p in tmp_path.iterdir()] == ["net.safetensors"]


def test_files_that_hold_no_network_are_refused(tmp_path):
    (tmp_path / "junk").write_text("junk")
    with pytest.raises(DataError, match="cannot read a network"):
        load(tmp_path / "junk")
    with pytest.raises(DataError, match="cannot read a network"):
        load(tmp_path / "missing")


@pytest.mark.parametrize("name", ["tree", "shared"])
def test_onnx_runs_elsewhere_with_the_same_answers(name, tmp_path):
    import onnxruntime

    graph, settings = GRAPHS[name]
    network = mirror(graph, width=4, random_state=0, **settings)
    to_onnx(network, tmp_path / "net.onnx")
    assert check_onnx(tmp_path / "net.onnx") == {"format": "compsparse.onnx/1"}
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    for batch in (1, 13):
        x = torch.randn(batch, graph.n_inputs)
        (out,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(out, network(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]
    assert b".py" not in (tmp_path / "net.onnx").read_bytes()  # torch's notes on where its users keep their code


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mirror(balanced_tree(4), width=0), "width"),
        (lambda: mirror(balanced_tree(4), depth=-1), "depth"),
        (lambda: mirror(balanced_tree(4), activation="sofa"), "activation must be one of .*'silu'"),
        (lambda: mirror(balanced_tree(4), share="some"), "share must be one of 'none', 'level', 'all'"),
        (lambda: mirror(balanced_tree(4), share=3), "or a mapping from nodes to labels, got 3"),
        (lambda: mirror(balanced_tree(4), share={"x0": 1}), "'x0'"),
        (lambda: mirror(balanced_tree(4), n_replicas=0), "n_replicas must be a whole number >= 1, got 0"),
        (lambda: mirror(balanced_tree(4), n_replicas=1.5), "n_replicas must be a whole number >= 1, got 1.5"),
        (lambda: mirror(balanced_tree(4), random_state=-1), "random_state must be a whole number >= 0, got -1"),
        (lambda: mirror(balanced_tree(4), random_state=0.5), "random_state must be a whole number >= 0, got 0.5"),
        (lambda: mirror(balanced_tree(4), seeds=3), "seeds must be a list"),
        (lambda: mirror(balanced_tree(4), seeds=[-1]), "a seed must be a whole number >= 0"),
        (lambda: mirror(balanced_tree(4), device="abacus"), "cannot use device 'abacus'"),
        (lambda: dense(4, widht=3), "dense has no option 'widht'"),
        (lambda: local(8, 2, 2, n_replica=3), "local has no option 'n_replica'; did you mean 'n_replicas'"),
        (lambda: convolutional(8, 2, 2, share="all"), "convolutional has no option 'share'"),
        (lambda: load("net.safetensors", device="abacus"), "cannot use device 'abacus'"),
        (lambda: mirror(balanced_tree(4), n_replicas=2, seeds=[1]), "one seed for each of the 2 replicas, got 1"),
        (lambda: mirror(balanced_tree(1)), "no nodes"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_nodes_no_output_needs_are_left_out():
    graph = FunctionGraph(["a", "b", "c"], [Node("u", ("a", "b")), Node("v", ("a", "b", "c"))], ["u"])
    network = mirror(graph, width=3, n_replicas=np.int64(2), random_state=0)
    assert [n.name for n in network.graph.nodes] == ["u"]
    network(torch.zeros(2, 3)).sum().backward()
    assert all(p.grad is not None for p in network.parameters())
    with pytest.raises(ConfigError, match="no nodes to mirror"):
        mirror(FunctionGraph(["a", "b"], [Node("u", ("a", "b"))], ["a"]))


def test_outputs_that_feed_others_or_are_inputs():
    graph = FunctionGraph(["a", "b", "c"], [Node("u", ("a", "b")), Node("v", ("u", "c"))], ["v", "u", "a"])
    network = mirror(graph, width=3, n_replicas=2, random_state=0, dtype=torch.float64)
    x = torch.randn(5, 3, dtype=torch.float64)
    torch.testing.assert_close(network(x)[0], slow_forward(network, x, 0))
    torch.testing.assert_close(to_masked(network)(x), network(x))


def test_bad_batches_are_refused():
    network = mirror(single_node(3), n_replicas=2)
    with pytest.raises(DataError, match=r"\(batch, 3\), got \(5, 4\)"):
        network(torch.zeros(5, 4))
    with pytest.raises(DataError, match="2 replicas but the batch is for 3"):
        network(torch.zeros(3, 5, 3))


def test_the_graph_may_be_given_as_what_has_one():
    """An expression, a function, a discovery, a fitted model, another network: whatever compiles is mirrored too."""
    graph = FunctionGraph.from_expression("tanh(a*b) + c")
    found = discover(graph, bounds=[(-1, 1)] * 3, names=list("abc"), random_state=0)
    given = [graph, "tanh(a*b) + c", lambda a, b, c: np.tanh(a * b) + c, mirror(graph)]
    assert all(equivalent(mirror(same).graph, graph) for same in given)
    assert mirror(found).graph == found.graph.pruned()
    quick = GraphRegressor("tanh(a*b) + c", n_restarts=1, n_steps=1)
    fitted = quick.fit(np.random.default_rng(0).normal(size=(30, 3)), np.arange(30.0))
    assert mirror(fitted).graph == mirror(fitted.model_).graph == fitted.graph_
    with pytest.raises(ConfigError, match="graph must be a FunctionGraph, an expression or a function, got 3"):
        mirror(3)
    with pytest.raises(ConfigError, match="graph must be a FunctionGraph, an expression or a function, got Graph"):
        mirror(GraphRegressor())
