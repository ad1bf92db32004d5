"""Elementary functions of one variable on intervals: the values, the first and the second derivative.

Where a derivative does not exist or nothing is known of it, its interval is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from compsparse.construct.intervals import IntervalArray


class Derivatives(NamedTuple):
    """Where f, f' and f'' lie."""

    value: IntervalArray
    first: IntervalArray
    second: IntervalArray


ONE = IntervalArray.of(1.0)


def _number(value: float) -> IntervalArray:
    """A constant such as pi that the double next to it stands for."""
    return IntervalArray.of(np.nextafter(value, -np.inf), np.nextafter(value, np.inf))


_HALF_PI = math.pi / 2


def _periodic(x: IntervalArray, peak: float, function: Callable[[np.ndarray], np.ndarray]) -> IntervalArray:
    """A sine wave with a maximum at ``peak``: its bounds at the ends, and 1 or -1 where a peak may lie between."""
    ends = IntervalArray(x.lower, x.lower).monotone(function).hull(IntervalArray(x.upper, x.upper).monotone(function))
    slack = 1e-12 * (1 + x.magnitude)
    with np.errstate(invalid="ignore"):
        top = _holds_multiple(x, peak, slack)
        bottom = _holds_multiple(x, peak + math.pi, slack)
    low = np.where(bottom | ~x.known, -1.0, np.maximum(ends.lower, -1.0))
    high = np.where(top | ~x.known, 1.0, np.minimum(ends.upper, 1.0))
    return IntervalArray(low, high)


def _holds_multiple(x: IntervalArray, start: float, slack: np.ndarray) -> np.ndarray:
    """Whether a point start + 2 pi k may lie within; a little too often rather than too seldom."""
    turn = 2 * math.pi
    return np.asarray(np.floor((x.upper + slack - start) / turn) >= np.ceil((x.lower - slack - start) / turn))


def _sin(x: IntervalArray) -> Derivatives:
    """sin x."""
    value = _periodic(x, _HALF_PI, np.sin)
    return Derivatives(value, _periodic(x, 0.0, np.cos), -value)


def _cos(x: IntervalArray) -> Derivatives:
    """cos x."""
    value = _periodic(x, 0.0, np.cos)
    return Derivatives(value, -_periodic(x, _HALF_PI, np.sin), -value)


def _exp(x: IntervalArray) -> Derivatives:
    """exp x."""
    value = x.monotone(np.exp, least=0.0)
    return Derivatives(value, value, value)


def _expm1(x: IntervalArray) -> Derivatives:
    """exp x - 1."""
    slope = x.monotone(np.exp, least=0.0)
    return Derivatives(x.monotone(np.expm1, least=-1.0), slope, slope)


def _logarithm(x: IntervalArray, function: Callable[[np.ndarray], np.ndarray], scale: IntervalArray) -> Derivatives:
    inside = x.lower > 0
    everything = IntervalArray.everything(np.shape(x.lower))
    inverse = x.reciprocal()
    value = x.monotone(function).where(inside, everything)
    first = (inverse * scale).where(inside, everything)
    return Derivatives(value, first, (-(inverse.square()) * scale).where(inside, everything))


def _log(x: IntervalArray) -> Derivatives:
    """The natural logarithm."""
    return _logarithm(x, np.log, ONE)


def _log2(x: IntervalArray) -> Derivatives:
    """The logarithm to base 2."""
    return _logarithm(x, np.log2, _number(1 / math.log(2)))


def _log10(x: IntervalArray) -> Derivatives:
    """The logarithm to base 10."""
    return _logarithm(x, np.log10, _number(1 / math.log(10)))


def _log1p(x: IntervalArray) -> Derivatives:
    """log(1 + x)."""
    whole = _log(x + ONE)
    inside = x.lower > -1
    return Derivatives(
        x.monotone(np.log1p).where(inside, IntervalArray.everything(np.shape(x.lower))), whole.first, whole.second
    )


def _sqrt(x: IntervalArray) -> Derivatives:
    """The square root; its slope at 0 is infinite."""
    everything = IntervalArray.everything(np.shape(x.lower))
    inside = x.lower >= 0
    value = x.monotone(np.sqrt, least=0.0).where(inside, everything)
    inverse = value.reciprocal()
    first = IntervalArray(np.maximum(inverse.lower, 0.0), inverse.upper).scaled(0.5).where(inside, everything)
    second = -(inverse * inverse * inverse).scaled(0.25)
    return Derivatives(value, first, second.where(inside & (x.lower > 0), everything))


def _cbrt(x: IntervalArray) -> Derivatives:
    """The cube root c; its slope 1/(3 c^2) is infinite at 0, where nothing is known of the curvature -2/(9 c^5)."""
    value = x.monotone(np.cbrt)
    inverse = value.reciprocal()
    apart = value.mignitude > 0
    first = inverse.square() * _number(1 / 3)
    second = -(inverse.power(5) * _number(2 / 9))
    return Derivatives(value, first, second.where(apart, IntervalArray.everything(np.shape(x.lower))))


def _reciprocal(x: IntervalArray) -> Derivatives:
    """1/x."""
    value = x.reciprocal()
    square = value.square().where(value.known, IntervalArray.everything(np.shape(x.lower)))
    return Derivatives(value, -square, (square * value).scaled(2.0))


def power_curve(x: IntervalArray, p: float) -> Derivatives:
    """x**p with a constant exponent."""
    if float(p).is_integer() and abs(p) < 1e6:
        n = int(p)
        if n >= 0:
            first = x.power(n - 1) * IntervalArray.of(float(n)) if n else IntervalArray.of(np.zeros_like(x.lower))
            second = (
                x.power(n - 2) * IntervalArray.of(float(n * (n - 1)))
                if n > 1
                else IntervalArray.of(np.zeros_like(x.lower))
            )
            return Derivatives(x.power(n), first, second)
        inverse = x.reciprocal()
        terms = [inverse.power(-n + k) for k in range(3)]
        return Derivatives(
            terms[0], terms[1] * IntervalArray.of(float(n)), terms[2] * IntervalArray.of(float(n * (n - 1)))
        )
    everything = IntervalArray.everything(np.shape(x.lower))
    inside = x.lower >= 0 if p > 0 else x.lower > 0

    def real_power(exponent: float) -> IntervalArray:
        with np.errstate(all="ignore"):
            found = x.monotone(lambda t: np.power(t, exponent), falls=exponent < 0, least=0.0)
        return IntervalArray(found.lower, np.where(np.isnan(found.upper), np.inf, found.upper))

    value = real_power(p).where(inside, everything)
    first = (real_power(p - 1) * IntervalArray.of(p)).where(inside & ((p >= 1) | (x.lower > 0)), everything)
    factor = IntervalArray.of(p) * (IntervalArray.of(p) - ONE)
    second = (real_power(p - 2) * factor).where(inside & ((p >= 2) | (x.lower > 0)), everything)
    return Derivatives(value, first, second)


def _tan(x: IntervalArray) -> Derivatives:
    """tan x; nothing is known where a pole may lie within."""
    slack = 1e-12 * (1 + x.magnitude)
    with np.errstate(invalid="ignore"):
        pole = np.floor((x.upper + slack - _HALF_PI) / math.pi) >= np.ceil((x.lower - slack - _HALF_PI) / math.pi)
    value = x.monotone(np.tan).where(~pole & x.known, IntervalArray.everything(np.shape(x.lower)))
    first = value.square() + ONE
    return Derivatives(value, first, (value * first).scaled(2.0))


def _arcsin(x: IntervalArray) -> Derivatives:
    """arcsin x."""
    everything = IntervalArray.everything(np.shape(x.lower))
    inside = (x.lower >= -1) & (x.upper <= 1)
    first = _sqrt(ONE - x.square()).value.reciprocal()
    first = IntervalArray(np.maximum(first.lower, 1.0), first.upper)
    second = x * first.power(3)
    value = IntervalArray(np.clip(x.lower, -1, 1), np.clip(x.upper, -1, 1)).monotone(np.arcsin)
    return Derivatives(
        value.where(inside, everything), first.where(inside, everything), second.where(inside, everything)
    )


def _arccos(x: IntervalArray) -> Derivatives:
    """arccos x = pi/2 - arcsin x."""
    inner = _arcsin(x)
    return Derivatives(_number(_HALF_PI) - inner.value, -inner.first, -inner.second)


def _arctan(x: IntervalArray) -> Derivatives:
    """arctan x."""
    first = (x.square() + ONE).reciprocal()
    return Derivatives(x.monotone(np.arctan), first, -(x * first.square()).scaled(2.0))


def _sinh(x: IntervalArray) -> Derivatives:
    """sinh x."""
    value, first = x.monotone(np.sinh), x.absolute().monotone(np.cosh, least=1.0)
    return Derivatives(value, first, value)


def _cosh(x: IntervalArray) -> Derivatives:
    """cosh x."""
    value, first = x.absolute().monotone(np.cosh, least=1.0), x.monotone(np.sinh)
    return Derivatives(value, first, value)


def _arcsinh(x: IntervalArray) -> Derivatives:
    """arcsinh x, whose slope is 1/sqrt(1 + x^2)."""
    first = _sqrt(ONE + x.square()).value.reciprocal()
    return Derivatives(x.monotone(np.arcsinh), first, -(x * first.power(3)))


def _arccosh(x: IntervalArray) -> Derivatives:
    """arccosh x, whose slope 1/sqrt(x^2 - 1) is infinite at 1."""
    everything = IntervalArray.everything(np.shape(x.lower))
    inside = x.lower >= 1
    value = IntervalArray(np.maximum(x.lower, 1.0), np.maximum(x.upper, 1.0)).monotone(np.arccosh, least=0.0)
    first = _sqrt((x - ONE) * (x + ONE)).value.reciprocal()
    first = IntervalArray(np.maximum(first.lower, 0.0), first.upper)
    second = -(x * first.power(3))
    return Derivatives(
        value.where(inside, everything), first.where(inside, everything), second.where(x.lower > 1, everything)
    )


_SINC_TERMS = 14
_SINC_NEAR = 2.0
"""Where pi x is nearer to 0 than that, sinc is summed as a series."""


def _sinc(x: IntervalArray) -> Derivatives:
    """sin(u)/u of u = pi x, from its series near 0 and from quotients elsewhere.

    It is the mean of cos(t u) over t in (0, 1), so that its derivatives by u are at most 1/2 and 1/3.
    """
    pi = _number(math.pi)
    u = x * pi
    near = u.magnitude <= _SINC_NEAR
    inverse = u.reciprocal()
    wave, slope = _periodic(u, _HALF_PI, np.sin), _periodic(u, 0.0, np.cos)
    value = wave * inverse
    first = (slope - value) * inverse
    second = -value - (first * inverse).scaled(2.0)
    w = IntervalArray(np.where(near, u.lower, 0.0), np.where(near, u.upper, 0.0)).square()
    inner = [_sinc_series(w, order) for order in range(3)]
    inner[1] = inner[1] * u
    most = [IntervalArray.of(-0.2172336283, 1.0), IntervalArray.of(-0.5, 0.5), _number(1 / 3)]
    most[2] = IntervalArray(-most[2].upper, most[2].upper)
    found = [a.where(near, b).meet(m) for a, b, m in zip(inner, (value, first, second), most, strict=True)]
    return Derivatives(found[0], found[1] * pi, found[2] * pi.square())


def _sinc_series(w: IntervalArray, order: int) -> IntervalArray:
    """sin(u)/u, its slope over u and its second derivative as sums of powers of w = u^2 with signs that alternate."""
    start = min(order, 1)

    def term(k: int) -> float:
        factor = (1, 2 * k, 2 * k * (2 * k - 1))[order]
        return float((-1) ** k) * factor / math.factorial(2 * k + 1)

    rest = 1.01 * abs(term(start + _SINC_TERMS)) * _SINC_NEAR ** (2 * _SINC_TERMS)
    total = IntervalArray.of(np.zeros(np.shape(w.lower)))
    for k in reversed(range(start, start + _SINC_TERMS)):
        total = total * w + _number(term(k))
    return total + IntervalArray.of(-rest, rest)


def _tanh(x: IntervalArray) -> Derivatives:
    """tanh x; the slope 1 - t^2 and the curvature -2 t (1 - t^2) are functions of the value t."""
    t = x.monotone(np.tanh, least=-1.0, most=1.0)
    first = ONE - t.square()
    first = IntervalArray(np.maximum(first.lower, 0.0), first.upper)
    return Derivatives(t, first, -(t * first).scaled(2.0))


def _sigmoid(x: IntervalArray) -> Derivatives:
    """1/(1 + exp(-x)) = (1 + _tanh(x/2))/2."""
    half = _tanh(x.scaled(0.5))
    value = x.monotone(special.expit, least=0.0, most=1.0)
    return Derivatives(value, half.first.scaled(0.25), half.second.scaled(0.125))


def _softplus(x: IntervalArray) -> Derivatives:
    """log(1 + exp x), whose slope is the sigmoid."""
    slope = _sigmoid(x)
    return Derivatives(x.monotone(lambda t: np.logaddexp(t, 0), least=0.0), slope.value, slope.first)


def _erf(x: IntervalArray) -> Derivatives:
    """The error function."""
    bell = (-(x.square())).monotone(np.exp, least=0.0) * _number(2 / math.sqrt(math.pi))
    return Derivatives(x.monotone(special.erf, least=-1.0, most=1.0), bell, -(x * bell).scaled(2.0))


def _square(x: IntervalArray) -> Derivatives:
    """x^2."""
    return power_curve(x, 2)


CURVES: dict[str, Callable[[IntervalArray], Derivatives]] = {
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "cbrt": _cbrt,
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log2": _log2,
    "log10": _log10,
    "log1p": _log1p,
    "sqrt": _sqrt,
    "reciprocal": _reciprocal,
    "square": _square,
    "arcsin": _arcsin,
    "arccos": _arccos,
    "arctan": _arctan,
    "sinh": _sinh,
    "cosh": _cosh,
    "arcsinh": _arcsinh,
    "arccosh": _arccosh,
    "sinc": _sinc,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "erf": _erf,
}
"""Enclosures by the name of the operation."""
