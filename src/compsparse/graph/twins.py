"""Copies of Python functions in which math, numpy and Python's own functions accept traced values.

``math`` insists on floats and ``np.array`` asks no argument how it wants to be treated, so a traced function gets a
copy that sees stand-ins for these modules. A stand-in does what the original does unless a traced value comes in.
"""

from __future__ import annotations

import builtins
import copy
import functools
import importlib
import math
import operator
import types
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from compsparse.errors import TraceError
from compsparse.graph import idioms
from compsparse.graph.derived import derived
from compsparse.graph.operations import operation
from compsparse.graph.symbols import Symbol, SymbolArray, elementwise, holds_symbols, is_number, objects, plain, wrapped

_LIBRARIES = {"numpy", "torch", "scipy", "sklearn"}
"""Packages whose functions are not copied; numpy and torch ask traced values how they want to be treated."""


def traceable(function: Any, done: dict[int, Any] | None = None) -> Any:
    """A copy of a callable in which the modules' functions accept traced values; what is no Python code stays."""
    done = {} if done is None else done
    if id(function) in done:
        return done[id(function)]
    if isinstance(function, types.MethodType):
        return types.MethodType(traceable(function.__func__, done), _instance(function.__self__, done))
    if isinstance(function, functools.partial):
        made: Any = functools.partial(traceable(function.func, done), *function.args, **function.keywords)
        return made
    if isinstance(function, np.vectorize):
        return _one_by_one(traceable(function.pyfunc, done))
    if not isinstance(function, types.FunctionType):
        inner = getattr(function, "py_func", None) or getattr(function, "__wrapped__", None)
        return traceable(inner, done) if isinstance(inner, types.FunctionType) else function
    if (function.__module__ or "").split(".")[0] in _LIBRARIES:
        return function
    return _copied(function, done)


def called(instance: Any) -> Any:
    """What runs when an object is called: its class's own Python code, copied; or the object itself."""
    is_object = not isinstance(instance, (types.FunctionType, types.MethodType, functools.partial))
    twin = _instance(instance, {}) if is_object else instance
    return twin if twin is not instance else _replacement(instance, {})


def _instance(instance: Any, done: dict[int, Any]) -> Any:
    """A copy of an object of a user's class, with copies of its methods; any other object itself."""
    kind = type(instance)
    if kind is type or kind.__module__.split(".")[0] in (*_LIBRARIES, "builtins"):
        return instance
    if any(base.__module__.split(".")[0] in _LIBRARIES for base in kind.__mro__):
        return instance
    if id(instance) not in done:
        done[id(instance)] = instance
        own = {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}
        methods = {name: traceable(value, done) for name, value in own.items() if isinstance(value, types.FunctionType)}
        methods |= {
            name: staticmethod(traceable(value.__func__, done))
            for name, value in own.items()
            if isinstance(value, staticmethod)
        }
        try:
            twin = copy.copy(instance)
            twin.__class__ = type(kind.__name__, (kind,), methods)
        except TypeError:  # a class that cannot be derived from, or an object without a __dict__
            return instance
        done[id(instance)] = twin
    return done[id(instance)]


def _copied(function: types.FunctionType, done: dict[int, Any]) -> types.FunctionType:
    scope = dict(function.__globals__)
    scope["__builtins__"] = {**vars(builtins), **_BUILTINS}
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    made = types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, cells if function.__closure__ else None
    )
    made.__kwdefaults__ = function.__kwdefaults__
    done[id(function)] = made
    for name in _names_used(function.__code__):
        if name in function.__globals__:
            scope[name] = _replacement(function.__globals__[name], done)
    for new, old in zip(cells, function.__closure__ or (), strict=True):
        try:
            new.cell_contents = _replacement(old.cell_contents, done)
        except ValueError:
            continue  # a name that has no value yet
    return made


def _names_used(code: types.CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*map(_names_used, inner))


def _replacement(value: Any, done: dict[int, Any]) -> Any:
    if isinstance(value, np.vectorize):
        return traceable(value, done)
    if type(value).__name__ == "norm_gen":
        return _Normal(value)
    if isinstance(value, types.ModuleType):
        return _module(value, done)
    module = getattr(value, "__module__", None)
    if module == "math" and callable(value) and not isinstance(value, type):
        return _math_twin(value.__name__)
    if isinstance(value, np.ufunc):
        return _Ufunc(value)
    if isinstance(module, str) and module.partition(".")[0] in ("numpy", "scipy") and _is_function(value):
        return _numpy_twin(_path(module, value.__name__), value)
    if value is max or value is min or value is sorted:
        return _BUILTINS[value.__name__]
    if module == "statistics" and getattr(value, "__name__", "") in ("mean", "fmean"):
        return _numpy_twin("mean", value)
    return traceable(value, done)


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and hasattr(value, "__name__")


def _path(module: str, name: str) -> str:
    """``linalg.norm`` for numpy.linalg's norm; scipy's are told apart by their own module."""
    inside = [part for part in module.split(".")[1:] if not part.startswith("_") and part != "lib"]
    return ".".join([*inside, name])


# ---- modules --------------------------------------------------------------------------------------


class _Module:
    """A module whose functions accept traced values."""

    def __init__(self, module: types.ModuleType, path: str):
        self._module, self._path = module, path

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        path = f"{self._path}.{name}" if self._path else name
        if isinstance(value, types.ModuleType):
            return _Module(value, path)
        if isinstance(value, np.ufunc):
            return _Ufunc(value)
        if type(value).__name__ == "norm_gen":
            return _Normal(value)
        if value is np.vectorize:
            return lambda function, *args, **kwargs: _one_by_one(function)
        return _numpy_twin(path, value) if _is_function(value) else value


class _Normal:
    """The normal distribution of scipy.stats."""

    def __init__(self, original: Any):
        self._original = original

    def __getattr__(self, name: str) -> Any:
        original = getattr(self._original, name)
        if not callable(original):
            return original

        def call(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
            if not holds_symbols([x, loc, scale]):
                return original(x, loc, scale)
            z = elementwise("div", elementwise("sub", x, loc), scale)
            if name in ("cdf", "sf"):
                return elementwise("ndtr", z if name == "cdf" else elementwise("neg", z))
            if name == "pdf":
                bell = elementwise("exp", elementwise("mul", -0.5, elementwise("square", z)))
                return elementwise("div", elementwise("mul", 1 / math.sqrt(2 * math.pi), bell), scale)
            return _refuse(f"scipy.stats.norm.{name}")

        return call


class _PythonModule:
    """A module of Python code, whose functions are copied as they are used."""

    def __init__(self, module: types.ModuleType, done: dict[int, Any]):
        self._module, self._done = module, done

    def __getattr__(self, name: str) -> Any:
        return _replacement(getattr(self._module, name), self._done)


class _Math:
    """``math`` for traced values."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(math, name)
        return _math_twin(name) if callable(value) else value


def _module(module: types.ModuleType, done: dict[int, Any]) -> Any:
    name, _, rest = module.__name__.partition(".")
    if module is math:
        return _Math()
    if name in ("numpy", "scipy"):
        return _Module(module, rest)
    return module if name in _LIBRARIES else _PythonModule(module, done)


def _import(name: str, scope: Any = None, local: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    found = importlib.import_module(name) if fromlist and not level else __import__(name, scope, local, fromlist, level)
    return _module(found, {})


class _Ufunc:
    """A ufunc that sees traced values in lists and arrays of objects too."""

    def __init__(self, ufunc: np.ufunc):
        self._ufunc = ufunc

    def __getattr__(self, name: str) -> Any:
        if name not in ("reduce", "accumulate", "outer"):
            return getattr(self._ufunc, name)
        return lambda *args, **options: self._called(name, args, options)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._called("__call__", args, options)

    def _called(self, method: str, args: Any, options: dict[str, Any]) -> Any:
        if not holds_symbols([args, options]):
            return getattr(self._ufunc, method)(*plain(list(args)), **plain(options))
        if method == "reduce" and len(args) > 1:
            args, options = args[:1], {"axis": args[1], **options}
        inputs, out = args[: self._ufunc.nin], args[self._ufunc.nin :]
        out = out or options.get("out")
        into = out if isinstance(out, tuple) or out is None else (out,)
        return idioms.on_symbols(self._ufunc, method, inputs, {**options, "out": into})


_MAKERS = {"zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like"}


def _numpy_twin(path: str, original: Callable[..., Any]) -> Callable[..., Any]:
    name = path.rpartition(".")[2]

    def call(*args: Any, **kwargs: Any) -> Any:
        if not holds_symbols([args, kwargs]):
            made = original(*plain(list(args)), **plain(kwargs))
            # a traced value may be put into it later
            return SymbolArray(made) if path in _MAKERS and np.issubdtype(made.dtype, np.floating) else made
        if name in ("chebval", "legval", "hermval", "hermeval", "lagval"):
            return original(*args, **kwargs)  # sums and products of numbers
        if path.startswith("special.") and path not in ("special.logsumexp", "special.softmax", "special.log_softmax"):
            raise TraceError(f"scipy.{path} is not supported in a traced function")
        return idioms.call(name if path.startswith("special.") else path, args, dict(kwargs))

    return call


def _one_by_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """What np.vectorize does."""

    def call(*args: Any) -> Any:
        arrays = np.broadcast_arrays(*map(objects, args))
        made = np.empty(arrays[0].shape, dtype=object)
        for place in np.ndindex(*made.shape):
            made[place] = function(*(a[place] for a in arrays))
        return wrapped(made)

    return call


# ---- math and Python's own functions ----------------------------------------------------------------


def _log(x: Any, base: Any = None) -> Any:
    top = elementwise("log", x)
    return top if base is None else elementwise("div", top, elementwise("log", base))


def _hypot(*parts: Any) -> Any:
    return reduce(lambda a, b: elementwise("hypot", a, b), parts) if len(parts) > 1 else elementwise("abs", *parts)


_MATH: dict[str, Callable[..., Any]] = {
    "log": _log,
    "hypot": _hypot,
    "dist": lambda p, q: _hypot(*(a - b for a, b in zip(p, q, strict=True))),
    "fsum": sum,
    "prod": lambda values, *, start=1: reduce(operator.mul, values, start),
    "sumprod": lambda p, q: sum(a * b for a, b in zip(p, q, strict=True)),
}


def _refuse(name: str) -> Any:
    raise TraceError(f"{name} is not supported in a traced function")


def _math_twin(name: str) -> Callable[..., Any]:
    original = getattr(math, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not holds_symbols([args, kwargs]):
            return original(*args, **kwargs)
        if name in _MATH:
            return _MATH[name](*args, **kwargs)
        # the remainder of math is another than numpy's
        if name == "remainder" or (operation(name) is None and derived(name) is None):
            _refuse(f"math.{name}")
        if not all(isinstance(a, Symbol) or is_number(a) for a in args):
            raise TraceError(f"math.{name} takes single numbers, and was given an array: use np.{name}")
        return elementwise(name, *args)

    return call


def _extremum(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        values = list(arguments[0]) if len(arguments) == 1 else list(arguments)
        if options or not holds_symbols(values):
            return original(*arguments, **options) if len(arguments) > 1 else original(values, **options)
        if not all(isinstance(v, Symbol) or is_number(v) for v in values):
            raise TraceError(f"{original.__name__}() of arrays is ambiguous: use np.{name}")
        return reduce(lambda a, b: elementwise(name, a, b), values)

    return call


def _in_order(values: Any, /, *, key: Any = None, reverse: bool = False) -> list[Any]:
    values = list(values)
    if key is not None or not holds_symbols(values):
        return sorted(values, key=key, reverse=reverse)
    found = list(idioms.call("sort", [values], {}))
    return found[::-1] if reverse else found


_BUILTINS: dict[str, Any] = {
    "sorted": _in_order,
    "max": _extremum("maximum", max),
    "min": _extremum("minimum", min),
    "__import__": _import,
}
