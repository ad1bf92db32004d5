"""Hierarchical Tucker tensors: a tensor as a tree of small ones, the multilinear twin of a tree of constituents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import check_kind, check_list, check_number, check_numbers
from compsparse.errors import DataError
from compsparse.representations.tensors.dimension_tree import DimensionTree, check_tree
from compsparse.representations.tensors.grid import Grid, check_positions
from compsparse.representations.tensors.tensor_train import check_grid, check_same_shape, kept_rank, needs_grid
from compsparse.sizes import check_size
from compsparse.text import in_a_line


@in_a_line
@dataclass(frozen=True, eq=False)
class HierarchicalTucker:
    """A tensor as a tree: each leaf holds r functions of its input, each inner part r bilinear forms of its children.

    Attributes:
        tree: which directions come together where.
        frames: one array for each part, in the order of ``tree.bottom_up()``: (n, r) of a leaf, the transfer tensor
            (r of the left child, r of the right child, r) of an inner part. The last r, of the whole, is 1.
        grid: where the entries stand, if they are values of a function; then the tensor can be called at points.

    >>> import numpy as np
    >>> tree = DimensionTree.balanced(2)
    >>> outer = HierarchicalTucker(tree, [np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), np.ones((1, 1, 1))])
    >>> outer.full()
    array([[3., 4.], [6., 8.]])
    """

    tree: DimensionTree
    frames: tuple[np.ndarray, ...]
    grid: Grid | None = None

    def __post_init__(self) -> None:
        tree = check_kind("tree", self.tree, DimensionTree)
        parts = list(check_tree(tree, tree.n_inputs).bottom_up())
        given = check_list("frames", self.frames)
        if len(given) != len(parts):
            raise DataError(f"a tree of {len(parts)} parts needs as many frames, got {len(given)}")
        dimensions = [2 if part.is_leaf else 3 for part in parts]
        frames = tuple(check_numbers("a frame", f, shape=(None,) * k) for f, k in zip(given, dimensions, strict=True))
        object.__setattr__(self, "frames", frames)
        ranks = {part.members: frame.shape[-1] for part, frame in zip(parts, frames, strict=True)}
        for part, frame in zip(parts, frames, strict=True):
            wanted = tuple(ranks[child.members] for child in part.children)
            if not part.is_leaf and frame.shape[:2] != wanted:
                raise DataError(
                    f"the transfer tensor of {part.members} must have shape {(*wanted, 'r')}, got {frame.shape}"
                )
        if frames[-1].shape[-1] != 1:
            raise DataError(f"the whole tensor has one form at the top, got {frames[-1].shape[-1]}")
        check_grid(self.grid, self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of entries in every direction."""
        sizes = {p.members[0]: f.shape[0] for p, f in zip(self.tree.bottom_up(), self.frames, strict=True) if p.is_leaf}
        return tuple(sizes[i] for i in sorted(sizes))

    @property
    def ranks(self) -> Mapping[tuple[int, ...], int]:
        """The rank of each part but the whole: of the tensor as a matrix, these directions against the rest."""
        return {
            part.members: frame.shape[-1]
            for part, frame in zip(self.tree.bottom_up(), self.frames, strict=True)
            if part is not self.tree
        }

    @property
    def n_parameters(self) -> int:
        """Numbers that the frames hold."""
        return sum(f.size for f in self.frames)

    def full(self) -> np.ndarray:
        """The whole tensor."""
        check_size("the entries of the tensor", 2 * np.prod(self.shape, dtype=float), "ask for single entries")

        def grown(frame: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
            whole = np.einsum("ai,bj,ijk->abk", left, right, frame, optimize=True)
            return np.asarray(whole.reshape(-1, frame.shape[-1]))

        flat = self._fold(lambda _, frame: frame, grown)
        ordered = flat.reshape([self.shape[i] for i in self.tree.members])
        return np.ascontiguousarray(ordered.transpose(np.argsort(self.tree.members)))

    def _fold(
        self,
        at_leaf: Callable[[int, np.ndarray], np.ndarray],
        join: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """What the tree computes when leaves and transfer tensors are read in some way."""
        done: list[np.ndarray] = []
        for part, frame in zip(self.tree.bottom_up(), self.frames, strict=True):
            if part.is_leaf:
                done.append(at_leaf(part.members[0], frame))
            else:
                right, left = done.pop(), done.pop()
                done.append(join(frame, left, right))
        return done[0]

    def at(self, indices: Any) -> np.ndarray:
        """The entries with the given indices, one row of indices each."""
        rows = check_positions("indices", indices, self.shape)
        return np.asarray(self._fold(lambda i, frame: frame[rows[:, i]], _bilinear)[:, 0])

    def __call__(self, X: Any) -> np.ndarray:
        """Values of the function at points, interpolated between the grid's."""
        grid = needs_grid(self.grid)
        points = check_numbers("X", X, shape=(None, self.tree.n_inputs))
        return np.asarray(self._fold(lambda i, frame: grid.basis(i, points[:, i]) @ frame, _bilinear)[:, 0])

    def integral(self) -> float:
        """The integral over the grid's box, by its rule."""
        grid = needs_grid(self.grid)
        return float(self._fold(lambda i, frame: grid.weights(i)[None] @ frame, _bilinear)[0, 0])

    def inner(self, other: HierarchicalTucker) -> float:
        """The sum of products of entries; the other tensor has the same tree."""
        self._check_twin(other)
        theirs = iter(other.frames)
        grams: list[np.ndarray] = []
        for part, a in zip(self.tree.bottom_up(), self.frames, strict=True):
            b = next(theirs)
            if part.is_leaf:
                grams.append(a.T @ b)
            else:
                right, left = grams.pop(), grams.pop()
                grams.append(np.einsum("ijk,ia,jb,abc->kc", a, left, right, b, optimize=True))
        return float(grams[0][0, 0])

    def _check_twin(self, other: Any) -> None:
        check_same_shape(self, other, HierarchicalTucker)
        if other.tree != self.tree:
            raise DataError("the two tensors have different trees: make one of them anew on the other's tree")

    def norm(self) -> float:
        """The root of the sum of squares of all entries."""
        return float(np.linalg.norm(self._orthogonalised()[-1]))

    def __add__(self, other: HierarchicalTucker) -> HierarchicalTucker:
        self._check_twin(other)
        frames = []
        for part, a, b in zip(self.tree.bottom_up(), self.frames, other.frames, strict=True):
            if part.is_leaf:
                frames.append(np.concatenate([a, b], axis=1))
                if part is self.tree:
                    frames[-1] = a + b
                continue
            last = 1 if part is self.tree else a.shape[2] + b.shape[2]
            frame = np.zeros((a.shape[0] + b.shape[0], a.shape[1] + b.shape[1], last))
            frame[: a.shape[0], : a.shape[1], : a.shape[2]] += a
            frame[a.shape[0] :, a.shape[1] :, last - b.shape[2] :] += b
            frames.append(frame)
        return HierarchicalTucker(self.tree, tuple(frames), self.grid)

    def __mul__(self, factor: float) -> HierarchicalTucker:
        factor = check_number("factor", factor)
        return HierarchicalTucker(self.tree, (*self.frames[:-1], factor * self.frames[-1]), self.grid)

    __rmul__ = __mul__

    def _orthogonalised(self) -> list[np.ndarray]:
        """Frames of the same tensor whose columns are orthonormal, the top left out."""
        frames: list[np.ndarray] = []
        triangles: list[np.ndarray] = []
        for part, frame in zip(self.tree.bottom_up(), self.frames, strict=True):
            if not part.is_leaf:
                right, left = triangles.pop(), triangles.pop()
                frame = np.einsum("ai,bj,ijk->abk", left, right, frame, optimize=True)  # noqa: PLW2901
            if part is self.tree:
                frames.append(frame)
                break
            q, triangle = np.linalg.qr(frame.reshape(-1, frame.shape[-1]))
            frames.append(q.reshape(*frame.shape[:-1], -1))
            triangles.append(triangle)
        return frames

    def rounded(self, tol: float = 1e-10, max_rank: int | None = None) -> HierarchicalTucker:
        """The same tensor with small ranks for a relative error of ``tol`` (root of the sum of squares).

        A limit on the ranks may cost more than that.
        """
        tol = check_number("tol", tol, least=0, below=1)
        parts = list(self.tree.bottom_up())
        if len(parts) == 1:
            return self
        frames = self._orthogonalised()
        most_lost = tol * float(np.linalg.norm(frames[-1])) / np.sqrt(len(parts) - 1)
        place = {part.members: k for k, part in enumerate(parts)}
        kept: dict[tuple[int, ...], np.ndarray] = {self.tree.members: np.ones((1, 1))}
        # the matrix of each part against the rest, in the part's orthonormal frame, up to a rotation of the rest
        beyond: dict[tuple[int, ...], np.ndarray] = {self.tree.members: np.ones((1, 1))}
        for part in reversed(parts):
            if part.is_leaf:
                continue
            seen = np.tensordot(frames[place[part.members]], beyond[part.members], 1)
            for axis, child in enumerate(part.children):
                matrix = np.moveaxis(seen, axis, 0).reshape(seen.shape[axis], -1)
                left, s, _ = np.linalg.svd(matrix, full_matrices=False)
                beyond[child.members] = left * s
                kept[child.members] = left[:, : kept_rank(s, most_lost, max_rank)]
        for k, part in enumerate(parts):
            mine = kept[part.members]
            if part.is_leaf:
                frames[k] = frames[k] @ mine
            else:
                left, right = (kept[child.members] for child in part.children)
                frames[k] = np.einsum("ijk,ia,jb,kc->abc", frames[k], left, right, mine, optimize=True)
        return HierarchicalTucker(self.tree, tuple(frames), self.grid)


def _bilinear(frame: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The bilinear forms of a transfer tensor at rows of its children's values."""
    r_left, r_right, r = frame.shape
    halves = (left @ frame.reshape(r_left, -1)).reshape(-1, r_right, r)
    return np.asarray(np.einsum("xj,xjk->xk", right, halves))
