r"""The Walsh transform: \(\sum_x f(x)\,\chi_S(x)\) for every set S of inputs at once, with \(n 2^n\) additions.

Inputs are 0 and 1, and \(\chi_S(x) = (-1)^{\sum_{i\in S} x_i}\): with \(\pm1\) for the bits it is the product of those
in S. A set is a row number like an assignment, the first input as the most significant bit.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.checks import check_array, check_count, check_flag
from compsparse.errors import ConfigError, DataError
from compsparse.sizes import check_size

_IN_PLACE = tuple(np.dtype(kind) for kind in (np.int32, np.int64, np.float64))


def walsh_transform(values: npt.ArrayLike, *, overwrite: bool = False, n_threads: int = 1) -> npt.NDArray[Any]:
    """All 2^n sums of a table's values with signs; applied twice it gives 2^n times the table.

    Whole numbers stay whole and exact: 32 bits where they are enough, else 64. Floats are summed in double precision.

    Args:
        values: shape (2^n,), the first input as the most significant bit of the row's number.
        overwrite: transform the array itself, which must be contiguous and of a type that can hold the answer
            (int32, int64, float64). Without it a copy is made.
        n_threads: threads that share the work of a large table.

    Raises:
        DataError: no table of 2^n numbers, or whole numbers whose sums would pass 64 bits.

    >>> walsh_transform([1, 1, 1, -1]).tolist()  # the conjunction of two, with -1 for true
    [2, 2, 2, -2]
    """
    check_flag("overwrite", overwrite)
    n_threads = check_count("n_threads", n_threads)
    found = check_array("values", values)
    if found.ndim != 1 or len(found) < 1 or len(found) & (len(found) - 1):
        raise DataError(f"a Walsh transform needs 2^n values in one row, got shape {found.shape}")
    if not overwrite:
        check_size("the sums of the table", 2.0 * len(found), "give a table of fewer inputs")
        found = found.astype(_working_type(found))
    elif found is not values:
        raise ConfigError("overwrite=True needs a numpy array, which it transforms itself")
    elif found.dtype not in _IN_PLACE or not found.flags.c_contiguous or not found.flags.writeable:
        raise ConfigError(
            f"overwrite=True needs a contiguous writable array of int32, int64 or float64, got one of {found.dtype}"
        )
    _transform(found, n_threads)
    return found


def _working_type(values: npt.NDArray[Any]) -> np.dtype[Any]:
    if values.dtype.kind == "f":
        return np.dtype(np.float64)
    if values.dtype.kind not in "biu":
        raise DataError(f"the table must hold numbers, got values of type {values.dtype}")
    largest = max(abs(int(values.max())), abs(int(values.min()))) * len(values)
    if largest >= 2**63:
        raise DataError(f"sums of whole numbers up to {largest // len(values):,} pass 64 bits: give them as floats")
    return np.dtype(np.int32 if largest < 2**31 else np.int64)


def _transform(a: npt.NDArray[Any], n_threads: int) -> None:
    from compsparse.representations.boolean import kernels

    size, block = len(a), min(len(a), kernels.BLOCK)
    _shared(lambda first, last: kernels.transform_blocks(a, block, first, last), size // block, n_threads)
    if size > block:
        width = kernels.panel_width(size)
        _shared(lambda first, last: kernels.transform_panels(a, width, first, last), block // width, n_threads)


def _shared(work: Callable[[int, int], None], n_parts: int, n_threads: int) -> None:
    n_threads = min(n_threads, n_parts)
    if n_threads == 1:
        work(0, n_parts)
        return
    ends = [n_parts * i // n_threads for i in range(n_threads + 1)]
    with ThreadPoolExecutor(n_threads) as threads:
        list(threads.map(work, ends[:-1], ends[1:]))
