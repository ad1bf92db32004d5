"""Tensor trains: a tensor as a chain of matrices, one for each entry in each direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import check_count, check_list, check_number, check_numbers
from compsparse.errors import ConfigError, DataError
from compsparse.representations.tensors.grid import Grid, check_positions
from compsparse.sizes import check_size
from compsparse.text import in_a_line


@in_a_line
@dataclass(frozen=True, eq=False)
class TensorTrain:
    r"""A tensor in the form :math:`A[i_1, \dots, i_d] = G_1[i_1] G_2[i_2] \cdots G_d[i_d]`.

    Attributes:
        cores: arrays of shape (r, n, r'), one for each direction; the first r and the last r' are 1.
        grid: where the entries stand, if they are values of a function; then the train can be called at points.

    >>> import numpy as np
    >>> train = TensorTrain([np.ones((1, 3, 1)), np.arange(2.0).reshape(1, 2, 1)])
    >>> train.full()
    array([[0., 1.], [0., 1.], [0., 1.]])
    """

    cores: tuple[np.ndarray, ...]
    grid: Grid | None = None

    def __post_init__(self) -> None:
        cores = tuple(check_numbers("a core", c, shape=(None, None, None)) for c in check_list("cores", self.cores))
        if not cores:
            raise DataError("a tensor train has at least one core")
        ends = [1, *(c.shape[2] for c in cores)]
        if ends[-1] != 1 or any(c.shape[0] != r for c, r in zip(cores, ends, strict=False)):
            raise DataError(f"the ranks of the cores do not fit: got shapes {[c.shape for c in cores]}")
        object.__setattr__(self, "cores", cores)
        check_grid(self.grid, self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of entries in every direction."""
        return tuple(c.shape[1] for c in self.cores)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks between neighbouring cores: of the tensor as a matrix, the first k directions against the rest."""
        return tuple(c.shape[2] for c in self.cores[:-1])

    @property
    def n_parameters(self) -> int:
        """Numbers that the cores hold."""
        return sum(c.size for c in self.cores)

    def full(self) -> np.ndarray:
        """The whole tensor."""
        check_size("the entries of the tensor", 2 * np.prod(self.shape, dtype=float), "ask for single entries")
        result = np.ones((1, 1))
        for core in self.cores:
            result = np.tensordot(result, core, 1).reshape(-1, core.shape[2])
        return result.reshape(self.shape)

    def at(self, indices: Any) -> np.ndarray:
        """The entries with the given indices, one row of indices each."""
        rows = check_positions("indices", indices, self.shape)
        return self._contracted([core[:, rows[:, i]] for i, core in enumerate(self.cores)])

    def __call__(self, X: Any) -> np.ndarray:
        """Values of the function at points, interpolated between the grid's."""
        grid = needs_grid(self.grid)
        points = check_numbers("X", X, shape=(None, len(self.cores)))
        return self._contracted(
            [np.einsum("anb,xn->axb", core, grid.basis(i, points[:, i])) for i, core in enumerate(self.cores)]
        )

    def _contracted(self, slices: Sequence[np.ndarray]) -> np.ndarray:
        """Products of matrices, one for each of the middle axis."""
        row = slices[0][0]
        for matrices in slices[1:]:
            row = np.einsum("xa,axb->xb", row, matrices)
        return np.asarray(row[:, 0])

    def integral(self) -> float:
        """The integral over the grid's box, by its rule."""
        grid = needs_grid(self.grid)
        row = np.ones((1, 1))
        for i, core in enumerate(self.cores):
            row = row @ np.einsum("anb,n->ab", core, grid.weights(i))
        return float(row[0, 0])

    def inner(self, other: TensorTrain) -> float:
        """The sum of products of entries."""
        check_same_shape(self, other, TensorTrain)
        gram = np.ones((1, 1))
        for a, b in zip(self.cores, other.cores, strict=True):
            gram = np.einsum("ab,anc,bnd->cd", gram, a, b, optimize=True)
        return float(gram[0, 0])

    def norm(self) -> float:
        """The root of the sum of squares of all entries."""
        return float(np.linalg.norm(_orthogonalised(self.cores)[0]))

    def __add__(self, other: TensorTrain) -> TensorTrain:
        check_same_shape(self, other, TensorTrain)
        joined = []
        for k, (a, b) in enumerate(zip(self.cores, other.cores, strict=True)):
            rows = 1 if k == 0 else a.shape[0] + b.shape[0]
            columns = 1 if k == len(self.cores) - 1 else a.shape[2] + b.shape[2]
            core = np.zeros((rows, a.shape[1], columns))
            core[: a.shape[0], :, : a.shape[2]] += a
            core[rows - b.shape[0] :, :, columns - b.shape[2] :] += b
            joined.append(core)
        return TensorTrain(tuple(joined), self.grid)

    def __mul__(self, factor: float) -> TensorTrain:
        factor = check_number("factor", factor)
        return TensorTrain((factor * self.cores[0], *self.cores[1:]), self.grid)

    __rmul__ = __mul__

    def rounded(self, tol: float = 1e-10, max_rank: int | None = None) -> TensorTrain:
        """The same tensor with the smallest ranks for a relative error of ``tol`` (root of the sum of squares).

        A limit on the ranks may cost more than that.
        """
        tol = check_number("tol", tol, least=0, below=1)
        cores = _orthogonalised(self.cores)
        most_lost = tol * float(np.linalg.norm(cores[0])) / np.sqrt(max(len(cores) - 1, 1))
        for k in range(len(cores) - 1):
            r, n, _ = cores[k].shape
            left, s, right, _ = truncated_svd(cores[k].reshape(r * n, -1), most_lost, max_rank)
            cores[k] = left.reshape(r, n, -1)
            cores[k + 1] = np.tensordot(s[:, None] * right, cores[k + 1], 1)
        return TensorTrain(tuple(cores), self.grid)


def _orthogonalised(cores: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The same tensor with orthonormal rows in all cores but the first."""
    result = list(cores)
    for k in range(len(result) - 1, 0, -1):
        r, n, s = result[k].shape
        q, triangle = np.linalg.qr(result[k].reshape(r, n * s).T)
        result[k] = q.T.reshape(-1, n, s)
        result[k - 1] = np.tensordot(result[k - 1], triangle.T, 1)
    return result


def check_grid(grid: Any, shape: tuple[int, ...]) -> None:
    """A grid with as many points as the tensor has entries, or none."""
    if grid is not None and (not isinstance(grid, Grid) or grid.shape != shape):
        found = grid.shape if isinstance(grid, Grid) else type(grid).__name__
        raise ConfigError(f"the grid of a tensor of shape {shape} must be a Grid of that shape, got {found}")


def needs_grid(grid: Grid | None) -> Grid:
    """The grid of a tensor that is asked for a function's values."""
    if grid is None:
        raise ConfigError("the tensor has no grid, so it is no function of points: give one when it is made")
    return grid


def check_same_shape(mine: Any, other: Any, kind: type) -> None:
    """Two tensors of one kind and shape."""
    if not isinstance(other, kind) or other.shape != mine.shape:  # type: ignore[attr-defined]
        found = getattr(other, "shape", type(other).__name__)
        raise ConfigError(f"expected a {kind.__name__} of shape {mine.shape}, got {found}")


# ---- truncation, for all formats -----------------------------------------------------------------


def truncated_svd(
    matrix: np.ndarray, most_lost: float, max_rank: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Singular vectors and values up to the smallest rank at which at most ``most_lost`` is cut off.

    Returns:
        left, values, right, and what was cut off: the root of the sum of squares of the other singular values.
    """
    left, s, right = np.linalg.svd(matrix, full_matrices=False)
    rank = kept_rank(s, most_lost, max_rank)
    return left[:, :rank], s[:rank], right[:rank], float(np.linalg.norm(s[rank:]))


def kept_rank(singular_values: np.ndarray, most_lost: float, max_rank: int | None = None) -> int:
    """The rank that a format keeps: at least 1, and at most ``max_rank``."""
    rank = max(1, rank_within(singular_values, most_lost))
    return rank if max_rank is None else min(rank, check_count("max_rank", max_rank))


def rank_within(singular_values: np.ndarray, most_lost: float) -> int:
    """The smallest rank at which the root of the sum of squares of the rest is at most ``most_lost``.

    >>> rank_within(np.array([4.0, 3.0, 0.4, 0.3]), 0.5)
    2
    """
    tails = np.sqrt(np.cumsum(singular_values[::-1] ** 2))[::-1]  # tails[k]: what is lost at rank k
    return int(np.count_nonzero(tails > most_lost))
