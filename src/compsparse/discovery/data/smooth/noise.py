"""Noise whose level depends on the height of the function.

A smooth fit takes every row for as sure as the others. Where noise grows with the function, rows of little noise count
more: their precision follows from what a first fit leaves at their height, and the fit is made again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compsparse.discovery.data.smooth.limits import HEIGHTS, LEAST_LEVEL, ROWS_A_HEIGHT


@dataclass(frozen=True)
class NoiseByHeight:
    """The level of noise as a function of a prediction.

    Attributes:
        heights: middle of the prediction in groups of equally many rows.
        squares: what is left there, squared, relative to the mean.

    >>> height = np.linspace(0, 1, 1000)
    >>> noise = NoiseByHeight.seen(height, height * np.where(np.arange(1000) % 2, 1.0, -1.0))
    >>> sure = noise.precision(np.array([0.3, 0.6]))
    >>> round(float(sure[0] / sure[1]))  # twice the noise, a quarter of the precision
    4
    """

    heights: np.ndarray
    squares: np.ndarray

    @classmethod
    def seen(cls, mean: np.ndarray, left: np.ndarray) -> NoiseByHeight:
        """By what a prediction leaves.

        Args:
            mean: (rows,) the prediction.
            left: (rows,) what it leaves.
        """
        n_groups = max(1, min(HEIGHTS, len(mean) // ROWS_A_HEIGHT))
        groups = np.array_split(np.argsort(mean, kind="stable"), n_groups)
        squares = np.array([np.mean(left[rows] ** 2) for rows in groups])
        whole = float(squares.mean()) or 1.0
        return cls(np.array([np.median(mean[rows]) for rows in groups]), np.maximum(squares / whole, LEAST_LEVEL))

    def precision(self, mean: np.ndarray) -> np.ndarray:
        """By which the noise of rows is divided; between groups its logarithm is linear."""
        return np.asarray(np.exp(-np.interp(mean, self.heights, np.log(self.squares))))
