"""Real functions on bits: the error is bounded, the polynomial exact, and the number of bits as it should be."""

import numpy as np
import pytest
import torch

from compsparse.certificate import Rigour
from compsparse.construct import compile_circuit
from compsparse.errors import ConfigError, DataError, GraphError
from compsparse.graph import FunctionGraph
from compsparse.representations.boolean import binarise, binarise_graph, evaluate_bits
from compsparse.representations.boolean.reading import all_rows
from compsparse.tasks import tanh_tree

GRAPH = FunctionGraph.from_expression("sin(a*b) + c/2")
BOX = [(-1.0, 1.0), (0.0, 2.0), (-1.0, 3.0)]
LIPSCHITZ = [2.0, 1.0, 0.5]


@pytest.mark.parametrize("n_bits", [1, 3, 5])
def test_the_proved_error_holds_and_halves_with_every_bit(n_bits):
    made = binarise(GRAPH, BOX, n_bits, lipschitz=LIPSCHITZ, names=["a", "b", "c"])
    assert made.certificate.rigour is Rigour.PROVED
    assert made.certificate.upper == (2 * 2 + 1 * 2 + 0.5 * 4) / 2 ** (n_bits + 1)
    low, high = np.array(BOX).T
    x = low + np.random.default_rng(0).random((50_000, 3)) * (high - low)
    x[0], x[1] = low, high
    error = np.abs(made(x) - GRAPH(x)).max()
    assert 0.3 * made.certificate.upper < error <= made.certificate.upper


def test_the_bound_is_attained_by_a_linear_function():
    made = binarise(lambda x: x[:, 0] + x[:, 1], [(0, 1), (0, 1)], 2, lipschitz=[1, 1])
    assert abs(made([[1.0, 1.0]])[0] - 2) == made.certificate.upper == 0.25


@pytest.mark.parametrize(("d", "n_bits"), [(1, 4), (2, 3), (3, 2)])
def test_the_number_of_bits_is_the_logarithm_of_the_table(d, n_bits):
    """Correction 7: k^d values are a function of d log2 k bits (d k one-hot), not of k^d."""
    made = binarise(lambda x: x.sum(1), [(0, 1)] * d, n_bits)
    x = np.random.default_rng(0).random((200, d))
    k = 2**n_bits
    assert made.table.shape == (k**d,)
    assert made.bits(x).shape == (200, d * n_bits)
    assert made.one_hot(x).shape == (200, d * k)
    assert (made.one_hot(x).sum(1) == d).all()
    assert len(made.spectrum.sums) == 2 ** (d * n_bits) == k**d
    assert np.allclose(made.one_hot(x) @ np.tile((np.arange(k) + 0.5) / k, d), made(x))  # linear in one-hot bits


def test_the_walsh_polynomial_is_the_table():
    made = binarise(GRAPH, BOX, 3, lipschitz=LIPSCHITZ)
    polynomial, certificate = made.polynomial()
    low, high = np.array(BOX).T
    x = low + np.random.default_rng(1).random((2000, 3)) * (high - low)
    assert np.allclose(polynomial(made.bits(x)), made(x), atol=1e-12)
    assert certificate.upper == pytest.approx(made.certificate.upper)


def test_terms_left_out_add_to_the_error():
    made = binarise(GRAPH, BOX, 4, lipschitz=LIPSCHITZ)
    low, high = np.array(BOX).T
    x = low + np.random.default_rng(2).random((20_000, 3)) * (high - low)
    bounds = []
    for n_terms in (8, 32, 128):
        polynomial, certificate = made.polynomial(n_terms=n_terms)
        assert polynomial.n_terms == n_terms
        assert np.abs(polynomial(made.bits(x)) - GRAPH(x)).max() <= certificate.upper
        bounds.append(certificate.upper)
    assert bounds[0] > bounds[1] > bounds[2]
    linear, _ = made.polynomial(degree=1)
    assert linear.degree == 1


def test_without_lipschitz_constants_the_error_is_an_estimate():
    made = binarise(lambda x: np.abs(x[:, 0]), [(-1, 1)], 5)
    assert made.certificate.rigour is Rigour.ESTIMATED
    assert made.certificate.upper == np.inf
    assert 0.02 < made.certificate.value <= 1 / 32
    assert made.polynomial()[1].upper == np.inf


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: binarise(GRAPH, BOX, 9), ConfigError),
        (lambda: binarise(GRAPH, [(1, 0)] * 3, 2), ConfigError),
        (lambda: binarise(GRAPH, BOX, 2, lipschitz=[1, 1]), ConfigError),
        (lambda: binarise(GRAPH, BOX, 2, lipschitz=[1, 1, -1]), ConfigError),
        (lambda: binarise(lambda x: x, BOX, 2), DataError),
        (lambda: binarise(lambda x: np.log(x[:, 0]), [(0, 1)], 2)([[2.0]]), DataError),
        (lambda: binarise(lambda x: x[:, 0] * np.nan, [(0, 1)], 2), DataError),
    ],
)
def test_bad_input(call, error):
    with pytest.raises(error):
        call()


# ---- graphs ----------------------------------------------------------------------------------------


def test_a_tree_on_bits_approximates_the_tree():
    """Eight inputs: a table of the whole would have 2^(8 b) values, the nodes' have 2^(2 b) each."""
    tree = tanh_tree(8).graph
    box = [(-1.0, 1.0)] * 8
    x = np.random.default_rng(5).uniform(-1, 1, (2000, 8))
    errors = []
    for n_bits in (3, 4, 6):
        made = binarise_graph(tree, box, n_bits)
        assert made.graph.size == 7 * n_bits
        assert made.graph.max_arity == 2 * n_bits
        assert made.n_table_values == 7 * 2 ** (2 * n_bits)
        errors.append(np.abs(made(x) - tree(x)).max())
        assert errors[-1] <= 1.5 * made.certificate.value
    assert errors[0] > errors[1] > errors[2]
    assert errors[0] > 4 * errors[2]


def test_graphs_with_several_outputs_and_shared_nodes():
    graph = FunctionGraph.from_expression(["a*b + c", "sin(a*b)"])
    made = binarise_graph(graph, [(0, 1)] * 3, 5)
    x = np.random.default_rng(0).random((500, 3))
    assert made(x).shape == (500, 2)
    assert np.abs(made(x) - graph(x)).max() < 0.15
    network = compile_circuit(binarise_graph(graph, [(0, 1)] * 3, 2).graph)
    rows = all_rows(6)
    small = binarise_graph(graph, [(0, 1)] * 3, 2).graph
    assert np.array_equal(network(torch.tensor(rows, dtype=torch.float64)).numpy(), evaluate_bits(small, rows))


def test_graphs_that_cannot_be_binarised():
    graph = FunctionGraph.from_expression("a*b + c*d")
    with pytest.raises(ConfigError, match="would read 18 bits"):
        binarise_graph(graph, [(0, 1)] * 4, 9)
    with pytest.raises(ConfigError, match="each of the 4 inputs, got 3"):
        binarise_graph(graph, [(0, 1)] * 3, 2)
    with pytest.raises(GraphError, match="structure alone"):
        binarise_graph(graph.structure(), [(0, 1)] * 4, 2)
    with pytest.raises(DataError, match="outside the bounds"):
        binarise_graph(graph, [(0, 1)] * 4, 2)([[2, 0, 0, 0]])
