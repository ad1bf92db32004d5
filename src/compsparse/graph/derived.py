"""Functions that are written with the primitive operations, for expressions and traced functions alike.

Each builder gets ``do(operation, *operands)`` first, which makes a formula, a node or a number of them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from compsparse.graph.formula import Apply, Formula

Do = Callable[..., Any]


def _clip(do: Do, x: Any, low: Any, high: Any) -> Any:
    return do("minimum", do("maximum", x, low), high)


def _ceil(do: Do, x: Any) -> Any:
    return do("neg", do("floor", do("neg", x)))


def _trunc(do: Do, x: Any) -> Any:
    return do("where", do("less", x, 0), _ceil(do, x), do("floor", x))


def _rint(do: Do, x: Any) -> Any:
    """To the nearest whole number, and from halfway to the even one."""
    below = do("floor", x)
    past, odd = do("sub", x, below), do("mod", below, 2)
    tie = do("add", below, odd)
    up = do("where", do("greater", past, 0.5), do("add", below, 1), tie)
    return do("where", do("less", past, 0.5), below, up)


def _floor_divide(do: Do, a: Any, b: Any) -> Any:
    """The division leaves a whole number up to rounding, which half a step takes away."""
    return do("floor", do("add", do("div", do("sub", a, do("mod", a, b)), b), 0.5))


def _fmod(do: Do, a: Any, b: Any) -> Any:
    size = do("mod", do("abs", a), do("abs", b))
    return do("where", do("less", a, 0), do("neg", size), size)


def _arctanh(do: Do, x: Any) -> Any:
    return do("mul", 0.5, do("sub", do("log1p", x), do("log1p", do("neg", x))))


def _logaddexp(do: Do, a: Any, b: Any) -> Any:
    """b + log(1 + exp(a - b)), whose softplus cannot overflow; a number is taken as b."""
    if _is_number(a):
        a, b = b, a
    return do("add", b, do("softplus", do("sub", a, b)))


def _logaddexp2(do: Do, a: Any, b: Any) -> Any:
    if _is_number(a):
        a, b = b, a
    inside = do("mul", math.log(2), do("sub", a, b))
    return do("add", b, do("div", do("softplus", inside), math.log(2)))


def _heaviside(do: Do, x: Any, at_zero: Any) -> Any:
    return do("where", do("greater", x, 0), 1, do("where", do("less", x, 0), 0, at_zero))


def _copysign(do: Do, size: Any, sign: Any) -> Any:
    size = do("abs", size)
    return do("where", do("less", sign, 0), do("neg", size), size)


def _equal(do: Do, a: Any, b: Any) -> Any:
    return do("mul", do("greater_equal", a, b), do("less_equal", a, b))


def _ndtr(do: Do, x: Any) -> Any:
    return do("mul", 0.5, do("add", 1, do("erf", do("mul", math.sqrt(0.5), x))))


def _leaky_relu(do: Do, x: Any, slope: Any) -> Any:
    """max(x, slope x), or min for slopes above 1: one unit either way."""
    if not _is_number(slope):
        return do("sub", do("relu", x), do("mul", slope, do("relu", do("neg", x))))
    return do("maximum" if getattr(slope, "value", slope) <= 1 else "minimum", x, do("mul", slope, x))


def _elu(do: Do, x: Any, alpha: Any) -> Any:
    return do("add", do("relu", x), do("mul", alpha, do("expm1", do("minimum", x, 0))))


def _celu(do: Do, x: Any, alpha: Any) -> Any:
    below = do("expm1", do("div", do("minimum", x, 0), alpha))
    return do("add", do("relu", x), do("mul", alpha, below))


def _selu(do: Do, x: Any) -> Any:
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return do("mul", scale, _elu(do, x, alpha))


def _gelu_tanh(do: Do, x: Any) -> Any:
    inside = do("add", x, do("mul", 0.044715, do("pow", x, 3)))
    wave = do("tanh", do("mul", math.sqrt(2 / math.pi), inside))
    return do("mul", do("mul", 0.5, x), do("add", 1, wave))


def _hardsigmoid(do: Do, x: Any) -> Any:
    return do("div", _clip(do, do("add", x, 3), 0, 6), 6)


DERIVED: dict[str, Callable[..., Any]] = {
    "clip": _clip,
    "positive": lambda do, x: x,
    "exp2": lambda do, x: do("pow", 2, x),
    "exp10": lambda do, x: do("pow", 10, x),
    "deg2rad": lambda do, x: do("mul", x, math.pi / 180),
    "rad2deg": lambda do, x: do("mul", x, 180 / math.pi),
    "ceil": _ceil,
    "trunc": _trunc,
    "rint": _rint,
    "floor_divide": _floor_divide,
    "fmod": _fmod,
    "arctanh": _arctanh,
    "logaddexp": _logaddexp,
    "logaddexp2": _logaddexp2,
    "heaviside": _heaviside,
    "copysign": _copysign,
    "equal": _equal,
    "not_equal": lambda do, a, b: do("sub", 1, _equal(do, a, b)),
    "erfc": lambda do, x: do("sub", 1, do("erf", x)),
    "ndtr": _ndtr,
    "logit": lambda do, x: do("sub", do("log", x), do("log1p", do("neg", x))),
    "log_expit": lambda do, x: do("neg", do("softplus", do("neg", x))),
    "fma": lambda do, a, b, c: do("add", do("mul", a, b), c),
    "leaky_relu": _leaky_relu,
    "elu": _elu,
    "celu": _celu,
    "selu": _selu,
    "silu": lambda do, x: do("mul", x, do("sigmoid", x)),
    "gelu": lambda do, x: do("mul", x, _ndtr(do, x)),
    "gelu_tanh": _gelu_tanh,
    "mish": lambda do, x: do("mul", x, do("tanh", do("softplus", x))),
    "softsign": lambda do, x: do("div", x, do("add", 1, do("abs", x))),
    "tanhshrink": lambda do, x: do("sub", x, do("tanh", x)),
    "hardsigmoid": _hardsigmoid,
    "hardswish": lambda do, x: do("mul", x, _hardsigmoid(do, x)),
}
"""Builders by name; :func:`derived` knows the other spellings."""

_SPELLINGS = {
    "atanh": "arctanh",
    "radians": "deg2rad",
    "degrees": "rad2deg",
    "fix": "trunc",
    "round": "rint",
    "logsigmoid": "log_expit",
    "swish": "silu",
}


def derived(name: str) -> Callable[..., Any] | None:
    """The builder of a function by any of its spellings, or None."""
    return DERIVED.get(_SPELLINGS.get(name, name))


def n_operands(builder: Callable[..., Any]) -> int:
    """How many operands a builder takes."""
    return len(inspect.signature(builder).parameters) - 1


def derived_names() -> list[str]:
    """All spellings."""
    return [*DERIVED, *_SPELLINGS]


def spelled_out(part: Apply) -> Formula | None:
    """An operation of which only the value is primitive, in terms of others; None for all the rest."""
    match part:
        case Apply("mod", (a, b)):
            return Apply("sub", (a, Apply("mul", (b, Apply("floor", (Apply("div", (a, b)),))))))
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or hasattr(value, "value")
