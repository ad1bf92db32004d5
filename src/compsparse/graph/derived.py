"""Functions that are written with the primitive operations, for expressions and traced functions alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from compsparse.graph.formula import Apply, Argument, Constant, Formula

Do = Callable[..., Any]
"""``do(operation, *operands)`` makes a formula, a node or a number of them."""

_WRITTEN = {
    "clip": ("x low high", "min(max(x, low), high)"),
    "positive": ("x", "x"),
    "exp2": ("x", "2**x"),
    "exp10": ("x", "10**x"),
    "deg2rad": ("x", "x*(pi/180)"),
    "rad2deg": ("x", "x*(180/pi)"),
    "ceil": ("x", "-floor(-x)"),
    "trunc": ("x", "where(x < 0, ceil(x), floor(x))"),
    # the division leaves a whole number up to rounding, which half a step takes away
    "floor_divide": ("a b", "floor((a - mod(a, b))/b + 0.5)"),
    "arctanh": ("x", "0.5*(log1p(x) - log1p(-x))"),
    "heaviside": ("x at_zero", "where(x > 0, 1, where(x < 0, 0, at_zero))"),
    "equal": ("a b", "(a >= b)*(a <= b)"),
    "not_equal": ("a b", "1 - equal(a, b)"),
    "erfc": ("x", "1 - erf(x)"),
    "ndtr": ("x", "0.5*(1 + erf(sqrt(0.5)*x))"),
    "logit": ("x", "log(x) - log1p(-x)"),
    "log_expit": ("x", "-softplus(-x)"),
    "fma": ("a b c", "a*b + c"),
    "elu": ("x alpha", "relu(x) + alpha*expm1(min(x, 0))"),
    "selu": ("x", "1.0507009873554805*elu(x, 1.6732632423543772)"),
    "silu": ("x", "x*sigmoid(x)"),
    "gelu": ("x", "x*ndtr(x)"),
    "mish": ("x", "x*tanh(softplus(x))"),
    "softsign": ("x", "x/(1 + abs(x))"),
    "tanhshrink": ("x", "x - tanh(x)"),
    "hardsigmoid": ("x", "clip(x + 3, 0, 6)/6"),
    "hardswish": ("x", "x*hardsigmoid(x)"),
}
"""Arguments and expression by name."""


# ---- functions that use a part twice, or look at what they are given -----------------------------


def _rint(do: Do, x: Any) -> Any:
    """To the nearest whole number, and from halfway to the even one."""
    below = do("floor", x)
    past, odd = do("sub", x, below), do("mod", below, 2)
    tie = do("add", below, odd)
    up = do("where", do("greater", past, 0.5), do("add", below, 1), tie)
    return do("where", do("less", past, 0.5), below, up)


def _fmod(do: Do, a: Any, b: Any) -> Any:
    size = do("mod", do("abs", a), do("abs", b))
    return do("where", do("less", a, 0), do("neg", size), size)


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


def _copysign(do: Do, size: Any, sign: Any) -> Any:
    size = do("abs", size)
    return do("where", do("less", sign, 0), do("neg", size), size)


def _leaky_relu(do: Do, x: Any, slope: Any) -> Any:
    """max(x, slope x), or min for slopes above 1: one unit either way."""
    if not _is_number(slope):
        return do("sub", do("relu", x), do("mul", slope, do("relu", do("neg", x))))
    return do("maximum" if getattr(slope, "value", slope) <= 1 else "minimum", x, do("mul", slope, x))


def _celu(do: Do, x: Any, alpha: Any) -> Any:
    below = do("expm1", do("div", do("minimum", x, 0), alpha))
    return do("add", do("relu", x), do("mul", alpha, below))


def _gelu_tanh(do: Do, x: Any) -> Any:
    inside = do("add", x, do("mul", 0.044715, do("pow", x, 3)))
    wave = do("tanh", do("mul", math.sqrt(2 / math.pi), inside))
    return do("mul", do("mul", 0.5, x), do("add", 1, wave))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or hasattr(value, "value")


class Derived(NamedTuple):
    """How many operands a function takes, and what makes it of them: ``build(do, *operands)``."""

    arity: int
    build: Callable[..., Any]


_BUILT = {
    "rint": Derived(1, _rint),
    "fmod": Derived(2, _fmod),
    "logaddexp": Derived(2, _logaddexp),
    "logaddexp2": Derived(2, _logaddexp2),
    "copysign": Derived(2, _copysign),
    "leaky_relu": Derived(2, _leaky_relu),
    "celu": Derived(2, _celu),
    "gelu_tanh": Derived(1, _gelu_tanh),
}
_SPELLINGS = {
    "atanh": "arctanh",
    "radians": "deg2rad",
    "degrees": "rad2deg",
    "fix": "trunc",
    "round": "rint",
    "logsigmoid": "log_expit",
    "swish": "silu",
}


@cache
def derived(name: str) -> Derived | None:
    """The function by any of its spellings, or None."""
    name = _SPELLINGS.get(name, name)
    if name not in _WRITTEN:
        return _BUILT.get(name)
    from compsparse.graph.parser import parse_formula  # which reads these functions too

    arguments, text = _WRITTEN[name]
    formula = parse_formula(text, arguments.split())
    return Derived(len(arguments.split()), lambda do, *operands: _done(formula, do, operands))


def _done(part: Formula, do: Do, operands: tuple[Any, ...]) -> Any:
    match part:
        case Argument(index):
            return operands[index]
        case Constant(value):
            return value
    return do(part.operation, *(_done(inner, do, operands) for inner in part.operands))


def derived_names() -> list[str]:
    """All spellings."""
    return [*_WRITTEN, *_BUILT, *_SPELLINGS]


def spelled_out(part: Apply) -> Formula | None:
    """An operation of which only the value is primitive, in terms of others; None for all the rest."""
    match part:
        case Apply("mod", (a, b)):
            return Apply("sub", (a, Apply("mul", (b, Apply("floor", (Apply("div", (a, b)),))))))
    return None
