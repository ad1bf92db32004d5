"""Exact ReLU networks of self-similar sums: one layer for each composition, and one unit that carries the sum.

The sum over k of w_k g(psi^k(x)), with psi and g in straight pieces on [0, 1] and psi^k = psi composed k times (memo
2023, Section 6.6, equation 1). Units of psi and g with the same knot are shared, so that the Takagi class takes width
3: the two units of the hat, and the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import check_count, check_kind, check_list, check_numbers
from compsparse.construct.explicit import ExplicitReLU, SparseLayer
from compsparse.errors import ConfigError
from compsparse.text import in_a_line

_MOST_LAYERS = 10_000


@in_a_line
@dataclass(frozen=True, eq=False)
class StraightPieces:
    """A function of [0, 1] in straight pieces.

    Attributes:
        knots: from 0 to 1, increasing.
        values: one for each knot.

    >>> StraightPieces([0, 0.5, 1], [0, 1, 0])(np.array([0.25, 1.0]))
    array([0.5, 0. ])
    """

    knots: np.ndarray
    values: np.ndarray

    def __post_init__(self) -> None:
        knots = check_numbers("knots", self.knots, shape=(None,), error=ConfigError)
        values = check_numbers("values", self.values, shape=(len(knots),), error=ConfigError)
        if len(knots) < 2 or knots[0] != 0 or knots[-1] != 1 or (np.diff(knots) <= 0).any():
            raise ConfigError(f"knots must increase from 0 to 1, got {knots.tolist()[:6]}")
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "values", values)

    def __call__(self, x: Any) -> np.ndarray:
        return np.asarray(np.interp(x, self.knots, self.values))

    def on_units(self, knots: np.ndarray) -> np.ndarray:
        """Weights of relu(x - t) for the knots t, beside the value at 0."""
        slopes = np.diff(self.values) / np.diff(self.knots)
        kinks = dict(zip(self.knots[:-1].tolist(), np.diff(slopes, prepend=0.0).tolist(), strict=True))
        return np.array([kinks.get(t, 0.0) for t in knots.tolist()])


HAT = StraightPieces(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 0.0]))
"""H(x) = 1 - |2x - 1|."""


def hat_network(n_compositions: int) -> ExplicitReLU:
    """The hat composed with itself, exactly on [0, 1]: width 2, and a layer for each.

    >>> hat_network(3).size.units
    6
    """
    n = check_count("n_compositions", n_compositions, most=_MOST_LAYERS)
    return self_similar_network(HAT, [0.0] * (n - 1) + [1.0])


def takagi_network(coefficients: Sequence[float]) -> ExplicitReLU:
    """The sum of w_k H^k with coefficients w_k, exactly on [0, 1]: width 3, and 3m - 1 units for m of them.

    >>> from fractions import Fraction
    >>> network = takagi_network([2.0**-k for k in range(1, 11)])
    >>> network.size.units, Fraction(2, 3) - network.exact([Fraction(1, 3)])[0] == Fraction(2, 3) / 2**10
    (29, True)
    """
    return self_similar_network(HAT, coefficients)


def self_similar_network(
    psi: StraightPieces, coefficients: Sequence[float], g: StraightPieces | None = None
) -> ExplicitReLU:
    """The sum over k = 1 … m of w_k g(psi^k(x)), exactly for x in [0, 1] up to the rounding of its weights.

    Args:
        psi: maps [0, 1] into itself.
        coefficients: w_1 … w_m.
        g: read off every composition; by default the composition itself.
    """
    check_kind("psi", psi, StraightPieces)
    if psi.values.min() < 0 or psi.values.max() > 1:
        raise ConfigError(f"psi must map [0, 1] into itself, its values go to {psi.values.tolist()[:6]}")
    listed = check_list("coefficients", coefficients)
    w = check_numbers("coefficients", listed, shape=(None,), error=ConfigError).tolist()
    if not 1 <= len(w) <= _MOST_LAYERS:
        raise ConfigError(f"coefficients must hold 1 to {_MOST_LAYERS} numbers, got {len(w)}")
    inner = psi.knots[:-1].tolist()
    outer = [] if g is None else check_kind("g", g, StraightPieces).knots[:-1].tolist()
    knots = sorted({*inner, *outer})
    if g is None:  # what layer k gives is psi^k, which the sum reads at once
        return _summed(psi, np.array(knots), psi, [0.0, *w])
    return _summed(psi, np.array(knots), g, [0.0, 0.0, *w])


def _summed(psi: StraightPieces, knots: np.ndarray, g: StraightPieces, weights: Sequence[float]) -> ExplicitReLU:
    """Layers whose units are relu(z - t) of the last composition z, and the sum so far of ``weights[k] * g``."""
    n, n_layers = len(knots), len(weights) - 1
    step, read = psi.on_units(knots), g.on_units(knots)
    start, offset = float(psi.values[0]), float(g.values[0])
    carries = any(weights[1:n_layers])
    # the sum is kept above 0, so that a ReLU carries it; what is read bends only at knots
    seen = np.maximum(np.append(knots, 1.0)[:, None] - knots, 0) @ read
    low, high = min(0.0, float(offset + seen.min())), max(0.0, float(offset + seen.max()))
    below = -sum(w * (low if w > 0 else high) for w in weights[1:n_layers]) if carries else 0.0
    layers = [SparseLayer.of(np.ones((n, 1)), -knots)]
    rows, bias = np.tile(step, (n, 1)), start - knots
    for k in range(1, n_layers):
        if not carries:
            layers.append(SparseLayer.of(rows, bias))
            continue
        with_sum = np.vstack([rows, weights[k] * read])
        if k > 1:
            with_sum = np.hstack([with_sum, np.eye(n + 1)[:, -1:]])
        layers.append(SparseLayer.of(with_sum, [*bias, (0.0 if k > 1 else below) + weights[k] * offset]))
    last, shift = (weights[n_layers] * read)[None], weights[n_layers] * offset
    if carries:
        last, shift = np.hstack([last, [[1.0]]]), shift - below
    return ExplicitReLU([*layers, SparseLayer.of(last, [shift], False)])
