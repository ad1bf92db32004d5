"""Projection on the cone of given rays: non-negative least squares whose answer is checked."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear, nnls

_OPTIMAL = 1e-9


def projection(rays: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """alpha >= 0 with least norm(rays @ alpha - target), None if none was found that is optimal.

    The first solver is fast and now and then returns something else than a solution; its optimality conditions tell.
    """
    for solver in (_by_nnls, _by_bounded_least_squares):
        alpha = solver(rays, target)
        if alpha is not None and _is_optimal(rays, target, alpha):
            return alpha
    return None


def _by_nnls(rays: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    try:
        return np.asarray(nnls(rays, target, maxiter=100 * rays.shape[1])[0])
    except RuntimeError:  # too many iterations
        return None


def _by_bounded_least_squares(rays: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    try:
        return np.asarray(lsq_linear(rays, target, (0.0, np.inf), method="bvls").x)
    except (np.linalg.LinAlgError, ValueError):
        return None


def _is_optimal(rays: np.ndarray, target: np.ndarray, alpha: np.ndarray) -> bool:
    """alpha >= 0, no ray improves it, and those in use are orthogonal to what is left."""
    left = target - rays @ alpha
    size = _OPTIMAL * max(float(np.linalg.norm(target)), 1e-300)
    slopes = left @ rays
    return bool(
        (alpha >= 0).all() and (slopes <= size).all() and abs(left @ (rays @ alpha)) <= size * np.linalg.norm(target)
    )
