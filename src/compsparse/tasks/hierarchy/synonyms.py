"""Tuples grouped by what they say about the label: mixtures of multinomials fitted by hard assignment."""

from __future__ import annotations

import numpy as np

_MOST_ROUNDS = 100


def group_synonyms(
    counts: np.ndarray, n_groups: int, group_size: int | None, rng: np.random.Generator, n_restarts: int = 20
) -> np.ndarray:
    r"""Group numbers of tuples whose labels are distributed alike.

    Tuples t of one group g share the distributions :math:`p_g(y \mid j)` of the label at every location j, so that
    the best groups maximise :math:`\sum_t \sum_{j, y} N_{tjy} \log p_{g(t)}(y \mid j)`; frequent tuples weigh more.
    Groups and distributions are improved in turn from several k-means++ starts, and the best end is kept.

    Args:
        counts: ``(tuples, locations, labels)`` numbers N of data.
        group_size: the most tuples that a group may have, if known.

    >>> counts = np.array([[[9, 1]], [[2, 8]], [[8, 2]], [[5, 15]]])
    >>> a, b, c, d = group_synonyms(counts, 2, None, np.random.default_rng(0))
    >>> bool(a == c), bool(b == d), bool(a == b)
    (True, True, False)
    """
    counts = counts.astype(float)
    shape, scale = _whitened(counts)
    ends = [_improved(counts, _first_groups(shape, scale, n_groups, rng), n_groups, None) for _ in range(n_restarts)]
    best = max(ends, key=lambda end: end[1])[0]
    return best if group_size is None else _improved(counts, best, n_groups, group_size)[0]


def assign(score: np.ndarray, group_size: int | None) -> np.ndarray:
    """For every row the column of best score, with at most ``group_size`` rows to a column if they fit.

    >>> assign(np.array([[3.0, 1.0], [2.0, 1.9]]), 1).tolist()
    [0, 1]
    """
    if group_size is None or score.shape[1] * group_size < len(score):
        return np.asarray(score.argmax(1))
    from scipy.optimize import linear_sum_assignment  # here, as it takes long to load

    _, column = linear_sum_assignment(np.repeat(score, group_size, axis=1), maximize=True)
    return np.asarray(column // group_size)


def _improved(counts: np.ndarray, group: np.ndarray, k: int, size: int | None) -> tuple[np.ndarray, float]:
    """Hard expectation maximisation: the groups at its end and their log likelihood."""
    everywhere = _shares(counts.sum(0), 1 / counts.shape[2])
    flat, value = counts.reshape(len(counts), -1), -np.inf
    for _ in range(_MOST_ROUNDS):
        members = np.eye(k)[group]
        inside = _shares(np.tensordot(members.T, counts, 1), everywhere)
        score = flat @ np.log(inside).reshape(k, -1).T
        new = assign(score, size)
        value = float(score[np.arange(len(new)), new].sum())
        if np.array_equal(new, group):
            break
        group = new
    return group, value


def _shares(counts: np.ndarray, prior: np.ndarray | float) -> np.ndarray:
    """Label distributions, smoothed by one datum that is distributed like ``prior``."""
    return np.asarray((counts + prior) / (counts.sum(-1, keepdims=True) + 1))


def _whitened(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Departures of labels from their average, in units such that their noise has variance 1 / scale^2."""
    total = counts.sum(-1, keepdims=True)
    average = _shares(counts.sum(0), 1 / counts.shape[2])
    departure = (counts - total * average) / (np.maximum(total, 1) * np.sqrt(average))
    scale = np.broadcast_to(np.sqrt(total), counts.shape)
    return departure.reshape(len(counts), -1), scale.reshape(len(counts), -1)


def _first_groups(shape: np.ndarray, scale: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k-means++: centres drawn in proportion to their squared distance from those before, and who is nearest."""
    distance = np.full((len(shape), k), np.inf)
    share = np.full(len(shape), 1 / len(shape))
    for g in range(k):
        centre = shape[rng.choice(len(shape), p=share)]
        distance[:, g] = (((shape - centre) * scale) ** 2).sum(1)
        nearest = distance.min(1)
        if nearest.sum() > 0:
            share = nearest / nearest.sum()
    return np.asarray(distance.argmin(1))
