"""How a table becomes numbers: fitted on the rows of a fit, applied to every later table, kept as plain values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from compsparse.checks import input_names
from compsparse.errors import DataError
from compsparse.sizes import check_size
from compsparse.tables.columns import SEPARATOR, Table
from compsparse.tables.copies import copies_in
from compsparse.tables.inputs import (
    Input,
    LeftOutColumn,
    MeanColumn,
    NumberColumn,
    TextColumn,
    changed_numbers,
    readable,
)
from compsparse.tables.levels import honest_codes
from compsparse.tables.looking import Rows, Treatment, left_out_treatment, look_at
from compsparse.tables.problems import Problems
from compsparse.text import in_a_line

_COPIES = 8
"""How often a table stands in memory at the most, as numbers: while equal rows are looked for."""


@in_a_line
@dataclass(frozen=True)
class TableCode:
    """How a table becomes numbers; the same for fitting and for predicting.

    Attributes:
        inputs: of the model, in the order of the columns they are read from.
        treatments: what was done to each column, the target's last.
        na: words that mean, in every column, that a cell is missing.
    """

    inputs: tuple[Input, ...]
    treatments: tuple[Treatment, ...] = field(default=(), compare=False)
    na: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(column.name for column in self.inputs)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns of a table from which the inputs are read."""
        return tuple(dict.fromkeys(column.column for column in self.inputs))

    @property
    def left_out(self) -> dict[str, str]:
        """Columns that no model reads, and why."""
        return {column.name: column.why for column in self.inputs if isinstance(column, LeftOutColumn)}

    @property
    def texts(self) -> frozenset[str]:
        """Columns that hold categories, whose cells a file is not to turn into numbers."""
        return frozenset(c.name for c in self.inputs if isinstance(c, (TextColumn, MeanColumn)))

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Names of the encoded columns of every input."""
        return {
            c.name: (c.name,) if c.width == 1 else tuple(f"{c.name}{SEPARATOR}{i}" for i in range(c.width))
            for c in self.inputs
        }

    def encoded(self, X: Any, unused: Collection[str] = ()) -> np.ndarray:
        """The table as numbers, (rows, encoded columns); columns are found by name where there are names.

        Args:
            unused: inputs that nobody reads: their columns may be missing or hold anything, and become zeros.
        """
        table = self.chosen(X, unused)
        found = dict(zip(table.names or (), table.columns, strict=True))
        problems, parts = Problems(), [np.zeros((table.n_rows, column.width)) for column in self.inputs]
        for i, column in enumerate(self.inputs):
            with problems.noted():
                if column.column in found and column.name not in unused:
                    parts[i] = column.encoded(found[column.column])
        problems.told()
        return np.concatenate(parts, axis=1)

    def chosen(self, X: Any, unused: Collection[str] = ()) -> Table:
        """The columns of a table that the inputs are read from, without those of ``unused`` inputs alone."""
        table = Table.of(X)
        if not table.n_rows:
            raise DataError("the table has no rows")
        read = {c.column for c in self.inputs if c.name not in unused and not isinstance(c, LeftOutColumn)}
        kept = [i for i, name in enumerate(self.sources) if name in read]
        if table.names is not None:
            chosen = table.chosen(table.places([self.sources[i] for i in kept], "the model"))
        elif len(table.columns) != len(self.sources):
            raise DataError(
                f"the table has {len(table.columns)} columns, but the model was fitted on {len(self.sources)}"
            )
        else:
            chosen = table.named(self.sources).chosen(kept)
        return chosen.without(self.na)

    @property
    def clips(self) -> bool:
        """Whether numbers beyond those of the fit are moved to their ends."""
        numbers = [c for c in map(readable, self.inputs) if isinstance(c, NumberColumn)]
        return all(number.clips for number in numbers)

    def clipping(self) -> TableCode:
        """The code that moves numbers beyond those of the fit to their ends."""
        clip = partial(replace, clips=True)
        return replace(self, inputs=tuple(changed_numbers(column, clip) for column in self.inputs))

    def outside(self, X: Any, unused: Collection[str] = ()) -> dict[str, np.ndarray]:
        """The rows, counted from 0, in which a number lies beyond those of the fit, by column."""
        table = self.chosen(X, unused)
        values = dict(zip(table.names or (), table.columns, strict=True))
        found = {
            c.name: c.is_outside(values[c.name])
            for c in self.inputs
            if isinstance(c, NumberColumn) and c.name in values
        }
        return {name: np.flatnonzero(is_outside) for name, is_outside in found.items() if is_outside.any()}

    def only(self, names: Sequence[str]) -> TableCode:
        """The code of some of the inputs, in the order of their names.

        Raises:
            DataError: there is no such input.
        """
        known = {column.name: column for column in self.inputs}
        for name in names:
            if name not in known:
                raise DataError(f"the columns make no input {name!r}; the inputs are {', '.join(known)}")
        return replace(self, inputs=tuple(known[name] for name in names))

    def new_levels(self, X: Any, unused: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
        """Texts that were never seen, by column; they are coded as rare levels, or as none of the known ones."""
        table = self.chosen(X, unused)
        values = dict(zip(table.names or (), table.columns, strict=True))
        found = {
            column.name: column.new_levels(values[column.name])
            for column in self.inputs
            if isinstance(column, (TextColumn, MeanColumn)) and column.name in values
        }
        return {name: levels for name, levels in found.items() if levels}

    def surprises(self, X: Any, unused: Collection[str] = ()) -> list[str]:
        """What a table holds that the rows of the fit did not, a sentence for each column."""
        table = self.chosen(X, unused)
        values = dict(zip(table.names or (), table.columns, strict=True))
        told = [
            (column.column, column.surprise(values[column.column]))
            for column in self.inputs
            if column.column in values and column.name not in unused
        ]
        return [f"column {name!r} {clause}" for name, clause in told if clause]


def code_for(
    X: Any,
    names: Sequence[str] | None = None,
    sample_weight: np.ndarray | None = None,
    na: Sequence[str] = (),
) -> TableCode:
    """Looks at every column of a table, and leaves none out; of very many levels the commonest are told apart.

    Raises:
        DataError: names the columns that cannot be used, and why.
    """
    table = Table.of(X, names).without(na)
    weight = None if sample_weight is None else sample_weight / sample_weight.mean()
    return replace(_fitted(table, Rows(table.n_rows, None, weight)), na=tuple(na))


def fitted_code(
    table: Table,
    z: np.ndarray,
    *,
    sample_weight: np.ndarray | None = None,
    leaves_out: bool = False,
    na: Sequence[str] = (),
) -> tuple[TableCode, np.ndarray]:
    """Looks at every column beside the target, and codes the rows themselves.

    Where a code is made of targets, every row has it from other rows.

    Args:
        z: the target, standardised, a column for each output or class.
        leaves_out: whether to leave out constants, copies of other columns, identifiers and indices.

    Raises:
        DataError: all that cannot be used, and why.
    """
    weight = np.ones(table.n_rows) if sample_weight is None else sample_weight / sample_weight.mean()
    rows = Rows(table.n_rows, z, None if sample_weight is None else weight, leaves_out)
    code = replace(_fitted(table, rows), na=tuple(na))
    _check_memory(table.n_rows, code)
    X = code.encoded(table)
    if leaves_out:
        code = _without_useless(code, X)
        X = code.encoded(table)
    place, found = 0, dict(zip(code.sources, table.columns, strict=True))
    copies: np.ndarray | None = None
    for column in code.inputs:
        if isinstance(column, MeanColumn):
            copies = copies_in(X, z) if copies is None else copies
            own = slice(place, place + column.width)
            X[:, own] = honest_codes(column, found[column.column], z, weight, copies)
        place += column.width
    return code, X


def _check_memory(n_rows: int, code: TableCode) -> None:
    width = sum(column.width for column in code.inputs)
    check_size(
        f"{n_rows:,} rows of {width:,} encoded columns",
        n_rows * width * _COPIES,
        "give a random part of the rows, or fewer columns",
    )


def _fitted(table: Table, rows: Rows) -> TableCode:
    problems = Problems()
    if not table.n_rows:
        raise DataError("the table has no rows")
    names = table.names or input_names(len(table.columns))
    made: list[tuple[tuple[Input, ...], Treatment]] = []
    taken = set(names)
    for name, column in zip(names, table.columns, strict=True):
        with problems.noted():
            made.append(look_at(name, column, replace(rows, taken=frozenset(taken))))
            taken.update(c.name for c in made[-1][0])
    problems.told()
    if rows.leaves_out and all(isinstance(column, LeftOutColumn) for own, _ in made for column in own):
        return _fitted(table, replace(rows, leaves_out=False))
    return TableCode(tuple(c for own, _ in made for c in own), tuple(treatment for _, treatment in made))


def _without_useless(code: TableCode, X: np.ndarray) -> TableCode:
    """The code in which inputs that are constant or repeat another one are left out."""
    gone: dict[str, str] = {}
    seen: dict[bytes, str] = {}
    start = 0
    for column in code.inputs:
        values = np.ascontiguousarray(X[:, start : start + column.width])
        start += column.width
        if isinstance(column, LeftOutColumn):
            continue
        if not np.ptp(values, axis=0).any():
            gone[column.name] = "is constant"
            continue
        twin = seen.setdefault(values.tobytes(), column.name)
        if twin != column.name:
            gone[column.name] = f"says the same as {twin!r}"
    if not seen:
        raise DataError("every column is constant: there is nothing to learn from")
    kept = [c for c in code.inputs if c.name not in gone or c.name == c.column]  # a part of a date is just not there
    inputs = [LeftOutColumn(c.name, gone[c.name]) if c.name in gone else c for c in kept]
    return replace(code, inputs=tuple(inputs), treatments=tuple(_told(code.treatments, gone)))


def _told(treatments: Iterable[Treatment], gone: dict[str, str]) -> Iterable[Treatment]:
    for treatment in treatments:
        kept = tuple(name for name in treatment.inputs if name not in gone)
        if kept == treatment.inputs:
            yield treatment
        elif not kept:
            yield left_out_treatment(treatment.column, gone[treatment.inputs[0]])
        else:
            yield replace(treatment, inputs=kept)
