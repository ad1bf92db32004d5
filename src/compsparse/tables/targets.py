"""Targets: numbers or classes, named and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import brief, check_flag, check_names, row_text
from compsparse.errors import ConfigError, DataError
from compsparse.tables.looking import read_numbers
from compsparse.tables.scaling import scale_of
from compsparse.tables.values import blanked, check_cells, even_array, finite_numbers, missing_cells, plain_values
from compsparse.text import in_a_line

_FEWEST_TO_SUSPECT = 20


@in_a_line
@dataclass(frozen=True, eq=False)
class Target:
    """What is to be predicted.

    Attributes:
        values: (rows, outputs) numbers, or (rows,) class numbers.
        outputs: the names of the targets.
        classes: the labels, or None for numbers.
    """

    values: np.ndarray
    outputs: tuple[str, ...]
    classes: tuple[Any, ...] | None = None

    def rows(self, kept: np.ndarray) -> Target:
        """The rows for which ``kept`` is true."""
        return Target(self.values[kept], self.outputs, self.classes)

    @property
    def standardised(self) -> np.ndarray:
        """Columns of mean 0 and spread 1: one for each output; for classes an indicator of each, one for two."""
        if self.classes is None:
            columns = list(self.values.T)
        else:
            one_hot = np.eye(len(self.classes))[self.values]
            columns = list((one_hot[:, 1:] if one_hot.shape[1] == 2 else one_hot).T)
        return np.stack([scale_of(column).standardised(column) for column in columns], axis=1)


@dataclass(frozen=True, eq=False)
class TargetCells:
    """A target as it was given, a row for each row of its table.

    Attributes:
        array: (rows,) or (rows, targets).
        names: its own, or None.
        classification: what was asked for; None leaves it to the cells.
    """

    array: np.ndarray
    names: list[str] | None
    classification: bool | None = None

    @property
    def missing(self) -> np.ndarray:
        """The rows in which a target is missing."""
        columns = self.array[:, None] if self.array.ndim == 1 else self.array
        gone: np.ndarray = np.any([missing_cells(column) for column in columns.T], axis=0)
        return gone

    def rows(self, kept: np.ndarray) -> TargetCells:
        """The rows for which ``kept`` is true, or those of the places it holds."""
        return TargetCells(self.array[kept], self.names, self.classification)


def read_target(y: Any, classification: bool | None = None, na: Sequence[str] = ()) -> TargetCells:
    """A target as an array; texts that are numbers become numbers, unless classes are asked for.

    Texts of few different numbers may be labels: they become numbers where ``classification`` is false.
    """
    if isinstance(y, TargetCells):
        return y
    if classification is not None:
        check_flag("classification", classification)
    array = even_array(y, "y")
    if array.ndim not in (1, 2) or array.size == 0:
        raise DataError(f"y must hold one value, or one row of values, per row of X; got shape {array.shape}")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    names = names_in(y)
    columns = [array] if array.ndim == 1 else list(array.T)
    if array.dtype == object or na:
        columns = [blanked(column, na) for column in columns]
        if not classification:
            called = names or [f"y{i}" for i in range(len(columns))]
            columns = [_maybe_numbers(c, called[i], classification) for i, c in enumerate(columns)]
        array = columns[0] if array.ndim == 1 else np.stack(columns, axis=1)
    return TargetCells(array, names, classification)


def _maybe_numbers(column: np.ndarray, name: str, classification: bool | None) -> np.ndarray:
    texts = {cell for cell in column.tolist() if isinstance(cell, str)} if column.dtype.kind in "OU" else set()
    if not texts or (classification is None and len(texts) <= _FEWEST_TO_SUSPECT):
        return column
    read = read_numbers(column, f"target {name!r}")
    return column if read is None else read


def target_for(
    y: Any, inputs: Sequence[str], outputs: Sequence[str] | None = None, classification: bool | None = None
) -> Target:
    """Checks a target; texts and booleans are classes, numbers are numbers, unless told otherwise.

    Raises:
        DataError: the target is constant, has gaps, or looks like an identifier.
    """
    cells = read_target(y, classification)
    array = plain_values(cells.array)
    names = _names(cells, array, inputs, outputs)
    is_classes = array.dtype.kind in "OUSb" if cells.classification is None else cells.classification
    if is_classes:
        return _classes(array, names)
    return _numbers(array, names, sure=cells.classification is not None)


def target_values(y: Any, target: Target, na: Sequence[str] = ()) -> np.ndarray:
    """Other rows of a target, as its own are held: numbers, or class numbers.

    Raises:
        DataError: a label is none of its classes, or a cell is no number.
    """
    array = plain_values(read_target(y, target.classes is not None, na).array)
    if target.classes is None:
        columns = [array] if array.ndim == 1 else list(array.T)
        named = zip(target.outputs, columns, strict=True)
        return np.stack([finite_numbers(column, f"target {name!r}") for name, column in named], axis=1)
    place = {label: i for i, label in enumerate(target.classes)}
    for row, label in enumerate(array.tolist()):
        if label not in place:
            known = ", ".join(map(str, target.classes[:10]))
            raise DataError(
                f"target {target.outputs[0]!r} holds {brief(label)} in {row_text(row)} of the test, which is no class "
                f"of the rows to learn from: {known}"
            )
    return np.array([place[label] for label in array.tolist()], dtype=np.int64)


def names_in(y: Any) -> list[str] | None:
    """The names that a table or a series of targets carries."""
    if hasattr(y, "columns"):
        return [str(c) for c in y.columns]
    name = getattr(y, "name", None)
    return None if name is None or name == "" else [str(name)]


def free_names(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """The names, each with underscores behind it until it is no input's."""
    return [name if name not in taken else free_names([name + "_"], taken)[0] for name in names]


def labels_as_array(labels: Sequence[Any]) -> np.ndarray:
    """Labels as numpy keeps them; those of different types stay what they are."""
    alike = len({type(label) for label in labels}) == 1
    return np.array(list(labels), dtype=None if alike else object)


def _names(y: TargetCells, array: np.ndarray, inputs: Sequence[str], outputs: Sequence[str] | None) -> tuple[str, ...]:
    k = 1 if array.ndim == 1 else array.shape[1]
    if outputs is not None:
        given = check_names(outputs, k, "output")
        both = [name for name in given if name in inputs]
        if both:
            raise ConfigError(f"inputs and outputs must have different names: {both[0]!r} is both")
        return given
    usual = ["y"] if k == 1 else [f"y{i}" for i in range(k)]
    names = free_names(y.names or usual, inputs)
    if len(set(names)) < k:
        raise DataError(f"{k} targets need as many different names, got {', '.join(names)}")
    return tuple(names)


def _classes(array: np.ndarray, names: tuple[str, ...]) -> Target:
    what = f"target {names[0]!r}"
    if array.ndim > 1:
        raise DataError("one target at a time can hold classes; several targets must be numbers")
    check_cells(array, what)
    values = [value.item() if isinstance(value, np.generic) else value for value in array.tolist()]
    if array.dtype.kind in "MmcS" or not all(isinstance(value, (str, int, float)) for value in values):
        raise DataError(f"{what} must hold classes that are texts, numbers or true and false")
    labels = _sorted_labels(values)
    if len(labels) < 2:
        raise DataError(f"{what} is constant: there is one class only")
    if len(labels) > len(values) / 2 and len(values) >= _FEWEST_TO_SUSPECT:
        raise DataError(
            f"{what} holds {len(labels):,} different values in {len(values):,} rows: "
            "it looks like an identifier, not like classes"
        )
    place = {label: i for i, label in enumerate(labels)}
    return Target(np.array([place[value] for value in values], dtype=np.int64), names, labels)


def _sorted_labels(values: list[Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(set(values)))
    except TypeError:
        return tuple(sorted(set(values), key=str))


def _numbers(array: np.ndarray, names: tuple[str, ...], *, sure: bool) -> Target:
    table = array[:, None] if array.ndim == 1 else array
    columns = [finite_numbers(column, f"target {name!r}") for name, column in zip(names, table.T, strict=True)]
    for name, column in zip(names, columns, strict=True):
        if scale_of(column).is_constant:
            raise DataError(f"target {name!r} is constant: there is nothing to learn")
        steps = np.diff(np.sort(column))
        if not sure and array.dtype.kind in "iu" and len(column) >= _FEWEST_TO_SUSPECT and (steps == 1).all():
            raise DataError(f"target {name!r} counts the rows: it looks like an identifier")
    return Target(np.stack(columns, axis=1), names)
