"""Boosted trees of scikit-learn, fitted to parts of the rows in turn and kept as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from compsparse.clock import Deadline
from compsparse.tables.coded import CodedTable
from compsparse.tables.coding import TableCode

_MOST_AT_ONCE = 2_000_000
"""Rows times trees that are followed at once, to bound memory."""
_ABSENT = float(np.log(1e-6))
"""Log odds of a class that no row of a fold holds."""


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees whose answers are added, as one list of nodes.

    Attributes:
        start: what is added to the sum.
        roots: the nodes at which trees begin.
        feature, threshold, low, high: of each node: the column it asks, up to which number rows go to ``low``, and
            where they go; a leaf goes to itself.
        value: what a leaf answers.
    """

    start: float
    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    low: np.ndarray
    high: np.ndarray
    value: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """The sum for every row."""
        if not len(self.roots):
            return np.full(len(X), self.start)
        at_once = max(1, _MOST_AT_ONCE // len(self.roots))
        parts = [self._sums(X[i : i + at_once]) for i in range(0, len(X), at_once)]
        return self.start + np.concatenate(parts)

    def _sums(self, X: np.ndarray) -> np.ndarray:
        rows = np.arange(len(X))[:, None]
        at = np.broadcast_to(self.roots, (len(X), len(self.roots)))
        while True:
            goes_low = X[rows, self.feature[at]] <= self.threshold[at]
            following = np.where(goes_low, self.low[at], self.high[at])
            if (following == at).all():
                return np.asarray(self.value[at].sum(1))
            at = following


@dataclass(frozen=True, kw_only=True, eq=False)
class BoostedTrees:
    """Gradient boosting, the mean over the fits to all folds.

    Attributes:
        code: how the table becomes numbers.
        trees: of every output.
        centre, scale: of the targets, as in a fitted graph.
    """

    code: TableCode
    trees: tuple[Trees, ...]
    centre: tuple[float, ...]
    scale: tuple[float, ...]

    def outputs(self, X: Any) -> np.ndarray:
        """Numbers in their own units, or logits of classes, (rows, outputs)."""
        codes = self.code.encoded(X)
        raw = np.stack([trees(codes) for trees in self.trees], axis=1)
        return np.asarray(raw * np.array(self.scale) + np.array(self.centre))


def cross_fit_trees(
    table: CodedTable, fold: np.ndarray, y: np.ndarray, seed: int, deadline: Deadline
) -> tuple[tuple[Trees, ...], np.ndarray]:
    """The trees of all folds, and what each row is said to be by those that have not seen it.

    Args:
        y: (rows, outputs) standardised numbers, or (rows,) class numbers.

    Raises:
        TimeIsOver: it is.
    """
    folds = np.unique(fold)
    is_classes = table.target.classes is not None
    n_outputs = len(table.target.classes or ()) if is_classes else y.shape[1]
    found, parts = np.empty((len(y), n_outputs)), []
    for k in folds:
        deadline.check()
        learned = fold != k
        weight = None if table.sample_weight is None else table.sample_weight[learned]
        fit = _classes_fit if is_classes else _numbers_fit
        parts.append(fit(table.X[learned], y[learned], weight, n_outputs, seed))
        found[~learned] = np.stack([trees(table.X[~learned]) for trees in parts[-1]], axis=1)
    return tuple(_mean([part[i] for part in parts]) for i in range(n_outputs)), found


def _numbers_fit(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, n: int, seed: int) -> list[Trees]:
    fits = [HistGradientBoostingRegressor(random_state=seed).fit(X, y[:, i], sample_weight=weight) for i in range(n)]
    return [_plain([own[0] for own in fit._predictors], float(fit._baseline_prediction.ravel()[0])) for fit in fits]


def _classes_fit(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, n: int, seed: int) -> list[Trees]:
    fit = HistGradientBoostingClassifier(random_state=seed).fit(X, y, sample_weight=weight)
    made = [
        _plain([own[i] for own in fit._predictors], float(start)) for i, start in enumerate(fit._baseline_prediction[0])
    ]
    if len(fit.classes_) == 2:  # one tree a step, of the log odds of the second
        made = [_plain([], 0.0), *made]
    place = {int(label): i for i, label in enumerate(fit.classes_)}
    return [made[place[k]] if k in place else _plain([], _ABSENT) for k in range(n)]


def _plain(predictors: list[Any], start: float) -> Trees:
    """Trees of scikit-learn as lists of nodes."""
    nodes = [predictor.nodes for predictor in predictors]
    if not nodes:
        empty = np.empty(0)
        return Trees(start, empty.astype(int), empty.astype(int), empty, empty.astype(int), empty.astype(int), empty)
    starts = np.cumsum([0, *map(len, nodes)])
    shift = np.repeat(starts[:-1], np.diff(starts))
    every = np.concatenate(nodes)
    leaf, own = every["is_leaf"].astype(bool), np.arange(len(every))
    return Trees(
        start,
        starts[:-1],
        np.where(leaf, 0, every["feature_idx"]).astype(int),
        np.where(leaf, 0.0, every["num_threshold"]),
        np.where(leaf, own, shift + every["left"]).astype(int),
        np.where(leaf, own, shift + every["right"]).astype(int),
        np.where(leaf, every["value"], 0.0),
    )


def _mean(parts: list[Trees]) -> Trees:
    """Trees whose sum is the mean of the sums."""
    starts = np.cumsum([0, *(len(part.value) for part in parts)])
    joined = {
        name: np.concatenate([getattr(part, name) + shift for part, shift in zip(parts, starts[:-1], strict=True)])
        for name in ("roots", "low", "high")
    }
    return Trees(
        float(np.mean([part.start for part in parts])),
        feature=np.concatenate([part.feature for part in parts]),
        threshold=np.concatenate([part.threshold for part in parts]),
        value=np.concatenate([part.value for part in parts]) / len(parts),
        **joined,
    )


def checked_trees(trees: Trees, width: int) -> Trees:
    """The trees, if they ask columns that exist and their nodes lead further down.

    Raises:
        ValueError: they do not.
    """
    n = len(trees.value)
    own = np.arange(n)
    sizes = {len(getattr(trees, name)) for name in ("feature", "threshold", "low", "high")}
    leads = [(own <= to) & (to < n) for to in (trees.low, trees.high)]
    in_place = ((trees.feature >= 0) & (trees.feature < width)).all() and ((trees.roots >= 0) & (trees.roots < n)).all()
    numbers = np.isfinite(trees.threshold).all() and np.isfinite(trees.value).all()
    if sizes != {n} or not (in_place and numbers and all(lead.all() for lead in leads)):
        raise ValueError("the trees are no trees")
    return trees
