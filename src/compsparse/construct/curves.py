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
    value = _periodic(x, _HALF_PI, np.sin)
    return Derivatives(value, _periodic(x, 0.0, np.cos), -value)


def _cos(x: IntervalArray) -> Derivatives:
    value = _periodic(x, 0.0, np.cos)
    return Derivatives(value, -_periodic(x, _HALF_PI, np.sin), -value)


def _exp(x: IntervalArray) -> Derivatives:
    value = x.monotone(np.exp, least=0.0)
    return Derivatives(value, value, value)


def _expm1(x: IntervalArray) -> Derivatives:
    slope = x.monotone(np.exp, least=0.0)
    return Derivatives(x.monotone(np.expm1, least=-1.0), slope, slope)


def _logarithm(x: IntervalArray, function: Callable[[np.ndarray], np.ndarray], scale: IntervalArray) -> Derivatives:
    inside, inverse = x.lower > 0, x.reciprocal()
    second = -(inverse.square()) * scale
    return Derivatives(x.monotone(function).only(inside), (inverse * scale).only(inside), second.only(inside))


def _log(x: IntervalArray) -> Derivatives:
    return _logarithm(x, np.log, ONE)


def _log2(x: IntervalArray) -> Derivatives:
    return _logarithm(x, np.log2, IntervalArray.around(1 / math.log(2)))


def _log10(x: IntervalArray) -> Derivatives:
    return _logarithm(x, np.log10, IntervalArray.around(1 / math.log(10)))


def _log1p(x: IntervalArray) -> Derivatives:
    whole = _log(x + ONE)
    return Derivatives(x.monotone(np.log1p).only(x.lower > -1), whole.first, whole.second)


def _sqrt(x: IntervalArray) -> Derivatives:
    """The square root; its slope at 0 is infinite."""
    inside = x.lower >= 0
    value = x.monotone(np.sqrt, least=0.0).only(inside)
    inverse = value.reciprocal()
    second = -(inverse * inverse * inverse).scaled(0.25)
    return Derivatives(value, inverse.at_least(0.0).scaled(0.5).only(inside), second.only(inside & (x.lower > 0)))


def _cbrt(x: IntervalArray) -> Derivatives:
    """The cube root c; its slope 1/(3 c^2) is infinite at 0, where nothing is known of the curvature -2/(9 c^5)."""
    value = x.monotone(np.cbrt)
    inverse = value.reciprocal()
    second = -(inverse.power(5) * IntervalArray.around(2 / 9))
    return Derivatives(value, inverse.square() * IntervalArray.around(1 / 3), second.only(value.mignitude > 0))


def _reciprocal(x: IntervalArray) -> Derivatives:
    value = x.reciprocal()
    square = value.square().only(value.known)
    return Derivatives(value, -square, (square * value).scaled(2.0))


def power_curve(x: IntervalArray, p: float) -> Derivatives:
    """x**p with a constant exponent."""
    if float(p).is_integer() and abs(p) < 1e6:
        n = int(p)
        if n >= 0:
            zero = IntervalArray.of(np.zeros_like(x.lower))
            first = x.power(n - 1) * IntervalArray.of(float(n)) if n else zero
            second = x.power(n - 2) * IntervalArray.of(float(n * (n - 1))) if n > 1 else zero
            return Derivatives(x.power(n), first, second)
        inverse = x.reciprocal()
        terms = [inverse.power(-n + k) for k in range(3)]
        return Derivatives(
            terms[0], terms[1] * IntervalArray.of(float(n)), terms[2] * IntervalArray.of(float(n * (n - 1)))
        )
    inside = x.lower >= 0 if p > 0 else x.lower > 0

    def real_power(exponent: float) -> IntervalArray:
        with np.errstate(all="ignore"):
            found = x.monotone(lambda t: np.power(t, exponent), falls=exponent < 0, least=0.0)
        return IntervalArray(found.lower, np.where(np.isnan(found.upper), np.inf, found.upper))

    first = (real_power(p - 1) * IntervalArray.of(p)).only(inside & ((p >= 1) | (x.lower > 0)))
    factor = IntervalArray.of(p) * (IntervalArray.of(p) - ONE)
    second = (real_power(p - 2) * factor).only(inside & ((p >= 2) | (x.lower > 0)))
    return Derivatives(real_power(p).only(inside), first, second)


def _tan(x: IntervalArray) -> Derivatives:
    """tan x; nothing is known where a pole may lie within."""
    slack = 1e-12 * (1 + x.magnitude)
    with np.errstate(invalid="ignore"):
        pole = np.floor((x.upper + slack - _HALF_PI) / math.pi) >= np.ceil((x.lower - slack - _HALF_PI) / math.pi)
    value = x.monotone(np.tan).only(~pole & x.known)
    first = value.square() + ONE
    return Derivatives(value, first, (value * first).scaled(2.0))


def _arcsin(x: IntervalArray) -> Derivatives:
    inside = (x.lower >= -1) & (x.upper <= 1)
    first = _sqrt(ONE - x.square()).value.reciprocal().at_least(1.0)
    value = IntervalArray(np.clip(x.lower, -1, 1), np.clip(x.upper, -1, 1)).monotone(np.arcsin)
    return Derivatives(value.only(inside), first.only(inside), (x * first.power(3)).only(inside))


def _arccos(x: IntervalArray) -> Derivatives:
    """arccos x = pi/2 - arcsin x."""
    inner = _arcsin(x)
    return Derivatives(IntervalArray.around(_HALF_PI) - inner.value, -inner.first, -inner.second)


def _arctan(x: IntervalArray) -> Derivatives:
    first = (x.square() + ONE).reciprocal()
    return Derivatives(x.monotone(np.arctan), first, -(x * first.square()).scaled(2.0))


def _sinh(x: IntervalArray) -> Derivatives:
    value, first = x.monotone(np.sinh), x.absolute().monotone(np.cosh, least=1.0)
    return Derivatives(value, first, value)


def _cosh(x: IntervalArray) -> Derivatives:
    value, first = x.absolute().monotone(np.cosh, least=1.0), x.monotone(np.sinh)
    return Derivatives(value, first, value)


def _arcsinh(x: IntervalArray) -> Derivatives:
    """arcsinh x, whose slope is 1/sqrt(1 + x^2)."""
    first = _sqrt(ONE + x.square()).value.reciprocal()
    return Derivatives(x.monotone(np.arcsinh), first, -(x * first.power(3)))


def _arccosh(x: IntervalArray) -> Derivatives:
    """arccosh x, whose slope 1/sqrt(x^2 - 1) is infinite at 1."""
    inside = x.lower >= 1
    value = IntervalArray(np.maximum(x.lower, 1.0), np.maximum(x.upper, 1.0)).monotone(np.arccosh, least=0.0)
    first = _sqrt((x - ONE) * (x + ONE)).value.reciprocal().at_least(0.0)
    return Derivatives(value.only(inside), first.only(inside), (-(x * first.power(3))).only(x.lower > 1))


_SINC_TERMS = 14
_SINC_NEAR = 2.0
"""Where pi x is nearer to 0 than that, sinc is summed as a series."""


def _sinc(x: IntervalArray) -> Derivatives:
    """sin(u)/u of u = pi x, from its series near 0 and from quotients elsewhere.

    It is the mean of cos(t u) over t in (0, 1), so that its derivatives by u are at most 1/2 and 1/3.
    """
    pi = IntervalArray.around(math.pi)
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
    most = [IntervalArray.of(-0.2172336283, 1.0), IntervalArray.of(-0.5, 0.5), IntervalArray.around(1 / 3)]
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
        total = total * w + IntervalArray.around(term(k))
    return total + IntervalArray.of(-rest, rest)


def _tanh(x: IntervalArray) -> Derivatives:
    """tanh x; the slope 1 - t^2 and the curvature -2 t (1 - t^2) are functions of the value t."""
    t = x.monotone(np.tanh, least=-1.0, most=1.0)
    first = (ONE - t.square()).at_least(0.0)
    return Derivatives(t, first, -(t * first).scaled(2.0))


def _sigmoid(x: IntervalArray) -> Derivatives:
    """1/(1 + exp(-x)) = (1 + tanh(x/2))/2."""
    half = _tanh(x.scaled(0.5))
    value = x.monotone(special.expit, least=0.0, most=1.0)
    return Derivatives(value, half.first.scaled(0.25), half.second.scaled(0.125))


def _softplus(x: IntervalArray) -> Derivatives:
    """log(1 + exp x), whose slope is the sigmoid."""
    slope = _sigmoid(x)
    return Derivatives(x.monotone(lambda t: np.logaddexp(t, 0), least=0.0), slope.value, slope.first)


def _erf(x: IntervalArray) -> Derivatives:
    bell = (-(x.square())).monotone(np.exp, least=0.0) * IntervalArray.around(2 / math.sqrt(math.pi))
    return Derivatives(x.monotone(special.erf, least=-1.0, most=1.0), bell, -(x * bell).scaled(2.0))


def _square(x: IntervalArray) -> Derivatives:
    return power_curve(x, 2)


_ALL = (
    _sin, _cos, _tan, _cbrt, _exp, _expm1, _log, _log2, _log10, _log1p, _sqrt, _reciprocal, _square, _arcsin, _arccos,
    _arctan, _sinh, _cosh, _arcsinh, _arccosh, _sinc, _tanh, _sigmoid, _softplus, _erf,
)  # fmt: skip
CURVES: dict[str, Callable[[IntervalArray], Derivatives]] = {curve.__name__[1:]: curve for curve in _ALL}
"""Enclosures by the name of the operation."""
