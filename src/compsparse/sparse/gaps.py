r"""Duality gaps: how far a code can be from the best one, from the code alone.

For :math:`P(z) = \tfrac12 \|x - W z\|^2 + \lambda \|z\|_1` the dual is :math:`D(\theta) = \tfrac12 \|x\|^2 -
\tfrac12 \|x - \theta\|^2` over :math:`|w_j^\top \theta| \le \lambda`. The residual, scaled into that set, is the
dual point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def lasso_gap(X: Any, W: Any, codes: Any, lam: Any, positive: bool = False) -> tuple[Any, Any]:
    """Objective and gap of codes, in the scaling with 1/2, one per signal; arrays or tensors of float64.

    >>> objective, gap = lasso_gap(np.eye(2), np.eye(2), 0.9 * np.eye(2), np.full(2, 0.1))
    >>> bool(np.allclose(gap, 0)), objective
    (True, array([0.095, 0.095]))
    """
    residual = X - _synthesis(codes, W)
    correlation = residual @ W
    tiny = 1e-300
    if isinstance(X, np.ndarray):
        peak = correlation.max(1) if positive else np.maximum(correlation.max(1), -correlation.min(1))
        clip: Callable[[Any, Any, Any], Any] = np.clip
    else:
        peak = correlation.amax(1) if positive else correlation.abs().amax(1)
        clip = _clip
    rr, xr = (residual * residual).sum(1), (X * residual).sum(1)
    most = lam / clip(peak, tiny, np.inf)
    # the best multiple of the residual is x.r / |r|^2, where that is feasible
    scale = clip(xr / clip(rr, tiny, np.inf), 0 * most if positive else -most, most)
    objective = rr / 2 + lam * abs(codes).sum(1)
    gap = objective - scale * xr + scale * scale * rr / 2
    return objective, clip(gap, 0, np.inf)


def _clip(value: Any, least: Any, most: Any) -> Any:
    return value.clip(least, most)


def _synthesis(codes: Any, W: Any) -> Any:
    """codes W', by way of their few entries if they are few."""
    if not isinstance(codes, np.ndarray) or codes.size < 10_000 or np.count_nonzero(codes) > 0.2 * codes.size:
        return codes @ W.T
    from scipy.sparse import csr_array

    return csr_array(codes) @ np.ascontiguousarray(W.T)


def pursuit_gap(
    X: np.ndarray, W: np.ndarray, codes: np.ndarray, theta: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least norm and its gap for min |z|_1 s.t. |x - Wz| <= noise, from multipliers theta scaled to |W'theta| <= 1."""
    peak = np.abs(theta @ W).max(1)
    theta = theta / np.maximum(peak, 1)[:, None]
    objective = np.abs(codes).sum(1)
    dual = (X * theta).sum(1) - noise * np.linalg.norm(theta, axis=1)
    return objective, np.maximum(objective - np.maximum(dual, 0), 0)
