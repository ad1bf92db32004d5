r"""The piecewise linear function with given heights at given knots, as a network whose rounding stays small.

Two forms. *Hinges* around a middle knot :math:`t_m`, one ReLU a piece:
:math:`h_m + \sum_{i \ge m} c_i (x - t_i)_+ + \sum_{i \le m} d_i (t_i - x)_+`. A hinge is computed to a relative error,
since its knot is a number of the type; what rounding adds grows with the sizes of the terms, and the choice of the
middle makes these small. *Ramps*, two ReLUs a piece: :math:`h_n - \sum_i (h_{i+1} - h_i) (1 - (x - t_i)_+ / w_i)_+`.
Their terms never add up to more than the function's variation, however steep it is and however long the domain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from compsparse.arithmetic import UNIT_ROUNDOFF
from compsparse.construct.explicit import SparseLayer
from compsparse.construct.forms import AffineForm
from compsparse.construct.gadget import N_ROUNDINGS, Gadget, held_by, rounding_error, row_of

_ROUNDING_SHARE = 0.1
"""Hinges whose rounding is above this share of the error that is asked for give way to ramps, if these round less."""
_LONGEST_SUM = 32
"""Terms beyond which a sum in single precision is taken in parts, since its rounding grows with their number."""


def interpolation(
    form: AffineForm, knots: np.ndarray, heights: np.ndarray, eps: float, *, clip: bool, dtype: torch.dtype
) -> Gadget:
    """Heights at knots on an affine form; inner knots, with ``clip`` all of them, must be numbers of the type.

    The gadget's error is how far the function of its weights, in exact arithmetic, is from the one asked for.

    Args:
        eps: the error that the whole step may have.
    """
    if len(knots) == 1 or (len(knots) == 2 and not clip):
        return _straight(form, knots, heights)
    ends = (float(knots[0]), float(knots[-1]))
    made = _hinges(knots, heights, clip=clip, dtype=dtype)
    if made.rounding(*ends, dtype) > _ROUNDING_SHARE * eps and held_by(knots[:1], dtype) == knots[0]:
        made = min(made, _ramps(knots, heights), key=lambda found: found.rounding(*ends, dtype))
    is_wire = len(form.terms) == 1 and form.terms[0][1] == 1 and not form.constant
    first = () if is_wire else (row_of(form),)
    layers = (*first, *made.layers, *_sums(made.weights, made.constant, dtype))

    def rounding(lower: np.ndarray, upper: np.ndarray, kind: torch.dtype) -> float:
        found = rounding_error(first, lower, upper, kind, n_roundings=N_ROUNDINGS)
        off = float(found.error.max()) if first else 0.0
        reached = float(found.lower[0]) - off, float(found.upper[0]) + off
        return made.rounding(*reached, kind) + 1.01 * made.steepest * off

    return Gadget(form.wires, layers, made.off, "interpolation", rounding)


def _straight(form: AffineForm, knots: np.ndarray, heights: np.ndarray) -> Gadget:
    """One piece or one height, without a ReLU."""
    at, height = float(knots[0]), float(heights[0])
    slope = float(np.diff(heights)[0] / np.diff(knots)[0]) if len(knots) > 1 else 0.0
    layers = (row_of(form), SparseLayer.of([[slope]], [height - slope * at], False))

    def rounding(lower: np.ndarray, upper: np.ndarray, dtype: torch.dtype) -> float:
        return float(rounding_error(layers, lower, upper, dtype, n_roundings=N_ROUNDINGS).error[0])

    off = 8 * UNIT_ROUNDOFF * (np.abs(heights).max() + abs(slope) * np.abs(knots).max())
    return Gadget(form.wires, layers, off, "interpolation", rounding)


# ---- terms --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Terms:
    """Layers up to the terms, their weights, and what rounding depends on.

    Attributes:
        size: on an interval, no sum of sizes of terms is larger, the constant included.
        n_summed: terms that differ from zero at one point, at most.
        steepest: the largest slope.
        off: distance of the function of these weights from the heights, in exact arithmetic.
        loose: errors of single terms, in units of roundoff.
    """

    layers: tuple[SparseLayer, ...]
    weights: np.ndarray
    constant: float
    size: Callable[[float, float], float]
    n_summed: int
    steepest: float
    off: float
    loose: float

    def rounding(self, low: float, high: float, dtype: torch.dtype) -> float:
        """What rounding adds, for arguments of the terms in this interval."""
        limits = torch.finfo(dtype)
        parts = _n_parts(len(self.weights), dtype)
        longest = self.n_summed if parts == 1 else -(-len(self.weights) // parts) + parts
        terms = (longest + 6) * limits.eps / 2
        lost = (np.abs(self.weights).sum() + len(self.weights)) * 2 * limits.tiny
        return float(1.01 * terms * self.size(low, high) + self.loose * limits.eps / 2 + lost)


def _hinges(knots: np.ndarray, heights: np.ndarray, *, clip: bool, dtype: torch.dtype) -> _Terms:
    """Hinges around the knot that makes the sum of their sizes least."""
    steps = np.diff(knots)
    slopes = np.diff(heights) / steps
    n, turns = len(slopes), np.diff(slopes)
    ends = knots[[0, -1]]
    m = _middle(knots, heights, slopes, clip | (held_by(ends, dtype) == ends))
    rising, at_rising = np.append(slopes[m : m + 1], turns[m:]), knots[m:-1]
    falling, at_falling = np.append(turns[: max(m - 1, 0)], -slopes[max(m - 1, 0) : m]), knots[1 : m + 1]
    right = heights[m] + np.cumsum(np.cumsum(rising) * steps[m:]) - heights[m + 1 :]
    left = heights[m] + np.cumsum(np.cumsum(falling[::-1]) * steps[:m][::-1]) - heights[:m][::-1]
    if clip and m < n:
        rising, at_rising = np.append(rising, -slopes[-1]), knots[m:]
    if clip and m > 0:
        falling, at_falling = np.append(slopes[0], falling), knots[: m + 1]

    def size(low: float, high: float) -> float:
        to_right = float(np.abs(rising) @ np.maximum(high - at_rising, 0))
        return max(to_right, float(np.abs(falling) @ np.maximum(at_falling - low, 0))) + abs(float(heights[m]))

    signs = np.repeat([1.0, -1.0], [len(rising), len(falling)])
    places = np.concatenate([at_rising, at_falling])
    off = float(np.abs(np.concatenate([right, left])).max(initial=0.0))
    return _Terms(
        (SparseLayer.of(signs[:, None], -signs * places),),
        np.concatenate([rising, falling]),
        float(heights[m]),
        size,
        max(len(rising), len(falling)),
        float(np.abs(slopes).max()),
        off + 4 * n * UNIT_ROUNDOFF * (np.abs(np.diff(heights)).sum() + np.abs(heights).max()),
        0.0,
    )


def _middle(knots: np.ndarray, heights: np.ndarray, slopes: np.ndarray, ends: np.ndarray) -> int:
    """The knot around which the hinges' sizes at the ends of the domain are least; an end only where it may be one."""
    turns = np.abs(np.diff(slopes))
    beyond_right = np.append(np.cumsum((turns * (knots[-1] - knots[1:-1]))[::-1])[::-1], 0.0)
    beyond_left = np.append(0.0, np.cumsum(turns * (knots[1:-1] - knots[0])))
    right = np.append(beyond_right + np.abs(slopes) * (knots[-1] - knots[:-1]), 0.0)
    left = np.append(0.0, beyond_left + np.abs(slopes) * (knots[1:] - knots[0]))
    sizes = np.maximum(right, left) + np.abs(heights)
    sizes[[0, -1]] = np.where(ends, sizes[[0, -1]], np.inf)
    return int(np.argmin(sizes))


def _ramps(knots: np.ndarray, heights: np.ndarray) -> _Terms:
    """A ramp down from 1 to 0 over each piece."""
    n, steps, rises = len(knots) - 1, np.diff(knots), np.diff(heights)
    hinges = SparseLayer.of(np.ones((n, 1)), -knots[:-1])
    each = np.arange(n)
    ramps = SparseLayer(n, each, each, -1 / steps, np.ones(n), np.ones(n, dtype=bool))
    variation = float(np.abs(rises).sum() + np.abs(heights[-1]))
    return _Terms(
        (hinges, ramps),
        -rises,
        float(heights[-1]),
        lambda low, high: variation,
        n,
        float(np.abs(rises / steps).max()),
        8 * UNIT_ROUNDOFF * (variation + np.abs(rises).max()),
        12 * float(np.abs(rises).max()),  # at most three ramps are neither 0 nor 1, rounding included
    )


# ---- sums ---------------------------------------------------------------------------------------


def _n_parts(n_terms: int, dtype: torch.dtype) -> int:
    return int(np.ceil(np.sqrt(n_terms))) if dtype != torch.float64 and n_terms > _LONGEST_SUM else 1


def _sums(weights: np.ndarray, constant: float, dtype: torch.dtype) -> tuple[SparseLayer, ...]:
    """The weighted sum of all terms, in double precision at once."""
    parts = _n_parts(len(weights), dtype)
    if parts == 1:
        return (SparseLayer.of(weights[None], [constant], False),)
    n = len(weights)
    rows = np.arange(n) // -(-n // parts)
    count = int(rows[-1]) + 1
    inner = SparseLayer(n, rows, np.arange(n), weights, np.zeros(count), np.zeros(count, dtype=bool))
    return inner, SparseLayer.of(np.ones((1, count)), [constant], False)
