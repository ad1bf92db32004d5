"""A table split into rows to learn from and rows to test on, and a discovery scored on the latter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compsparse.discovery import Discovery
from compsparse.discovery.table import code_for
from compsparse.discovery.target import target_for
from compsparse.errors import ConfigError, DataError
from compsparse.estimators.comparison import (
    ClassScore,
    Score,
    compare_classifiers,
    compare_models,
    dense_baselines,
    dense_classifiers,
    score_classes,
    score_numbers,
)
from compsparse.tasks.tables import held_out_rows

_TEST_SHARE = 1 / 3
_FEWEST_ROWS = 10
_NAME = "discovered graph (compsparse)"


class SplitTable:
    """Inputs and targets, checked as a whole and then split.

    Attributes:
        X, y: tables of the rows to learn from; ``X_test``, ``y_test`` of those to test on.
        values, values_test: targets as (rows, outputs) numbers, or as class numbers.
        classes: the labels, or None for numbers.
    """

    def __init__(self, X: Any, y: Any, classify: bool | None = None, seed: int = 0):
        if seed < 0:
            raise ConfigError(f"the seed must not be negative, got {seed}")
        y = y.iloc[:, 0] if y.shape[1] == 1 else y
        # before the split, so that rows are named as they stand in the file
        code_for(X)
        target = target_for(y, list(X.columns), None, classify)
        if len(X) < _FEWEST_ROWS:
            raise DataError(f"{len(X)} rows are too few to learn from and to test: at least {_FEWEST_ROWS} are needed")
        test = held_out_rows(None if target.classes is None else target.values, len(X), _TEST_SHARE, seed)
        if not test.any():
            raise DataError("every class has too few rows to hold some out for the test")
        self.seed, self.classes = seed, target.classes
        self.X, self.X_test, self.y, self.y_test = X[~test], X[test], y[~test], y[test]
        self.values, self.values_test = target.values[~test], target.values[test]


def compared(found: Discovery, work: SplitTable) -> Sequence[Score] | Sequence[ClassScore]:
    """The discovered model and dense ones on the test rows, best first; without the latter after Ctrl-C."""
    model = found.model
    assert model is not None
    seconds = found.cost.seconds
    X, X_test = model.code.encoded(work.X), model.code.encoded(work.X_test)
    if work.classes is not None:
        shares = np.bincount(work.values) / len(X)
        own = score_classes(_NAME, work.values_test, model.predict_proba(work.X_test), shares, seconds)
        classifiers = dense_classifiers(work.seed, len(X), rarest=int(np.bincount(work.values).min()))
        both = (X, work.values), (X_test, work.values_test)
        return _best_first([own, *_unless_interrupted(lambda: compare_classifiers(classifiers, *both))])
    n_outputs = work.values.shape[1]
    y, y_test = (v[:, 0] if n_outputs == 1 else v for v in (work.values, work.values_test))
    own_score = score_numbers(_NAME, y_test, model.predict(work.X_test), seconds)
    models = dense_baselines(work.seed, len(X), n_outputs)
    return _best_first([own_score, *_unless_interrupted(lambda: compare_models(models, (X, y), (X_test, y_test)))])


def _best_first(scores: list[Any]) -> list[Any]:
    return sorted(scores, key=lambda s: s.unexplained)


def _unless_interrupted(compare: Callable[[], list[Any]]) -> list[Any]:
    try:
        return compare()
    except KeyboardInterrupt:
        return []
