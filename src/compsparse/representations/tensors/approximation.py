"""Tensors made of arrays by singular values: exactly as far off as what was cut off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import check_number, check_numbers
from compsparse.errors import DataError
from compsparse.representations.tensors.dimension_tree import MOST_DIRECTIONS, DimensionTree, check_tree
from compsparse.representations.tensors.grid import Grid
from compsparse.representations.tensors.hierarchical_tucker import HierarchicalTucker
from compsparse.representations.tensors.tensor_train import TensorTrain, truncated_svd
from compsparse.text import in_a_line

TensorT = TypeVar("TensorT", TensorTrain, HierarchicalTucker)

_ROUNDING = 100 * np.finfo(float).eps
"""Allowance for rounding, as a share of the tensor's norm for each factorisation."""


@in_a_line
@dataclass(frozen=True)
class TensorApproximation(Generic[TensorT]):
    """A tensor in a format, how far it is off, and what it cost.

    Attributes:
        tensor: the tensor train or the hierarchical Tucker tensor.
        error: of an array, the relative error (roots of sums of squares), exact up to rounding; of a function that
            was asked at few points, the same estimated on fresh points.
        n_evaluations: different points at which the function was asked, those of the estimate included; for an array
            the number of its entries.
        is_converged: whether the tolerance was met before the limits were.
    """

    tensor: TensorT
    error: Certificate
    n_evaluations: int
    is_converged: bool = True


def train_from_array(
    array: Any, tol: float = 1e-10, max_rank: int | None = None, *, grid: Grid | None = None
) -> TensorApproximation[TensorTrain]:
    """The tensor train of an array, by one singular value decomposition after the other (TT-SVD).

    Args:
        tol: the relative error that may be made, as roots of sums of squares.
        grid: where the entries stand, so that the train can be called at points.

    >>> import numpy as np
    >>> sums = np.add.outer(np.arange(4.0), np.add.outer(np.arange(5.0), np.arange(6.0)))
    >>> train_from_array(sums).tensor.ranks
    (2, 2)
    """
    values, tol = _checked(array, tol)
    norm = float(np.linalg.norm(values))
    most_lost = tol * norm / np.sqrt(max(values.ndim - 1, 1))
    cores, rest, lost = [], values.reshape(1, -1), []
    for n in values.shape[:-1]:
        r = len(rest)
        left, s, right, cut = truncated_svd(rest.reshape(r * n, -1), most_lost, max_rank)
        cores.append(left.reshape(r, n, -1))
        rest = s[:, None] * right
        lost.append(cut)
    cores.append(rest.reshape(len(rest), values.shape[-1], 1))
    return _answer(TensorTrain(tuple(cores), grid), values.size, norm, lost, tol)


def tucker_from_array(
    array: Any,
    tree: DimensionTree | None = None,
    tol: float = 1e-10,
    max_rank: int | None = None,
    *,
    grid: Grid | None = None,
) -> TensorApproximation[HierarchicalTucker]:
    """The hierarchical Tucker tensor of an array, by singular values from the leaves to the top (HT-SVD).

    Args:
        tree: which directions come together where; by default neighbours in halves.
        tol: the relative error that may be made, as roots of sums of squares.
        grid: where the entries stand, so that the tensor can be called at points.

    >>> import numpy as np
    >>> products = np.multiply.outer(np.arange(4.0), np.multiply.outer(np.arange(5.0), np.arange(6.0)))
    >>> set(tucker_from_array(products).tensor.ranks.values())
    {1}
    """
    values, tol = _checked(array, tol)
    tree = DimensionTree.balanced(values.ndim) if tree is None else check_tree(tree, values.ndim)
    norm = float(np.linalg.norm(values))
    parts = list(tree.bottom_up())
    most_lost = tol * norm / np.sqrt(max(len(parts) - 1, 1))
    core, lost = values, []
    frames: dict[tuple[int, ...], np.ndarray] = {}
    axis_of: dict[tuple[int, ...], int] = {
        (i,): i for i in range(values.ndim)
    }  # where each part that is not yet joined stands in the core
    # leaves first, then pairs: the core only shrinks
    for part in sorted(parts, key=lambda p: len(p.members)):
        if not part.is_leaf:
            core, axis_of = _paired(core, axis_of, part)
        axis = axis_of[part.members]
        shape = [frames[c.members].shape[-1] for c in part.children] or [core.shape[axis]]
        if part is tree:
            frames[part.members] = core.reshape(*shape, 1)
            break
        left, _, _, cut = truncated_svd(np.moveaxis(core, axis, 0).reshape(core.shape[axis], -1), most_lost, max_rank)
        core = np.moveaxis(np.tensordot(left.T, core, (1, axis)), 0, axis)
        frames[part.members] = left.reshape(*shape, -1)
        lost.append(cut)
    tensor = HierarchicalTucker(tree, tuple(frames[p.members] for p in parts), grid)
    return _answer(tensor, values.size, norm, lost, tol)


def _paired(
    core: np.ndarray, axis_of: dict[tuple[int, ...], int], part: DimensionTree
) -> tuple[np.ndarray, dict[tuple[int, ...], int]]:
    """The core with the axes of a part's children made one, in front of all others."""
    left, right = (axis_of[child.members] for child in part.children)
    core = np.moveaxis(core, (left, right), (0, 1))
    others = sorted((a, m) for m, a in axis_of.items() if a not in (left, right))
    axes = {part.members: 0} | {m: k for k, (_, m) in enumerate(others, start=1)}
    return core.reshape(-1, *core.shape[2:]), axes


def _checked(array: Any, tol: float) -> tuple[np.ndarray, float]:
    values = check_numbers("array", array)
    if not values.size or not 1 <= values.ndim <= MOST_DIRECTIONS:
        raise DataError(f"array must have at least one direction and one entry, got shape {values.shape}")
    return values, check_number("tol", tol, least=0, below=1)


def _answer(tensor: TensorT, size: int, norm: float, lost: list[float], tol: float) -> TensorApproximation[TensorT]:
    """Each cut is an orthogonal projection inside the last, so that squares of what was lost add up exactly."""
    relative = float(np.linalg.norm(lost)) / norm if norm else 0.0
    slack = _ROUNDING * (len(lost) + 1)
    error = Certificate(
        "relative error of the tensor", relative, max(relative - slack, 0.0), relative + slack, Rigour.RIGOROUS,
        obtained="the singular values that were cut off",
    )  # fmt: skip
    return TensorApproximation(tensor, error, size, bool(relative <= tol + slack))
