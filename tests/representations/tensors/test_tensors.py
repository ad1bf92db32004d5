"""Tensor formats against whole arrays: values, ranks, errors, sums, products, integrals."""

import numpy as np
import pytest

from compsparse.certificate import Rigour
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph, balanced_tree
from compsparse.representations.tensors import (
    DimensionTree,
    Grid,
    HierarchicalTucker,
    TensorTrain,
    train_from_array,
    tucker_from_array,
)

TREES = [
    DimensionTree.balanced(4),
    DimensionTree.linear(4),
    DimensionTree.from_nested(((3, 0), (1, 2))),
    DimensionTree.from_nested((2, ((0, 3), 1))),
]


def array(random_state=0, shape=(4, 5, 3, 6)):
    return np.random.default_rng(random_state).normal(size=shape)


def smooth(shape=(8, 9, 7, 8)):
    axes = np.meshgrid(*[np.linspace(0, 1, n) for n in shape], indexing="ij")
    return 1 / (1 + axes[0] + axes[1] ** 2 + axes[2] * axes[3] + axes[0] * axes[3])


def on(tree):
    return lambda a, **given: tucker_from_array(a, tree, **given)


MAKERS = [train_from_array, *map(on, TREES)]


@pytest.mark.parametrize("make", MAKERS)
def test_without_tolerance_a_tensor_is_its_array(make):
    answer = make(array(), tol=0.0)
    np.testing.assert_allclose(answer.tensor.full(), array(), atol=1e-12)
    assert answer.error.rigour is Rigour.RIGOROUS
    assert answer.error.upper < 1e-11


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("tol", [0.5, 1e-1, 1e-2, 1e-4, 1e-7])
def test_the_error_is_what_was_cut_off(make, tol):
    values = smooth()
    answer = make(values, tol=tol)
    seen = np.linalg.norm(answer.tensor.full() - values) / np.linalg.norm(values)
    assert seen <= tol
    assert seen == pytest.approx(answer.error.value, rel=1e-6, abs=1e-14)
    assert answer.error.lower <= seen <= answer.error.upper


@pytest.mark.parametrize("make", MAKERS)
def test_a_limit_on_ranks_is_kept_and_said(make):
    answer = make(array(), tol=1e-3, max_rank=2)
    ranks = answer.tensor.ranks
    assert max(ranks.values() if isinstance(ranks, dict) else ranks) <= 2
    assert not answer.is_converged
    seen = np.linalg.norm(answer.tensor.full() - array()) / np.linalg.norm(array())
    assert seen == pytest.approx(answer.error.value)


def test_ranks_are_those_of_matrices():
    a, b, c, d = np.meshgrid(*[np.linspace(0, 1, 5)] * 4, indexing="ij")
    values = 1 + a * b + 2 * c * d + a**2 * c * d + np.sin(b + d)  # a clear gap in all singular values
    train = train_from_array(values, tol=1e-12).tensor
    by_hand = [np.linalg.matrix_rank(values.reshape(5**k, -1), tol=1e-9) for k in (1, 2, 3)]
    assert list(train_from_array(values, tol=1e-9).tensor.ranks) == by_hand
    tree = TREES[2]
    ranks = tucker_from_array(values, tree, tol=1e-9).tensor.ranks
    for members, rank in ranks.items():
        rest = [i for i in range(4) if i not in members]
        matrix = values.transpose(*members, *rest).reshape(5 ** len(members), -1)
        assert rank == np.linalg.matrix_rank(matrix, tol=1e-9)
    assert train.n_parameters == sum(c.size for c in train.cores)


@pytest.mark.parametrize("make", MAKERS)
def test_entries_sums_products_and_norms(make):
    a, b = array(1), array(2)
    A, B = make(a, tol=0.0).tensor, make(b, tol=0.0).tensor
    rows = np.random.default_rng(3).integers(0, a.shape, (30, 4))
    np.testing.assert_allclose(A.at(rows), a[tuple(rows.T)], atol=1e-12)
    np.testing.assert_allclose((A + B).full(), a + b, atol=1e-12)
    np.testing.assert_allclose((2.5 * A).full(), 2.5 * a, atol=1e-12)
    assert A.inner(B) == pytest.approx((a * b).sum())
    assert A.norm() == pytest.approx(np.linalg.norm(a))


@pytest.mark.parametrize("make", MAKERS)
def test_rounding_undoes_a_sum_and_keeps_its_word(make):
    values = smooth()
    tensor = make(values, tol=1e-13).tensor
    doubled = (tensor + tensor).rounded(1e-11)
    np.testing.assert_allclose(doubled.full(), 2 * values, atol=1e-9)
    assert doubled.n_parameters <= tensor.n_parameters
    for tol in (1e-1, 1e-3, 1e-6):
        rounded = tensor.rounded(tol)
        assert np.linalg.norm(rounded.full() - values) <= tol * np.linalg.norm(values) * (1 + 1e-9)
        assert rounded.n_parameters < tensor.n_parameters
    small = tensor.rounded(1e-12, max_rank=2).ranks
    assert max(small.values() if isinstance(small, dict) else small) == 2


@pytest.mark.parametrize("rule", ["chebyshev", "linear"])
@pytest.mark.parametrize("make", MAKERS)
def test_functions_between_grid_points_and_their_integral(make, rule):
    def polynomial(X):
        a, b, c, d = X.T
        return 1 + a * b - 2 * c * d + a * c * d

    grid = Grid(((0, 1), (-1, 1), (0, 2), (1, 2)), (3, 3, 4, 5), rule)
    tensor = make(grid.sample(polynomial), grid=grid).tensor
    low, high = np.array(grid.bounds).T
    X = low + np.random.default_rng(0).random((40, 4)) * (high - low)
    np.testing.assert_allclose(tensor(X), polynomial(X), atol=1e-11)
    # by hand: volume 4; the mean of a*b is 0, of c*d 1.5, of a*c*d 0.75
    assert tensor.integral() == pytest.approx(4 * (1 - 3 + 0.75))


def test_one_direction_is_a_tensor_too():
    for answer in (train_from_array([1.0, 2.0, 4.0]), tucker_from_array([1.0, 2.0, 4.0])):
        np.testing.assert_allclose(answer.tensor.full(), [1, 2, 4])
        assert answer.tensor.norm() == pytest.approx(np.sqrt(21))
        np.testing.assert_allclose((answer.tensor + answer.tensor).rounded().full(), [2, 4, 8])


def test_the_zero_tensor():
    for answer in (train_from_array(np.zeros((3, 3, 3))), tucker_from_array(np.zeros((3, 3, 3)))):
        assert answer.error.value == 0
        np.testing.assert_array_equal(answer.tensor.rounded().full(), 0)


def test_trees_of_graphs():
    graph = FunctionGraph.from_expression("tanh(a*c) * exp(b - sin(d*e))", ["a", "b", "c", "d", "e", "idle"])
    tree = DimensionTree.from_graph(graph)
    parts = {frozenset(t.members) for t in tree.bottom_up()}
    assert sorted(tree.members) == [0, 1, 2, 3, 4, 5]
    assert {frozenset({0, 2}), frozenset({3, 4})} <= parts
    assert tree.children[1].members == (5,)
    assert DimensionTree.from_graph(balanced_tree(8)) == DimensionTree.balanced(8)
    assert DimensionTree.from_graph(FunctionGraph.from_expression("a")) == DimensionTree.leaf(0)


def test_what_tensors_refuse():
    with pytest.raises(DataError, match="NaN or infinite"):
        train_from_array([[np.nan, 1.0]])
    with pytest.raises(DataError, match="at least one direction"):
        tucker_from_array(np.zeros((2, 0)))
    with pytest.raises(ConfigError, match="must hold the inputs 0 to 3, each once"):
        tucker_from_array(array(), DimensionTree.balanced(3))
    with pytest.raises(ConfigError, match="holds every input once"):
        DimensionTree.from_nested((0, 0))
    with pytest.raises(DataError, match="ranks of the cores do not fit"):
        TensorTrain([np.ones((1, 2, 2)), np.ones((1, 2, 1))])
    with pytest.raises(DataError, match="needs as many frames"):
        HierarchicalTucker(DimensionTree.balanced(2), [np.ones((2, 1))])
    with pytest.raises(DataError, match=r"transfer tensor of \(0, 1\) must have shape"):
        HierarchicalTucker(DimensionTree.balanced(2), [np.ones((2, 1)), np.ones((2, 1)), np.ones((2, 1, 1))])
    with pytest.raises(ConfigError, match="has no grid"):
        train_from_array(array()).tensor([[0.0] * 4])
    with pytest.raises(DataError, match="up to the tensor's shape"):
        train_from_array(array()).tensor.at([[0, 0, 0, 6]])
    with pytest.raises(ConfigError, match="Grid of that shape"):
        train_from_array(array(), grid=Grid.of([(0, 1)] * 4, 5))
    with pytest.raises(DataError, match="different trees"):
        tucker_from_array(array(), TREES[0]).tensor.inner(tucker_from_array(array(), TREES[1]).tensor)
