"""Traces an ordinary Python function into its function graph."""

from __future__ import annotations

import builtins
import inspect
import math
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from compsparse.checks import MOST_VARIABLES, brief, check_count, check_name_list, input_names
from compsparse.errors import TraceError
from compsparse.graph.builder import OperationRecorder
from compsparse.graph.expression import fused
from compsparse.graph.function_graph import FunctionGraph
from compsparse.graph.operations import OPERATIONS, operation
from compsparse.parameters import check_parameters


def trace(
    function: Callable[..., Any], inputs: int | Sequence[str] | None = None, *, fuse: bool = False
) -> FunctionGraph:
    """The function graph of an ordinary Python function.

    The function is run once on symbolic values. It may use operators, loops, ``math``, numpy
    ufuncs, torch functions and helpers of its own; what it may not do is branch on a value.

    Args:
        function: takes one argument per input, or one array ``x`` of which it uses ``x[0]``,
            ``x[..., 1]`` and so on; returns one value, or a tuple or list of several.
        inputs: how many inputs there are, or their names; by default the parameters' names.
        fuse: fold operations on one variable into their neighbours.

    Raises:
        TraceError: the function branches on a value or calls something that cannot be traced.

    >>> import math
    >>> graph = trace(lambda a, b, c: math.tanh(a * b) + c)
    >>> graph.inputs, [n.label for n in graph.nodes]
    (('a', 'b', 'c'), ['a*b', 'tanh(mul_0)', 'tanh_1 + c'])
    """
    check_parameters(fuse=fuse)
    if not callable(function):
        raise TraceError(f"expected a function to trace, got {brief(function)}")
    parameters = _parameters(function)
    if inputs is None:
        if parameters is None:
            raise TraceError(f"say how many inputs {_called(function)} has: trace(f, n) or trace(f, names)")
        inputs = parameters
    names = check_name_list("inputs", inputs) if isinstance(inputs, Iterable) else list(_numbered(inputs))
    if not names:
        raise TraceError(f"{_called(function)} needs at least one input to be traced")
    recorder = OperationRecorder(names)
    symbols = [Symbol(recorder, name) for name in names]
    one_array = parameters is not None and len(parameters) == 1 and len(names) > 1
    arguments: list[Any] = [SymbolVector(symbols)] if one_array else list(symbols)
    try:
        result = _traceable(function, {})(*arguments)
    except TraceError:
        raise
    except RecursionError:
        raise TraceError(f"cannot trace {_called(function)}: it calls itself too deeply") from None
    except (TypeError, AttributeError, ValueError) as error:
        raise TraceError(f"cannot trace {_called(function)}: {error}") from error
    graph = recorder.build(_output_names(result, recorder, function))
    return fused(graph) if fuse else graph


def _numbered(n: Any) -> tuple[str, ...]:
    return input_names(check_count("inputs", n, most=MOST_VARIABLES))


class Symbol:
    """A value that records what is done to it."""

    __slots__ = ("name", "recorder")

    def __init__(self, recorder: OperationRecorder, name: str):
        self.recorder, self.name = recorder, name

    def _apply(self, name: str, *operands: Any) -> Symbol:
        if len(operands) != OPERATIONS[name].arity:
            raise TraceError(f"{name} takes {OPERATIONS[name].arity} arguments here, got {len(operands)}")
        return Symbol(self.recorder, self.recorder.apply(name, [_operand(o) for o in operands]))

    def __pow__(self, other: Any) -> Any:
        return self._apply("square", self) if _is_number(other) and other == 2 else self._apply("pow", self, other)

    def __pos__(self) -> Symbol:
        return self

    def __bool__(self) -> bool:
        raise TraceError(
            "the function branches on a value (if, while, and, or): a function graph has no branches; "
            "use np.where, np.maximum or np.minimum"
        )

    def __eq__(self, other: object) -> bool:
        return bool(self)

    __ne__ = __eq__
    __hash__ = object.__hash__

    def __float__(self) -> float:
        raise TraceError(
            "the function turns a value into a plain number (float(), or a compiled function): "
            "use numpy's functions instead"
        )

    __int__ = __index__ = __float__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        found = operation(ufunc.__name__)
        if method != "__call__" or found is None or any(v is not None for v in options.values()):
            raise TraceError(f"np.{ufunc.__name__} cannot be traced; known operations: {', '.join(OPERATIONS)}")
        if found.name == "pow":
            return inputs[0] ** inputs[1]
        return self._apply(found.name, *inputs)

    def __array_function__(self, function: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and len(args) == 3 and not kwargs:
            return self._apply("where", *args)
        raise TraceError(f"np.{function.__name__} cannot be traced on a single value")

    @classmethod
    def __torch_function__(cls, function: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = operation(function.__name__)
        symbol = next(a for a in args if isinstance(a, Symbol))
        if found is None or any(kwargs.values() if kwargs else ()):
            raise TraceError(f"torch.{function.__name__} cannot be traced; known operations: {', '.join(OPERATIONS)}")
        if found.name == "pow":
            return symbol._power(*args)
        return symbol._apply(found.name, *args)

    def _power(self, base: Any, exponent: Any) -> Any:
        return base**exponent if isinstance(base, Symbol) else self._apply("pow", base, exponent)


def _install_operators() -> None:
    binary = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}
    for python_name, name in binary.items():
        setattr(Symbol, f"__{python_name}__", lambda self, other, name=name: self._apply(name, self, other))
        setattr(Symbol, f"__r{python_name}__", lambda self, other, name=name: self._apply(name, other, self))
    Symbol.__rpow__ = lambda self, other: self._apply("pow", other, self)  # type: ignore[attr-defined]
    unary = {"__neg__": "neg", "__abs__": "abs", "__floor__": "floor"}
    for method, name in unary.items():
        setattr(Symbol, method, lambda self, name=name: self._apply(name, self))
    for method, name in {"gt": "greater", "lt": "less", "ge": "greater_equal", "le": "less_equal"}.items():
        setattr(Symbol, f"__{method}__", lambda self, other, name=name: self._apply(name, self, other))


_install_operators()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) or (
        getattr(value, "shape", None) == () and hasattr(value, "item")
    )


def _operand(value: Any) -> str | float:
    if isinstance(value, Symbol):
        return value.name
    if _is_number(value):
        if not math.isfinite(value):
            raise TraceError("an infinite or undefined constant met a traced value")
        return float(value)
    raise TraceError(f"a value of type {type(value).__name__} met a traced value; only numbers may")


class SymbolVector(NDArrayOperatorsMixin):
    """The row ``x`` of a function that takes one array: indexed, summed, multiplied like one."""

    def __init__(self, symbols: Sequence[Symbol]):
        self.symbols = list(symbols)
        self.shape = (len(self.symbols),)

    def __len__(self) -> int:
        return len(self.symbols)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self.symbols)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):  # x[..., i] and x[:, i]: the function was written for tables
            if not all(k is Ellipsis or k == slice(None) for k in key[:-1]):
                raise TraceError(f"x[{key!r}] cannot be traced: only the last index may choose")
            key = key[-1]
        chosen = self.symbols[key]
        return SymbolVector(chosen) if isinstance(key, slice) else chosen

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce" and set(options) <= {"axis"}:
            return reduce(ufunc, self.symbols)
        if method != "__call__" or options:
            raise TraceError(f"np.{ufunc.__name__}.{method} cannot be traced")
        if ufunc is np.matmul:
            return _product(*inputs)
        columns = [i if isinstance(i, SymbolVector) else np.broadcast_to(i, self.shape) for i in inputs]
        return SymbolVector([ufunc(*values) for values in zip(*columns, strict=True)])

    def __array_function__(self, function: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        if set(kwargs) - {"axis"}:
            raise TraceError(f"np.{function.__name__} with {', '.join(kwargs)} cannot be traced")
        reductions = {np.sum: np.add, np.prod: np.multiply, np.max: np.maximum, np.min: np.minimum}
        if function in reductions and args[0] is self:
            return reduce(reductions[function], self.symbols)
        if function is np.mean and args[0] is self:
            return reduce(np.add, self.symbols) / len(self)
        if function in (np.dot, np.inner):
            return _product(*args)
        raise TraceError(f"np.{function.__name__} cannot be traced")

    def sum(self, axis: Any = None) -> Any:
        """The sum of the row."""
        return np.sum(self)  # type: ignore[call-overload]


def _product(a: Any, b: Any) -> Any:
    """a @ b where one side is a row of symbols and the other a vector or matrix of numbers, or both rows."""
    if isinstance(a, SymbolVector) and np.ndim(b) == 2 and not isinstance(b, SymbolVector):
        return SymbolVector([_product(a, column) for column in np.asarray(b).T])
    if isinstance(b, SymbolVector) and np.ndim(a) == 2 and not isinstance(a, SymbolVector):
        return SymbolVector([_product(row, b) for row in np.asarray(a)])
    return reduce(np.add, [u * v for u, v in zip(a, b, strict=True)])


def _output_names(result: Any, recorder: OperationRecorder, function: Any) -> list[str]:
    outputs = list(result) if isinstance(result, (tuple, list, SymbolVector)) else [result]
    names = []
    for output in outputs:
        if not isinstance(output, Symbol):
            raise TraceError(f"{_called(function)} returned {output!r}, which does not depend on its inputs")
        names.append(output.name)
    if not names:
        raise TraceError(f"{_called(function)} returned nothing")
    return recorder.distinct(names)


def _called(function: Any) -> str:
    return f"{getattr(function, '__name__', type(function).__name__)}()"


def _parameters(function: Any) -> list[str] | None:
    """Names of the positional parameters without default, or None if there is no saying."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]


# ---- math -------------------------------------------------------------------------------------
# math's functions insist on floats, so the traced function gets a copy that sees symbolic twins.


def _twin(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        symbol = next((a for a in arguments if isinstance(a, Symbol)), None)
        if symbol is None:
            return original(*arguments)
        return symbol._power(*arguments) if name == "pow" else symbol._apply(name, *arguments)

    return call


_MATH_TWINS = {
    name: _twin(found.name, getattr(math, name))
    for name in dir(math)
    if callable(getattr(math, name)) and (found := operation(name)) is not None and name != "hypot"
}
_MATH = types.SimpleNamespace(**{**vars(math), **_MATH_TWINS})


def _extremum(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        values = list(arguments[0]) if len(arguments) == 1 else list(arguments)
        symbol = next((v for v in values if isinstance(v, Symbol)), None)
        if symbol is None or options:
            return original(*arguments, **options)
        return reduce(lambda a, b: symbol._apply(name, a, b), values)

    return call


_BUILTIN_TWINS = {"max": _extremum("maximum", max), "min": _extremum("minimum", min)}


def _traceable(function: Any, done: dict[int, Any]) -> Any:
    """A copy of a Python function in which math, max and min accept symbols."""
    if isinstance(function, types.MethodType):
        return types.MethodType(_traceable(function.__func__, done), function.__self__)
    if not isinstance(function, types.FunctionType) or (function.__module__ or "").split(".")[0] in {
        "numpy",
        "torch",
        "scipy",
    }:
        return function
    if id(function) in done:
        return done[id(function)]
    scope = dict(function.__globals__)
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    done[id(function)] = copy
    for name in _names_used(function.__code__):
        if name in scope:
            scope[name] = _replacement(scope[name], done)
        elif name in _BUILTIN_TWINS and hasattr(builtins, name):
            scope[name] = _BUILTIN_TWINS[name]
    if function.__closure__:
        cells = tuple(_replaced_cell(cell, done) for cell in function.__closure__)
        copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        copy.__kwdefaults__ = function.__kwdefaults__
        done[id(function)] = copy
    return copy


def _names_used(code: types.CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*map(_names_used, inner))


def _replaced_cell(cell: types.CellType, done: dict[int, Any]) -> types.CellType:
    try:
        contents = cell.cell_contents
    except ValueError:
        return cell
    replacement = _replacement(contents, done)
    return cell if replacement is contents else types.CellType(replacement)


def _replacement(value: Any, done: dict[int, Any]) -> Any:
    if value is math:
        return _MATH
    if getattr(value, "__module__", None) == "math" and getattr(value, "__name__", None) in _MATH_TWINS:
        return _MATH_TWINS[value.__name__]
    return _traceable(value, done)
