"""The one truncation of a matrix that all tensor formats use."""

from __future__ import annotations

import numpy as np

from compsparse.checks import check_count


def truncated_svd(
    matrix: np.ndarray, most_lost: float, max_rank: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Singular vectors and values up to the smallest rank at which at most ``most_lost`` is cut off.

    Returns:
        left, values, right, and what was cut off: the root of the sum of squares of the other singular values.
    """
    left, s, right = np.linalg.svd(matrix, full_matrices=False)
    rank = kept_rank(s, most_lost, max_rank)
    return left[:, :rank], s[:rank], right[:rank], float(np.linalg.norm(s[rank:]))


def kept_rank(singular_values: np.ndarray, most_lost: float, max_rank: int | None = None) -> int:
    """The rank that a format keeps: at least 1, and at most ``max_rank``."""
    rank = max(1, rank_within(singular_values, most_lost))
    return rank if max_rank is None else min(rank, check_count("max_rank", max_rank))


def rank_within(singular_values: np.ndarray, most_lost: float) -> int:
    """The smallest rank at which the root of the sum of squares of the rest is at most ``most_lost``.

    >>> rank_within(np.array([4.0, 3.0, 0.4, 0.3]), 0.5)
    2
    """
    tails = np.sqrt(np.cumsum(singular_values[::-1] ** 2))[::-1]  # tails[k]: what is lost at rank k
    return int(np.count_nonzero(tails > most_lost))
