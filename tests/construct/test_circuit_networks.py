"""Circuits as ReLU networks: exact on all inputs, with the units that the theory counts."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch

from compsparse.construct import compile_circuit
from compsparse.construct.circuit_networks import gate_units
from compsparse.errors import GraphError
from compsparse.graph import FunctionGraph, Node
from compsparse.representations.boolean import CircuitBuilder, evaluate_bits
from compsparse.representations.boolean.gates import constituent
from compsparse.representations.boolean.reading import all_rows
from compsparse.tasks import comparator, majority_vote, multiplexer, parity_tree, ripple_adder


def value(units, x):
    hidden = sum(u.coefficient * max(0, np.dot(u.factors, x) + u.bias) for u in units.hidden)
    return units.constant + np.dot(units.linear, x) + hidden


def exact_on(network, graph, X):
    found = network(torch.tensor(X, dtype=next(network.parameters()).dtype)).numpy()
    return np.array_equal(found, evaluate_bits(graph, X))


@pytest.mark.parametrize("table", list(product([False, True], repeat=4)))
def test_every_gate_of_two_arguments_takes_at_most_one_unit(table):
    gate = np.array(table).reshape(2, 2)
    units = gate_units(gate)
    assert units.n_units <= 1
    assert all(value(units, x) == gate[x] for x in np.ndindex(2, 2))


@pytest.mark.parametrize("d", [1, 3, 4, 5, 7])
def test_gates_of_d_arguments_take_at_most_half_their_rows(d):
    rng = np.random.default_rng(d)
    for _ in range(20):
        gate = rng.random((2,) * d) < rng.random()
        units = gate_units(gate)
        assert units.n_units <= 2 ** (d - 1)
        assert all(value(units, x) == gate[x] for x in np.ndindex(*gate.shape))


@pytest.mark.parametrize("d", [2, 3, 5, 8])
def test_symmetric_gates_take_fewer_units_than_arguments(d):
    rng = np.random.default_rng(d)
    totals = all_rows(d).sum(1)
    for _ in range(10):
        gate = (rng.random(d + 1) < 0.5)[totals].reshape((2,) * d)
        units = gate_units(gate)
        assert units.n_units <= d - 1
        assert all(value(units, x) == gate[x] for x in np.ndindex(*gate.shape))
    parity = (totals % 2 == 1).reshape((2,) * d)
    assert gate_units(parity).n_units == d - 1  # no function of the sum that bends d - 1 times takes fewer


@pytest.mark.parametrize(
    "graph",
    [t.graph for t in (ripple_adder(5), comparator(5), multiplexer(3), parity_tree(9), majority_vote(9))],
    ids=["adder", "comparator", "multiplexer", "parity", "majority"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_circuits_of_arithmetic_are_exact_on_all_inputs(graph, dtype):
    network = compile_circuit(graph, dtype)
    assert exact_on(network, graph, all_rows(graph.n_inputs))
    assert network.size.units <= 2 * graph.size


def test_a_network_of_two_argument_gates_has_one_relu_a_gate():
    b = CircuitBuilder([f"x{i}" for i in range(6)])
    rng = np.random.default_rng(0)
    level = [b[name] for name in b.inputs]
    for _ in range(40):
        i, j = rng.choice(len(level), 2, replace=False)
        level.append(b.gate(rng.integers(0, 2, 4).tolist(), level[i], level[j]))
    graph = b.build({f"y{k}": level[-1 - k] for k in range(8)})
    assert graph.max_arity == 2
    network = compile_circuit(graph)
    assert network.size.units <= sum(node.arity == 2 for node in graph.nodes)
    assert exact_on(network, graph, all_rows(6))


def test_sums_and_carries_share_their_units():
    for n in (1, 8, 64):
        network = compile_circuit(ripple_adder(n).graph)
        assert network.size.units == 2 * n - 1  # a half adder takes one, a full adder two
        assert network.size.depth == n
    X = np.random.default_rng(0).integers(0, 2, (500, 128))
    assert exact_on(network, ripple_adder(64).graph, X)


def test_weights_stay_small_in_deep_circuits():
    network = compile_circuit(ripple_adder(64).graph, torch.float32)
    assert max(float(p.abs().max()) for p in network.parameters()) <= 8


@pytest.mark.parametrize("seed", range(15))
def test_random_graphs_of_wide_gates(seed):
    rng = np.random.default_rng(seed)
    names, nodes = [f"x{i}" for i in range(5)], []
    for k in range(8):
        parents = rng.choice(names, int(rng.integers(1, 5)), replace=False)
        nodes.append(Node(f"v{k}", tuple(parents.tolist()), constituent(rng.random((2,) * len(parents)) < 0.5)))
        names.append(f"v{k}")
    graph = FunctionGraph(names[:5], nodes, ["v7", "v6", "x0", "v2"])
    network = compile_circuit(graph)
    assert exact_on(network, graph, all_rows(5))
    # Theorem 8 with correction 6: nodes · 2^max arity, not nodes · max arity
    assert network.size.units <= graph.size * 2 ** (graph.max_arity - 1)


def test_units_of_random_gates_grow_as_two_to_the_arity():
    """Correction 6, the construction's side: the count is no multiple of the arity."""
    rng = np.random.default_rng(0)
    needed = [gate_units(rng.random((2,) * d) < 0.5).n_units for d in (2, 4, 6, 8, 10)]
    ratios = [b / a for a, b in pairwise(needed[1:])]
    assert min(ratios) > 2.5


def test_outputs_that_are_constants_copies_and_complements():
    b = CircuitBuilder(["a", "b"])
    both = b.all_of(b["a"], b["b"])
    graph = b.build({"zero": 0, "one": 1, "a_": b["a"], "not b": b["b"] ^ 1, "nand": both ^ 1, "and": both})
    assert exact_on(compile_circuit(graph), graph, all_rows(2))
    bare = CircuitBuilder(["a"])
    assert exact_on(compile_circuit(bare.build({"y": bare["a"] ^ 1})), bare.build({"y": bare["a"] ^ 1}), [[0], [1]])


def test_graphs_of_numbers_are_refused():
    with pytest.raises(GraphError, match="is no Boolean function"):
        compile_circuit(FunctionGraph.from_expression("sin(a*b)"))
