"""What numpy and torch call when a traced value is among the arguments, by the name of the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from compsparse.errors import TraceError
from compsparse.graph.array_functions import ARRAY_FUNCTIONS, folded_along, refuse_options
from compsparse.graph.derived import derived
from compsparse.graph.operations import is_torch, operation
from compsparse.graph.symbols import (
    LOGIC,
    MaskedArray,
    SymbolArray,
    elementwise,
    holds_symbols,
    objects,
    plain,
    wrapped,
)

_NAMES = {
    "bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor",
    "invert": "logical_not", "bitwise_not": "logical_not", "amax": "max", "amin": "min", "nansum": "sum",
    "nanprod": "prod", "nanmean": "mean", "nanmax": "max", "nanmin": "min", "nanstd": "std", "nanvar": "var",
    "any": "some", "all": "every", "cat": "concatenate", "concat": "concatenate", "clamp": "clip",
    "permute_dims": "transpose", "around": "round", "mm": "matmul", "mv": "matmul", "nanmedian": "median",
    "special.expit": "sigmoid",
}  # fmt: skip

_NATIVE = {
    "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "column_stack", "concatenate",
    "convolve", "copy", "cross", "cumprod", "cumsum", "delete", "diag", "diagonal", "diff", "dot", "dsplit", "dstack",
    "ediff1d", "einsum", "expand_dims", "flip", "fliplr", "flipud", "hsplit", "hstack", "inner", "insert", "kron",
    "linalg.multi_dot", "linalg.matmul", "linalg.outer", "linalg.trace", "linalg.vecdot", "matmul", "matrix_transpose",
    "meshgrid", "moveaxis", "outer", "prod", "ravel", "repeat", "reshape", "resize", "roll", "rot90", "split",
    "squeeze", "stack", "sum", "swapaxes", "take", "tensordot", "tile", "trace", "transpose", "trapezoid", "trapz",
    "tril", "triu", "unstack", "vdot", "vsplit", "vstack", "vecdot", "shape", "ndim", "size", "broadcast_arrays",
    "linalg.matrix_power", "vander", "average", "correlate", "pad", "ix_",
}  # fmt: skip
"""Functions that only move numbers, add and multiply them: numpy's own do so with arrays of objects."""


def call(name: str, args: Sequence[Any], kwargs: dict[str, Any], library: str = "np") -> Any:
    """A function of numpy by its name, such as ``linalg.norm``, on traced values."""
    if name == "sum" and len(args) == 1 and isinstance(args[0], MaskedArray):
        return args[0].sum()
    known = _NAMES.get(name, name)
    dtype = kwargs.pop("dtype", None)
    if dtype is not None and not _keeps_values(dtype):
        raise TraceError(f"{library}.{name} with dtype={dtype} is not supported")
    last = name.rpartition(".")[2]
    if known in ARRAY_FUNCTIONS:
        return ARRAY_FUNCTIONS[known](*args, **kwargs)
    if known in _NATIVE:
        return wrapped(getattr_path(np, known)(*plain(list(args)), **plain(kwargs)))
    if known in LOGIC or operation(last) is not None or derived(last) is not None:
        refuse_options(library + "." + name, kwargs)
        return elementwise(known if known in LOGIC else last, *args)
    raise TraceError(f"{library}.{name} is not supported in a traced function")


def _keeps_values(dtype: Any) -> bool:
    """Whether numbers stay what they are: floats in double precision."""
    try:
        return np.dtype(dtype) in (np.dtype(float), np.dtype(object))
    except TypeError:
        return str(dtype) == "torch.float64"


def getattr_path(module: Any, path: str) -> Any:
    """The function at a dotted path."""
    return reduce(getattr, path.split("."), module)


# ---- ufuncs ---------------------------------------------------------------------------------------


def on_symbols(ufunc: Any, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """A numpy ufunc, or one of scipy's, on traced values."""
    chosen = next((i for i in inputs if isinstance(i, MaskedArray)), None)
    if chosen is not None:
        return chosen.__array_ufunc__(ufunc, method, *inputs, **{k: v for k, v in options.items() if v is not None})
    name, out = str(ufunc.__name__), options.pop("out", None)
    if method == "__call__":
        result = _ufunc_call(ufunc, name, inputs, options)
    elif method == "reduce":
        result = folded_along(
            lambda a, b: _ufunc_call(ufunc, name, [a, b], {}), inputs[0], options.pop("axis", 0), **options
        )
    elif method == "accumulate" and name in ("add", "multiply"):
        result = call("cumsum" if name == "add" else "cumprod", inputs, {"axis": options.get("axis", 0)})
    elif method == "outer":
        a, b = map(objects, inputs)
        result = _ufunc_call(ufunc, name, [wrapped(a.reshape(a.shape + (1,) * b.ndim)), wrapped(b)], options)
    else:
        raise TraceError(f"np.{name}.{method} is not supported in a traced function")
    if out is None:
        return result
    if not isinstance(out[0], SymbolArray):
        raise TraceError(f"np.{name} cannot write traced values into an array of plain numbers")
    out[0].values[...] = objects(result)
    return out[0]


def _ufunc_call(ufunc: Any, name: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    if not holds_symbols([*inputs, options]):
        return ufunc(*plain(list(inputs)), **plain(options))
    if name == "divmod":
        return call("floor_divide", inputs, {}), call("mod", inputs, {})
    return call(name, inputs, dict(options), "np" if getattr(np, name, None) is ufunc else "scipy.special")


# ---- dispatch -------------------------------------------------------------------------------------


def array_function(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What numpy calls for its own functions when a traced value is among the arguments."""
    module = str(getattr(function, "__module__", "numpy")).partition(".")[2]
    path = f"{module}.{function.__name__}" if module and not module.startswith("lib") else function.__name__
    if not holds_symbols([args, kwargs]):
        return function(*plain(list(args)), **plain(kwargs))
    return call(path, args, dict(kwargs))


_TORCH_WORDS = {"dim": "axis", "keepdim": "keepdims", "other": None, "input": None}


def torch_function(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What torch calls for its functions when a traced value is among the arguments."""
    name = name.strip("_")
    args = [_from_torch(a) for a in args]
    options = {_TORCH_WORDS.get(k) or k: _from_torch(v) for k, v in kwargs.items()}
    options.pop("inplace", None)
    if name in _LAYERS:
        return _LAYERS[name](*args, **options)
    if name in ("norm", "linalg_norm", "vector_norm"):
        name = "linalg.norm"
    if name.startswith(("special_", "r")) and operation(name) is None and derived(name) is None:
        name, args = (name.removeprefix("special_"), args) if name.startswith("special_") else (name[1:], args[::-1])
    if name in ("stack", "cat", "concat", "sum", "mean", "amax", "amin", "prod", "logsumexp", "softmax", "log_softmax"):
        words = ["axis", "keepdims"]
        options |= dict(zip(words, args[1:], strict=False))
        args = args[:1]
    return call(name, args, options, library="torch")


def _from_torch(value: Any) -> Any:
    if is_torch(value):
        return value.detach().cpu().numpy()
    if isinstance(value, (list, tuple)):
        return type(value)(map(_from_torch, value))
    return value


def _softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    """Smooth everywhere; torch's own leaves out what is below exp(-threshold)."""
    if beta == 1:
        return elementwise("softplus", x)
    return elementwise("div", elementwise("softplus", elementwise("mul", beta, x)), beta)


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    product = wrapped(objects(x) @ np.asarray(weight, dtype=float).T.astype(object))
    return product if bias is None else elementwise("add", product, bias)


def _dropout(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if training:
        raise TraceError("dropout in training mode is random: call model.eval() first")
    return x


def _flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    array = objects(x)
    if end_dim not in (-1, array.ndim - 1):
        raise TraceError("torch.flatten is supported to the last dimension")
    return wrapped(array.reshape(*array.shape[:start_dim], -1))


_LAYERS: dict[str, Callable[..., Any]] = {
    "leaky_relu": lambda x, negative_slope=0.01: elementwise("leaky_relu", x, negative_slope),
    "elu": lambda x, alpha=1.0: elementwise("elu", x, alpha),
    "celu": lambda x, alpha=1.0: elementwise("celu", x, alpha),
    "gelu": lambda x, approximate="none": elementwise("gelu" if approximate == "none" else "gelu_tanh", x),
    "softplus": _softplus,
    "hardtanh": lambda x, min_val=-1.0, max_val=1.0: elementwise("clip", x, min_val, max_val),
    "relu6": lambda x: elementwise("clip", x, 0, 6),
    "linear": _linear,
    "dropout": _dropout,
    "alpha_dropout": _dropout,
    "flatten": _flatten,
}

_METHODS = {
    "all", "any", "argsort", "clip", "conj", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min", "prod",
    "ptp", "ravel", "repeat", "round", "squeeze", "std", "sum", "swapaxes", "trace", "transpose", "var", "take",
}  # fmt: skip
_TORCH_METHODS = {"clamp", "amax", "amin", "matmul", "mm", "mv", "norm", "softmax", "logsumexp", "square"}


def method(value: Any, name: str) -> Any:
    """A method of numpy's arrays or of torch's tensors, by its name."""
    if name in _SAME:
        return partial(_SAME[name], value)
    if name == "T":
        return value
    if name in _METHODS:
        return lambda *args, **kwargs: call(
            name, [value, *args], {_TORCH_WORDS.get(k) or k: v for k, v in kwargs.items()}
        )
    if name in _TORCH_METHODS or (not name.startswith("_") and operation(name) is not None):
        return lambda *args, **kwargs: torch_function(name, [value, *args], kwargs)
    raise AttributeError(f".{name} is not supported on a traced value")


def _reshape(value: Any, *shape: Any, order: Any = "C") -> Any:
    wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return wrapped(objects(value).reshape(tuple(wanted), order=order))


def _astype(value: Any, dtype: Any, **options: Any) -> Any:
    if not _keeps_values(dtype):
        raise TraceError(f"astype({dtype}) is not supported in a traced function: values are floats")
    return wrapped(objects(value).copy())


_SAME: dict[str, Callable[..., Any]] = {
    "copy": lambda value, *a, **kw: wrapped(objects(value).copy()),
    "clone": lambda value: wrapped(objects(value).copy()),
    "flatten": lambda value, *a: _flatten(value, *(k for k in a if isinstance(k, int))),
    "dim": lambda value: objects(value).ndim,
    "reshape": _reshape,
    "view": _reshape,
    "astype": _astype,
    "item": lambda value: objects(value).item(),
    "tolist": lambda value: objects(value).tolist(),
    "detach": lambda value: value,
    "double": lambda value: value,
    "numpy": lambda value: value,
}
