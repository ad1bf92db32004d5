"""Bits of whole numbers, for arrays of them: rows of 0 and 1 as numbers and back, and how many are set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.checks import check_array, row_text
from compsparse.errors import DataError

Words = npt.NDArray[np.uint64]
"""Rows of up to 64 bits, or 64 rows of one bit, in each number."""
MOST_BITS = 64
_SIXTEEN = np.array([i.bit_count() for i in range(1 << 16)], dtype=np.uint8)


def ones(numbers: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """How many bits of each number are set.

    >>> ones(np.array([0, 3, 2**40])).tolist()
    [0, 2, 1]
    """
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(numbers), dtype=np.uint8)
    words = numbers.astype(np.uint64)
    parts = (words >> np.uint64(shift) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48))
    return np.asarray(sum(_SIXTEEN[part] for part in parts), dtype=np.uint8)


def check_bits(what: str, rows: Any, n_inputs: int | None = None) -> npt.NDArray[np.uint8]:
    """Rows of 0 and 1, one column per input."""
    found = check_array(what, rows)
    if found.ndim != 2 or (n_inputs is not None and found.shape[1] != n_inputs):
        wanted = "n_inputs" if n_inputs is None else n_inputs
        raise DataError(f"{what} must have shape (n, {wanted}), got {found.shape}")
    if found.dtype.kind not in "biuf":
        raise DataError(f"{what} must hold 0 and 1 alone, got values of type {found.dtype}")
    if found.dtype in (np.uint8, np.bool_) and found.view(np.uint8).max(initial=0) <= 1:
        return found.view(np.uint8)
    bits = found.astype(np.uint8) if found.dtype.kind != "f" else (found == 1).astype(np.uint8)
    odd = (found != bits) | (bits > 1)
    if odd.any():
        row, column = np.argwhere(odd)[0].tolist()
        raise DataError(f"{what} must hold 0 and 1 alone, got {found[row, column]} in {row_text(row)}")
    return bits


def as_numbers(bits: npt.NDArray[np.uint8]) -> Words:
    """Each row of at most 64 bits as one number, the first column as the most significant bit."""
    n = bits.shape[1]
    padded = np.zeros((len(bits), MOST_BITS), dtype=np.uint8)
    padded[:, MOST_BITS - n :] = bits
    return np.packbits(padded, axis=1).view(">u8")[:, 0].astype(np.uint64)


def as_bits(numbers: npt.NDArray[Any], n_inputs: int) -> npt.NDArray[np.uint8]:
    """The rows that :func:`as_numbers` took.

    >>> as_bits(np.array([1, 6]), 3).tolist()
    [[0, 0, 1], [1, 1, 0]]
    """
    wide = numbers.astype(">u8")[:, None].view(np.uint8)
    return np.unpackbits(wide, axis=1)[:, MOST_BITS - n_inputs :]


def mask_of(members: Iterable[int], n_inputs: int) -> int:
    """The number whose bits are a set of positions.

    >>> mask_of([0, 2], 3)
    5
    """
    return sum(1 << (n_inputs - 1 - i) for i in members)


def members_of(mask: int, n_inputs: int) -> tuple[int, ...]:
    """The positions in a set, ascending."""
    return tuple(i for i in range(n_inputs) if mask >> (n_inputs - 1 - i) & 1)


def random_bits(n_rows: int, n_inputs: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Independent fair bits."""
    drawn = np.frombuffer(rng.bytes((n_rows * n_inputs + 7) // 8), dtype=np.uint8)
    return np.unpackbits(drawn, count=n_rows * n_inputs).reshape(n_rows, n_inputs)
