r"""Cofactors: what an assignment of some inputs leaves of a Boolean function.

With the inputs split into a set S and the rest, the table becomes a matrix with a row for each
assignment of S and a column for each context (assignment of the rest). Its distinct rows are the
cofactors, their number the *column multiplicity* \(\mu\) of S (in Ashenhurst's chart S runs over
the columns), and S acts on the function through \(\lceil\log_2\mu\rceil\) wires (Ashenhurst 1957,
Curtis 1962). S is a module with one channel exactly when \(\mu \le 2\).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from compsparse.representations.boolean.reading import read_one_output

Cube: TypeAlias = npt.NDArray[np.bool_]
"""A truth table with one axis of length 2 per input."""


def column_multiplicity(table: npt.ArrayLike, members: Sequence[int]) -> int:
    """The number of distinct cofactors over the assignments of some inputs.

    Args:
        table: the 2^n values of one output, the first input as the most significant bit.
        members: positions of the inputs.

    >>> majority = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> column_multiplicity(majority, [0]), column_multiplicity(majority, [0, 1])
    (2, 3)
    """
    return multiplicity(*read_one_output(table, members))


def wires(table: npt.ArrayLike, members: Sequence[int]) -> int:
    """How many Boolean values carry all that some inputs tell the function: ceil(log2 of the multiplicity).

    >>> wires([0, 0, 0, 1, 0, 1, 1, 1], [0, 1])
    2
    """
    return (column_multiplicity(table, members) - 1).bit_length()


def multiplicity(cube: Cube, members: Sequence[int]) -> int:
    """:func:`column_multiplicity` of a cube."""
    return len(np.unique(cofactor_keys(cube, members)))


def cofactor_keys(cube: Cube, members: Sequence[int]) -> npt.NDArray[Any]:
    """For each assignment of the members its cofactor as one value that sorts and compares."""
    rows = np.ascontiguousarray(np.packbits(cofactors(cube, members), axis=1))
    if rows.shape[1] > 8:
        return rows.view(np.dtype((np.void, rows.shape[1])))[:, 0]
    words = np.zeros((len(rows), 8), dtype=np.uint8)
    words[:, : rows.shape[1]] = rows
    return words.view(np.uint64)[:, 0]


def cofactors(cube: Cube, members: Sequence[int]) -> npt.NDArray[np.bool_]:
    """The matrix of cofactors: assignments of the members down, contexts across."""
    chosen = set(members)
    rest = [axis for axis in range(cube.ndim) if axis not in chosen]
    return cube.transpose(*members, *rest).reshape(1 << len(members), 1 << len(rest))


def depends_on(cube: Cube, axis: int) -> bool:
    """Whether the input of an axis ever makes a difference."""
    return bool((cube.take(0, axis) != cube.take(1, axis)).any())
