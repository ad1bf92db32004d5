"""Paired statistics over rows, and what their sizes mean."""

from __future__ import annotations

import numpy as np

NOT_WORSE = 1.0
"""t up to which one fit is no worse than another."""
NEARLY_APART = 1.5
"""t from which a difference is worth a longer look."""
MAY_BE_CHANCE = 2.0
"""t up to which a single difference may be chance."""
TOLD_APART = 2.5
"""t by which the best of several beats every rival: on sums every pair helps, and the first would be chance."""
CLEARLY = 3.0
"""t beyond which a difference is no chance, though it was looked for."""
BEYOND_DOUBT = 4.0
"""t that later looks do not overrule."""
HOPELESS = 6.0
"""t beyond which longer training does not help."""
FAR_WORSE = 5.0
"""Ratio of errors from which NEARLY_APART suffices: where few rows hold most of an error, t says little."""


def t_statistic(difference: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """t of a weighted mean over the last axis against zero."""
    mean = np.average(difference, axis=-1, weights=weight)
    error = standard_error(difference, weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((error == 0) & (mean == 0), 0.0, mean / error)


def standard_error(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Standard error of the weighted mean of independent rows, along the last axis."""
    mean = np.average(values, axis=-1, weights=weight, keepdims=True)
    error: np.ndarray = np.sqrt(np.sum((weight * (values - mean)) ** 2, axis=-1)) / weight.sum()
    return error


def told_apart(t: float, worse: float, better: float) -> float:
    """t by which one error is above another; where a few rows make it up, t alone is small however large it is."""
    return max(t, BEYOND_DOUBT) if t > NEARLY_APART and worse > FAR_WORSE * better else t
