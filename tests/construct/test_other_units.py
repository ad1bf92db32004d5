"""Hard thresholds compute circuits, squared ReLUs make splines: exactly, and at the stated price."""

from itertools import product

import numpy as np
import pytest
from scipy.interpolate import BSpline

from compsparse.construct import compile_thresholds, tensor_spline
from compsparse.errors import CompsparseError
from compsparse.graph import FunctionGraph
from compsparse.representations.boolean import curtis_decomposition, evaluate_bits
from compsparse.tasks import comparator, majority_vote, multiplexer, parity_tree, ripple_adder

TABLE = np.random.default_rng(0).integers(0, 2, 2**8)
GRAPHS = {
    "sum": ripple_adder(3).graph, "comparison": comparator(3).graph, "choice": multiplexer(2).graph,
    "parity": parity_tree(7).graph, "majority": majority_vote(7).graph,
    "random": curtis_decomposition(TABLE, 4).graph,
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_thresholds_equal_their_circuit_on_all_inputs(name):
    graph = GRAPHS[name]
    X = np.array(list(product((0, 1), repeat=graph.n_inputs)), dtype=np.uint8)
    network = compile_thresholds(graph)
    np.testing.assert_array_equal(network(X), evaluate_bits(graph, X))
    assert network.n_units <= sum(2 ** (len(node.parents) - 1) for node in graph.nodes)


def test_what_is_no_circuit_has_no_thresholds():
    with pytest.raises(CompsparseError, match="no Boolean function"):
        compile_thresholds(FunctionGraph.from_expression("a + b"))
    with pytest.raises(CompsparseError):
        compile_thresholds(parity_tree(4).graph.structure())


@pytest.mark.parametrize("seed", [0, 1])
def test_squared_units_are_the_tensor_spline(seed):
    rng = np.random.default_rng(seed)
    t = [np.sort(rng.uniform(-1, 1, 8)), np.sort(rng.uniform(-1, 1, 6))]
    c = rng.standard_normal((5, 3))
    X = rng.uniform(-1.2, 1.2, (200, 2))
    basis = [
        np.stack([np.nan_to_num(BSpline.basis_element(k[i : i + 4], False)(x)) for i in range(len(k) - 3)], axis=1)
        for k, x in zip(t, X.T, strict=True)
    ]
    network = tensor_spline(c, t)
    np.testing.assert_allclose(network(X), np.einsum("ni,ij,nj->n", basis[0], c, basis[1]), atol=1e-8)
    assert network.n_units == 8 + 6 + 4 * c.size


@pytest.mark.parametrize(
    ("c", "t"),
    [(np.ones((1, 1)), [[0, 1, 2, 3]]), (np.ones((2, 1)), [[0, 1, 2, 3]] * 2), (np.ones((1, 1)), [[0, 1, 1, 3]] * 2)],
)
def test_knots_and_coefficients_must_fit(c, t):
    with pytest.raises(CompsparseError):
        tensor_spline(c, t)
