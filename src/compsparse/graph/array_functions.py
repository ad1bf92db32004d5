"""Functions of numpy on traced arrays: reductions, choices, interpolation, sorting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from compsparse.errors import TraceError
from compsparse.graph.symbols import Symbol, SymbolArray, elementwise, holds_symbols, is_number, objects, wrapped

_MOST_SORTED = 32


def refuse_options(name: str, kwargs: dict[str, Any]) -> None:
    kwargs = {k: v for k, v in kwargs.items() if not (v is None or (k == "where" and v is True))}
    for harmless in ("casting", "order", "subok"):
        kwargs.pop(harmless, None)
    if kwargs:
        raise TraceError(f"{name} with {', '.join(kwargs)} is not supported in a traced function")


def folded_along(
    combine: Callable[[Any, Any], Any], values: Any, axis: Any = None, *, keepdims: bool = False, **options: Any
) -> Any:
    """The values combined along an axis, or several, or all of them."""
    start = options.pop("initial", np._NoValue)
    refuse_options(
        "a reduction", {k: v for k, v in options.items() if v is not np._NoValue and k not in ("dtype", "out")}
    )
    array = objects(values)
    axes = range(array.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else [axis]
    places = sorted(range(array.ndim)[place] for place in axes)
    if len(set(places)) < len(places):
        raise TraceError(f"a reduction names an axis twice: {tuple(axes)}")
    rest = tuple(n for i, n in enumerate(array.shape) if i not in places)
    flat = np.moveaxis(array, places, range(len(places))).reshape(-1, *rest)
    parts = [wrapped(part) for part in flat] if rest else list(flat)
    if start is not np._NoValue:
        parts.insert(0, start)
    if not parts:
        raise TraceError("an empty array was reduced")
    result = reduce(combine, parts)
    if keepdims is True:
        shape = tuple(1 if i in places else n for i, n in enumerate(array.shape))
        return wrapped(objects(result).reshape(shape))
    return result


def _reduction(name: str) -> Callable[..., Any]:
    def call_it(a: Any, axis: Any = None, out: Any = None, **options: Any) -> Any:
        if out is not None:
            raise TraceError("out= is not supported in a traced function")
        return folded_along(partial(elementwise, name), a, axis, **_kept(options))

    return call_it


def _kept(options: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in options.items() if v is not np._NoValue and v is not None}


def _mean(a: Any, axis: Any = None, out: Any = None, **options: Any) -> Any:
    total = folded_along(partial(elementwise, "add"), a, axis, **_kept(options))
    return elementwise("div", total, objects(a).size // max(objects(total).size, 1))


def _var(a: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False, correction: float = 0, **more: Any) -> Any:
    refuse_options("np.var", _kept(more))
    off = elementwise("sub", a, _mean(a, axis, keepdims=True))
    total = folded_along(partial(elementwise, "add"), elementwise("square", off), axis, keepdims=keepdims)
    n = objects(a).size // max(objects(total).size, 1)
    return elementwise("div", total, n - (ddof or correction))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if objects(x).ndim == 2 and axis is None and ord not in (None, "fro"):
        raise TraceError("np.linalg.norm of a matrix is not supported with this ord in a traced function")
    size = elementwise("abs", x)
    if ord in (np.inf, -np.inf):
        return (ARRAY_FUNCTIONS["max"] if ord > 0 else ARRAY_FUNCTIONS["min"])(size, axis, keepdims=keepdims)
    if (ord not in (None, "fro", 1, 2) and not is_number(ord)) or ord == 0:
        raise TraceError(f"np.linalg.norm with ord={ord!r} is not supported in a traced function")
    p = 2 if ord in (None, "fro") else ord
    powers = size if p == 1 else elementwise("square", x) if p == 2 else elementwise("pow", size, p)
    total = folded_along(partial(elementwise, "add"), powers, axis, keepdims=keepdims)
    return total if p == 1 else elementwise("sqrt", total) if p == 2 else elementwise("pow", total, 1 / p)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    low = options.pop("min", a_min)
    high = options.pop("max", a_max)
    refuse_options("np.clip", _kept(options))
    a = a if low is None or low is np._NoValue else elementwise("maximum", a, low)
    return a if high is None or high is np._NoValue else elementwise("minimum", a, high)


def _where(condition: Any, *branches: Any) -> Any:
    if len(branches) != 2:
        raise TraceError("np.where without both branches is not supported, since how much it finds depends on values")
    truth = elementwise("logical_not", elementwise("logical_not", condition))
    return elementwise("where", truth, *branches)


def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = _where(condition, choice, result)
    return result


def _piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    single = isinstance(condlist, Symbol) or (
        isinstance(condlist, SymbolArray) and condlist.ndim == np.ndim(objects(x))
    )
    conditions = [condlist] if single else list(condlist)
    values = [f(x, *args, **kw) if callable(f) else f for f in funclist]
    if len(values) not in (len(conditions), len(conditions) + 1):
        raise TraceError("np.piecewise takes one function for each condition, and perhaps one more")
    result = values[-1] if len(values) > len(conditions) else 0
    for condition, value in zip(conditions, values, strict=False):  # later conditions win
        result = _where(condition, value, result)
    return result


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Each piece adds its slope times how far x has come in it, a difference of two minima that rounds once."""
    if period is not None or holds_symbols([xp, fp]):
        raise TraceError("np.interp with a period, or with knots that depend on inputs, is not supported")
    knots, heights = np.asarray(xp, dtype=float), np.asarray(fp, dtype=float)
    if not (np.diff(knots) > 0).all():
        raise TraceError("np.interp needs knots in rising order")
    below = [elementwise("minimum", x, float(t)) for t in knots[1:]]
    below.insert(0, elementwise("minimum", x, float(knots[0])))
    result: Any = float(heights[0])
    for i, slope in enumerate(np.diff(heights) / np.diff(knots)):
        if slope:
            result = elementwise("add", elementwise("mul", slope, elementwise("sub", below[i + 1], below[i])), result)
    if left is not None and left != heights[0]:
        result = _where(elementwise("less", x, float(knots[0])), left, result)
    if right is not None and right != heights[-1]:
        result = _where(elementwise("greater", x, float(knots[-1])), right, result)
    return result if holds_symbols(result) else elementwise("add", result, elementwise("mul", 0, x))


def _polyval(p: Any, x: Any) -> Any:
    """Horner's rule, from the highest power."""
    parts = list(wrapped(objects(p)))
    return reduce(lambda total, c: elementwise("add", elementwise("mul", total, x), c), parts[1:], parts[0])


def _polynomial(x: Any, c: Any, tensor: bool = True) -> Any:
    return _polyval(wrapped(objects(c)[::-1]), x)


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    if not decimals:
        return elementwise("rint", a)
    scale = 10.0 ** abs(decimals)
    up, down = ("mul", "div") if decimals > 0 else ("div", "mul")
    return elementwise(down, elementwise("rint", elementwise(up, a, scale)), scale)


def _sorted(a: Any, axis: Any = -1, **options: Any) -> Any:
    """A network of minima and maxima."""
    refuse_options("np.sort", {k: v for k, v in _kept(options).items() if k not in ("kind", "stable")})
    array = np.moveaxis(objects(a).copy(), axis, 0) if axis is not None else objects(a).ravel()
    if len(array) > _MOST_SORTED:
        raise TraceError(f"np.sort is supported for up to {_MOST_SORTED} values, got {len(array)}")
    rows = [wrapped(row) if array.ndim > 1 else row for row in array]
    for end in range(len(rows) - 1, 0, -1):
        for i in range(end):
            low, high = (elementwise(name, rows[i], rows[i + 1]) for name in ("minimum", "maximum"))
            rows[i], rows[i + 1] = low, high
    made = np.stack([objects(row) for row in rows])
    return wrapped(np.moveaxis(made, 0, axis) if axis is not None else made)


def _median(a: Any, axis: Any = None, **options: Any) -> Any:
    keep = options.pop("keepdims", False)
    refuse_options("np.median", _kept(options))
    ordered = objects(_sorted(a if axis is not None else wrapped(objects(a).ravel()), -1 if axis is None else axis))
    place = -1 if axis is None else axis
    n = ordered.shape[place]
    low, high = (wrapped(np.take(ordered, k, axis=place)) for k in ((n - 1) // 2, n // 2))
    middle = low if n % 2 else elementwise("mul", 0.5, elementwise("add", low, high))
    return wrapped(np.expand_dims(objects(middle), place)) if keep else middle


def _logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, **more: Any) -> Any:
    refuse_options("logsumexp", {**_kept(more), **({} if b is None else {"b": b})})
    return folded_along(partial(elementwise, "logaddexp"), a, axis, keepdims=keepdims)


def _log_softmax(x: Any, axis: Any = None, **more: Any) -> Any:
    refuse_options("softmax", {k: v for k, v in _kept(more).items() if k != "_stacklevel"})
    return elementwise("sub", x, _logsumexp(x, axis, keepdims=True))


def _ptp(a: Any, axis: Any = None, **options: Any) -> Any:
    return elementwise("sub", ARRAY_FUNCTIONS["max"](a, axis, **options), ARRAY_FUNCTIONS["min"](a, axis, **options))


def _like(a: Any, value: float) -> Any:
    return SymbolArray(np.full(objects(a).shape, value, dtype=object)) if objects(a).ndim else value


def _along(function: Callable[..., Any], axis: int, a: Any) -> Any:
    array = np.moveaxis(objects(a), axis, -1)
    made = [function(SymbolArray(array[place])) for place in np.ndindex(*array.shape[:-1])]
    if any(not isinstance(m, Symbol) and not is_number(m) for m in made):
        raise TraceError("np.apply_along_axis is supported for functions that return one number")
    return wrapped(objects(made).reshape(array.shape[:-1]))


ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "max": _reduction("maximum"),
    "min": _reduction("minimum"),
    "every": _reduction("logical_and"),
    "some": _reduction("logical_or"),
    "sum": _reduction("add"),
    "prod": _reduction("mul"),
    "mean": _mean,
    "var": _var,
    "std": lambda *args, **options: elementwise("sqrt", _var(*args, **options)),
    "ptp": _ptp,
    "linalg.norm": _norm,
    "linalg.vector_norm": lambda x, axis=None, keepdims=False, ord=2: _norm(x, ord, axis, keepdims),
    "clip": _clip,
    "where": _where,
    "select": _select,
    "piecewise": _piecewise,
    "interp": _interp,
    "polyval": _polyval,
    "polynomial.polynomial.polyval": _polynomial,
    "round": _round,
    "sort": _sorted,
    "median": _median,
    "array": lambda a, *args, **kw: wrapped(objects(a).copy()),
    "asarray": lambda a, *args, **kw: wrapped(objects(a)),
    "asanyarray": lambda a, *args, **kw: wrapped(objects(a)),
    "ascontiguousarray": lambda a, *args, **kw: wrapped(np.atleast_1d(objects(a))),
    "zeros_like": lambda a, **kw: _like(a, 0.0),
    "empty_like": lambda a, **kw: _like(a, 0.0),
    "ones_like": lambda a, **kw: _like(a, 1.0),
    "full_like": lambda a, fill_value, **kw: elementwise("add", _like(a, 0.0), fill_value),
    "logsumexp": _logsumexp,
    "softmax": lambda x, axis=None, **more: elementwise("exp", _log_softmax(x, axis, **more)),
    "log_softmax": _log_softmax,
    "isscalar": lambda a: isinstance(a, Symbol),
    "iscomplexobj": lambda a: False,
    "real": lambda a: a,
    "conjugate": lambda a: a,
    "conj": lambda a: a,
    "fix": lambda a, out=None: elementwise("trunc", a),
    "apply_along_axis": _along,
}
