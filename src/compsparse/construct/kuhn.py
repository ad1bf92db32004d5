r"""Interpolation on Kuhn's triangulation of a grid in d variables: three ReLUs a grid point.

The hat of a grid point is :math:`\varphi(z) = (1 - \max(0, z_1, …, z_d) + \min(0, z_1, …, z_d))_+` in units of the
grid. The hats add up to one. On a cell of sides :math:`h_i` the error is at most the smallest of
:math:`\frac18 \sum_{ij} |f_{ij}| h_i h_j`, :math:`\frac14 \sum_i (\max f_i - \min f_i) h_i` and the range of f:
at a point x the vertices p have weights with mean x, and :math:`E|p_i - x_i|^2 \le h_i^2/4`, :math:`E|p_i - x_i| \le
h_i/2`. Sides of different length make steep directions fine and flat ones coarse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as all_pairs

import numpy as np
import torch
from scipy import sparse

from compsparse.arithmetic import UNIT_ROUNDOFF
from compsparse.boxes import Side
from compsparse.clock import look_at_clock
from compsparse.construct.enclosure import Enclosure, cut_box, enclose, even_edges
from compsparse.construct.explicit import SparseLayer
from compsparse.construct.forms import AffineForm
from compsparse.construct.gadget import N_ROUNDINGS, Gadget, rounding_error
from compsparse.construct.intervals import IntervalArray
from compsparse.construct.opaque import Opaque
from compsparse.errors import ConfigError
from compsparse.graph.formula import Formula

_MOST_POINTS = 300_000
_AT_ONCE = 50_000
Box = Sequence[Side]


@dataclass(frozen=True)
class KuhnGrid:
    """Cells a side, and the certified error of interpolation on them."""

    box: tuple[Side, ...]
    cells: tuple[int, ...]
    error: float

    @property
    def n_points(self) -> int:
        """Points of the grid."""
        return int(np.prod([n + 1 for n in self.cells]))

    @property
    def edges(self) -> list[np.ndarray]:
        """Where the points lie along each side."""
        return [even_edges(*side, n) for side, n in zip(self.box, self.cells, strict=True)]


def cell_errors(found: Enclosure, sides: Sequence[float]) -> np.ndarray:
    """The interpolation error of each cell by the best of the three bounds."""
    d = len(sides)
    with np.errstate(all="ignore"):
        by_bends = sum(found.bend(i, j).magnitude * (sides[i] * sides[j] / 8) for i, j in all_pairs(range(d), repeat=2))
        by_slopes = sum(found.slope(i).width * (sides[i] / 4) for i in range(d))
    by_slopes = np.where(found.jumps, np.inf, by_slopes)
    by_bends = np.where(found.jumps, np.inf, by_bends)
    return np.asarray(np.fmin(np.fmin(by_bends, by_slopes), found.value.width) * (1 + 1e-12))


def grid_for(formula: Formula | Opaque, box: Box, eps: float, *, most: int = _MOST_POINTS) -> KuhnGrid:
    """A grid with certified error at most eps, with as few points as its side lengths' proportions allow."""
    ratios = _proportions(formula, box)
    scale = 1.0
    tried: KuhnGrid | None = None
    for _ in range(60):
        cells = tuple(max(int(np.ceil(r * scale)), 1) for r in ratios)
        if np.prod([float(n + 1) for n in cells]) > most:
            break
        if tried is None or cells != tried.cells:
            tried = _measured(formula, box, cells)
            if tried.error <= eps:
                return tried
        growth = np.sqrt(tried.error / eps) if np.isfinite(tried.error) else 2.0
        scale *= min(max(growth * 0.99, 1.02), 4.0)
    raise ConfigError(
        f"interpolation with error {eps:.3g} in {len(box)} variables needs more than {most:,} grid points: "
        "ask for a larger tol, or write the node as a composition of smaller ones"
    )


def _measured(formula: Formula | Opaque, box: Box, cells: tuple[int, ...]) -> KuhnGrid:
    found = KuhnGrid(tuple(box), cells, np.inf)
    edges, sides = found.edges, [float(np.max(np.diff(e))) for e in found.edges]
    worst = 0.0
    for start in range(0, int(np.prod(cells)), _AT_ONCE):
        look_at_clock()
        index = np.unravel_index(np.arange(start, min(start + _AT_ONCE, int(np.prod(cells)))), cells)
        boxes = [IntervalArray(e[i], e[i + 1]) for e, i in zip(edges, index, strict=True)]
        worst = max(worst, float(np.max(cell_errors(enclose(formula, boxes), sides))))
    return KuhnGrid(found.box, cells, worst)


def _proportions(formula: Formula | Opaque, box: Box) -> np.ndarray:
    """Cells a side up to a common factor: by curvature along each side, by slope where there is none."""
    cells = cut_box(box, 256)
    found = enclose(formula, cells)
    d, lengths = len(box), np.array([high - low for low, high in box])
    bends = np.array([[_finite_mean(found.bend(i, j).magnitude) for j in range(d)] for i in range(d)])
    by_bends = np.sqrt(lengths * (bends @ lengths))
    by_slopes = lengths * np.array([_finite_mean(found.slope(i).magnitude) for i in range(d)])
    smooth = all(np.all(found.bend(i, j).known) for i in range(d) for j in range(d))
    use = by_bends if smooth and by_bends.max() > 0 else by_slopes
    if not np.all(np.isfinite(use)) or use.max() <= 0:
        use = np.ones(d)
    return np.asarray(np.maximum(use / use.max(), 1e-3))


def _finite_mean(values: np.ndarray) -> float:
    finite = np.ravel(values)[np.isfinite(np.ravel(values))]
    return float(finite.mean()) if finite.size else np.inf


def kuhn(formula: Formula | Opaque, forms: Sequence[AffineForm], box: Box, eps: float) -> Gadget:
    """The formula, interpolated on a grid over affine forms of wires.

    >>> from compsparse.graph.parser import parse_formula
    >>> forms = [AffineForm.wire(0), AffineForm.wire(1)]
    >>> found = kuhn(parse_formula("a*b", ["a", "b"]), forms, [(-1.0, 1.0)] * 2, 0.05)
    >>> found.error <= 0.05
    True
    """
    grid = grid_for(formula, box, eps)
    points = np.meshgrid(*grid.edges, indexing="ij")
    at = enclose(formula, [IntervalArray.of(p.ravel()) for p in points], order=0).value
    at = at.spread((points[0].size,))
    return grid_network(forms, grid, 0.5 * (at.lower + at.upper), grid.error + float(np.max(at.upper - at.lower)))


def grid_network(forms: Sequence[AffineForm], grid: KuhnGrid, heights: np.ndarray, error: float) -> Gadget:
    """The network that takes these values, first side slowest, at the points of the grid."""
    wires = tuple(sorted({w for form in forms for w in form.wires}))
    scaled = [
        (form - AffineForm.number(low)).scaled(Fraction(n) / (Fraction(high) - Fraction(low)))
        for form, (low, high), n in zip(forms, grid.box, grid.cells, strict=True)
    ]
    layers = hat_layers(scaled, wires, [n + 1 for n in grid.cells])
    layers.append(SparseLayer.of(heights[None], [0.0], relu=False))
    most, near = float(np.max(np.abs(heights))), 3 ** len(forms)

    def own_rounding(lower: np.ndarray, upper: np.ndarray, dtype: torch.dtype) -> float:
        """At most 3^d hats differ from zero at a point, rounding included, and they add up to one."""
        limits = torch.finfo(dtype)
        off = float(rounding_error(layers[:-1], lower, upper, dtype, n_roundings=N_ROUNDINGS).error.max())
        reached = near * off * most + 2 * (near + 5) * (limits.eps / 2) * most * (1 + near * off)
        return float(reached + 2 * near * limits.tiny)

    # points of the grid are rounded, so the hats stand off by that much from where the heights were read
    shifted = 4 * len(forms) * UNIT_ROUNDOFF * max(max(abs(a), abs(b)) for a, b in grid.box)
    slope = 2 * most * max(n / max(high - low, 1e-300) for n, (low, high) in zip(grid.cells, grid.box, strict=True))
    return Gadget(
        wires, tuple(layers), error + shifted * slope, f"Kuhn grid, {' x '.join(map(str, grid.cells))}", own_rounding
    )


def hat_layers(scaled: Sequence[AffineForm], wires: tuple[int, ...], points: Sequence[int]) -> list[SparseLayer]:
    """Layers whose last rows are the hats of all grid points, first side slowest.

    max(0, z_1, …, z_m) grows by relu(z_m - max(0, z_1, …, z_(m-1))) from side to side; the same for the minimum.
    """
    d = len(scaled)
    coordinates = sparse.csr_matrix(np.vstack([form.weights_on(wires) for form in scaled]))
    shifts = np.array([float(form.constant) for form in scaled])
    n = points[0]
    rows = [coordinates[[0] * n], -coordinates[[0] * n], coordinates[1:]]
    bias = np.concatenate([shifts[0] - np.arange(n), np.arange(n) - shifts[0], shifts[1:]])
    layers = [SparseLayer.of(_stacked(rows), bias, np.arange(2 * n + d - 1) < 2 * n)]
    # selectors of max(0, z) and -min(0, z) of every partial point, and of the sides to come, in the rows so far
    width = layers[0].n_outputs
    eye = sparse.identity(width, format="csr")
    high, low, rest = eye[:n], eye[n : 2 * n], eye[2 * n :]
    for m in range(1, d):
        across, partial = np.tile(np.arange(points[m]), n), np.repeat(np.arange(n), points[m])
        z = rest[[0] * len(across)]
        rows = [z - high[partial], -z - low[partial], high, low, rest[1:]]
        bias = np.concatenate([-across, across, np.zeros(2 * n + d - 1 - m)])
        count = len(across)
        W = _stacked(rows)
        layers.append(SparseLayer.of(W, bias, np.arange(W.shape[0]) < 2 * count))
        eye = sparse.identity(W.shape[0], format="csr")
        carried_high, carried_low = eye[2 * count : 2 * count + n], eye[2 * count + n : 2 * count + 2 * n]
        high, low = eye[:count] + carried_high[partial], eye[count : 2 * count] + carried_low[partial]
        rest, n = eye[2 * count + 2 * n :], count
    layers.append(SparseLayer.of(-(high + low), np.ones(n)))
    return layers


def _stacked(rows: Sequence[sparse.csr_matrix]) -> sparse.csr_matrix:
    return sparse.vstack([r for r in rows if r.shape[0]])
