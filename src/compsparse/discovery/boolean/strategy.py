"""Function graphs of Boolean functions from their truth tables: exact, with no threshold to choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from compsparse.checks import check_input_and_output_names
from compsparse.clock import Deadline, now
from compsparse.discovery.record import Cost, Discovery
from compsparse.discovery.strategy import Findings, assembled, check_no_target, is_function, known_options
from compsparse.errors import ConfigError, DataError
from compsparse.progress import Progress, check_progress
from compsparse.surroundings import usual_settings

if TYPE_CHECKING:
    from compsparse.representations.boolean.cofactors import Cube


class BooleanSettings(TypedDict, total=False):
    """How a truth table may be read.

    Attributes:
        progress: hears how many outputs are done.
        time_limit: seconds after which what is not yet decomposed stays one gate.
    """

    progress: Progress | None
    time_limit: float | None


class BooleanOptions(BooleanSettings, total=False):
    """What may be given beside a truth table or a Boolean callable: also what :class:`BooleanSettings` lists.

    Attributes:
        n_inputs: how many inputs a callable has; a table says it by its rows.
        names: of the inputs; x0, x1, … by default.
        outputs: names of the outputs; y, or y0, y1, … by default.
    """

    n_inputs: int | None
    names: Sequence[str] | None
    outputs: Sequence[str] | str | None


@usual_settings()
def from_truth_table(
    table: npt.ArrayLike,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | str | None = None,
    **options: Unpack[BooleanSettings],
) -> Discovery:
    """The function graph of Boolean functions given by all their values.

    A set of inputs is a module when it leaves at most two distinct cofactors of the rest. Modules
    that several outputs use, complemented or not, become one node. The graph computes the table:
    its constituents are polynomials that are exact on 0 and 1.

    Args:
        table: 0 and 1 of shape (2^n,) or (2^n, outputs), n at most 20. Rows are the assignments in
            the order of ``itertools.product``: the first input is the most significant bit of the
            row's number.
        names: of the inputs; x0, x1, … by default.
        outputs: names; y, or y0, y1, … by default.
        options: what :class:`BooleanSettings` lists.

    Raises:
        DataError: the table is no truth table, or an output is constant.
        ConfigError: names do not fit, or the time limit makes no sense.

    >>> found = from_truth_table([0, 0, 0, 1, 1, 1, 1, 0], ["a", "b", "c"])
    >>> sorted(map(sorted, found.modules)), found.evidence_for({"b", "c"})[0].value
    ([['b', 'c']], 2.0)
    >>> print(found.graph)
    y = (1 - (1 - 2*a)*(1 - 2*m0))/2 ⊕
    ├─ a
    └─ m0 = b*c ⊕
       ├─ b
       └─ c
    """
    known = known_options(TRUTH_TABLE, options)
    return assembled(TRUTH_TABLE.search(table, names=names, outputs=outputs, **known))


@usual_settings()
def from_boolean_callable(
    f: Callable[[npt.NDArray[np.int64]], Any],
    n_inputs: int,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | str | None = None,
    **options: Unpack[BooleanSettings],
) -> Discovery:
    """The function graph of Boolean functions given by a callable, asked once for all 2^n rows.

    Args:
        f: takes integers 0 and 1 of shape (2^n, n) and returns (2^n,) or (2^n, outputs).
        n_inputs: n, at most 20.

    The other arguments are those of :func:`from_truth_table`.

    >>> found = from_boolean_callable(lambda x: (x[:, 0] & x[:, 1]) | x[:, 2], 4)
    >>> found.inert, found.cost.evaluations
    (('x3',), 16)
    """
    if not callable(f):
        raise DataError(f"expected a callable, got {type(f).__name__}; a table goes to from_truth_table")
    known = known_options(TRUTH_TABLE, options)
    return assembled(TRUTH_TABLE.search(f, n_inputs=n_inputs, names=names, outputs=outputs, **known))


class TruthTableStrategy:
    """Reads truth tables, and Boolean callables whose number of inputs is given."""

    name = "truth table"
    options = BooleanOptions

    def takes(self, data: Any, y: Any, options: Mapping[str, Any]) -> bool:
        """A callable with ``n_inputs``, or zeros and ones without a target."""
        if y is not None or options.get("bounds") is not None:
            return False
        return options.get("n_inputs") is not None if is_function(data) else _holds_zeros_and_ones(data)

    def search(self, data: Any, y: Any = None, **options: Unpack[BooleanOptions]) -> Findings:
        """Decomposes every output; options as in :func:`from_boolean_callable`."""
        from compsparse.discovery.boolean.circuits import decomposed

        started = now()
        deadline = Deadline.after(options.get("time_limit"))
        check_no_target(y, "a callable" if is_function(data) else "a truth table")
        outputs = options.get("outputs")
        table = _table(data, options.get("n_inputs"), outputs)
        n_inputs = len(table).bit_length() - 1
        inputs, labels = check_input_and_output_names(options.get("names"), outputs, n_inputs, table.shape[1])
        cubes = dict(zip(labels, (column.reshape((2,) * n_inputs) for column in table.T), strict=True))
        _check_constants(cubes)
        circuit = decomposed(inputs, cubes, deadline, check_progress(options.get("progress")))
        return Findings(
            source=self.name,
            account="read from a truth table",
            inputs=inputs,
            trees=circuit.trees,
            same=circuit.same,
            evidence=circuit.evidence(),
            status=circuit.status,
            cost=Cost(now() - started, evaluations=len(table) if is_function(data) else 0),
            complete=circuit.completed,
        )


TRUTH_TABLE = TruthTableStrategy()


def _holds_zeros_and_ones(data: Any) -> bool:
    try:
        rows = np.asarray(data)
    except (ValueError, TypeError):
        return False
    return rows.ndim in (1, 2) and rows.dtype.kind in "biuf" and bool(np.isin(rows, (0, 1)).all())


def _table(data: Any, n_inputs: int | None, outputs: Sequence[str] | str | None) -> npt.NDArray[np.bool_]:
    from compsparse.representations.boolean.reading import ask, read_truth_table

    if not is_function(data):
        if n_inputs is not None:
            raise ConfigError("n_inputs belongs to a callable: a truth table says by its rows how many inputs it has")
        return read_truth_table(data, outputs)
    if n_inputs is None:
        raise ConfigError("a Boolean callable needs n_inputs=…")
    return ask(data, n_inputs, outputs)


def _check_constants(cubes: Mapping[str, Cube]) -> None:
    for output, cube in cubes.items():
        if cube.all() or not cube.any():
            raise DataError(f"output {output!r} is {int(cube.flat[0])} in every row: leave constant outputs out")
