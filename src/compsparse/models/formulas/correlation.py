"""How well a sum of functions of the parents follows a node, up to the node's link: canonical correlation.

The link is a spline of the node's values. What is left is 1 - rho^2, with rho the largest correlation between a
spline of the node and a linear combination of columns (Hotelling 1936; Breiman and Friedman 1985 alternate to it).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.interpolate import BSpline

LARGEST = 1e100
"""Values of a form that are larger, or not finite, cannot be computed with: their squares overflow."""
_PIECES_OF_LINK, _PIECES = 14, 6
_SETS_AT_ONCE = 20_000


def spline_columns(values: np.ndarray, pieces: int) -> np.ndarray:
    """Cubic splines with knots at quantiles, centred, (rows, columns)."""
    knots = np.unique(np.quantile(values, np.linspace(0, 1, pieces + 1)))
    if len(knots) < 3:
        centred: np.ndarray = (values - values.mean())[:, None]
        return centred
    padded = np.r_[[knots[0]] * 3, knots, [knots[-1]] * 3]
    columns = BSpline(padded, np.eye(len(padded) - 4), 3)(values)[:, 1:]
    found: np.ndarray = columns - columns.mean(0)
    return found


class Link:
    """The splines of a node's values, against which forms of its parents are held."""

    def __init__(self, values: np.ndarray):
        self.basis = _orthonormal(spline_columns(values, _PIECES_OF_LINK))

    def rest(self, columns: np.ndarray) -> float:
        """1 - rho^2 of the best combination of some columns."""
        return self.against(columns)[0]

    def against(self, columns: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """1 - rho^2, the coefficients of the columns, and the link's values at the rows."""
        if not (np.abs(columns) < LARGEST).all():
            return np.inf, np.zeros(columns.shape[1]), np.zeros(len(columns))
        centred = columns - columns.mean(0)
        spread = centred.std(0)
        if not (spread > 1e-12 * (np.abs(columns).max(0) + 1e-300)).all():
            return np.inf, np.zeros(columns.shape[1]), np.zeros(len(columns))
        left, sizes, right = np.linalg.svd(centred / spread, full_matrices=False)
        kept = sizes > 1e-7 * sizes[0]
        a, rho, b = np.linalg.svd(self.basis.T @ left[:, kept])
        coefficients = (right[kept].T / sizes[kept]) @ b[0] / spread
        return float(max(1 - rho[0] ** 2, 0.0)), coefficients, self.basis @ a[:, 0]

    def additive(self, parents: Sequence[np.ndarray]) -> tuple[float, list[np.ndarray], np.ndarray]:
        """1 - rho^2 of the best sum of splines of the parents, the curve of each, and the link's values."""
        parts = [spline_columns(u, _PIECES) for u in parents]
        rest, coefficients, link = self.against(np.concatenate(parts, axis=1))
        ends = np.cumsum([part.shape[1] for part in parts])[:-1]
        pieces = np.split(coefficients, ends)
        return rest, [part @ c for part, c in zip(parts, pieces, strict=True)], link

    def rests_of_sets(self, columns: np.ndarray, sets: np.ndarray) -> np.ndarray:
        """1 - rho^2 of many small sets of columns at once, ``sets`` (many, size) of their places."""
        scaled = columns - columns.mean(0)
        scaled = scaled / (np.linalg.norm(scaled, axis=0) + 1e-300)
        products, seen = scaled.T @ scaled, self.basis.T @ scaled
        size = sets.shape[1]
        if len(sets) > _SETS_AT_ONCE:
            return np.concatenate(
                [self.rests_of_sets(columns, part) for part in np.array_split(sets, len(sets) // _SETS_AT_ONCE + 1)]
            )
        gram = products[sets[:, :, None], sets[:, None, :]] + 1e-9 * np.eye(size)
        explained = np.einsum("bsk,bsl->skl", seen[:, sets], seen[:, sets])
        lower = np.linalg.cholesky(gram)
        half = np.linalg.solve(lower, explained)
        whitened = np.linalg.solve(lower, half.transpose(0, 2, 1))
        rests: np.ndarray = 1 - np.linalg.eigvalsh(whitened)[:, -1]
        return rests


def rest_behind_link(values: np.ndarray, inner: np.ndarray) -> float:
    """Share of a node's variance that no spline of ``inner`` explains: errors of the node count in its own units."""
    if not np.isfinite(inner).all() or np.ptp(inner) == 0:
        return np.inf
    own = values - values.mean()
    basis = _orthonormal(spline_columns(inner, _PIECES_OF_LINK))
    return float(1 - ((basis.T @ own) ** 2).sum() / (own @ own))


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    basis: np.ndarray = left[:, sizes > 1e-9 * sizes[0]]
    return basis
