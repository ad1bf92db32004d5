"""Functions of one variable of which nodes are made, each up to a factor and a summand.

A node is a sum of shapes of its parents, up to a link that is a shape again; where a shape is a logarithm, the node is
a product of what stands in the logarithms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from compsparse.graph.formula import Argument, Constant, Formula
from compsparse.graph.parser import parse_formula
from compsparse.models.formulas.calculus import BINARY, UNARY

_GRID = 24
_ROWS = 150


@dataclass(frozen=True)
class Shape:
    """A function of one variable with constants.

    Attributes:
        formula: of the variable, ``Argument(0)``, and the constants behind it; of a logarithm what stands inside.
        is_log: whether the shape is the logarithm of its formula.
        starts: values of every constant to begin with, for a variable with the given smallest and largest value.
        exponents: which constants are exponents.
    """

    name: str
    formula: Formula
    n_constants: int
    starts: Callable[[float, float], list[np.ndarray]]
    is_log: bool = False
    needs_positive: bool = False
    exponents: frozenset[int] = frozenset()

    def value(self, u: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """The shape at u; ``constants`` may be (constants, many, 1), for many at once."""
        with np.errstate(all="ignore"):
            value = _evaluate(self.formula, u, constants)
            return np.log(value) if self.is_log else value


def _evaluate(formula: Formula, u: np.ndarray, constants: np.ndarray) -> np.ndarray:
    match formula:
        case Argument(0):
            return u
        case Argument(index):
            return np.asarray(constants[index - 1])
        case Constant(value):
            return np.asarray(value)
    operands = [_evaluate(o, u, constants) for o in formula.operands]
    table = UNARY[formula.operation][0] if len(operands) == 1 else BINARY[formula.operation]
    return table(*operands)


# ---- the library ------------------------------------------------------------------------------


def _shape(name: str, text: str, starts: str = "", *, is_log: bool = False, positive: bool = False) -> Shape:
    kinds = starts.split()
    formula = parse_formula(text, ["u", *"pqr"[: len(kinds)]])
    exponents = frozenset(i for i, kind in enumerate(kinds) if kind == "exponent")
    return Shape(
        name, formula, len(kinds), lambda low, high: [_STARTS[k](low, high) for k in kinds], is_log, positive, exponents
    )


def _shifts(low: float, high: float) -> np.ndarray:
    """Summands that keep u + d positive, or negative."""
    steps = np.geomspace(0.03, 30, _GRID // 2) * (high - low)
    return np.concatenate([-low + steps, -high - steps])


def _square_shifts(low: float, high: float) -> np.ndarray:
    a, b = (0.0 if low < 0 < high else min(low**2, high**2)), max(low**2, high**2)
    return np.concatenate([_shifts(a, b), -np.geomspace(a / 30, a, 6)[:-1] if a else []])


def _rates(low: float, high: float) -> np.ndarray:
    steps = np.geomspace(0.05, 20, _GRID // 2) / (high - low)
    return np.concatenate([-steps, steps])


def _frequencies(low: float, high: float) -> np.ndarray:
    return np.append(np.linspace(0.5, 14, _GRID) / (high - low), [1.0, 2.0, np.pi])


def _inverse_rates(low: float, high: float) -> np.ndarray:
    low = max(low, 1e-9)
    return _rates(*sorted((1 / low, 1 / high)))


_STARTS: dict[str, Callable[[float, float], np.ndarray]] = {
    "exponent": lambda low, high: np.array([-4, -3, -2, -1.5, -1, -0.67, -0.5, -0.33, 0.33, 0.5, 0.67, 1.5, 2, 3, 4]),
    "power": lambda low, high: np.array([-2, -1, -0.5, 0.5, 2, 3.0]),
    "shift": _shifts,
    "above": lambda low, high: high + np.geomspace(0.03, 30, _GRID // 2) * (high - low),
    "square_shift": _square_shifts,
    "square_above": lambda low, high: max(low**2, high**2) * (1 + np.geomspace(0.01, 30, _GRID // 2)),
    "inverse_shift": lambda low, high: _shifts(*sorted((1 / high, 1 / max(low, 1e-9)))),
    "rate": _rates,
    "inverse_rate": _inverse_rates,
    "frequency": _frequencies,
    "phase": lambda low, high: np.linspace(-np.pi, np.pi, 9)[1:],
    "arc": lambda low, high: np.linspace(0.1, 0.999, _GRID) / max(abs(low), abs(high)),
    "level": lambda low, high: np.concatenate([-1.1 - np.geomspace(0.02, 30, 8), 1.1 + np.geomspace(0.02, 30, 8)]),
    "positive": lambda low, high: np.geomspace(0.03, 30, _GRID),
}

LIBRARY: tuple[Shape, ...] = (
    _shape("itself", "u"),
    _shape("log", "u", is_log=True, positive=True),
    _shape("square", "u**2"),
    _shape("inverse", "1/u", positive=True),
    _shape("root", "sqrt(u)", positive=True),
    _shape("cube", "u**3"),
    _shape("inverse square", "1/u**2", positive=True),
    _shape("power", "u**p", "exponent", positive=True),
    _shape("sin", "sin(u)"),
    _shape("cos", "cos(u)"),
    _shape("tan", "tan(u)"),
    _shape("log sin", "sin(u)", is_log=True),
    _shape("log cos", "cos(u)", is_log=True),
    _shape("log tan", "tan(u)", is_log=True),
    _shape("square of sin", "sin(u)**2"),
    _shape("shifted square", "(u + p)**2", "shift"),
    _shape("shifted inverse", "1/(u + p)", "shift"),
    _shape("shifted root", "sqrt(u + p)", "shift"),
    _shape("shifted log", "u + p", "shift", is_log=True),
    _shape("log below", "p - u", "above", is_log=True),
    _shape("exp", "exp(p*u)", "rate"),
    _shape("exp of inverse", "exp(p/u)", "inverse_rate", positive=True),
    _shape("log of square", "u**2 + p", "square_shift", is_log=True),
    _shape("log below square", "p - u**2", "square_above", is_log=True),
    _shape("log of inverse", "1/u + p", "inverse_shift", is_log=True, positive=True),
    _shape("log of inverse square", "p + 1/u**2", "positive", is_log=True, positive=True),
    _shape("log of rise", "1 - exp(p*u)", "rate", is_log=True, positive=True),
    _shape("log of growth", "exp(p*u) - 1", "rate", is_log=True, positive=True),
    _shape("root of square", "sqrt(u**2 + p)", "square_shift"),
    _shape("inverse of square", "1/(u**2 + p)", "square_shift"),
    _shape("tanh", "tanh(p*u)", "rate"),
    _shape("arcsin", "arcsin(p*u)", "arc"),
    _shape("log of cos", "cos(u) + p", "level", is_log=True),
    _shape("log below cos", "p - cos(u)", "level", is_log=True),
    _shape("log of square of cos", "cos(u)**2 + p", "positive", is_log=True),
    _shape("wave", "sin(p*u + q)", "frequency phase"),
    _shape("shifted power", "(u + p)**q", "shift exponent"),
    _shape("power of a sum", "u**p + q", "exponent positive", is_log=True, positive=True),
    _shape("log of quotient", "(u + p)/(u + q)", "shift shift", is_log=True),
    _shape("log of quotient of squares", "(u**2 + p)/(u**2 + q)", "square_shift square_shift", is_log=True),
)
"""In the order in which simple ones come first."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A shape with constants that follow a curve up to a factor and a summand.

    Attributes:
        rest: what is left, as a share of the variance of the curve.
    """

    shape: Shape
    constants: tuple[float, ...]
    rest: float


def fitted_shapes(u: np.ndarray, curve: np.ndarray, most: int, floor: float) -> list[Fitted]:
    """The shapes that follow a curve best, by what they leave and by how many constants they need.

    Args:
        floor: share of the variance of the curve below which differences mean nothing.
    """
    at = np.argsort(u)[np.linspace(0, len(u) - 1, min(_ROWS, len(u))).astype(int)]
    u, curve = u[at], curve[at]
    found: list[Fitted] = []
    for shape in LIBRARY:
        limit = _HOPELESS * (min((fit.rest for fit in found), default=1.0) + floor)
        fit = _fitted(shape, u, curve, limit)
        if fit is not None:
            found.append(fit)
    found.sort(key=lambda fit: np.log(fit.rest + floor) + _PER_CONSTANT * len(fit.constants))
    return found[:most]


_PER_CONSTANT = 0.35
_HOPELESS = 8
"""A shape that leaves so many times what the best leaves is given up."""


def _fitted(shape: Shape, u: np.ndarray, curve: np.ndarray, limit: float) -> Fitted | None:
    low, high = float(u.min()), float(u.max())
    if shape.needs_positive and low <= 0:
        return None
    if not shape.n_constants:
        rest = _rest(shape.value(u, np.empty((0, 1))), curve)
        return Fitted(shape, (), float(rest)) if np.isfinite(rest) else None
    starts = shape.starts(low, high)
    grid = np.stack(np.meshgrid(*starts, indexing="ij"), axis=0).reshape(len(starts), -1, 1)
    rests = _rest(shape.value(u, grid), curve)
    if not rests.min() < limit:
        return None
    best = grid[:, int(rests.argmin()), 0]

    def objective(scaled: np.ndarray) -> float:
        rest = float(_rest(shape.value(u, (best * scaled)[:, None]), curve))
        return np.log(rest + 1e-12) if np.isfinite(rest) else 50.0

    simplex = np.vstack([np.ones(len(best)), np.ones((len(best), len(best))) + 0.12 * np.eye(len(best))])
    done = minimize(
        objective,
        np.ones(len(best)),
        method="Nelder-Mead",
        options={"maxfev": 45 * len(best), "xatol": 1e-5, "fatol": 1e-6, "initial_simplex": simplex},
    )
    return Fitted(shape, tuple((best * done.x).tolist()), float(np.exp(done.fun)))


def _rest(values: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """1 - correlation^2 of every row of values with the curve; infinite where a value is not finite."""
    with np.errstate(all="ignore"):
        values = values / np.abs(values).max(-1, keepdims=True)
        centred = values - values.mean(-1, keepdims=True)
        own = curve - curve.mean()
        squares = (centred**2).sum(-1)
        rho = (centred @ own) / np.sqrt(squares * (own**2).sum())
        fits = np.isfinite(rho) & (squares > 1e-9 * (values**2).sum(-1))
    return np.where(fits, np.maximum(1 - rho**2, 0), np.inf)
