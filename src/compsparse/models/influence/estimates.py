"""Shares of a variance from independent blocks of rows, and the errors of the shares."""

from __future__ import annotations

import warnings

import numpy as np


def share(numerator: np.ndarray, denominator: np.ndarray, controls: tuple[np.ndarray, ...] = ()) -> tuple[float, float]:
    """The ratio of two expectations from their means in independent blocks, with its standard error.

    Args:
        numerator, denominator: one mean a block.
        controls: means of quantities that are known to be zero on average; what goes along with them is taken out.

    >>> share(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    (0.5, 0.0)
    """
    level = denominator.mean()
    if not level > 0:
        return 0.0, 0.0
    ratio = numerator.mean() / level
    rest = (numerator - ratio * denominator) / level
    held = [c for c in controls if c.std() > 0]
    if held:
        columns = np.stack(held, axis=1)
        rest = rest - columns @ np.linalg.lstsq(columns - columns.mean(0), rest, rcond=None)[0]
    spread = float(np.sqrt(((rest - rest.mean()) ** 2).sum() / (len(rest) - 1 - len(held))))
    return float(ratio + rest.mean()), spread / float(np.sqrt(len(rest)))


def block_means(values: np.ndarray, n_blocks: int) -> np.ndarray:
    """Means over the rows of each block, outputs added up; rows that hold NaN are left out."""
    by_block = values.sum(-1).reshape(n_blocks, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a block without rows has no mean, and is left out later
        means: np.ndarray = np.nanmean(by_block, axis=1)
    return means
