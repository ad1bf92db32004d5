"""Cross approximation against whole tensors, its count of evaluations, and what the tree does to it."""

import numpy as np
import pytest

from compsparse.certificate import Rigour
from compsparse.errors import ConfigError, DataError
from compsparse.representations.tensors import (
    DimensionTree,
    Grid,
    cut_ranks,
    module_ranks,
    tensor_graph,
    train_from_array,
    train_from_function,
    tucker_from_array,
    tucker_from_function,
)
from compsparse.representations.tensors.cross import cross_pivots, interpolation_factor
from compsparse.tasks import tanh_tree


def bump(X):
    return 1 / (1 + (X**2).sum(axis=1))


class Counted:
    def __init__(self, function):
        self.function, self.rows = function, []

    def __call__(self, X):
        self.rows.append(X)
        return self.function(X)

    @property
    def n_different(self):
        return len(np.unique(np.concatenate(self.rows), axis=0))


@pytest.mark.parametrize("run", [train_from_function, tucker_from_function])
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
def test_few_points_give_the_whole_tensor(run, tol):
    grid, function = Grid.of([(0, 1)] * 5, 9), Counted(bump)
    answer = run(function, grid, tol=tol, random_state=1)
    values = grid.sample(bump)
    seen = np.linalg.norm(answer.tensor.full() - values) / np.linalg.norm(values)
    assert answer.is_converged
    assert seen <= 3 * tol
    assert answer.n_evaluations == function.n_different == len(np.concatenate(function.rows))
    assert answer.n_evaluations < 9**5 / 5
    assert answer.error.rigour is Rigour.ESTIMATED
    assert answer.error.value == pytest.approx(seen, rel=0.6)


def test_exact_ranks_are_found():
    grid = Grid.of([(0, 1)] * 6, 8)
    train = train_from_function(lambda X: X.sum(axis=1) + 2, grid, tol=1e-10, random_state=0)
    assert train.tensor.ranks == (2, 2, 2, 2, 2)
    tensor = tucker_from_function(lambda X: np.sin(X.sum(axis=1)), grid, tol=1e-10, random_state=0).tensor
    assert set(tensor.ranks.values()) == {2}
    assert tucker_from_function(lambda X: np.zeros(len(X)), grid, random_state=0).tensor.norm() == 0


def test_the_same_seed_gives_the_same_answer():
    grid = Grid.of([(0, 1)] * 4, 7)
    a, b = (tucker_from_function(bump, grid, random_state=3) for _ in range(2))
    assert all(np.array_equal(f, g) for f, g in zip(a.tensor.frames, b.tensor.frames, strict=True))


def test_the_tree_of_the_function_is_cheapest():
    task, grid = tanh_tree(8), Grid.of([(-1, 1)] * 8, 9)
    along = tucker_from_function(task.graph, grid, DimensionTree.from_graph(task.graph), tol=1e-3, random_state=0)
    train = train_from_function(task.graph, grid, tol=1e-3, random_state=0)
    across = DimensionTree.from_nested((((0, 4), (2, 6)), ((1, 5), (3, 7))))
    wrong = tucker_from_function(task.graph, grid, across, tol=1e-3, max_evaluations=60_000, random_state=0)
    assert along.is_converged
    assert train.is_converged
    assert along.n_evaluations < train.n_evaluations / 1.5
    assert not wrong.is_converged


def test_a_budget_is_kept():
    grid, function = Grid.of([(-1, 1)] * 8, 17), Counted(tanh_tree(8).graph)
    answer = tucker_from_function(function, grid, tol=1e-8, max_evaluations=5000, random_state=0)
    assert not answer.is_converged
    assert function.n_different == answer.n_evaluations <= 5000
    least = tucker_from_function(function, grid, tol=1e-8, max_evaluations=1000, random_state=0)
    assert least.n_evaluations <= 1000
    assert least.error.value <= 1


def test_pivots_give_every_row_with_small_factors():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 40))
    rows, columns = cross_pivots(matrix, 1e-9, 20)
    factor = interpolation_factor(matrix[:, columns], rows)
    assert len(rows) == len(columns) == 5
    assert np.abs(factor).max() <= 1.1 + 1e-9
    np.testing.assert_allclose(factor @ matrix[rows], matrix, atol=1e-9)
    np.testing.assert_allclose(factor[rows], np.eye(5), atol=1e-9)


def test_modules_need_one_channel_whatever_their_rank():
    graph = tanh_tree(8).graph
    found = module_ranks(graph, [(-1, 1)] * 8, tol=1e-4, random_state=0)
    assert {c.members for c in found} == {(0, 1), (2, 3), (4, 5), (6, 7), (0, 1, 2, 3), (4, 5, 6, 7)}
    assert all(c.channels == 1 for c in found)
    assert all(c.matricisation > 3 for c in found)
    [other] = cut_ranks(graph, [(-1, 1)] * 8, [[0, 2]], tol=1e-4, random_state=0)
    assert other.channels == 2
    assert other.matricisation > max(c.matricisation for c in found)
    [product] = cut_ranks(lambda X: X[:, 0] * X[:, 1], [(0, 1)] * 2, [[1]], random_state=0)
    assert (product.matricisation, product.channels) == (1, 1)


@pytest.mark.parametrize("rule", ["chebyshev", "linear"])
def test_the_graph_of_a_tensor_computes_the_tensor(rule):
    import torch

    grid = Grid(((0, 1), (-1, 1), (0, 2)), (5, 6, 7), rule)
    tensor = tucker_from_function(bump, grid, DimensionTree.from_nested(((2, 0), 1)), random_state=0).tensor
    graph = tensor_graph(tensor)
    X = np.array([0, -1, 0]) + np.random.default_rng(0).random((50, 3)) * [1, 2, 2]
    np.testing.assert_allclose(graph(X), tensor(X), atol=1e-10)
    np.testing.assert_allclose(graph(torch.tensor(X)).numpy(), tensor(X), atol=1e-10)
    assert graph.size == sum(tensor.ranks.values()) + 1
    assert graph.max_arity == max(a.shape[0] + a.shape[1] for a in tensor.frames if a.ndim == 3)


def test_what_cross_approximation_refuses():
    grid = Grid.of([(0, 1)] * 3, 5)
    with pytest.raises(ConfigError, match="tol must be a finite number > 0"):
        train_from_function(bump, grid, tol=0.0)
    with pytest.raises(ConfigError, match="max_evaluations must be a whole number >= 1000"):
        train_from_function(bump, grid, max_evaluations=10)
    with pytest.raises(DataError, match="NaN or infinite"):
        train_from_function(lambda X: np.full(len(X), np.nan), grid)
    with pytest.raises(ConfigError, match="both sides"):
        cut_ranks(bump, [(0, 1)] * 3, [[0, 1, 2]])
    with pytest.raises(ConfigError, match="has no grid"):
        tensor_graph(tucker_from_array(np.ones((2, 2))).tensor)
    assert train_from_array(grid.sample(bump)).n_evaluations == 125
