"""Reads truth tables, and says in one sentence what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.checks import brief, check_count, check_list, check_unmasked, row_text
from compsparse.errors import ConfigError, DataError
from compsparse.surroundings import callers_settings

MOST_INPUTS = 20
"""A table of 20 inputs has a million rows."""


def read_truth_table(
    table: npt.ArrayLike, outputs: Sequence[str] | str | None = None, asked: str = "the truth table"
) -> npt.NDArray[np.bool_]:
    """The table as Booleans of shape (2^n, k).

    Args:
        outputs: their names, where they are known.
        asked: what the table is called in errors.
    """
    values = _as_array(table, asked)
    if values.ndim not in (1, 2):
        raise DataError(f"{asked} must have shape (2^n,) or (2^n, outputs), got {values.shape}")
    values = values[:, None] if values.ndim == 1 else values
    rows, n_outputs = values.shape
    if rows < 2 or rows & (rows - 1):
        raise DataError(f"{asked} must have 2^n rows, one for each assignment of n >= 1 inputs, got {rows}")
    n_inputs = rows.bit_length() - 1
    if n_inputs > MOST_INPUTS:
        raise DataError(f"{asked} of {n_inputs} inputs has 2^{n_inputs} rows; at most {MOST_INPUTS} inputs fit")
    if not n_outputs:
        raise DataError(f"{asked} has no outputs")
    return _as_booleans(values, outputs, asked)


def _as_array(table: npt.ArrayLike, asked: str) -> npt.NDArray[Any]:
    check_unmasked(asked, table)
    try:
        values = np.asarray(table)
    except (ValueError, TypeError) as error:
        raise DataError(f"{asked} is not an array of 0 and 1: {error}") from None
    if values.dtype.kind == "O":
        try:
            values = values.astype(float)
        except (ValueError, TypeError, OverflowError):
            raise DataError(f"{asked} must hold 0 and 1 alone, got objects that are no such numbers") from None
    if values.dtype.kind not in "biuf":
        raise DataError(f"{asked} must hold 0 and 1 alone, got values of type {values.dtype}")
    return values


def _as_booleans(values: npt.NDArray[Any], outputs: Sequence[str] | str | None, asked: str) -> npt.NDArray[np.bool_]:
    odd = np.argwhere((values != 0) & (values != 1))
    if len(odd):
        row, output = odd[0].tolist()
        n_outputs = values.shape[1]
        names = outputs if outputs is not None and len(outputs) == n_outputs else [f"y{i}" for i in range(n_outputs)]
        raise DataError(
            f"{asked} must hold 0 and 1 alone, got {values[row, output]} in {row_text(row)}"
            + (f" of output {names[output]!r}" if n_outputs > 1 else "")
        )
    return values.astype(bool)


def read_one_output(table: npt.ArrayLike, members: Sequence[int]) -> tuple[npt.NDArray[np.bool_], list[int]]:
    """One output's table as a cube, and checked positions of inputs."""
    values = read_truth_table(table)
    if values.shape[1] != 1:
        raise DataError(f"expected the table of one output, got {values.shape[1]}")
    n = len(values).bit_length() - 1
    positions = check_list("members", members)
    are_positions = all(isinstance(i, Integral) and 0 <= int(i) < n for i in positions)
    if not are_positions or len(set(positions)) < len(positions):
        raise ConfigError(f"members must be different positions from 0 to {n - 1}, got {brief(positions)}")
    return values.reshape((2,) * n), [int(i) for i in positions]


def all_rows(n_inputs: int) -> npt.NDArray[np.int64]:
    """Every assignment of 0 and 1, a row each, in the order of ``itertools.product``.

    >>> all_rows(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    n_inputs = check_count("n_inputs", n_inputs, most=MOST_INPUTS)
    return (np.arange(1 << n_inputs)[:, None] >> np.arange(n_inputs)[::-1]) & 1


def ask(
    f: Callable[[npt.NDArray[np.int64]], Any], n_inputs: int, outputs: Sequence[str] | str | None = None
) -> npt.NDArray[np.bool_]:
    """The truth table of a callable, asked once for all rows."""
    rows = all_rows(n_inputs)
    n_rows = len(rows)
    try:
        with callers_settings():
            answers = f(rows)
    except Exception as error:
        raise DataError(
            f"the function failed on the {n_rows} rows of its truth table: {type(error).__name__}: {error}"
        ) from error
    values = _as_array(answers, "the function's answer")
    if values.ndim not in (1, 2) or len(values) != n_rows:
        raise DataError(
            f"the function must answer {n_rows} rows with shape ({n_rows},) or ({n_rows}, outputs), got {values.shape}"
        )
    return read_truth_table(values, outputs, "the function's answer")
