"""What people write: each idiom with the box on which it is compiled, and how it takes its inputs."""

from __future__ import annotations

import functools
import math
import operator
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, hypot, sqrt
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.linalg import norm
from scipy import special, stats
from scipy.special import logsumexp, softmax
from scipy.stats import norm as normal

W = np.array([[0.5, -1.0, 0.25], [1.0, 0.5, -0.5]])
B = np.array([0.1, -0.2])


@dataclass(frozen=True)
class Idiom:
    """A function, its box, and whether it is continuous there.

    Attributes:
        form: ``numbers``, ``columns``, ``tensors``, ``row`` or ``table``: what the function is called with.
        tol: at which it is compiled; None where it jumps on the box and compile refuses it.
    """

    name: str
    function: Callable[..., Any]
    box: Sequence[tuple[float, float]]
    form: str = "numbers"
    tol: float | None = 1e-2

    def values(self, X: np.ndarray) -> np.ndarray:
        """The callable itself at the rows of X, in the form in which it is called."""
        if self.form == "table":
            found = self.function(X)
        elif self.form == "columns":
            found = self.function(*X.T)
        elif self.form == "tensors":
            found = self.function(*torch.tensor(X.T)).numpy()
        elif self.form == "row":
            found = [self.function(x) for x in X]
        else:
            found = [self.function(*map(float, x)) for x in X]
        if isinstance(found, tuple):
            found = np.stack([np.asarray(f) for f in found], axis=-1)
        return np.asarray(found, dtype=float).reshape(len(X), -1)


def branch(a):
    return a if a > 0 else -a


def three_ways(a):
    if a < -0.5:
        return -1 - a
    if a < 0.5:
        return a
    return 1 - a


def both(a, b):
    if a > 0 and b > 0:
        return min(a, b)
    return 0.0


def loop(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += (x[i + 1] - x[i] ** 2) ** 2
    return total


def comprehension(x):
    return sum(math.sin(v) * (i + 1) for i, v in enumerate(x))


def filled(x):
    out = np.zeros(3)
    for i in range(3):
        out[i] = x[i] * x[(i + 1) % 3]
    return out.sum()


def masked(x):
    y = x.copy()
    y[y < 0] = 0
    return y.sum()


def mask_by_mask(x):
    y, chosen = np.zeros_like(x), x > 0.25
    y[chosen] = np.tanh(x[chosen] - 0.25) * 2
    y[~chosen] *= 3
    return y.sum() + x[x > 0].sum() + np.sum(x[x < 0])


def early(a, b):
    if a < 0:
        return a * b
    return 0 * b + a * b


def local_import(a):
    import math as m

    import numpy as n

    return m.tanh(a) + n.clip(a, 0, 0.5)


def unpacked(p, q, r):
    return p * q - r


class Scaler:
    def __init__(self, k):
        self.k = k

    def __call__(self, a, b):
        return self.k * math.atan2(a, b)


def rational(a):
    top, bottom = np.poly1d([1, 2, 0.5]), np.polynomial.Polynomial([2, 0, 1])
    return top(a) / bottom(a)


ONE = [(-1.0, 1.0)]
PLUS = [(0.5, 2.0)]
TWO = [(-1.0, 1.0), (-0.5, 1.5)]
TRAPEZOID = getattr(np, "trapezoid", None) or getattr(np, "trapz")  # noqa: B009 (numpy 2 has it by its new name)
THREE = [(-1.0, 1.0)] * 3

IDIOMS = [
    # ---- functions of one number
    Idiom("clip", lambda a: np.clip(a, -0.5, 0.25), ONE),
    Idiom("clip-method", lambda a: a.clip(-0.5, 0.25), ONE, "columns"),
    Idiom("clip-one-side", lambda a: np.clip(a, 0, None), ONE),
    Idiom("clip-infinite", lambda a: np.clip(a, 0, np.inf), ONE),
    Idiom("cbrt", np.cbrt, ONE),
    Idiom("math.cbrt", lambda a: math.cbrt(a + 2), ONE),
    Idiom("exp2", np.exp2, ONE),
    Idiom("math.exp2", lambda a: math.exp2(2 * a), ONE),
    Idiom("expm1-log1p", lambda a: np.expm1(a) + np.log1p(a + 1), ONE),
    Idiom("log2", lambda a: np.log2(a) + np.log10(a), PLUS),
    Idiom("math.log-base", lambda a: math.log(a, 2), PLUS),
    Idiom("arcsinh", lambda a: np.arcsinh(3 * a), ONE),
    Idiom("arccosh", lambda a: np.arccosh(a + 1), PLUS),
    Idiom("arctanh", lambda a: np.arctanh(0.9 * a), ONE),
    Idiom("math.asinh", lambda a: math.asinh(a) + math.atanh(a / 2) + math.acosh(a + 2.5), ONE),
    Idiom("sinc", lambda a: np.sinc(2 * a), ONE),
    Idiom("deg2rad", lambda a: np.sin(np.deg2rad(90 * a)) + np.radians(a) + np.rad2deg(a) / 100, ONE),
    Idiom("math.radians", lambda a: math.radians(a) + math.degrees(a) / 100, ONE),
    Idiom("square-power", lambda a: np.square(a) + np.power(a, 3) + a**2, ONE),
    Idiom("float_power", lambda a: np.float_power(a, 1.5) + np.reciprocal(a), PLUS),
    Idiom("sqrt-abs", lambda a: np.sqrt(np.abs(a)), ONE),
    Idiom("absolute", lambda a: np.fabs(a) + np.absolute(a) + np.positive(a) - np.negative(a), ONE),
    Idiom("erf", lambda a: math.erf(a) + math.erfc(a) * a, ONE),
    Idiom("expit", lambda a: special.expit(3 * a) + special.log_expit(a) + special.ndtr(a), ONE),
    Idiom("logit", lambda a: special.logit(a / 4), PLUS),
    Idiom("polyval", lambda a: np.polyval([2.0, -1.0, 0.5], a), ONE),
    Idiom("poly1d", rational, ONE),
    Idiom("interp", lambda a: np.interp(a, [-0.5, 0.0, 0.75], [1.0, -1.0, 2.0]), ONE),
    Idiom("interp-uneven", lambda a: np.interp(a, [-0.5, -0.499, 0.75], [0.0, 1.0, 1.0]), ONE),
    Idiom("heaviside-times", lambda a: a * np.heaviside(a, 0.5), ONE),
    Idiom("comparison-times", lambda a: a * (a > 0), ONE, "columns"),
    Idiom("sign-times", lambda a: a * np.sign(a), ONE),
    Idiom("where-abs", lambda a: np.where(a > 0, a, -a), ONE, "columns"),
    Idiom("where-curve", lambda a: np.where(a >= 0, np.sin(a), a), ONE, "columns"),
    Idiom("where-domain", lambda a: np.where(a > 1, np.log(a), a - 1), PLUS, "columns"),
    Idiom("where-chain", lambda a: np.where(a < -0.5, -0.5, np.where(a > 0.5, 0.5, a)), ONE, "columns"),
    Idiom("where-and", lambda a: np.where((a > -0.5) & (a < 0.5), a**2, 0.25), ONE, "columns"),
    Idiom("where-not", lambda a: np.where(~(a > 0), -a, a), ONE, "columns"),
    Idiom("logical_or", lambda a: np.where(np.logical_or(a > 0.5, a < -0.5), 0.5, np.abs(a)), ONE, "columns"),
    Idiom("select", lambda a: np.select([a < 0, a < 0.5], [0 * a, a], 0.5), ONE, "columns"),
    Idiom("piecewise", lambda a: np.piecewise(a, [a < 0, a >= 0], [lambda t: -t, lambda t: t**2]), ONE, "columns"),
    Idiom(
        "piecewise-three",
        lambda a: np.piecewise(a, [a < 0, (a >= 0) & (a < 0.5), a >= 0.5], [0, lambda t: t, 0.5]),
        ONE,
        "columns",
    ),
    Idiom("if-else", branch, ONE),
    Idiom("if-elif-else", three_ways, ONE),
    Idiom("builtin-round-off", lambda a: abs(a) + pow(a, 2) + max(a, 0) - min(a, 0.5), ONE),
    Idiom("vectorize", lambda a: np.vectorize(branch)(a - 0.5), ONE, "columns"),
    Idiom("local-import", local_import, ONE),
    Idiom("relu-by-hand", lambda a: (a + abs(a)) / 2, ONE),
    Idiom("in-place", lambda a: functools.reduce(operator.iadd, [a * 2, a, 1.0]), ONE),
    # ---- of several
    Idiom("fmax-fmin", lambda a, b: np.fmax(a, b) - np.fmin(a, b**2), TWO),
    Idiom("maximum-three", lambda a, b: np.maximum(np.maximum(a, b), 0.2), TWO),
    Idiom("maximum.reduce", lambda a, b: np.maximum.reduce([a, b, 0 * a]), TWO),
    Idiom("logaddexp", lambda a, b: np.logaddexp(a, 3 * b), TWO),
    Idiom("logaddexp-large", lambda a, b: np.logaddexp(1000 * a, 1000 * b) / 1000, TWO),
    Idiom("logaddexp2", lambda a, b: np.logaddexp2(a, 1) + b, TWO),
    Idiom("logsumexp", lambda a, b: logsumexp([a, b, 0.5]), TWO),
    Idiom("softmax", lambda a, b: softmax(np.stack([a, b]))[0], TWO),
    Idiom("hypot", lambda a, b: np.hypot(a, b - 1), TWO),
    Idiom("math.hypot-three", lambda a, b: math.hypot(a, b, 0.5) + hypot(a, 1), TWO),
    Idiom("math.dist", lambda a, b: math.dist([a, b], [2.0, 0.0]), TWO),
    Idiom("arctan2", lambda a, b: np.arctan2(a, b + 2) + math.atan2(a, b + 2), TWO),
    Idiom("callable-object", Scaler(2.0), [(-1.0, 1.0), (0.5, 2.0)]),
    Idiom("partial", functools.partial(lambda k, a, b: k * cos(a) * b, 2.0), TWO),
    Idiom("sum-list", lambda a, b: np.sum([a, b, a * b]) + sum([a, b]), TWO),
    Idiom("prod-list", lambda a, b: np.prod([a, b + 1]) + math.prod([a, b]), TWO),
    Idiom("mean-list", lambda a, b: np.mean([a, b, 1.0]) + math.fsum([a, b]), TWO),
    Idiom("std-list", lambda a, b: np.var([a, b]) + np.std([a, b, 3.0]), TWO),
    Idiom("dot-list", lambda a, b: np.dot([a, b], [2.0, -1.0]) + np.inner([a, b], [b, a]), TWO),
    Idiom("norm-list", lambda a, b: np.linalg.norm([a, b]), TWO),
    Idiom("norm-direct", lambda a, b: norm(np.array([a, b, 1.0])), TWO),
    Idiom("norm-one", lambda a, b: np.linalg.norm([a, b], 1) + np.linalg.norm([a, b], np.inf), TWO),
    Idiom("max-list", lambda a, b: np.max([a, b]) - np.min([a, 0.5]) + max([a, b]), TWO),
    Idiom("max-axis", lambda a, b: np.max([a, b], axis=0), TWO, "columns"),
    Idiom("stack-axis", lambda a, b: np.stack([a, b, a * b], axis=1).sum(axis=1), TWO, "columns"),
    Idiom("column_stack", lambda a, b: np.column_stack([a, b]) @ np.array([1.0, -0.5]), TWO, "columns"),
    Idiom("where-two", lambda a, b: np.where(a > b, a, b), TWO, "columns"),
    Idiom("where-product", lambda a, b: np.where(a > b, (a - b) * a, 0), TWO, "columns"),
    Idiom("where-radius", lambda a, b: np.where(a**2 + b**2 > 1, 1, a**2 + b**2), TWO, "columns"),
    Idiom("if-and", both, TWO),
    Idiom("early-return", early, TWO),
    Idiom("sorted", lambda a, b: sorted([a, b])[0] + 2 * sorted([a, b])[1], TWO),
    Idiom("statistics", lambda a, b: statistics.median([a, b, 0.25]) + statistics.mean([a, b]), TWO),
    Idiom("normal-law", lambda a, b: stats.norm.cdf(a) * normal.pdf(b, 0.5, 2.0), TWO),
    Idiom("chebyshev", lambda a, b: np.polynomial.chebyshev.chebval(a, [1, 2, 3]) + b, TWO),
    Idiom("huber", lambda a, b: np.where(np.abs(a) <= 0.3, 0.5 * a**2, 0.3 * (np.abs(a) - 0.15)) + b, TWO, "columns"),
    Idiom("two-outputs", lambda a, b: (a + b, np.sin(a)), TWO),
    Idiom("fma", lambda a, b: a * b - (b - 1) / (a + 3), TWO),
    Idiom("pow-of-two", lambda a, b: (a + 2) ** b + 2**a, TWO),
    # ---- of a row
    Idiom("row-index", lambda x: x[0] * x[1] + x[-1], THREE, "row"),
    Idiom("row-unpack", lambda x: unpacked(*x), THREE, "row"),
    Idiom("row-ellipsis", lambda x: x[..., 0] * x[..., 1] + x[..., 2], THREE, "row"),
    Idiom("row-slice", lambda x: np.sum(x[:2] ** 2) + x[1:].mean(), THREE, "row"),
    Idiom("row-norm", lambda x: np.linalg.norm(x) + sqrt(2), THREE, "row"),
    Idiom("row-max", lambda x: np.max(x) - x.min() + np.ptp(x), THREE, "row"),
    Idiom("row-network", lambda x: np.tanh(W @ x + B) @ np.array([1.0, -2.0]), THREE, "row", 0.05),
    Idiom("row-relu-network", lambda x: np.maximum(W @ x + B, 0) @ np.array([1.0, -2.0]), THREE, "row"),
    Idiom("row-loop", loop, THREE, "row", 0.05),
    Idiom("row-comprehension", comprehension, THREE, "row"),
    Idiom("row-filled", filled, THREE, "row"),
    Idiom("row-masked", masked, THREE, "row"),
    Idiom("row-mask-by-mask", mask_by_mask, THREE, "row"),
    Idiom("row-einsum", lambda x: np.einsum("i,i->", x, x) + np.outer(x, x)[0, 1], THREE, "row"),
    Idiom("row-cumsum", lambda x: np.cumsum(x)[-1] + np.diff(x)[0] + np.cumprod(x[:2])[-1], THREE, "row"),
    Idiom("row-median", lambda x: np.median(x) + np.sort(x)[0], THREE, "row"),
    Idiom("row-array", lambda x: np.array([x[0], x[1] * x[2]]).max(), THREE, "row"),
    Idiom("row-concatenate", lambda x: np.concatenate([x[:1], x[2:]]).sum() + np.average(x), THREE, "row"),
    Idiom("row-trapezoid", lambda x: TRAPEZOID(x, dx=0.5), THREE, "row"),
    # ---- of a table
    Idiom("table-columns", lambda X: X[:, 0] * X[:, 1] + X[:, 2], THREE, "table"),
    Idiom("table-transpose", lambda X: unpacked(*X.T), THREE, "table"),
    Idiom("table-sum", lambda X: np.sum(X**2, axis=1) + X.prod(axis=1), THREE, "table"),
    Idiom("table-max", lambda X: np.max(X, axis=1) - X.min(axis=-1), THREE, "table"),
    Idiom("table-norm", lambda X: np.linalg.norm(X, axis=1), THREE, "table", 0.05),
    Idiom("table-network", lambda X: np.maximum(X @ W.T + B, 0).sum(axis=1), THREE, "table"),
    Idiom("table-two-outputs", lambda X: X @ W.T + B, THREE, "table"),
    Idiom("table-slice", lambda X: X[:, :2].mean(axis=1) * X[:, -1], THREE, "table"),
    # ---- torch
    Idiom("torch", lambda a, b: torch.sigmoid(a * b) + torch.relu(b).pow(2) - a.tanh(), TWO, "tensors"),
    Idiom("torch-clamp", lambda a, b: torch.clamp(a, min=-0.5, max=0.5) + torch.where(b > 0, b, 0 * b), TWO, "tensors"),
    Idiom("torch-functional", lambda a, b: F.leaky_relu(a, 0.1) + F.elu(b) + F.silu(a), TWO, "tensors"),
    Idiom("torch-gelu", lambda a, b: F.gelu(a) + F.softplus(b) + F.hardtanh(3 * a), TWO, "tensors"),
    Idiom("torch-stack", lambda a, b: torch.stack([a, b, a * b], dim=1).sum(dim=1), TWO, "tensors"),
    Idiom("torch-max", lambda a, b: torch.maximum(a, b) + torch.stack([a, b]).amax(dim=0), TWO, "tensors"),
    # ---- jumps: traced, and refused by compile
    Idiom("mod", lambda a: np.mod(a, 0.5), ONE, tol=None),
    Idiom("percent", lambda a: a % 0.7 + a // 0.7 + math.fmod(a, 0.3), ONE, tol=None),
    Idiom("rounding", lambda a: np.floor(a) + np.ceil(2 * a) + np.rint(3 * a) + np.trunc(a) + round(a), ONE, tol=None),
    Idiom("np.round", lambda a: np.round(a, 1) + np.fix(a), ONE, tol=None),
    Idiom("sign", lambda a: np.sign(a) + np.copysign(1.0, a), ONE, tol=None),
    Idiom("heaviside", lambda a: np.heaviside(a, 0.5), ONE, tol=None),
    Idiom("where-jump", lambda a: np.where(a > 0, a, 1 - a), ONE, "columns", None),
    Idiom("if-jump", lambda a: 1.0 + a if a > 0.25 else a, ONE, tol=None),
]
