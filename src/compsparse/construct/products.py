r"""Squares and products by depth (Yarotsky 2017): each further layer divides the error by four.

With the hat :math:`H(z) = 2z - 4(z - 1/2)_+` on [0, 1],
:math:`f_m(z) = z - \sum_{s \le m} 4^{-s} H^{\circ s}(z)` interpolates :math:`z^2` at multiples of :math:`2^{-m}`:
:math:`0 \le f_m - z^2 \le 2^{-2m-2}`, with equality in the middle of every piece. One ReLU a level, because z itself
runs along as a wire.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import torch

from compsparse.construct.explicit import SparseLayer
from compsparse.construct.forms import AffineForm, rounded_up
from compsparse.construct.gadget import Gadget
from compsparse.errors import ConfigError

DEEPEST = 24
"""Beyond it 4^-m is below what double precision holds of the sum."""


def levels_for(size: float, eps: float) -> int:
    """The fewest levels m with size * 2^(-2m-2) <= eps.

    >>> levels_for(1.0, 2.0**-8)
    3
    """
    if not eps > 0:
        raise ConfigError(f"a product needs an error > 0, got {eps:g}")
    levels = max(math.ceil((math.log2(size / eps) - 2) / 2 - 1e-12), 0) if size > 0 else 0
    while size * 2.0 ** (-2 * levels - 2) > eps:
        levels += 1
    if levels > DEEPEST:
        raise ConfigError(
            f"a product of size {size:.3g} with error {eps:.3g} is beyond double precision: use a larger tol"
        )
    return levels


def square(form: AffineForm, radius: float, eps: float) -> Gadget:
    """x^2 for x between -radius and radius, as r^2 u^2 with x = r u.

    >>> gadget = square(AffineForm.wire(0), 1.0, 2.0**-8)
    >>> gadget.n_units, gadget.error == 2.0**-8
    (4, True)
    """
    r = Fraction(radius)
    levels = levels_for(float(r) ** 2, eps)
    return _squares(form.wires, [(form.scaled(1 / r), float(r * r))], levels, rounded_up(r * r))


def product(x: AffineForm, y: AffineForm, radii: tuple[float, float], eps: float) -> Gadget:
    """x y for forms of no larger size than their radii r and s, as r s u v by (u + v)^2/4 - (u - v)^2/4.

    >>> gadget = product(AffineForm.wire(0), AffineForm.wire(1), (1.0, 1.0), 2.0**-8)
    >>> gadget.n_units, gadget.error == 2.0**-8
    (8, True)
    """
    r, s = map(Fraction, radii)
    levels = levels_for(float(r * s), eps)
    u, v = x.scaled(1 / r), y.scaled(1 / s)
    wires = tuple(sorted({*x.wires, *y.wires}))
    half = Fraction(1, 2)
    squares = [((u + v).scaled(half), float(r * s)), ((u - v).scaled(half), -float(r * s))]
    return _squares(wires, squares, levels, rounded_up(r * s))


def _squares(wires: tuple[int, ...], terms: list[tuple[AffineForm, float]], levels: int, size: float) -> Gadget:
    """sum of weight * f_m(|u|) over the terms: all run side by side, and one wire gathers what is finished."""
    k = len(terms)
    weights = np.array([weight for _, weight in terms])
    # first layer: relu(u) and u, from which |u| = 2 relu(u) - u
    rows = np.vstack([u.weights_on(wires) for u, _ in terms] * 2)
    bias = np.array([float(u.constant) for u, _ in terms] * 2)
    layers = [SparseLayer.of(rows, bias, np.arange(2 * k) < k)]
    z = np.hstack([2 * np.eye(k), -np.eye(k)])  # z_0 of every term from the rows of the layer before
    total = weights @ z
    for level in range(1, levels + 1):
        # rows: relu(z - 1/2), z, and the sum so far
        W = np.vstack([z, z, total[None]])
        layers.append(SparseLayer.of(W, np.repeat([-0.5, 0.0], [k, k + 1]), np.arange(2 * k + 1) < k))
        z = np.hstack([-4 * np.eye(k), 2 * np.eye(k), np.zeros((k, 1))])
        total = np.eye(2 * k + 1)[-1] - 4.0**-level * (weights @ z)
    layers.append(SparseLayer.of(total[None], [0.0], relu=False))
    scales = np.abs(rows).sum(0), np.abs(bias).sum()

    def own_rounding(lower: np.ndarray, upper: np.ndarray, dtype: torch.dtype) -> float:
        limits = torch.finfo(dtype)
        u = limits.eps / 2
        reach = float(scales[0] @ (np.maximum(np.abs(lower), np.abs(upper)) + limits.tiny / u) + scales[1])
        # a sum gathers 2 k + 1 terms a level, of which none exceeds k, and their weights were stored
        gathered = (2 * k + 2) * (levels + 4) * u
        lost = 8 * k * (levels + 2) * limits.tiny
        return 1.05 * k * size * (_rounding(reach, len(wires), levels, u) + gathered) + lost

    name = "square" if k == 1 else "product"
    error = size * 2.0 ** (-2 * levels - 2)
    return Gadget(wires, tuple(layers), error, f"{name}, {levels} levels", own_rounding)


def _rounding(reach: float, n_wires: int, levels: int, u: float) -> float:
    """Rounding in f_m(|u|): a hat at most doubles an error, and its weight 4^-s falls faster than 2^s grows.

    |u| is two times one row less another, each a sum of products whose weights were stored. The weights of hats are
    powers of two, and their rows sums of three numbers: relu(z - 1/2) is off by at most 7 u, z by 3 u, and a hat is
    two times z less four times the other.
    """
    off = 3 * (n_wires + 4) * u * reach
    total = off
    for level in range(1, levels + 1):
        off = 2 * off + (2 * 3 + 4 * 7) * u * (1 + off)
        total += 4.0**-level * off
    return total
