r"""Piecewise linear interpolation in one variable: one ReLU a piece.

On a piece of length h the error is at most the smallest of :math:`h^2/8 \max|f''|` (memo, footnote 6, with 8 in place
of 2), :math:`h/4 (\max f' - \min f')` and :math:`\max f - \min f`; all three come from enclosures, so steep ends
(a square root at 0) are covered too. Free knots make every piece as long as its own bound allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from compsparse.clock import look_at_clock
from compsparse.construct.enclosure import enclose
from compsparse.construct.forms import AffineForm
from compsparse.construct.gadget import Gadget, held_by, numbers_between
from compsparse.construct.interpolation import interpolation
from compsparse.construct.intervals import IntervalArray
from compsparse.construct.opaque import Opaque
from compsparse.errors import ConfigError
from compsparse.graph.formula import Formula

_START_CELLS = 256
_MOST_CELLS = 400_000
_CELLS_A_PIECE = 32.0
"""A cell's own error bound is so much smaller than a piece's, which makes a piece about six cells long."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Cells of an interval and what a function does on each: bounds of value, slope and second derivative."""

    edges: np.ndarray
    value: IntervalArray
    slope: IntervalArray
    bend: IntervalArray

    @property
    def bounds(self) -> np.ndarray:
        """Interpolation error of each cell taken as one piece."""
        length = np.diff(self.edges)
        with np.errstate(invalid="ignore", over="ignore"):
            least = np.minimum(length**2 * self.bend.magnitude / 8, length * self.slope.width / 4)
            return np.asarray(np.minimum(least, self.value.width) * (1 + 1e-14))

    @property
    def root_curvature(self) -> float:
        """The integral of |f''|^(1/2), which governs how many pieces free knots need."""
        finite = np.where(np.isfinite(self.bend.magnitude), self.bend.magnitude, 0.0)
        return float(np.sum(np.diff(self.edges) * np.sqrt(finite)))


def mesh_on(formula: Formula | Opaque, edges: np.ndarray) -> Mesh:
    """The mesh with these edges."""
    found = enclose(formula, [IntervalArray(edges[:-1], edges[1:])])
    return Mesh(edges, *(x.spread(edges[:-1].shape) for x in (found.value, found.slope(0), found.bend(0, 0))))


def refined_mesh(
    formula: Formula | Opaque, low: float, high: float, eps: float, dtype: torch.dtype = torch.float64
) -> Mesh:
    """Cells short enough that several make up one piece of error eps; all inner edges are numbers of the type."""
    mesh = mesh_on(formula, _edges(low, high, _START_CELLS, dtype))
    while True:
        look_at_clock()
        rough = mesh.bounds > eps / _CELLS_A_PIECE
        middles = held_by(0.5 * mesh.edges[:-1] + 0.5 * mesh.edges[1:], dtype)
        new = middles[rough & (middles > mesh.edges[:-1]) & (middles < mesh.edges[1:])]
        if not len(new):
            return mesh
        if len(mesh.edges) + len(new) > _MOST_CELLS:
            if np.all(mesh.bounds <= eps):
                return mesh
            raise ConfigError(
                f"a spline with error {eps:.3g} on [{low:.6g}, {high:.6g}] needs more than {_MOST_CELLS:,} cells: "
                "ask for a larger tol"
            )
        mesh = mesh_on(formula, np.sort(np.concatenate([mesh.edges, new])))


def _edges(low: float, high: float, n: int, dtype: torch.dtype) -> np.ndarray:
    share = np.arange(1, n) / n
    inner = held_by(low * (1 - share) + high * share, dtype)
    return np.unique(np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]]))


def free_knots(mesh: Mesh, eps: float) -> tuple[np.ndarray, float]:
    """As few knots as a walk from left to right needs, and the largest error bound of a piece."""
    columns = (
        mesh.value.lower, mesh.value.upper, mesh.slope.lower, mesh.slope.upper, mesh.bend.magnitude, mesh.edges[1:],
    )  # fmt: skip
    knots, worst = [float(mesh.edges[0])], 0.0
    start, current, last = float(mesh.edges[0]), (np.inf, -np.inf, np.inf, -np.inf, 0.0), 0.0
    end = start
    for v_low, v_high, s_low, s_high, bend, edge in zip(*(c.tolist() for c in columns), strict=True):
        joined = (
            min(current[0], v_low), max(current[1], v_high), min(current[2], s_low), max(current[3], s_high),
            max(current[4], bend),
        )  # fmt: skip
        bound = _bound(edge - start, joined)
        if bound > eps and end > start:
            knots.append(end)
            worst = max(worst, last)
            start, joined = end, (v_low, v_high, s_low, s_high, bend)
            bound = _bound(edge - start, joined)
        current, last, end = joined, bound, edge
    knots.append(end)
    return np.array(knots), max(worst, last)


def _bound(length: float, seen: tuple[float, float, float, float, float]) -> float:
    v_low, v_high, s_low, s_high, bend = seen
    return min(length * length * bend / 8, length * (s_high - s_low) / 4, v_high - v_low) * (1 + 1e-14)


def uniform_knots(
    formula: Formula | Opaque, low: float, high: float, eps: float, dtype: torch.dtype = torch.float64
) -> tuple[np.ndarray, float]:
    """The fewest equal pieces, up to a few percent, whose certified error is at most eps."""
    pieces = 1
    while pieces <= _MOST_CELLS // 4:
        look_at_clock()
        mesh = mesh_on(formula, _edges(low, high, pieces, dtype))
        worst = float(mesh.bounds.max())
        if worst <= eps:
            return mesh.edges, worst
        factor = np.sqrt(worst / eps) if np.isfinite(worst) else 2.0
        pieces = max(pieces + 1, int(pieces * min(max(factor * 0.98, 1.02), 4.0)))
    raise ConfigError(f"equal pieces with error {eps:.3g} on [{low:.6g}, {high:.6g}] are too many: use free knots")


def spline(
    formula: Formula | Opaque,
    form: AffineForm,
    low: float,
    high: float,
    eps: float,
    *,
    uniform: bool = False,
    clip: bool = False,
    dtype: torch.dtype = torch.float64,
) -> Gadget:
    """The formula of one argument, interpolated between knots from ``low`` to ``high`` on an affine form of wires.

    With ``clip`` the network is constant beyond both ends. The knots are numbers of the type that computes it.

    >>> from compsparse.graph.parser import parse_formula
    >>> found = spline(parse_formula("a**2", ["a"]), AffineForm.wire(0), -1.0, 1.0, 1e-2)
    >>> found.n_units, found.error <= 1e-2  # h^2/4 = 0.01 at h = 0.2: ten pieces, and a short last one
    (11, True)
    """
    ends = (numbers_between(low, high, dtype) or (low, low)) if clip else (low, high)
    lost = _span(formula, low, ends[0]) + _span(formula, ends[1], high)
    if uniform:
        knots, worst = uniform_knots(formula, *ends, eps, dtype)
    else:
        knots, worst = free_knots(refined_mesh(formula, *ends, eps, dtype), eps)
    if worst > eps:
        name = str(dtype).removeprefix("torch.")
        raise ConfigError(
            f"the numbers of {name} lie too far apart on [{low:.6g}, {high:.6g}] for an error of {eps:.3g}"
        )
    at = enclose(formula, [IntervalArray.of(knots)], order=0).value
    heights = np.broadcast_to(0.5 * (at.lower + at.upper), knots.shape)
    made = interpolation(form, knots, heights, eps, clip=clip, dtype=dtype)
    method = f"spline, {'equal pieces' if uniform else 'free knots'}"
    error = float(lost + worst + made.error + np.max(at.width))
    return replace(made, error=error, method=method)


def _span(formula: Formula | Opaque, low: float, high: float) -> float:
    """By how much the function changes from one end to the other."""
    if low == high:
        return 0.0
    return float(enclose(formula, [IntervalArray.of(low, high)], order=0).value.width)
