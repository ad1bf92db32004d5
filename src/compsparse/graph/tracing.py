"""Traces an ordinary Python function into its function graph."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from compsparse.checks import (
    MOST_VARIABLES,
    brief,
    check_count,
    check_flag,
    check_name_list,
    input_names,
    suggests_options,
)
from compsparse.errors import ConfigError, TraceError
from compsparse.graph.expression import fused
from compsparse.graph.function_graph import FunctionGraph
from compsparse.graph.symbols import Decisions, Recorder, Symbol, SymbolArray, elementwise, explored, is_number, objects
from compsparse.graph.twins import called

InputForm = Literal["numbers", "columns", "row", "table"]
"""How a function takes its inputs: one number each, one column each, or one array that is a row or a table."""


class HoldsGraph(Protocol):
    """Something that was found, fitted or mirrored, such as a discovery."""

    @property
    def graph(self) -> FunctionGraph:
        """Its function graph."""


AnyGraph = FunctionGraph | str | HoldsGraph | Callable[..., Any]
"""A function graph, or what has one: an expression, a discovery, a fitted model, a Python function."""


@dataclass(frozen=True)
class Traced:
    """A graph, and the form in which the function takes its inputs."""

    graph: FunctionGraph
    form: InputForm


@suggests_options
def trace(
    function: Callable[..., Any], inputs: int | Sequence[str] | None = None, *, fuse: bool = False
) -> FunctionGraph:
    """The function graph of an ordinary Python function.

    The function is run on symbolic values, once for each way its conditions can fall, and compared with the graph at
    a few points. It may use operators, loops,
    ``if``, ``math``, numpy, torch and helpers of its own; what cannot be traced is refused by its name.

    Args:
        function: takes one argument per input, numbers or columns; or one array ``x``, a row of which it uses ``x[0]``
            or a table of which it uses ``x[:, 0]``. It returns one value, or a tuple or list of several.
        inputs: how many inputs there are, or their names; by default the parameters' names.
        fuse: fold operations on one variable into their neighbours.

    Raises:
        TraceError: the function does something that a graph cannot hold.

    >>> import math
    >>> graph = trace(lambda a, b, c: math.tanh(a * b) + c)
    >>> graph.inputs, [n.label for n in graph.nodes]
    (('a', 'b', 'c'), ['a*b', 'tanh(mul_0)', 'tanh_1 + c'])
    >>> trace(lambda a: a if a > 0 else -a).nodes[-1].label
    'where(greater_0, a, neg_1)'
    """
    check_flag("fuse", fuse)
    return traced(function, inputs, fuse=fuse).graph


def as_graph(what: str, given: AnyGraph) -> FunctionGraph:
    """The graph that is meant: itself, an expression's, a function's, or that of what was found, fitted or mirrored.

    >>> as_graph("graph", "a*b + c").inputs
    ('a', 'b', 'c')
    """
    if isinstance(given, str):
        return FunctionGraph.from_expression(given)
    held = getattr(given, "graph_", getattr(given, "graph", given))
    if isinstance(held, FunctionGraph):
        return held
    if not callable(given):
        raise ConfigError(f"{what} must be a FunctionGraph, an expression or a function, got {brief(given)}")
    return trace(given, fuse=True)


def traced(function: Callable[..., Any], inputs: int | Sequence[str] | None = None, *, fuse: bool = False) -> Traced:
    """As :func:`trace`, with the form in which the function takes its inputs."""
    if not callable(function):
        raise TraceError(f"expected a function to trace, got {brief(function)}")
    parameters = _parameters(function)
    if inputs is None:
        if parameters is None:
            raise TraceError(f"say how many inputs {_called(function)} has: trace(f, n) or trace(f, names)")
        inputs = parameters
    if isinstance(inputs, Iterable):
        names = check_name_list("inputs", inputs)
    else:
        names = list(input_names(check_count("inputs", inputs, most=MOST_VARIABLES)))
    if not names:
        raise TraceError(f"{_called(function)} needs at least one input to be traced")
    copy = called(function)
    first: TraceError | None = None
    for form in _forms(len(parameters) if parameters is not None else None, len(names)):
        try:
            graph = _of_form(copy, names, form, _called(function))
            _compare(function, graph, form)
            return Traced(fused(graph) if fuse else graph, form)
        except _DisagreementError:
            raise
        except TraceError as error:
            # an error of ours names what cannot be traced; a foreign one may be about the form alone
            if first is None or (first.__cause__ is not None and error.__cause__ is None):
                first = error
    assert first is not None
    raise first


def _forms(n_parameters: int | None, n_inputs: int) -> list[InputForm]:
    if n_parameters != 1:
        return ["numbers", "columns"]
    return ["row", "table"] if n_inputs > 1 else ["numbers", "columns", "row", "table"]


# ---- one form -------------------------------------------------------------------------------------


def _of_form(function: Callable[..., Any], names: list[str], form: InputForm, title: str) -> FunctionGraph:
    if form in ("numbers", "row"):
        return _run(function, names, form, 1, title).graph(0)
    known: dict[Any, int] = {}
    runs = [_run(function, names, form, n, title) for n in (2, 3)]
    kinds = {run.signature(row, known) for run in runs for row in range(run.n_rows)}
    if len(kinds) > 1:
        raise TraceError(f"{title} mixes the rows of a table: a function graph is a function of one row")
    return runs[0].graph(0)


@dataclass(frozen=True)
class _Run:
    """What a function did to so many rows of symbols: the outputs of each."""

    recorder: Recorder
    names: list[str]
    outputs: list[list[str]]

    @property
    def n_rows(self) -> int:
        return len(self.outputs)

    def graph(self, row: int) -> FunctionGraph:
        """The graph of one row, which must be the first where there are several."""
        whole = self.recorder.build(self.outputs[row])
        return FunctionGraph(self.names, whole.nodes, whole.outputs)

    def signature(self, row: int, known: dict[Any, int]) -> tuple[int, ...]:
        """Equal for rows of any runs that do the same to their own inputs; unlike where other rows come in."""
        own = {_input(name, row): i for i, name in enumerate(self.names)}
        found: dict[str, int] = {}
        for name in self.recorder.inputs:
            found[name] = known.setdefault(own.get(name, name), len(known))
        for node in self.recorder.nodes:
            assert node.constituent is not None
            key = (node.constituent.formula, tuple(found[p] for p in node.parents))
            found[node.name] = known.setdefault(key, len(known))
        return tuple(found[name] for name in self.outputs[row])


def _input(name: str, row: int) -> str:
    return name if row == 0 else f"{name}, row {row + 1}"


def _run(function: Callable[..., Any], names: list[str], form: InputForm, n_rows: int, title: str) -> _Run:
    recorder = Recorder([_input(name, row) for row in range(n_rows) for name in names])

    def once(decisions: Decisions) -> list[list[Any]]:
        recorder.decisions = decisions
        rows = [[Symbol(recorder, _input(name, row)) for name in names] for row in range(n_rows)]
        try:
            result = function(*_arguments(rows, form))
        except TraceError:
            raise
        except RecursionError:
            raise TraceError(f"cannot trace {title}: it calls itself too deeply") from None
        except Exception as error:  # whatever a user's function raises when it is given traced values
            told = f"{type(error).__name__}: {error}".removesuffix(": ")
            if decisions.made:
                raise TraceError(
                    f"{title} raises {told} on one of its branches, and a graph has a value everywhere: "
                    "trace it without the check"
                ) from error
            raise TraceError(f"cannot trace {title}: {told}") from error
        return _outputs(result, form, n_rows, title)

    def join(condition: str, yes: list[list[Any]], no: list[list[Any]]) -> list[list[Any]]:
        if [len(row) for row in yes] != [len(row) for row in no]:
            raise TraceError(f"{title} returns {len(yes[0])} values on one branch and {len(no[0])} on another")
        falls = Symbol(recorder, condition)
        return [[_either(falls, a, b) for a, b in zip(*pair, strict=True)] for pair in zip(yes, no, strict=True)]

    rows = explored(once, join)
    return _Run(recorder, names, [_output_names(row, recorder, title) for row in rows])


def _compare(function: Callable[..., Any], graph: FunctionGraph, form: InputForm) -> None:
    """Refuses a function that treats plain numbers otherwise than traced ones, at a few points where it has values."""
    rng = np.random.default_rng(0)
    boxes = [(-1.0, 1.0), (0.1, 0.9), (1.0, 3.0)]
    X = np.concatenate([rng.uniform(low, high, (2, graph.n_inputs)) for low, high in boxes])
    with np.errstate(all="ignore"):
        expected = graph(X).reshape(len(X), -1)
    alone = form in ("numbers", "row")
    for rows in [[i] for i in range(len(X))] if alone else [list(range(len(X)))]:
        found = _plain_values(function, X[rows], form, expected.shape[1])
        if found is None:
            continue
        off = np.abs(found - expected[rows]) > 1e-6 * (1 + np.abs(expected[rows]))
        if off.any():
            row, column = np.argwhere(off)[0]
            raise _DisagreementError(
                f"{_called(function)} is {found[row, column]:.6g} at {X[rows][row].tolist()}, and "
                f"{expected[rows][row, column]:.6g} as it was traced: it is random, or looks at what kind of value it "
                "gets (is, isinstance)"
            )


class _DisagreementError(TraceError):
    """The function and its graph have different values."""


def _plain_values(function: Callable[..., Any], X: np.ndarray, form: InputForm, width: int) -> np.ndarray | None:
    """The function's own values at the rows of X, or None where it has none."""
    arguments = {"numbers": X[0].tolist(), "columns": list(X.T.copy()), "row": [X[0].copy()], "table": [X.copy()]}[form]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = function(*arguments)
            parts = [np.asarray(p, dtype=float) for p in (result if isinstance(result, (tuple, list)) else [result])]
            found = np.concatenate([p.reshape(len(X), -1) for p in parts], axis=1)
    except Exception:  # it does not take such numbers, or is not defined there
        return None
    return found if found.shape[1] == width and np.isfinite(found).all() else None


def _arguments(rows: list[list[Symbol]], form: InputForm) -> list[Any]:
    match form:
        case "numbers":
            return list(rows[0])
        case "columns":
            return [SymbolArray(list(column)) for column in zip(*rows, strict=True)]
        case "row":
            return [SymbolArray(rows[0])]
    return [SymbolArray(rows)]


def _outputs(result: Any, form: InputForm, n_rows: int, title: str) -> list[list[Any]]:
    """The values of each row."""
    several = isinstance(result, (tuple, list))
    parts = [objects(part) for part in (result if several else [result])] if _is_value(result) else []
    if not parts:
        raise TraceError(f"{title} returned {brief(result)}, which is no traced value")
    if form in ("numbers", "row"):
        return [[value for part in parts for value in part.ravel()]]
    columns: list[Any] = []
    for part in parts:
        if part.ndim not in (1, 2) or len(part) != n_rows or (several and part.ndim == 2 and part.shape[1] != 1):
            raise TraceError(f"{title} returned an array of shape {part.shape} for {n_rows} rows") from ValueError()
        columns += list(part.reshape(n_rows, -1).T)
    return [[column[row] for column in columns] for row in range(n_rows)]


def _is_value(result: Any) -> bool:
    if isinstance(result, (tuple, list)):
        return bool(result) and all(map(_is_value, result))
    return isinstance(result, (Symbol, SymbolArray, np.ndarray)) or is_number(result)


def _either(condition: Symbol, a: Any, b: Any) -> Any:
    same = a is b or (isinstance(a, Symbol) and isinstance(b, Symbol) and a.name == b.name)
    return a if same or (is_number(a) and is_number(b) and a == b) else elementwise("where", condition, a, b)


def _output_names(values: list[Any], recorder: Recorder, title: str) -> list[str]:
    for value in values:
        if not isinstance(value, Symbol):
            raise TraceError(f"{title} returned {value!r}, which does not depend on its inputs")
    if not values:
        raise TraceError(f"{title} returned nothing")
    return recorder.distinct([value.name for value in values])


def _called(function: Any) -> str:
    return f"{getattr(function, '__name__', type(function).__name__)}()"


def _parameters(function: Any) -> list[str] | None:
    """Names of the positional parameters without default, or None if there is no saying."""
    try:
        own = function.forward if hasattr(function, "named_parameters") else function  # a torch module
        parameters = list(inspect.signature(own).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
