import pytest
import torch

from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph, Node, balanced_tree, equivalent, pyramid, random_dag
from compsparse.networks import MaskedNetwork, graph_of, layered, masks_of
from compsparse.tasks import patch_sum


@pytest.mark.parametrize("graph", [balanced_tree(8), pyramid(15, 3, 2), patch_sum(6, 3).graph.structure()])
def test_a_layered_graph_comes_back_from_its_masks(graph):
    network = MaskedNetwork(*masks_of(graph), n_replicas=2, random_state=0)
    for replica in range(2):
        assert equivalent(graph_of(network, replica), graph)
        assert graph_of(network, replica).modules == graph.modules


def test_values_that_later_levels_need_are_carried():
    graph = FunctionGraph(
        ["a", "b", "c"], [Node("u", ("a", "b")), Node("v", ("u", "c")), Node("w", ("v", "a"))], ["w", "u"]
    )
    masks, active = masks_of(graph, width=2)
    network = MaskedNetwork(masks, active, n_replicas=1, random_state=0, dtype=torch.float64)
    assert network.n_outputs == 2
    for weight, mask, units in zip(network.weights, network.masks(), active, strict=True):
        # linear units with one parent of the same kind carry: their weight is set to 1 here
        carry = (~units) & (mask[0].sum(1) == 1)
        weight.data[0, carry] = mask[0, carry]
    x = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
    out = network(x)[0]
    gradient = torch.autograd.grad(out[:, 1].sum(), x, retain_graph=True)[0]
    assert bool((gradient[:, 2] == 0).all())  # u does not see c
    assert graph_of(network, names=["a", "b", "c"]).ancestors("y1") >= {"a", "b"}
    assert "c" not in graph_of(network, names=["a", "b", "c"]).ancestors("y1")


@pytest.mark.parametrize("seed", range(5))
def test_masks_join_what_the_graph_joins(seed):
    graph = random_dag(6, 9, 3, random_state=seed)
    masks, active = masks_of(graph, width=2)
    network = MaskedNetwork(masks, active, n_replicas=1, random_state=0)
    found = graph_of(network, names=graph.inputs)
    assert found.ancestors("y") & set(graph.inputs) == graph.ancestors(graph.outputs[0]) & set(graph.inputs)


def test_zero_weights_and_dead_units_are_no_wires():
    network = layered([3, 3, 1], n_replicas=1, random_state=0)
    with torch.no_grad():
        network.weights[0][0, 0, 1:] = 0
        network.weights[0][0, 1] = 0
        network.weights[1][0, 0, 2] = 1e-9
    graph = graph_of(network, tol=1e-6)
    assert [n.name for n in graph.nodes] == ["h0_0", "y"]
    assert graph.inert == ("x1", "x2")
    assert "h0_2" in graph_of(network)


def test_an_output_that_reads_nothing_is_named():
    network = layered([3, 3, 2], n_replicas=1, random_state=0)
    with torch.no_grad():
        network.weights[1][0, 1] = 0
    with pytest.raises(ConfigError, match="output 'y1' depends on no input"):
        graph_of(network)
    with pytest.raises(ConfigError, match="no nodes to make masks of"):
        masks_of(FunctionGraph(["a"], [], ["a"]))
