"""Cross approximation: tensors of functions from values at few, well chosen points.

A part t of the tree splits the directions in two: the tensor is a matrix with rows in t and columns outside. If that
matrix has rank r, r rows and r columns whose submatrix is far from singular determine it. Rows of a part are chosen
among pairs of rows of its children (bottom up), columns among rows of its sibling with columns of its parent (top
down), so that each choice looks at a small matrix. Ranks grow by columns through points where the tensor is still
wrong. On a linear tree whose leaves keep all their points this is the cross approximation of a tensor train.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import RandomState, check_count, check_kind, check_number, generator_from
from compsparse.representations.tensors.approximation import TensorApproximation
from compsparse.representations.tensors.dimension_tree import DimensionTree, check_tree
from compsparse.representations.tensors.grid import Grid, function_values
from compsparse.representations.tensors.hierarchical_tucker import HierarchicalTucker
from compsparse.representations.tensors.tensor_train import TensorTrain

_FIRST_COLUMNS = 6
_CHECKED_A_SWEEP = 100
_CHECKED_AT_THE_END = 400
_PATIENCE = 3
"""Sweeps without progress after which a search ends."""
_GROWTH = 0.5
"""Columns that a sweep tries beside those it has, as a share of them."""
_MOST_SWAPS, _LARGEST_FACTOR = 200, 1.1
"""Rows are exchanged while an entry of the interpolation factor is larger than this (a quasi-maximal volume)."""


def tucker_from_function(
    function: Callable[[np.ndarray], Any],
    grid: Grid,
    tree: DimensionTree | None = None,
    *,
    tol: float = 1e-6,
    max_rank: int = 100,
    max_evaluations: int = 1_000_000,
    random_state: RandomState = None,
) -> TensorApproximation[HierarchicalTucker]:
    """The hierarchical Tucker tensor of a function on a grid, from values at few points.

    Args:
        function: maps rows of points to one number each.
        tree: which inputs come together where; :meth:`DimensionTree.from_graph` gives that of a function graph. By
            default neighbours in halves.
        tol: relative error, as roots of mean squares over the grid, at which the search stops.
        max_rank: no part gets a larger rank.
        max_evaluations: the search ends with what it has before it asks for more points.

    >>> import numpy as np
    >>> grid = Grid.of([(0, 1)] * 6, 9)
    >>> answer = tucker_from_function(lambda X: 1 / (1 + (X**2).sum(axis=1)), grid, tol=1e-5, random_state=0)
    >>> answer.is_converged, answer.n_evaluations < 9**6 / 50
    (True, True)
    """
    check_kind("grid", grid, Grid)
    tree = DimensionTree.balanced(grid.n_inputs) if tree is None else check_tree(tree, grid.n_inputs)
    search = _Search(function, grid, tree, True, tol, max_rank, max_evaluations, random_state)
    return search.run(lambda frames: HierarchicalTucker(tree, tuple(frames), grid))


def train_from_function(
    function: Callable[[np.ndarray], Any],
    grid: Grid,
    *,
    tol: float = 1e-6,
    max_rank: int = 100,
    max_evaluations: int = 1_000_000,
    random_state: RandomState = None,
) -> TensorApproximation[TensorTrain]:
    """The tensor train of a function on a grid, from values at few points; see :func:`tucker_from_function`.

    >>> import numpy as np
    >>> grid = Grid.of([(0, 1)] * 6, 9)
    >>> train_from_function(lambda X: np.exp(X.sum(axis=1)), grid, random_state=0).tensor.ranks
    (1, 1, 1, 1, 1)
    """
    check_kind("grid", grid, Grid)
    tree = DimensionTree.linear(grid.n_inputs)
    search = _Search(function, grid, tree, False, tol, max_rank, max_evaluations, random_state)

    def train(frames: list[np.ndarray]) -> TensorTrain:
        parts = tree.bottom_up()
        cores = [f for part, f in zip(parts, frames, strict=True) if not part.is_leaf]
        return TensorTrain((frames[0][None], *cores), grid)

    return search.run(train)


class _Spent(Exception):
    """More points were needed than were allowed."""


class _Oracle:
    """The function on the grid: each point is asked once."""

    def __init__(self, function: Callable[[np.ndarray], Any], grid: Grid, most: int):
        self.function, self.grid, self.most = function, grid, most
        self.known: dict[bytes, float] = {}
        self.largest = 0.0

    def __call__(self, indices: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(indices, dtype=np.int32)
        width = rows.shape[1] * rows.itemsize
        text = rows.tobytes()
        keys = [text[i : i + width] for i in range(0, len(text), width)]
        fresh = {key: i for i, key in enumerate(keys) if key not in self.known}
        if len(self.known) + len(fresh) > self.most:
            raise _Spent
        if fresh:
            values = function_values(self.function, self.grid.at(rows[list(fresh.values())]))
            self.known.update(zip(fresh, values.tolist(), strict=True))
            self.largest = max(self.largest, float(np.abs(values).max()))
        return np.array([self.known[key] for key in keys])


@dataclass
class _Crossing:
    """Rows (zero outside the part) and columns (zero inside it) of one part."""

    rows: np.ndarray
    columns: np.ndarray
    inside: np.ndarray


class _Search:
    def __init__(
        self,
        function: Callable[[np.ndarray], Any],
        grid: Grid,
        tree: DimensionTree,
        compress_leaves: bool,
        tol: float,
        max_rank: int,
        max_evaluations: int,
        random_state: RandomState,
    ):
        self.tol = check_number("tol", tol, above=0, below=1)
        self.max_rank = check_count("max_rank", max_rank)
        least = 2 * (_CHECKED_A_SWEEP + _CHECKED_AT_THE_END)
        most = check_count("max_evaluations", max_evaluations, least=least)
        self.oracle = _Oracle(function, grid, most - _CHECKED_AT_THE_END)
        self.grid, self.tree, self.rng = grid, tree, generator_from(random_state)
        self.parts = list(tree.bottom_up())
        self.keeps_all = {p.members for p in self.parts if p.is_leaf and not compress_leaves and p.members != (0,)}
        wrong = self._random_points(_FIRST_COLUMNS)
        self.crossings = {p.members: self._start(p, wrong) for p in self.parts}

    def _random_points(self, n: int) -> np.ndarray:
        return self.rng.integers(0, self.grid.shape, (n, self.grid.n_inputs))

    def _start(self, part: DimensionTree, points: np.ndarray) -> _Crossing:
        inside = np.zeros(self.grid.n_inputs, dtype=bool)
        inside[list(part.members)] = True
        rows = np.zeros((self.grid.shape[part.members[0]] if part.is_leaf else 1, len(inside)), dtype=np.int64)
        if part.is_leaf:
            rows[:, part.members[0]] = np.arange(len(rows))
        return _Crossing(rows, np.where(inside, 0, points), inside)

    # ---- the search ------------------------------------------------------------------------------

    def run(self, assemble: Callable[[list[np.ndarray]], Any]) -> TensorApproximation[Any]:
        best, best_error, waited = None, np.inf, 0
        wrong = np.zeros((0, self.grid.n_inputs), dtype=np.int64)
        try:
            while waited < _PATIENCE and best_error > 0.5 * self.tol:
                tensor = assemble(self._up(wrong))
                error, wrong = self._check(tensor)
                waited = 0 if error < 0.7 * best_error else waited + 1
                if error < best_error:
                    best, best_error = tensor, error
                if best_error > 0.5 * self.tol:
                    self._down()
        except _Spent:
            if best is None:
                best = assemble(self._constant())
        return self._answer(best)

    def _check(self, tensor: Any) -> tuple[float, np.ndarray]:
        """The relative error on fresh points, and the points in the order of their errors."""
        points = self._random_points(_CHECKED_A_SWEEP)
        values = self.oracle(points)
        off = np.abs(tensor.at(points) - values)
        size = np.sqrt(np.mean(values**2))
        error = np.sqrt(np.mean(off**2)) / size if size else float(off.max() > 0)
        return float(error), points[np.argsort(-off)]

    def _answer(self, tensor: Any) -> TensorApproximation[Any]:
        points = self._random_points(_CHECKED_AT_THE_END)
        self.oracle.most += _CHECKED_AT_THE_END
        values = self.oracle(points)
        off, size = tensor.at(points) - values, float(np.linalg.norm(values))
        error = float(np.linalg.norm(off)) / size if size else float(np.any(off))
        certificate = Certificate(
            "relative error of the tensor", error, 0.0, np.inf, Rigour.ESTIMATED,
            obtained=f"{_CHECKED_AT_THE_END} fresh points of the grid",
        )  # fmt: skip
        return TensorApproximation(tensor, certificate, len(self.oracle.known), error <= self.tol)

    # ---- sweeps ----------------------------------------------------------------------------------

    def _up(self, wrong: np.ndarray) -> list[np.ndarray]:
        """Chooses rows from the leaves to the top; columns through wrong points let the ranks grow."""
        frames = []
        for part in self.parts:
            mine = self.crossings[part.members]
            rows, shape = self._candidates(part)
            if part is self.tree:
                frames.append(self.oracle(rows).reshape(*shape, 1))
            elif part.members in self.keeps_all:
                frames.append(np.eye(len(rows)))
            else:
                n_new = max(2, int(np.ceil(_GROWTH * len(mine.columns))))
                columns = _distinct(np.concatenate([mine.columns, np.where(mine.inside, 0, wrong[:n_new])]))
                matrix = self._matrix(rows, columns)
                chosen, kept = cross_pivots(matrix, self._cutoff, self.max_rank)
                mine.rows, mine.columns = rows[chosen], columns[kept]
                frames.append(interpolation_factor(matrix[:, kept], chosen).reshape(*shape, -1))
        return frames

    def _down(self) -> None:
        """Chooses columns from the top to the leaves, among rows of the sibling with columns of the parent."""
        for part in reversed(self.parts):
            if part.is_leaf:
                continue
            above = self.crossings[part.members].columns if part is not self.tree else None
            left, right = (self.crossings[child.members] for child in part.children)
            for child, mine, other in ((part.children[0], left, right), (part.children[1], right, left)):
                if child.members not in self.keeps_all:
                    columns = other.rows if above is None else _pairs(other.rows, above)
                    chosen, _ = cross_pivots(self._matrix(mine.rows, columns).T, self._cutoff, self.max_rank)
                    mine.columns = columns[chosen]

    def _candidates(self, part: DimensionTree) -> tuple[np.ndarray, tuple[int, ...]]:
        if part.is_leaf:
            rows = self._start(part, np.zeros((1, self.grid.n_inputs), dtype=np.int64)).rows
            return rows, (len(rows),)
        left, right = (self.crossings[child.members].rows for child in part.children)
        return _pairs(left, right), (len(left), len(right))

    def _matrix(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.oracle(_pairs(rows, columns)).reshape(len(rows), len(columns))

    @property
    def _cutoff(self) -> float:
        return 0.1 * self.tol * self.oracle.largest

    def _constant(self) -> list[np.ndarray]:
        """Where there were too few evaluations for one sweep: the zero tensor."""
        sizes = [self.grid.shape[part.members[0]] if part.is_leaf else 0 for part in self.parts]
        return [
            np.eye(n) if part.members in self.keeps_all else np.zeros((n, 1) if part.is_leaf else (1, 1, 1))
            for part, n in zip(self.parts, sizes, strict=True)
        ]


def _pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """All sums of a row of the first and one of the second; each is zero where the other is not."""
    return np.asarray((first[:, None] + second[None]).reshape(-1, first.shape[1]))


def _distinct(rows: np.ndarray) -> np.ndarray:
    _, first = np.unique(rows, axis=0, return_index=True)
    return np.asarray(rows[np.sort(first)])


# ---- rows and columns of a matrix whose crossing is far from singular ----------------------------


def cross_pivots(matrix: np.ndarray, cutoff: float, max_rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns by elimination, the largest entry left over first, until none is above ``cutoff``.

    At least one of each is returned; the rows are then exchanged towards the largest volume.

    >>> rows, columns = cross_pivots(np.array([[1.0, 2.0], [2.0, 4.0]]), 1e-9, 5)
    >>> rows.tolist(), columns.tolist()
    ([1], [1])
    """
    rest = matrix.copy()
    rows: list[int] = []
    columns: list[int] = []
    for _ in range(min(*matrix.shape, max_rank)):
        i, j = np.unravel_index(np.argmax(np.abs(rest)), rest.shape)
        pivot = rest[i, j]
        if rows and abs(pivot) <= cutoff:
            break
        rows.append(int(i))
        columns.append(int(j))
        if pivot == 0:
            break
        rest -= np.outer(rest[:, j] / pivot, rest[i])
        rest[i], rest[:, j] = 0.0, 0.0  # what rounding leaves must not be chosen again
    chosen = np.array(columns)
    return _exchanged(matrix[:, chosen], np.array(rows)), chosen


def interpolation_factor(columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The matrix that gives all rows from the chosen ones: ``columns @ inv(columns[rows])``, by orthonormal columns."""
    q, _ = np.linalg.qr(columns)
    return np.asarray(np.linalg.lstsq(q[rows].T, q.T, rcond=None)[0].T)


def _exchanged(columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    if len(rows) == len(columns):
        return rows
    factor = interpolation_factor(columns, rows)
    for _ in range(_MOST_SWAPS):
        i, j = np.unravel_index(np.argmax(np.abs(factor)), factor.shape)
        if abs(factor[i, j]) <= _LARGEST_FACTOR:
            break
        # row i takes the place of the j-th chosen row: a change of rank one
        step = factor[i].copy()
        step[j] -= 1
        factor -= np.outer(factor[:, j] / factor[i, j], step)
        rows[j] = i
    return rows
