"""The primitive operations that constituents are written in, for numpy and for torch."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

import numpy as np
from scipy import special

Family = Literal["sum", "product", "max", "min"]


@dataclass(frozen=True)
class Operation:
    """A primitive function of one to three variables and what is known about it.

    Attributes:
        smoothness: number of bounded derivatives on the interior of the domain.
        value_range: closed hull of its values, where it is not the whole line.
        lipschitz: Lipschitz constant per argument, where a global one exists.
        family: the associative operation it is, if it is one.
        singular: the declared smoothness fails on the boundary of its domain (1/x at 0).
    """

    name: str
    arity: int
    numpy: Callable[..., Any]
    torch_name: str
    smoothness: float = math.inf
    value_range: tuple[float, float] | None = None
    lipschitz: tuple[float, ...] | None = None
    family: Family | None = None
    singular: bool = False

    @property
    def torch(self) -> Callable[..., Any]:
        """The same function for tensors."""
        return _torch_function(self.torch_name, needs_tensors=self.name in _TENSORS_ONLY)


def is_torch(value: Any) -> bool:
    """Whether ``value`` is a torch tensor, without importing torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _torch_cbrt(x: Any) -> Any:
    import torch

    return torch.sign(x) * torch.abs(x) ** (1 / 3)


def _torch_softplus(x: Any) -> Any:
    import torch

    return torch.logaddexp(x, torch.zeros_like(x))  # torch's own softplus leaves out what is below exp(-20)


_OWN_TORCH = {"cbrt": _torch_cbrt, "softplus": _torch_softplus}


# torch refuses Python numbers among the arguments of these
_TENSORS_ONLY = {"maximum", "minimum", "arctan2", "hypot", "where", "pow", "mod"}
_COMPARISONS = {"gt", "lt", "ge", "le"}


def _torch_function(name: str, *, needs_tensors: bool) -> Callable[..., Any]:
    import torch

    if name in _OWN_TORCH:
        return _OWN_TORCH[name]
    function: Callable[..., Any] = attrgetter(name)(torch)
    if not needs_tensors and name not in _COMPARISONS:
        return function

    def with_tensors(*arguments: Any) -> Any:
        like = next(a for a in arguments if is_torch(a))
        tensors = [a if is_torch(a) else torch.as_tensor(a, dtype=like.dtype, device=like.device) for a in arguments]
        if name == "where":
            tensors[0] = tensors[0] != 0
        result = function(*tensors)
        return result.to(like.dtype) if name in _COMPARISONS else result

    return with_tensors


def _comparison(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """1 where it holds and 0 elsewhere, in the operands' own precision, so that answers can be added."""

    def compare(a: Any, b: Any) -> Any:
        kind = np.result_type(a, b)
        return ufunc(a, b).astype(kind if np.issubdtype(kind, np.floating) else float)

    return compare


def _where(condition: Any, a: Any, b: Any) -> Any:
    return np.where(np.asarray(condition) != 0, a, b)


_INF = math.inf
_HALF_PI = math.pi / 2

OPERATIONS: dict[str, Operation] = {
    op.name: op
    for op in (
        Operation("add", 2, np.add, "add", lipschitz=(1, 1), family="sum"),
        Operation("sub", 2, np.subtract, "sub", lipschitz=(1, 1), family="sum"),
        Operation("neg", 1, np.negative, "neg", lipschitz=(1,)),
        Operation("mul", 2, np.multiply, "mul", family="product"),
        Operation("div", 2, np.true_divide, "true_divide", family="product", singular=True),
        Operation("pow", 2, np.power, "pow", singular=True),
        Operation("square", 1, np.square, "square", value_range=(0, _INF)),
        Operation("reciprocal", 1, np.reciprocal, "reciprocal", singular=True),
        Operation("sqrt", 1, np.sqrt, "sqrt", value_range=(0, _INF), singular=True),
        Operation("cbrt", 1, np.cbrt, "cbrt", smoothness=0),
        Operation("exp", 1, np.exp, "exp", value_range=(0, _INF)),
        Operation("expm1", 1, np.expm1, "expm1", value_range=(-1, _INF)),
        Operation("log", 1, np.log, "log", singular=True),
        Operation("log2", 1, np.log2, "log2", singular=True),
        Operation("log10", 1, np.log10, "log10", singular=True),
        Operation("log1p", 1, np.log1p, "log1p", singular=True),
        Operation("sin", 1, np.sin, "sin", value_range=(-1, 1), lipschitz=(1,)),
        Operation("cos", 1, np.cos, "cos", value_range=(-1, 1), lipschitz=(1,)),
        Operation("tan", 1, np.tan, "tan", singular=True),
        Operation("arcsin", 1, np.arcsin, "arcsin", value_range=(-_HALF_PI, _HALF_PI), singular=True),
        Operation("arccos", 1, np.arccos, "arccos", value_range=(0, math.pi), singular=True),
        Operation("arctan", 1, np.arctan, "arctan", value_range=(-_HALF_PI, _HALF_PI), lipschitz=(1,)),
        Operation("arctan2", 2, np.arctan2, "arctan2", value_range=(-math.pi, math.pi), singular=True),
        Operation("sinh", 1, np.sinh, "sinh"),
        Operation("cosh", 1, np.cosh, "cosh", value_range=(1, _INF)),
        Operation("arcsinh", 1, np.arcsinh, "arcsinh", lipschitz=(1,)),
        Operation("arccosh", 1, np.arccosh, "arccosh", value_range=(0, _INF), singular=True),
        Operation("sinc", 1, np.sinc, "sinc", value_range=(-0.2172336283, 1), lipschitz=(_HALF_PI,)),
        Operation("tanh", 1, np.tanh, "tanh", value_range=(-1, 1), lipschitz=(1,)),
        Operation("sigmoid", 1, special.expit, "sigmoid", value_range=(0, 1), lipschitz=(0.25,)),
        Operation("softplus", 1, lambda x: np.logaddexp(x, 0), "softplus", value_range=(0, _INF), lipschitz=(1,)),
        Operation("erf", 1, special.erf, "erf", value_range=(-1, 1), lipschitz=(2 / math.sqrt(math.pi),)),
        Operation("hypot", 2, np.hypot, "hypot", smoothness=1, value_range=(0, _INF), lipschitz=(1, 1)),
        Operation("abs", 1, np.abs, "abs", smoothness=1, value_range=(0, _INF), lipschitz=(1,)),
        Operation("relu", 1, lambda x: np.maximum(x, 0), "relu", smoothness=1, value_range=(0, _INF), lipschitz=(1,)),
        Operation("maximum", 2, np.maximum, "maximum", smoothness=1, lipschitz=(1, 1), family="max"),
        Operation("minimum", 2, np.minimum, "minimum", smoothness=1, lipschitz=(1, 1), family="min"),
        Operation("sign", 1, np.sign, "sign", smoothness=0, value_range=(-1, 1)),
        Operation("floor", 1, np.floor, "floor", smoothness=0),
        Operation("mod", 2, np.mod, "remainder", smoothness=0),
        Operation("greater", 2, _comparison(np.greater), "gt", smoothness=0, value_range=(0, 1)),
        Operation("less", 2, _comparison(np.less), "lt", smoothness=0, value_range=(0, 1)),
        Operation("greater_equal", 2, _comparison(np.greater_equal), "ge", smoothness=0, value_range=(0, 1)),
        Operation("less_equal", 2, _comparison(np.less_equal), "le", smoothness=0, value_range=(0, 1)),
        Operation("where", 3, _where, "where", smoothness=0),
    )
}
"""All primitive operations by name."""

ALIASES: dict[str, str] = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "remainder": "mod", "fmax": "maximum", "max": "maximum", "fmin": "minimum", "min": "minimum", "fabs": "abs",
    "absolute": "abs", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg",
    "negate": "neg", "power": "pow", "float_power": "pow", "expit": "sigmoid", "gt": "greater", "lt": "less",
    "ge": "greater_equal", "le": "less_equal",
}  # fmt: skip
"""Other spellings (math, numpy, torch, scipy) of the same operations."""


def operation(name: str) -> Operation | None:
    """The operation called ``name`` in any of its spellings, or None."""
    return OPERATIONS.get(ALIASES.get(name, name))
