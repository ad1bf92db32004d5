"""Reads truth tables and names, and says in one sentence what is wrong with them."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.errors import ConfigError, DataError

MOST_INPUTS = 20
"""A table of 20 inputs has a million rows."""


def read_table(table: npt.ArrayLike, asked: str = "the truth table") -> npt.NDArray[np.bool_]:
    """The table as Booleans of shape (2^n, k).

    Args:
        asked: what the table is called in errors.
    """
    values = _as_array(table, asked)
    if values.ndim not in (1, 2):
        raise DataError(f"{asked} must have shape (2^n,) or (2^n, outputs), got {values.shape}")
    values = values[:, None] if values.ndim == 1 else values
    rows, n_outputs = values.shape
    if rows < 2 or rows & (rows - 1):
        raise DataError(f"{asked} must have 2^n rows, one for each assignment of n >= 1 inputs, got {rows}")
    check_affordable(rows.bit_length() - 1)
    if not n_outputs:
        raise DataError(f"{asked} has no outputs")
    return _as_booleans(values, asked)


def _as_array(table: npt.ArrayLike, asked: str) -> npt.NDArray[Any]:
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


def _as_booleans(values: npt.NDArray[Any], asked: str) -> npt.NDArray[np.bool_]:
    odd = np.argwhere((values != 0) & (values != 1))
    if len(odd):
        row, output = odd[0]
        raise DataError(
            f"{asked} must hold 0 and 1 alone, got {values[row, output]} in row {row}"
            + (f" of output {output}" if values.shape[1] > 1 else "")
        )
    return values.astype(bool)


def read_one_output(table: npt.ArrayLike, members: Sequence[int]) -> tuple[npt.NDArray[np.bool_], list[int]]:
    """One output's table as a cube, and checked positions of inputs."""
    values = read_table(table)
    if values.shape[1] != 1:
        raise DataError(f"expected the table of one output, got {values.shape[1]}")
    n = len(values).bit_length() - 1
    positions = list(members)
    if len(set(positions)) < len(positions) or not set(positions) <= set(range(n)):
        raise DataError(f"members must be different positions from 0 to {n - 1}, got {positions}")
    return values.reshape((2,) * n), [int(i) for i in positions]


def check_affordable(n_inputs: int) -> None:
    if isinstance(n_inputs, bool) or not isinstance(n_inputs, numbers.Integral) or n_inputs < 1:
        raise DataError(f"the number of inputs must be a whole number from 1 on, got {n_inputs!r}")
    if n_inputs > MOST_INPUTS:
        raise DataError(f"a truth table of {n_inputs} inputs has 2^{n_inputs} rows; at most {MOST_INPUTS} inputs fit")


def all_rows(n_inputs: int) -> npt.NDArray[np.int64]:
    """Every assignment of 0 and 1, a row each, in the order of ``itertools.product``.

    >>> all_rows(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    check_affordable(n_inputs)
    return (np.arange(1 << n_inputs)[:, None] >> np.arange(n_inputs)[::-1]) & 1


def ask(f: Callable[[npt.NDArray[np.int64]], Any], n_inputs: int) -> npt.NDArray[np.bool_]:
    """The truth table of a callable, asked once for all rows."""
    if not callable(f):
        raise DataError(f"expected a callable, got {type(f).__name__}; a table goes to from_truth_table")
    rows = all_rows(n_inputs)
    n_rows = len(rows)
    try:
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
    return read_table(values, "the function's answer")


def read_names(
    names: Sequence[str] | None, outputs: Sequence[str] | str | None, n_inputs: int, n_outputs: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of inputs and outputs; those not given are x0, x1, … and y or y0, y1, …, kept apart from the others."""
    wanted_inputs = [f"x{i}" for i in range(n_inputs)]
    wanted_outputs = [f"y{i}" for i in range(n_outputs)] if n_outputs > 1 else ["y"]
    outputs = [outputs] if isinstance(outputs, str) else outputs
    given_inputs = None if names is None else _checked(names, n_inputs, "input")
    given_outputs = None if outputs is None else _checked(outputs, n_outputs, "output")
    found_inputs = given_inputs or _kept_apart(wanted_inputs, given_outputs or ())
    found_outputs = given_outputs or _kept_apart(wanted_outputs, found_inputs)
    both = sorted(set(found_inputs) & set(found_outputs))
    if both:
        raise DataError(f"inputs and outputs must have different names: {both[0]!r} is both")
    return found_inputs, found_outputs


def _checked(names: Sequence[str], n: int, what: str) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise DataError(f"expected a sequence of {n} {what} names, got {names!r}")
    names = tuple(names)
    if len(names) != n:
        raise DataError(f"the table has {n} {what}{'s' * (n > 1)}, got {len(names)} {what} names")
    for name in names:
        if not isinstance(name, str) or not name:
            raise DataError(f"an {what}'s name must be a non-empty string, got {name!r}")
        if names.count(name) > 1:
            raise DataError(f"the {what} name {name!r} is given twice")
    return names


def _kept_apart(wanted: Sequence[str], taken: Sequence[str]) -> tuple[str, ...]:
    tail = ""
    while any(name + tail in taken for name in wanted):
        tail += "_"
    return tuple(name + tail for name in wanted)


def check_time_limit(time_limit: float | None) -> None:
    if time_limit is not None and not (isinstance(time_limit, numbers.Real) and time_limit > 0):
        raise ConfigError(f"time_limit must be a positive number of seconds or None, got {time_limit!r}")
