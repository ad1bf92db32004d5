"""The inputs that a tree does without: what the rows still say of each.

A boosted model of the other inputs is fitted, and what it leaves of rows that it has not seen is held against every
input that was left out. An input with which the residuals go, and which a second model predicts better with, acts;
and so do inputs with all of which together it predicts better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from compsparse.clock import Deadline
from compsparse.discovery.data.limits import (
    BINS,
    FOLDS,
    MISTAKEN,
    MOST_IN_BRANCH,
    MOST_ROWS_OF_RESIDUALS,
)
from compsparse.discovery.structure.forest import Members
from compsparse.discovery.structure.statistics import CLEARLY, NOT_WORSE, t_statistic


@dataclass(frozen=True)
class LeftOut:
    """What residuals say of inputs that were left out.

    Attributes:
        acting: those that predict better than the others alone do.
        room: the largest effect of its own that the rows leave room for, as a share of the target's spread.
        explained: share of the target that boosting explains by all inputs, where the search found nothing that does.
    """

    acting: Members = frozenset()
    room: Mapping[str, float] | None = None
    explained: float = 0.0


def examine_left_out(
    columns: Mapping[str, np.ndarray], y: np.ndarray, used: Members, seed: int, deadline: Deadline
) -> LeftOut:
    """Tests every input that is not used.

    Args:
        columns: (rows, width) the columns of every input that was searched.
        y: (rows, outputs) standardised targets.

    Raises:
        TimeIsOver: it is.
    """
    idle = [name for name in columns if name not in used]
    if not idle or not used:
        return LeftOut()
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS_OF_RESIDUALS]
    y = y[rows]
    columns = {name: own[rows] for name, own in columns.items()}
    left = _residuals(columns, sorted(used), y, deadline)
    tests = {name: _test(left, _groups(columns[name])) for name in idle}
    seen = [name for name in idle if tests[name][0] < MISTAKEN / len(idle)]
    acting: list[str] = []
    for name in sorted(seen, key=lambda name: tests[name][0]):
        having = _residuals(columns, [*sorted(used), *acting, name], y, deadline)
        if _helped(having, left) < -CLEARLY:
            acting.append(name)
            left = having
    acting += _act_together(columns, sorted({*used, *acting}), y, left, deadline)
    spread = np.sqrt(np.mean((y - y.mean(0)) ** 2))
    room = {name: float(tests[name][1] / spread) for name in idle if name not in acting}
    return LeftOut(frozenset(acting), room)


def _act_together(
    columns: Mapping[str, np.ndarray], used: Sequence[str], y: np.ndarray, left: np.ndarray, deadline: Deadline
) -> list[str]:
    """The other inputs, if all of them together predict what the used ones leave; without those that do not help.

    An input that acts only by what it does to others moves no mean of the residuals.
    """
    others = [name for name in columns if name not in used]
    having = _residuals(columns, [*used, *others], y, deadline) if others else left
    if _helped(having, left) > -CLEARLY:
        return []
    if len(others) > MOST_IN_BRANCH:
        return others
    without = {o: _residuals(columns, [*used, *(n for n in others if n != o)], y, deadline) for o in others}
    return [name for name in others if _helped(having, without[name]) < -NOT_WORSE] or others


def _helped(with_more: np.ndarray, without: np.ndarray) -> float:
    """t of the squared errors with more inputs against those without; negative where they help."""
    return float(t_statistic((with_more**2 - without**2).sum(1), np.ones(len(without))))


def explained_by_boosting(columns: Mapping[str, np.ndarray], y: np.ndarray, seed: int, deadline: Deadline) -> float:
    """The share of rows that it has not seen that boosting explains by all inputs; 0 where that may be chance.

    Networks explain nothing of a deep tree of many inputs before there are rows enough for all of it; a few splits may.

    Raises:
        TimeIsOver: it is.
    """
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS_OF_RESIDUALS]
    y = y[rows] - y[rows].mean(0)
    left = _residuals({name: own[rows] for name, own in columns.items()}, list(columns), y, deadline)
    if _helped(left, y) > -CLEARLY:
        return 0.0
    return float(1 - np.mean(left**2) / np.mean(y**2))


def _residuals(columns: Mapping[str, np.ndarray], used: Sequence[str], y: np.ndarray, deadline: Deadline) -> np.ndarray:
    """What boosting leaves of rows that it has not seen."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import KFold

    X = np.concatenate([columns[name] for name in used], axis=1)
    left = np.empty_like(y)
    for train, test in KFold(FOLDS).split(X):
        for k in range(y.shape[1]):
            deadline.check()
            model = HistGradientBoostingRegressor(random_state=0).fit(X[train], y[train, k])
            left[test, k] = y[test, k] - model.predict(X[test])
    return left


def _groups(column: np.ndarray) -> np.ndarray:
    """Rows by the level of an input, or by which of a few equal parts its number lies in."""
    if column.shape[1] > 1:
        return np.asarray(column.argmax(1))
    values = column[:, 0]
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.asarray(np.searchsorted(edges, values, side="right"))


def _test(left: np.ndarray, group: np.ndarray) -> tuple[float, float]:
    """Chance of means that differ so much between groups, and the largest effect that they leave room for."""
    _, group, counts = np.unique(group, return_inverse=True, return_counts=True)
    n, k, left = len(left), len(counts), left - left.mean(0)
    if k < 2 or n <= k:
        return 1.0, 0.0
    means = np.stack([np.bincount(group, column) / counts for column in left.T], axis=1)
    between, total = (counts[:, None] * means**2).sum(0), (left**2).sum(0)
    noise = np.maximum((total - between) / (n - k), np.finfo(float).tiny)
    chance = stats.f.sf(between / (k - 1) / noise, k - 1, n - k).min() * left.shape[1]
    room = np.sqrt((between + 2 * noise * np.sqrt(2 * (k - 1))).sum() / n)
    return float(chance), float(room)
