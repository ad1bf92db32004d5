"""Lower bounds: any multipliers, scaled to be dual feasible, bound the optimum from below."""

from __future__ import annotations

import numpy as np

from compsparse.sparse.memorisation.problem import Problem


def admissible(problem: Problem, lam: np.ndarray) -> np.ndarray:
    """The nearest multipliers with the signs and the zero sum that the dual asks for.

    Margins need lam_i y_i >= 0; a free constant needs sum_i lam_i = 0.
    """
    if problem.task == "margin":
        lam = np.where(lam * problem.y > 0, lam, 0.0)
    if not problem.has_constant:
        return lam
    if problem.task == "interpolate":
        return lam - lam.mean()
    above, below = lam[lam > 0].sum(), -lam[lam < 0].sum()
    if min(above, below) == 0:
        return np.zeros_like(lam)
    middle = (above + below) / 2
    return np.where(lam > 0, lam * (middle / above), lam * (middle / below))


def lower_bound(problem: Problem, lam: np.ndarray, most: float) -> float:
    """lam . y / max(1, m), m the largest price of admissible multipliers."""
    return max(0.0, float(lam @ problem.y) / max(1.0, most))
